//! Rules 1 to 7: confidence, contradictions, peer trust, coverage, staleness and duplicates.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    HealthFacts, HealthInsight, HealthRule, InsightSeverity, domains, jaccard, join_ids,
    shell_quote,
};
use crate::ledger::cooccurrence::{cooccurrence_edges, find_clusters};
use crate::ledger::entry::Entry;
use crate::ledger::event::PairKind;
use crate::trust::facts::{BetaPosterior, Validity};
use crate::trust::posterior::{self, EvidenceDecay};
use crate::trust::similarity::{SimilarityVerdict, TokenizedStatement, classify_similarity};
use crate::values::content::Polarity;
use crate::values::id::EntryId;
use crate::values::status::EntryStatus;
use crate::values::text::{Tag, comparison_words, truncate};
use crate::values::time::Date;

/// Rule 1: relative loss of confidence from its recent peak above which the rule reports.
pub const DECLINE: f64 = 0.2;
/// Rule 1: days in which the peak is searched.
pub const DECLINE_DAYS: u32 = 7;

/// Rule 2: Jaccard index of tags above which entries of opposite polarity conflict.
pub const CONTRARY_OVERLAP: f64 = 0.3;

/// Rule 3: trust below which a peer is reported.
pub const PEER_TRUST_MIN: f64 = 0.5;
/// Rule 3: trust is this quantile of a peer's posterior, so that a short history earns little
/// trust.
pub const PEER_PERCENTILE: f64 = 0.1;
/// Rule 3: alpha and beta of a peer's prior.
pub const PEER_PRIOR: f64 = 1.0;

/// Rule 4: failing entries of one domain from which it has a coverage gap.
pub const GAP_ENTRIES_MIN: usize = 3;
/// Rule 4: errors from which an entry is failing.
pub const GAP_ERRORS_MIN: u64 = 3;

/// Rule 5: errors that every entry of a stale cluster exceeds.
pub const CLUSTER_ERRORS: u64 = 3;

/// Rule 6: Jaccard index of tags that merge candidates exceed.
pub const MERGE_TAGS: f64 = 0.5;
/// Rule 6: Jaccard index of title words that merge candidates exceed.
pub const MERGE_TITLE: f64 = 0.5;
/// Rule 6: entries with one tag above which it pairs none of them.
pub const MERGE_TAG_ENTRIES_MAX: usize = 200;

/// Maximum length of a quoted title, in characters.
const TITLE_CHARS: usize = 60;
/// Maximum length of a title in a signal for the forager, in characters.
const SIGNAL_CHARS: usize = 160;

/// Rule 1: reports entries whose confidence fell by more than a fifth within a week.
///
/// Confidence is the posterior mean. Decay alone, at most 2 % per day, cannot lose a fifth of alpha
/// in a week; failures lower the mean.
pub fn confidence_decline(facts: &HealthFacts) -> Vec<HealthInsight> {
    let today = facts.now.date();
    let insight = |entry: &Entry| {
        let (best, now) = recent_confidence(entry, today);
        let message = (1.0 - now / best > DECLINE).then(|| {
            format!(
                "confidence fell from {best:.2} to {now:.2} within {DECLINE_DAYS} days: {}",
                quoted_title(entry)
            )
        })?;
        let insight = HealthInsight::new(
            HealthRule::ConfidenceDecline,
            InsightSeverity::Attention,
            message,
        );
        let command = format!("ken log {}", entry.id);
        Some(insight.with_entries([entry.id]).with_command(command))
    };
    facts.entries.iter().filter_map(insight).collect()
}

/// Returns the peak confidence of the last days, and today's.
fn recent_confidence(entry: &Entry, today: Date) -> (f64, f64) {
    // The validity of past days is not recorded, so all days are computed as unverifiable.
    let ageing = EvidenceDecay::for_live(entry.decay_class(), Validity::Unverifiable);
    let on = |day: Date| posterior::compute_posterior_on(&entry.tallies, ageing, day).mean();
    let days = (0..=DECLINE_DAYS).map(|ago| on(today.minus_days(ago)));
    (days.fold(0.0, f64::max), on(today))
}

/// Rule 2: reports verified entries of opposite polarity in one domain.
pub fn contradiction(facts: &HealthFacts) -> Vec<HealthInsight> {
    let verified = facts.entries.iter();
    let verified = verified.filter(|it| it.status.value == EntryStatus::Verified);
    let insight = |(one, other): (&Entry, &Entry)| {
        let what = format!(
            "two verified entries contradict each other: {} / {}",
            quoted_title(one),
            quoted_title(other)
        );
        let ids = [one.id, other.id];
        let research = format!("Find out which of {} is true, and when", join_ids(&ids));
        HealthInsight::new(
            HealthRule::Contradiction,
            InsightSeverity::ActionRequired,
            what,
        )
        .with_entries(ids)
        .with_command(format!("ken show {}", one.id))
        .with_research(&research)
    };
    let pairs = contrary_pairs(verified, &facts.dismissed);
    pairs.into_iter().map(insight).collect()
}

/// Returns pairs of opposite polarity whose tags overlap by more than [`CONTRARY_OVERLAP`].
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
            if !is_settled && jaccard(tags(one), tags(other)) > CONTRARY_OVERLAP {
                pairs.push((*one, *other));
            }
        }
    }
    pairs
}

/// Rule 3: reports peers that failed and whose trust is below [`PEER_TRUST_MIN`].
pub fn trust_drop(facts: &HealthFacts) -> Vec<HealthInsight> {
    let insight = |(peer, tally): (
        &crate::values::actor::Actor,
        &crate::ledger::entry::BetaTally,
    )| {
        let peer_posterior = BetaPosterior {
            alpha: PEER_PRIOR + super::as_float(tally.alpha_milli) / 1000.0,
            beta: PEER_PRIOR + super::as_float(tally.beta_milli) / 1000.0,
        };
        let trust = posterior::beta_quantile(peer_posterior, PEER_PERCENTILE);
        // Without a failure a low trust only says that little is known, which is no reason to
        // revoke.
        let has_failed = tally.beta_milli > 0;
        (trust < PEER_TRUST_MIN && has_failed).then(|| {
            let what = format!("trust in {peer} is only {trust:.2}");
            HealthInsight::new(HealthRule::TrustDrop, InsightSeverity::Attention, what)
                .with_command(format!(
                    "ken guard revoke --author {}",
                    shell_quote(&peer.to_string())
                ))
        })
    };
    facts.peers.iter().filter_map(insight).collect()
}

/// Rule 4: reports domains in which several entries repeatedly fail to answer.
pub fn coverage_gap(facts: &HealthFacts) -> Vec<HealthInsight> {
    let mut by_domain: BTreeMap<String, Vec<&Entry>> = BTreeMap::new();
    for entry in &facts.entries {
        for domain in domains(entry) {
            by_domain.entry(domain).or_default().push(entry);
        }
    }
    let insight = |(domain, all): (String, Vec<&Entry>)| {
        let fails = |it: &&Entry| facts.errors_of(it.id) >= GAP_ERRORS_MIN;
        let failing: Vec<EntryId> = all.iter().copied().filter(fails).map(|it| it.id).collect();
        if failing.len() < GAP_ENTRIES_MIN {
            return None;
        }
        // If other entries of the domain still answer, the gap is less severe.
        let severity = if failing.len() == all.len() {
            InsightSeverity::Attention
        } else {
            InsightSeverity::Info
        };
        let (count, of) = (failing.len(), all.len());
        let what = format!(
            "{count} of {of} entries about `{domain}` were found {GAP_ERRORS_MIN} times or more without answering the query"
        );
        let research = format!("Find out which knowledge about {domain} is missing");
        let insight = HealthInsight::new(HealthRule::CoverageGap, severity, what);
        let question = worst_title(facts, &failing).map(|it| format!("{domain}: {it}"));
        let command = format!("ken list --tag {}", shell_quote(&domain));
        Some(
            insight
                .with_entries(failing)
                .with_command(command)
                .with_research(&research)
                .with_forage_signal(question),
        )
    };
    by_domain.into_iter().filter_map(insight).collect()
}

/// Rule 5: reports clusters of entries used together in which every entry fails to answer.
pub fn stale_cluster(facts: &HealthFacts) -> Vec<HealthInsight> {
    let found = find_clusters(&cooccurrence_edges(&facts.entries, facts.now.date()));
    let is_stale = |ids: &BTreeSet<EntryId>| {
        let mut ids = ids.iter();
        ids.all(|id| facts.errors_of(*id) > CLUSTER_ERRORS)
    };
    let stale = found.into_iter().filter(|it| is_stale(&it.entries));
    let insight = |cluster: crate::ledger::cooccurrence::EntryCluster| {
        let ids: Vec<EntryId> = cluster.entries.into_iter().collect();
        let count = ids.len();
        let what = format!(
            "all {count} entries that are used together were found more than {CLUSTER_ERRORS} times without answering the query"
        );
        let research = format!("Find out whether {} are still true", join_ids(&ids));
        let insight =
            HealthInsight::new(HealthRule::StaleCluster, InsightSeverity::Attention, what);
        let question = worst_title(facts, &ids);
        let command = "ken health maintain stale_sweep".to_owned();
        insight
            .with_entries(ids)
            .with_command(command)
            .with_research(&research)
            .with_forage_signal(question)
    };
    stale.map(insight).collect()
}

/// Returns the title of the entry with the most errors, of several the one with the lowest id.
fn worst_title(facts: &HealthFacts, ids: &[EntryId]) -> Option<String> {
    let worst = ids
        .iter()
        .max_by_key(|id| (facts.errors_of(**id), std::cmp::Reverse(**id)))?;
    let entry = facts.entries.iter().find(|it| it.id == *worst)?;
    Some(truncate(&entry.title(), SIGNAL_CHARS))
}

/// Rule 6: reports pairs with similar tags and titles.
pub fn merge_opportunity(facts: &HealthFacts) -> Vec<HealthInsight> {
    let entries = &facts.entries;
    let titles: Vec<BTreeSet<String>> = entries
        .iter()
        .map(|it| comparison_words(&it.title()).into_iter().collect())
        .collect();
    let mut found = Vec::new();
    for (one, other) in pairs_sharing_tag(entries) {
        let (first, second) = (&entries[one], &entries[other]);
        let (low, high) = (first.id.min(second.id), first.id.max(second.id));
        let is_settled = facts.dismissed.contains(&(low, high, PairKind::Duplicate));
        let alike = jaccard(tags(first), tags(second)) > MERGE_TAGS
            && jaccard(&titles[one], &titles[other]) > MERGE_TITLE;
        // A lesson and a norm, for example, may share tags and title without being duplicates.
        if is_settled || !alike || first.id.prefix() != second.id.prefix() {
            continue;
        }
        // Opposites are similar texts; a merge would lose one of them.
        if are_opposed(first, second) {
            continue;
        }
        let what = format!(
            "possible duplicates: {} / {}",
            quoted_title(first),
            quoted_title(second)
        );
        let insight = HealthInsight::new(HealthRule::MergeOpportunity, InsightSeverity::Info, what);
        let command = format!("ken entry merge {high} --into {low}");
        found.push(insight.with_entries([low, high]).with_command(command));
    }
    found
}

fn are_opposed(first: &Entry, second: &Entry) -> bool {
    let (Some(first), Some(second)) = (&first.content, &second.content) else {
        return false;
    };
    let [first, second] =
        [first, second].map(|it| TokenizedStatement::parse(it.statement.as_str()));
    classify_similarity(&first, &second, None) == SimilarityVerdict::Opposed
}

/// Returns the index pairs of entries that share a tag, each once, ignoring very common tags.
fn pairs_sharing_tag(entries: &[Entry]) -> BTreeSet<(usize, usize)> {
    let mut by_tag: BTreeMap<&Tag, Vec<usize>> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        for tag in tags(entry) {
            by_tag.entry(tag).or_default().push(place);
        }
    }
    let mut pairs = BTreeSet::new();
    // Pairs grow with the square of a tag's entries; the cap keeps the report fast.
    let buckets = by_tag.values();
    for bucket in buckets.filter(|it| it.len() <= MERGE_TAG_ENTRIES_MAX) {
        for (at, one) in bucket.iter().enumerate() {
            pairs.extend(bucket[at + 1..].iter().map(|other| (*one, *other)));
        }
    }
    pairs
}

/// Rule 7: reports entries from peers about domains without a local entry.
pub fn inbound(facts: &HealthFacts) -> Vec<HealthInsight> {
    // Live entries from peers are in both lists and must not count as local coverage.
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
            "peers sent {count} {entries} about `{domain}`, for which there is no local entry"
        );
        let command = format!("ken show {}", ids[0]);
        HealthInsight::new(HealthRule::Inbound, InsightSeverity::Info, what)
            .with_entries(ids)
            .with_command(command)
    };
    new.into_iter().map(insight).collect()
}

fn tags(entry: &Entry) -> &BTreeSet<Tag> {
    static NONE: BTreeSet<Tag> = BTreeSet::new();
    entry.content.as_ref().map_or(&NONE, |it| &it.tags)
}

fn quoted_title(entry: &Entry) -> String {
    format!("\"{}\"", truncate(&entry.title(), TITLE_CHARS))
}
