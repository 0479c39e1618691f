//! The same content for those who install a plugin: a marketplace with one Claude Code plugin, and what the MCP registry lists.
//!
//! Nothing here names a package: none is published yet, and the registry's entry says so by leaving `packages` out.

use super::json::{Json, list, object, text};
use super::target::Shape;
use super::{servers, targets, texts};
use crate::Agent;

/// A file of the layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// From the folder it is exported into.
    pub path: String,
    pub text: String,
}

const ABOUT: &str = "Keeps what agents and people learn about a codebase, checked against the code";
/// Characters the registry allows a description.
pub const REGISTRY_DESCRIPTION_CHARS_MAX: usize = 100;
const PLUGIN: &str = "plugins/ken";
const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// Returns a Claude Code marketplace whose one plugin brings server, hooks and skill.
#[must_use]
pub fn claude_code() -> Vec<File> {
    let version = env!("CARGO_PKG_VERSION");
    let marketplace = object([
        ("name", text("ken")),
        ("owner", object([("name", text("Ken"))])),
        (
            "plugins",
            list([object([
                ("name", text("ken")),
                ("source", text(format!("./{PLUGIN}"))),
                ("description", text(ABOUT)),
            ])]),
        ),
    ]);
    let manifest = object([
        ("name", text("ken")),
        ("version", text(version)),
        ("description", text(ABOUT)),
        ("license", text(env!("CARGO_PKG_LICENSE"))),
    ]);
    let inside = |path: &str| format!("{PLUGIN}/{path}");
    vec![
        file(".claude-plugin/marketplace.json", &marketplace),
        file(&inside(".claude-plugin/plugin.json"), &manifest),
        settings(&inside("hooks/hooks.json"), ".claude/settings.json"),
        settings(&inside(".mcp.json"), ".mcp.json"),
        File {
            path: inside("skills/ken/SKILL.md"),
            text: texts::SKILL.to_owned(),
        },
    ]
}

/// Returns what the MCP registry lists, without the packages that do not exist yet.
#[must_use]
pub fn registry() -> File {
    let repository = env!("CARGO_PKG_REPOSITORY");
    let server = object([
        ("$schema", text(SCHEMA)),
        ("name", text(registry_name(repository))),
        ("title", text("Ken")),
        ("description", text(ABOUT)),
        (
            "repository",
            object([("url", text(repository)), ("source", text("github"))]),
        ),
        ("version", text(env!("CARGO_PKG_VERSION"))),
    ]);
    file("server.json", &server)
}

/// Returns the name a repository's owner may register: `io.github.OWNER/NAME`.
fn registry_name(repository: &str) -> String {
    let path = repository.trim_start_matches("https://github.com/");
    let owner = path.split('/').next().unwrap_or_default();
    format!("io.github.{owner}/{}", servers::NAME)
}

fn file(path: &str, value: &Json) -> File {
    File {
        path: path.to_owned(),
        text: value.file("\n"),
    }
}

/// Returns what a new file of Claude Code's at `from` would hold.
fn settings(path: &str, from: &str) -> File {
    let known = targets(Agent::ClaudeCode);
    let text = known
        .iter()
        .find(|it| it.path == from)
        .map(|it| match &it.shape {
            Shape::Members(wish) => wish.file("\n"),
            Shape::Block(_) | Shape::Whole(_) => String::new(),
        });
    File {
        path: path.to_owned(),
        text: text.unwrap_or_default(),
    }
}
