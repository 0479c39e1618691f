//! Arguments of the commands that tell agents about Ken.

use std::path::PathBuf;

use clap::Args;
use ken_agents::Agent;

pub(crate) const SETUP_HELP: &str = "\
Agents: claude (claude-code), codex, cursor, copilot, gemini (gemini-cli, antigravity), opencode, zed

Examples:
  ken setup                      what would be written for the agents found here, and one question
  ken setup claude codex         write it, without a question where there is no terminal
  ken setup --check              exit 1 where something is missing, stale, doubled or edited
  ken setup --remove             take all of it out again
  ken setup --print zed          what to write by hand";

/// `ken init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Tell these agents about Ken, too, as `ken setup` does
    #[arg(long, value_name = "AGENT,…", value_delimiter = ',', value_parser = agent)]
    pub(crate) agents: Vec<Agent>,
    /// Do not look for agents
    #[arg(long, conflicts_with = "agents")]
    pub(crate) no_agents: bool,
}

/// `ken setup`.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// The agents [default: those found in this repository, your home or on PATH]
    #[arg(value_name = "AGENT", value_parser = agent)]
    pub(crate) agents: Vec<Agent>,
    /// Say how it stands; exit 1 where something is missing, stale, doubled or edited
    #[arg(long, conflicts_with_all = ["remove", "print", "dry_run", "plugin"])]
    pub(crate) check: bool,
    /// Take out what was written, and nothing else
    #[arg(long, conflicts_with_all = ["print", "plugin"])]
    pub(crate) remove: bool,
    /// Print what would be written, for those who configure by hand
    #[arg(long, conflicts_with_all = ["dry_run", "plugin"])]
    pub(crate) print: bool,
    /// Print the changes as a diff; write nothing
    #[arg(long, conflicts_with = "plugin")]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Write a Claude Code plugin with the same content, and the MCP registry's entry, below DIR instead
    #[arg(long, value_name = "DIR", conflicts_with = "agents")]
    pub(crate) plugin: Option<PathBuf>,
}

fn agent(text: &str) -> Result<Agent, String> {
    Agent::named(text).ok_or_else(|| {
        let names = Agent::ALL.map(Agent::name).join(", ");
        format!("Ken knows {names}")
    })
}
