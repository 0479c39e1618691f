//! Local backend of [`ken_mcp`]: serves this repository's knowledge.
//!
//! Each call opens the ledger on a blocking thread and closes it afterwards. Nothing is held
//! between calls, so any number of servers and commands can share a repository. The caller is
//! always an agent, never a person. Its exposures belong to its session ([`conversation`]).

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
use ken_engine::runs::EntryReader;
use ken_mcp::ask::{
    BriefingArguments, CheckArguments, FeedbackArguments, GetArguments, RecordArguments,
    SearchArguments,
};
use ken_mcp::{KnowledgeBackend, McpCaller, ToolError, ToolResult};
use tokio::sync::Semaphore;

use crate::commands::below_root;
use crate::failure::CommandFailure;
use crate::world::Environment;
use conversation::AgentSessions;
use trouble::to_tool_error;

/// Maximum concurrent calls; each has a connection to the index.
const CONCURRENT_CALLS_MAX: usize = 4;

/// Maximum calls in progress or waiting; further ones are refused.
const PENDING_CALLS_MAX: usize = 256;

/// The knowledge of the repository this process was started in.
#[derive(Clone, Debug)]
pub(crate) struct LocalKnowledge {
    surroundings: Environment,
    conversations: Arc<AgentSessions>,
    at_once: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The context of a call.
struct CallContext<'a> {
    surroundings: &'a Environment,
    engine: &'a mut Engine,
    reader: &'a EntryReader,
    caller: &'a McpCaller,
    conversations: &'a AgentSessions,
    /// True if the run was named explicitly.
    has_named_run: bool,
}

impl LocalKnowledge {
    pub(crate) fn new(environment: &Environment) -> Result<Self, CommandFailure> {
        Ok(Self {
            conversations: Arc::new(AgentSessions::new(environment)?),
            surroundings: environment.for_server(),
            at_once: Arc::new(Semaphore::new(CONCURRENT_CALLS_MAX)),
            waiting: Arc::new(Semaphore::new(PENDING_CALLS_MAX)),
        })
    }

    /// Opens the ledger for `caller` and runs `act` with it.
    async fn call<T: Send + 'static>(
        &self,
        caller: McpCaller,
        act: impl FnOnce(&mut CallContext<'_>) -> Result<T, CommandFailure> + Send + 'static,
    ) -> Result<T, ToolError> {
        let busy = || {
            let message = format!("{PENDING_CALLS_MAX} calls are already pending");
            ToolError::asked(message, "wait for their replies, then retry")
        };
        let place = Arc::clone(&self.waiting)
            .try_acquire_owned()
            .map_err(|_| busy())?;
        let turn = Arc::clone(&self.at_once).acquire_owned().await;
        let local = self.clone();
        // SQLite and file access block, so they must not run on the async threads.
        let work = tokio::task::spawn_blocking(move || {
            // The permits move into the task: a client that disconnects does not free them while
            // the work still runs.
            let _permits = (place, turn);
            local.act(&caller, act)
        });
        match work.await {
            Ok(done) => done.map_err(to_tool_error),
            Err(_) => Err(ToolError::ours(
                "internal error in Ken; see its standard error",
            )),
        }
    }

    fn act<T>(
        &self,
        caller: &McpCaller,
        act: impl FnOnce(&mut CallContext<'_>) -> Result<T, CommandFailure>,
    ) -> Result<T, CommandFailure> {
        let agent = self.conversations.agent_of(caller);
        let named_run = self.surroundings.run().map(ToOwned::to_owned);
        let opening = self.surroundings.acting_as(&agent, named_run);
        let (mut engine, _) = opening.open_to_write()?;
        let reader = self
            .conversations
            .reader(&mut engine, opening.run(), (agent, caller));
        let has_named_run = opening.run().is_some();
        // From here on, the run of the session counts as the named one.
        let environment = opening.acting_as(&reader.agent, reader.run.clone());
        let done = act(&mut CallContext {
            surroundings: &environment,
            engine: &mut engine,
            reader: &reader,
            caller,
            conversations: &self.conversations,
            has_named_run,
        });
        environment.remember(&mut engine)?;
        // Notices contain names of people and files, so only their number is logged.
        let notices = engine.take_notices().len();
        if notices > 0 {
            tracing::info!(notices, "notices not shown to the client");
        }
        done
    }
}

impl<'a> CallContext<'a> {
    /// Returns the separate session for a finding, if the reader's session is not known.
    fn apart(&self) -> Option<&'a str> {
        if self.has_named_run {
            return None;
        }
        self.conversations.apart(self.reader, self.caller)
    }

    /// Returns the run that seeds random draws. Only a run that the user opened measures
    /// exploration, so other searches rank by the mean.
    fn run(&self) -> Option<String> {
        self.reader.run.clone().filter(|_| self.has_named_run)
    }

    /// Returns paths as in the index: relative to the repository root.
    fn places(&self, typed: &[String]) -> Result<Vec<String>, CommandFailure> {
        let root = self.engine.root();
        let mut paths = Vec::with_capacity(typed.len());
        for path in typed {
            if path.chars().any(char::is_control) {
                return Err(CommandFailure::usage("a path contains a control character"));
            }
            paths.push(below_root(root, root, Path::new(path))?);
        }
        // Every entry is below the root, so the root would not filter anything.
        paths.retain(|it| !it.is_empty());
        Ok(paths)
    }
}

impl KnowledgeBackend for LocalKnowledge {
    async fn search(&self, caller: McpCaller, arguments: SearchArguments) -> ToolResult {
        self.call(caller, |context| searching::search(context, arguments))
            .await
    }

    async fn get(&self, caller: McpCaller, arguments: GetArguments) -> ToolResult {
        self.call(caller, move |context| showing::get(context, &arguments))
            .await
    }

    async fn record(&self, caller: McpCaller, arguments: RecordArguments) -> ToolResult {
        self.call(caller, move |context| {
            recording::record(context, &arguments)
        })
        .await
    }

    async fn feedback(&self, caller: McpCaller, arguments: FeedbackArguments) -> ToolResult {
        self.call(caller, move |context| {
            recording::feedback(context, &arguments)
        })
        .await
    }

    async fn check(&self, caller: McpCaller, arguments: CheckArguments) -> ToolResult {
        self.call(caller, move |context| checking::check(context, &arguments))
            .await
    }

    async fn brief(
        &self,
        caller: McpCaller,
        arguments: BriefingArguments,
    ) -> Result<String, ToolError> {
        self.call(caller, move |context| briefing::brief(context, &arguments))
            .await
    }

    async fn index(&self, caller: McpCaller) -> Result<String, ToolError> {
        self.call(caller, briefing::index).await
    }
}

/// Returns an error for text that git would not parse as a revision.
fn check_revision(base: &str) -> Result<(), CommandFailure> {
    // A leading `-` would be parsed as an option of git.
    if base.starts_with('-') || base.chars().any(char::is_control) {
        let hint = "give a branch, a tag or a commit";
        return Err(CommandFailure::usage("`base` is not a valid revision").with_hint(hint));
    }
    Ok(())
}

/// Returns a value as a JSON reply.
fn json_reply(object: &impl serde::Serialize) -> Result<ken_mcp::ToolReply, CommandFailure> {
    let value = serde_json::to_value(object).map_err(|error| CommandFailure::json(&error))?;
    Ok(ken_mcp::ToolReply::Json(value))
}
