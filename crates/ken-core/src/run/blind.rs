//! From whom entries are withheld, so that somebody can still find them unseen.
//!
//! Chance decides, and chance is a hash: the same run asks twice and gets the same answer, on any machine.

use super::{Manner, Offer, Run};
use crate::actor::Actor;
use crate::citation::{Citation, EvidenceType};
use crate::entry::Entry;
use crate::event::{Arm, Origin, Overlay};
use crate::id::EntryId;
use crate::kind::{Kind, Memory};
use crate::review::ReviewPolicy;

/// Keeps these hashes apart from any other use of the hash.
const DOMAIN: &[u8] = b"ken blind share 1";

/// Returns whether an entry may be withheld from somebody it would help.
///
/// Never what must not be missed or what a person vouches for: norms, incidents, pinned entries, and what a
/// person wrote or confirmed.
pub fn may_be_withheld(entry: &Entry) -> bool {
    let is_binding =
        entry.id.prefix().memory() == Memory::Procedural || entry.kind() == Some(Kind::Incident);
    let created = entry.created.as_ref();
    let by_person = created.is_some_and(|it| it.origin == Origin::Human || it.by.is_human());
    !entry.is_marked(Overlay::Pin) && !is_binding && !by_person && entry.confirmation.manual == 0
}

/// Returns whether an entry rests on nothing but what one agent said in a run.
///
/// Such a claim is found by who looks for it, and told to nobody who did not ask, until somebody else finds it or a
/// person says so. An incident is told at once: missing one costs more.
pub fn is_one_agents_word(entry: &Entry) -> bool {
    let run = entry.created.as_ref().and_then(|it| it.run.as_ref());
    let Some(run) = run.filter(|_| entry.kind() != Some(Kind::Incident)) else {
        return false;
    };
    let is_its_own = |it: &Citation| {
        it.evidence_type == EvidenceType::Transcript && it.evidence_ref.as_str() == run.id
    };
    let found = &entry.confirmation;
    entry.citations.iter().all(is_its_own) && found.independent + found.manual == 0
}

/// Decides for each of `entries` whether `agent`, who works in `run`, is given it.
///
/// Nothing is decided outside a run that somebody opened, where nobody would learn anything from it, nor about people.
pub fn offers<'e>(
    run: &Run,
    agent: &Actor,
    policy: ReviewPolicy,
    entries: impl Iterator<Item = &'e Entry>,
) -> Vec<Offer> {
    if run.manner != Manner::Explicit || agent.is_human() {
        return Vec::new();
    }
    let all = run.agents.keys().filter(|it| !it.is_human());
    let all: Vec<Actor> = all.cloned().collect();
    let decided = entries.map(|entry| {
        let share = share_milli(entry, policy);
        offer(entry.id, &run.id, agent, &all, share)
    });
    decided.collect()
}

/// Returns the share of agents an entry is kept from.
fn share_milli(entry: &Entry, policy: ReviewPolicy) -> u16 {
    match may_be_withheld(entry) {
        true => policy.share_milli(entry.since_confirmation(), entry.tallies.worth()),
        false => 0,
    }
}

/// Decides for one agent whether an entry is withheld; `all` are the agents of the run it would go to.
///
/// Of several agents the one with the smallest hash never sees it.
pub fn offer(entry: EntryId, run: &str, agent: &Actor, all: &[Actor], share_milli: u16) -> Offer {
    let mine = draw(entry, run, agent);
    let others = all.iter().filter(|other| *other != agent);
    let least = others.map(|other| draw(entry, run, other)).min();
    let is_least = least.is_some_and(|least| mine < least);
    let arm = match share_milli != 0 && (is_least || mine < threshold(share_milli)) {
        true => Arm::Withheld,
        false => Arm::Shown,
    };
    let several = all.len().max(1);
    Offer {
        entry,
        arm,
        propensity_milli: propensity_milli(share_milli, several),
    }
}

/// Returns how probable it is, in thousandths, that one of `agents` does not see an entry.
///
/// One draws below the share, or above it and is still the smallest of all.
fn propensity_milli(share_milli: u16, agents: usize) -> u16 {
    if share_milli == 0 || agents < 2 {
        return share_milli;
    }
    let share = f64::from(share_milli) / 1000.0;
    let agents = f64::from(u32::try_from(agents).unwrap_or(u32::MAX));
    let both = share + libm::pow(1.0 - share, agents) / agents;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a probability times a thousand"
    )]
    let milli = libm::round(both * 1000.0) as u16;
    milli.min(1000)
}

/// Returns a number that is as good as drawn from all of `u64`.
fn draw(entry: EntryId, run: &str, agent: &Actor) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in [
        entry.to_string().as_bytes(),
        run.as_bytes(),
        agent.to_string().as_bytes(),
    ] {
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
    fn c21_of_several_agents_one_stays_blind_to_each_entry() {
        for n in 0..200 {
            let all = agents(4);
            let arms = all
                .iter()
                .map(|agent| offer(entry(n), "run", agent, &all, 1).arm);
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
                offer(entry(7), &run, &all[0], &all, share).arm == Arm::Withheld
            });
            let found = withheld.count() as f64 / f64::from(runs);
            let told = f64::from(offer(entry(7), "r", &all[0], &all, share).propensity_milli);
            assert!(
                (found - told / 1000.0).abs() < 0.011,
                "{count} {share}: {found} {told}"
            );
        }
    }

    #[test]
    fn the_same_run_gets_the_same_answer_and_no_share_withholds_nothing() {
        let all = agents(3);
        let once = offer(entry(1), "run", &all[1], &all, 300);
        assert_eq!(once, offer(entry(1), "run", &all[1], &all, 300));
        for agent in &all {
            let it = offer(entry(1), "run", agent, &all, 0);
            assert_eq!((it.arm, it.propensity_milli), (Arm::Shown, 0));
        }
    }
}
