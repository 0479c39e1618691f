//! Help, version, completions and manual pages.

use crate::support::{empty, plain};

#[test]
#[expect(clippy::too_many_lines, reason = "the whole page, as it is printed")]
fn help_groups_commands_by_task() {
    insta::assert_snapshot!(empty().run(["--help"]), @"
    exit: 0
    ----- stdout -----
    Keeps what agents and people learn about a codebase

    Usage: ken [OPTIONS] <COMMAND>

    Start and stop:
      init           Make a ledger at the top of this repository, or in this folder
      setup          Tell coding agents about Ken: instructions, MCP server, hooks and a skill
      audit          Say what is wrong with the knowledge this repository keeps already; writes nothing
      import         Take the sound claims of documents in: CLAUDE.md, AGENTS.md, rules, decisions …
      uninstall      Take out what `init` put in; knowledge stays unless told otherwise

    Digest documents:
      reduce         Take claims from documents or history and let them wait for a decision
      reflect        Say what waiting claims would repeat, contradict or link to
      stage          Decide about claims that wait
      reweave        Give an entry new evidence, and new words if need be

    Write knowledge:
      add            Add an entry, or many from JSON lines
      capture        Write down a problem that was solved and what solved it, or take what a transcript shows
      revise         Word fields of an entry anew
      cite           Add evidence to an entry
      confirm        Say that an entry holds
      status         Move an entry on the ladder candidate, active, verified, stale, rejected
      mark           Pin, mute or annotate an entry; what is true stays as it is
      link           Link an entry to another
      merge          Make entries that say the same one
      distil         Condense entries that are used together into one; without arguments, list such entries
      supersede      Let a newer entry take an older one's place
      archive        Lay an entry aside, or all that nobody confirmed for long
      retract        Take an entry back
      restore        Bring back an archived or retracted entry
      undo           Take back your own last change

    Read it:
      search         Find entries that answer a question, best first
      browse         Look through entries on the whole terminal, searching as you type
      brief          Tell an agent what to know before it begins
      list           List entries, newest first
      show           Show one entry: its claim, what it rests on, who said so
      log            Show the history of an entry, with authors
      export         Write entries for other programs: JSON lines, an OKF bundle or Markdown

    Learn from work:
      mcp            Serve knowledge to a coding agent over the Model Context Protocol, on standard input and output
      run            Look after units of work: who takes part, what they saw, how it ended
      observe        Tell what an agent found; whether that confirms anything is decided from what it had seen
      hook           Answer an agent's hook: what to know, in its own dialect, or nothing
      feedback       Say whether an entry helped
      extract        Take claims out of a transcript with the help of a judge; they become candidates
      lift           Show what entries are worth: outcomes of work with them and without
      stats          Show what was asked, what came of it and how work went
      confidence     Look after how far using an entry is believed to help

    Check it:
      verify         Check the ledger and hold every entry against the code, or what a change touches
      reanchor       Take fingerprints, follow code that moved, decide about what changed
      drift          Show shelves that are stale, bloated, contradictory or orphaned
      health         Tell how knowledge fares, and whether that calls for anything
      maintain       List services that keep knowledge in order, or run one
      duplicates     List entries that seem to say the same
      contradictions List entries that cannot both be followed
      resolve        Settle a contradiction: one stays, or both
      norms          Look after norms that a program can check
      scan           Say what the guard finds in files or standard input; changes nothing
      quarantine     Look after entries the guard set apart
      revoke         Turn off everything from one author or origin, by one event
      friction       Record what got in the way, and count it
      promote        Let knowledge reach further: workspace, global, another memory
      approve        Approve what was put forward, or list what waits

    Keep files and ledger in step:
      sync           Turn edits of entry files into events and bring the files up to date
      render         Write every entry file and gathering view anew
      recover        Bring back events that a reset, clean or removed worktree took away
      blank          Remove an event's data everywhere, such as a leaked secret

    Share it through a hub:
      remote         Look after the hubs this clone exchanges events with
      push           Offer a hub the events it does not have
      pull           Take from a hub the events this clone does not have, also those that git lost
      serve          Serve an organisation's hub: knowledge of many repositories, on PostgreSQL
      hub            Look after a hub's database: organisations, workspaces, tokens

    Look after the store:
      doctor         Look the installation over
      scoring        Show or set how much each signal counts when entries are ranked
      model          Choose the model that helps a search find what is meant
      judge          Choose who is asked where Ken cannot tell: a program, an endpoint, or nobody
      index          Look after the derived index
      ledger         Look after the ledger's files

    Ken itself:
      knowledge      The same commands under one noun, as knowledge stores spell them
      completions    Print completions for a shell
      man            Print the manual page, or write one page a command
      version        Print the version of ken and of the ledger it writes

    Options:
          --by <ACTOR>       Who acts: human:NAME, agent:NAME or ci:NAME [default: $KEN_ACTOR, the agent
                             Ken runs in, git's user.email]
          --run <RUN>        The run this belongs to [default: $KEN_RUN]
          --redact           Write secrets as `[REDACTED:type]` instead of refusing the text
      -C <DIR>               Act as if started in DIR
          --format <FORMAT>  How to answer: for people or one versioned JSON object a line; `verify`
                             knows three more [possible values: text, json, sarif, github, markdown]
      -q, --quiet            Say nothing beside the answer and errors
          --color <WHEN>     When to use colour; NO_COLOR is respected [default: auto] [possible values:
                             auto, always, never]
      -h, --help             Print help
      -V, --version          Print version

    Environment: KEN_ACTOR who acts, KEN_RUN the run it belongs to, KEN_SESSION the agent's
    conversation,
    KEN_HUB_TOKEN what a hub knows you by, KEN_DATABASE_URL the database of a hub, NO_COLOR no colour;
    KEN_NOW and KEN_SEED a clock that stands still and known ids, for tests.
    Exit codes: 0 fine, 1 findings or refused, 2 usage or our own failure, 3 damaged store.
    `ken COMMAND --help` says more about one command.
    ");
}

#[test]
fn help_of_add_has_examples() {
    let run = empty().run(["add", "--help"]).success();
    assert!(run.stdout.contains("\nExamples:\n"), "{run}");
    assert!(
        run.stdout.contains("ken add --kind learning --statement"),
        "{run}"
    );
}

#[test]
fn without_arguments_help_goes_to_stderr() {
    let run = empty().run::<[&str; 0], &str>([]);
    assert_eq!((run.exit, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("Write knowledge:"), "{run}");
}

#[test]
fn every_command_explains_itself_twice() {
    let env = empty();
    let top = env.run(["--help"]).success().stdout;
    let names = top.lines().filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let names: Vec<&str> = names
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(30 < names.len(), "{names:?}");
    for name in names {
        let _ = env.run([name, "--help"]).success();
        if !["knowledge", "completions", "man", "version"].contains(&name) {
            let _ = env.run(["knowledge", name, "--help"]).success();
        }
    }
}

#[test]
fn the_version_is_told_to_people_and_programs() {
    insta::assert_snapshot!(empty().run(["--version"]), @"
    exit: 0
    ----- stdout -----
    ken 0.1.0
    ");
    insta::assert_snapshot!(empty().run(["version"]), @"
    exit: 0
    ----- stdout -----
    ken 0.1.0 (entries 1.0.0)
    ");
    insta::assert_snapshot!(empty().run(["version", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.version.v1","version":"0.1.0","entry_schema":"1.0.0"}
    "#);
}

#[test]
fn completions_and_manual_pages_are_made_from_the_same_words() {
    let env = plain();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = env.run(["completions", shell]).success();
        assert!(run.stdout.contains("from-jsonl"), "{shell}");
    }
    assert!(env.run(["man"]).success().stdout.contains(".TH ken 1"));
    insta::assert_snapshot!(env.run(["man", "--out", "man", "-q"]), @"exit: 0");
    let pages = env.names("man");
    assert!(pages.contains(&"ken-add.1".to_owned()), "{pages:?}");
}
