//! `ken hook`: an agent tells of a moment, Ken answers in the agent's own dialect, or says nothing.
//!
//! Whatever goes wrong here is a line in a log and nothing else: the exit code is 0 and stdout empty, because agents
//! stop at other exit codes and read everything on stdout. Nothing waits longer than [`waits`] says.

use std::io::{self, IsTerminal as _, Read as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use ken_agents::dialect::{self, Heard, INPUT_BYTES_MAX, Say, Source};
use ken_agents::{Agent, Moment};
use ken_core::actor::{Actor, Role};
use ken_core::run::Witness;
use ken_engine::attend::{self, Attendee, Beginning, Call, Sighting, sighting};
use ken_engine::{Engine, GitEnv};

use crate::failure::{Exit, Failure};
use crate::print;
use crate::world::{self, Surroundings};

/// Bytes of input that are read and thrown away behind those that are looked at: an agent that cannot finish writing
/// would take that for an error.
const DRAINED_BYTES_MAX: u64 = 64 << 20;

/// A variable of Claude Code's start: what is written to the file it names is set for every later command.
const CLAUDE_ENV_FILE: &str = "CLAUDE_ENV_FILE";

/// Returns how long a moment may take: something may hold a lock, or never end its input.
fn waits(moment: Moment) -> Duration {
    match moment {
        Moment::Prompt | Moment::Tool | Moment::Failure | Moment::Subagent | Moment::Stop => {
            Duration::from_secs(3)
        }
        // The first look at a ledger reads all of it; nobody waits for an end.
        Moment::Start | Moment::End => Duration::from_secs(10),
    }
}

/// Attends a moment; there is nothing that could go wrong for the caller.
pub(crate) fn run(words: &[String]) -> Exit {
    let known = words.first().and_then(|it| Agent::named(it));
    let moment = known
        .zip(words.get(1))
        .and_then(|(it, word)| it.moment(word));
    let (Some(agent), Some(moment)) = (known, moment) else {
        let agents: Vec<&str> = Agent::ALL.iter().map(|it| it.name()).collect();
        let events: Vec<&str> = Moment::ALL.iter().map(|it| it.name()).collect();
        let (agents, events) = (agents.join(", "), events.join(", "));
        print::aside(&format!(
            "ken hook AGENT EVENT: no such agent or event; nothing is done. Agents: {agents}; events: {events}"
        ));
        let (sender, receiver) = mpsc::channel();
        // A person has nothing to say; an agent shall be able to say it all.
        if !io::stdin().is_terminal() {
            thread::spawn(move || sender.send(read_input().1));
            let _ = receiver.recv_timeout(waits(Moment::Tool));
        }
        return Exit::Fine;
    };
    // What is said of a panic would be read by the agent.
    panic::set_hook(Box::new(|_| {}));
    let (sender, receiver) = mpsc::channel();
    let told = Arc::new(Mutex::new(Heard::default()));
    let telling = Arc::clone(&told);
    thread::spawn(move || {
        let _ = sender.send(watched(agent, moment, &telling));
    });
    match receiver.recv_timeout(waits(moment)) {
        Ok(Some(answer)) => print::answer(&answer),
        Ok(None) => {}
        Err(_) => {
            let heard = told.lock().unwrap_or_else(PoisonError::into_inner);
            let here = Here::of(&heard);
            here.log(agent, moment, "took too long and was given up");
            here.lose(agent, moment, &heard);
        }
    }
    Exit::Fine
}

/// Attends a moment and logs what goes wrong.
fn watched(agent: Agent, moment: Moment, told: &Mutex<Heard>) -> Option<String> {
    let (input, is_whole) = read_input();
    let heard = dialect::hear(moment, &input).filter(|_| is_whole);
    if let Some(heard) = &heard {
        told.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone_from(heard);
    }
    let here = Here::of(heard.as_ref().unwrap_or(&Heard::default()));
    if !here.keeps_knowledge {
        return None;
    }
    let Some(heard) = heard else {
        here.log(agent, moment, "the input could not be read");
        let attended = panic::catch_unwind(|| here.attend_unread(agent, moment, &input));
        return here.logged(agent, moment, attended).flatten();
    };
    let attend = AssertUnwindSafe(|| here.attend(agent, moment, &heard));
    let attended = here.logged(agent, moment, panic::catch_unwind(attend));
    if attended.is_none() {
        here.lose(agent, moment, &heard);
    }
    attended.flatten()
}

/// Where a moment happens.
struct Here {
    start: PathBuf,
    git: GitEnv,
    keeps_knowledge: bool,
}

impl Here {
    fn of(heard: &Heard) -> Self {
        let git = world::git_env();
        let named = heard.cwd.as_deref().map(PathBuf::from);
        let named = named.filter(|it| it.is_absolute() && it.is_dir());
        let own = std::env::current_dir().ok();
        // A command may be at work elsewhere; the conversation is where its hooks are started.
        let places: Vec<PathBuf> = named.into_iter().chain(own).collect();
        let kept = places.iter().find(|it| attend::is_kept_here(it, &git));
        let keeps_knowledge = kept.is_some();
        let start = kept.or(places.first()).cloned().unwrap_or_default();
        Self {
            start,
            git,
            keeps_knowledge,
        }
    }

    fn log(&self, agent: Agent, moment: Moment, what: &str) {
        let now = world::world().map(|it| it.now()).unwrap_or_default();
        let line = format!("{} {}: {what}", agent.name(), moment.name());
        attend::log(&self.start, &self.git, now, &line);
    }

    /// Notes that what a moment showed was not written down: the conversation confirms nothing any more.
    fn lose(&self, agent: Agent, moment: Moment, heard: &Heard) {
        match moment {
            Moment::Prompt | Moment::Tool | Moment::Failure | Moment::Subagent => {
                let now = world::world().map(|it| it.now()).unwrap_or_default();
                let who = attendee(agent, moment, heard);
                attend::lost(&self.start, &self.git, &who, now);
            }
            Moment::Start | Moment::Stop | Moment::End => {}
        }
    }

    /// Returns what came of a moment; what went wrong goes to the log.
    fn logged<T>(
        &self,
        agent: Agent,
        moment: Moment,
        came: thread::Result<Result<T, Failure>>,
    ) -> Option<T> {
        match came {
            Ok(Ok(said)) => return Some(said),
            Ok(Err(failure)) => {
                let failure = failure.without_secrets();
                let causes: Vec<&str> = failure.causes.iter().map(String::as_str).collect();
                let told = [failure.message.as_str()].into_iter().chain(causes);
                let told: Vec<&str> = told.collect();
                self.log(agent, moment, &told.join(": "));
            }
            Err(_) => self.log(agent, moment, "a mistake in ken itself"),
        }
        None
    }

    fn open(&self, who: &mut Attendee) -> Result<Engine, Failure> {
        let surroundings = Surroundings::at(&self.start, &self.git, &who.agent);
        let mut engine = surroundings.open_to_read()?;
        // A run that is not open here is somebody else's; what happens belongs to the conversation then.
        let is_open = |id: &String| engine.run(id).is_ok();
        who.run = who.run.take().filter(is_open);
        let _ = engine.take_notices();
        Ok(engine)
    }

    fn attend(
        &self,
        agent: Agent,
        moment: Moment,
        heard: &Heard,
    ) -> Result<Option<String>, Failure> {
        let mut who = attendee(agent, moment, heard);
        let said = match moment {
            Moment::Start => {
                share_session(agent, heard);
                self.open(&mut who)?
                    .attend_start(&who, beginning(heard.source))?
            }
            Moment::Prompt => self.prompt(&mut who, heard)?,
            Moment::Tool | Moment::Failure => self.tool(&mut who, heard)?,
            Moment::Subagent => self.open(&mut who)?.attend_subagent(&who)?,
            Moment::Stop if heard.is_stopping_again => None,
            Moment::Stop => self.open(&mut who)?.attend_stop(&who)?,
            Moment::End => {
                self.open(&mut who)?.attend_end(&who)?;
                None
            }
        };
        let said = said.as_deref().map(|text| match moment {
            Moment::Stop => Say::GoOn(text),
            Moment::Start
            | Moment::Prompt
            | Moment::Tool
            | Moment::Failure
            | Moment::Subagent
            | Moment::End => Say::Context(text),
        });
        Ok(said.and_then(|said| dialect::answer(agent, moment, heard, said)))
    }

    fn prompt(&self, who: &mut Attendee, heard: &Heard) -> Result<Option<String>, Failure> {
        let prompt = heard.prompt.as_deref().unwrap_or_default();
        let mut engine = self.open(who)?;
        let said = engine.attend_prompt(who, prompt)?;
        let handed = heard.attached.join("\n");
        engine.attend_reading(who, &sighting(&heard.attached, "", &handed))?;
        Ok(said)
    }

    /// Most tool calls concern nothing here: then no ledger is opened.
    fn tool(&self, who: &mut Attendee, heard: &Heard) -> Result<Option<String>, Failure> {
        let Some(tool) = &heard.tool else {
            return Ok(None);
        };
        // A command in Ken's own folder names nothing of it.
        let paths: Vec<String> = tool.paths.iter().chain(&heard.cwd).cloned().collect();
        let seen = sighting(&paths, &tool.asked, &tool.output);
        let asked = match tool.asked.is_empty() {
            true => tool.paths.join(" "),
            false => tool.asked.clone(),
        };
        let call = Call {
            tool: &tool.name,
            asked: &asked,
        };
        let Some(error) = &tool.failed else {
            attend::worked(&self.start, &self.git, who, call);
            if seen != Sighting::Nothing {
                self.open(who)?.attend_reading(who, &seen)?;
            }
            return Ok(None);
        };
        let mut engine = self.open(who)?;
        engine.attend_reading(who, &seen)?;
        Ok(engine.attend_failure(who, call, error)?)
    }

    /// Notes of a tool's answer that nobody could read that it may have shown anything.
    fn attend_unread(
        &self,
        agent: Agent,
        moment: Moment,
        input: &[u8],
    ) -> Result<Option<String>, Failure> {
        let session = dialect::session_in(input);
        let (Some(session), Moment::Prompt | Moment::Tool | Moment::Failure) = (session, moment)
        else {
            return Ok(None);
        };
        let heard = Heard {
            session: Some(session),
            ..Heard::default()
        };
        let mut who = attendee(agent, moment, &heard);
        self.open(&mut who)?
            .attend_reading(&who, &Sighting::Everything)?;
        Ok(None)
    }
}

fn attendee(agent: Agent, moment: Moment, heard: &Heard) -> Attendee {
    let named = world::named_agent();
    // A conversation tells its commands its name; whoever speaks of another one is no hook of it.
    let is_own = world::named_session().is_none_or(|it| Some(&it) == heard.session.as_ref());
    let sees = dialect::sees_every_read(agent) && is_own;
    Attendee {
        agent: named.unwrap_or_else(|| Actor::from_claim(Role::Agent, agent.name())),
        session: heard.session.clone(),
        run: world::named_run(),
        subagent: heard.subagent.as_ref().map(|it| attend::Subagent {
            id: it.id.clone(),
            kind: it.kind.clone(),
            task: it.task.clone(),
        }),
        witness: if sees {
            Witness::Hooks
        } else {
            Witness::Nobody
        },
        listens: dialect::reaches(agent, moment),
    }
}

fn beginning(source: Option<Source>) -> Beginning {
    match source {
        Some(Source::Startup | Source::Clear) => Beginning::Fresh,
        Some(Source::Resume) => Beginning::Resumed,
        Some(Source::Compact) => Beginning::Condensed,
        None | Some(Source::Other) => Beginning::Unknown,
    }
}

/// Reads what the agent says, and whether that was all of it.
fn read_input() -> (Vec<u8>, bool) {
    let mut input = Vec::new();
    let mut stdin = io::stdin().lock();
    let most = u64::try_from(INPUT_BYTES_MAX).unwrap_or(u64::MAX);
    let read = stdin.by_ref().take(most).read_to_end(&mut input);
    let behind = io::copy(&mut stdin.take(DRAINED_BYTES_MAX), &mut io::sink());
    let is_whole = read.is_ok() && behind.is_ok_and(|bytes| bytes == 0);
    (input, is_whole)
}

/// Lets later commands of Claude Code know which conversation they are in.
fn share_session(agent: Agent, heard: &Heard) {
    let (Agent::ClaudeCode, Some(session)) = (agent, &heard.session) else {
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
