//! `ken verify`: checks entries against the code, or a change against the gates.

use clap::Args;
use ken_core::ledger::event::CheckResult;
use ken_core::trust::run::ExposureChannel;
use ken_engine::validity::{
    ChangeOrigin, LedgerChange, is_bare_repository, verify_bare_repository,
};
use ken_engine::verify::{GateFinding, GateResult, VerifyOutcome, VerifyScope};
use serde::Serialize;

use super::Session;
use crate::args::Format;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::gate;
use crate::print::pluralize;
use crate::print::progress::ProgressIndicator;
use crate::print::sarif::sarif_log;

/// `ken verify`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken verify                      check every entry\n  ken verify --base               check your change since the default branch\n  ken verify --base main          check a change since main, as in CI\n\nOutdated norms, secrets and damage fail; other outdated entries are warnings.\nSet `fail_on = \"any\"` in the section `[verify]` of .ken/config.toml to fail on those too."
)]
pub(crate) struct VerifyArgs {
    /// Check only the change since the branch left REV [default REV: the default branch]
    #[arg(long, value_name = "REV", num_args = 0..=1)]
    #[expect(
        clippy::option_option,
        reason = "absent, without a value, with a value"
    )]
    pub(crate) base: Option<Option<String>>,
    /// End of the change, which need not be checked out [default: the worktree]
    #[arg(long, value_name = "REV", requires = "base")]
    pub(crate) head: Option<String>,
    /// The change comes from a fork: fail on changes that only members may make
    #[arg(long, requires = "base")]
    pub(crate) from_fork: bool,
    /// Record how the other checks of a CI job ended, for the commits of the change
    #[arg(long, value_name = "RESULT", requires = "base")]
    pub(crate) record: Option<RecordedResult>,
}

/// The result of a CI job, also in the words of GitHub's `job.status`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum RecordedResult {
    #[value(alias = "success")]
    Passed,
    #[value(alias = "failure")]
    Failed,
}

#[derive(Serialize)]
struct VerifyObject<'a> {
    schema: &'static str,
    passes: bool,
    entries: usize,
    events: u64,
    /// Every gate that ran, with its verdict.
    gates: Vec<GateResult>,
    findings: &'a [GateFinding],
    /// Number of edits of entry files that were checked as if `ken sync` had recorded them.
    unrecorded_edits: usize,
    /// Number of entries checked against the code; `parsed` counts the files read for it.
    checked: usize,
    parsed: usize,
    invalid: Vec<gate::CheckedEntryJson<'a>>,
    invalid_before: Vec<gate::CheckedEntryJson<'a>>,
    moved: Vec<gate::CheckedEntryJson<'a>>,
    unverifiable: Vec<gate::CheckedEntryJson<'a>>,
    norms: Vec<String>,
    brings: &'a [LedgerChange],
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &VerifyArgs,
) -> Result<CommandExit, CommandFailure> {
    let scope = match &args.base {
        None => VerifyScope::Everything,
        Some(base) => VerifyScope::Change {
            base: base.as_deref(),
            head: args.head.as_deref(),
            from: if args.from_fork {
                ChangeOrigin::Fork
            } else {
                ChangeOrigin::Member
            },
        },
    };
    if let (
        VerifyScope::Change {
            base,
            head: Some(head),
            from,
        },
        true,
    ) = (scope, is_bare_repository(&session.surroundings.start))
    {
        let now = crate::world::runtime()?.now();
        let start = &session.surroundings.start;
        let verified = verify_bare_repository(start, (base, head), from, now, &mut |_, _| ())?;
        return finish(session, &verified);
    }
    let progress = ProgressIndicator::start(session.printer, "verifying", None);
    let surroundings = session.surroundings.clone();
    let opened = session.surroundings.open_to_maintain()?;
    let (verified, notices) = session.write_quietly(opened, |engine, by| {
        let check =
            |it: &ProgressIndicator| engine.verify(scope, &mut |at, all| it.set_progress(at, all));
        let verified = progress.during(check)?;
        // After the check, so that a failing check of Ken does not hide the result of the others.
        if let (Some(result), Some(base)) = (args.record, &args.base) {
            let result = match result {
                RecordedResult::Passed => CheckResult::Passed,
                RecordedResult::Failed => CheckResult::Failed,
            };
            engine.record_ci_result((base.as_deref(), args.head.as_deref()), result, by)?;
        }
        let reader = surroundings.as_reader(by);
        engine.record_exposures(
            &reader,
            &verified.validity.shown_entries(),
            ExposureChannel::Pull,
        )?;
        Ok(verified)
    })?;
    session.printer.notices(&notices)?;
    finish(session, &verified)
}

fn finish(
    session: &mut Session<'_>,
    verified: &VerifyOutcome,
) -> Result<CommandExit, CommandFailure> {
    print(session, verified)?;
    Ok(if verified.passes() {
        CommandExit::Fine
    } else {
        CommandExit::Refused
    })
}

fn print(session: &mut Session<'_>, verified: &VerifyOutcome) -> Result<(), CommandFailure> {
    match session.printer.format() {
        Format::Text if session.printer.is_quiet() => session
            .printer
            .text(gate::finding_lines(&verified.findings)),
        Format::Text => print_text(session, verified),
        Format::Json => session.printer.json(&verify_object(verified)),
        Format::Sarif => session.printer.json(&sarif_log(&verified.findings)),
        Format::Github => session
            .printer
            .text(gate::github_annotations(&verified.findings)),
        Format::Markdown => session.printer.text(gate::verification_markdown(verified)),
    }
}

fn print_text(session: &mut Session<'_>, verified: &VerifyOutcome) -> Result<(), CommandFailure> {
    let width = session.printer.width();
    session
        .printer
        .text(gate::verification_text(verified, width))?;
    let checks = &verified.validity;
    if verified.unrecorded_edits > 0 {
        let edits = pluralize(verified.unrecorded_edits as u64, "edit", "edits");
        session.printer.note(&format!(
            "{edits} of entry files checked as if recorded; run `ken sync` to record"
        ))?;
    }
    if !checks.moved.is_empty() {
        session
            .printer
            .hint("`ken sync` updates the anchors of moved code")?;
    }
    if !checks.invalid.is_empty() || !checks.invalid_before.is_empty() {
        session
            .printer
            .hint("`ken entry reanchor` shows each entry whose code changed and asks what to do")?;
    }
    Ok(())
}

/// Returns the JSON document of a verification.
pub(crate) fn verify_object(verified: &VerifyOutcome) -> impl Serialize {
    let impact = &verified.validity;
    let objects = |all| gate::CheckedEntryJson::all(all);
    VerifyObject {
        schema: "ken.verify.v1",
        passes: verified.passes(),
        entries: verified.entries,
        events: verified.events,
        gates: verified.gate_results(),
        findings: &verified.findings,
        unrecorded_edits: verified.unrecorded_edits,
        checked: impact.checked,
        parsed: impact.parsed_files,
        invalid: objects(&impact.invalid),
        invalid_before: objects(&impact.invalid_before),
        moved: objects(&impact.moved),
        unverifiable: objects(&impact.unverifiable),
        norms: impact.norms.iter().map(|it| it.id.to_string()).collect(),
        brings: &impact.ledger_changes,
    }
}
