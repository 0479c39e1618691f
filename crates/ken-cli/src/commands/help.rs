//! Help texts: the first page grouped by task, and `ken help`.

use std::fmt::Write as _;

use clap::{Args, Command, CommandFactory as _};

use super::{GROUPS, Session, alias};
use crate::args::Cli;
use crate::failure::{CommandExit, CommandFailure};

const FOOT: &str = "\
Environment: KEN_ACTOR author of changes, KEN_RUN current run, KEN_SESSION agent session,
KEN_HUB_TOKEN token for a hub, KEN_DATABASE_URL database of a hub, NO_COLOR disables color;
KEN_NOW and KEN_SEED fix the clock and the ids, for tests.
Exit codes: 0 success, 1 findings or refusal, 2 usage or internal error, 3 damaged ledger.
Run `ken COMMAND --help` for one command, `ken help --all` for every command.";

/// `ken help`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken help --all\n  ken help entry merge")]
pub(crate) struct HelpArgs {
    /// List every command and subcommand
    #[arg(long, conflicts_with = "words")]
    pub(crate) all: bool,
    /// The command, such as `entry merge`
    #[arg(value_name = "COMMAND")]
    pub(crate) words: Vec<String>,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &HelpArgs,
) -> Result<CommandExit, CommandFailure> {
    let mut root = command();
    // Completes the names of subcommands, which the usage lines below contain.
    root.build();
    let text = if args.all {
        all_commands(&root)
    } else {
        let mut found = &root;
        let mut words: Vec<&str> = args.words.iter().map(String::as_str).collect();
        if let Some(meant) = words.first().and_then(|it| alias::meaning(it)) {
            words.splice(..1, meant);
        }
        // An alias may stand for an option of its command.
        for word in words.into_iter().filter(|it| !it.starts_with("--")) {
            found = found.find_subcommand(word).ok_or_else(|| {
                CommandFailure::usage(format!("`{word}` is not a command"))
                    .with_hint("`ken help --all` lists every command")
            })?;
        }
        found.clone().render_long_help().ansi().to_string()
    };
    session.printer.text(text)?;
    Ok(CommandExit::Fine)
}

/// Returns a hint for a command that other tools or earlier versions have under this name.
pub(crate) fn hint_for_other_name(word: &str) -> Option<&'static str> {
    Some(match word {
        "lesson" | "learn" | "remember" | "note" | "record" | "new" | "create" => {
            "`ken add \"…\"` adds an entry"
        }
        "rm" | "remove" | "delete" | "del" => {
            "`ken retract ID` retracts an entry, `ken archive ID` archives it"
        }
        "status" => {
            "`ken health` reports the state of the knowledge base; `ken entry status ID STATUS` sets the status of an entry"
        }
        "find" | "grep" | "query" | "ask" | "recall" => "`ken search \"…\"` finds entries",
        "get" | "cat" | "view" => "`ken show ID` shows an entry",
        "history" => "`ken log ID` shows the history of an entry",
        "update" | "revise" | "change" => "`ken edit ID` edits an entry",
        "check" | "lint" => "`ken verify` checks entries against the code",
        "stage" | "review" | "pending" => "`ken inbox` lists what is pending for you",
        "stats" => "`ken health stats` shows queries and their results",
        "lift" => "`ken health impact` shows the measured effect of entries",
        "export" => "`ken ledger export` exports entries",
        "install" => "`ken setup` connects coding agents",
        _ => return None,
    })
}

/// Returns the clap command with its grouped help.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let first = template(&command);
    command.help_template(first).after_help(FOOT)
}

/// Returns every visible command with its description, subcommands indented.
fn all_commands(root: &Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{title}:");
        for name in *names {
            if let Some(sub) = root.find_subcommand(name) {
                append_command(&mut text, sub, 1);
            }
        }
        text.push('\n');
    }
    text
}

fn append_command(text: &mut String, command: &Command, depth: usize) {
    let about = describe(command);
    let name = format!("{:indent$}{}", "", command.get_name(), indent = depth * 2);
    let _ = writeln!(text, "{name:<24} {about}");
    for sub in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        append_command(text, sub, depth + 1);
    }
}

fn describe(command: &Command) -> String {
    command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Returns the help template with the commands by group.
fn template(command: &Command) -> String {
    let (head, end) = (
        command.get_styles().get_header(),
        command.get_styles().get_header().render_reset(),
    );
    let literal = command.get_styles().get_literal();
    let mut text = format!("{{about}}\n\n{head}Usage:{end} {{usage}}\n");
    for (title, names) in GROUPS {
        let _ = writeln!(text, "\n{head}{title}:{end}");
        for sub in names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
        {
            let reset = literal.render_reset();
            let about = describe(sub);
            let _ = writeln!(text, "  {literal}{:<9}{reset} {about}", sub.get_name());
        }
    }
    let _ = write!(text, "\n{head}Options:{end}\n{{options}}{{after-help}}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maximum number of top-level commands, hidden ones included.
    const TOP_LEVEL_MAX: usize = 42;

    fn visible(command: &Command) -> impl Iterator<Item = &Command> {
        command.get_subcommands().filter(|it| !it.is_hide_set())
    }

    #[test]
    fn every_visible_command_is_in_exactly_one_group() {
        let groups = GROUPS.iter();
        let mut grouped: Vec<&str> = groups
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        grouped.sort_unstable();
        let command = Cli::command();
        let mut known: Vec<&str> = visible(&command).map(Command::get_name).collect();
        known.sort_unstable();
        assert_eq!(grouped, known);
    }

    #[test]
    fn the_top_level_stays_small() {
        let command = Cli::command();
        let count = command.get_subcommands().count();
        assert!(count <= TOP_LEVEL_MAX, "{count} top-level commands");
    }

    #[test]
    fn every_command_has_an_example() {
        fn check(command: &Command, path: &str, missing: &mut Vec<String>) {
            let is_leaf = command.get_subcommands().next().is_none();
            let after = [command.get_after_help(), command.get_after_long_help()];
            let has_example = after
                .into_iter()
                .flatten()
                .any(|it| it.to_string().contains("Example"));
            if is_leaf && !has_example {
                missing.push(path.to_owned());
            }
            for sub in command.get_subcommands() {
                check(sub, &format!("{path} {}", sub.get_name()), missing);
            }
        }
        let mut missing = Vec::new();
        check(&Cli::command(), "ken", &mut missing);
        assert!(missing.is_empty(), "without an example: {missing:#?}");
    }
}
