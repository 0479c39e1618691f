//! Setup targets: the repository files each agent reads and Ken's parts in them.

use super::block::{CommentSyntax, SkipCondition};
use super::json::{JsonText, json_string};
use super::{PartKind, block, members, servers, texts, whole};
use crate::CodingAgent;

/// A file an agent reads.
#[derive(Clone, Debug)]
pub struct SetupTarget {
    /// The file's path, relative to the repository root.
    pub path: &'static str,
    /// An alternative path the agent also reads; used if only that file exists.
    pub instead: Option<&'static str>,
    pub(super) shape: PartLayout,
}

/// The form of Ken's part in a file.
#[derive(Clone, Debug)]
pub(super) enum PartLayout {
    Block(block::DesiredBlock),
    Whole(whole::DesiredFile),
    Members(members::DesiredEntries),
}

impl SetupTarget {
    fn new(path: &'static str, shape: PartLayout) -> Self {
        Self {
            path,
            instead: None,
            shape,
        }
    }

    /// Returns this target at its alternative path.
    #[must_use]
    pub fn at(&self, path: &'static str) -> Self {
        Self {
            path,
            ..self.clone()
        }
    }

    /// Returns the kinds of parts Ken installs, each once.
    #[must_use]
    pub fn parts(&self) -> Vec<PartKind> {
        match &self.shape {
            PartLayout::Block(desired) => vec![desired.what],
            PartLayout::Whole(desired) => vec![desired.what],
            PartLayout::Members(desired) => {
                let mut parts: Vec<PartKind> = desired.entries.iter().map(|it| it.what).collect();
                // Entries of the same kind are adjacent, so `dedup` needs no sort.
                parts.dedup();
                parts
            }
        }
    }

    /// Returns the text to write for a configuration by hand.
    #[must_use]
    pub fn print(&self) -> String {
        match &self.shape {
            PartLayout::Block(desired) => desired.content.clone(),
            PartLayout::Whole(desired) => desired.content.clone(),
            PartLayout::Members(desired) => desired.file("\n"),
        }
    }
}

/// Returns the files Ken writes for an agent, in display order.
#[must_use]
pub fn targets(agent: CodingAgent) -> Vec<SetupTarget> {
    let mut all = vec![instructions_target()];
    all.extend(agent_targets(agent));
    all
}

/// Returns the target with the given path, of any agent.
#[must_use]
pub fn target_at(path: &str) -> Option<SetupTarget> {
    let mut all = CodingAgent::ALL.into_iter().flat_map(targets);
    all.find_map(|target| match target.instead {
        _ if target.path == path => Some(target),
        Some(instead) if instead == path => Some(target.at(instead)),
        Some(_) | None => None,
    })
}

fn agent_targets(agent: CodingAgent) -> Vec<SetupTarget> {
    match agent {
        CodingAgent::ClaudeCode => vec![
            import_target("CLAUDE.md", "@AGENTS.md"),
            skill_target(".claude/skills/ken/SKILL.md"),
            json_target(".mcp.json", vec![], vec![servers::server_entry(agent)]),
            json_target(
                ".claude/settings.json",
                vec![],
                servers::hook_entries(agent),
            ),
        ],
        CodingAgent::Codex => vec![
            shared_skill_target(),
            codex_server_target(),
            json_target(".codex/hooks.json", vec![], servers::hook_entries(agent)),
        ],
        CodingAgent::Cursor => vec![
            shared_skill_target(),
            json_target(
                ".cursor/mcp.json",
                vec![],
                vec![servers::server_entry(agent)],
            ),
            json_target(
                ".cursor/hooks.json",
                version_member(),
                servers::hook_entries(agent),
            ),
        ],
        CodingAgent::Copilot => vec![
            shared_skill_target(),
            json_target(".mcp.json", vec![], vec![servers::server_entry(agent)]),
            json_target(
                ".github/hooks/ken.json",
                version_member(),
                servers::hook_entries(agent),
            ),
        ],
        CodingAgent::Gemini => {
            // Gemini CLI reads `.gemini/settings.json_target`, Antigravity
            // `.agents/mcp_config.json_target`.
            let server = || servers::server_entry(agent);
            let mut settings = vec![server()];
            settings.extend(servers::hook_entries(agent));
            vec![
                import_target("GEMINI.md", "@./AGENTS.md"),
                shared_skill_target(),
                json_target(".gemini/settings.json", vec![], settings),
                json_target(".agents/mcp_config.json", vec![], vec![server()]),
            ]
        }
        CodingAgent::Opencode => {
            let schema = ("$schema", json_string("https://opencode.ai/config.json"));
            let server = vec![servers::server_entry(agent)];
            let mut config = json_target("opencode.json", vec![schema], server);
            config.instead = Some("opencode.jsonc");
            vec![shared_skill_target(), config, opencode_plugin_target()]
        }
        CodingAgent::Zed => vec![json_target(
            ".zed/settings.json",
            vec![],
            vec![servers::server_entry(agent)],
        )],
    }
}

fn json_target(
    path: &'static str,
    extras: Vec<(&'static str, JsonText)>,
    entries: Vec<members::DesiredEntry>,
) -> SetupTarget {
    SetupTarget::new(
        path,
        PartLayout::Members(members::DesiredEntries { extras, entries }),
    )
}

fn version_member() -> Vec<(&'static str, JsonText)> {
    vec![("version", JsonText::Number(1))]
}

fn instructions_target() -> SetupTarget {
    let desired = block::DesiredBlock {
        what: PartKind::Instructions,
        comment: CommentSyntax::Html,
        content: texts::INSTRUCTIONS.to_owned(),
        skip_if: SkipCondition::Never,
    };
    SetupTarget::new("AGENTS.md", PartLayout::Block(desired))
}

fn import_target(path: &'static str, line: &str) -> SetupTarget {
    let desired = block::DesiredBlock {
        what: PartKind::Import,
        comment: CommentSyntax::Html,
        content: format!("{line}\n"),
        // Either spelling imports the same file. A second import would load it twice.
        skip_if: SkipCondition::AbsentOrContains(&["@AGENTS.md", "@./AGENTS.md"]),
    };
    SetupTarget::new(path, PartLayout::Block(desired))
}

fn shared_skill_target() -> SetupTarget {
    skill_target(".agents/skills/ken/SKILL.md")
}

fn skill_target(path: &'static str) -> SetupTarget {
    let desired = whole::DesiredFile {
        what: PartKind::Skill,
        comment: ("<!-- ", " -->"),
        content: texts::SKILL.to_owned(),
    };
    SetupTarget::new(path, PartLayout::Whole(desired))
}

fn codex_server_target() -> SetupTarget {
    let desired = block::DesiredBlock {
        what: PartKind::Server,
        // A comment block instead of a TOML edit: the file keeps its formatting, and the block can
        // be removed byte for byte.
        comment: CommentSyntax::Hash,
        content: "[mcp_servers.ken]\ncommand = \"ken\"\nargs = [\"mcp\"]\n".to_owned(),
        skip_if: SkipCondition::TomlHas("mcp_servers", servers::SERVER_NAME),
    };
    SetupTarget::new(".codex/config.toml", PartLayout::Block(desired))
}

fn opencode_plugin_target() -> SetupTarget {
    let desired = whole::DesiredFile {
        what: PartKind::Plugin,
        comment: ("// ", ""),
        content: texts::OPENCODE_PLUGIN.to_owned(),
    };
    SetupTarget::new(".opencode/plugins/ken.ts", PartLayout::Whole(desired))
}
