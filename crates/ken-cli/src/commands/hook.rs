//! `ken hook`: handles a hook event of an agent and responds in the agent's own JSON dialect.
//!
//! Errors are logged and nothing else: the exit code is 0 and stdout is empty, because agents stop
//! at other exit codes and read everything on stdout. Each event has a [`timeout`].

use std::io::{self, IsTerminal as _, Read as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use clap::Args;
use ken_agents::dialect::{self, HookInput, HookResponse, INPUT_BYTES_MAX, StartReason};
use ken_agents::{CodingAgent, HookEvent};
use ken_core::trust::run::RunWitness;
use ken_core::values::actor::{Actor, ActorRole};
use ken_engine::hooks::{
    self, AgentToolCall, FileExposure, HookSession, SessionStart, ToolCallResult, detect_exposure,
};
use ken_engine::{Engine, GitEnv};

use crate::failure::{CommandExit, CommandFailure};
use crate::print;
use crate::world::{self, Environment};

/// `ken hook`.
///
/// Any arguments are accepted: a misspelled hook must not end with an exit code that stops the
/// agent.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The agent and the hook event, such as `claude-code start`; the event's JSON is read from
    /// standard input
    #[arg(
        value_name = "AGENT EVENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) words: Vec<String>,
}

/// Maximum bytes read and discarded after the parsed input: an agent that cannot finish writing
/// would report an error.
const DRAINED_BYTES_MAX: u64 = 64 << 20;

/// Variable that Claude Code sets at the start of a session. Assignments written to the file it
/// names apply to every later command.
const CLAUDE_ENV_FILE: &str = "CLAUDE_ENV_FILE";

/// Returns the timeout of a hook event. A lock or unfinished input could otherwise block it.
fn timeout(event: HookEvent) -> Duration {
    match event {
        HookEvent::Prompt
        | HookEvent::Tool
        | HookEvent::Failure
        | HookEvent::Subagent
        | HookEvent::Stop => Duration::from_secs(3),
        // The first read of a ledger builds the index; at the end of a session the agent does not
        // wait.
        HookEvent::Start | HookEvent::End => Duration::from_secs(10),
    }
}

/// Handles a hook event. It always succeeds for the caller.
pub(crate) fn run(words: &[String]) -> CommandExit {
    let known = words.first().and_then(|it| CodingAgent::named(it));
    let event = known
        .zip(words.get(1))
        .and_then(|(it, word)| it.moment(word));
    let (Some(agent), Some(event)) = (known, event) else {
        let agents: Vec<&str> = CodingAgent::ALL.iter().map(|it| it.name()).collect();
        let events: Vec<&str> = HookEvent::ALL.iter().map(|it| it.name()).collect();
        let (agents, events) = (agents.join(", "), events.join(", "));
        print::write_stderr_line(&format!(
            "ken hook AGENT EVENT: unknown agent or event, ignored. Agents: {agents}; events: {events}"
        ));
        let (sender, receiver) = mpsc::channel();
        // Input of a terminal is not read. An agent's input is read to its end.
        if !io::stdin().is_terminal() {
            thread::spawn(move || sender.send(read_input().1));
            let _ = receiver.recv_timeout(timeout(HookEvent::Tool));
        }
        return CommandExit::Fine;
    };
    // The agent would read the message of a panic.
    panic::set_hook(Box::new(|_| {}));
    let (sender, receiver) = mpsc::channel();
    let parsed = Arc::new(Mutex::new(HookInput::default()));
    let shared = Arc::clone(&parsed);
    thread::spawn(move || {
        let _ = sender.send(handle_and_log(agent, event, &shared));
    });
    match receiver.recv_timeout(timeout(event)) {
        Ok(Some(answer)) => print::write_answer(&answer),
        Ok(None) => {}
        Err(_) => {
            let input = parsed.lock().unwrap_or_else(PoisonError::into_inner);
            let context = HookContext::of(&input);
            context.log(agent, event, "timed out");
            context.record_gap(agent, event, &input);
        }
    }
    CommandExit::Fine
}

/// Handles a hook event and logs errors.
fn handle_and_log(
    agent: CodingAgent,
    event: HookEvent,
    shared: &Mutex<HookInput>,
) -> Option<String> {
    let (bytes, is_whole) = read_input();
    let input = dialect::parse_hook_input(event, &bytes).filter(|_| is_whole);
    if let Some(input) = &input {
        shared
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone_from(input);
    }
    let context = HookContext::of(input.as_ref().unwrap_or(&HookInput::default()));
    if !context.has_ledger {
        return None;
    }
    let Some(input) = input else {
        context.log(agent, event, "cannot read the input");
        let handled = panic::catch_unwind(|| context.handle_unreadable(agent, event, &bytes));
        return context.ok_or_log(agent, event, handled).flatten();
    };
    let handle = AssertUnwindSafe(|| context.handle(agent, event, &input));
    let handled = context.ok_or_log(agent, event, panic::catch_unwind(handle));
    if handled.is_none() {
        context.record_gap(agent, event, &input);
    }
    handled.flatten()
}

/// Location and environment of a hook event.
struct HookContext {
    start: PathBuf,
    git: GitEnv,
    has_ledger: bool,
}

impl HookContext {
    fn of(input: &HookInput) -> Self {
        let git = world::git_env();
        let named = input.cwd.as_deref().map(PathBuf::from);
        let named = named.filter(|it| it.is_absolute() && it.is_dir());
        let own = std::env::current_dir().ok();
        // A tool may run in another folder; the session belongs to the folder its hooks start in.
        let places: Vec<PathBuf> = named.into_iter().chain(own).collect();
        let kept = places.iter().find(|it| hooks::is_ken_repository(it, &git));
        let has_ledger = kept.is_some();
        let start = kept.or(places.first()).cloned().unwrap_or_default();
        Self {
            start,
            git,
            has_ledger,
        }
    }

    fn log(&self, agent: CodingAgent, event: HookEvent, what: &str) {
        let now = world::runtime().map(|it| it.now()).unwrap_or_default();
        let line = format!("{} {}: {what}", agent.name(), event.name());
        hooks::append_log(&self.start, &self.git, now, &line);
    }

    /// Marks the session as incomplete because an exposure was not recorded. It confirms nothing
    /// from then on.
    fn record_gap(&self, agent: CodingAgent, event: HookEvent, input: &HookInput) {
        match event {
            HookEvent::Prompt | HookEvent::Tool | HookEvent::Failure | HookEvent::Subagent => {
                let now = world::runtime().map(|it| it.now()).unwrap_or_default();
                let who = hook_session(agent, event, input);
                hooks::record_exposure_gap(&self.start, &self.git, &who, now);
            }
            HookEvent::Start | HookEvent::Stop | HookEvent::End => {}
        }
    }

    /// Returns the result of a hook event; an error goes to the log.
    fn ok_or_log<T>(
        &self,
        agent: CodingAgent,
        event: HookEvent,
        result: thread::Result<Result<T, CommandFailure>>,
    ) -> Option<T> {
        match result {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(failure)) => {
                let failure = failure.without_secrets();
                let causes: Vec<&str> = failure.causes.iter().map(String::as_str).collect();
                let parts = [failure.message.as_str()].into_iter().chain(causes);
                let parts: Vec<&str> = parts.collect();
                self.log(agent, event, &parts.join(": "));
            }
            Err(_) => self.log(agent, event, "internal error"),
        }
        None
    }

    fn open(&self, who: &mut HookSession) -> Result<Engine, CommandFailure> {
        let surroundings = Environment::at(&self.start, &self.git, &who.agent);
        let mut engine = surroundings.open_to_read()?;
        // A named run that is not open here belongs to another repository, so the session is used.
        let is_open = |id: &String| engine.run(id).is_ok();
        who.run = who.run.take().filter(is_open);
        let _ = engine.take_notices();
        Ok(engine)
    }

    fn handle(
        &self,
        agent: CodingAgent,
        event: HookEvent,
        input: &HookInput,
    ) -> Result<Option<String>, CommandFailure> {
        let mut who = hook_session(agent, event, input);
        let text = match event {
            HookEvent::Start => {
                share_session(agent, input);
                self.open(&mut who)?
                    .handle_start_hook(&who, beginning(input.source))?
            }
            HookEvent::Prompt => self.prompt(&mut who, input)?,
            HookEvent::Tool | HookEvent::Failure => self.tool(&mut who, input)?,
            HookEvent::Subagent => self.open(&mut who)?.handle_subagent_hook(&who)?,
            HookEvent::Stop if input.is_stopping_again => None,
            HookEvent::Stop => self
                .open(&mut who)?
                .handle_stop_hook(&who, input.last_message.as_deref())?,
            HookEvent::End => {
                self.open(&mut who)?.handle_end_hook(&who)?;
                None
            }
        };
        let response = text.as_deref().map(|text| match event {
            HookEvent::Stop => HookResponse::Continue(text),
            HookEvent::Start
            | HookEvent::Prompt
            | HookEvent::Tool
            | HookEvent::Failure
            | HookEvent::Subagent
            | HookEvent::End => HookResponse::Context(text),
        });
        Ok(response.and_then(|it| dialect::render_response(agent, event, input, it)))
    }

    fn prompt(
        &self,
        who: &mut HookSession,
        input: &HookInput,
    ) -> Result<Option<String>, CommandFailure> {
        let prompt = input.prompt.as_deref().unwrap_or_default();
        let mut engine = self.open(who)?;
        let text = engine.handle_prompt_hook(who, prompt)?;
        let handed = input.attached.join("\n");
        engine.record_file_exposure(who, &detect_exposure(&input.attached, "", &handed))?;
        Ok(text)
    }

    /// Handles a tool call. Most calls concern no entry, and then the ledger is not opened.
    fn tool(
        &self,
        who: &mut HookSession,
        input: &HookInput,
    ) -> Result<Option<String>, CommandFailure> {
        let Some(tool) = &input.tool else {
            return Ok(None);
        };
        // In Ken's own folder, paths do not contain the folder's name.
        let paths: Vec<String> = tool.paths.iter().chain(&input.cwd).cloned().collect();
        let seen = detect_exposure(&paths, &tool.asked, &tool.output);
        let call_input = if tool.asked.is_empty() {
            tool.paths.join(" ")
        } else {
            tool.asked.clone()
        };
        let call = AgentToolCall {
            tool: &tool.name,
            input: &call_input,
        };
        let result = ToolCallResult {
            has_failed: tool.failed.is_some(),
            output: &tool.output,
        };
        hooks::record_tool_result(&self.start, &self.git, who, call, result);
        let Some(error) = &tool.failed else {
            if seen != FileExposure::Nothing {
                self.open(who)?.record_file_exposure(who, &seen)?;
            }
            return Ok(None);
        };
        let mut engine = self.open(who)?;
        engine.record_file_exposure(who, &seen)?;
        Ok(engine.handle_failure_hook(who, call, error)?)
    }

    /// Records that an unreadable tool result may have exposed any entry.
    fn handle_unreadable(
        &self,
        agent: CodingAgent,
        event: HookEvent,
        bytes: &[u8],
    ) -> Result<Option<String>, CommandFailure> {
        let session = dialect::find_session_id(bytes);
        let (Some(session), HookEvent::Prompt | HookEvent::Tool | HookEvent::Failure) =
            (session, event)
        else {
            return Ok(None);
        };
        let input = HookInput {
            session: Some(session),
            ..HookInput::default()
        };
        let mut who = hook_session(agent, event, &input);
        self.open(&mut who)?
            .record_file_exposure(&who, &FileExposure::Everything)?;
        Ok(None)
    }
}

fn hook_session(agent: CodingAgent, event: HookEvent, input: &HookInput) -> HookSession {
    let named = world::named_agent();
    // An agent passes its session id to its commands; input about another session is not from its
    // hook.
    let is_own = world::named_session().is_none_or(|it| Some(&it) == input.session.as_ref());
    let sees = dialect::sees_every_read(agent) && is_own;
    HookSession {
        agent: named.unwrap_or_else(|| Actor::from_claim(ActorRole::Agent, agent.name())),
        session: input.session.clone(),
        run: world::named_run(),
        subagent: input.subagent.as_ref().map(|it| hooks::StartedSubagent {
            id: it.id.clone(),
            kind: it.kind.clone(),
            task: it.task.clone(),
        }),
        witness: if sees {
            RunWitness::Hooks
        } else {
            RunWitness::Nobody
        },
        accepts_context: dialect::reaches_model(agent, event),
    }
}

fn beginning(source: Option<StartReason>) -> SessionStart {
    match source {
        Some(StartReason::Startup | StartReason::Clear) => SessionStart::Fresh,
        Some(StartReason::Resume) => SessionStart::Resumed,
        Some(StartReason::Compact) => SessionStart::Compacted,
        None | Some(StartReason::Other) => SessionStart::Unknown,
    }
}

/// Reads the agent's input, and returns whether it is complete.
fn read_input() -> (Vec<u8>, bool) {
    let mut input = Vec::new();
    let mut stdin = io::stdin().lock();
    let most = u64::try_from(INPUT_BYTES_MAX).unwrap_or(u64::MAX);
    let read = stdin.by_ref().take(most).read_to_end(&mut input);
    let behind = io::copy(&mut stdin.take(DRAINED_BYTES_MAX), &mut io::sink());
    let is_whole = read.is_ok() && behind.is_ok_and(|bytes| bytes == 0);
    (input, is_whole)
}

/// Passes the session id to later commands of Claude Code.
fn share_session(agent: CodingAgent, input: &HookInput) {
    let (CodingAgent::ClaudeCode, Some(session)) = (agent, &input.session) else {
        return;
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let file = std::env::var_os(CLAUDE_ENV_FILE).filter(|_| session.chars().all(is_plain));
    if let Some(file) = file {
        let line = format!("export KEN_SESSION={session}\n");
        let _ = append(Path::new(&file), &line);
    }
}

fn append(file: &Path, line: &str) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)?;
    io::Write::write_all(&mut file, line.as_bytes())
}
