//! Which files of a repository each agent reads, and what Ken puts into them.

use super::block::{Comment, Unless};
use super::json::{Json, text};
use super::{What, block, members, servers, texts, whole};
use crate::Agent;

/// A file an agent reads.
#[derive(Clone, Debug)]
pub struct Target {
    /// The file, from the top of the repository.
    pub path: &'static str,
    /// A file that is read as well and is written to where it is the one that exists.
    pub instead: Option<&'static str>,
    pub(super) shape: Shape,
}

/// How Ken's part lies in a file.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Block(block::Wish),
    Whole(whole::Wish),
    Members(members::Wish),
}

impl Target {
    fn new(path: &'static str, shape: Shape) -> Self {
        Self {
            path,
            instead: None,
            shape,
        }
    }

    /// Returns this target where the file has its other name.
    #[must_use]
    pub fn at(&self, path: &'static str) -> Self {
        Self {
            path,
            ..self.clone()
        }
    }

    /// Returns what Ken puts in, each once.
    #[must_use]
    pub fn parts(&self) -> Vec<What> {
        match &self.shape {
            Shape::Block(wish) => vec![wish.what],
            Shape::Whole(wish) => vec![wish.what],
            Shape::Members(wish) => {
                let mut parts: Vec<What> = wish.entries.iter().map(|it| it.what).collect();
                parts.dedup();
                parts
            }
        }
    }

    /// Returns what somebody writes who configures an agent by hand.
    #[must_use]
    pub fn print(&self) -> String {
        match &self.shape {
            Shape::Block(wish) => wish.content.clone(),
            Shape::Whole(wish) => wish.content.clone(),
            Shape::Members(wish) => wish.file("\n"),
        }
    }
}

/// Returns the files Ken writes to for an agent, in the order they are shown.
#[must_use]
pub fn targets(agent: Agent) -> Vec<Target> {
    let mut all = vec![instructions()];
    all.extend(own(agent));
    all
}

/// Returns the target with that path, whichever agents it is for.
#[must_use]
pub fn target_at(path: &str) -> Option<Target> {
    let mut all = Agent::ALL.into_iter().flat_map(targets);
    all.find_map(|it| match it.instead {
        _ if it.path == path => Some(it),
        Some(instead) if instead == path => Some(it.at(instead)),
        Some(_) | None => None,
    })
}

fn own(agent: Agent) -> Vec<Target> {
    match agent {
        Agent::ClaudeCode => vec![
            import("CLAUDE.md", "@AGENTS.md"),
            skill(".claude/skills/ken/SKILL.md"),
            json(".mcp.json", vec![], vec![servers::server(agent)]),
            json(".claude/settings.json", vec![], servers::hooks(agent)),
        ],
        Agent::Codex => vec![
            shared_skill(),
            codex_server(),
            json(".codex/hooks.json", vec![], servers::hooks(agent)),
        ],
        Agent::Cursor => vec![
            shared_skill(),
            json(".cursor/mcp.json", vec![], vec![servers::server(agent)]),
            json(".cursor/hooks.json", version(), servers::hooks(agent)),
        ],
        Agent::Copilot => vec![
            shared_skill(),
            json(".mcp.json", vec![], vec![servers::server(agent)]),
            json(".github/hooks/ken.json", version(), servers::hooks(agent)),
        ],
        Agent::Gemini => {
            let server = || servers::server(agent);
            let mut settings = vec![server()];
            settings.extend(servers::hooks(agent));
            vec![
                import("GEMINI.md", "@./AGENTS.md"),
                shared_skill(),
                json(".gemini/settings.json", vec![], settings),
                json(".agents/mcp_config.json", vec![], vec![server()]),
            ]
        }
        Agent::Opencode => {
            let schema = ("$schema", text("https://opencode.ai/config.json"));
            let server = vec![servers::server(agent)];
            let mut config = json("opencode.json", vec![schema], server);
            config.instead = Some("opencode.jsonc");
            vec![shared_skill(), config, opencode_plugin()]
        }
        Agent::Zed => vec![json(
            ".zed/settings.json",
            vec![],
            vec![servers::server(agent)],
        )],
    }
}

fn json(
    path: &'static str,
    extras: Vec<(&'static str, Json)>,
    entries: Vec<members::Entry>,
) -> Target {
    Target::new(path, Shape::Members(members::Wish { extras, entries }))
}

fn version() -> Vec<(&'static str, Json)> {
    vec![("version", Json::Number(1))]
}

fn instructions() -> Target {
    let wish = block::Wish {
        what: What::Instructions,
        comment: Comment::Html,
        content: texts::INSTRUCTIONS.to_owned(),
        unless: Unless::Never,
    };
    Target::new("AGENTS.md", Shape::Block(wish))
}

fn import(path: &'static str, line: &str) -> Target {
    let wish = block::Wish {
        what: What::Import,
        comment: Comment::Html,
        content: format!("{line}\n"),
        unless: Unless::AbsentOrSays(&["@AGENTS.md", "@./AGENTS.md"]),
    };
    Target::new(path, Shape::Block(wish))
}

fn shared_skill() -> Target {
    skill(".agents/skills/ken/SKILL.md")
}

fn skill(path: &'static str) -> Target {
    let wish = whole::Wish {
        what: What::Skill,
        comment: ("<!-- ", " -->"),
        content: texts::SKILL.to_owned(),
    };
    Target::new(path, Shape::Whole(wish))
}

fn codex_server() -> Target {
    let wish = block::Wish {
        what: What::Server,
        comment: Comment::Hash,
        content: "[mcp_servers.ken]\ncommand = \"ken\"\nargs = [\"mcp\"]\n".to_owned(),
        unless: Unless::TomlHas("mcp_servers", servers::NAME),
    };
    Target::new(".codex/config.toml", Shape::Block(wish))
}

fn opencode_plugin() -> Target {
    let wish = whole::Wish {
        what: What::Plugin,
        comment: ("// ", ""),
        content: texts::OPENCODE_PLUGIN.to_owned(),
    };
    Target::new(".opencode/plugins/ken.ts", Shape::Whole(wish))
}
