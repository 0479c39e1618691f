//! Closing a run: what it touched is gathered, the core decides, the log keeps it. All in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::actor::Actor;
use ken_core::decide;
use ken_core::facts::Validity;
use ken_core::id::EntryId;
use ken_core::run::accumulate::{Gain, gain};
use ken_core::run::close::{Closing, Ending, Touched, close};
use ken_core::run::exposure::Sight;
use ken_core::run::written::{Closed, drafts, ending_id, proposal, same_claim};
use ken_core::run::{Finding, Run};

use super::matching::says_same;
use super::no_run;
use crate::service::{Desk, Failure};

/// Findings that say the same, with who made them.
type Group = Vec<(Actor, Finding)>;

/// What findings became.
#[derive(Debug, Default)]
struct Taken {
    gained: Vec<EntryId>,
    refused: Vec<(Finding, String)>,
}

impl Desk {
    /// Closes a run and does nothing beside. Whoever calls has the workspace's lock: two that close at once would count
    /// everything twice.
    pub(super) async fn end_run(
        &mut self,
        id: &str,
        ending: &Ending,
        by: &Actor,
    ) -> Result<Closed, Failure> {
        let run = self.open_run(id).await?;
        let mut run = run.ok_or_else(|| no_run(id))?;
        if self.tenant.event(ending_id(&run)).await?.is_some() {
            return Err(Failure::Conflict(format!("run `{id}` ended already")));
        }
        let Taken { gained, refused } = self.accumulate(&mut run, ending, by).await?;
        let touched = self.touched(&run).await?;
        let mut closing = self.decide_closing(&run, ending, &touched).await?;
        closing.closed.extracted += u32::try_from(gained.len()).unwrap_or(u32::MAX);
        let drafts = drafts(&run, &closing, &touched, Vec::new(), self.now.date())?;
        self.record(drafts, by).await?;
        self.forget_run(&run).await?;
        Ok(Closed {
            run,
            closing,
            gained,
            refused,
        })
    }

    async fn decide_closing(
        &mut self,
        run: &Run,
        ending: &Ending,
        touched: &[Touched],
    ) -> Result<Closing, Failure> {
        let agents: Vec<&Actor> = run.agents.keys().collect();
        let outside = self.outside(&agents).await?;
        let mut before = BTreeMap::new();
        for agent in run.agents.keys() {
            before.insert(agent, self.seen_before(run, agent, &outside).await?);
        }
        let before = |agent: &Actor| before.get(agent).cloned().unwrap_or_default();
        let policy = self.review_policy().await?;
        let today = self.now.date();
        Ok(close(run, ending, touched, &before, policy, today))
    }

    /// Returns every entry a run showed, withheld, used, wrote or found again. There is no code here to hold them
    /// against.
    async fn touched(&mut self, run: &Run) -> Result<Vec<Touched>, Failure> {
        let mut found_by: BTreeMap<EntryId, BTreeSet<Actor>> = BTreeMap::new();
        for (name, agent) in &run.agents {
            for id in agent.touched() {
                found_by.entry(id).or_default();
            }
            for id in agent.findings.iter().flat_map(|it| &it.says) {
                found_by.entry(*id).or_default().insert(name.clone());
            }
        }
        let ids: Vec<EntryId> = found_by.keys().copied().collect();
        let mut entries = self.tenant.entries(&ids).await?;
        // What a newer ken wrote this one may only read.
        entries.retain(|entry| !entry.is_read_only());
        entries.sort_by_key(|entry| entry.id);
        let touched = entries.into_iter().map(|entry| Touched {
            validity: Validity::Unverifiable,
            same: same_claim(run, &entry),
            found_by: found_by.remove(&entry.id).unwrap_or_default(),
            entry,
        });
        Ok(touched.collect())
    }

    /// Returns what an agent saw before a run: in its session, and outside any run somebody opened.
    async fn seen_before(
        &mut self,
        run: &Run,
        agent: &Actor,
        outside: &[Run],
    ) -> Result<Sight, Failure> {
        let session = run
            .agents
            .get(agent)
            .and_then(|it| it.member.session.clone());
        let mut seen = match &session {
            Some(session) => self.session_sight(session).await?,
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
    async fn accumulate(
        &mut self,
        run: &mut Run,
        ending: &Ending,
        by: &Actor,
    ) -> Result<Taken, Failure> {
        let groups = self.new_findings(run).await?;
        let mut taken = Taken::default();
        for group in groups {
            let group: Vec<(&Actor, &Finding)> = group.iter().map(|(a, f)| (a, f)).collect();
            let Some(gained) = gain(run, ending.outcome, &group) else {
                continue;
            };
            match self.take_up(&gained, run, ending, by).await {
                Ok(id) => taken.gained.push(id),
                Err(why @ (Failure::Refused(_) | Failure::Turned(_))) => {
                    taken.refused.push((gained.finding, why.to_string()));
                }
                Err(other) => return Err(other),
            }
        }
        Ok(taken)
    }

    /// Returns the findings that no entry says now, those together that say the same.
    async fn new_findings(&mut self, run: &mut Run) -> Result<Vec<Group>, Failure> {
        let mut groups: Vec<Group> = Vec::new();
        for (name, agent) in &mut run.agents {
            for found in &mut agent.findings {
                if found.says.is_empty() {
                    // Somebody else may have written it down since.
                    found.says = self.entries_saying(&found.finding.statement).await?;
                }
                if !found.says.is_empty() {
                    continue;
                }
                let same = |group: &&mut Group| {
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
    async fn take_up(
        &mut self,
        gained: &Gain,
        run: &Run,
        ending: &Ending,
        by: &Actor,
    ) -> Result<EntryId, Failure> {
        let proposal = proposal(gained, run, ending, self.now).map_err(Failure::usage)?;
        // Whoever found it says so, not whoever closes the run, where that is a name the caller may write in.
        let finder = gained.found_by.first().filter(|it| self.is_own(it));
        let finder = finder.unwrap_or(by);
        let entry = self.add(proposal, finder).await?;
        let after = decide::after_gain(&entry, gained, run, ending.outcome, self.now.date())?;
        let after = after.into_iter().map(|draft| (None, draft)).collect();
        self.record(after, by).await?;
        Ok(entry.id)
    }
}
