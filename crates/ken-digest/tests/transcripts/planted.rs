//! Recall and precision of extraction on generated transcripts.
//!
//! Every transcript resembles real work: tasks, searches, mistakes the agent makes and fixes, tests
//! that fail for a while, commands that later pass unchanged. Planted among them are a failure with
//! an external cause, a rule a person states, and a frequent command. The sentences of people were
//! written before the extraction rules were tried on them.

use std::collections::BTreeSet;

use ken_digest::transcript::{
    ExtractionKind, detect_agent, extract_transcript_claims, parse_transcript,
};
use serde_json::{Value, json};

const TRANSCRIPTS: u64 = 200;

/// Minimum share of planted moments that is found, and of found moments that was planted.
const RECALL_MIN: f64 = 0.88;
const PRECISION_MIN: f64 = 0.98;

/// Command, its error output, and the fix: a file or a command.
const FIXES: &[(&str, &str, &str)] = &[
    (
        "cargo build",
        "error: linking with `cc` failed: could not find -lpq",
        "apt install libpq-dev",
    ),
    (
        "cargo test",
        "error: environment variable `DATABASE_URL` not defined at compile time",
        "FILE .cargo/config.toml",
    ),
    (
        "npm run build",
        "Error: error:0308010C:digital envelope routines::unsupported",
        "FILE package.json",
    ),
    (
        "pnpm install",
        "ERR_PNPM_UNSUPPORTED_ENGINE  Unsupported environment (bad pnpm and/or Node.js version)",
        "mise install node",
    ),
    (
        "pytest",
        "E   sqlalchemy.exc.OperationalError: could not connect to server: Connection refused",
        "docker compose up -d postgres",
    ),
    (
        "go build ./...",
        "main.go:4:2: no required module provides package github.com/x/y; to add it:",
        "FILE go.mod",
    ),
    (
        "make test",
        "/bin/sh: 1: protoc: command not found",
        "make setup",
    ),
    (
        "python manage.py check",
        "django.core.exceptions.ImproperlyConfigured: The SECRET_KEY setting must not be empty.",
        "FILE settings/local.py",
    ),
    (
        "./gradlew test",
        "Could not resolve com.example:core:1.2. Username must not be null! Error: missing credentials file",
        "FILE gradle.properties",
    ),
    (
        "yarn test",
        "Cannot find module '@prisma/client' from 'src/db.ts'",
        "yarn prisma generate",
    ),
    (
        "tsc -b",
        "src/a.ts(1,1): error TS6305: Output file 'lib.d.ts' has not been built from source file",
        "FILE tsconfig.base.json",
    ),
    (
        "bundle exec rspec",
        "ActiveRecord::PendingMigrationError: Migrations are pending: error, run bin/rails db:migrate",
        "bundle exec rails db:migrate",
    ),
];

/// A person's sentence, and a word that the extracted claim must contain.
const RULES: &[(&str, &str)] = &[
    ("no, use uv here... I mean use uv instead of pip", "uv"),
    (
        "Don't use default exports in this codebase",
        "default exports",
    ),
    (
        "never call the payment gateway from a test",
        "payment gateway",
    ),
    (
        "always put new endpoints behind a feature flag",
        "feature flag",
    ),
    ("Actually we use tabs, not spaces", "tabs"),
    ("We never mock the repository layer.", "repository layer"),
    (
        "no, don't use `println!` in library code, use tracing",
        "println",
    ),
    (
        "From now on, every migration must be reversible.",
        "reversible",
    ),
    (
        "prefer `anyhow::Context` over custom error strings",
        "anyhow",
    ),
    ("do not commit directly to main", "main"),
    ("Nope. Use vitest, not jest.", "vitest"),
    ("we don't use barrel files", "barrel files"),
    ("Always run `make lint` before pushing", "make lint"),
    ("please never log customer emails", "customer emails"),
    ("In this project we write migrations by hand.", "migrations"),
    (
        "avoid lodash in new code, use native methods instead of helpers",
        "lodash",
    ),
    ("stop, never edit snapshots by hand", "snapshots"),
    ("Remember: all public functions must have docs", "docs"),
    ("no use `pnpm dlx`, never npx", "pnpm dlx"),
    ("Our API errors must use problem+json", "problem+json"),
];

/// Sentences of people that contain no rule.
const CHATTER: &[&str] = &[
    "Add a page that lists all invoices of a customer",
    "the tests fail on CI, can you look?",
    "yes",
    "ok go on",
    "No, that is not what I meant. Look at the screenshot again.",
    "please also handle the empty case",
    "why is this slow?",
    "use the approach from the other branch",
    "don't touch that file",
    "actually, scratch that",
    "never mind, I found it",
    "can you always show the full error? I only see half",
    "no worries, take your time",
    "Looks good to me. Commit it please.",
    "hmm, the button is still on the left",
    "wait, let me check something first",
    "stop for a moment",
    "rename it to InvoiceList",
    "I never liked this function",
    "We should ship it today",
    "no, revert the last change",
    "don't run the whole suite now",
    "make the table sortable by date",
    "that broke the login, fix it",
    "always nice to see it green :)",
    "use the second option",
    "not sure about this, what do you think?",
    "No idea. Try it.",
    "remove the debug output",
    "we are close, keep going",
    "only change the header",
    "do the same for refunds",
    "never seen that error before",
    "Actually the customer wants it in red",
    "our designer will send new icons tomorrow",
    "no need to add tests for this one",
];

const HABITS: &[(&str, &str)] = &[
    ("cargo nextest run", "cargo nextest run"),
    ("pnpm run test 2>&1 | tail -20", "pnpm run test"),
    ("make lint", "make lint"),
    ("npm run build", "npm run build"),
    ("uv run pytest", "uv run pytest"),
    ("go vet ./...", ""),
    ("cargo clippy --all-targets", "cargo clippy --all-targets"),
    ("just test", "just test"),
];

/// Pseudo-random numbers derived from a seed.
struct TranscriptRng(u64);

impl TranscriptRng {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits fit") % most
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// A transcript under construction, in the format of Claude Code or Codex.
struct TranscriptFixtureBuilder {
    codex: bool,
    lines: Vec<Value>,
    calls: usize,
}

impl TranscriptFixtureBuilder {
    fn ask(&mut self, text: &str) {
        self.lines.push(if self.codex {
            json!({"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}})
        } else {
            json!({"type": "user", "sessionId": "s-1", "cwd": "/w/app", "message": {"role": "user", "content": text}})
        });
    }

    fn say(&mut self, text: &str) {
        self.lines.push(if self.codex {
            json!({"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}})
        } else {
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}})
        });
    }

    fn run(&mut self, command: &str, output: &str, code: i32) {
        self.calls += 1;
        let call = format!("call-{}", self.calls);
        if self.codex {
            let arguments = json!({"command": ["bash", "-lc", command]}).to_string();
            let output = json!({"output": output, "metadata": {"exit_code": code}}).to_string();
            self.lines.push(json!({"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": call}}));
            self.lines.push(json!({"type": "response_item", "payload": {"type": "function_call_output", "call_id": call, "output": output}}));
        } else {
            self.lines.push(json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}]}}));
            self.lines.push(json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": call, "is_error": code != 0, "content": output}]}}));
        }
    }

    fn edit(&mut self, path: &str) {
        self.calls += 1;
        let call = format!("call-{}", self.calls);
        if self.codex {
            let patch =
                format!("*** Begin Patch\n*** Update File: {path}\n+one\n+two\n*** End Patch");
            self.lines.push(json!({"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": call}}));
            self.lines.push(json!({"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": call, "output": "Success. Updated the following files:\n"}}));
        } else {
            let input = json!({"file_path": format!("/w/app/{path}"), "old_string": "a", "new_string": "b\nc"});
            self.lines.push(json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": call, "name": "Edit", "input": input}]}}));
            self.lines.push(json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": call, "content": "updated"}]}}));
        }
    }

    /// Work that teaches nothing.
    fn noise(&mut self, dice: &mut TranscriptRng) {
        let file = dice.one(&[
            "src/invoice.rs",
            "src/table.ts",
            "app/views.py",
            "lib/refund.rb",
        ]);
        match dice.below(9) {
            0 => self.ask(dice.one(CHATTER)),
            1 => self.run("git status --short", " M src/a.rs", 0),
            2 => self.run("grep -rn total src", "", 1),
            3 => {
                // A mistake the agent made and fixed itself.
                self.edit(file);
                self.run(
                    "cargo check -p invoices",
                    "error[E0425]: cannot find value `totl` in this scope",
                    101,
                );
                self.edit(file);
                self.run("cargo check -p invoices", "", 0);
            }
            4 => {
                // The command passed on retry without a change.
                self.run(
                    "npx playwright test",
                    "Error: page.goto: Timeout 30000ms exceeded.",
                    1,
                );
                self.run("npx playwright test", "12 passed", 0);
            }
            5 => {
                // Only part of the failed command passed.
                self.run(
                    "pytest -x",
                    "E   AssertionError: assert 3 == 4 is not what was expected",
                    1,
                );
                self.edit("app/other.py");
                self.run("pytest tests/test_views.py", "4 passed", 0);
            }
            6 => {
                // The fix touched too many files to name one.
                self.run(
                    "mvn verify",
                    "[ERROR] cannot find symbol class InvoiceService",
                    1,
                );
                for name in ["A", "B", "C", "D", "E"] {
                    self.edit(&format!("src/main/java/{name}.java"));
                }
                self.run("mvn verify", "BUILD SUCCESS", 0);
            }
            7 => {
                // The fix did not last.
                self.run(
                    "npm run e2e",
                    "Error: listen EADDRINUSE: address already in use :::3000",
                    1,
                );
                self.edit("e2e/config.ts");
                self.run("npm run e2e", "ok", 0);
                self.run(
                    "npm run e2e",
                    "Error: listen EADDRINUSE: address already in use :::3000",
                    1,
                );
            }
            _ => self.run("ls -la src", "total 3", 0),
        }
        if dice.below(3) == 0 {
            self.say("I looked at it. We always do it like this: never without tests.");
        }
    }
}

/// Planted moments: kind, and the words that a finding must contain.
type PlantedMoments = BTreeSet<(ExtractionKind, Vec<String>)>;

fn generate_transcript(seed: u64) -> (String, PlantedMoments) {
    let mut dice = TranscriptRng(seed.wrapping_mul(7919) + 11);
    let mut writer = TranscriptFixtureBuilder {
        codex: seed % 2 == 1,
        lines: Vec::new(),
        calls: 0,
    };
    if writer.codex {
        writer
            .lines
            .push(json!({"type": "session_meta", "payload": {"id": "s-1", "cwd": "/w/app"}}));
    }
    let mut planted = PlantedMoments::new();
    writer.ask("Please make the invoice list faster.");
    writer.say("I will look.");
    let noise = |writer: &mut TranscriptFixtureBuilder, dice: &mut TranscriptRng| {
        for _ in 0..dice.below(5) {
            writer.noise(dice);
        }
    };
    let (command, why, cure) = dice.one(FIXES);
    let (rule, word) = dice.one(RULES);
    let (habit, way) = dice.one(HABITS);
    let times = 1 + dice.below(5);
    for round in 0..6 {
        noise(&mut writer, &mut dice);
        if round == 1 {
            writer.run(command, why, 1);
            let held = match cure.strip_prefix("FILE ") {
                Some(file) => {
                    writer.edit(file);
                    file
                }
                None => {
                    writer.run(cure, "done", 0);
                    cure
                }
            };
            if dice.below(2) == 0 {
                writer.run("git diff", "+ x", 0);
            }
            writer.run(command, "ok", 0);
            let holds = vec![format!("`{command}`"), format!("`{held}`")];
            planted.insert((ExtractionKind::Fix, holds));
        }
        if round == 3 {
            writer.ask(rule);
            planted.insert((ExtractionKind::Correction, vec![word.to_owned()]));
        }
        if round < times {
            writer.run(habit, "ok", 0);
        }
    }
    // A command that passed after the fix also counts as one that ran successfully.
    let passes = times + usize::from(habit == command);
    if passes >= 3 && !way.is_empty() {
        planted.insert((ExtractionKind::Habit, vec![format!("`{way}`")]));
    }
    let lines: Vec<String> = writer.lines.iter().map(ToString::to_string).collect();
    (lines.join("\n"), planted)
}

#[test]
fn most_of_what_was_planted_is_found_and_little_else() {
    let mut tallies = [(0u32, 0u32, 0u32); 4];
    let mut false_ones = BTreeSet::new();
    let mut missed = BTreeSet::new();
    for seed in 0..TRANSCRIPTS {
        let (text, mut planted) = generate_transcript(seed);
        let agent = detect_agent(text.as_bytes()).expect("a transcript");
        for kind in [
            ExtractionKind::Fix,
            ExtractionKind::Correction,
            ExtractionKind::Habit,
        ] {
            tallies[kind as usize].0 +=
                u32::try_from(planted.iter().filter(|it| it.0 == kind).count()).unwrap();
        }
        for mut moment in extract_transcript_claims(&parse_transcript(agent, text.as_bytes()), None)
        {
            // A rule that a person states is found as either.
            if moment.found == ExtractionKind::Decision {
                moment.found = ExtractionKind::Correction;
            }
            let fits = planted.iter().find(|(kind, holds)| {
                *kind == moment.found && holds.iter().all(|it| moment.text.contains(it.as_str()))
            });
            match fits.cloned() {
                Some(fitting) => {
                    planted.remove(&fitting);
                    tallies[moment.found as usize].1 += 1;
                }
                None => {
                    tallies[moment.found as usize].2 += 1;
                    false_ones.insert(moment.text);
                }
            }
        }
        missed.extend(planted);
    }
    let (mut planted, mut found, mut wrong) = (0, 0, 0);
    for (kind, (p, f, w)) in ["fix", "correction", "decision", "habit"]
        .iter()
        .zip(tallies)
    {
        println!("{kind}: {p} planted, {f} found, {w} others");
        planted += p;
        found += f;
        wrong += w;
    }
    println!("others: {false_ones:#?}\nmissed: {missed:#?}");
    let (recall, precision) = (
        f64::from(found) / f64::from(planted),
        f64::from(found) / f64::from(found + wrong),
    );
    println!("recall {recall:.3}, precision {precision:.3}");
    assert!(recall >= RECALL_MIN, "{recall}");
    assert!(precision >= PRECISION_MIN, "{precision}");
}
