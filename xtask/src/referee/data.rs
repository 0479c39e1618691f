//! Cases of the referee as they stand in `xtask/referee/*.toml`.
//!
//! A case is a list of steps. Each step has a role, and its command line is the value of that
//! role's key: `{ setup = "ken add …" }`. Unknown keys are errors, so a typing mistake in the data
//! cannot turn a check off.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// One suite: where it comes from, shared steps and cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuiteFile {
    pub(crate) suite: SuiteFacts,
    /// Steps that several cases begin with, by name.
    #[serde(default)]
    pub(crate) shared: BTreeMap<String, Vec<StepData>>,
    pub(crate) case: Vec<CaseData>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuiteFacts {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) license: String,
}

/// How a case relates to a system without memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CaseClass {
    /// Asks for the presence of something: fails without memory.
    Obligation,
    /// Asks for the absence of something: only its control fails without memory.
    Invariant,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseData {
    pub(crate) id: String,
    pub(crate) title: String,
    /// Row of the score table that counts the case.
    pub(crate) set: String,
    pub(crate) class: CaseClass,
    /// The property under test, for readers.
    pub(crate) checks: String,
    /// The positive control, for readers; its steps have the role `control`.
    pub(crate) control: String,
    /// The upstream test or check that the case belongs to.
    pub(crate) source: String,
    /// Cause of a known miss of the case as worded.
    pub(crate) miss: Option<String>,
    /// Cause of a known miss of the steps with the role `strict`.
    pub(crate) strict_miss: Option<String>,
    /// Why the case cannot be run by a program.
    pub(crate) not_applicable: Option<String>,
    /// Text that `$PAYLOAD` stands for, in parts: a secret in one piece would alarm scanners.
    #[serde(default)]
    pub(crate) payload: Vec<String>,
    #[serde(default = "once")]
    pub(crate) repeat: usize,
    /// Whether the case needs a hub, and with it PostgreSQL.
    #[serde(default)]
    pub(crate) hub: bool,
    /// Names of shared steps that come first.
    #[serde(default, rename = "use")]
    pub(crate) uses: Vec<String>,
    #[serde(default)]
    pub(crate) steps: Vec<StepData>,
}

fn once() -> usize {
    1
}

/// Part of the verdict that a step decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepRole {
    Setup,
    Expect,
    Control,
    Strict,
}

/// A command line with its input and the checks on its answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StepData {
    setup: Option<String>,
    expect: Option<String>,
    control: Option<String>,
    strict: Option<String>,
    /// Repository that the command runs in, `a` by default.
    pub(crate) dir: Option<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) stdin: Option<String>,
    /// Content of a file to write.
    pub(crate) text: Option<String>,
    /// Arguments of an MCP call or body of an HTTP request.
    pub(crate) args: Option<Value>,
    /// Bearer token of an HTTP request.
    pub(crate) token: Option<String>,
    /// Exit code, 0 by default; `any_exit` allows every code but that of a usage error.
    pub(crate) exit: Option<i32>,
    pub(crate) any_exit: bool,
    /// HTTP status, 200 by default.
    pub(crate) status: Option<u16>,
    pub(crate) has: Vec<String>,
    pub(crate) lacks: Vec<String>,
    pub(crate) error_has: Vec<String>,
    /// Patterns that the answer matches.
    pub(crate) matches: Vec<String>,
    /// Longest answer, in characters.
    pub(crate) chars_max: Option<usize>,
    /// How often a text occurs in the answer.
    pub(crate) count: BTreeMap<String, usize>,
    /// Values by JSON pointer, in the first line that has the pointer.
    pub(crate) json: BTreeMap<String, Value>,
    /// Whether the step fails today: the reason is the case's `miss` or `strict_miss`.
    pub(crate) known: bool,
    /// Other steps that may hold instead of this one.
    pub(crate) or: Vec<StepData>,
    /// Variables to keep: a JSON pointer, or `re:` and a pattern with one group.
    pub(crate) save: BTreeMap<String, String>,
}

impl StepData {
    /// Returns the role and the command line.
    pub(crate) fn command(&self) -> Result<(StepRole, &str), String> {
        let roles = [
            (StepRole::Setup, &self.setup),
            (StepRole::Expect, &self.expect),
            (StepRole::Control, &self.control),
            (StepRole::Strict, &self.strict),
        ];
        let mut given = roles
            .iter()
            .filter_map(|(role, line)| line.as_deref().map(|line| (*role, line)));
        match (given.next(), given.next()) {
            (Some(one), None) => Ok(one),
            (None, _) | (Some(_), Some(_)) => Err(format!(
                "a step has exactly one of setup, expect, control, strict: {self:?}"
            )),
        }
    }
}

impl SuiteFile {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let file: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        for case in &file.case {
            for step in file.steps(case)? {
                step.command()
                    .map_err(|error| format!("{}: {error}", case.id))?;
            }
        }
        Ok(file)
    }

    /// Returns the shared steps that a case names, then its own.
    pub(crate) fn steps(&self, case: &CaseData) -> Result<Vec<StepData>, String> {
        let mut steps = Vec::new();
        for name in &case.uses {
            let shared = self.shared.get(name);
            let shared = shared.ok_or_else(|| format!("{}: no shared `{name}`", case.id))?;
            steps.extend(shared.iter().cloned());
        }
        steps.extend(case.steps.iter().cloned());
        Ok(steps)
    }
}
