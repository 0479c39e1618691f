//! Delivery of recorded decisions: `cargo ken-bench eval decisions --data DIR --ken PATH`.
//!
//! `DIR` has `entries.jsonl` (decisions, amendments and unrelated lessons) and `prompts.jsonl` (bug
//! reports, each with the patterns of its rule). The data is not part of this repository. Anchored
//! functions are written as stubs, so that no code of the data set is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ken_testkit::test_env::TestEnvironment;
use regex::Regex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use xtask::repository::Finding;

/// Share of prompts about a recorded decision that must be shown its whole rule.
const WHOLE_MIN: f64 = 28.0 / 33.0;
/// Share of prompts that may get an entry about something else.
const FOREIGN_MAX: f64 = 3.0 / 33.0;
/// The same for a ledger without any decision.
const NOISE_MAX: f64 = 1.0 / 33.0;
/// Share of decisions with changed code that a search must find among ten.
const CHANGED_MIN: f64 = 26.0 / 28.0;

/// What an agent recorded.
#[derive(Deserialize)]
struct RecordedEntry {
    /// The task whose rule it states; `None` for a lesson about something else.
    task: Option<String>,
    kind: String,
    statement: String,
    anchor: Option<String>,
    /// True if it amends the entry before it.
    #[serde(default)]
    amends: bool,
}

/// A prompt and the rule that answers it.
#[derive(Deserialize)]
struct DecisionPrompt {
    task: String,
    prompt: String,
    /// One pattern per essential part of the rule.
    parts: Vec<String>,
}

/// A ledger with known owners of its entries.
struct DecisionLedger {
    env: TestEnvironment,
    /// Task by id; lessons are missing.
    owners: BTreeMap<String, String>,
    superseded: BTreeSet<String>,
}

/// Counts over prompts.
#[derive(Default)]
struct DeliveryCounts {
    prompts: usize,
    whole: usize,
    foreign: usize,
    superseded: usize,
    in_ten: usize,
}

/// Measures what prompts and searches get.
pub(super) fn run(options: &[&str]) -> Result<Vec<Finding>, String> {
    let [("--data", data), ("--ken", ken)] = options
        .chunks(2)
        .map(|pair| (pair[0], *pair.get(1).unwrap_or(&"")))
        .collect::<Vec<_>>()[..]
    else {
        return Err("usage: cargo ken-bench eval decisions --data DIR --ken PATH".to_owned());
    };
    let entries: Vec<RecordedEntry> = read_lines(&Path::new(data).join("entries.jsonl"))?;
    let prompts: Vec<DecisionPrompt> = read_lines(&Path::new(data).join("prompts.jsonl"))?;
    let ledger = DecisionLedger::record(ken, &entries);
    let recorded = ledger.measure(&prompts)?;
    let lessons: Vec<&RecordedEntry> = entries.iter().filter(|it| it.task.is_none()).collect();
    let noise = DecisionLedger::record(ken, lessons).measure(&prompts)?;
    ledger.change_code(&entries);
    let changed = ledger.measure(&prompts)?;
    let bars = [
        (
            "whole rule in the prompt hook",
            recorded.whole,
            WHOLE_MIN,
            true,
        ),
        (
            "prompts with an entry about something else",
            recorded.foreign,
            FOREIGN_MAX,
            false,
        ),
        (
            "the same without any decision",
            noise.foreign,
            NOISE_MAX,
            false,
        ),
        (
            "code changed: decision among ten",
            changed.in_ten,
            CHANGED_MIN,
            true,
        ),
        (
            "superseded rule shown",
            recorded.superseded + changed.superseded,
            0.0,
            false,
        ),
    ];
    let mut missed = Vec::new();
    for (name, count, bar, is_least) in bars {
        let share = count as f64 / recorded.prompts.max(1) as f64;
        println!("{name}: {count} of {} (bar {bar:.2})", recorded.prompts);
        let is_met = if is_least { share >= bar } else { share <= bar };
        if !is_met {
            missed.push(Finding::new(name, 1, "misses its bar"));
        }
    }
    Ok(missed)
}

impl DecisionLedger {
    fn record<'a>(ken: &str, entries: impl IntoIterator<Item = &'a RecordedEntry>) -> Self {
        let entries: Vec<&RecordedEntry> = entries.into_iter().collect();
        let env = TestEnvironment::new(ken).in_git();
        write_stubs(&env, entries.iter().copied(), "None");
        let _ = env.git(["add", "-A"]);
        let _ = env.git(["commit", "-qm", "stubs", "--allow-empty"]);
        let _ = env.run(["init"]).success();
        let (mut owners, mut superseded) = (BTreeMap::new(), BTreeSet::new());
        let mut last = String::new();
        for entry in entries {
            let mut args = vec!["--by", "agent:writer", "add", &entry.statement];
            args.extend(["--kind", &entry.kind, "--cite", "transcript:recorded"]);
            if let Some(anchor) = &entry.anchor {
                args.extend(["--anchor", anchor]);
            }
            if entry.amends {
                args.extend(["--supersedes", &last]);
            }
            let added = env.run(args).success();
            let id = added
                .line()
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned();
            if entry.amends {
                superseded.insert(last.clone());
            }
            if let Some(task) = &entry.task {
                owners.insert(id.clone(), task.clone());
            }
            last = id;
        }
        Self {
            env,
            owners,
            superseded,
        }
    }

    /// Changes every anchored function, as a later commit would.
    fn change_code(&self, entries: &[RecordedEntry]) {
        write_stubs(&self.env, entries, "1");
        let _ = self.env.git(["commit", "-qam", "another way"]);
    }

    fn measure(&self, prompts: &[DecisionPrompt]) -> Result<DeliveryCounts, String> {
        let mut counts = DeliveryCounts::default();
        let id = Regex::new(r"(?m)^\[([A-Z]-[0-9a-z]{8})\]").map_err(|error| error.to_string())?;
        for asked in prompts {
            let input = json!({"session_id": asked.task, "prompt": asked.prompt}).to_string();
            let said = self
                .env
                .run_with(&input, ["hook", "claude-code", "prompt"])
                .success();
            let said = serde_json::from_str::<serde_json::Value>(&said.stdout).unwrap_or_default();
            let said = &said["hookSpecificOutput"]["additionalContext"];
            let said = said.as_str().unwrap_or_default();
            let ids: Vec<&str> = id
                .captures_iter(said)
                .filter_map(|it| Some(it.get(1)?.as_str()))
                .collect();
            let owns = |id: &&str| self.owners.get(*id) == Some(&asked.task);
            counts.prompts += 1;
            counts.foreign += usize::from(!ids.iter().all(owns));
            counts.superseded += ids
                .iter()
                .filter(|it| self.superseded.contains(**it))
                .count();
            let flat = said.to_lowercase();
            let mut is_whole = ids.iter().any(owns);
            for part in &asked.parts {
                let part = Regex::new(part).map_err(|error| error.to_string())?;
                is_whole &= part.is_match(&flat);
            }
            counts.whole += usize::from(is_whole);
            let found = self.env.run([
                "--format",
                "json",
                "search",
                "--mean",
                "--limit",
                "10",
                "--",
                &asked.prompt,
            ]);
            let found: serde_json::Value = serde_json::from_str(&found.stdout).unwrap_or_default();
            let hits = found["results"].as_array().cloned().unwrap_or_default();
            let mut found = hits.iter().filter_map(|it| it["id"].as_str());
            counts.in_ten += usize::from(found.any(|id| owns(&id)));
        }
        Ok(counts)
    }
}

/// Writes a Python function that returns `value` for every anchored symbol.
fn write_stubs<'a>(
    env: &TestEnvironment,
    entries: impl IntoIterator<Item = &'a RecordedEntry>,
    value: &str,
) {
    let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for anchor in entries.into_iter().filter_map(|it| it.anchor.as_deref()) {
        let (path, symbol) = anchor.split_once('#').unwrap_or((anchor, "anything"));
        files.entry(path).or_default().insert(symbol);
    }
    for (path, symbols) in files {
        let stub = |symbol: &&str| format!("def {symbol}(value):\n    return {value}\n\n\n");
        env.write(path, &symbols.iter().map(stub).collect::<String>());
    }
}

fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let parse = |line: &str| serde_json::from_str(line).map_err(|error| error.to_string());
    text.lines()
        .filter(|it| !it.trim().is_empty())
        .map(parse)
        .collect()
}
