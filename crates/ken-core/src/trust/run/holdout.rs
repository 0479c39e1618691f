//! Holdout: entries withheld from some agents at random, so that they can be found independently.
//!
//! The random draw is a hash, so that the same run gets the same assignment every time and on every
//! machine.

use super::{HoldoutAssignment, Run, RunMode};
use crate::ledger::entry::Entry;
use crate::ledger::event::{Arm, Origin, Overlay};
use crate::trust::review::ReviewPolicy;
use crate::values::actor::Actor;
use crate::values::citation::{Citation, CitationType};
use crate::values::id::EntryId;
use crate::values::kind::{EntryKind, Memory};

/// Domain separation of the hash.
const DOMAIN: &[u8] = b"ken blind share 1";

/// Returns whether an entry may be part of a holdout.
///
/// Exempt are entries that must not be missed or that a person vouches for: norms, incidents,
/// pinned entries, and entries written or confirmed by a person.
pub fn may_be_withheld(entry: &Entry) -> bool {
    let is_binding = entry.id.prefix().memory() == Memory::Procedural
        || entry.kind() == Some(EntryKind::Incident);
    let created = entry.created.as_ref();
    let by_person = created.is_some_and(|it| it.origin == Origin::Human || it.by.is_human());
    !entry.has_annotation(Overlay::Pin)
        && !is_binding
        && !by_person
        && entry.confirmation.manual == 0
}

/// Returns whether an entry rests on the report of a single agent in a run.
///
/// Such a claim is found by explicit searches but not shown unasked until it is confirmed.
/// Incidents are exempt, because missing one costs more.
pub fn is_single_agent_claim(entry: &Entry) -> bool {
    let run = entry.created.as_ref().and_then(|it| it.run.as_ref());
    let Some(run) = run.filter(|_| entry.kind() != Some(EntryKind::Incident)) else {
        return false;
    };
    // The transcript of the run itself is the agent's own report, not an independent source.
    let is_own_transcript = |citation: &Citation| {
        let is_transcript = citation.evidence_type == CitationType::Transcript;
        is_transcript && citation.evidence_ref.as_str() == run.id
    };
    let confirmation = &entry.confirmation;
    let is_confirmed = confirmation.independent + confirmation.manual != 0;
    entry.citations.iter().all(is_own_transcript) && !is_confirmed
}

/// Assigns each of `entries` to a trial arm for `agent` in `run`.
///
/// People and implicit runs have no holdout: an implicit run has no outcome to learn from.
pub fn assign_entries<'e>(
    run: &Run,
    agent: &Actor,
    policy: ReviewPolicy,
    entries: impl Iterator<Item = &'e Entry>,
) -> Vec<HoldoutAssignment> {
    if run.manner != RunMode::Explicit || agent.is_human() {
        return Vec::new();
    }
    let all = run.agents.keys().filter(|it| !it.is_human());
    let all: Vec<Actor> = all.cloned().collect();
    let decided = entries.map(|entry| {
        let share = holdout_share_milli(entry, policy);
        assign_entry(entry.id, &run.id, agent, &all, share)
    });
    decided.collect()
}

/// Returns the holdout share of an entry, in thousandths.
fn holdout_share_milli(entry: &Entry, policy: ReviewPolicy) -> u16 {
    if may_be_withheld(entry) {
        policy.holdout_share_milli(entry.exposures_since_confirmation(), entry.tallies.impact())
    } else {
        0
    }
}

/// Assigns one entry to a trial arm for one agent; `all` are the agents of the run.
///
/// Of several agents, the one with the smallest draw never sees the entry.
pub fn assign_entry(
    entry: EntryId,
    run: &str,
    agent: &Actor,
    all: &[Actor],
    share_milli: u16,
) -> HoldoutAssignment {
    let mine = hash_draw(entry, run, agent);
    let others = all.iter().filter(|other| *other != agent);
    let least = others.map(|other| hash_draw(entry, run, other)).min();
    let is_least = least.is_some_and(|least| mine < least);
    // The smallest draw is withheld even above the threshold: every run with several agents keeps
    // one that can confirm the entry independently.
    let arm = if share_milli != 0 && (is_least || mine < threshold(share_milli)) {
        Arm::Withheld
    } else {
        Arm::Shown
    };
    let agents = all.len().max(1);
    HoldoutAssignment {
        entry,
        arm,
        propensity_milli: propensity_milli(share_milli, agents),
    }
}

/// Returns the probability, in thousandths, that an entry is withheld from one of `agents`.
fn propensity_milli(share_milli: u16, agents: usize) -> u16 {
    if share_milli == 0 || agents < 2 {
        return share_milli;
    }
    let share = f64::from(share_milli) / 1000.0;
    let agents = f64::from(u32::try_from(agents).unwrap_or(u32::MAX));
    // Either the draw is below the share, or all draws are above it and this one is the smallest.
    let both = share + libm::pow(1.0 - share, agents) / agents;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a probability times a thousand"
    )]
    let milli = libm::round(both * 1000.0) as u16;
    milli.min(1000)
}

/// Returns a uniform pseudorandom number for an entry, run and agent.
fn hash_draw(entry: EntryId, run: &str, agent: &Actor) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in [
        entry.to_string().as_bytes(),
        run.as_bytes(),
        agent.to_string().as_bytes(),
    ] {
        // Length prefixes keep different splits of the same bytes apart.
        hasher.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(part);
    }
    hasher.update(DOMAIN);
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

fn threshold(share_milli: u16) -> u64 {
    u64::MAX / 1000 * u64::from(share_milli)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: u32) -> EntryId {
        format!("L-{n:08}").parse().unwrap()
    }

    fn agents(count: usize) -> Vec<Actor> {
        (0..count)
            .map(|n| format!("agent:a{n}").parse().unwrap())
            .collect()
    }

    #[test]
    fn of_several_agents_one_stays_blind_to_each_entry() {
        for n in 0..200 {
            let all = agents(4);
            let arms = all
                .iter()
                .map(|agent| assign_entry(entry(n), "run", agent, &all, 1).arm);
            assert_eq!(arms.filter(|arm| *arm == Arm::Withheld).count(), 1);
        }
    }

    #[test]
    fn shares_come_out_as_they_are_recorded() {
        for (count, share) in [(1, 100), (1, 500), (4, 100), (3, 300)] {
            let all = agents(count);
            let runs = 20_000;
            let withheld = (0..runs).filter(|n| {
                let run = format!("run-{n}");
                assign_entry(entry(7), &run, &all[0], &all, share).arm == Arm::Withheld
            });
            let found = withheld.count() as f64 / f64::from(runs);
            let told =
                f64::from(assign_entry(entry(7), "r", &all[0], &all, share).propensity_milli);
            assert!(
                (found - told / 1000.0).abs() < 0.011,
                "{count} {share}: {found} {told}"
            );
        }
    }

    #[test]
    fn the_same_run_gets_the_same_answer_and_no_share_withholds_nothing() {
        let all = agents(3);
        let once = assign_entry(entry(1), "run", &all[1], &all, 300);
        assert_eq!(once, assign_entry(entry(1), "run", &all[1], &all, 300));
        for agent in &all {
            let it = assign_entry(entry(1), "run", agent, &all, 0);
            assert_eq!((it.arm, it.propensity_milli), (Arm::Shown, 0));
        }
    }
}
