//! Maintenance of the ledger: packing, redaction, recovery, checks.

use std::collections::BTreeSet;

use ken_core::decide;
use ken_core::ledger::event::BlankReason;
use ken_core::values::actor::Actor;
use ken_ledger::check::{LedgerCheck, LedgerSeverity};
use ken_ledger::cut::CutSegment;
use ken_ledger::git::{GitOperation, operation_in_progress};
use ken_ledger::recover::{RecoverScope, RecoveryReport};
use ken_ledger::replace::{ReplaceError, ReplaceReport};
use ken_ledger::{SegmentName, layout};

use crate::config::RepositoryConfig;
use crate::deleted_segments::{DeletedSegment, find_deleted, restore_deleted};
use crate::engine::{Engine, READ_TRIES, is_missing_file};
use crate::error::EngineError;
use crate::notice::{EngineNotice, LedgerNotice};
use crate::validity::WorkTree;
use crate::{files, git, sync, verify};

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
    let mut recovered = engine.ledger.recover(scope, now, &mut *engine.runtime)?;
    // Segments that are still cut are found again.
    let is_cut =
        |it: &EngineNotice| matches!(it, EngineNotice::Ledger(LedgerNotice::SegmentCut { .. }));
    engine.notices.retain(|it| !is_cut(it));
    engine.refresh()?;
    let branch = git::branch_name(&engine.place);
    for segment in restore_deleted(engine)? {
        let name = segment.path.strip_prefix(&format!("{}/", layout::KEN_DIR));
        let name = name.and_then(|it| it.parse().ok());
        recovered.segments.extend(name);
        *recovered.restored.entry(branch.clone()).or_default() += segment.missing;
    }
    engine.refresh()?;
    sync::sync_before_writing(engine)?;
    files::render_due(engine)?;
    Ok(recovered)
}

/// Verifies every line of every segment and pack.
pub(crate) fn check_ledger(engine: &Engine) -> Result<LedgerCheck, EngineError> {
    let mut checked = engine.ledger.check()?;
    let deleted = find_deleted(engine)?;
    checked
        .findings
        .extend(deleted.iter().map(DeletedSegment::finding));
    Ok(checked)
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
    let cut = cut_segments(engine)?;
    let is_cut = |file: &str| cut.iter().any(|it| it.segment.path() == file);
    let damaged = checked.findings.iter();
    let damaged = damaged.filter(|it| it.severity == LedgerSeverity::Damage && !is_cut(&it.file));
    let damaged = damaged.count();
    let segments = engine.ledger.list()?.len();
    let copies = verify::unredacted_copies(engine)?.len();
    let unknown: u32 = engine.workspace()?.unknown.values().sum();
    let mut checks: Vec<DoctorCheck> = cut.iter().map(check_cut).collect();
    checks.extend(find_deleted(engine)?.iter().map(check_deleted));
    checks.extend([
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
        check_config(engine)?,
        check_hand_edits(engine)?,
    ]);
    checks.extend(check_git(engine)?);
    Ok(checks)
}

/// Returns the sealed segments that lost their end, also those whose events only git has.
fn cut_segments(engine: &Engine) -> Result<Vec<CutSegment>, EngineError> {
    let mut cut = engine.ledger.cut_segments(None)?;
    let mut more: Vec<SegmentName> = Vec::new();
    // Git tracks sealed segments only, and those never change.
    if engine.place.git.is_some() {
        let changed = git::changed_segments(&engine.place)?.into_iter();
        more.extend(changed.filter_map(|it| SegmentName::from_tree_path(&it).ok()));
    }
    let short = engine.index.short_segments()?.into_iter();
    more.extend(short.filter_map(|it| it.segment.parse().ok()));
    for segment in more {
        if cut.iter().all(|it| it.segment != segment) {
            cut.push(CutSegment {
                segment,
                missing: 0,
                whole_len: 0,
            });
        }
    }
    Ok(cut)
}

fn check_deleted(segment: &DeletedSegment) -> DoctorCheck {
    DoctorCheck {
        name: "ledger",
        status: DoctorStatus::Error,
        message: format!(
            "{} is deleted: {} missing",
            segment.path,
            count_noun(segment.missing, "event")
        ),
        fix: Some("ken ledger recover".to_owned()),
    }
}

fn check_cut(cut: &CutSegment) -> DoctorCheck {
    let path = cut.segment.tree_path();
    let (message, fix) = match cut.missing {
        0 => (
            format!("{path} differs from the committed file, which never changes"),
            format!("git checkout -- {path}"),
        ),
        missing => (
            format!(
                "{path} is cut short: {} missing",
                count_noun(missing, "event")
            ),
            "ken ledger recover".to_owned(),
        ),
    };
    DoctorCheck {
        name: "ledger",
        status: DoctorStatus::Error,
        message,
        fix: Some(fix),
    }
}

fn check_config(engine: &Engine) -> Result<DoctorCheck, EngineError> {
    let loaded = RepositoryConfig::load(&WorkTree::new(&engine.place)?);
    let message = "every key of .ken/config.toml is valid".to_owned();
    Ok(doctor_check("config", loaded.is_ok(), message, || {
        let why = loaded.err().map(|error| error.to_string());
        let fix = "correct .ken/config.toml; the defaults apply until then";
        (DoctorStatus::Error, why.unwrap_or_default(), fix)
    }))
}

fn check_hand_edits(engine: &Engine) -> Result<DoctorCheck, EngineError> {
    let edits = sync::pending::count_unrecorded_edits(engine)?;
    let message = "every edit of an entry file is recorded".to_owned();
    Ok(doctor_check("edits", edits == 0, message, || {
        let files = match edits {
            1 => "1 entry file was".to_owned(),
            more => format!("{more} entry files were"),
        };
        let message = format!("{files} edited or deleted and not recorded");
        (DoctorStatus::Warning, message, "ken sync")
    }))
}

/// Checks the git repository: identity, lost events, history.
fn check_git(engine: &Engine) -> Result<Vec<DoctorCheck>, EngineError> {
    let Some(dirs) = &engine.place.git else {
        return Ok(Vec::new());
    };
    let identity = engine.git_identity();
    let who = identity.as_ref().map(ToString::to_string);
    let lost = engine.ledger.count_lost()?;
    let ignored = git::ledger_is_ignored(&engine.place);
    let is_shallow = dirs.common_dir.join("shallow").exists();
    Ok(vec![
        doctor_check(
            "identity",
            identity.is_some(),
            format!("you are {}", who.unwrap_or_default()),
            || {
                (
                    DoctorStatus::Warning,
                    "git has no user.email, so a change needs `--by human:NAME`".to_owned(),
                    "git config user.email YOU@EXAMPLE.ORG",
                )
            },
        ),
        doctor_check(
            "shared",
            ignored.is_none(),
            "git shares the ledger".to_owned(),
            || {
                let why = ignored.clone().unwrap_or_default();
                (DoctorStatus::Error, why, "ken init")
            },
        ),
        doctor_check(
            "recoverable",
            lost == 0,
            "no event was lost".to_owned(),
            || {
                let are = if lost == 1 { "is" } else { "are" };
                let events = count_noun(lost, "event");
                (
                    DoctorStatus::Warning,
                    format!("{events} {are} in the journal, but in no branch or work tree"),
                    "ken ledger recover",
                )
            },
        ),
        doctor_check(
            "history",
            !is_shallow,
            "git has the whole history".to_owned(),
            || {
                (
                    DoctorStatus::Warning,
                    "this is a shallow clone: authors of older edits are unknown".to_owned(),
                    "git fetch --unshallow",
                )
            },
        ),
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
