//! Segments that HEAD has and the work tree lacks: their events would disappear without a trace.

use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::id::EventId;
use ken_ledger::check::{LedgerFinding, LedgerSeverity};
use ken_ledger::layout::KEN_DIR;
use ken_ledger::{Dir as _, DiskError};
use serde::Deserialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::git;

/// A deleted segment whose events are in no other segment.
#[derive(Clone, Debug)]
pub(crate) struct DeletedSegment {
    /// Path below the folder that contains `.ken`.
    pub(crate) path: String,
    /// Number of events that are missing.
    pub(crate) missing: u64,
    content: Vec<u8>,
}

/// The id of an event's line.
#[derive(Deserialize)]
struct LineId {
    id: EventId,
}

impl DeletedSegment {
    /// Describes the loss for `ken ledger check` and `ken verify`.
    pub(crate) fn finding(&self) -> LedgerFinding {
        let file = self.path.strip_prefix(&format!("{KEN_DIR}/"));
        LedgerFinding {
            file: file.unwrap_or(&self.path).to_owned(),
            line: None,
            severity: LedgerSeverity::Damage,
            message: format!(
                "the file is deleted: {} of its events are only in git; `ken ledger recover` restores it",
                self.missing
            ),
        }
    }
}

/// Returns the segments that were deleted in the work tree, without those that a pack replaced.
pub(crate) fn find_deleted(engine: &Engine) -> Result<Vec<DeletedSegment>, EngineError> {
    if engine.place.git.is_none() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for path in git::deleted_segments(&engine.place)? {
        let content = git::content_in_head(&engine.place, &path)?;
        let text = String::from_utf8_lossy(&content);
        let mut missing = 0;
        for line in text.lines() {
            let Ok(LineId { id }) = serde_json::from_str(line) else {
                continue;
            };
            missing += u64::from(engine.index.event(id)?.is_none());
        }
        if missing > 0 {
            found.push(DeletedSegment {
                path,
                missing,
                content,
            });
        }
    }
    Ok(found)
}

/// Writes deleted segments again; returns them.
pub(crate) fn restore_deleted(engine: &Engine) -> Result<Vec<DeletedSegment>, EngineError> {
    let found = find_deleted(engine)?;
    for segment in &found {
        let path = segment.path.strip_prefix(&format!("{KEN_DIR}/"));
        let path = path.unwrap_or(&segment.path);
        if let Some((folder, _)) = path.rsplit_once('/') {
            let made = engine.ken.create_dirs(folder);
            made.map_err(DiskError::on("create", folder))?;
        }
        let written = engine.ken.create_new(path, &segment.content);
        written.map_err(DiskError::on("write", path))?;
    }
    Ok(found)
}
