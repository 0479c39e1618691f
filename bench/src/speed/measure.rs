//! Wall time, CPU time and peak memory, and how a row of them is summed up.
//!
//! CPU time comes from `/proc`; where there is none it stays zero and is shown as a dash.

use std::fs;
use std::ops::AddAssign;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Linux counts process times in hundredths of a second, whatever its own clock does.
const TICK: Duration = Duration::from_millis(10);

/// What a piece of work took.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Took {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

impl AddAssign for Took {
    fn add_assign(&mut self, other: Self) {
        self.wall += other.wall;
        self.cpu += other.cpu;
    }
}

/// Times work that stays on this thread.
pub(crate) fn on_this_thread<T>(work: impl FnOnce() -> T) -> (T, Took) {
    timed(thread_cpu, work)
}

/// Times work that may use threads.
pub(crate) fn in_this_process<T>(work: impl FnOnce() -> T) -> (T, Took) {
    timed(|| cpu_ticks(11), work)
}

/// Times `work`, which runs programs to their end.
pub(crate) fn in_children<T>(work: impl FnOnce() -> T) -> (T, Took) {
    timed(|| cpu_ticks(13), work)
}

/// Returns what this process computed so far, in all its threads.
pub(crate) fn process_cpu() -> Duration {
    cpu_ticks(11)
}

fn timed<T>(cpu: impl Fn() -> Duration, work: impl FnOnce() -> T) -> (T, Took) {
    let cpu_before = cpu();
    let start = Instant::now();
    let done = work();
    let wall = start.elapsed();
    let cpu = cpu().saturating_sub(cpu_before);
    (done, Took { wall, cpu })
}

/// Returns what this thread computed, to the nanosecond.
fn thread_cpu() -> Duration {
    // The kernel brings the number up to date when a thread gives way.
    std::thread::yield_now();
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|field| field.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// Returns user and system time of `/proc/self/stat`, which stand in field `first` and the next,
/// counted from 0 behind the program's name: 11 for the process, 13 for its ended children.
fn cpu_ticks(first: usize) -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields
        .split_whitespace()
        .skip(first)
        .take(2)
        .filter_map(|field| field.parse::<u32>().ok());
    TICK * ticks.sum::<u32>()
}

/// Returns the most memory this process ever had, in KiB.
pub(crate) fn peak_memory_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// Runs a program from start to exit with its output thrown away.
pub(crate) fn run_quietly(program: &Path, args: &[&str], folder: &Path) -> Result<(), String> {
    let status = Command::new(program)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!(
            "`{} {}`: {status}",
            program.display(),
            args.join(" ")
        )),
        Err(error) => Err(format!("cannot start `{}`: {error}", program.display())),
    }
}

/// Returns the middle one; the mean of the two middle ones of an even number.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.get(middle) {
        None => f64::NAN,
        Some(upper) if sorted.len() % 2 == 1 => *upper,
        Some(upper) => (sorted[middle - 1] + upper) / 2.0,
    }
}

/// Returns the time half of all stayed below, and the one all but a twentieth did.
pub(crate) fn percentiles(times: &mut [Duration]) -> (Duration, Duration) {
    times.sort_unstable();
    let at = |share: usize| {
        let time = times.get(times.len() * share / 100);
        time.copied().unwrap_or_default()
    };
    (at(50), at(95))
}

/// Returns the median wall and CPU time.
pub(crate) fn median_took(laps: &[Took]) -> Took {
    let of = |part: fn(&Took) -> Duration| {
        let numbers: Vec<f64> = laps.iter().map(|lap| part(lap).as_secs_f64()).collect();
        Duration::from_secs_f64(median(&numbers).max(0.0))
    };
    Took {
        wall: of(|lap| lap.wall),
        cpu: of(|lap| lap.cpu),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]).to_bits(), 2.0_f64.to_bits());
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]).to_bits(), 2.5_f64.to_bits());
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn work_takes_time() {
        let ((), took) = on_this_thread(|| {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(20) {}
        });
        assert!(Duration::from_millis(20) <= took.wall);
        if cfg!(target_os = "linux") {
            assert!(Duration::ZERO < took.cpu && took.cpu <= took.wall * 2);
            assert!(peak_memory_kib().is_some());
        }
    }
}
