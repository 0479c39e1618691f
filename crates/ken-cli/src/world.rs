//! The environment, turned into what the engine needs: where, who, when.
//!
//! | variable | meaning |
//! |---|---|
//! | `KEN_ACTOR` | who acts, where `--by` says nothing |
//! | `KEN_RUN`, `KEN_SESSION` | the run what is done belongs to, where `--run` says nothing, and the conversation an agent is in |
//! | `KEN_NOW`, `KEN_SEED` | a clock that stands still and known ids: for tests and recordings only |
//! | `KEN_MODEL_HUB`, `KEN_MODELS` | where models are fetched from, and the folder they are kept in |
//! | `KEN_GUARD` | the folder of the guard's own files: names not to be written, the key of fingerprints |
//! | `KEN_GLOBAL` | the folder of the global ledger, read beside every repository's own |
//! | `KEN_JUDGE` | the folder of `judge.toml`, which says who is asked where Ken cannot tell |
//! | `KEN_MCP_TOKEN` | the token clients of `ken mcp --http` show |
//! | `GIT_DIR`, `GIT_WORK_TREE` | as git reads them |
//!
//! Finding out who acts may run git, so it is done for commands that write and for no others.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ken_core::actor::{Actor, Role};
use ken_core::time::Timestamp;
use ken_engine::guard::{Guard, GuardHome};
use ken_engine::judge::JudgeHome;
use ken_engine::promotion::GlobalHome;
use ken_engine::runs::Reader;
use ken_engine::usage::Surface;
use ken_engine::world::{FixedWorld, SystemWorld};
use ken_engine::{Engine, GitEnv, World};

use crate::args::Global;
use crate::failure::Failure;

/// Variables that coding agents set for the programs they start, and the agent's name.
///
/// Exact names only: `CODEX_HOME` or `CURSOR_TRACE_ID` also stand in a person's own terminal.
const AGENTS: &[(&str, &str)] = &[
    ("CLAUDECODE", "claude-code"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "codex"),
    ("CODEX_THREAD_ID", "codex"),
    ("CURSOR_AGENT", "cursor"),
    ("GEMINI_CLI", "gemini-cli"),
    ("OPENCODE", "opencode"),
];

/// Variables in which an agent names the conversation it starts a program in.
const SESSIONS: &[(&str, &str)] = &[("codex", "CODEX_THREAD_ID")];

/// A variable agents may set to their own name.
const ANY_AGENT: &str = "AI_AGENT";

/// Where, who and when.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// Absolute.
    pub(crate) start: PathBuf,
    pub(crate) git: GitEnv,
    by: Option<Actor>,
    run: Option<String>,
    redact: bool,
    /// How often the ledger was opened, in a process that does so again and again.
    turns: Option<Arc<AtomicU64>>,
    /// Through what Ken is asked here: the command line unless whoever serves another says so.
    pub(crate) surface: Surface,
}

impl Surroundings {
    /// Reads the environment as `global` overrides it.
    pub(crate) fn new(global: &Global) -> Result<Self, Failure> {
        let here = env::current_dir().map_err(|e| Failure::io("cannot tell where we are", &e))?;
        let start = match &global.directory {
            None => here,
            Some(directory) => {
                let start = here.join(directory);
                if !start.is_dir() {
                    let shown = directory.display();
                    return Err(Failure::usage(format!("there is no folder `{shown}`")));
                }
                start
            }
        };
        let git = git_env();
        let by = match &global.by {
            Some(by) => Some(by.clone()),
            None => variable("KEN_ACTOR")
                .map(|text| text.parse())
                .transpose()
                .map_err(|e| Failure::usage(format!("KEN_ACTOR: {e}")))?,
        };
        let run = global.run.clone().or_else(|| variable("KEN_RUN"));
        Ok(Self {
            start,
            git,
            by,
            run,
            redact: global.redact,
            turns: None,
            surface: Surface::default(),
        })
    }

    /// Returns these surroundings for a process that opens the ledger again and again.
    pub(crate) fn for_long(&self) -> Self {
        Self {
            turns: Some(Arc::default()),
            surface: Surface::Mcp,
            ..self.clone()
        }
    }

    /// Returns these surroundings as `agent` finds them, at work in `run`.
    pub(crate) fn acting_as(&self, agent: &Actor, run: Option<String>) -> Self {
        Self {
            by: Some(agent.clone()),
            run,
            ..self.clone()
        }
    }

    /// Returns the agent somebody named; a person who lets an agent start programs is none.
    pub(crate) fn named_agent(&self) -> Result<Option<Actor>, Failure> {
        let Some(by) = self.by.clone().filter(Actor::is_human) else {
            return Ok(self.by.clone());
        };
        if variable("KEN_ACTOR").is_some_and(|it| it == by.to_string()) {
            return Ok(None);
        }
        let message = format!("`{by}` is a person, and what comes over MCP is an agent's word");
        Err(Failure::usage(message).with_hint("leave out --by, or name an agent: --by agent:NAME"))
    }

    /// Returns where a moment of `agent`'s conversation happens.
    pub(crate) fn at(start: &Path, git: &GitEnv, agent: &Actor) -> Self {
        Self {
            start: start.to_owned(),
            git: git.clone(),
            by: Some(agent.clone()),
            run: None,
            redact: false,
            turns: None,
            surface: Surface::Hook,
        }
    }

    /// Opens the ledger for a command that writes; returns it with who acts.
    pub(crate) fn open_to_write(&self) -> Result<(Engine, Actor), Failure> {
        let actor = self.actor();
        let world = self.world()?;
        let mut engine = Engine::open(&self.start, &self.git, Some(actor.clone()), world)?;
        engine.set_guard(self.guard()?);
        Ok((engine, actor))
    }

    /// Opens the ledger for a command that only reads.
    pub(crate) fn open_to_read(&self) -> Result<Engine, Failure> {
        let world = self.world()?;
        let mut engine = Engine::open(&self.start, &self.git, self.by.clone(), world)?;
        engine.set_guard(self.guard()?);
        Ok(engine)
    }

    /// Opens the global ledger, if the user has one, to read beside this one.
    pub(crate) fn open_global(&self) -> Result<Option<Engine>, Failure> {
        match global_root().filter(|it| it.join(".ken").is_dir()) {
            None => Ok(None),
            Some(root) => Ok(Some(Engine::open_plain(
                &root,
                self.by.clone(),
                self.world()?,
            )?)),
        }
    }

    /// Returns where the global ledger lies, or shall lie.
    pub(crate) fn global_home() -> Result<GlobalHome, Failure> {
        let root = global_root().ok_or_else(|| {
            Failure::usage("there is no folder for a global ledger")
                .with_hint("say where with KEN_GLOBAL")
        })?;
        let world = world()?;
        Ok(GlobalHome { root, world })
    }

    /// Returns what this user's guard goes by.
    pub(crate) fn guard(&self) -> Result<Guard, Failure> {
        let Some(home) = guard_home() else {
            return Ok(Guard::default());
        };
        if self.redact {
            home.ensure_key(&mut *world()?)?;
        }
        let mut guard = home.load()?;
        guard.redacts = self.redact;
        Ok(guard)
    }

    /// Keeps what secrets that were replaced are recognised by.
    pub(crate) fn remember(&self, engine: &mut Engine) -> Result<(), Failure> {
        let prints = engine.take_redacted();
        match guard_home() {
            Some(home) if !prints.is_empty() => Ok(home.remember(&prints)?),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the run that was named.
    pub(crate) fn run(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// Returns whoever is shown what a command prints, unless that is a person.
    pub(crate) fn reader(&self) -> Option<Reader> {
        let agent = self.by.clone().or_else(agent);
        agent
            .filter(|it| !it.is_human())
            .map(|agent| self.as_reader(&agent))
    }

    /// Returns `agent` with the run and the conversation it is in.
    pub(crate) fn as_reader(&self, agent: &Actor) -> Reader {
        Reader {
            agent: agent.clone(),
            run: self.run.clone(),
            session: variable("KEN_SESSION"),
        }
    }

    /// Returns the clock and the dice, which never fall as they did before in this process.
    fn world(&self) -> Result<Box<dyn World>, Failure> {
        let turns = self.turns.as_ref();
        world_in(turns.map_or(0, |it| it.fetch_add(1, Ordering::Relaxed)))
    }

    /// Returns who acts.
    fn actor(&self) -> Actor {
        let named = self.by.clone().or_else(agent);
        named
            .or_else(|| git_email(&self.start))
            .unwrap_or_else(user)
    }
}

/// Returns the conversation the program was started in, as far as `agent` says.
pub(crate) fn session_of(agent: &Actor) -> Option<String> {
    let own = SESSIONS.iter().find(|(name, _)| *name == agent.name());
    variable("KEN_SESSION").or_else(|| variable(own?.1))
}

/// Returns the token clients of an HTTP server show, if somebody chose one.
pub(crate) fn mcp_token() -> Option<String> {
    variable("KEN_MCP_TOKEN")
}

/// Returns what a hub knows this user by, if the environment says so.
pub(crate) fn hub_token() -> Option<String> {
    variable("KEN_HUB_TOKEN")
}

/// Returns where a hub's database is, if the environment says so.
#[cfg(feature = "hub")]
pub(crate) fn database_url() -> Option<String> {
    variable("KEN_DATABASE_URL")
}

/// Returns what the environment says about git.
pub(crate) fn git_env() -> GitEnv {
    let path = |name| {
        let value = env::var_os(name).filter(|it| !it.is_empty());
        value.map(PathBuf::from)
    };
    GitEnv {
        git_dir: path("GIT_DIR"),
        work_tree: path("GIT_WORK_TREE"),
    }
}

/// Returns the agent the environment names, if it names one.
pub(crate) fn named_agent() -> Option<Actor> {
    let named: Option<Actor> = variable("KEN_ACTOR")?.parse().ok();
    named.filter(|it| !it.is_human())
}

/// Returns the conversation the environment names.
pub(crate) fn named_session() -> Option<String> {
    variable("KEN_SESSION")
}

/// Returns the run the environment names.
pub(crate) fn named_run() -> Option<String> {
    variable("KEN_RUN")
}

/// Returns the clock and the dice.
pub(crate) fn world() -> Result<Box<dyn World>, Failure> {
    world_in(0)
}

/// Returns the clock and the dice of one of several turns.
fn world_in(turn: u64) -> Result<Box<dyn World>, Failure> {
    let (now, seed) = (variable("KEN_NOW"), variable("KEN_SEED"));
    let (Some(now), Some(seed)) = (&now, &seed) else {
        if now.is_some() || seed.is_some() {
            return Err(Failure::usage(
                "KEN_NOW and KEN_SEED are for tests and only go together",
            ));
        }
        return Ok(Box::new(SystemWorld));
    };
    let now: Timestamp = now
        .parse()
        .map_err(|e| Failure::usage(format!("KEN_NOW: {e}")))?;
    let seed: u64 = seed
        .parse()
        .map_err(|_| Failure::usage("KEN_SEED is not a whole number"))?;
    // Far beyond the seeds somebody counts up from one run to the next.
    let seed = seed.wrapping_add(turn << 32);
    Ok(Box::new(FixedWorld::new(now, seed)))
}

/// Returns the agent that started us, if one did.
fn agent() -> Option<Actor> {
    let known = AGENTS.iter().find(|(name, _)| variable(name).is_some());
    let name = match known {
        Some((_, agent)) => (*agent).to_owned(),
        None => variable(ANY_AGENT)?,
    };
    Some(Actor::from_claim(Role::Agent, &name))
}

/// Returns who git says is at work here.
fn git_email(start: &Path) -> Option<Actor> {
    let mut git = Command::new("git");
    git.current_dir(start)
        .args(["config", "user.email"])
        .stdin(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    let email = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!email.is_empty()).then(|| Actor::from_claim(Role::Human, &email))
}

/// Returns where this user's guard keeps its files, if the user has a home.
fn guard_home() -> Option<GuardHome> {
    if let Some(named) = variable("KEN_GUARD") {
        let folder = std::path::absolute(named).ok()?;
        return Some(GuardHome {
            config: folder.clone(),
            data: folder,
        });
    }
    Some(GuardHome {
        config: user_folder("XDG_CONFIG_HOME", ".config")?,
        data: user_folder("XDG_DATA_HOME", ".local/share")?,
    })
}

/// Returns where the global ledger lies, if the user has a home.
fn global_root() -> Option<PathBuf> {
    match variable("KEN_GLOBAL") {
        Some(named) => std::path::absolute(named).ok(),
        None => Some(user_folder("XDG_DATA_HOME", ".local/share")?.join("global")),
    }
}

/// Returns where this user's judge is named: never in a repository.
pub(crate) fn judge_home() -> Result<JudgeHome, Failure> {
    let named = variable("KEN_JUDGE").and_then(|it| std::path::absolute(it).ok());
    let folder = named.or_else(|| user_folder("XDG_CONFIG_HOME", ".config"));
    let folder = folder.ok_or_else(|| {
        Failure::usage("there is no folder to keep a judge in")
            .with_hint("say where with KEN_JUDGE")
    })?;
    let variable = |name: &str| env::var_os(name).filter(|it| !it.is_empty());
    Ok(JudgeHome { folder, variable })
}

/// Returns Ken's folder below the one that variable `name` says, or below `below` in the user's home.
fn user_folder(name: &str, below: &str) -> Option<PathBuf> {
    // A relative folder means nothing: the specification says to pass over it.
    let named = variable(name)
        .map(PathBuf::from)
        .filter(|it| it.is_absolute());
    let home = || variable("HOME").map(|home| Path::new(&home).join(below));
    Some(named.or_else(home)?.join("ken"))
}

/// Returns where models are fetched from, if somebody says so.
pub(crate) fn model_hub() -> Option<String> {
    variable("KEN_MODEL_HUB")
}

/// Returns the folder models are kept in: one for all repositories of a user.
pub(crate) fn models() -> Result<PathBuf, Failure> {
    // A relative cache folder means nothing: the specification says to pass over it.
    let path = |name: &str| {
        variable(name)
            .map(PathBuf::from)
            .filter(|it| it.is_absolute())
    };
    let home = |below: &str| path("HOME").map(|home| home.join(below));
    let cache = match env::consts::OS {
        "windows" => path("LOCALAPPDATA"),
        "macos" => home("Library/Caches"),
        _ => path("XDG_CACHE_HOME").or_else(|| home(".cache")),
    };
    let models = variable("KEN_MODELS")
        .and_then(|it| std::path::absolute(it).ok())
        .or_else(|| Some(cache?.join("ken").join("models")));
    models.ok_or_else(|| {
        Failure::usage("there is no cache folder to keep a model in")
            .with_hint("say where with KEN_MODELS")
    })
}

fn user() -> Actor {
    let name = variable("USER")
        .or_else(|| variable("USERNAME"))
        .unwrap_or_default();
    Actor::from_claim(Role::Human, &name)
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
