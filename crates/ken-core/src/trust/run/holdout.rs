//! Holdout: entries withheld from some agents at random, so that they can be found independently.
//!
//! The random draw is a hash, so that the same run gets the same assignment every time and on every
//! machine.

use super::{HoldoutAssignment, Run, RunMode};
use crate::ledger::entry::Entry;
use crate::ledger::event::{Arm, Origin, Overlay};
use crate::trust::review::{HoldoutShare, ReviewPolicy};
use crate::values::actor::Actor;
use crate::values::citation::{Citation, CitationType};
use crate::values::id::EntryId;
use crate::values::kind::EntryKind;

/// Domain separation of the hash.
const DOMAIN: &[u8] = b"ken blind share 1";

/// Returns whether an entry may be part of a holdout.
///
/// Exempt are entries that must not be missed or that a person vouches for: incidents, pinned
/// entries, and entries written or confirmed by a person. Prescriptive entries are exempt, because
/// no agent can find a decision independently: it is in no code.
pub fn may_be_withheld(entry: &Entry) -> bool {
    let is_binding = entry.is_prescriptive() || entry.kind() == Some(EntryKind::Incident);
    !is_binding && !is_vouched_for(entry)
}

/// Returns whether a person wrote, confirmed or pinned an entry.
pub fn is_vouched_for(entry: &Entry) -> bool {
    let created = entry.created.as_ref();
    let by_person = created.is_some_and(|it| it.origin == Origin::Human || it.by.is_human());
    by_person || entry.confirmation.manual > 0 || entry.has_annotation(Overlay::Pin)
}

/// Returns whether an entry rests on the report of a single agent, in a run or outside.
///
/// Such a claim is found by explicit searches but not shown unasked until it is confirmed.
/// Incidents are exempt, because missing one costs more.
pub fn is_single_agent_claim(entry: &Entry) -> bool {
    let created = entry.created.as_ref();
    let created = created.filter(|_| entry.kind() != Some(EntryKind::Incident));
    let Some(created) = created.filter(|it| it.run.is_some() || it.origin == Origin::Agent) else {
        return false;
    };
    // The transcript of the run itself is the agent's own report, not an independent source.
    let run = created.run.as_ref().map(|it| it.id.as_str());
    let is_own_transcript = |citation: &Citation| {
        let is_transcript = citation.evidence_type == CitationType::Transcript;
        is_transcript && Some(citation.evidence_ref.as_str()) == run
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
        let share = holdout_share(entry, policy);
        assign_entry(entry.id, &run.id, agent, &all, share)
    });
    decided.collect()
}

/// Returns the holdout share of an entry.
pub fn holdout_share(entry: &Entry, policy: ReviewPolicy) -> HoldoutShare {
    if !may_be_withheld(entry) || !policy.blind {
        return HoldoutShare::NONE;
    }
    let by_belief = policy.rediscovery.holdout_share(entry);
    by_belief.unwrap_or_else(|| {
        let since = entry.exposures_since_confirmation();
        HoldoutShare::in_every_run(policy.holdout_share_milli(since, entry.tallies.impact()))
    })
}

/// Assigns one entry to a trial arm for one agent; `all` are the agents of the run.
///
/// Of several agents, the one with the smallest draw never sees the entry.
pub fn assign_entry(
    entry: EntryId,
    run: &str,
    agent: &Actor,
    all: &[Actor],
    share: HoldoutShare,
) -> HoldoutAssignment {
    let is_alone = all.len() < 2;
    let share_milli = if is_alone {
        share.alone_milli
    } else {
        share.agents_milli
    };
    // The draw of the run has no agent, so all agents of a run agree about it.
    let is_chosen_run =
        share.runs_milli >= 1000 || hash_draw(entry, run, None) < threshold(share.runs_milli);
    let mine = hash_draw(entry, run, Some(agent));
    let others = all.iter().filter(|other| *other != agent);
    let least = others.map(|other| hash_draw(entry, run, Some(other))).min();
    let is_least = least.is_some_and(|least| mine < least);
    // The smallest draw is withheld even above the threshold: every run with several agents keeps
    // one that can confirm the entry independently.
    let is_withheld = share_milli != 0 && (is_least || mine < threshold(share_milli));
    let arm = if is_chosen_run && is_withheld {
        Arm::Withheld
    } else {
        Arm::Shown
    };
    let agents = all.len().max(1);
    HoldoutAssignment {
        entry,
        arm,
        propensity_milli: propensity_milli(share.runs_milli, share_milli, agents),
    }
}

/// Returns the probability, in thousandths, that an entry is withheld from one of `agents`, over
/// the draw of the run and that of the agent.
fn propensity_milli(runs_milli: u16, share_milli: u16, agents: usize) -> u16 {
    let share = f64::from(share_milli) / 1000.0;
    let both = if share_milli == 0 || agents < 2 {
        share
    } else {
        let agents = f64::from(u32::try_from(agents).unwrap_or(u32::MAX));
        // Either the draw is below the share, or all draws are above it and this one is the
        // smallest.
        share + libm::pow(1.0 - share, agents) / agents
    };
    let both = both * f64::from(runs_milli.min(1000)) / 1000.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a probability times a thousand"
    )]
    let milli = libm::round(both * 1000.0) as u16;
    milli.min(1000)
}

/// Returns a uniform pseudorandom number for an entry, run and agent, or for the run as a whole.
fn hash_draw(entry: EntryId, run: &str, agent: Option<&Actor>) -> u64 {
    let mut hasher = blake3::Hasher::new();
    let (entry, agent) = (entry.to_string(), agent.map(ToString::to_string));
    let parts = [Some(entry.as_bytes()), Some(run.as_bytes())];
    let agent = [agent.as_ref().map(|it| it.as_bytes())];
    for part in parts.into_iter().chain(agent).flatten() {
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

    fn every(share_milli: u16) -> HoldoutShare {
        HoldoutShare::in_every_run(share_milli)
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
                .map(|agent| assign_entry(entry(n), "run", agent, &all, every(1)).arm);
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
                assign_entry(entry(7), &run, &all[0], &all, every(share)).arm == Arm::Withheld
            });
            let found = withheld.count() as f64 / f64::from(runs);
            let told = f64::from(
                assign_entry(entry(7), "r", &all[0], &all, every(share)).propensity_milli,
            );
            assert!(
                (found - told / 1000.0).abs() < 0.011,
                "{count} {share}: {found} {told}"
            );
        }
    }

    #[test]
    fn the_same_run_gets_the_same_answer_and_no_share_withholds_nothing() {
        let all = agents(3);
        let once = assign_entry(entry(1), "run", &all[1], &all, every(300));
        assert_eq!(
            once,
            assign_entry(entry(1), "run", &all[1], &all, every(300))
        );
        for agent in &all {
            let it = assign_entry(entry(1), "run", agent, &all, every(0));
            assert_eq!((it.arm, it.propensity_milli), (Arm::Shown, 0));
        }
    }

    #[test]
    fn a_share_of_runs_comes_out_as_it_is_recorded() {
        let share = HoldoutShare {
            runs_milli: 300,
            alone_milli: 333,
            agents_milli: 1,
        };
        for (count, expected) in [(1, 100), (3, 100), (5, 60)] {
            let all = agents(count);
            let runs = 20_000;
            let assign = |n| assign_entry(entry(7), &format!("run-{n}"), &all[0], &all, share);
            let withheld = (0..runs).filter(|n| assign(*n).arm == Arm::Withheld);
            let found = withheld.count() as f64 / f64::from(runs);
            let told = assign(0).propensity_milli;
            assert!(
                (found - f64::from(told) / 1000.0).abs() < 0.01,
                "{count}: {found} {told}"
            );
            assert!(told.abs_diff(expected) <= 1, "{count}: {told}");
        }
        // In a chosen run exactly one of several agents stays blind, in the others none.
        let all = agents(4);
        let blind = (0..400).map(|n| {
            let run = format!("run-{n}");
            let arms = all
                .iter()
                .map(|agent| assign_entry(entry(7), &run, agent, &all, share).arm);
            arms.filter(|arm| *arm == Arm::Withheld).count()
        });
        assert!(blind.clone().all(|count| count <= 1) && blind.sum::<usize>() > 80);
    }
}
