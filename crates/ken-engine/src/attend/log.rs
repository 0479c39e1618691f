//! What went wrong at a moment, for whoever looks for it later: an agent is never told.

use std::path::Path;

use ken_core::run::{Note, Noted};
use ken_core::text::visible;
use ken_core::time::Timestamp;
use ken_ledger::layout::{KEN_DIR, VERSION_FILE};
use ken_ledger::{Dir as _, GitEnv, RealDir, discover};

use super::Attendee;
use crate::files::ken_dir;
use crate::guard::without_secrets;
use crate::runs::store::Store;

/// The file, below `.ken/`.
const LOG_FILE: &str = ".local/hook.log";

/// Bytes the file may have; when it has more, the older half goes.
pub const LOG_BYTES_MAX: u64 = 64 * 1024;

/// Characters of a line.
const LINE_CHARS_MAX: usize = 300;

/// Returns whether knowledge is kept where `start` lies; opens nothing.
pub fn is_kept_here(start: &Path, git: &GitEnv) -> bool {
    let place = discover(start, git).ok().flatten();
    place.is_some_and(|it| it.root.join(KEN_DIR).join(VERSION_FILE).is_file())
}

/// Notes in a conversation's run that something was shown and not written down; where that cannot be done either, the
/// log says what went wrong.
pub fn lost(start: &Path, git: &GitEnv, who: &Attendee, now: Timestamp) {
    let (Ok(Some(place)), Some(run)) = (discover(start, git), who.run()) else {
        return;
    };
    let noted = Noted {
        at: now,
        by: who.agent.clone(),
        note: Note::Gap,
    };
    let _ = Store::of(&place).and_then(|store| store.append(&run, &noted));
}

/// Adds a line to the log, without secrets; where that cannot be done nothing is said.
pub fn log(start: &Path, git: &GitEnv, now: Timestamp, what: &str) {
    let Ok(Some(place)) = discover(start, git) else {
        return;
    };
    if let Ok(dir) = ken_dir(&place) {
        let line: String = visible(&without_secrets(what))
            .chars()
            .take(LINE_CHARS_MAX)
            .collect();
        let line: Vec<&str> = line.split_whitespace().collect();
        let _ = add(&dir, format!("{now} {}\n", line.join(" ")).as_bytes());
    }
}

fn add(dir: &RealDir, line: &[u8]) -> std::io::Result<()> {
    match dir.stat(LOG_FILE)? {
        None => {
            dir.create_dirs(".local")?;
            dir.create_new(LOG_FILE, line)
        }
        Some(stat) if stat.len < LOG_BYTES_MAX => dir.append(LOG_FILE, line),
        Some(stat) => {
            let kept = dir.read_from(LOG_FILE, stat.len / 2)?;
            let whole = kept
                .iter()
                .position(|it| *it == b'\n')
                .map_or(0, |at| at + 1);
            dir.replace(LOG_FILE, &[&kept[whole..], line].concat())
        }
    }
}
