//! Hook log: errors of hooks on this machine. They are never shown to an agent.

use std::path::Path;

use ken_core::trust::run::{RunNote, RunRecord};
use ken_core::values::text::escape_invisible;
use ken_core::values::time::Timestamp;
use ken_ledger::layout::{KEN_DIR, VERSION_FILE};
use ken_ledger::{Dir as _, GitEnv, RealDir, discover};

use super::HookSession;
use crate::files::open_ken_dir;
use crate::guard::without_secrets;
use crate::runs::store::RunStore;

/// Path of the log below `.ken/`.
const LOG_FILE: &str = ".local/hook.log";

/// Maximum bytes of the log; a larger file loses its older half.
pub const LOG_BYTES_MAX: u64 = 64 * 1024;

/// Maximum characters of a line.
const LINE_CHARS_MAX: usize = 300;

/// Returns true if the repository around `start` uses Ken. Does not open the ledger.
pub fn is_ken_repository(start: &Path, git: &GitEnv) -> bool {
    let place = discover(start, git).ok().flatten();
    place.is_some_and(|it| it.root.join(KEN_DIR).join(VERSION_FILE).is_file())
}

/// Records in a session's run that an exposure was not recorded. If this fails too, only the log
/// has the error.
pub fn record_exposure_gap(start: &Path, git: &GitEnv, hook: &HookSession, now: Timestamp) {
    let (Ok(Some(place)), Some(run)) = (discover(start, git), hook.run_id()) else {
        return;
    };
    let noted = RunRecord {
        at: now,
        by: hook.agent.clone(),
        note: RunNote::Gap,
    };
    let _ = RunStore::new(&place).and_then(|store| store.append(&run, &noted));
}

/// Appends a line to the log with secrets removed. Failures are ignored: a hook must not fail.
pub fn append_log(start: &Path, git: &GitEnv, now: Timestamp, message: &str) {
    let Ok(Some(place)) = discover(start, git) else {
        return;
    };
    if let Ok(dir) = open_ken_dir(&place) {
        // Secrets are removed before truncation, which could cut one so that no rule matches it.
        let short: String = escape_invisible(&without_secrets(message))
            .chars()
            .take(LINE_CHARS_MAX)
            .collect();
        let words: Vec<&str> = short.split_whitespace().collect();
        let line = format!("{now} {}\n", words.join(" "));
        let _ = append_bounded(&dir, LOG_FILE, LOG_BYTES_MAX, line.as_bytes());
    }
}

/// Appends a line to a local file and drops the older half of a file with `bytes_max` bytes.
pub(super) fn append_bounded(
    dir: &RealDir,
    path: &str,
    bytes_max: u64,
    line: &[u8],
) -> std::io::Result<()> {
    match dir.stat(path)? {
        None => {
            dir.create_dirs(".local")?;
            dir.create_new(path, line)
        }
        Some(stat) if stat.len < bytes_max => dir.append(path, line),
        Some(stat) => {
            let kept = dir.read_from(path, stat.len / 2)?;
            // Half of the bytes may start in the middle of a line: begin at the next one.
            let whole = kept
                .iter()
                .position(|it| *it == b'\n')
                .map_or(0, |at| at + 1);
            dir.replace(path, &[&kept[whole..], line].concat())
        }
    }
}
