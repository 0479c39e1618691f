//! Log output contains only numbers and fixed words, never text that a user or agent supplied.

use std::fs;

use crate::guard::repository_with_entry;

/// Words planted in user and agent input; none may appear in the log.
const CANARIES: [&str; 6] = [
    "zebracanary",
    "quaggacanary",
    "okapicanary",
    "kuducanary",
    "elandcanary",
    "ghp_0123456789abcdefABCDEF0123456789abcd",
];

/// Commands run with logging enabled; `ID` stands for an entry.
const COMMANDS: &[&[&str]] = &[
    &[
        "add",
        "--kind",
        "learning",
        "--statement",
        "The zebracanary is retried",
        "--cite",
        "test:quaggacanary",
        "--tag",
        "okapicanary",
    ],
    &["search", "where is the zebracanary and why quaggacanary"],
    &["search", CANARIES[5]],
    &["brief", "the okapicanary task", "--by", "agent:kuducanary"],
    &["run", "open", "kuducanary", "--task", "quaggacanary"],
    &[
        "run",
        "observe",
        "--statement",
        "The zebracanary was seen again",
        "--by",
        "agent:kuducanary",
        "--run",
        "kuducanary",
        "--anchor",
        "src/pay.rs",
    ],
    &["run", "close", "kuducanary", "--outcome", "succeeded"],
    &[
        "edit",
        "ID",
        "--note",
        "quaggacanary",
        "--tag",
        "okapicanary",
    ],
    &[
        "retract",
        "ID",
        "--reason",
        "false",
        "--note",
        "zebracanary",
    ],
    &["show", "okapicanary"],
    &["capture", "notes.md"],
    &["sync"],
    &["verify"],
    &["knowledge", "list"],
];

#[test]
fn no_word_of_anybody_is_in_the_log() {
    let (env, id) = repository_with_entry();
    let log = env.root().parent().unwrap().join("ken.log");
    let env = env
        .env("KEN_LOG", "trace,rmcp=trace")
        .env("KEN_LOG_FILE", log.to_str().unwrap())
        .env("KEN_SESSION", "elandcanary");
    env.write(
        "notes.md",
        "- Never feed the zebracanary in `src/pay.rs`.\n",
    );
    for arguments in COMMANDS {
        let arguments = arguments.iter().map(|it| it.replace("ID", &id));
        let _ = env.run(arguments.collect::<Vec<_>>());
    }
    let told = fs::read_to_string(&log).unwrap();
    for canary in CANARIES {
        assert!(!told.contains(canary), "{canary}: {told}");
    }
    for (span, least) in [
        ("search", 3),
        ("brief", 1),
        ("record", 3),
        ("close_run", 1),
        ("observe", 1),
        ("capture", 1),
        ("sync", 1),
        ("verify", 1),
    ] {
        let spans = told
            .lines()
            .filter(|line| line.contains(&format!(":{span}: ")));
        assert!(spans.count() >= least, "{span}: {told}");
    }
    for field in [
        "gen_ai.operation.name=\"search_memory\"",
        "gen_ai.operation.name=\"create_memory\"",
        "command=\"list\"",
        "time.busy=",
    ] {
        assert!(told.contains(field), "{field}: {told}");
    }
    assert!(!told.contains('\u{1b}'), "no color in a file");
}

#[test]
fn nothing_is_said_unless_somebody_asks_and_never_on_standard_output() {
    let (env, id) = repository_with_entry();
    let quiet = env.run(["search", "charge"]);
    assert!(!quiet.stderr.contains("INFO"), "{quiet}");
    let env = env.env("KEN_LOG", "info");
    let logged = env.run(["search", "charge"]);
    assert!(logged.stderr.contains("INFO ken:search: "), "{logged}");
    assert!(!logged.stdout.contains("INFO"), "{logged}");
    let env = env.env("KEN_LOG", "debug");
    let told = env.run(["search", "retried charge"]).stderr;
    assert!(told.contains(&format!("found entry={id} ")), "{told}");
    let wrong = env.env("KEN_LOG", "loud").run(["list"]).success();
    assert!(
        wrong
            .stderr
            .contains("KEN_LOG: `loud` is not a valid level"),
        "{wrong}"
    );
}
