//! Signs of Ken in an agent's configuration, whoever wrote them: for telling where the same thing is set up twice.

use super::block::BOM;
use super::json::{At, Document};
use super::members::runs_hook;
use super::servers::NAME;

/// What a configuration has of Ken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// It starts Ken's server.
    pub server: bool,
    /// It runs Ken's hooks.
    pub hooks: bool,
    /// It has a plugin of Ken's turned on.
    pub plugin: bool,
}

/// Names under which agents list servers.
const SERVERS: [&str; 4] = ["mcpServers", "mcp", "context_servers", "mcp_servers"];

/// Says what a configuration has of Ken; nothing where it cannot be read.
#[must_use]
pub fn traces(path: &str, text: &str) -> Traces {
    let text = text.trim_start_matches(BOM);
    if path.ends_with(".toml") {
        return toml(text);
    }
    let Ok(document) = Document::parse(text) else {
        return Traces::default();
    };
    let is_there = |path: &[&str]| !matches!(document.at(path), At::Nothing);
    let hooks = match document.at(&["hooks"]) {
        At::Node(node) => runs_hook(&node.value),
        At::Nothing | At::Twice(_) => false,
    };
    let plugin = match document.at(&["enabledPlugins"]) {
        At::Node(node) => node.items.iter().any(|item| {
            let name = item.key.as_deref().unwrap_or_default();
            let is_on = item.node.value == serde_json::Value::Bool(true);
            is_on && name.split('@').next() == Some(NAME)
        }),
        At::Nothing | At::Twice(_) => false,
    };
    Traces {
        server: SERVERS.iter().any(|above| is_there(&[above, NAME])),
        hooks,
        plugin,
    }
}

fn toml(text: &str) -> Traces {
    let Ok(parsed) = text.parse::<toml_edit::DocumentMut>() else {
        return Traces::default();
    };
    let servers = parsed.get("mcp_servers");
    Traces {
        server: servers.is_some_and(|it| it.get(NAME).is_some()),
        ..Traces::default()
    }
}
