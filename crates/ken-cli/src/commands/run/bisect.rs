//! `ken run bisect`, also `ken bisect`: finds the entry that changes what an agent does.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use ken_core::ledger::store::EntryFilter;
use ken_core::trust::bisection::{BehaviorRates, Bisection, TrialCount};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_engine::GitEnv;
use ken_engine::runs::ScratchCopy;
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{escape_invisible, pluralize};
use crate::world::Environment;

/// Runs with all suspects, and runs without any, that estimate how often the agent follows.
const RUNS_WITH_ALL: u32 = 6;
const RUNS_WITH_NONE: u32 = 4;

/// Exit code of a command whose run tells nothing, as for `git bisect run`.
const SKIPPED: i32 = 125;

/// Skipped runs in a row after which the search ends.
const SKIPPED_MAX: u32 = 5;

/// `ken run bisect`.
#[derive(Debug, Args)]
#[command(after_help = "\
COMMAND starts your agent on the task and ends with 0 if it did the right thing, 125 if the run told
nothing, and another code if it did the wrong one. It runs many times, each time in a fresh copy of
the last commit in which some entries are archived. Your repository is not changed. Agents follow
what they are shown only sometimes, so Ken repeats runs until one entry is almost certain.

Examples:
  ken bisect -- ./ask-agent.sh
  ken bisect --suspects HEAD -- ./ask-agent.sh")]
pub(crate) struct BisectArgs {
    /// Search only among the entries that the agents of this run or commit were shown
    #[arg(long, value_name = "RUN|COMMIT")]
    pub(crate) suspects: Option<String>,
    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) max_runs: u32,
    /// The command with its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Serialize)]
struct BisectObject<'a> {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<EntryId>,
    /// The most probable entry and its probability, in thousandths.
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<EntryId>,
    probability_milli: u16,
    suspects: usize,
    runs: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    statement: Option<&'a str>,
}

/// A copy of the repository in which the command runs.
struct TrialSite<'a> {
    copy: ScratchCopy,
    suspects: BTreeSet<EntryId>,
    command: &'a [String],
    by: Actor,
    runs: u32,
    max_runs: u32,
}

impl TrialSite<'_> {
    /// Runs the command with only these suspects. Returns whether the agent did the wrong thing.
    fn try_with(
        &mut self,
        session: &mut Session<'_>,
        shown: &BTreeSet<EntryId>,
    ) -> Result<bool, CommandFailure> {
        let withheld = self.suspects.difference(shown).copied().collect();
        for _ in 0..SKIPPED_MAX {
            if self.runs >= self.max_runs {
                let why = format!("no entry was found in {} runs", self.max_runs);
                return Err(CommandFailure::refused("undecided", why)
                    .with_hint("allow more with --max-runs N"));
            }
            self.runs += 1;
            let code = self.run_once(&withheld)?;
            let result = match code {
                0 => "right",
                SKIPPED => "skipped",
                _ => "wrong",
            };
            session.printer.note(&format!(
                "run {}: {} of {} shown: {result}",
                self.runs,
                shown.len(),
                self.suspects.len()
            ))?;
            if code != SKIPPED {
                return Ok(code != 0);
            }
        }
        Err(CommandFailure::refused(
            "undecided",
            format!("the command skipped {SKIPPED_MAX} runs in a row"),
        ))
    }

    fn run_once(&self, withheld: &BTreeSet<EntryId>) -> Result<i32, CommandFailure> {
        self.copy.reset()?;
        let root = self.copy.root();
        let site = Environment::at(root, &GitEnv::default(), &self.by);
        let (mut engine, by) = site.open_to_write()?;
        engine.archive_entries(withheld, &by)?;
        drop(engine);
        let (program, arguments) = self
            .command
            .split_first()
            .ok_or_else(|| CommandFailure::usage("name a command behind --"))?;
        let status = Command::new(resolve(program, root))
            .args(arguments)
            .current_dir(root)
            // Of the repository that is not meant here.
            .env_remove("KEN_RUN")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .map_err(|error| CommandFailure::usage(format!("cannot start `{program}`: {error}")))?;
        // A signal ended it.
        Ok(status.code().unwrap_or(SKIPPED))
    }
}

/// Returns the program: a path is relative to where you are, where the command may be untracked.
fn resolve(program: &str, copy: &Path) -> std::path::PathBuf {
    let path = Path::new(program);
    if path.components().count() < 2 || path.is_absolute() {
        return path.to_owned();
    }
    std::path::absolute(path).unwrap_or_else(|_| copy.join(path))
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &BisectArgs,
) -> Result<CommandExit, CommandFailure> {
    let folder = tempfile::tempdir()
        .map_err(|error| CommandFailure::usage(format!("no scratch folder: {error}")))?;
    let (suspects, copy, by) = session.write(|engine, by| {
        let suspects: BTreeSet<EntryId> = match &args.suspects {
            Some(target) => {
                let blame = engine.blame(target)?;
                blame.entries.iter().map(|it| it.entry.id).collect()
            }
            None => {
                let all = engine.list(&EntryFilter::default())?;
                all.iter().map(|it| it.id).collect()
            }
        };
        let copy = ScratchCopy::create(engine, &folder.path().join("copy"))?;
        Ok((suspects, copy, by.clone()))
    })?;
    if suspects.is_empty() {
        return Err(CommandFailure::refused("undecided", "no entry is suspect"));
    }
    let mut site = TrialSite {
        copy,
        suspects,
        command: &args.command,
        by,
        runs: 0,
        max_runs: args.max_runs,
    };
    let search = search(session, &mut site)?;
    report(session, &site, &search)
}

fn search(
    session: &mut Session<'_>,
    site: &mut TrialSite<'_>,
) -> Result<Bisection, CommandFailure> {
    // Both rates come first: without a difference between them there is nothing to search for.
    let (all, none) = (site.suspects.clone(), BTreeSet::new());
    let (mut with_all, mut with_none) = (TrialCount::default(), TrialCount::default());
    for _ in 0..RUNS_WITH_ALL {
        with_all.add(site.try_with(session, &all)?);
    }
    if with_all.bad == 0 {
        let why = format!("the agent did the right thing in all of {RUNS_WITH_ALL} runs");
        return Err(CommandFailure::refused("undecided", why));
    }
    for _ in 0..RUNS_WITH_NONE {
        with_none.add(site.try_with(session, &none)?);
    }
    let rates = BehaviorRates::estimate(with_all, with_none);
    if !rates.is_caused() {
        let why = format!(
            "the entries are not the cause: the agent did the wrong thing in {} of {RUNS_WITH_ALL} runs with them and in {} of {RUNS_WITH_NONE} without",
            with_all.bad, with_none.bad
        );
        return Err(CommandFailure::refused("undecided", why));
    }
    let mut search = Bisection::new(all, rates);
    while search.found().is_none() {
        let shown = search.next_shown();
        let is_bad = site.try_with(session, &shown)?;
        search.record(&shown, is_bad);
    }
    Ok(search)
}

fn report(
    session: &mut Session<'_>,
    site: &TrialSite<'_>,
    search: &Bisection,
) -> Result<CommandExit, CommandFailure> {
    let Some((id, probability)) = search.best() else {
        return Err(CommandFailure::refused("undecided", "no entry is suspect"));
    };
    let entry = session.read(|engine| Ok(engine.entry(id)?))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a probability"
    )]
    let probability_milli = (probability * 1_000.0) as u16;
    if session.is_json() {
        session.printer.json(&BisectObject {
            schema: "ken.bisect.v1",
            found: search.found(),
            best: Some(id),
            probability_milli,
            suspects: site.suspects.len(),
            runs: site.runs,
            statement: Some(entry.statement_text()),
        })?;
        return Ok(CommandExit::Fine);
    }
    let runs = pluralize(u64::from(site.runs), "run", "runs");
    session.printer.line(format_args!(
        "{id}  {}",
        escape_invisible(entry.statement_text())
    ))?;
    session.printer.talk(format_args!(
        "changes what the agent does, with a probability of {:.1} %, after {runs}",
        f64::from(probability_milli) / 10.0
    ))?;
    let hint = format_args!("`ken log {id}` shows its history, `ken retract {id}` retracts it");
    session.printer.hint(hint)?;
    Ok(CommandExit::Fine)
}
