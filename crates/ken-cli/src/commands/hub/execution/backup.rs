//! `ken hub backup`, `restore` and `drill`: execution.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::time::Duration;

use ken_core::values::time::Timestamp;
use ken_hub::backup::{
    self, BackupError, RestoreReport, VerificationReport, WorkspaceDigest, last_acknowledged,
};
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::commands::Session;
use crate::commands::hub::{BackupArgs, DrillArgs, RestoreArgs, failed, hinted};
use crate::failure::CommandFailure;
use crate::print::pluralize;
use crate::print::progress::ProgressIndicator;

/// The event that was acknowledged last.
#[derive(Debug, Serialize)]
struct LastEventObject {
    organization: String,
    workspace: String,
    id: String,
    acknowledged_at: Option<String>,
}

/// JSON view of a backup.
#[derive(Serialize)]
struct BackupObject {
    schema: &'static str,
    workspaces: usize,
    events: u64,
    rows: u64,
    bytes: u64,
    seconds: f64,
    last_event: Option<LastEventObject>,
}

/// JSON view of a restore or a drill.
#[derive(Serialize)]
struct RestoredObject<'a> {
    schema: &'static str,
    taken_at: &'a str,
    workspaces: usize,
    events: u64,
    rows: u64,
    load_seconds: f64,
    /// Absent if nothing was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    verify_seconds: Option<f64>,
    /// Time from an empty server to a verified database; only of a drill.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery_seconds: Option<f64>,
    /// Workspaces that differ from the backup.
    damaged: Vec<String>,
    last_event: Option<LastEventObject>,
}

/// Counts the bytes that are written.
struct CountingWriter<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

pub(in crate::commands::hub) async fn back_up(
    session: &mut Session<'_>,
    url: &str,
    args: &BackupArgs,
) -> Result<(), CommandFailure> {
    let path = args.file.as_path();
    let progress = ProgressIndicator::start(session.printer, "backing up", None);
    let (report, bytes) = if path == Path::new("-") {
        let (out, bytes) = (io::stdout().lock(), 0);
        let counted = BufWriter::new(CountingWriter { out, bytes });
        write(url, counted).await?
    } else {
        write_file(url, path).await?
    };
    drop(progress);
    let (events, seconds) = (report.events(), report.duration.as_secs_f64());
    let last_event = last_event(&report.workspaces);
    if path == Path::new("-") {
        return Ok(());
    }
    if session.is_json() {
        return session.printer.json(&BackupObject {
            schema: "ken.hub.backup_report.v1",
            workspaces: report.workspaces.len(),
            events,
            rows: report.rows,
            bytes,
            seconds,
            last_event,
        });
    }
    let content = content(report.workspaces.len(), events);
    session.printer.line(format_args!(
        "{}: {content}, {bytes} bytes, {seconds:.1} s",
        path.display()
    ))?;
    print_last_event(session, last_event.as_ref())
}

/// Writes a backup to a new file, which appears when it is complete and on disk.
async fn write_file(url: &str, path: &Path) -> Result<(backup::BackupReport, u64), CommandFailure> {
    let cannot =
        |e: &io::Error| CommandFailure::io(format!("cannot write `{}`", path.display()), e);
    let folder = path.parent().filter(|it| *it != Path::new(""));
    // Only this user can read it.
    let file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
    let (out, bytes) = (file.map_err(|e| cannot(&e))?, 0);
    let counted = BufWriter::new(CountingWriter { out, bytes });
    let (report, counted) = backup::write_backup(url, counted)
        .await
        .map_err(|e| backup_failure(&e))?;
    let counted = counted.into_inner().map_err(|e| cannot(e.error()))?;
    let (file, bytes) = (counted.out, counted.bytes);
    file.as_file().sync_all().map_err(|e| cannot(&e))?;
    file.persist_noclobber(path).map_err(|e| cannot(&e.error))?;
    Ok((report, bytes))
}

async fn write<W: Write>(
    url: &str,
    out: BufWriter<CountingWriter<W>>,
) -> Result<(backup::BackupReport, u64), CommandFailure> {
    let (report, mut out) = backup::write_backup(url, out)
        .await
        .map_err(|e| backup_failure(&e))?;
    out.flush().map_err(|e| CommandFailure::output(&e))?;
    let bytes = out.get_ref().bytes;
    Ok((report, bytes))
}

pub(in crate::commands::hub) async fn restore(
    session: &mut Session<'_>,
    url: &str,
    args: &RestoreArgs,
) -> Result<(), CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "restoring", None);
    let restored = backup::load_backup(url, open(&args.file)?).await;
    let restored = restored.map_err(|e| backup_failure(&e))?;
    let verified = if args.verify {
        let advance = |done, total| progress.set_progress(done, total);
        let verified = backup::verify_restored(url, &restored, &advance).await;
        Some(verified.map_err(|e| backup_failure(&e))?)
    } else {
        None
    };
    drop(progress);
    print_restored(session, &restored, verified.as_ref(), None)?;
    if !session.is_json() {
        session
            .printer
            .hint("its tokens are refused until you run `ken hub accept-restore`")?;
        session.printer.hint(
            "what was erased or redacted after the backup is back, and holds and blocks placed since are gone: repeat them first",
        )?;
    }
    refuse_damaged(verified.as_ref())
}

pub(in crate::commands::hub) async fn drill(
    session: &mut Session<'_>,
    url: &str,
    args: &DrillArgs,
) -> Result<(), CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "restoring", None);
    let advance = |done, total| progress.set_progress(done, total);
    let done = backup::run_drill(url, open(&args.file)?, &advance).await;
    drop(progress);
    let done = done.map_err(|e| backup_failure(&e))?;
    print_restored(
        session,
        &done.restored,
        Some(&done.verified),
        Some(done.recovery),
    )?;
    refuse_damaged(Some(&done.verified))
}

fn open(path: &Path) -> Result<Box<dyn Read>, CommandFailure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let cannot = |e| CommandFailure::io(format!("cannot read `{}`", path.display()), &e);
    Ok(Box::new(File::open(path).map_err(cannot)?))
}

fn print_restored(
    session: &mut Session<'_>,
    restored: &RestoreReport,
    verified: Option<&VerificationReport>,
    recovery: Option<Duration>,
) -> Result<(), CommandFailure> {
    let events = restored.workspaces.iter().map(|it| it.events).sum();
    let load_seconds = restored.duration.as_secs_f64();
    let damaged: Vec<String> = verified
        .into_iter()
        .flat_map(VerificationReport::damaged)
        .map(|it| {
            let what = it.differences.join(", ");
            format!("{}/{}: {what}", it.organization, it.workspace)
        })
        .collect();
    let last_event = last_event(&restored.workspaces);
    if session.is_json() {
        return session.printer.json(&RestoredObject {
            schema: "ken.hub.restore_report.v1",
            taken_at: &restored.taken_at,
            workspaces: restored.workspaces.len(),
            events,
            rows: restored.rows,
            load_seconds,
            verify_seconds: verified.map(|it| it.duration.as_secs_f64()),
            recovery_seconds: recovery.map(|it| it.as_secs_f64()),
            damaged,
            last_event,
        });
    }
    let content = content(restored.workspaces.len(), events);
    session.printer.line(format_args!(
        "loaded the backup of {}: {content}, checksums match, {load_seconds:.1} s",
        restored.taken_at
    ))?;
    if let Some(verified) = verified {
        let folded = verified.workspaces.iter().filter_map(|it| it.entries);
        let (count, entries) = (folded.clone().count(), folded.sum::<u64>());
        let evicted = verified.workspaces.len() - count;
        let workspaces = pluralize(count as u64, "workspace", "workspaces");
        let entries = pluralize(entries, "entry", "entries");
        session.printer.line(format_args!(
            "verified: {workspaces} folded to {entries}, {evicted} evicted ones by their events, {:.1} s",
            verified.duration.as_secs_f64()
        ))?;
    }
    for text in &damaged {
        session.printer.line(format_args!("differs: {text}"))?;
    }
    if let Some(recovery) = recovery {
        let seconds = recovery.as_secs_f64();
        session
            .printer
            .line(format_args!("recovery time: {seconds:.1} s"))?;
    }
    print_last_event(session, last_event.as_ref())
}

fn refuse_damaged(verified: Option<&VerificationReport>) -> Result<(), CommandFailure> {
    let damaged = verified.map_or(0, |it| it.damaged().count()) as u64;
    if damaged == 0 {
        return Ok(());
    }
    let count = pluralize(damaged, "workspace", "workspaces");
    let message = format!("the restored data of {count} differs from the backup");
    Err(CommandFailure::refused("restore_differs", message))
}

fn content(workspaces: usize, events: u64) -> String {
    let workspaces = pluralize(workspaces as u64, "workspace", "workspaces");
    let events = pluralize(events, "event", "events");
    format!("{workspaces}, {events}")
}

fn last_event(workspaces: &[WorkspaceDigest]) -> Option<LastEventObject> {
    let found = last_acknowledged(workspaces)?;
    let at = found.appended_at.map(Timestamp::from_millis);
    Some(LastEventObject {
        organization: found.organization.clone(),
        workspace: found.workspace.clone(),
        id: found.last_event.clone()?,
        acknowledged_at: at.map(|it| it.to_string()),
    })
}

fn print_last_event(
    session: &mut Session<'_>,
    last: Option<&LastEventObject>,
) -> Result<(), CommandFailure> {
    let Some(last) = last else {
        return session.printer.line("last acknowledged event: none");
    };
    let at = last.acknowledged_at.as_deref().unwrap_or("unknown time");
    session.printer.line(format_args!(
        "last acknowledged event: {} in {}/{} at {at}",
        last.id, last.organization, last.workspace
    ))
}

/// Converts an error of a backup to a failure with a hint.
fn backup_failure(error: &BackupError) -> CommandFailure {
    let failure = failed(error);
    if let Some(error) = error.database() {
        return hinted(failure, error);
    }
    match error {
        BackupError::Restricted(_) => failure.with_hint(
            "CREATE ROLE ken_backup LOGIN BYPASSRLS PASSWORD '…'; GRANT pg_read_all_data TO ken_backup;",
        ),
        BackupError::NotEmpty => failure.with_hint("`CREATE DATABASE ken2 OWNER ken_owner`"),
        BackupError::NoDatabase => {
            failure.with_hint("such as postgres://postgres@localhost/postgres")
        }
        BackupError::Database(_)
        | BackupError::Sql(_)
        | BackupError::Io(_)
        | BackupError::Store(_)
        | BackupError::Damaged(_)
        | BackupError::TooNew { .. } => failure,
    }
}
