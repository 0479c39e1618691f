//! Health rules 1 to 7, each tested at its boundary and on both sides of it.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::health::maintenance::MaintenancePolicy;
use ken_core::health::{
    HealthFacts, HealthInsight, HealthRule, InsightSeverity, RULES, evaluate_rules,
};
use ken_core::ledger::cooccurrence::CooccurrenceWeight;
use ken_core::ledger::entry::{BetaTally, Entry};
use ken_core::ledger::event::PairKind;
use ken_core::retrieval::score::RankingWeights;
use ken_core::values::content::Polarity;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_core::values::time::Date;

use crate::stage::TestLedger;

pub(crate) const TODAY: &str = "2026-11-15";

/// Returns facts with entries and nothing else.
pub(crate) fn health_facts(entries: Vec<Entry>) -> HealthFacts {
    HealthFacts {
        now: format!("{TODAY}T12:00:00Z").parse().unwrap(),
        entries,
        foreign: Vec::new(),
        errors: BTreeMap::new(),
        peers: BTreeMap::new(),
        dismissed: BTreeSet::new(),
        outcomes: Vec::new(),
        weights: RankingWeights::default(),
        policy: MaintenancePolicy::default(),
    }
}

pub(crate) fn days_ago(ago: u32) -> Date {
    TODAY.parse::<Date>().unwrap().minus_days(ago)
}

/// Returns entries with these statements and no other content.
pub(crate) fn add_entries<const N: usize>(statements: [&str; N]) -> [Entry; N] {
    let mut stage = TestLedger::new();
    statements.map(|it| {
        let id = stage.add(EntryKind::Learning, it);
        stage.entry(id)
    })
}

pub(crate) fn with_tags(mut entry: Entry, tags: &[&str]) -> Entry {
    let content = entry.content.as_mut().unwrap();
    content.tags = tags.iter().map(|it| it.parse().unwrap()).collect();
    entry
}

fn verified_with_polarity(mut entry: Entry, polarity: Polarity) -> Entry {
    entry.status.value = EntryStatus::Verified;
    entry.content.as_mut().unwrap().polarity = Some(polarity);
    entry
}

fn tally(alpha_milli: u64, beta_milli: u64) -> BetaTally {
    BetaTally {
        alpha_milli,
        beta_milli,
    }
}

fn apply_rule(rule: HealthRule, facts: &HealthFacts) -> Vec<HealthInsight> {
    rule.evaluate(facts)
}

#[test]
fn there_are_fourteen_rules_and_the_same_facts_give_the_same_words() {
    assert_eq!(RULES.len(), 14);
    let numbers: Vec<u8> = RULES.iter().map(|rule| rule.number()).collect();
    assert_eq!(numbers, (1..=14).collect::<Vec<u8>>());
    let is_performance = |rule: &HealthRule| rule.category() == "performance";
    let split = RULES.split(is_performance).map(<[HealthRule]>::len);
    let split: Vec<usize> = split.filter(|count| *count > 0).collect();
    let performance = RULES.iter().filter(|it| is_performance(it)).count();
    assert_eq!((split, performance), (vec![7, 3], 4), "7 + 4 + 3");
    let facts = facts_for_every_rule();
    assert!(!evaluate_rules(&facts).is_empty());
    assert_eq!(evaluate_rules(&facts), evaluate_rules(&facts.clone()));
}

#[test]
fn confidence_that_lost_more_than_a_fifth_within_seven_days_is_told() {
    let declining = |beta_milli, ago| {
        let [mut entry] = add_entries(["Charging twice is safe"]);
        entry.content.as_mut().unwrap().decay = ken_core::values::content::DecayClass::Permanent;
        entry
            .tallies
            .days
            .insert(days_ago(ago), tally(0, beta_milli));
        apply_rule(HealthRule::ConfidenceDecline, &health_facts(vec![entry]))
    };
    // 5 / 12.5 is a fifth less than 5 / 10.
    assert_eq!(declining(2_500, 0), []);
    let told = declining(2_501, 0);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].severity, InsightSeverity::Attention);
    let command = format!("ken log {}", told[0].entries[0]);
    assert_eq!(told[0].command.as_deref(), Some(command.as_str()));
    // A decline 6 days ago counts; one 7 days ago is outside the window.
    assert_eq!(declining(5_000, 6).len(), 1);
    assert_eq!(declining(5_000, 7), []);
}

#[test]
fn two_verified_entries_that_are_contrary_with_more_than_30_percent_of_tags_require_action() {
    let told = |ours: &[&str], theirs: &[&str]| {
        let [one, other] = add_entries(["Retry payments", "Never retry payments"]);
        let one = with_tags(verified_with_polarity(one, Polarity::Positive), ours);
        let other = with_tags(verified_with_polarity(other, Polarity::Negative), theirs);
        apply_rule(HealthRule::Contradiction, &health_facts(vec![one, other]))
    };
    // 3 of 10 is not more than 30 %.
    let shared = ["a", "b", "c"];
    let ours = [&shared[..], &["d", "e", "f"]].concat();
    let theirs = [&shared[..], &["g", "h", "i", "j"]].concat();
    assert_eq!(told(&ours, &theirs), []);
    let found = told(&ours, &theirs[..6]);
    assert_eq!(found.len(), 1, "3 of 9 are");
    assert_eq!(found[0].severity, InsightSeverity::ActionRequired);
    let research = found[0].research.as_ref().unwrap();
    assert_eq!(research.role, "researcher");
    assert!(research.task.starts_with("[maintenance:contradiction] "));
    assert!(research.command.starts_with(
        "ken run open --agent researcher,role=researcher --task '[maintenance:contradiction] "
    ));
}

#[test]
fn what_is_not_verified_or_not_contrary_or_settled_is_no_contradiction() {
    let [one, other] = add_entries(["Retry payments", "Never retry payments"]);
    let one = with_tags(verified_with_polarity(one, Polarity::Positive), &["pay"]);
    let other = with_tags(verified_with_polarity(other, Polarity::Negative), &["pay"]);
    let all = health_facts(vec![one.clone(), other.clone()]);
    assert_eq!(apply_rule(HealthRule::Contradiction, &all).len(), 1);
    let mut active = all.clone();
    active.entries[1].status.value = EntryStatus::Active;
    assert_eq!(apply_rule(HealthRule::Contradiction, &active), []);
    let mut agreeing = all.clone();
    agreeing.entries[1].content.as_mut().unwrap().polarity = Some(Polarity::Positive);
    assert_eq!(apply_rule(HealthRule::Contradiction, &agreeing), []);
    let mut settled = all;
    let pair = (one.id.min(other.id), one.id.max(other.id));
    let pair = (pair.0, pair.1, PairKind::Contradiction);
    settled.dismissed.insert(pair);
    assert_eq!(apply_rule(HealthRule::Contradiction, &settled), []);
}

#[test]
fn a_peer_whose_tenth_percentile_is_below_a_half_is_told() {
    let told = |alpha_milli, beta_milli| {
        let mut facts = health_facts(Vec::new());
        let peer = "peer:elsewhere".parse().unwrap();
        facts.peers.insert(peer, tally(alpha_milli, beta_milli));
        apply_rule(HealthRule::TrustDrop, &facts)
    };
    // Little is known of a peer without a failure: that is no reason to revoke it.
    assert_eq!(told(0, 0), []);
    assert_eq!(told(2_321, 0), []);
    // The tenth percentile of Beta(a, 2) is a half at a = 5.16.
    assert_eq!(told(4_200, 1_000), []);
    let found = told(4_100, 1_000);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, InsightSeverity::Attention);
    assert_eq!(
        found[0].command.as_deref(),
        Some("ken guard revoke --author 'peer:elsewhere'")
    );
    assert_eq!(told(50_000, 0), []);
    assert_eq!(told(50_000, 60_000).len(), 1, "it failed more often");
}

/// Returns entries of one domain, of which the first `failing` had `errors` errors each.
fn domain_with_errors(all: usize, failing: usize, errors: u64) -> HealthFacts {
    let [a, b, c, d] = add_entries(["One", "Two", "Three", "Four"]);
    let known = [a, b, c, d].into_iter().take(all);
    let known = known.map(|it| with_tags(it, &["auth/jwt"]));
    let mut facts = health_facts(known.collect());
    let ids: Vec<EntryId> = facts.entries.iter().map(|it| it.id).collect();
    facts
        .errors
        .extend(ids.into_iter().take(failing).map(|id| (id, errors)));
    facts
}

#[test]
fn three_entries_of_a_domain_with_three_errors_each_are_a_gap() {
    let told = |all, failing, errors| {
        apply_rule(
            HealthRule::CoverageGap,
            &domain_with_errors(all, failing, errors),
        )
    };
    assert_eq!(told(3, 2, 3), [], "two entries are none");
    assert_eq!(told(3, 3, 2), [], "nor are two errors");
    let found = told(3, 3, 3);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, InsightSeverity::Attention);
    assert_eq!(found[0].entries.len(), 3);
    assert_eq!(found[0].command.as_deref(), Some("ken list --tag 'auth'"));
    let research = found[0].research.as_ref().unwrap();
    assert_eq!(
        research.task,
        "[maintenance:coverage] Find out which knowledge about auth is missing"
    );
    assert_eq!(
        told(4, 3, 3)[0].severity,
        InsightSeverity::Info,
        "one still answers"
    );
}

/// Returns three entries used together with this weight and with these error counts.
fn cluster_with_errors(weight_milli: u32, errors: [u64; 3]) -> HealthFacts {
    let mut all = add_entries(["One", "Two", "Three"]);
    let ids = [all[0].id, all[1].id, all[2].id];
    let on = days_ago(0);
    for other in [ids[1], ids[2]] {
        let together = CooccurrenceWeight { weight_milli, on };
        all[0].tallies.together.insert(other, together);
    }
    let mut facts = health_facts(all.into());
    facts.errors = ids.into_iter().zip(errors).collect();
    facts
}

#[test]
fn a_cluster_in_which_every_entry_has_more_than_three_errors_is_stale() {
    assert_eq!(
        apply_rule(
            HealthRule::StaleCluster,
            &cluster_with_errors(2_001, [4, 4, 3])
        ),
        []
    );
    let found = apply_rule(
        HealthRule::StaleCluster,
        &cluster_with_errors(2_001, [4, 4, 4]),
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, InsightSeverity::Attention);
    assert_eq!(found[0].entries.len(), 3);
    let research = found[0].research.as_ref().unwrap();
    assert_eq!(research.role, "researcher");
    assert!(research.task.starts_with("[maintenance:staleness] "));
    let loose = apply_rule(
        HealthRule::StaleCluster,
        &cluster_with_errors(2_000, [4, 4, 4]),
    );
    assert_eq!(loose, [], "nothing holds them together");
}

#[test]
fn more_than_half_of_tags_and_more_than_half_of_a_title_make_a_merge_opportunity() {
    let told = |ours: (&str, &[&str]), theirs: (&str, &[&str])| {
        let [one, other] = add_entries([ours.0, theirs.0]);
        let facts = health_facts(vec![with_tags(one, ours.1), with_tags(other, theirs.1)]);
        apply_rule(HealthRule::MergeOpportunity, &facts)
    };
    let (title, near, half) = (
        "alpha beta gamma",
        "alpha beta gamma delta",
        "alpha beta delta",
    );
    // The titles share 3 of 4 words, then 2 of 4.
    let found = told((title, &["x", "y"]), (near, &["x", "y"]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, InsightSeverity::Info);
    let [low, high] = found[0].entries[..] else {
        panic!("a pair");
    };
    let command = format!("ken entry merge {high} --into {low}");
    assert_eq!(found[0].command.as_deref(), Some(command.as_str()));
    assert_eq!(told((title, &["x"]), (half, &["x"])), [], "half a title");
    let half_of_tags = told((title, &["x"]), (near, &["x", "y"]));
    assert_eq!(half_of_tags, [], "half of the tags");
    assert_eq!(
        told((title, &["x", "y"]), (near, &["x", "y", "z"])).len(),
        1,
        "two thirds of them"
    );
    let always = "Always retry the payment of an order";
    let never = "Never retry the payment of an order";
    assert_eq!(told((always, &["x"]), (never, &["x"])), [], "opposites");
}

#[test]
fn what_peers_know_of_a_domain_nobody_here_wrote_about_is_told() {
    let [ours, theirs] = add_entries(["Ours", "Theirs"]);
    let mut facts = health_facts(vec![with_tags(ours, &["auth"])]);
    facts.foreign = vec![with_tags(theirs, &["auth/jwt"])];
    assert_eq!(apply_rule(HealthRule::Inbound, &facts), []);
    facts.foreign[0] = with_tags(facts.foreign[0].clone(), &["billing/tax"]);
    let found = apply_rule(HealthRule::Inbound, &facts);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, InsightSeverity::Info);
    assert_eq!(
        found[0].what,
        "peers sent 1 entry about `billing`, for which there is no local entry"
    );
    // An imported entry that is in use here is still foreign.
    facts.entries.push(facts.foreign[0].clone());
    assert_eq!(apply_rule(HealthRule::Inbound, &facts).len(), 1);
}

/// Returns facts that trigger nearly every rule.
fn facts_for_every_rule() -> HealthFacts {
    let mut facts = cluster_with_errors(3_000, [5, 5, 5]);
    facts.entries = facts
        .entries
        .into_iter()
        .map(|it| with_tags(verified_with_polarity(it, Polarity::Positive), &["auth"]))
        .collect();
    facts.entries[1].content.as_mut().unwrap().polarity = Some(Polarity::Negative);
    let declining = tally(0, 9_000);
    facts.entries[0].tallies.days.insert(days_ago(0), declining);
    facts
        .peers
        .insert("peer:x".parse().unwrap(), tally(0, 2_000));
    crate::health_work::add_poor_runs(&mut facts);
    facts
}

#[test]
fn only_rules_2_4_and_5_suggest_research_and_all_of_theirs_do() {
    let found = evaluate_rules(&facts_for_every_rule());
    let told: BTreeSet<u8> = found.iter().map(|it| it.number).collect();
    for number in [1, 2, 3, 4, 5, 8, 9, 10, 11] {
        assert!(told.contains(&number), "{number} of {told:?}");
    }
    for insight in found {
        let carries = matches!(insight.number, 2 | 4 | 5);
        assert_eq!(insight.research.is_some(), carries, "{insight:?}");
        assert!(insight.command.is_some(), "{insight:?}");
    }
}

#[test]
fn three_of_fourteen_rules_suggest_research() {
    let suggests = RULES.iter().filter(|it| it.suggests_research());
    let numbers: Vec<u8> = suggests.map(|it| it.number()).collect();
    assert_eq!((numbers, RULES.len()), (vec![2, 4, 5], 14));
}

#[test]
fn the_gravest_insights_come_first() {
    let found = evaluate_rules(&facts_for_every_rule());
    let severities: Vec<InsightSeverity> = found.iter().map(|it| it.severity).collect();
    assert!(severities.is_sorted());
    assert_eq!(severities[0], InsightSeverity::ActionRequired);
}
