//! Which agents somebody uses: by what lies in the repository, in the home and on PATH.

use std::env;
use std::path::{Path, PathBuf};

use ken_agents::Agent;

/// Where an agent is found.
#[derive(Clone, Copy, Debug)]
struct Signs {
    /// In the repository.
    here: &'static [&'static str],
    /// In the home.
    home: &'static [&'static str],
    programs: &'static [&'static str],
}

fn signs(agent: Agent) -> Signs {
    let (here, home, programs): (&[&str], &[&str], &[&str]) = match agent {
        Agent::ClaudeCode => (&[".claude", "CLAUDE.md"], &[".claude"], &["claude"]),
        Agent::Codex => (&[".codex"], &[".codex"], &["codex"]),
        Agent::Cursor => (
            &[".cursor", ".cursorrules"],
            &[".cursor"],
            &["cursor", "cursor-agent"],
        ),
        Agent::Copilot => (
            &[".github/copilot-instructions.md", ".github/hooks"],
            &[".copilot"],
            &["copilot"],
        ),
        Agent::Gemini => (&[".gemini", "GEMINI.md"], &[".gemini"], &["gemini", "agy"]),
        Agent::Opencode => (
            &[".opencode", "opencode.json", "opencode.jsonc"],
            &[".config/opencode"],
            &["opencode"],
        ),
        Agent::Zed => (&[".zed"], &[".config/zed"], &["zed", "zeditor"]),
    };
    Signs {
        here,
        home,
        programs,
    }
}

/// Returns the agents that left something in the repository.
pub(crate) fn used_in(root: &Path) -> Vec<Agent> {
    let is_used = |agent: &Agent| signs(*agent).here.iter().any(|it| root.join(it).exists());
    Agent::ALL.into_iter().filter(is_used).collect()
}

/// Returns every agent that is found at all.
pub(crate) fn found(root: &Path) -> Vec<Agent> {
    let home = home();
    let used = used_in(root);
    let is_found = |agent: &Agent| {
        let signs = signs(*agent);
        let in_home = |it: &&str| home.as_ref().is_some_and(|home| home.join(it).is_dir());
        used.contains(agent)
            || signs.home.iter().any(in_home)
            || signs.programs.iter().any(|it| program(it).is_some())
    };
    Agent::ALL.into_iter().filter(is_found).collect()
}

/// Returns the user's home.
pub(super) fn home() -> Option<PathBuf> {
    let home = env::var_os("HOME").filter(|it| !it.is_empty());
    home.map(PathBuf::from).filter(|it| it.is_absolute())
}

/// Returns the program PATH gives that name to.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    let mut all = env::split_paths(&path).map(|folder| folder.join(&name));
    all.find(|it| is_program(it))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let any_execute = 0o111;
    path.metadata()
        .is_ok_and(|it| it.is_file() && it.permissions().mode() & any_execute != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
