//! Closing a run: what it touched is gathered, the core decides, the log keeps it. All in one transaction.

use std::collections::BTreeMap;

use ken_core::actor::Actor;
use ken_core::decide;
use ken_core::facts::Validity;
use ken_core::id::EntryId;
use ken_core::run::Run;
use ken_core::run::accumulate::{Gain, gains};
use ken_core::run::close::{Closing, Ending, Touched, authors, close, touched};
use ken_core::run::exposure::Sight;
use ken_core::run::written::{Closed, Taken, drafts, proposal};

use crate::service::{Desk, Failure};

impl Desk {
    /// Closes a run and does nothing beside. Whoever calls has the workspace's lock: two that close at once would count
    /// everything twice.
    pub(super) async fn end_run(
        &mut self,
        mut run: Run,
        ending: &Ending,
        by: &Actor,
    ) -> Result<Closed, Failure> {
        let Taken { gained, refused } = self.accumulate(&mut run, ending, by).await?;
        let touched = self.touched(&run).await?;
        let mut closing = self.decide_closing(&run, ending, &touched).await?;
        closing.closed.extracted += u32::try_from(gained.len()).unwrap_or(u32::MAX);
        let drafts = drafts(&run, &closing, &touched, Vec::new(), self.now.date())?;
        // Ids that follow from the run are for who may be stopped between writing and forgetting it. Here that is one
        // transaction, and anybody who knows a run could take its ids before.
        let drafts = drafts.into_iter().map(|(_, draft)| (None, draft)).collect();
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
        Ok(close(run, ending, touched, &before, policy, self.now))
    }

    /// Returns every entry a run showed, withheld, used, wrote or found again. There is no code here to hold them
    /// against.
    async fn touched(&mut self, run: &Run) -> Result<Vec<Touched>, Failure> {
        let ids: Vec<EntryId> = run.touched().into_iter().collect();
        let entries = self.tenant.entries(&ids).await?;
        let mut touched = touched(run, entries, |_| Validity::Unverifiable);
        for it in touched.iter_mut().filter(|it| !it.found_by.is_empty()) {
            let history = self.tenant.history(it.entry.id).await?;
            it.authors = authors(&it.entry, &history);
        }
        Ok(touched)
    }

    /// Returns what an agent saw before a run: in its session, and outside any run somebody opened.
    async fn seen_before(
        &mut self,
        run: &Run,
        agent: &Actor,
        outside: &[Run],
    ) -> Result<Sight, Failure> {
        let in_session = match run.session_of(agent) {
            Some(session) => self.session_sight(session).await?,
            None => Sight::default(),
        };
        Ok(run.seen_before(agent, in_session, outside))
    }

    /// Makes entries of findings that nobody has said before; notes which entries say the others.
    async fn accumulate(
        &mut self,
        run: &mut Run,
        ending: &Ending,
        by: &Actor,
    ) -> Result<Taken, Failure> {
        for found in run.unsaid() {
            // Somebody else may have written it down since.
            found.says = self.entries_saying(&found.finding.statement).await?;
        }
        let mut taken = Taken::default();
        for gained in gains(run, ending.outcome) {
            match self.take_up(&gained, run, ending, by).await {
                Ok(id) => taken.gained.push(id),
                Err(why @ (Failure::Refused(_) | Failure::Turned(_) | Failure::Usage(_))) => {
                    taken.refused.push((gained.finding, why.to_string()));
                }
                Err(other) => return Err(other),
            }
        }
        Ok(taken)
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
