//! Detection of Ken in an agent's configuration, regardless of the author. Finds duplicate setups.

use super::block::BOM;
use super::json::{JsonDocument, JsonLookup};
use super::members::runs_hook;
use super::servers::SERVER_NAME;

/// The parts of Ken a configuration contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DetectedParts {
    /// An entry starts Ken's MCP server.
    pub server: bool,
    /// A hook runs Ken.
    pub hooks: bool,
    /// A plugin of Ken is enabled.
    pub plugin: bool,
}

/// Keys under which agents list MCP servers.
const SERVER_LIST_KEYS: [&str; 4] = ["mcpServers", "mcp", "context_servers", "mcp_servers"];

/// Reports the parts of Ken in a configuration; reports none if the text cannot be parsed.
#[must_use]
pub fn detect_parts(path: &str, text: &str) -> DetectedParts {
    let text = text.trim_start_matches(BOM);
    if path.ends_with(".toml") {
        return detect_parts_in_toml(text);
    }
    let Ok(document) = JsonDocument::parse(text) else {
        return DetectedParts::default();
    };
    let is_there = |path: &[&str]| !matches!(document.at(path), JsonLookup::Nothing);
    let hooks = match document.at(&["hooks"]) {
        JsonLookup::Node(node) => runs_hook(&node.value),
        JsonLookup::Nothing | JsonLookup::Twice(_) => false,
    };
    let plugin = match document.at(&["enabledPlugins"]) {
        // Claude Code keys are `plugin@marketplace`; the marketplace does not matter here.
        JsonLookup::Node(node) => node.items.iter().any(|item| {
            let name = item.key.as_deref().unwrap_or_default();
            let is_on = item.node.value == serde_json::Value::Bool(true);
            is_on && name.split('@').next() == Some(SERVER_NAME)
        }),
        JsonLookup::Nothing | JsonLookup::Twice(_) => false,
    };
    DetectedParts {
        // All keys are tried: the text does not show which agent reads it.
        server: SERVER_LIST_KEYS
            .iter()
            .any(|above| is_there(&[above, SERVER_NAME])),
        hooks,
        plugin,
    }
}

fn detect_parts_in_toml(text: &str) -> DetectedParts {
    let Ok(parsed) = text.parse::<toml_edit::DocumentMut>() else {
        return DetectedParts::default();
    };
    let servers = parsed.get("mcp_servers");
    DetectedParts {
        server: servers.is_some_and(|it| it.get(SERVER_NAME).is_some()),
        ..DetectedParts::default()
    }
}
