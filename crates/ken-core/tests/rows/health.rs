//! Rules 1 to 7 of the briefing, each at its boundary and on both sides of it.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::content::Polarity;
use ken_core::entry::{Entry, Tally};
use ken_core::event::PairKind;
use ken_core::health::{Facts, Insight, RULES, Rule, Severity, insights};
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_core::maintenance::Policy;
use ken_core::score::Weights;
use ken_core::status::Status;
use ken_core::time::Date;
use ken_core::together::Together;

use crate::stage::Stage;

pub(crate) const TODAY: &str = "2026-11-15";

/// Facts about entries and nothing else.
pub(crate) fn facts(entries: Vec<Entry>) -> Facts {
    Facts {
        now: format!("{TODAY}T12:00:00Z").parse().unwrap(),
        entries,
        foreign: Vec::new(),
        errors: BTreeMap::new(),
        peers: BTreeMap::new(),
        dismissed: BTreeSet::new(),
        outcomes: Vec::new(),
        weights: Weights::default(),
        policy: Policy::default(),
    }
}

pub(crate) fn day(ago: u32) -> Date {
    TODAY.parse::<Date>().unwrap().minus_days(ago)
}

/// Entries that say nothing but how they are called.
pub(crate) fn entries<const N: usize>(statements: [&str; N]) -> [Entry; N] {
    let mut stage = Stage::new();
    statements.map(|it| {
        let id = stage.add(Kind::Learning, it);
        stage.entry(id)
    })
}

pub(crate) fn tagged(mut entry: Entry, tags: &[&str]) -> Entry {
    let content = entry.content.as_mut().unwrap();
    content.tags = tags.iter().map(|it| it.parse().unwrap()).collect();
    entry
}

fn verified(mut entry: Entry, polarity: Polarity) -> Entry {
    entry.status.value = Status::Verified;
    entry.content.as_mut().unwrap().polarity = Some(polarity);
    entry
}

fn tally(alpha_milli: u64, beta_milli: u64) -> Tally {
    Tally {
        alpha_milli,
        beta_milli,
    }
}

fn look(rule: Rule, facts: &Facts) -> Vec<Insight> {
    rule.look(facts)
}

#[test]
fn hlt_04_hlt_05_there_are_fourteen_rules_and_the_same_facts_give_the_same_words() {
    assert_eq!(RULES.len(), 14);
    let numbers: Vec<u8> = RULES.iter().map(|rule| rule.number()).collect();
    assert_eq!(numbers, (1..=14).collect::<Vec<u8>>());
    let facts = everything();
    assert!(!insights(&facts).is_empty());
    assert_eq!(insights(&facts), insights(&facts.clone()));
}

#[test]
fn hlt_06_confidence_that_lost_more_than_a_fifth_within_seven_days_is_told() {
    let declining = |beta_milli, ago| {
        let [mut entry] = entries(["Charging twice is safe"]);
        entry.content.as_mut().unwrap().decay = ken_core::content::DecayClass::Permanent;
        entry.tallies.days.insert(day(ago), tally(0, beta_milli));
        look(Rule::ConfidenceDecline, &facts(vec![entry]))
    };
    // 5 / 12.5 is a fifth less than 5 / 10.
    assert_eq!(declining(2_500, 0), []);
    let told = declining(2_501, 0);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].severity, Severity::Attention);
    let command = format!("ken log {}", told[0].entries[0]);
    assert_eq!(told[0].command.as_deref(), Some(command.as_str()));
    // A week ago it was still at its best; eight days ago is too long.
    assert_eq!(declining(5_000, 6).len(), 1);
    assert_eq!(declining(5_000, 7), []);
}

#[test]
fn hlt_07_two_verified_entries_that_are_contrary_with_more_than_30_percent_of_tags_require_action()
{
    let told = |ours: &[&str], theirs: &[&str]| {
        let [one, other] = entries(["Retry payments", "Never retry payments"]);
        let one = tagged(verified(one, Polarity::Positive), ours);
        let other = tagged(verified(other, Polarity::Negative), theirs);
        look(Rule::Contradiction, &facts(vec![one, other]))
    };
    // 3 of 10 are no more than 30 %.
    let shared = ["a", "b", "c"];
    let ours = [&shared[..], &["d", "e", "f"]].concat();
    let theirs = [&shared[..], &["g", "h", "i", "j"]].concat();
    assert_eq!(told(&ours, &theirs), []);
    let found = told(&ours, &theirs[..6]);
    assert_eq!(found.len(), 1, "3 of 9 are");
    assert_eq!(found[0].severity, Severity::ActionRequired);
    let research = found[0].research.as_ref().unwrap();
    assert_eq!(research.role, "researcher");
    assert!(research.task.starts_with("[maintenance:contradiction] "));
    assert!(research.command.starts_with(
        "ken run open --agent researcher,role=researcher --task '[maintenance:contradiction] "
    ));
}

#[test]
fn hlt_07_what_is_not_verified_or_not_contrary_or_settled_is_no_contradiction() {
    let [one, other] = entries(["Retry payments", "Never retry payments"]);
    let one = tagged(verified(one, Polarity::Positive), &["pay"]);
    let other = tagged(verified(other, Polarity::Negative), &["pay"]);
    let all = facts(vec![one.clone(), other.clone()]);
    assert_eq!(look(Rule::Contradiction, &all).len(), 1);
    let mut active = all.clone();
    active.entries[1].status.value = Status::Active;
    assert_eq!(look(Rule::Contradiction, &active), []);
    let mut agreeing = all.clone();
    agreeing.entries[1].content.as_mut().unwrap().polarity = Some(Polarity::Positive);
    assert_eq!(look(Rule::Contradiction, &agreeing), []);
    let mut settled = all;
    let pair = (one.id.min(other.id), one.id.max(other.id));
    let pair = (pair.0, pair.1, PairKind::Contradiction);
    settled.dismissed.insert(pair);
    assert_eq!(look(Rule::Contradiction, &settled), []);
}

#[test]
fn hlt_08_a_peer_whose_tenth_percentile_is_below_a_half_is_told() {
    let told = |alpha_milli, beta_milli| {
        let mut facts = facts(Vec::new());
        let peer = "peer:elsewhere".parse().unwrap();
        facts.peers.insert(peer, tally(alpha_milli, beta_milli));
        look(Rule::TrustDrop, &facts)
    };
    // The tenth percentile of Beta(a, 1) is 0.1^(1/a), which is a half at a = 3.3219.
    assert_eq!(told(2_322, 0), []);
    let found = told(2_321, 0);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Attention);
    assert_eq!(
        found[0].command.as_deref(),
        Some("ken revoke 'peer:elsewhere'")
    );
    assert_eq!(told(50_000, 0), []);
    assert_eq!(told(50_000, 60_000).len(), 1, "it failed more often");
}

/// Entries of one domain, the first `failing` of which came up `errors` times without answering.
fn domain(all: usize, failing: usize, errors: u64) -> Facts {
    let [a, b, c, d] = entries(["One", "Two", "Three", "Four"]);
    let known = [a, b, c, d].into_iter().take(all);
    let known = known.map(|it| tagged(it, &["auth/jwt"]));
    let mut facts = facts(known.collect());
    let ids: Vec<EntryId> = facts.entries.iter().map(|it| it.id).collect();
    facts
        .errors
        .extend(ids.into_iter().take(failing).map(|id| (id, errors)));
    facts
}

#[test]
fn hlt_09_three_entries_of_a_domain_with_three_errors_each_are_a_gap() {
    let told = |all, failing, errors| look(Rule::CoverageGap, &domain(all, failing, errors));
    assert_eq!(told(3, 2, 3), [], "two entries are none");
    assert_eq!(told(3, 3, 2), [], "nor are two errors");
    let found = told(3, 3, 3);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Attention);
    assert_eq!(found[0].entries.len(), 3);
    assert_eq!(found[0].command.as_deref(), Some("ken list --tag 'auth'"));
    let research = found[0].research.as_ref().unwrap();
    assert_eq!(
        research.task,
        "[maintenance:coverage] Find out what is not known about auth"
    );
    assert_eq!(
        told(4, 3, 3)[0].severity,
        Severity::Info,
        "one still answers"
    );
}

/// Three entries used together with this weight, each disappointing this often.
fn cluster(weight_milli: u32, errors: [u64; 3]) -> Facts {
    let mut all = entries(["One", "Two", "Three"]);
    let ids = [all[0].id, all[1].id, all[2].id];
    let on = day(0);
    for other in [ids[1], ids[2]] {
        let together = Together { weight_milli, on };
        all[0].tallies.together.insert(other, together);
    }
    let mut facts = facts(all.into());
    facts.errors = ids.into_iter().zip(errors).collect();
    facts
}

#[test]
fn hlt_10_a_cluster_in_which_every_entry_has_more_than_three_errors_is_stale() {
    assert_eq!(look(Rule::StaleCluster, &cluster(2_001, [4, 4, 3])), []);
    let found = look(Rule::StaleCluster, &cluster(2_001, [4, 4, 4]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Attention);
    assert_eq!(found[0].entries.len(), 3);
    assert!(found[0].research.is_some());
    let loose = look(Rule::StaleCluster, &cluster(2_000, [4, 4, 4]));
    assert_eq!(loose, [], "nothing holds them together");
}

#[test]
fn hlt_11_more_than_half_of_tags_and_more_than_half_of_a_title_make_a_merge_opportunity() {
    let told = |ours: (&str, &[&str]), theirs: (&str, &[&str])| {
        let [one, other] = entries([ours.0, theirs.0]);
        let facts = facts(vec![tagged(one, ours.1), tagged(other, theirs.1)]);
        look(Rule::MergeOpportunity, &facts)
    };
    let (title, near, half) = (
        "alpha beta gamma",
        "alpha beta gamma delta",
        "alpha beta delta",
    );
    // 3 of 4 words, and 2 of 4.
    let found = told((title, &["x", "y"]), (near, &["x", "y"]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Info);
    let [low, high] = found[0].entries[..] else {
        panic!("a pair");
    };
    let command = format!("ken merge {high} --into {low}");
    assert_eq!(found[0].command.as_deref(), Some(command.as_str()));
    assert_eq!(told((title, &["x"]), (half, &["x"])), [], "half a title");
    let half_of_tags = told((title, &["x"]), (near, &["x", "y"]));
    assert_eq!(half_of_tags, [], "half of the tags");
    assert_eq!(
        told((title, &["x", "y"]), (near, &["x", "y", "z"])).len(),
        1,
        "two thirds of them"
    );
}

#[test]
fn hlt_12_what_peers_know_of_a_domain_nobody_here_wrote_about_is_told() {
    let [ours, theirs] = entries(["Ours", "Theirs"]);
    let mut facts = facts(vec![tagged(ours, &["auth"])]);
    facts.foreign = vec![tagged(theirs, &["auth/jwt"])];
    assert_eq!(look(Rule::Inbound, &facts), []);
    facts.foreign[0] = tagged(facts.foreign[0].clone(), &["billing/tax"]);
    let found = look(Rule::Inbound, &facts);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Info);
    assert_eq!(
        found[0].what,
        "peers sent 1 entry about `billing`, of which nothing is known here"
    );
    // What is in use here and came from there is still foreign.
    facts.entries.push(facts.foreign[0].clone());
    assert_eq!(look(Rule::Inbound, &facts).len(), 1);
}

/// Facts about which nearly every rule has something to say.
fn everything() -> Facts {
    let mut facts = cluster(3_000, [5, 5, 5]);
    facts.entries = facts
        .entries
        .into_iter()
        .map(|it| tagged(verified(it, Polarity::Positive), &["auth"]))
        .collect();
    facts.entries[1].content.as_mut().unwrap().polarity = Some(Polarity::Negative);
    let declining = tally(0, 9_000);
    facts.entries[0].tallies.days.insert(day(0), declining);
    facts.peers.insert("peer:x".parse().unwrap(), tally(0, 0));
    crate::health_work::add_poor_work(&mut facts);
    facts
}

#[test]
fn hlt_18_only_rules_2_4_and_5_suggest_research_and_all_of_theirs_do() {
    let found = insights(&everything());
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
fn the_gravest_insights_come_first() {
    let found = insights(&everything());
    let severities: Vec<Severity> = found.iter().map(|it| it.severity).collect();
    assert!(severities.is_sorted());
    assert_eq!(severities[0], Severity::ActionRequired);
}
