//! Amendments: which decision a captured claim changes, and the link when it is accepted.
//!
//! A claim names the older entries and claims (`InboxClaim::supersedes`). The links are carried
//! when the claim becomes an entry, in whichever order they are accepted, so that the older rule
//! is not shown as current beside the newer one.

use std::collections::BTreeSet;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::retrieval::code_names::CodeNames;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::text::Body;
use ken_digest::transcript::{DecisionText, find_amended};

use super::capture::DIGEST_DIGITS;
use super::inbox::{self, InboxClaim};
use crate::engine::Engine;
use crate::error::{EngineError, ErrorKind};

/// Maximum names of code that an amendment takes from the older decision.
const SUBJECT_NAMES_MAX: usize = 2;

/// What happens to the entries that accepted claims amend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OlderEntries {
    Supersede,
    Keep,
}

/// Entries superseded by accepted claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SupersedeOutcome {
    /// The older and the newer entry.
    pub superseded: Vec<(EntryId, EntryId)>,
    pub kept: Vec<KeptDecision>,
}

/// An older entry that stays current although a claim amends it, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptDecision {
    pub older: EntryId,
    pub newer: EntryId,
    pub reason: String,
}

/// The current decisions that a captured claim may amend, oldest first.
pub(super) struct OlderDecisions {
    ids: Vec<String>,
    decisions: Vec<DecisionText>,
}

impl OlderDecisions {
    /// Loads the entries in use and the pending claims, except those that another claim amends.
    pub(super) fn load(engine: &Engine) -> Result<Self, EngineError> {
        let pending = engine.inbox_claims()?;
        let amended: BTreeSet<&str> = pending
            .iter()
            .flat_map(|it| it.supersedes.iter().map(String::as_str))
            .collect();
        let mut older = Self {
            ids: Vec::new(),
            decisions: Vec::new(),
        };
        let mut entries = engine.index.list(&EntryFilter::default())?;
        entries.sort_by_key(|it| it.created.as_ref().map(|made| made.at));
        for entry in entries.iter().filter(|it| it.is_prescriptive()) {
            older.push(entry.id.to_string(), entry_decision(entry), &amended);
        }
        for claim in pending.iter().filter(|it| it.kind.is_prescriptive()) {
            older.push(claim.id.clone(), claim_decision(claim), &amended);
        }
        Ok(older)
    }

    fn push(&mut self, id: String, decision: DecisionText, amended: &BTreeSet<&str>) {
        if !amended.contains(id.as_str()) {
            self.ids.push(id);
            self.decisions.push(decision);
        }
    }

    /// Returns the ids of the entries and claims that `claim` amends. `before` are the claims of
    /// the same source before it.
    pub(super) fn amended_by(&self, claim: &InboxClaim, before: &[InboxClaim]) -> Vec<String> {
        let amended: BTreeSet<&str> = before
            .iter()
            .flat_map(|it| it.supersedes.iter().map(String::as_str))
            .collect();
        let (mut ids, mut decisions) = (Vec::new(), Vec::new());
        let known = self.ids.iter().zip(&self.decisions);
        let known = known.map(|(id, decision)| (id.as_str(), decision.clone()));
        let earlier = before.iter().filter(|it| it.kind.is_prescriptive());
        let earlier = earlier.map(|it| (it.id.as_str(), claim_decision(it)));
        for (id, decision) in known.chain(earlier) {
            // A transcript may be captured again: a claim does not amend itself.
            if id != claim.id && !amended.contains(id) {
                ids.push(id);
                decisions.push(decision);
            }
        }
        let places = find_amended(&claim_decision(claim), &decisions);
        places.into_iter().map(|it| ids[it].to_owned()).collect()
    }
}

fn entry_decision(entry: &Entry) -> DecisionText {
    let body = entry.content.as_ref().and_then(|it| it.body.as_ref());
    let body = body.map_or("", Body::as_str);
    let citations = entry.citations.iter().map(ToString::to_string);
    DecisionText {
        text: format!("{}\n{body}", entry.statement_text()),
        conversation: citations.into_iter().find_map(|it| conversation_of(&it)),
    }
}

fn claim_decision(claim: &InboxClaim) -> DecisionText {
    let exchange = claim.exchange.as_deref().unwrap_or_default();
    DecisionText {
        text: format!("{}\n{exchange}", claim.statement),
        conversation: conversation_of(&claim.cite),
    }
}

/// Returns the digest of the captured transcript that a citation names.
fn conversation_of(citation: &str) -> Option<String> {
    let transcript = citation.strip_prefix("transcript:")?;
    let digest = transcript.split_once('#').map_or(transcript, |it| it.0);
    // By hand, `transcript:` cites anything.
    let is_digest =
        digest.len() == DIGEST_DIGITS && digest.bytes().all(|it| it.is_ascii_hexdigit());
    is_digest.then(|| digest.to_owned())
}

/// Returns the names of code that the amended decision states and the claim does not.
///
/// "Amended rule: at most 30 seconds" is about the function that the older rule named. Without the
/// name, a prompt about that function would find neither: the older one is superseded.
pub(super) fn missing_subject(
    engine: &Engine,
    pending: &[InboxClaim],
    claim: &InboxClaim,
) -> Option<String> {
    let older = older_statements(engine, pending, claim);
    let own: BTreeSet<&str> = code_words(&claim.statement).collect();
    let mut names: Vec<&str> = Vec::new();
    for name in older.iter().flat_map(|it| code_words(it)) {
        if names.len() < SUBJECT_NAMES_MAX && !names.contains(&name) {
            names.push(name);
        }
    }
    let is_named = names.is_empty() || names.iter().any(|it| own.contains(it));
    (!is_named).then(|| names.join(", "))
}

/// Returns the statements that a claim amends, then those that these amend, and so on.
///
/// Of two amendments in one conversation the later names the earlier, which names no code either.
fn older_statements(engine: &Engine, pending: &[InboxClaim], claim: &InboxClaim) -> Vec<String> {
    let mut statements = Vec::new();
    let mut waiting: Vec<&String> = claim.supersedes.iter().rev().collect();
    let mut seen = BTreeSet::from([&claim.id]);
    while let Some(older) = waiting.pop() {
        // Claims are files that a person can edit: two may name each other.
        if !seen.insert(older) {
            continue;
        }
        if let Some(it) = pending.iter().find(|it| it.id == *older) {
            statements.push(it.statement.clone());
            waiting.extend(it.supersedes.iter().rev());
        } else if let Ok(entry) = engine.find(older) {
            statements.push(entry.statement_text().to_owned());
        }
    }
    statements
}

/// Returns the words of a text that are code wherever they stand, such as `merge_records`.
fn code_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|it| !CodeNames::from_text(it).is_empty())
}

/// Supersedes what accepted claims amend, and lets pending claims name the new entries.
pub(crate) fn link_accepted(
    engine: &mut Engine,
    accepted: &[(EntryId, InboxClaim)],
    older: OlderEntries,
    by: &Actor,
) -> Result<SupersedeOutcome, EngineError> {
    let mut outcome = SupersedeOutcome::default();
    let entry_of = |name: &String| {
        let claimed = accepted.iter().find(|(_, claim)| claim.id == *name);
        claimed.map_or_else(|| name.parse().ok(), |(id, _)| Some(*id))
    };
    let mut pairs = Vec::new();
    for (id, claim) in accepted {
        let before = claim.supersedes.iter().filter_map(entry_of);
        let after = claim.superseded_by.iter().filter_map(entry_of);
        pairs.extend(before.map(|it| (it, *id)).chain(after.map(|it| (*id, it))));
    }
    if older == OlderEntries::Keep {
        pairs.clear();
    }
    for (old, new) in oldest_first(pairs) {
        match supersede_if_allowed(engine, old, new, by) {
            Ok(()) => outcome.superseded.push((old, new)),
            // For example an agent that accepts, where a person wrote the older entry.
            Err(error) if matches!(error.kind(), ErrorKind::Refused | ErrorKind::User) => {
                outcome.kept.push(KeptDecision {
                    older: old,
                    newer: new,
                    reason: error.to_string(),
                });
            }
            Err(error) => return Err(error),
        }
    }
    rename_in_pending(engine, accepted, older)?;
    Ok(outcome)
}

/// Orders pairs of an older and a newer entry so that an entry replaces others before it is
/// replaced itself: an entry that is not in use any more cannot replace one.
fn oldest_first(mut pairs: Vec<(EntryId, EntryId)>) -> Vec<(EntryId, EntryId)> {
    let mut ordered = Vec::with_capacity(pairs.len());
    while !pairs.is_empty() {
        let newer: BTreeSet<EntryId> = pairs.iter().map(|it| it.1).collect();
        let (later, ready): (Vec<_>, Vec<_>) =
            pairs.iter().partition(|(old, _)| newer.contains(old));
        // Claims of one conversation only amend earlier ones; a circle would have no first pair.
        if ready.is_empty() {
            ordered.extend(later);
            break;
        }
        ordered.extend(ready);
        pairs = later;
    }
    ordered
}

fn supersede_if_allowed(
    engine: &mut Engine,
    old: EntryId,
    new: EntryId,
    by: &Actor,
) -> Result<(), EngineError> {
    let old = engine.find_supersedable(&old.to_string(), by)?;
    if engine.entry(old)?.superseded_by == Some(new) {
        return Ok(());
    }
    engine.supersede(old, new, by)?;
    Ok(())
}

/// Replaces the ids of accepted claims in pending ones.
fn rename_in_pending(
    engine: &Engine,
    accepted: &[(EntryId, InboxClaim)],
    older: OlderEntries,
) -> Result<(), EngineError> {
    for mut claim in engine.inbox_claims()? {
        let before = claim.clone();
        for (id, taken) in accepted {
            for amended in claim.supersedes.iter_mut().filter(|it| **it == taken.id) {
                *amended = id.to_string();
            }
            if older == OlderEntries::Supersede && taken.supersedes.contains(&claim.id) {
                claim.superseded_by = Some(id.to_string());
            }
        }
        if claim != before {
            inbox::store_inbox_claim(engine, &claim)?;
        }
    }
    Ok(())
}
