//! What `ken doctor` says about agents: stale or doubled parts, halves without the other, and which `ken` they would start.

use std::env;
use std::path::{Path, PathBuf};

use ken_agents::Agent;
use ken_agents::setup::What;
use ken_agents::setup::traces::{Traces, traces};
use ken_engine::root_files::{FILE_BYTES_MAX, RootFiles};
use ken_engine::upkeep::{Check, Health};

use super::plan::{self, Plan, Step};
use super::{detect, open, shown};
use crate::commands::Session;
use crate::failure::Failure;

/// Returns the findings; none where nothing of Ken is in any agent's configuration here.
pub(in crate::commands) fn checks(session: &Session<'_>) -> Result<Vec<Check>, Failure> {
    let files = open(session)?;
    let agents = plan::set_up(&plan::records(&files)?);
    let configurations: Vec<(Agent, Vec<Found>)> = Agent::ALL
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

fn check(name: &'static str, status: Health, message: String, fix: Option<&str>) -> Check {
    Check {
        name,
        status,
        message,
        fix: fix.map(str::to_owned),
    }
}

/// Says how what setup wrote stands.
fn standing(plan: &Plan, agents: &[Agent]) -> Check {
    let bad: Vec<&Step> = plan.steps.iter().filter(|it| !it.is_fine()).collect();
    if bad.is_empty() {
        let message = format!("set up for {}", shown::names(agents));
        return check("agents", Health::Ok, message, None);
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
        Health::Warning,
        message,
        Some("ken setup --check"),
    )
}

/// A configuration and what of Ken is in it.
#[derive(Debug)]
struct Found {
    shown: String,
    is_project: bool,
    traces: Traces,
}

impl Found {
    fn has_any(&self) -> bool {
        self.traces.server || self.traces.hooks || self.traces.plugin
    }
}

/// Returns an agent's configurations, of the repository and of the user.
fn configurations(files: &RootFiles, agent: Agent) -> Vec<Found> {
    let here: Vec<&str> = match agent {
        Agent::ClaudeCode => vec![
            ".mcp.json",
            ".claude/settings.json",
            ".claude/settings.local.json",
        ],
        Agent::Codex => vec![".codex/config.toml", ".codex/hooks.json"],
        Agent::Cursor => vec![".cursor/mcp.json", ".cursor/hooks.json"],
        Agent::Copilot => vec![".github/hooks/ken.json"],
        Agent::Gemini => vec![".gemini/settings.json"],
        Agent::Opencode => vec!["opencode.json", "opencode.jsonc"],
        Agent::Zed => vec![".zed/settings.json"],
    };
    let of_user: &[&str] = match agent {
        Agent::ClaudeCode => &[".claude.json", ".claude/settings.json"],
        Agent::Codex => &[".codex/config.toml", ".codex/hooks.json"],
        Agent::Cursor => &[".cursor/mcp.json", ".cursor/hooks.json"],
        Agent::Copilot => &[".copilot/mcp-config.json"],
        Agent::Gemini => &[".gemini/settings.json"],
        Agent::Opencode => &[
            ".config/opencode/opencode.json",
            ".config/opencode/opencode.jsonc",
        ],
        Agent::Zed => &[".config/zed/settings.json"],
    };
    let mut found = Vec::new();
    for path in here {
        if let Ok(Some(text)) = files.read(path) {
            found.push(Found {
                shown: path.to_owned(),
                is_project: true,
                traces: traces(path, &text),
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
            traces: traces(path, &text),
        });
    }
    found
}

/// Reads a user's settings, unless they are larger than any.
fn settings(path: &Path) -> Option<String> {
    let is_small = path
        .metadata()
        .is_ok_and(|it| it.is_file() && it.len() <= FILE_BYTES_MAX);
    is_small
        .then(|| std::fs::read_to_string(path).ok())
        .flatten()
}

/// Says where the same part is in two places an agent reads.
fn doubled(agent: Agent, found: &[Found]) -> Option<Check> {
    let places = |has: fn(&Traces) -> bool| -> Vec<String> {
        let all = found.iter().filter(|it| has(&it.traces));
        all.map(|it| it.shown.clone()).collect()
    };
    let plugins = places(|it| it.plugin);
    let plugin = plugins
        .first()
        .map(|it| format!("the plugin turned on in {it}"));
    let part = |what: What, mut places: Vec<String>| {
        places.extend(plugin.clone());
        let is_doubled = 1 < places.len();
        is_doubled.then(|| format!("{} in {}", what.words(), places.join(" and ")))
    };
    let parts = [
        part(What::Server, places(|it| it.server)),
        part(What::Hooks, places(|it| it.hooks)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return None;
    }
    let message = format!("{} has Ken's {}", agent.title(), parts.join(", and "));
    let fix = "take one out; `ken setup --remove` takes out what is in the repository";
    Some(check("doubled", Health::Warning, message, Some(fix)))
}

/// Says where an agent has the server without the hooks, or the other way round.
fn half(agent: Agent, found: &[Found]) -> Option<Check> {
    let has_plugin = found.iter().any(|it| it.traces.plugin);
    let server = has_plugin || found.iter().any(|it| it.traces.server);
    let hooks = has_plugin || found.iter().any(|it| it.traces.hooks);
    let missing = match agent {
        // The hooks of one are a plugin, the server of the other is another agent's file; the last has no hooks.
        Agent::Opencode | Agent::Copilot | Agent::Zed => return None,
        Agent::ClaudeCode | Agent::Codex | Agent::Cursor | Agent::Gemini => match (server, hooks) {
            (true, false) => {
                "the server but not the hooks: nothing is told by itself, and no run is witnessed"
            }
            (false, true) => "the hooks but not the server: it is told, and cannot ask",
            (true, true) | (false, false) => return None,
        },
    };
    let message = format!("{} has {missing}", agent.title());
    let fix = format!("ken setup {}", agent.name());
    Some(check("halves", Health::Warning, message, Some(&fix)))
}

/// Says which `ken` an agent would start.
fn program() -> Check {
    let Some(found) = detect::program("ken") else {
        let message = "agents start `ken`, and PATH has none".to_owned();
        let fix = "put the folder of this program on PATH";
        return check("path", Health::Warning, message, Some(fix));
    };
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let shown = found.display().to_string();
    let own = env::current_exe().map(real).ok();
    if own.is_some_and(|own| own != real(found)) {
        let message = format!("agents start another ken: {shown}");
        return check("path", Health::Warning, message, Some("which -a ken"));
    }
    check("path", Health::Ok, format!("agents start {shown}"), None)
}
