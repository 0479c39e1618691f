//! Rules 1 to 7: what is known, and how it holds up.

use std::collections::{BTreeMap, BTreeSet};

use super::{Facts, Insight, Rule, Severity, domains, listed, overlap, quoted};
use crate::content::Polarity;
use crate::entry::Entry;
use crate::event::PairKind;
use crate::facts::{Beta, Validity};
use crate::id::EntryId;
use crate::posterior::{self, Ageing};
use crate::status::Status;
use crate::text::{Tag, comparison_words, shortened};
use crate::time::Date;
use crate::together::{clusters, edges};

/// Rule 1: the share of its best within the last days that confidence must have lost, and those days.
pub const DECLINE: f64 = 0.2;
pub const DECLINE_DAYS: u32 = 7;

/// Rule 2: the share of tags two contrary entries must have more than in common.
pub const CONTRARY_OVERLAP: f64 = 0.3;

/// Rule 3: a peer that is trusted less than this lost too much.
pub const PEER_TRUST_MIN: f64 = 0.5;
/// Trust is the value a peer is better than with this probability, so that little history counts as little.
pub const PEER_PERCENTILE: f64 = 0.1;
/// What is believed of a peer before anything was observed.
pub const PEER_PRIOR: f64 = 1.0;

/// Rule 4: entries of a domain that disappoint, and how often each of them does at least.
pub const GAP_ENTRIES_MIN: usize = 3;
pub const GAP_ERRORS_MIN: u64 = 3;

/// Rule 5: how often every entry of a cluster must have disappointed more than.
pub const CLUSTER_ERRORS: u64 = 3;

/// Rule 6: the shares of tags and of title words two entries must have more than in common.
pub const MERGE_TAGS: f64 = 0.5;
pub const MERGE_TITLE: f64 = 0.5;
/// A tag that more entries bear tells nothing about which of them are one; `ken duplicates` looks at all.
pub const MERGE_TAG_ENTRIES_MAX: usize = 200;

/// Characters of a claim in a sentence about it.
const CLAIM_CHARS: usize = 60;

/// Confidence fell by more than a fifth from its best of the last week.
///
/// Confidence is the posterior mean: with no decay faster than 0.98 a day, alpha alone cannot lose a fifth in a
/// week; failures push the mean down.
pub fn confidence_decline(facts: &Facts) -> Vec<Insight> {
    let today = facts.now.date();
    let insight = |entry: &Entry| {
        let (best, now) = confidence_lately(entry, today);
        let told = (DECLINE < 1.0 - now / best).then(|| {
            format!(
                "confidence fell from {best:.2} to {now:.2} within {DECLINE_DAYS} days: {}",
                claim(entry)
            )
        })?;
        let insight = Insight::new(Rule::ConfidenceDecline, Severity::Attention, told);
        let command = format!("ken log {}", entry.id);
        Some(insight.about([entry.id]).command(command))
    };
    facts.entries.iter().filter_map(insight).collect()
}

/// Returns the best confidence of the last days, and today's.
fn confidence_lately(entry: &Entry, today: Date) -> (f64, f64) {
    let ageing = Ageing::of(entry.decay_class(), Validity::Unverifiable);
    let on = |day: Date| posterior::posterior_on(&entry.tallies, ageing, day).mean();
    let days = (0..=DECLINE_DAYS).map(|ago| on(today.minus_days(ago)));
    (days.fold(0.0, f64::max), on(today))
}

/// Two verified entries speak for and against what they are both about.
pub fn contradiction(facts: &Facts) -> Vec<Insight> {
    let verified = facts.entries.iter();
    let verified = verified.filter(|it| it.status.value == Status::Verified);
    let insight = |(one, other): (&Entry, &Entry)| {
        let what = format!(
            "two verified entries contradict each other: {} / {}",
            claim(one),
            claim(other)
        );
        let ids = [one.id, other.id];
        let research = format!("Find out which of {} holds, and when", listed(&ids));
        Insight::new(Rule::Contradiction, Severity::ActionRequired, what)
            .about(ids)
            .command(format!("ken show {}", one.id))
            .research(&research)
    };
    let pairs = contrary_pairs(verified, &facts.dismissed);
    pairs.into_iter().map(insight).collect()
}

/// Returns entries of contrary polarity whose tags overlap by more than [`CONTRARY_OVERLAP`].
pub fn contrary_pairs<'e>(
    entries: impl IntoIterator<Item = &'e Entry>,
    dismissed: &BTreeSet<(EntryId, EntryId, PairKind)>,
) -> Vec<(&'e Entry, &'e Entry)> {
    let (mut speak_for, mut against) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry.content.as_ref().and_then(|it| it.polarity) {
            Some(Polarity::Positive) => speak_for.push(entry),
            Some(Polarity::Negative) => against.push(entry),
            None => {}
        }
    }
    let mut pairs = Vec::new();
    for one in &speak_for {
        for other in &against {
            let (low, high) = (one.id.min(other.id), one.id.max(other.id));
            let is_settled = dismissed.contains(&(low, high, PairKind::Contradiction));
            if !is_settled && CONTRARY_OVERLAP < overlap(tags(one), tags(other)) {
                pairs.push((*one, *other));
            }
        }
    }
    pairs
}

/// A peer is trusted less than half.
pub fn trust_drop(facts: &Facts) -> Vec<Insight> {
    let insight = |(peer, tally): (&crate::actor::Actor, &crate::entry::Tally)| {
        let believed = Beta {
            alpha: PEER_PRIOR + super::as_float(tally.alpha_milli) / 1000.0,
            beta: PEER_PRIOR + super::as_float(tally.beta_milli) / 1000.0,
        };
        let trust = posterior::quantile(believed, PEER_PERCENTILE);
        (trust < PEER_TRUST_MIN).then(|| {
            let what = format!("{peer} is trusted {trust:.2} only");
            Insight::new(Rule::TrustDrop, Severity::Attention, what)
                .command(format!("ken revoke {}", quoted(&peer.to_string())))
        })
    };
    facts.peers.iter().filter_map(insight).collect()
}

/// Several entries of a domain disappoint again and again.
pub fn coverage_gap(facts: &Facts) -> Vec<Insight> {
    let mut by_domain: BTreeMap<String, Vec<&Entry>> = BTreeMap::new();
    for entry in &facts.entries {
        for domain in domains(entry) {
            by_domain.entry(domain).or_default().push(entry);
        }
    }
    let insight = |(domain, all): (String, Vec<&Entry>)| {
        let weak = |it: &&Entry| GAP_ERRORS_MIN <= facts.errors_of(it.id);
        let failing: Vec<EntryId> = all.iter().copied().filter(weak).map(|it| it.id).collect();
        if failing.len() < GAP_ENTRIES_MIN {
            return None;
        }
        // Where other entries of the domain still answer, the gap is a smaller one.
        let severity = match failing.len() == all.len() {
            true => Severity::Attention,
            false => Severity::Info,
        };
        let (count, of) = (failing.len(), all.len());
        let what = format!(
            "{count} of {of} entries about `{domain}` came up {GAP_ERRORS_MIN} times or more without answering"
        );
        let research = format!("Find out what is not known about {domain}");
        let insight = Insight::new(Rule::CoverageGap, severity, what);
        let command = format!("ken list --tag {}", quoted(&domain));
        Some(insight.about(failing).command(command).research(&research))
    };
    by_domain.into_iter().filter_map(insight).collect()
}

/// Everything that is used together somewhere disappoints.
pub fn stale_cluster(facts: &Facts) -> Vec<Insight> {
    let found = clusters(&edges(&facts.entries, facts.now.date()));
    let is_stale = |ids: &BTreeSet<EntryId>| {
        let mut ids = ids.iter();
        ids.all(|id| CLUSTER_ERRORS < facts.errors_of(*id))
    };
    let stale = found.into_iter().filter(|it| is_stale(&it.entries));
    let insight = |cluster: crate::together::Cluster| {
        let ids: Vec<EntryId> = cluster.entries.into_iter().collect();
        let count = ids.len();
        let what = format!(
            "all {count} entries that are used together came up more than {CLUSTER_ERRORS} times without answering"
        );
        let research = format!("Find out whether {} still hold", listed(&ids));
        let insight = Insight::new(Rule::StaleCluster, Severity::Attention, what);
        let command = "ken maintain stale_sweep".to_owned();
        insight.about(ids).command(command).research(&research)
    };
    stale.map(insight).collect()
}

/// Two entries are about the same, in much the same words.
pub fn merge_opportunity(facts: &Facts) -> Vec<Insight> {
    let entries = &facts.entries;
    let titles: Vec<BTreeSet<String>> = entries
        .iter()
        .map(|it| comparison_words(&it.title()).into_iter().collect())
        .collect();
    let mut found = Vec::new();
    for (one, other) in sharing_tags(entries) {
        let (first, second) = (&entries[one], &entries[other]);
        let (low, high) = (first.id.min(second.id), first.id.max(second.id));
        let is_settled = facts.dismissed.contains(&(low, high, PairKind::Duplicate));
        let alike = MERGE_TAGS < overlap(tags(first), tags(second))
            && MERGE_TITLE < overlap(&titles[one], &titles[other]);
        if is_settled || !alike || first.id.prefix() != second.id.prefix() {
            continue;
        }
        let what = format!("these might be one: {} / {}", claim(first), claim(second));
        let insight = Insight::new(Rule::MergeOpportunity, Severity::Info, what);
        let command = format!("ken merge {high} --into {low}");
        found.push(insight.about([low, high]).command(command));
    }
    found
}

/// Returns which entries have a tag in common that few others bear, each pair once.
fn sharing_tags(entries: &[Entry]) -> BTreeSet<(usize, usize)> {
    let mut bearing: BTreeMap<&Tag, Vec<usize>> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        for tag in tags(entry) {
            bearing.entry(tag).or_default().push(place);
        }
    }
    let mut pairs = BTreeSet::new();
    let telling = bearing.values();
    for with in telling.filter(|it| it.len() <= MERGE_TAG_ENTRIES_MAX) {
        for (at, one) in with.iter().enumerate() {
            pairs.extend(with[at + 1..].iter().map(|other| (*one, *other)));
        }
    }
    pairs
}

/// Peers know something about a domain that nobody here wrote about.
pub fn inbound(facts: &Facts) -> Vec<Insight> {
    let foreign: BTreeSet<EntryId> = facts.foreign.iter().map(|it| it.id).collect();
    let local = facts.entries.iter().filter(|it| !foreign.contains(&it.id));
    let covered: BTreeSet<String> = local.flat_map(domains).collect();
    let mut new: BTreeMap<String, Vec<EntryId>> = BTreeMap::new();
    for entry in &facts.foreign {
        for domain in domains(entry).difference(&covered) {
            new.entry(domain.clone()).or_default().push(entry.id);
        }
    }
    let insight = |(domain, ids): (String, Vec<EntryId>)| {
        let count = ids.len();
        let entries = if count == 1 { "entry" } else { "entries" };
        let what = format!(
            "peers sent {count} {entries} about `{domain}`, of which nothing is known here"
        );
        let command = format!("ken show {}", ids[0]);
        Insight::new(Rule::Inbound, Severity::Info, what)
            .about(ids)
            .command(command)
    };
    new.into_iter().map(insight).collect()
}

fn tags(entry: &Entry) -> &BTreeSet<Tag> {
    static NONE: BTreeSet<Tag> = BTreeSet::new();
    entry.content.as_ref().map_or(&NONE, |it| &it.tags)
}

fn claim(entry: &Entry) -> String {
    format!("\"{}\"", shortened(&entry.title(), CLAIM_CHARS))
}
