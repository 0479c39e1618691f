//! This repository's knowledge as [`ken_mcp`] asks for it.
//!
//! The ledger is opened for every call and closed after it, away from the thread that speaks the protocol: nothing is held
//! between calls, so any number of servers and commands share a repository. Whoever asks is an agent, never a
//! person, and what it is shown belongs to its conversation ([`conversation`]).

mod briefing;
mod checking;
mod conversation;
mod recording;
mod searching;
mod showing;
mod trouble;

use std::path::Path;
use std::sync::Arc;

use ken_engine::Engine;
use ken_engine::runs::Reader;
use ken_mcp::ask::{BriefAsk, CheckAsk, FeedbackAsk, GetAsk, RecordAsk, SearchAsk};
use ken_mcp::{Answered, Caller, Knowledge, Trouble};
use tokio::sync::Semaphore;

use crate::commands::below_root;
use crate::failure::Failure;
use crate::world::Surroundings;
use conversation::Conversations;
use trouble::trouble;

/// Calls that are worked on at once; each has a connection to the index.
const AT_ONCE_MAX: usize = 4;

/// Calls that are taken on before others are answered.
const WAITING_MAX: usize = 256;

/// The knowledge of the repository this process was started in.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    surroundings: Surroundings,
    conversations: Arc<Conversations>,
    at_once: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// What a call works with.
struct Desk<'a> {
    surroundings: &'a Surroundings,
    engine: &'a mut Engine,
    reader: &'a Reader,
    caller: &'a Caller,
    conversations: &'a Conversations,
    /// Whether somebody named the run this is about.
    has_named_run: bool,
}

impl Local {
    pub(crate) fn new(surroundings: &Surroundings) -> Result<Self, Failure> {
        Ok(Self {
            conversations: Arc::new(Conversations::new(surroundings)?),
            surroundings: surroundings.for_long(),
            at_once: Arc::new(Semaphore::new(AT_ONCE_MAX)),
            waiting: Arc::new(Semaphore::new(WAITING_MAX)),
        })
    }

    /// Does something with the ledger for `caller`.
    async fn call<T: Send + 'static>(
        &self,
        caller: Caller,
        act: impl FnOnce(&mut Desk<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Trouble> {
        let busy = || {
            let said = format!("{WAITING_MAX} calls wait for an answer already");
            Trouble::asked(said, "wait for their answers, then ask again")
        };
        let place = Arc::clone(&self.waiting).try_acquire_owned();
        let place = place.map_err(|_| busy())?;
        let turn = Arc::clone(&self.at_once).acquire_owned().await;
        let local = self.clone();
        let work = tokio::task::spawn_blocking(move || {
            let _held = (place, turn);
            local.act(&caller, act)
        });
        match work.await {
            Ok(done) => done.map_err(trouble),
            Err(_) => Err(Trouble::ours(
                "Ken failed inside; its standard error says where",
            )),
        }
    }

    fn act<T>(
        &self,
        caller: &Caller,
        act: impl FnOnce(&mut Desk<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let agent = self.conversations.agent_of(caller);
        let named = self.surroundings.run().map(ToOwned::to_owned);
        let surroundings = self.surroundings.acting_as(&agent, named);
        let (mut engine, _) = surroundings.open_to_write()?;
        let reader = self
            .conversations
            .reader(&mut engine, surroundings.run(), (agent, caller));
        let has_named_run = surroundings.run().is_some();
        let surroundings = surroundings.acting_as(&reader.agent, reader.run.clone());
        let done = act(&mut Desk {
            surroundings: &surroundings,
            engine: &mut engine,
            reader: &reader,
            caller,
            conversations: &self.conversations,
            has_named_run,
        });
        surroundings.remember(&mut engine)?;
        // They name people and files: a log is told how many there were.
        let notices = engine.take_notices().len();
        if 0 < notices {
            tracing::info!(notices, "beside an answer");
        }
        done
    }
}

impl<'a> Desk<'a> {
    /// Returns the conversation that what is recorded now belongs to, where it is not known which the reader is in.
    fn apart(&self) -> Option<&'a str> {
        match self.has_named_run {
            true => None,
            false => self.conversations.apart(self.reader, self.caller),
        }
    }

    /// Returns the run draws are seeded by.
    fn run(&self) -> String {
        self.reader.run.clone().unwrap_or_default()
    }

    /// Returns paths as the index has them: below the repository's root, whatever was typed.
    fn places(&self, typed: &[String]) -> Result<Vec<String>, Failure> {
        let root = self.engine.root();
        let mut places = Vec::with_capacity(typed.len());
        for path in typed {
            if path.chars().any(char::is_control) {
                return Err(Failure::usage("a path holds a control character"));
            }
            places.push(below_root(root, root, Path::new(path))?);
        }
        // The root itself is no place: everything is below it.
        places.retain(|it| !it.is_empty());
        Ok(places)
    }
}

impl Knowledge for Local {
    async fn search(&self, caller: Caller, ask: SearchAsk) -> Answered {
        self.call(caller, |desk| searching::search(desk, ask)).await
    }

    async fn get(&self, caller: Caller, ask: GetAsk) -> Answered {
        self.call(caller, move |desk| showing::get(desk, &ask))
            .await
    }

    async fn record(&self, caller: Caller, ask: RecordAsk) -> Answered {
        self.call(caller, move |desk| recording::record(desk, &ask))
            .await
    }

    async fn feedback(&self, caller: Caller, ask: FeedbackAsk) -> Answered {
        self.call(caller, move |desk| recording::feedback(desk, &ask))
            .await
    }

    async fn check(&self, caller: Caller, ask: CheckAsk) -> Answered {
        self.call(caller, move |desk| checking::check(desk, &ask))
            .await
    }

    async fn brief(&self, caller: Caller, ask: BriefAsk) -> Result<String, Trouble> {
        self.call(caller, move |desk| briefing::brief(desk, &ask))
            .await
    }

    async fn index(&self, caller: Caller) -> Result<String, Trouble> {
        self.call(caller, briefing::index).await
    }
}

/// Refuses what git would take for something else than a revision.
fn check_revision(base: &str) -> Result<(), Failure> {
    if base.starts_with('-') || base.chars().any(char::is_control) {
        let hint = "give a branch, a tag or a commit";
        return Err(Failure::usage("base names no revision").with_hint(hint));
    }
    Ok(())
}

/// Returns an object as a program reads it.
fn json(object: &impl serde::Serialize) -> Result<ken_mcp::Reply, Failure> {
    let value = serde_json::to_value(object).map_err(|error| Failure::json(&error))?;
    Ok(ken_mcp::Reply::Json(value))
}
