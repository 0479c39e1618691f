//! What the server's processes compute, and what its tables weigh.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// Linux counts process times in hundredths of a second, whatever its own clock does.
const TICK: Duration = Duration::from_millis(10);

/// Returns user and system time of the postmaster whose data lie in `data` and of every process it
/// ever began.
///
/// Zero where there is no `/proc`.
pub(crate) fn cpu(data: &Path) -> Duration {
    let file = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    let Some(postmaster) = file
        .lines()
        .next()
        .and_then(|line| line.parse::<u32>().ok())
    else {
        return Duration::ZERO;
    };
    // Its own time, and that of its children that ended.
    let own = stat(postmaster).map_or(0, |it| it.of_ended + it.own);
    let Ok(processes) = fs::read_dir("/proc") else {
        return Duration::ZERO;
    };
    let living: u64 = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(stat)
        .filter(|it| it.parent == postmaster)
        .map(|it| it.own)
        .sum();
    TICK * u32::try_from(own + living).unwrap_or(u32::MAX)
}

/// Returns user and system time of one process.
pub(crate) fn cpu_of(process: u32) -> Duration {
    let ticks = stat(process).map_or(0, |it| it.own);
    TICK * u32::try_from(ticks).unwrap_or(u32::MAX)
}

struct Stat {
    parent: u32,
    own: u64,
    of_ended: u64,
}

fn stat(process: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the program's name, which may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        parent: u32::try_from(number(1)?).ok()?,
        own: number(11)? + number(12)?,
        of_ended: number(13)? + number(14)?,
    })
}
