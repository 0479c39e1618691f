//! What somebody found out, and whether what it was shown helped: taken down as part of the run it works in.

use ken_core::decide::{self, Proposal};
use ken_core::event::Feedback;
use ken_core::id::EntryId;
use ken_core::run::known::{Known, Recorded, known};
use ken_core::run::{Finding, Run, Witness};

use super::Reader;
use super::store::Store;
use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// Takes down what `reader` found out: as an entry, or as an observation where it is known already.
    ///
    /// `apart` names a conversation of its own for the observation, where nobody knows in which one the reader is: another
    /// program of the same agent may have been shown what no hook saw, so it confirms nothing.
    pub fn record_for(
        &mut self,
        reader: &Reader,
        apart: Option<&str>,
        proposal: Proposal,
    ) -> Result<Recorded, Error> {
        let statement = &proposal.content.statement;
        let says = self.entries_saying(statement)?.into_iter();
        let says = says
            .map(|id| self.entry(id))
            .collect::<Result<Vec<_>, _>>()?;
        let run = self.open_run_of(reader)?;
        match known(run.as_ref(), &reader.agent, statement, &says) {
            Some(Known::Added(id)) => Ok(Recorded::Entry(Box::new(self.entry(id)?))),
            Some(Known::Found(seen)) => Ok(Recorded::Noted(seen)),
            Some(Known::Elsewhere(seen)) => {
                self.observe_once(reader, apart, proposal)?;
                Ok(Recorded::Noted(seen))
            }
            None => {
                let added = self.add_for(reader, vec![proposal])?;
                Ok(Recorded::Entry(Box::new(self.entry(added[0])?)))
            }
        }
    }

    fn observe_once(
        &mut self,
        reader: &Reader,
        apart: Option<&str>,
        proposal: Proposal,
    ) -> Result<(), Error> {
        let finder = match apart {
            Some(session) => Reader {
                agent: reader.agent.clone(),
                run: Some(self.converse(&reader.agent, session, Witness::Nobody)?.id),
                session: Some(session.to_owned()),
            },
            None => reader.clone(),
        };
        let content = proposal.content;
        let run = self.open_run_of(&finder)?;
        if run.is_some_and(|it| it.has_found(&finder.agent, &content.statement)) {
            return Ok(());
        }
        let finding = Finding::new(content.statement, content.evidence, content.verify);
        self.observe(&finder, finding)?;
        Ok(())
    }

    /// Takes down whether an entry helped `reader`, which must have been shown it; returns whether that is new.
    pub fn feedback_for(
        &mut self,
        reader: &Reader,
        id: EntryId,
        verdict: Feedback,
    ) -> Result<bool, Error> {
        let (by, open) = (&reader.agent, self.open_run_of(reader)?);
        let since = open.as_ref().map(|it| it.opened);
        let run = match open {
            Some(run) => Some(run),
            None => self.implicit_sight(reader)?,
        };
        let sight = run.map(|it| it.sight(by)).unwrap_or_default();
        decide::may_judge(by, &sight, id)?;
        let is_new = !decide::is_said_already(&self.history(id)?, by, verdict, since);
        if is_new {
            self.feedback(id, verdict, by)?;
        }
        Ok(is_new)
    }

    /// Returns the run in which it stands what `reader` saw outside any other.
    fn implicit_sight(&self, reader: &Reader) -> Result<Option<Run>, Error> {
        let id = reader.implicit_run();
        let is_open = Store::of(&self.place)?.is_open(&id)?;
        is_open.then(|| self.run(&id)).transpose()
    }
}
