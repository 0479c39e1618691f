//! Checks of `ken doctor` about agents: stale, duplicate and incomplete configuration, and the
//! `ken` program that agents start.

use std::env;
use std::path::{Path, PathBuf};

use ken_agents::CodingAgent;
use ken_agents::setup::PartKind;
use ken_agents::setup::traces::{DetectedParts, detect_parts};
use ken_engine::ledger_maintenance::{DoctorCheck, DoctorStatus};
use ken_engine::root_files::{FILE_BYTES_MAX, RootFiles};

use super::plan::{self, Plan, Step};
use super::{detect, open, output};
use crate::commands::Session;
use crate::failure::CommandFailure;

/// Returns the checks; none if no agent's configuration here contains Ken.
pub(in crate::commands) fn checks(
    session: &Session<'_>,
) -> Result<Vec<DoctorCheck>, CommandFailure> {
    let files = open(session)?;
    let agents = plan::set_up(&plan::records(&files)?);
    let configurations: Vec<(CodingAgent, Vec<Found>)> = CodingAgent::ALL
        .into_iter()
        .map(|agent| (agent, configurations(&files, agent)))
        .filter(|(_, found)| found.iter().any(|it| it.is_project && it.has_any()))
        .collect();
    if agents.is_empty() && configurations.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    if !agents.is_empty() {
        all.push(standing(&Plan::install(files, &agents)?, &agents));
    }
    all.extend(
        configurations
            .iter()
            .filter_map(|(agent, found)| doubled(*agent, found)),
    );
    all.extend(
        configurations
            .iter()
            .filter_map(|(agent, found)| half(*agent, found)),
    );
    all.push(program());
    Ok(all)
}

fn check(
    name: &'static str,
    status: DoctorStatus,
    message: String,
    fix: Option<&str>,
) -> DoctorCheck {
    DoctorCheck {
        name,
        status,
        message,
        fix: fix.map(str::to_owned),
    }
}

/// Returns the check of the files that setup wrote.
fn standing(plan: &Plan, agents: &[CodingAgent]) -> DoctorCheck {
    let bad: Vec<&Step> = plan.steps.iter().filter(|it| !it.is_fine()).collect();
    if bad.is_empty() {
        let message = format!("set up for {}", output::names(agents));
        return check("agents", DoctorStatus::Ok, message, None);
    }
    let words = bad.iter().map(|step| {
        let pieces = &step.change.pieces;
        let bad = pieces
            .iter()
            .find(|it| it.standing.is_stuck() || it.standing.is_due());
        let word = bad.map_or("refused", |it| it.standing.word());
        format!("{} ({word})", step.target.path)
    });
    let message = words.collect::<Vec<_>>().join(", ");
    check(
        "agents",
        DoctorStatus::Warning,
        message,
        Some("ken setup --check"),
    )
}

/// A configuration file and the parts of Ken in it.
#[derive(Debug)]
struct Found {
    shown: String,
    is_project: bool,
    traces: DetectedParts,
}

impl Found {
    fn has_any(&self) -> bool {
        self.traces.server || self.traces.hooks || self.traces.plugin
    }
}

/// Returns the configuration files of an agent, in the repository and in the user's home.
fn configurations(files: &RootFiles, agent: CodingAgent) -> Vec<Found> {
    let here: Vec<&str> = match agent {
        CodingAgent::ClaudeCode => vec![
            ".mcp.json",
            ".claude/settings.json",
            ".claude/settings.local.json",
        ],
        CodingAgent::Codex => vec![".codex/config.toml", ".codex/hooks.json"],
        CodingAgent::Cursor => vec![".cursor/mcp.json", ".cursor/hooks.json"],
        CodingAgent::Copilot => vec![".github/hooks/ken.json"],
        CodingAgent::Gemini => vec![".gemini/settings.json"],
        CodingAgent::Opencode => vec!["opencode.json", "opencode.jsonc"],
        CodingAgent::Zed => vec![".zed/settings.json"],
    };
    let of_user: &[&str] = match agent {
        CodingAgent::ClaudeCode => &[".claude.json", ".claude/settings.json"],
        CodingAgent::Codex => &[".codex/config.toml", ".codex/hooks.json"],
        CodingAgent::Cursor => &[".cursor/mcp.json", ".cursor/hooks.json"],
        CodingAgent::Copilot => &[".copilot/mcp-config.json"],
        CodingAgent::Gemini => &[".gemini/settings.json"],
        CodingAgent::Opencode => &[
            ".config/opencode/opencode.json",
            ".config/opencode/opencode.jsonc",
        ],
        CodingAgent::Zed => &[".config/zed/settings.json"],
    };
    let mut found = Vec::new();
    for path in here {
        if let Ok(Some(text)) = files.read(path) {
            found.push(Found {
                shown: path.to_owned(),
                is_project: true,
                traces: detect_parts(path, &text),
            });
        }
    }
    let home = detect::home();
    for path in of_user {
        let Some(text) = home.as_ref().and_then(|home| settings(&home.join(path))) else {
            continue;
        };
        found.push(Found {
            shown: format!("~/{path}"),
            is_project: false,
            traces: detect_parts(path, &text),
        });
    }
    found
}

/// Reads a user's settings file, unless it exceeds the size limit.
fn settings(path: &Path) -> Option<String> {
    let is_small = path
        .metadata()
        .is_ok_and(|it| it.is_file() && it.len() <= FILE_BYTES_MAX);
    is_small
        .then(|| std::fs::read_to_string(path).ok())
        .flatten()
}

/// Returns a warning if two files that an agent reads contain the same part.
fn doubled(agent: CodingAgent, found: &[Found]) -> Option<DoctorCheck> {
    let places = |has: fn(&DetectedParts) -> bool| -> Vec<String> {
        let all = found.iter().filter(|it| has(&it.traces));
        all.map(|it| it.shown.clone()).collect()
    };
    let plugins = places(|it| it.plugin);
    let plugin = plugins
        .first()
        .map(|it| format!("the plugin enabled in {it}"));
    let part = |what: PartKind, mut places: Vec<String>| {
        places.extend(plugin.clone());
        let is_doubled = places.len() > 1;
        is_doubled.then(|| format!("{} in {}", what.words(), places.join(" and ")))
    };
    let parts = [
        part(PartKind::Server, places(|it| it.server)),
        part(PartKind::Hooks, places(|it| it.hooks)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return None;
    }
    let message = format!("{} has Ken's {}", agent.title(), parts.join(", and "));
    let fix = "remove one; `ken setup --remove` removes those in the repository";
    Some(check("doubled", DoctorStatus::Warning, message, Some(fix)))
}

/// Returns a warning if an agent has the server without the hooks, or the reverse.
fn half(agent: CodingAgent, found: &[Found]) -> Option<DoctorCheck> {
    let has_plugin = found.iter().any(|it| it.traces.plugin);
    let server = has_plugin || found.iter().any(|it| it.traces.server);
    let hooks = has_plugin || found.iter().any(|it| it.traces.hooks);
    let missing = match agent {
        // OpenCode's hooks are a plugin, Copilot's server is in another agent's file, and Zed has
        // no hooks.
        CodingAgent::Opencode | CodingAgent::Copilot | CodingAgent::Zed => return None,
        CodingAgent::ClaudeCode
        | CodingAgent::Codex
        | CodingAgent::Cursor
        | CodingAgent::Gemini => match (server, hooks) {
            (true, false) => {
                "the server but not the hooks: it gets no automatic context, and its runs are not witnessed"
            }
            (false, true) => "the hooks but not the server: it gets context, but cannot query Ken",
            (true, true) | (false, false) => return None,
        },
    };
    let message = format!("{} has {missing}", agent.title());
    let fix = format!("ken setup {}", agent.name());
    Some(check("halves", DoctorStatus::Warning, message, Some(&fix)))
}

/// Returns the check of the `ken` program that agents start.
fn program() -> DoctorCheck {
    let Some(found) = detect::program("ken") else {
        let message = "agents start `ken`, which is not on PATH".to_owned();
        let fix = "add the folder of this program to PATH";
        return check("path", DoctorStatus::Warning, message, Some(fix));
    };
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let shown = found.display().to_string();
    let own = env::current_exe().map(real).ok();
    if own.is_some_and(|own| own != real(found)) {
        let message = format!("agents start another ken: {shown}");
        return check("path", DoctorStatus::Warning, message, Some("which -a ken"));
    }
    check(
        "path",
        DoctorStatus::Ok,
        format!("agents start {shown}"),
        None,
    )
}
