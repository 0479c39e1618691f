//! Co-occurrence tests, one per requirement.

use super::*;
use crate::ledger::event::EntryEffect;

fn day(n: u32) -> Date {
    let last: Date = "2040-01-01".parse().unwrap();
    last.minus_days(4096 - n)
}

fn id(n: usize) -> EntryId {
    format!("L-{n:0>8}").parse().unwrap()
}

fn used(entries: &[(usize, u32)]) -> RunEffects {
    let effect = |&(n, alpha_milli): &(usize, u32)| EntryEffect {
        entry: id(n),
        alpha_milli,
        beta_milli: 0,
        shown: 1,
        blind: 0,
        unseen: 0,
        since: None,
        source_outcome: None,
        trials: Vec::new(),
    };
    RunEffects {
        run: "run".to_owned(),
        effects: entries.iter().map(effect).collect(),
    }
}

fn edge(first: usize, second: usize, weight: f64) -> CooccurrenceEdge {
    CooccurrenceEdge {
        first: id(first),
        second: id(second),
        weight,
    }
}

fn ring(entries: usize, weight: f64) -> Vec<CooccurrenceEdge> {
    (0..entries)
        .map(|n| edge(n, (n + 1) % entries, weight))
        .collect()
}

#[test]
fn success_with_several_entries_pairs_each_of_them() {
    let run = used(&[(1, 1000), (2, 500), (3, 0), (4, 1)]);
    assert_eq!(used_with(id(1), &run), BTreeSet::from([id(2), id(4)]));
    assert!(used_with(id(3), &run).is_empty(), "it did not succeed");
    assert!(used_with(id(9), &run).is_empty());
    assert!(used_with(id(1), &used(&[(1, 1000)])).is_empty());
}

#[test]
fn only_the_first_entries_of_a_run_are_paired() {
    let all: Vec<(usize, u32)> = (0..=PAIRED_MAX).map(|n| (n, 1)).collect();
    let run = used(&all);
    assert_eq!(used_with(id(0), &run).len(), PAIRED_MAX - 1);
    assert!(used_with(id(PAIRED_MAX), &run).is_empty());
}

#[test]
fn a_further_run_multiplies_by_1_05() {
    let pair = CooccurrenceWeight::first(day(0));
    assert_eq!(pair.weight_milli, 1000);
    assert_eq!(pair.again(day(0)).weight_milli, 1050);
    assert_eq!(pair.again(day(0)).again(day(0)).weight_milli, 1103);
}

#[test]
fn a_day_leaves_0_995() {
    let pair = CooccurrenceWeight::first(day(0));
    assert_eq!(pair.weight_on(day(0)), Some(1.0));
    assert_eq!(pair.weight_on(day(1)), Some(0.995));
    assert_eq!(pair.again(day(1)).weight_milli, 1045);
    let before = CooccurrenceWeight::first(day(5)).weight_on(day(1));
    assert_eq!(before, Some(1.0), "a skewed clock takes nothing away");
}

#[test]
fn below_0_1_a_pair_is_forgotten_and_starts_anew() {
    let faint = |weight_milli| CooccurrenceWeight {
        weight_milli,
        on: day(0),
    };
    assert_eq!(faint(100).weight_on(day(0)), Some(0.1));
    assert_eq!(faint(100).weight_on(day(1)), None);
    assert_eq!(faint(99).weight_on(day(0)), None);
    assert_eq!(faint(100).again(day(0)).weight_milli, 105);
    assert_eq!(faint(100).again(day(1)), CooccurrenceWeight::first(day(1)));
    assert!(
        CooccurrenceWeight::first(day(0))
            .weight_on(day(459))
            .is_some()
    );
    assert_eq!(CooccurrenceWeight::first(day(0)).weight_on(day(460)), None);
}

#[test]
fn no_pair_weighs_more_than_10() {
    let mut pair = CooccurrenceWeight::first(day(0));
    for _ in 0..200 {
        pair = pair.again(day(0));
    }
    assert_eq!(pair.weight_on(day(0)), Some(10.0));
}

#[test]
fn the_strongest_partners_are_kept_and_among_equals_the_smaller_ids() {
    let mut partners = CooccurrencePartners::new();
    let others: BTreeSet<EntryId> = (0..PARTNERS_MAX + 2).map(id).collect();
    record_run(&mut partners, others, day(0));
    record_run(
        &mut partners,
        BTreeSet::from([id(PARTNERS_MAX + 1)]),
        day(0),
    );
    keep_strongest(&mut partners);
    assert_eq!(partners.len(), PARTNERS_MAX);
    assert!(partners.contains_key(&id(PARTNERS_MAX + 1)));
    assert!(!partners.contains_key(&id(PARTNERS_MAX)));
    assert!(!partners.contains_key(&id(PARTNERS_MAX - 1)));
}

#[test]
fn two_is_no_edge() {
    assert!(find_clusters(&[edge(1, 2, 2.0)]).is_empty());
    let found = find_clusters(&[edge(1, 2, 2.001), edge(3, 4, 9.0), edge(2, 3, 2.0)]);
    let sizes: Vec<usize> = found.iter().map(|it| it.entries.len()).collect();
    assert_eq!(sizes, [2, 2]);
}

#[test]
fn a_cluster_needs_five_entries_and_more_than_three() {
    let is_worth = |edges: &[CooccurrenceEdge]| find_clusters(edges)[0].is_worth_distilling();
    assert!(is_worth(&ring(5, 3.001)));
    assert!(!is_worth(&ring(4, 9.0)), "four entries");
    assert!(!is_worth(&ring(5, 3.0)), "three on average");
    let mut weak = ring(5, 3.001);
    weak.push(edge(0, 2, 2.0));
    assert!(is_worth(&weak), "what is no edge does not count");
}
