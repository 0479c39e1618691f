//! What a run ran on, in words: a figure without its machine says little.

use std::fs;
use std::path::Path;

use ken_engine::runtime::{Runtime as _, SystemRuntime};

use xtask::repository::Repository;

/// Describes day, commit and machine.
pub(crate) fn described(repository: &Repository, cache: &Path) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let model = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown CPU".into());
    let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_else(|| "?".into());
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    let load: Vec<&str> = load.split(' ').take(3).collect();
    let disk = disk(&read("/proc/self/mounts"), cache);
    format!(
        "Measured {} at commit {}. Machine: {cores} cores ({model}), {memory} memory, {} {}, {disk}; load before the \
         run {}.",
        SystemRuntime.now().date(),
        commit(repository),
        std::env::consts::OS,
        kernel.trim(),
        load.join(" "),
    )
}

fn commit(repository: &Repository) -> String {
    let answer = |args: &[&str]| repository.run("git", args).unwrap_or_default();
    let head = answer(&["rev-parse", "--short=12", "HEAD"]);
    let changed = answer(&[
        "status",
        "--porcelain",
        "--",
        "bench",
        "crates",
        "Cargo.lock",
    ]);
    let mark = if changed.is_empty() {
        ""
    } else {
        " with changes"
    };
    format!("{}{mark}", head.trim())
}

/// Returns the first value of `name` in a text of `name : value` lines.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Names the file system and device that hold `path`.
fn disk(mounts: &str, path: &Path) -> String {
    let mount = |line: &'_ str| {
        let mut parts = line.split(' ').map(str::to_owned);
        Some((parts.next()?, parts.next()?, parts.next()?))
    };
    let holding = mounts
        .lines()
        .filter_map(mount)
        .filter(|(_, at, _)| path.starts_with(at))
        .max_by_key(|(_, at, _)| at.len());
    let Some((device, _, kind)) = holding else {
        return "unknown disk".to_owned();
    };
    let name = device.rsplit('/').next().unwrap_or(&device);
    let flag = fs::read_to_string(format!("/sys/class/block/{name}/queue/rotational"));
    let turns = match flag.as_deref().map(str::trim) {
        Ok("0") => ", says it is solid",
        Ok("1") => ", says it turns",
        Ok(_) | Err(_) => "",
    };
    format!("{kind} on {name}{turns}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_holds_a_path() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n";
        assert_eq!(disk(mounts, Path::new("/tmp/x")), "tmpfs on tmpfs");
        assert_eq!(disk(mounts, Path::new("/home/x")), "ext4 on a");
        assert_eq!(
            field("model name\t: fast\n", "model name"),
            Some("fast".into())
        );
    }
}
