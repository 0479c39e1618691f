//! A conversation with a coding agent as a run: opened at its first sign of life, closed when it ends.
//!
//! Hooks see every prompt and every read, so a run they open has a witness. A server that an agent talks to sees
//! only what it is asked itself: it joins the run the hooks opened, or opens one that confirms nothing.

use ken_core::actor::Actor;
use ken_core::run::name::{CONVERSATION, conversation};
use ken_core::run::{Member, Run, Witness};
use ken_core::text::Tag;

use super::NewRun;
use super::store::Store;
use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// Returns the run of `agent`'s conversation `session`, which is opened if it is not.
    ///
    /// Two processes may open it at once; both have it then.
    pub fn converse(
        &mut self,
        agent: &Actor,
        session: &str,
        witness: Witness,
    ) -> Result<Run, Error> {
        self.converse_on(agent, session, witness, None)
    }

    /// Like [`Self::converse`], on a thread of work.
    ///
    /// An agent waits for the answer, so no report is written here as where somebody opens a run: that is done when
    /// the conversation ends.
    pub(crate) fn converse_on(
        &mut self,
        agent: &Actor,
        session: &str,
        witness: Witness,
        thread: Option<Tag>,
    ) -> Result<Run, Error> {
        let id = conversation(agent, session);
        if Store::of(&self.place)?.is_open(&id)? {
            return self.run(&id);
        }
        // Old runs that cannot be closed now are no reason not to begin.
        let _ = self.sweep_runs(agent);
        let member = Member {
            session: Some(session.to_owned()),
            ..Member::default()
        };
        let wish = NewRun {
            id: Some(id.clone()),
            agents: vec![(agent.clone(), member)],
            witness,
            thread,
            ..NewRun::default()
        };
        match self.begin_run(wish, agent) {
            Err(Error::Usage(_)) if Store::of(&self.place)?.is_open(&id)? => self.run(&id),
            other => other,
        }
    }

    /// Returns the name of the run of the only conversation `agent` has here, if it has one.
    ///
    /// Of several it cannot be told which is meant, and what was shown to one must not count as unseen by another.
    pub fn only_conversation_of(&self, agent: &Actor) -> Result<Option<String>, Error> {
        let open = self.open_runs_named(|id| id.starts_with(CONVERSATION))?;
        let mut own = open.into_iter().filter(|run| run.by == *agent);
        Ok(match (own.next(), own.next()) {
            (Some(only), None) => Some(only.id),
            (Some(_), Some(_)) | (None, _) => None,
        })
    }
}
