//! Runs one case step by step and collects the checks that fail.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::check::{self, Answer};
use super::data::{CaseData, StepData, StepRole};
use super::floor;
use super::hub::Hub;
use super::mcp;
use super::scratch::{self, FIRST_REPOSITORY, Scratch};
use super::words::{Variables, split};

/// HTTP status that a request expects unless its step names another.
const STATUS_OK: i32 = 200;

/// Whether the writes of a case are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunMode {
    Score,
    /// Without writes: the ledger stays empty.
    Floor,
}

/// Failed checks of a case, by the role of their step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CaseFailures {
    /// A failed setup ends the case: nothing after it means anything.
    pub(crate) setup: Vec<String>,
    pub(crate) expect: Vec<String>,
    pub(crate) control: Vec<String>,
    pub(crate) strict: Vec<String>,
    /// Steps that are known to fail and did not.
    pub(crate) fixed: Vec<String>,
    /// Checks that fail beside those that are known to, in a case that marks the latter.
    pub(crate) new: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CaseOutcome {
    Ran(CaseFailures),
    NotRun(String),
    NotApplicable(String),
}

/// The world of one case.
struct CaseRun<'a> {
    scratch: Scratch,
    hub: Option<&'a mut Hub>,
    variables: Variables,
    mode: RunMode,
}

/// Runs a case in a scratch folder of its own; `number` makes its names unique in this run.
pub(crate) fn run(
    case: &CaseData,
    steps: &[StepData],
    ken: &Path,
    hub: Result<&mut Hub, &str>,
    (mode, number): (RunMode, usize),
) -> Result<CaseOutcome, String> {
    if let Some(reason) = &case.not_applicable {
        return Ok(CaseOutcome::NotApplicable(reason.clone()));
    }
    let hub = match (case.hub, hub) {
        (false, _) => None,
        (true, Ok(hub)) => Some(hub),
        (true, Err(reason)) => return Ok(CaseOutcome::NotRun(reason.to_owned())),
    };
    let database = hub.as_ref().map(|hub| hub.database()).transpose()?;
    let scratch = Scratch::create(&number.to_string(), ken, database.as_deref())?;
    scratch.add_repository(FIRST_REPOSITORY)?;
    let mut variables = Variables::default();
    variables.unset_allowed = mode == RunMode::Floor;
    variables.set("PAYLOAD", case.payload.concat().repeat(case.repeat));
    variables.set("ORG", format!("org{number}"));
    variables.set(
        "HUB",
        hub.as_ref().map_or_else(String::new, |hub| hub.origin()),
    );
    let mut run = CaseRun {
        scratch,
        hub,
        variables,
        mode,
    };
    let mut failures = CaseFailures::default();
    let has_known = steps.iter().any(|step| step.known);
    for step in steps {
        if !run.take(step, has_known, &mut failures)? {
            break;
        }
    }
    Ok(CaseOutcome::Ran(failures))
}

impl CaseRun<'_> {
    /// Carries out a step; returns whether the case goes on.
    fn take(
        &mut self,
        step: &StepData,
        has_known: bool,
        failures: &mut CaseFailures,
    ) -> Result<bool, String> {
        let (role, line) = step.command()?;
        let failed = match self.try_take(step, line) {
            Ok(failed) => failed,
            // On the floor a step may stumble over an id that nothing created.
            Err(_) if self.mode == RunMode::Floor && role == StepRole::Setup => Vec::new(),
            Err(error) => vec![error],
        };
        if step.known && failed.is_empty() {
            failures.fixed.push(line.to_owned());
        }
        let failed: Vec<String> = failed
            .into_iter()
            .map(|failure| format!("{line}: {failure}"))
            .collect();
        if has_known && !step.known {
            failures.new.extend(failed.iter().cloned());
        }
        match role {
            StepRole::Setup if self.mode == RunMode::Floor => {}
            StepRole::Setup => failures.setup.extend(failed),
            StepRole::Expect => failures.expect.extend(failed),
            StepRole::Control => failures.control.extend(failed),
            StepRole::Strict => failures.strict.extend(failed),
        }
        Ok(failures.setup.is_empty())
    }

    fn try_take(&mut self, step: &StepData, line: &str) -> Result<Vec<String>, String> {
        let words: Result<Vec<String>, String> = split(line)?
            .iter()
            .map(|word| self.variables.expand(word))
            .collect();
        let words = words?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if self.mode == RunMode::Floor && floor::writes(&words) {
            return Ok(Vec::new());
        }
        let (answer, expected) = self.answer(step, &words)?;
        let failed = check::failures(step, expected, &answer, &self.variables)?;
        if failed.is_empty() {
            check::save(step, &answer, &mut self.variables)?;
            return Ok(failed);
        }
        for other in &step.or {
            let (_, line) = other.command()?;
            // A write that is skipped has not held.
            let words = split(line)?;
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if self.mode == RunMode::Floor && floor::writes(&words) {
                continue;
            }
            if self.try_take(other, line)?.is_empty() {
                return Ok(Vec::new());
            }
        }
        Ok(failed)
    }

    /// Carries out a command line; returns the answer and the code that the step expects.
    fn answer(&mut self, step: &StepData, words: &[&str]) -> Result<(Answer, i32), String> {
        let dir = step.dir.as_deref().unwrap_or(FIRST_REPOSITORY);
        let exit = step.exit.unwrap_or(0);
        let text = self
            .variables
            .expand(step.text.as_deref().unwrap_or_default())?;
        let answer = match words {
            ["ken" | "git", ..] => {
                let stdin = step.stdin.as_deref().unwrap_or_default();
                let stdin = self.variables.expand(stdin)?;
                self.scratch.run(words, dir, &step.env, &stdin)?
            }
            ["entries"] => self.entries(dir)?,
            ["mcp", actor, tool] => self.mcp(step, dir, actor, tool)?,
            ["http", method, path] => {
                let status = step.status.map_or(STATUS_OK, i32::from);
                return Ok((self.http(step, method, path)?, status));
            }
            ["scan", needle, paths @ ..] => self.scan(needle, paths)?,
            ["file", path] => {
                let path = Path::new(dir).join(path);
                self.scratch
                    .write_file(&path, &text)
                    .map(|()| Answer::default())?
            }
            ["remove", path] => {
                let path = Path::new(dir).join(path);
                self.scratch.remove(&path).map(|()| Answer::default())?
            }
            ["repository", name] => self
                .scratch
                .add_repository(name)
                .map(|()| Answer::default())?,
            ["hub", "restart"] => {
                let hub = self.hub.as_mut().ok_or("the case has no hub")?;
                hub.restart().map(|()| Answer::default())?
            }
            _ => return Err("not a command of the referee".to_owned()),
        };
        Ok((answer, exit))
    }

    fn mcp(&self, step: &StepData, dir: &str, actor: &str, tool: &str) -> Result<Answer, String> {
        let calls = match &step.args {
            Some(Value::Array(calls)) => calls.clone(),
            Some(one) => vec![one.clone()],
            None => return Err("an MCP call needs `args`".to_owned()),
        };
        let calls: Result<Vec<Value>, String> = calls
            .iter()
            .map(|call| self.variables.expand_json(call))
            .collect();
        let mut command = self.scratch.command("ken", dir);
        command.args(["mcp", "--by", actor]).envs(&step.env);
        mcp::call(command, tool, &calls?)
    }

    fn http(&self, step: &StepData, method: &str, path: &str) -> Result<Answer, String> {
        let hub = self.hub.as_ref().ok_or("the case has no hub")?;
        let token = step
            .token
            .as_deref()
            .map(|token| self.variables.expand(token));
        let body = step
            .args
            .as_ref()
            .map(|body| self.variables.expand_json(body));
        let (token, body) = (token.transpose()?, body.transpose()?);
        hub.request(method, path, token.as_deref(), body.as_ref())
    }

    /// Looks for bytes below paths of the scratch folder; the code is 0 if there are any.
    fn scan(&self, needle: &str, paths: &[&str]) -> Result<Answer, String> {
        let root = self.scratch.root();
        let paths: Vec<PathBuf> = paths.iter().map(|path| root.join(path)).collect();
        let found = scratch::scan(root, needle, &paths)?;
        Ok(Answer {
            code: i32::from(found.is_empty()),
            out: found.join("\n"),
            error: String::new(),
        })
    }

    /// Lists every entry of a ledger, one per line: id, status, state, author and statement.
    fn entries(&self, dir: &str) -> Result<Answer, String> {
        let export = ["ken", "ledger", "export", "--all"];
        let mut answer = self.scratch.run(&export, dir, &Default::default(), "")?;
        let entries = answer.out.lines().map(|line| {
            let entry: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
            Ok::<_, String>(summary(&entry))
        });
        answer.out = entries.collect::<Result<Vec<String>, String>>()?.join("\n");
        Ok(answer)
    }
}

fn summary(entry: &Value) -> String {
    let text = |pointer| {
        let value = entry.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or("-").replace('\n', " ")
    };
    let statement = text("/content/statement");
    let is_set = |name: &str| entry.get(name).is_some_and(|value| !value.is_null());
    let is_quarantined = entry["quarantine"]
        .as_array()
        .is_some_and(|ids| !ids.is_empty());
    let state = if is_quarantined {
        "quarantined"
    } else if is_set("retracted") {
        "retracted"
    } else if is_set("superseded_by") {
        "superseded"
    } else if is_set("archived") {
        "archived"
    } else if is_set("merged_into") {
        "merged"
    } else if statement.contains("[REDACTED:") {
        "redacted"
    } else {
        "admitted"
    };
    let (id, status, author) = (text("/id"), text("/status/value"), text("/created/by"));
    format!("{id} {status} {state} {author}: {statement}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_admitted_only_if_nothing_stands_against_it() {
        let entry = |more: Value| {
            let mut entry = json!({
                "id": "L-1", "status": { "value": "candidate" }, "quarantine": [],
                "created": { "by": "agent:a" }, "content": { "statement": "Two\nlines" },
                "retracted": null,
            });
            for (name, value) in more.as_object().expect("an object") {
                entry[name] = value.clone();
            }
            summary(&entry)
        };
        assert_eq!(
            entry(json!({})),
            "L-1 candidate admitted agent:a: Two lines"
        );
        for (more, state) in [
            (json!({ "quarantine": ["E"] }), "quarantined"),
            (json!({ "retracted": { "reason": "false" } }), "retracted"),
            (json!({ "superseded_by": "L-2" }), "superseded"),
            (
                json!({ "content": { "statement": "[REDACTED:x]" } }),
                "redacted",
            ),
        ] {
            assert!(entry(more).contains(state), "{state}");
        }
    }
}
