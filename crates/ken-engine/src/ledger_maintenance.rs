//! Maintenance of the ledger: packing, redaction, recovery, checks.

use std::collections::BTreeSet;

use ken_core::decide;
use ken_core::ledger::event::BlankReason;
use ken_core::values::actor::Actor;
use ken_ledger::check::{LedgerCheck, LedgerSeverity};
use ken_ledger::git::{GitOperation, operation_in_progress};
use ken_ledger::recover::{RecoverScope, RecoveryReport};
use ken_ledger::replace::{ReplaceError, ReplaceReport};
use ken_ledger::{SegmentName, layout};

use crate::engine::{Engine, READ_TRIES, is_missing_file};
use crate::error::EngineError;
use crate::notice::EngineNotice;
use crate::{files, sync, verify};

/// Number of segments above which `ken doctor` recommends packing.
pub const SEGMENTS_ADVISED_MAX: usize = 2000;

/// One check of `ken doctor`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DoctorCheck {
    pub name: &'static str,
    pub status: DoctorStatus,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// The status of one check of `ken doctor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DoctorStatus {
    Ok,
    Warning,
    Error,
}

/// Packs committed segments; in a git repository, in a commit of its own.
pub(crate) fn pack(engine: &mut Engine) -> Result<ReplaceReport, EngineError> {
    sync::sync_before_writing(engine)?;
    let now = engine.now();
    let replaced = engine.ledger.pack(now, &mut *engine.runtime)?;
    engine.refresh()?;
    Ok(replaced)
}

/// Redacts an event: removes its data from segments, journal, index and entry files.
pub(crate) fn redact(
    engine: &mut Engine,
    event: &str,
    reason: BlankReason,
    by: &Actor,
) -> Result<ReplaceReport, EngineError> {
    sync::sync_before_writing(engine)?;
    let target = engine.event(event)?;
    let draft = decide::redact(&target, by, reason)?;
    // Checked before the redaction is recorded: the event would exist while the data stays.
    if let Some(operation) = operation_under_way(engine) {
        return Err(ReplaceError::Busy(operation).into());
    }
    engine.record(vec![draft], by)?;
    let now = engine.now();
    let ids = BTreeSet::from([target.event.id]);
    let replaced = engine.ledger.blank(&ids, now, &mut *engine.runtime)?;
    engine.refresh()?;
    files::render_due(engine)?;
    Ok(replaced)
}

/// Applies redactions that arrived through git, and redacts copies that it brought back.
pub(crate) fn apply_redactions(engine: &mut Engine) -> Result<(), EngineError> {
    let mut tries = 0;
    let (applied, scrubbed) = loop {
        tries += 1;
        match apply_redactions_once(engine) {
            Err(error) if tries < READ_TRIES && is_missing_file(&error) => {}
            // During a merge, segments cannot be rewritten. Other commands must still work, so
            // this becomes a notice and the next command tries again.
            Err(EngineError::Replace(
                error @ (ReplaceError::Busy(_) | ReplaceError::Commit { .. }),
            )) => {
                let why = error.to_string();
                engine.notices.push(EngineNotice::RedactionDeferred { why });
                return Ok(());
            }
            other => break other?,
        }
    };
    if scrubbed > 0 {
        engine
            .notices
            .push(EngineNotice::CopiesRedacted { events: scrubbed });
    }
    if applied || scrubbed > 0 {
        engine.refresh()?;
    }
    Ok(())
}

/// Returns true if there was a new redaction, and the number of events redacted in the tree.
fn apply_redactions_once(engine: &mut Engine) -> Result<(bool, u64), EngineError> {
    let now = engine.now();
    let (mut all, ordered) = (engine.ledger.blanked_ids()?, engine.index.ordered_blank()?);
    let is_new = !ordered.is_subset(&all);
    // The index answers the usual case, in which there is nothing to redact, without reading
    // segments.
    if !is_new && !engine.index.has_unredacted(&all)? {
        return Ok((false, 0));
    }
    let replaced = if is_new {
        // The redaction comes from another clone, so this clone's journal and its list of
        // redacted ids must follow.
        all.extend(ordered);
        engine.ledger.blank(&all, now, &mut *engine.runtime)?
    } else {
        engine.ledger.scrub(now, &mut *engine.runtime)?
    };
    Ok((is_new, replaced.blanked))
}

/// Recovers events lost in a reset, a clean or with a removed worktree.
pub(crate) fn recover(
    engine: &mut Engine,
    scope: RecoverScope,
) -> Result<RecoveryReport, EngineError> {
    let now = engine.now();
    // Recovery comes before the sync, because edits of entry files may be based on recovered
    // events.
    let recovered = engine.ledger.recover(scope, now, &mut *engine.runtime)?;
    engine.refresh()?;
    sync::sync_before_writing(engine)?;
    files::render_due(engine)?;
    Ok(recovered)
}

/// Verifies every line of every segment and pack.
pub(crate) fn check_ledger(engine: &Engine) -> Result<LedgerCheck, EngineError> {
    Ok(engine.ledger.check()?)
}

/// Returns the lines of a segment or pack as text.
pub(crate) fn segment_text(engine: &Engine, path: &str) -> Result<String, EngineError> {
    let inside = path
        .strip_prefix(&format!("{}/", layout::KEN_DIR))
        .unwrap_or(path);
    let name: SegmentName = inside
        .parse()
        .map_err(|e: layout::SegmentNameError| EngineError::Usage(e.to_string()))?;
    Ok(engine.ledger.read(&name)?.text().to_owned())
}

/// Checks the installation for `ken doctor`.
pub(crate) fn doctor(engine: &mut Engine) -> Result<Vec<DoctorCheck>, EngineError> {
    let checked = engine.ledger.check()?;
    let damaged = checked
        .findings
        .iter()
        .filter(|finding| finding.severity == LedgerSeverity::Damage)
        .count();
    let segments = engine.ledger.list()?.len();
    let copies = verify::unredacted_copies(engine)?.len();
    let unknown: u32 = engine.workspace()?.unknown.values().sum();
    Ok(vec![
        doctor_check(
            "ledger",
            damaged == 0,
            format!(
                "{} in {}",
                count_noun(checked.events, "event"),
                count_noun(segments as u64, "file")
            ),
            || {
                (
                    DoctorStatus::Error,
                    format!("{damaged} damaged lines"),
                    "ken ledger check",
                )
            },
        ),
        doctor_check(
            "segments",
            segments <= SEGMENTS_ADVISED_MAX,
            count_noun(segments as u64, "segment"),
            || {
                (
                    DoctorStatus::Warning,
                    format!("{segments} segments slow git down"),
                    "ken ledger pack",
                )
            },
        ),
        doctor_check(
            "blanked",
            copies == 0,
            "no redacted data in the tree".to_owned(),
            || {
                (
                    DoctorStatus::Error,
                    format!("{copies} unredacted copies of redacted events"),
                    "ken sync",
                )
            },
        ),
        doctor_check(
            "readable",
            unknown == 0,
            "this version of Ken knows every event type".to_owned(),
            || {
                (
                    DoctorStatus::Warning,
                    format!("{unknown} events were written by a newer version of Ken"),
                    "install a newer version of Ken",
                )
            },
        ),
        check_attributes(engine),
    ])
}

fn operation_under_way(engine: &Engine) -> Option<GitOperation> {
    engine
        .place
        .git
        .as_ref()
        .and_then(|dirs| operation_in_progress(&dirs.git_dir))
}

fn check_attributes(engine: &Engine) -> DoctorCheck {
    let text =
        std::fs::read_to_string(engine.place.root.join(".gitattributes")).unwrap_or_default();
    let fine = engine.place.git.is_none() || text.contains(".ken/**/*.jsonl -text");
    doctor_check(
        "gitattributes",
        fine,
        "line endings are preserved".to_owned(),
        || {
            (
                DoctorStatus::Warning,
                ".gitattributes lacks Ken's lines".to_owned(),
                "ken init",
            )
        },
    )
}

fn count_noun(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn doctor_check(
    name: &'static str,
    fine: bool,
    message: String,
    otherwise: impl FnOnce() -> (DoctorStatus, String, &'static str),
) -> DoctorCheck {
    if fine {
        return DoctorCheck {
            name,
            status: DoctorStatus::Ok,
            message,
            fix: None,
        };
    }
    let (status, message, fix) = otherwise();
    DoctorCheck {
        name,
        status,
        message,
        fix: Some(fix.to_owned()),
    }
}
