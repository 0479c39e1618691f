//! Plugin packages: a Claude Code marketplace with one plugin, and the MCP registry entry.
//!
//! The registry entry names the npm and the Python package of `packaging/release.toml`. Nothing is
//! published from here.

use super::json::{JsonText, json_array, json_object, json_string};
use super::packages::{MCP_NAME, NPM_PACKAGE, PYTHON_PACKAGE};
use super::target::PartLayout;
use super::{targets, texts};
use crate::CodingAgent;

/// A file of an exported plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFile {
    /// The path, relative to the export folder.
    pub path: String,
    pub text: String,
}

const DESCRIPTION: &str =
    "Knowledge engine for coding agents: stores knowledge and checks it against the code";
/// Maximum characters of a description in the MCP registry.
pub const REGISTRY_DESCRIPTION_CHARS_MAX: usize = 100;
const PLUGIN_FOLDER: &str = "plugins/ken";
const REGISTRY_SCHEMA: &str =
    "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// Returns a Claude Code marketplace with one plugin that contains server, hooks and skill.
#[must_use]
pub fn claude_code_files() -> Vec<PluginFile> {
    let version = env!("CARGO_PKG_VERSION");
    let marketplace = json_object([
        ("name", json_string("ken")),
        ("owner", json_object([("name", json_string("Ken"))])),
        (
            "plugins",
            json_array([json_object([
                ("name", json_string("ken")),
                ("source", json_string(format!("./{PLUGIN_FOLDER}"))),
                ("description", json_string(DESCRIPTION)),
            ])]),
        ),
    ]);
    let manifest = json_object([
        ("name", json_string("ken")),
        ("version", json_string(version)),
        ("description", json_string(DESCRIPTION)),
        ("license", json_string(env!("CARGO_PKG_LICENSE"))),
        ("homepage", json_string(env!("CARGO_PKG_REPOSITORY"))),
        ("repository", json_string(env!("CARGO_PKG_REPOSITORY"))),
    ]);
    let inside = |path: &str| format!("{PLUGIN_FOLDER}/{path}");
    vec![
        json_file(".claude-plugin/marketplace.json", &marketplace),
        json_file(&inside(".claude-plugin/plugin.json"), &manifest),
        settings_file(&inside("hooks/hooks.json"), ".claude/settings.json"),
        settings_file(&inside(".mcp.json"), ".mcp.json"),
        PluginFile {
            path: inside("skills/ken/SKILL.md"),
            text: texts::SKILL.to_owned(),
        },
    ]
}

/// Returns the MCP registry entry with the packages that contain the server.
#[must_use]
pub fn registry_file() -> PluginFile {
    let repository = env!("CARGO_PKG_REPOSITORY");
    let server = json_object([
        ("$schema", json_string(REGISTRY_SCHEMA)),
        ("name", json_string(MCP_NAME)),
        ("title", json_string("Ken")),
        ("description", json_string(DESCRIPTION)),
        (
            "repository",
            json_object([
                ("url", json_string(repository)),
                ("source", json_string("github")),
            ]),
        ),
        ("version", json_string(env!("CARGO_PKG_VERSION"))),
        (
            "packages",
            json_array([
                registry_package("npm", NPM_PACKAGE),
                registry_package("pypi", PYTHON_PACKAGE),
            ]),
        ),
    ]);
    json_file("server.json", &server)
}

/// Returns a package of the registry entry that is started as `PACKAGE mcp`.
fn registry_package(registry: &str, name: &str) -> JsonText {
    json_object([
        ("registryType", json_string(registry)),
        ("identifier", json_string(name)),
        ("version", json_string(env!("CARGO_PKG_VERSION"))),
        ("transport", json_object([("type", json_string("stdio"))])),
        (
            "packageArguments",
            json_array([json_object([
                ("type", json_string("positional")),
                ("value", json_string("mcp")),
            ])]),
        ),
    ])
}

fn json_file(path: &str, value: &JsonText) -> PluginFile {
    PluginFile {
        path: path.to_owned(),
        text: value.file("\n"),
    }
}

/// Returns the text that setup would write to a new Claude Code file at `from`.
fn settings_file(path: &str, from: &str) -> PluginFile {
    // Reusing the setup target keeps the plugin and `ken setup` identical.
    let all = targets(CodingAgent::ClaudeCode);
    let text = all
        .iter()
        .find(|it| it.path == from)
        .map(|target| match &target.shape {
            PartLayout::Members(desired) => desired.file("\n"),
            PartLayout::Block(_) | PartLayout::Whole(_) => String::new(),
        });
    PluginFile {
        path: path.to_owned(),
        text: text.unwrap_or_default(),
    }
}
