//! The first page of help: commands grouped by what somebody wants to do.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use super::Cli;

/// Commands by task; each stands in exactly one group.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Start and stop",
        &["init", "setup", "audit", "import", "uninstall"],
    ),
    (
        "Digest documents",
        &["reduce", "reflect", "stage", "reweave"],
    ),
    (
        "Write knowledge",
        &[
            "add",
            "capture",
            "revise",
            "cite",
            "confirm",
            "status",
            "mark",
            "link",
            "merge",
            "distil",
            "supersede",
            "archive",
            "retract",
            "restore",
            "undo",
        ],
    ),
    (
        "Read it",
        &["search", "browse", "brief", "list", "show", "log", "export"],
    ),
    (
        "Learn from work",
        &[
            "mcp",
            "run",
            "observe",
            "hook",
            "feedback",
            "extract",
            "lift",
            "stats",
            "confidence",
        ],
    ),
    (
        "Check it",
        &[
            "verify",
            "reanchor",
            "drift",
            "health",
            "maintain",
            "duplicates",
            "contradictions",
            "resolve",
            "norms",
            "scan",
            "quarantine",
            "revoke",
            "friction",
            "promote",
            "approve",
        ],
    ),
    (
        "Keep files and ledger in step",
        &["sync", "render", "recover", "blank"],
    ),
    (
        "Share it through a hub",
        &["remote", "push", "pull", "serve", "hub"],
    ),
    (
        "Look after the store",
        &["doctor", "scoring", "model", "judge", "index", "ledger"],
    ),
    (
        "Ken itself",
        &["knowledge", "completions", "man", "version"],
    ),
];

const FOOT: &str = "\
Environment: KEN_ACTOR who acts, KEN_RUN the run it belongs to, KEN_SESSION the agent's conversation,
KEN_HUB_TOKEN what a hub knows you by, KEN_DATABASE_URL the database of a hub, NO_COLOR no colour;
KEN_NOW and KEN_SEED a clock that stands still and known ids, for tests.
Exit codes: 0 fine, 1 findings or refused, 2 usage or our own failure, 3 damaged store.
`ken COMMAND --help` says more about one command.";

/// Returns the command line with its grouped help.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let first = template(&command);
    command
        .help_template(first)
        .after_help(FOOT)
        .mut_subcommand("knowledge", |knowledge| {
            let text = template(&knowledge);
            knowledge.help_template(text)
        })
}

/// Lays out the commands `command` has.
fn template(command: &Command) -> String {
    let (head, end) = (
        command.get_styles().get_header(),
        command.get_styles().get_header().render_reset(),
    );
    let name = command.get_styles().get_literal();
    let mut text = format!("{{about}}\n\n{head}Usage:{end} {{usage}}\n");
    for (title, names) in GROUPS {
        let known: Vec<&Command> = names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
            .collect();
        if known.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{head}{title}:{end}");
        for sub in known {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let (literal, reset) = (name, name.render_reset());
            let _ = writeln!(text, "  {literal}{:<14}{reset} {about}", sub.get_name());
        }
    }
    let _ = write!(text, "\n{head}Options:{end}\n{{options}}{{after-help}}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        grouped.sort_unstable();
        let command = Cli::command();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        known.sort_unstable();
        assert_eq!(grouped, known);
    }

    #[test]
    fn every_verb_also_stands_under_knowledge() {
        let command = Cli::command();
        let knowledge = command.find_subcommand("knowledge").unwrap();
        let own = ["knowledge", "completions", "man", "version"];
        let expected = command.get_subcommands().map(Command::get_name);
        let expected: Vec<&str> = expected.filter(|name| !own.contains(name)).collect();
        let found: Vec<&str> = knowledge.get_subcommands().map(Command::get_name).collect();
        assert_eq!(found, expected);
    }
}
