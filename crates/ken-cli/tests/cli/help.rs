//! Help, version, completions and manual pages.

use crate::cli::support::{empty_folder, folder_with_ledger};

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is the help itself")]
fn help_groups_commands_by_task() {
    insta::assert_snapshot!(empty_folder().run(["--help"]), @"
    exit: 0
    ----- stdout -----
    Records what agents and people learn about a codebase, and checks it against the code

    Usage: ken [OPTIONS] <COMMAND>

    Everyday commands:
      init      Create a knowledge base in this repository
      setup     Connect coding agents: instructions, MCP server, hooks, skill
      add       Add an entry, or many from JSON lines
      search    Search entries by words, question, file, diff or error
      show      Show one entry with its citations, anchors and status
      list      List entries, newest first
      brief     Print the entries and norms an agent needs before a task
      edit      Edit the fields of an entry
      confirm   Confirm that an entry still holds
      verify    Check entries against the code, or a change against the gates
      inbox     Review pending claims, approvals, quarantined entries and contradictions
      sync      Turn hand edits of entry files into events and update the files

    Add knowledge:
      audit     Check CLAUDE.md, AGENTS.md and other agent instructions; writes nothing
      import    Import claims from documents or the commit history
      forage    Find passages in the documentation of locked packages that answer a question
      capture   Record a solved problem, or extract claims from a transcript

    Change entries:
      archive   Archive an entry, or every entry not confirmed recently
      retract   Retract an entry that is wrong or unwanted
      restore   Restore an archived, retracted, merged or superseded entry
      undo      Undo your last change, or redo it: `ken redo`
      entry     More operations on entries: cite, link, merge, pin, mute, promote …

    Read:
      ui        Open web pages of this repository: code with knowledge beside it, inbox, runs
      browse    Browse entries in a full-screen terminal view
      log       Show the history of an entry with authors

    Agents:
      run       Record agent work: open a run, note exposures, close it, leave a handoff
      feedback  Report whether an entry helped
      mcp       Serve the knowledge base to agents over MCP

    Check and maintain:
      norms     List norms, and add norms that a program can check
      health    Report the health of the knowledge base and recommended actions
      guard     Scan for secrets and attacks, manage quarantine, revoke a source
      ledger    Maintain the ledger: check, pack, render, recover, redact, export

    Share through a hub:
      remote    Manage the hubs of this clone, publications and peers
      push      Push events to a hub
      pull      Pull events from a hub
      serve     Run a hub server on PostgreSQL
      hub       Administer a hub: organizations, workspaces, tokens, quotas

    Ken itself:
      config    Show and set ranking weights, the embedding model and the LLM
      doctor    Check the installation and the repository for problems
      self      Completions, manual pages, version, verify, update, uninstall
      help      Print help for a command, or with --all every command

    Options:
          --by <ACTOR>       Author of the change: human:NAME, agent:NAME or ci:NAME [default:
                             $KEN_ACTOR, the agent that runs Ken, git's user.email]
          --run <RUN>        Run that the command belongs to [default: $KEN_RUN]
          --redact           Replace secrets by `[REDACTED:type]` instead of refusing the text
      -C <DIR>               Run as if started in DIR
          --format <FORMAT>  Output format: text, or one JSON object per line (--json); `verify` has
                             three more [possible values: text, json, sarif, github, markdown]
      -q, --quiet            Print only the result and errors
          --color <WHEN>     When to use color; NO_COLOR is honored [default: auto] [possible values:
                             auto, always, never]
      -h, --help             Print help
      -V, --version          Print version

    Environment: KEN_ACTOR author of changes, KEN_RUN current run, KEN_SESSION agent session,
    KEN_HUB_TOKEN token for a hub, KEN_DATABASE_URL database of a hub, NO_COLOR disables color;
    KEN_NOW and KEN_SEED fix the clock and the ids, for tests.
    Exit codes: 0 success, 1 findings or refusal, 2 usage or internal error, 3 damaged ledger.
    Run `ken COMMAND --help` for one command, `ken help --all` for every command.
    ");
}

#[test]
fn help_of_add_has_examples() {
    let run = empty_folder().run(["add", "--help"]).success();
    assert!(run.stdout.contains("\nExamples:\n"), "{run}");
    assert!(
        run.stdout.contains("ken add --kind learning --statement"),
        "{run}"
    );
}

#[test]
fn without_arguments_help_goes_to_stderr() {
    let run = empty_folder().run::<[&str; 0], &str>([]);
    assert_eq!((run.exit, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("Everyday commands:"), "{run}");
}

#[test]
fn every_command_explains_itself() {
    let env = empty_folder();
    let top = env.run(["--help"]).success().stdout;
    let names = top.lines().filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let names: Vec<&str> = names
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        let _ = env.run([name, "--help"]).success();
    }
    for name in [
        "add", "list", "show", "reduce", "reflect", "reweave", "verify", "archive", "promote",
        "friction", "health", "compound",
    ] {
        let _ = env.run(["knowledge", name, "--help"]).success();
    }
}

#[test]
fn the_version_is_told_to_people_and_programs() {
    insta::assert_snapshot!(empty_folder().run(["--version"]), @"
    exit: 0
    ----- stdout -----
    ken 0.1.0
    ");
    insta::assert_snapshot!(empty_folder().run(["self", "version"]), @"
    exit: 0
    ----- stdout -----
    ken 0.1.0 (entries 1.0.0)
    ");
    insta::assert_snapshot!(empty_folder().run(["self", "version", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.version.v1","version":"0.1.0","entry_schema":"1.0.0"}
    "#);
}

#[test]
fn completions_and_manual_pages_are_made_from_the_same_words() {
    let env = folder_with_ledger();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = env.run(["self", "completions", shell]).success();
        assert!(run.stdout.contains("from-jsonl"), "{shell}");
    }
    assert!(
        env.run(["self", "man"])
            .success()
            .stdout
            .contains(".TH ken 1")
    );
    insta::assert_snapshot!(env.run(["self", "man", "--out", "man", "-q"]), @"exit: 0");
    let pages = env.names("man");
    assert!(pages.contains(&"ken-add.1".to_owned()), "{pages:?}");
}
