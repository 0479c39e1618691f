//! `ken hook` as a child process: recorded inputs of every agent, complete sessions, and input that
//! must be ignored.

mod briefing;
mod decisions;
mod handoff;
mod harmless;
mod outcomes;
mod quiet;
mod rediscovery;
mod roles;
mod sessions;
mod trust;

use std::fs;
use std::path::PathBuf;

use ken_testkit::test_env::{CommandRun, TestEnvironment};
use serde_json::Value;

/// Claim shown at a prompt.
const RETRY: &str = "A retried payment is charged once because the request carries its key";
/// Claim read from its entry file.
const EXPORT: &str = "The nightly export leaves out rows whose currency nobody knows";
/// Claim never shown.
const ROUNDING: &str = "Interest is rounded half to even so that statements of a year add up";
/// Claim that matches an error.
const IMPORT: &str =
    "An unresolved import of ledger::charge means that the feature flag payments is off";

/// A git repository with a ledger and four claims by a person.
struct HookTestEnvironment {
    env: TestEnvironment,
    retry: String,
    export: String,
    rounding: String,
    import: String,
}

impl HookTestEnvironment {
    fn new() -> Self {
        let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
        let _ = env.run(["init"]).success();
        env.write("src/pay.rs", "pub fn charge() {}\n");
        let [retry, export, rounding, import] =
            [RETRY, EXPORT, ROUNDING, IMPORT].map(|claim| add_lesson(&env, claim));
        let _ = env.git(["add", "-A"]);
        let _ = env.git(["commit", "-q", "-m", "ken"]);
        Self {
            env,
            retry,
            export,
            rounding,
            import,
        }
    }

    /// Runs a hook with a recorded input of an agent.
    fn hook(&self, agent: &str, moment: &str, recorded: &str) -> CommandRun {
        self.run_hook_with(agent, moment, &self.recorded(agent, recorded))
    }

    fn run_hook_with(&self, agent: &str, moment: &str, input: &str) -> CommandRun {
        let run = self.env.run_with(input, ["hook", agent, moment]);
        assert_eq!((run.exit, run.stderr.as_str()), (0, ""), "{run}");
        run
    }

    /// Returns a recorded input with its paths replaced by those of this repository.
    fn recorded(&self, agent: &str, name: &str) -> String {
        let file = format!("../ken-agents/tests/fixtures/{agent}/{name}.json");
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let root = self.env.root().display().to_string();
        text.replace("ROOT", &root)
            .replace("ENTRY", &self.file(&self.export))
            .replace("PROMPT", "Why is a retried payment charged once?")
    }

    /// Returns the path of an entry's file.
    fn file(&self, id: &str) -> String {
        let names = self.env.names(".ken/entries");
        let name = names
            .iter()
            .find(|it| it.starts_with(id))
            .expect("as it was set up");
        format!(".ken/entries/{name}")
    }

    /// Returns the open session's run as `ken run show` prints it.
    fn open_run(&self) -> Value {
        let names = self.env.names(".ken/.local/runs");
        let run = names
            .iter()
            .find(|it| it.starts_with("C-"))
            .expect("as it was set up");
        let run = run.trim_end_matches(".jsonl");
        let shown = self.env.run(["run", "show", run, "--format", "json"]);
        shown.success().json()
    }

    /// Returns the number of independent, primed and unwitnessed confirmations of an entry.
    fn found(&self, id: &str) -> (u64, u64, u64) {
        let text = self.env.run(["show", "--explain", id]).success().stdout;
        let line = text
            .lines()
            .find(|it| it.starts_with("found again"))
            .expect("as it was set up");
        let count = |word: &str| -> u64 {
            let (before, _) = line
                .split_once(&format!(" {word}"))
                .expect("as it was set up");
            before
                .rsplit(' ')
                .next()
                .expect("as it was set up")
                .parse()
                .expect("as it was set up")
        };
        (count("independent"), count("primed"), count("unwitnessed"))
    }
}

fn add_lesson(env: &TestEnvironment, statement: &str) -> String {
    let args = [
        "add",
        "--kind",
        "learning",
        "--cite",
        "pr:3",
        "--statement",
        statement,
    ];
    env.run(args).success().line()
}

fn add_norm(env: &TestEnvironment, statement: &str) -> String {
    let args = [
        "add",
        "--kind",
        "commit-norm",
        "--cite",
        "pr:9",
        "--statement",
        statement,
    ];
    env.run(args).success().line()
}

/// Returns the context text of a hook response, for every agent's format.
fn context_text(run: &CommandRun) -> String {
    if run.stdout.is_empty() {
        return String::new();
    }
    let said = run.json();
    let texts = [
        &said["hookSpecificOutput"]["additionalContext"],
        &said["additional_context"],
        &said["additionalContext"],
        &said["context"],
        &said["reason"],
        &said["followup_message"],
    ];
    let text = texts.into_iter().find_map(Value::as_str);
    text.unwrap_or_else(|| panic!("{run}")).to_owned()
}
