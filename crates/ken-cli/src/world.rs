//! The process environment: folders, actor, clock and settings for the engine.
//!
//! | variable | meaning |
//! |---|---|
//! | `KEN_ACTOR` | the actor, if `--by` is not given |
//! | `KEN_RUN` | the run, if `--run` is not given |
//! | `KEN_SESSION` | the agent's session |
//! | `KEN_NOW`, `KEN_SEED` | a fixed clock and reproducible ids, for tests and recordings only |
//! | `KEN_MODEL_HUB`, `KEN_MODELS` | the download source of models, and their folder |
//! | `KEN_GUARD` | the folder of the guard's files: forbidden names, the fingerprint key |
//! | `KEN_GLOBAL` | the folder of the global ledger |
//! | `KEN_PEERS` | the folder of the ledgers of other organizations |
//! | `KEN_LLM` | the folder of `llm.toml`, which configures the LLM |
//! | `KEN_FORAGE` | the folder of `forage.toml`, which configures the forager |
//! | `CARGO_HOME`, `GOMODCACHE`, `GOPATH`, `VIRTUAL_ENV` | where package managers unpack packages |
//! | `KEN_CONVERSATIONS` | the folder of the index of conversations and commits |
//! | `CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `GEMINI_CLI_HOME` | folders of the agents |
//! | `KEN_MCP_TOKEN` | the token for clients of `ken mcp --http` |
//! | `KEN_DATABASE_URL`, `KEN_DATABASE_URL_FILE` | the URL of a hub's database, or a file with it |
//! | `KEN_SERVE_CONFIG`, `KEN_SERVE_…` | the configuration file of `ken serve`, and its settings |
//! | `GIT_DIR`, `GIT_WORK_TREE` | as in git |
//!
//! Determining the actor may run git, so only commands that write do it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::time::Timestamp;
use ken_engine::conversations::ConversationHome;
use ken_engine::federation::{PeerHome, PeerLedger};
use ken_engine::forage::{ForageHome, ForagePlace, PackageFolders};
use ken_engine::guard::{Guard, GuardHome};
use ken_engine::llm::LlmHome;
use ken_engine::promotion::GlobalHome;
use ken_engine::runs::EntryReader;
use ken_engine::runtime::{FixedRuntime, SystemRuntime};
use ken_engine::usage::UsageSurface;
use ken_engine::{Engine, GitEnv, Runtime};

use crate::args::Global;
use crate::failure::CommandFailure;

/// Variables that coding agents set for the programs they start, with the agent's name.
///
/// Exact names only: `CODEX_HOME` or `CURSOR_TRACE_ID` are also set in a person's own terminal.
const AGENT_VARIABLES: &[(&str, &str)] = &[
    ("CLAUDECODE", "claude-code"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "codex"),
    ("CODEX_THREAD_ID", "codex"),
    ("CURSOR_AGENT", "cursor"),
    ("GEMINI_CLI", "gemini-cli"),
    ("OPENCODE", "opencode"),
];

/// Variables in which an agent passes its session id to the programs it starts.
const SESSION_VARIABLES: &[(&str, &str)] = &[("codex", "CODEX_THREAD_ID")];

/// A variable that an agent may set to its own name.
const AGENT_NAME_VARIABLE: &str = "AI_AGENT";

/// The environment of a command: folder, actor, run and clock.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// The absolute path of the start folder.
    pub(crate) start: PathBuf,
    pub(crate) git: GitEnv,
    by: Option<Actor>,
    run: Option<String>,
    redact: bool,
    /// Set if the command carries a person's signature, which the engine verifies.
    is_signed: bool,
    /// The number of times a server process opened the ledger; `None` in a single command.
    turns: Option<Arc<AtomicU64>>,
    /// The surface through which Ken is queried; the command line by default.
    pub(crate) surface: UsageSurface,
}

impl Environment {
    /// Reads the environment; `global` overrides it.
    pub(crate) fn new(global: &Global) -> Result<Self, CommandFailure> {
        // Made absolute at once, so that later code does not depend on the current folder.
        let here = env::current_dir()
            .map_err(|e| CommandFailure::io("cannot determine the current folder", &e))?;
        let start = match &global.directory {
            None => here,
            Some(directory) => {
                let start = here.join(directory);
                if !start.is_dir() {
                    let shown = directory.display();
                    return Err(CommandFailure::usage(format!(
                        "the folder `{shown}` does not exist"
                    )));
                }
                start
            }
        };
        let git = git_env();
        let by = match &global.by {
            Some(by) => Some(by.clone()),
            None => {
                let named: Option<Actor> = variable("KEN_ACTOR")
                    .map(|text| text.parse())
                    .transpose()
                    .map_err(|e| CommandFailure::usage(format!("KEN_ACTOR: {e}")))?;
                // A person exports `KEN_ACTOR` for their shell; the agents they start inherit it.
                named.filter(|it| !it.is_human() || detect_agent().is_none())
            }
        };
        let run = global.run.clone().or_else(|| variable("KEN_RUN"));
        Ok(Self {
            start,
            git,
            by,
            run,
            redact: global.redact,
            is_signed: false,
            turns: None,
            surface: UsageSurface::default(),
        })
    }

    /// Returns this environment for a server that opens the ledger repeatedly.
    pub(crate) fn for_server(&self) -> Self {
        Self {
            turns: Some(Arc::default()),
            surface: UsageSurface::Mcp,
            ..self.clone()
        }
    }

    /// Returns this environment for the web pages, which open the ledger repeatedly.
    pub(crate) fn for_pages(&self) -> Self {
        Self {
            surface: UsageSurface::Ui,
            ..self.for_server()
        }
    }

    /// Returns this environment with secrets replaced instead of refused.
    pub(crate) fn with_redaction(&self) -> Self {
        Self {
            redact: true,
            ..self.clone()
        }
    }

    /// Returns the person whose decisions this process records, or why there is none.
    pub(crate) fn person(&self) -> Result<Actor, CommandFailure> {
        let actor = self.actor()?;
        if actor.is_human() {
            return Ok(actor);
        }
        let message = format!("{actor} is not a person");
        Err(CommandFailure::refused("person_needed", message))
    }

    /// Returns the name of the user in git's configuration, if there is one.
    pub(crate) fn git_name(&self) -> Option<String> {
        git_setting(&self.start, "user.name").filter(|it| !it.is_empty())
    }

    /// Returns this environment with `agent` as the actor, working in `run`.
    pub(crate) fn acting_as(&self, agent: &Actor, run: Option<String>) -> Self {
        Self {
            by: Some(agent.clone()),
            run,
            ..self.clone()
        }
    }

    /// Returns this environment for a command that carries a person's signature.
    pub(crate) fn signed(&self) -> Self {
        Self {
            is_signed: true,
            ..self.clone()
        }
    }

    /// Returns the agent that runs this command in the name of a person, if one does.
    pub(crate) fn impersonating_agent(&self) -> Option<Actor> {
        let is_person = self.by.as_ref().is_some_and(Actor::is_human);
        is_person.then(detect_agent).flatten()
    }

    /// Returns the actor in `--by` or `KEN_ACTOR`.
    #[cfg(feature = "hub")]
    pub(crate) fn named_actor(&self) -> Option<Actor> {
        self.by.clone()
    }

    /// Returns the explicitly named agent. A person in `KEN_ACTOR` is ignored; one in `--by` is an
    /// error.
    pub(crate) fn named_agent(&self) -> Result<Option<Actor>, CommandFailure> {
        let Some(by) = self.by.clone().filter(Actor::is_human) else {
            return Ok(self.by.clone());
        };
        // `KEN_ACTOR` is inherited from the person's shell.
        if variable("KEN_ACTOR").is_some_and(|it| it == by.to_string()) {
            return Ok(None);
        }
        let message = format!("`{by}` is a person, but MCP clients act as agents");
        Err(CommandFailure::usage(message)
            .with_hint("leave out --by, or name an agent: --by agent:NAME"))
    }

    /// Creates the environment of a hook event of `agent`.
    pub(crate) fn at(start: &Path, git: &GitEnv, agent: &Actor) -> Self {
        Self {
            start: start.to_owned(),
            git: git.clone(),
            by: Some(agent.clone()),
            run: None,
            redact: false,
            is_signed: false,
            turns: None,
            surface: UsageSurface::Hook,
        }
    }

    /// Opens the ledger for writing; returns it with the actor.
    pub(crate) fn open_to_write(&self) -> Result<(Engine, Actor), CommandFailure> {
        let actor = self.actor()?;
        let (engine, _) = self.open_as(actor.clone())?;
        // Strict, unlike maintenance: a decision without an author could not be explained later.
        let stored = engine.stored_actor(&actor)?;
        Ok((engine, stored))
    }

    /// Opens the ledger for maintenance and checks, which need no identity.
    pub(crate) fn open_to_maintain(&self) -> Result<(Engine, Actor), CommandFailure> {
        let named = self.by.clone().or_else(detect_agent);
        let named = named.or_else(|| git_user(&self.start));
        // Without an identity the command runs on a build machine.
        self.open_as(named.unwrap_or_else(|| Actor::from_claim(ActorRole::Ci, "")))
    }

    fn open_as(&self, actor: Actor) -> Result<(Engine, Actor), CommandFailure> {
        let world = self.world()?;
        let mut engine = Engine::open(&self.start, &self.git, Some(actor), world)?;
        engine.set_guard(self.guard()?);
        // One command, or one call of a server, is one step for `ken undo`.
        engine.start_step();
        let stored = engine.actor();
        Ok((engine, stored))
    }

    /// Opens the ledger for reading.
    pub(crate) fn open_to_read(&self) -> Result<Engine, CommandFailure> {
        let world = self.world()?;
        // Without `--by` or `KEN_ACTOR` there is no actor: reading needs none, and asking git for
        // the user takes a process.
        let mut engine = Engine::open(&self.start, &self.git, self.by.clone(), world)?;
        engine.set_guard(self.guard()?);
        Ok(engine)
    }

    /// Opens the global ledger for reading, if the user has one.
    pub(crate) fn open_global(&self) -> Result<Option<Engine>, CommandFailure> {
        match global_root().filter(|it| it.join(".ken").is_dir()) {
            None => Ok(None),
            Some(root) => Ok(Some(Engine::open_plain(
                &root,
                self.by.clone(),
                self.world()?,
            )?)),
        }
    }

    /// Returns the location of the global ledger, which may not exist yet.
    pub(crate) fn global_home() -> Result<GlobalHome, CommandFailure> {
        let root = global_root().ok_or_else(|| {
            CommandFailure::usage("no folder for the global ledger")
                .with_hint("set KEN_GLOBAL to a folder")
        })?;
        let world = runtime()?;
        Ok(GlobalHome { root, world })
    }

    /// Returns the location of the ledgers of other organizations.
    pub(crate) fn peer_home(&self) -> Result<PeerHome, CommandFailure> {
        let root = peers_root().ok_or_else(|| {
            CommandFailure::usage("no folder for the ledgers of peers")
                .with_hint("set KEN_PEERS to a folder")
        })?;
        // Read once here, so that a wrong variable is an error of the command.
        runtime()?;
        Ok(PeerHome {
            root,
            guard: self.guard()?,
            runtime: Box::new(|| runtime().unwrap_or_else(|_| Box::new(SystemRuntime))),
            token: variable,
        })
    }

    /// Opens the ledgers of peers whose entries may be shown.
    pub(crate) fn open_peers(&self) -> Result<Vec<PeerLedger>, CommandFailure> {
        // Most users have none; then nothing is read, not even the guard's files.
        if peers_root().is_none_or(|it| !it.is_dir()) {
            return Ok(Vec::new());
        }
        Ok(self.peer_home()?.open_shown(self.by.as_ref()))
    }

    /// Returns the user's guard.
    pub(crate) fn guard(&self) -> Result<Guard, CommandFailure> {
        let Some(home) = guard_home() else {
            return Ok(Guard::default());
        };
        if self.redact {
            // Fingerprints of redacted secrets need a key, which is created on first use.
            home.ensure_key(&mut *runtime()?)?;
        }
        let mut guard = home.load()?;
        guard.redacts = self.redact;
        Ok(guard)
    }

    /// Stores the fingerprints of redacted secrets, so that they are recognized again.
    pub(crate) fn remember(&self, engine: &mut Engine) -> Result<(), CommandFailure> {
        let prints = engine.take_redacted_secrets();
        match guard_home() {
            Some(home) if !prints.is_empty() => Ok(home.store_fingerprints(&prints)?),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the explicitly named run.
    pub(crate) fn run(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// Returns the agent that reads the output; `None` if a person does.
    pub(crate) fn reader(&self) -> Option<EntryReader> {
        // An agent that claims to be a person is shown text all the same.
        let agent = self.impersonating_agent();
        let agent = agent.or_else(|| self.by.clone()).or_else(detect_agent);
        agent
            .filter(|it| !it.is_human())
            .map(|agent| self.as_reader(&agent))
    }

    /// Returns `agent` as a reader, with its run and session.
    pub(crate) fn as_reader(&self, agent: &Actor) -> EntryReader {
        EntryReader {
            agent: agent.clone(),
            run: self.run.clone(),
            session: variable("KEN_SESSION"),
        }
    }

    /// Returns the clock and random number generator; its numbers never repeat in this process.
    fn world(&self) -> Result<Box<dyn Runtime>, CommandFailure> {
        let turns = self.turns.as_ref();
        runtime_for_turn(turns.map_or(0, |it| it.fetch_add(1, Ordering::Relaxed)))
    }

    /// Returns the actor.
    fn actor(&self) -> Result<Actor, CommandFailure> {
        if let (Some(agent), Some(by), false) =
            (self.impersonating_agent(), &self.by, self.is_signed)
        {
            let message = format!("{agent} runs this command and cannot act as {by}");
            return Err(CommandFailure::refused("person_needed", message).with_hint(
                "leave out --by; a person can run the command in a terminal of their own",
            ));
        }
        // Most specific first. Git is asked only if nothing else names the actor.
        let named = self.by.clone().or_else(detect_agent);
        let named = named.or_else(|| git_user(&self.start));
        // In git, the name of the account would not match the author of any commit.
        let named = named.or_else(|| os_user().filter(|_| !is_in_git(&self.start)));
        named.ok_or_else(|| {
            let message = "git has no identity for you, and every change names its author";
            CommandFailure::refused("no_identity", message).with_hint(
                "run `git config --global user.email YOU@EXAMPLE.ORG`, or add --by human:NAME",
            )
        })
    }
}

/// Returns the session the program was started in, as far as `agent` reports it.
pub(crate) fn session_for(agent: &Actor) -> Option<String> {
    let own = SESSION_VARIABLES
        .iter()
        .find(|(name, _)| *name == agent.name());
    variable("KEN_SESSION").or_else(|| variable(own?.1))
}

/// Returns the configured token for clients of the HTTP server.
pub(crate) fn mcp_token() -> Option<String> {
    variable("KEN_MCP_TOKEN")
}

/// Returns the configured hub token.
pub(crate) fn hub_token() -> Option<String> {
    variable("KEN_HUB_TOKEN")
}

/// Prefix of the environment variables that are settings of `ken serve`.
#[cfg(feature = "hub")]
pub(crate) const SERVE_PREFIX: &str = "KEN_SERVE_";

/// Returns the configured URL of the hub's database.
#[cfg(feature = "hub")]
pub(crate) fn database_url() -> Option<String> {
    variable("KEN_DATABASE_URL")
}

/// Returns the configured file with the URL of the hub's database.
#[cfg(feature = "hub")]
pub(crate) fn database_url_file() -> Option<PathBuf> {
    variable("KEN_DATABASE_URL_FILE").map(PathBuf::from)
}

/// Returns the configuration file of `ken serve`.
#[cfg(feature = "hub")]
pub(crate) fn serve_config() -> Option<PathBuf> {
    variable("KEN_SERVE_CONFIG").map(PathBuf::from)
}

/// Returns the environment variables that are settings of `ken serve`, without empty ones.
#[cfg(feature = "hub")]
pub(crate) fn serve_variables() -> std::collections::BTreeMap<String, std::ffi::OsString> {
    let is_setting =
        |name: &str| name.starts_with(SERVE_PREFIX) || name.starts_with("KEN_DATABASE_URL");
    let all = env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    all.filter(|(name, value)| is_setting(name) && !value.is_empty())
        .collect()
}

/// Returns git's environment variables.
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

/// Returns the agent named in `KEN_ACTOR`.
pub(crate) fn named_agent() -> Option<Actor> {
    let named: Option<Actor> = variable("KEN_ACTOR")?.parse().ok();
    named.filter(|it| !it.is_human())
}

/// Returns the session named in `KEN_SESSION`.
pub(crate) fn named_session() -> Option<String> {
    variable("KEN_SESSION")
}

/// Returns the run named in `KEN_RUN`.
pub(crate) fn named_run() -> Option<String> {
    variable("KEN_RUN")
}

/// Returns the clock and random number generator.
pub(crate) fn runtime() -> Result<Box<dyn Runtime>, CommandFailure> {
    runtime_for_turn(0)
}

/// Returns the clock and random number generator of one of several turns.
fn runtime_for_turn(turn: u64) -> Result<Box<dyn Runtime>, CommandFailure> {
    let (now, seed) = (variable("KEN_NOW"), variable("KEN_SEED"));
    let (Some(now), Some(seed)) = (&now, &seed) else {
        // One without the other would mix real and fixed values in the same ids.
        if now.is_some() || seed.is_some() {
            return Err(CommandFailure::usage(
                "KEN_NOW and KEN_SEED are for tests and must be set together",
            ));
        }
        return Ok(Box::new(SystemRuntime));
    };
    let now: Timestamp = now
        .parse()
        .map_err(|e| CommandFailure::usage(format!("KEN_NOW: {e}")))?;
    let seed: u64 = seed
        .parse()
        .map_err(|_| CommandFailure::usage("KEN_SEED is not a whole number"))?;
    // The high bits, so that turns do not collide with seeds counted up from run to run.
    let turn_seed = seed.wrapping_add(turn << 32);
    Ok(Box::new(FixedRuntime::new(now, turn_seed)))
}

/// Returns the agent that started this process, if any.
fn detect_agent() -> Option<Actor> {
    // Known variables first: `AI_AGENT` contains an arbitrary claim.
    let known = AGENT_VARIABLES
        .iter()
        .find(|(name, _)| variable(name).is_some());
    let name = match known {
        Some((_, agent)) => (*agent).to_owned(),
        None => variable(AGENT_NAME_VARIABLE)?,
    };
    Some(Actor::from_claim(ActorRole::Agent, &name))
}

/// Returns the user configured in git.
fn git_user(start: &Path) -> Option<Actor> {
    let Some(email) = git_setting(start, "user.email") else {
        return git_variables_user();
    };
    (!email.is_empty()).then(|| Actor::from_claim(ActorRole::Human, &email))
}

/// Returns a value of git's configuration; `None` if it is not set.
fn git_setting(start: &Path, key: &str) -> Option<String> {
    let mut git = Command::new("git");
    git.current_dir(start)
        .args(["config", key])
        .stdin(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the user in the variables that git reads.
fn git_variables_user() -> Option<Actor> {
    let email = variable("GIT_AUTHOR_EMAIL").or_else(|| variable("EMAIL"))?;
    Some(Actor::from_claim(ActorRole::Human, &email))
}

/// Returns whether the folder is in a git repository. Starts a process, so only failures ask.
fn is_in_git(start: &Path) -> bool {
    let mut git = Command::new("git");
    git.current_dir(start)
        .args(["rev-parse", "--git-dir"])
        .stdin(Stdio::null());
    git.output().is_ok_and(|output| output.status.success())
}

/// Returns the folders of the user's guard, or `None` if the user has no home.
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

/// Returns the folders of conversations, or a failure that says how to name one.
pub(crate) fn require_conversation_home() -> Result<ConversationHome, CommandFailure> {
    conversation_home().ok_or_else(|| {
        CommandFailure::usage("no folder for the index of conversations")
            .with_hint("set KEN_CONVERSATIONS to a folder")
    })
}

/// Returns the folders of conversations, or `None` if the user has no home.
pub(crate) fn conversation_home() -> Option<ConversationHome> {
    let data = match variable("KEN_CONVERSATIONS") {
        Some(named) => std::path::absolute(named).ok()?,
        None => user_folder("XDG_DATA_HOME", ".local/share")?.join("conversations"),
    };
    let named = |name: &str| {
        let path = variable(name).map(PathBuf::from);
        path.filter(|it| it.is_absolute())
    };
    let below = |folder: &str| home_folder().map(|it| it.join(folder));
    let gemini = named("GEMINI_CLI_HOME").or_else(home_folder);
    // opencode follows the XDG specification on every system.
    let shared = named("XDG_DATA_HOME").or_else(|| below(".local/share"));
    Some(ConversationHome {
        data,
        claude: named("CLAUDE_CONFIG_DIR").or_else(|| below(".claude")),
        codex: named("CODEX_HOME").or_else(|| below(".codex")),
        gemini: gemini.map(|it| it.join(".gemini")),
        opencode: shared.map(|it| it.join("opencode")),
    })
}

/// Returns the folder of the global ledger, or `None` if the user has no home.
fn global_root() -> Option<PathBuf> {
    match variable("KEN_GLOBAL") {
        Some(named) => std::path::absolute(named).ok(),
        None => Some(user_folder("XDG_DATA_HOME", ".local/share")?.join("global")),
    }
}

/// Returns whether this user has a peer, without reading any: a page asks for every request.
pub(crate) fn has_peers() -> bool {
    let folders = peers_root().and_then(|it| std::fs::read_dir(it).ok());
    folders.is_some_and(|mut all| all.any(|it| it.is_ok_and(|it| it.path().is_dir())))
}

/// Returns the folder of the ledgers of other organizations, or `None` if the user has no home.
fn peers_root() -> Option<PathBuf> {
    match variable("KEN_PEERS") {
        Some(named) => std::path::absolute(named).ok(),
        None => Some(user_folder("XDG_DATA_HOME", ".local/share")?.join("peers")),
    }
}

/// Returns the folder with the LLM's configuration. It is never inside a repository, which could
/// otherwise make Ken run a program.
pub(crate) fn llm_home() -> Result<LlmHome, CommandFailure> {
    let named = variable("KEN_LLM").and_then(|it| std::path::absolute(it).ok());
    let configured = named.or_else(|| user_folder("XDG_CONFIG_HOME", ".config"));
    let folder = configured.ok_or_else(|| {
        CommandFailure::usage("no folder for the LLM configuration")
            .with_hint("set KEN_LLM to a folder")
    })?;
    let variable = |name: &str| env::var_os(name).filter(|it| !it.is_empty());
    Ok(LlmHome { folder, variable })
}

/// Returns the folder of the forager's configuration. It is never inside a repository, which could
/// otherwise allow hosts.
pub(crate) fn forage_home() -> Result<ForageHome, CommandFailure> {
    let named = variable("KEN_FORAGE").and_then(|it| std::path::absolute(it).ok());
    let configured = named.or_else(|| user_folder("XDG_CONFIG_HOME", ".config"));
    let folder = configured.ok_or_else(|| {
        CommandFailure::usage("no folder for the forager's configuration")
            .with_hint("set KEN_FORAGE to a folder")
    })?;
    Ok(ForageHome { folder })
}

/// Returns where the forager's settings are, for commands that may forage unasked; `None` without a
/// home folder.
pub(crate) fn forage_place() -> Option<ForagePlace> {
    let home = forage_home().ok()?;
    let folders = package_folders();
    Some(ForagePlace { home, folders })
}

/// Returns the folders in which this machine's package managers unpack packages.
pub(crate) fn package_folders() -> PackageFolders {
    let home = home_folder();
    let below = |name: &str| home.as_ref().map(|it| it.join(name));
    let named = |name: &str| variable(name).map(PathBuf::from);
    let go_path = named("GOPATH").or_else(|| below("go"));
    PackageFolders {
        cargo_home: named("CARGO_HOME").or_else(|| below(".cargo")),
        go_modules: named("GOMODCACHE").or_else(|| go_path.map(|it| it.join("pkg/mod"))),
        python: named("VIRTUAL_ENV").into_iter().collect(),
    }
}

/// Returns Ken's folder in the folder named by a variable, or else in `below` of the user's home.
fn user_folder(name: &str, below: &str) -> Option<PathBuf> {
    // The XDG specification requires that relative paths are ignored.
    let named = variable(name)
        .map(PathBuf::from)
        .filter(|it| it.is_absolute());
    let home = || home_folder().map(|home| home.join(below));
    Some(named.or_else(home)?.join("ken"))
}

/// Returns the user's home folder.
pub(crate) fn home_folder() -> Option<PathBuf> {
    home_on(env::consts::OS, variable)
}

/// Windows sets `USERPROFILE` instead of `HOME`, which only some of its shells set.
fn home_on(os: &str, variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let profile = || (os == "windows").then(|| variable("USERPROFILE")).flatten();
    variable("HOME").or_else(profile).map(PathBuf::from)
}

/// Returns Ken's folders outside any repository, whether they exist or not.
pub(crate) fn user_folders() -> Vec<PathBuf> {
    let config = user_folder("XDG_CONFIG_HOME", ".config");
    let data = user_folder("XDG_DATA_HOME", ".local/share");
    let models = models_folder().ok();
    config.into_iter().chain(data).chain(models).collect()
}

/// Returns the configured download source of models.
pub(crate) fn model_hub() -> Option<String> {
    variable("KEN_MODEL_HUB")
}

/// Returns the folder of models, shared by all repositories of the user.
pub(crate) fn models_folder() -> Result<PathBuf, CommandFailure> {
    // The XDG specification requires that relative paths are ignored.
    let path = |name: &str| {
        variable(name)
            .map(PathBuf::from)
            .filter(|it| it.is_absolute())
    };
    let home = |below: &str| {
        home_folder()
            .filter(|it| it.is_absolute())
            .map(|it| it.join(below))
    };
    let cache = match env::consts::OS {
        // Models are large and can be downloaded again, so they belong in the cache folder.
        "windows" => path("LOCALAPPDATA"),
        "macos" => home("Library/Caches"),
        _ => path("XDG_CACHE_HOME").or_else(|| home(".cache")),
    };
    let models = variable("KEN_MODELS")
        .and_then(|it| std::path::absolute(it).ok())
        .or_else(|| Some(cache?.join("ken").join("models")));
    models.ok_or_else(|| {
        CommandFailure::usage("no cache folder for models").with_hint("set KEN_MODELS to a folder")
    })
}

fn os_user() -> Option<Actor> {
    let name = variable("USER").or_else(|| variable("USERNAME"))?;
    Some(Actor::from_claim(ActorRole::Human, &name))
}

pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_has_a_home_without_the_variable_home() {
        let on = |os: &str, set: &[(&str, &str)]| {
            let value = |name: &str| {
                let found = set.iter().find(|(it, _)| *it == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            home_on(os, value)
        };
        let profile = ("USERPROFILE", r"C:\Users\ada");
        let home = ("HOME", "/home/ada");
        assert_eq!(on("windows", &[profile]), Some(r"C:\Users\ada".into()));
        assert_eq!(on("windows", &[profile, home]), Some("/home/ada".into()));
        assert_eq!(on("linux", &[profile]), None);
        assert_eq!(on("macos", &[home]), Some("/home/ada".into()));
    }
}
