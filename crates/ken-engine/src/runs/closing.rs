//! Closing a run: what it touched is gathered, the core decides, the ledger keeps it.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::actor::Actor;
use ken_core::decide;
use ken_core::entry::Entry;
use ken_core::facts::Validity;
use ken_core::id::EntryId;
use ken_core::run::accumulate::{Gain, gain};
use ken_core::run::close::{Closing, Ending, Touched, close};
use ken_core::run::exposure::Sight;
use ken_core::run::written::{Closed, Stamped, drafts, ending_id, proposal, same_claim};
use ken_core::run::{Finding, Run};
use ken_core::store::Store as _;
use tracing::field::Empty;

use super::matching::says_same;
use super::store::Store;

use crate::engine::Engine;
use crate::error::Error;

/// What findings became.
#[derive(Debug, Default)]
struct Taken {
    gained: Vec<EntryId>,
    refused: Vec<(Finding, String)>,
}

impl Engine {
    /// Closes a run and writes down everything that follows from it.
    ///
    /// Decides on what the ledger says: edits of entry files are absorbed by the next command that writes
    /// entries, which also brings the files of those up that this one touched.
    pub fn close_run(&mut self, id: &str, ending: &Ending, by: &Actor) -> Result<Closed, Error> {
        let span = tracing::info_span!("close_run", touched = Empty, gained = Empty);
        let _in = span.enter();
        let closed = self.end_run(id, ending, by)?;
        span.record("touched", closed.closing.effects.len());
        span.record("gained", closed.gained.len());
        self.keep_house(by);
        Ok(closed)
    }

    /// Closes a run and does nothing beside.
    pub(super) fn end_run(
        &mut self,
        id: &str,
        ending: &Ending,
        by: &Actor,
    ) -> Result<Closed, Error> {
        let store = Store::of(&self.place)?;
        // Two that close at once would count everything twice.
        let _lock = store.lock()?;
        let mut run = self.run(id)?;
        let last = ending_id(&run);
        // It stands where a process was stopped between writing it and removing the notes.
        let is_written = self.index.event(last)?.is_some();
        let Taken { gained, refused } = match is_written {
            true => Taken::default(),
            false => self.accumulate(&mut run, ending, by)?,
        };
        let touched = self.touched(&run)?;
        let mut closing = self.decide_closing(&run, ending, &touched)?;
        closing.closed.extracted += u32::try_from(gained.len()).unwrap_or(u32::MAX);
        if !is_written {
            let missed = self.missed_drafts()?;
            let drafts = drafts(&run, &closing, &touched, missed, self.now().date())?;
            let drafts = self.unwritten(drafts)?;
            self.record_as(drafts, by)?;
        }
        store.close(&run)?;
        Ok(Closed {
            run,
            closing,
            gained,
            refused,
        })
    }

    /// Returns the drafts that an interrupted closing did not write.
    fn unwritten(&self, drafts: Vec<Stamped>) -> Result<Vec<Stamped>, Error> {
        let mut new = Vec::with_capacity(drafts.len());
        for (id, draft) in drafts {
            let written = id.map(|id| self.index.event(id)).transpose()?.flatten();
            new.extend(written.is_none().then_some((id, draft)));
        }
        Ok(new)
    }

    fn decide_closing(
        &self,
        run: &Run,
        ending: &Ending,
        touched: &[Touched],
    ) -> Result<Closing, Error> {
        let outside = self.implicit_runs()?;
        let mut before = BTreeMap::new();
        for agent in run.agents.keys() {
            before.insert(agent, self.seen_before(run, agent, &outside)?);
        }
        let before = |agent: &Actor| before.get(agent).cloned().unwrap_or_default();
        let policy = self.review_policy()?;
        let today = self.now().date();
        Ok(close(run, ending, touched, &before, policy, today))
    }

    /// Returns every entry a run showed, withheld, used, wrote or found again.
    fn touched(&mut self, run: &Run) -> Result<Vec<Touched>, Error> {
        let mut found_by: BTreeMap<EntryId, BTreeSet<Actor>> = BTreeMap::new();
        for (name, agent) in &run.agents {
            for id in agent.touched() {
                found_by.entry(id).or_default();
            }
            for id in agent.findings.iter().flat_map(|it| &it.says) {
                found_by.entry(*id).or_default().insert(name.clone());
            }
        }
        let mut entries = Vec::with_capacity(found_by.len());
        for id in found_by.keys() {
            entries.extend(self.index.entry(*id)?);
        }
        // What a newer ken wrote this one may only read.
        entries.retain(|entry| !entry.is_read_only());
        let validity = self.validity_of(entries.iter().filter(|it| needs_validity(run, it)))?;
        let touched = entries.into_iter().map(|entry| Touched {
            validity: validity
                .get(&entry.id)
                .copied()
                .unwrap_or(Validity::Unverifiable),
            same: same_claim(run, &entry),
            found_by: found_by.remove(&entry.id).unwrap_or_default(),
            entry,
        });
        Ok(touched.collect())
    }

    /// Returns what an agent saw before a run: in its session, and outside any run somebody opened.
    fn seen_before(&self, run: &Run, agent: &Actor, outside: &[Run]) -> Result<Sight, Error> {
        let session = run
            .agents
            .get(agent)
            .and_then(|it| it.member.session.clone());
        let store = Store::of(&self.place)?;
        let mut seen = match &session {
            Some(session) => store.session(session)?,
            None => Sight::default(),
        };
        for other in outside.iter().filter(|other| other.id != run.id) {
            let theirs = other.agents.get(agent);
            let is_another =
                |it: &Option<String>| it.is_some() && session.is_some() && *it != session;
            let apart = theirs.is_none_or(|it| is_another(&it.member.session));
            if !apart {
                seen.add(other.sight(agent));
            }
        }
        Ok(seen)
    }

    /// Makes entries of findings that nobody has said before; notes which entries say the others.
    fn accumulate(&mut self, run: &mut Run, ending: &Ending, by: &Actor) -> Result<Taken, Error> {
        let groups = self.new_findings(run)?;
        let mut taken = Taken::default();
        for group in groups {
            let group: Vec<(&Actor, &Finding)> = group.iter().map(|(a, f)| (a, f)).collect();
            let Some(gained) = gain(run, ending.outcome, &group) else {
                continue;
            };
            match self.take_up(&gained, run, ending, by) {
                Ok(id) => taken.gained.push(id),
                Err(why @ (Error::Refused(_) | Error::Ungrounded { .. } | Error::Guarded(_))) => {
                    taken.refused.push((gained.finding, why.to_string()));
                }
                Err(other) => return Err(other),
            }
        }
        Ok(taken)
    }

    /// Returns the findings that no entry says now, those together that say the same.
    fn new_findings(&mut self, run: &mut Run) -> Result<Vec<Vec<(Actor, Finding)>>, Error> {
        let mut groups: Vec<Vec<(Actor, Finding)>> = Vec::new();
        for (name, agent) in &mut run.agents {
            for found in &mut agent.findings {
                if found.says.is_empty() {
                    // Somebody else may have written it down since.
                    found.says = self.entries_saying(&found.finding.statement)?;
                }
                if !found.says.is_empty() {
                    continue;
                }
                let same = |group: &&mut Vec<(Actor, Finding)>| {
                    let (_, first) = &group[0];
                    says_same(&first.statement, &found.finding.statement)
                };
                let one = (name.clone(), found.finding.clone());
                match groups.iter_mut().find(same) {
                    Some(group) => group.push(one),
                    None => groups.push(vec![one]),
                }
            }
        }
        Ok(groups)
    }

    /// Adds an entry, through the same door as every other.
    fn take_up(
        &mut self,
        gained: &Gain,
        run: &Run,
        ending: &Ending,
        by: &Actor,
    ) -> Result<EntryId, Error> {
        let now = self.now();
        let proposal = proposal(gained, run, ending, now);
        let proposal = proposal.map_err(|error| Error::Usage(format!("{error}")))?;
        // Whoever found it says so, not whoever closes the run.
        let finder = gained.found_by.first().unwrap_or(by);
        let id = self.add_many(vec![proposal], finder)?.remove(0);
        let entry = self.entry(id)?;
        let drafts = decide::after_gain(&entry, gained, run, ending.outcome, now.date())?;
        self.record(drafts, by)?;
        Ok(id)
    }
}

/// Whether what the code says about an entry matters: only for what was used, where it decides how evidence ages.
fn needs_validity(run: &Run, entry: &Entry) -> bool {
    let mut agents = run.agents.values();
    agents.any(|agent| agent.used.contains(&entry.id) || agent.cites.contains(&entry.id))
}
