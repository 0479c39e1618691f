//! Detection of agents by files in the repository and the user's home, and by programs on PATH.

use std::env;
use std::path::{Path, PathBuf};

use ken_agents::CodingAgent;

use crate::world;

/// Paths that indicate an agent.
#[derive(Clone, Copy, Debug)]
struct Signs {
    /// Paths in the repository.
    here: &'static [&'static str],
    /// Paths in the user's home.
    home: &'static [&'static str],
    programs: &'static [&'static str],
}

fn signs(agent: CodingAgent) -> Signs {
    let (here, home, programs): (&[&str], &[&str], &[&str]) = match agent {
        CodingAgent::ClaudeCode => (&[".claude", "CLAUDE.md"], &[".claude"], &["claude"]),
        CodingAgent::Codex => (&[".codex"], &[".codex"], &["codex"]),
        CodingAgent::Cursor => (
            &[".cursor", ".cursorrules"],
            &[".cursor"],
            &["cursor", "cursor-agent"],
        ),
        CodingAgent::Copilot => (
            &[".github/copilot-instructions.md", ".github/hooks"],
            &[".copilot"],
            &["copilot"],
        ),
        CodingAgent::Gemini => (&[".gemini", "GEMINI.md"], &[".gemini"], &["gemini", "agy"]),
        CodingAgent::Opencode => (
            &[".opencode", "opencode.json", "opencode.jsonc"],
            &[".config/opencode"],
            &["opencode"],
        ),
        CodingAgent::Zed => (&[".zed"], &[".config/zed"], &["zed", "zeditor"]),
    };
    Signs {
        here,
        home,
        programs,
    }
}

/// Returns the agents with files in the repository.
pub(crate) fn used_in(root: &Path) -> Vec<CodingAgent> {
    let is_used = |agent: &CodingAgent| signs(*agent).here.iter().any(|it| root.join(it).exists());
    CodingAgent::ALL.into_iter().filter(is_used).collect()
}

/// Returns every detected agent.
pub(crate) fn found(root: &Path) -> Vec<CodingAgent> {
    let home = home();
    let used = used_in(root);
    let is_found = |agent: &CodingAgent| {
        let signs = signs(*agent);
        let in_home = |it: &&str| home.as_ref().is_some_and(|home| home.join(it).is_dir());
        used.contains(agent)
            || signs.home.iter().any(in_home)
            || signs.programs.iter().any(|it| program(it).is_some())
    };
    CodingAgent::ALL.into_iter().filter(is_found).collect()
}

/// Returns the user's home folder.
pub(super) fn home() -> Option<PathBuf> {
    world::home_folder().filter(|it| it.is_absolute())
}

/// Returns the program with that name on PATH.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let names = file_names(env::consts::OS, name);
    let mut all =
        env::split_paths(&path).flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    all.find(|it| is_program(it))
}

/// Returns the file names of a program. On Windows, npm installs scripts with the extension `cmd`.
fn file_names(os: &str, name: &str) -> Vec<String> {
    if os == "windows" {
        vec![format!("{name}.exe"), format!("{name}.cmd")]
    } else {
        vec![name.to_owned()]
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_npm_is_found_on_windows() {
        assert_eq!(file_names("windows", "codex"), ["codex.exe", "codex.cmd"]);
        assert_eq!(file_names("macos", "codex"), ["codex"]);
    }
}
