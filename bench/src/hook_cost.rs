//! `cargo ken-bench hook-cost`: how many instructions a hook takes, against a figure that is kept
//! beside this file.
//!
//! Counted with the build CI has anyway, on a ledger that is the same everywhere: a figure that no
//! busy hour moves.

use std::path::{Path, PathBuf};

use crate::speed::fixture::{self, Cut, said};
use crate::speed::hook::{forget_conversations, hook};
use crate::speed::instructions::Counted;
use xtask::repository::{Finding, Repository, cargo};

const FIGURES: &str = "bench/hook-cost.txt";
const USAGE: &str = "usage: cargo ken-bench hook-cost --check | --write";

/// Entries of the ledger the hooks are counted beside.
const ENTRIES: u64 = 300;

/// Hundredths by which a count may be above what is kept.
const TOLERANCE_PERCENT: u64 = 20;

/// A clock that stands still and known dice: otherwise every run would write other names.
const WORLD: [(&str, &str); 2] = [("KEN_NOW", "2026-11-16T06:00:00Z"), ("KEN_SEED", "7")];

/// Counts, and compares with what is kept or keeps it.
pub(crate) fn run(repository: &Repository, args: &[&str]) -> Result<Vec<Finding>, String> {
    let counted = match args {
        ["--check" | "--write"] => count(repository)?,
        _ => return Err(USAGE.to_owned()),
    };
    if args == ["--write"] {
        let lines = counted
            .iter()
            .map(|(name, count)| format!("{name} {count}\n"));
        repository.write(FIGURES, &lines.collect::<String>())?;
        return Ok(Vec::new());
    }
    let kept = repository.read(FIGURES)?;
    Ok(compared(&kept, &counted))
}

/// Returns what is dearer than what is kept.
fn compared(kept: &str, counted: &[(&str, u64)]) -> Vec<Finding> {
    let kept = |name: &str| -> Option<u64> {
        let line = kept.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    let dear = counted.iter().filter_map(|(name, count)| {
        let Some(kept) = kept(name) else {
            return Some(format!("nothing is kept for `{name}`; `cargo ken-bench hook-cost --write` keeps it"));
        };
        let most = kept + kept * TOLERANCE_PERCENT / 100;
        (most < *count).then(|| {
            format!(
                "`ken hook claude-code {name}` takes {count} instructions; {kept} are kept, and {TOLERANCE_PERCENT} % more are allowed. \
                 `valgrind --tool=callgrind target/debug/ken hook claude-code {name} < input.json` and `callgrind_annotate` show where they \
                 go; if they are worth it, `cargo ken-bench hook-cost --write` keeps the new figure"
            )
        })
    });
    dear.map(|message| Finding::new(FIGURES, 1, message))
        .collect()
}

/// Counts a prompt and a tool call in a conversation that has begun.
fn count(repository: &Repository) -> Result<Vec<(&'static str, u64)>, String> {
    let (target, ken) = build(repository)?;
    let cache = target.join("ken-bench");
    std::fs::create_dir_all(&cache).map_err(said("cannot create the cache"))?;
    let fixture = fixture::ledger(&cache, ENTRIES, Cut::Lessons)?;
    forget_conversations(&fixture.root)?;
    let inputs = [
        (
            "prompt",
            format!(
                "{{\"session_id\":\"cost\",\"prompt\":\"{}\"}}",
                fixture.queries[0]
            ),
        ),
        ("tool", TOOL.to_owned()),
    ];
    // What is done once is not counted: the first look at the ledger, the start of the
    // conversation.
    hook(
        &ken,
        "start",
        &fixture.root,
        "{\"session_id\":\"cost\",\"source\":\"startup\"}",
    )?;
    hook(
        &ken,
        "prompt",
        &fixture.root,
        "{\"session_id\":\"other\",\"prompt\":\"warm\"}",
    )?;
    let mut counted = Vec::new();
    for (moment, input) in &inputs {
        let args = ["hook", "claude-code", moment];
        let program = Counted {
            program: &ken,
            args: &args,
            folder: &fixture.root,
            input,
            variables: &WORLD,
        };
        counted.push((*moment, program.instructions()?));
    }
    Ok(counted)
}

const TOOL: &str = r#"{"session_id":"cost","tool_name":"Bash","tool_input":{"command":"cargo test"},"tool_response":{"stdout":"ok"}}"#;

/// Builds `ken` as the tests of all crates do, which CI has just done: any other choice of packages
/// has other features and builds half the tree again. Returns the build folder and the program.
fn build(repository: &Repository) -> Result<(PathBuf, PathBuf), String> {
    let own = std::env::current_exe().map_err(said("cannot tell which program this is"))?;
    let target: &Path = own
        .ancestors()
        .nth(2)
        .ok_or("the program lies in no build folder")?;
    let built = cargo(repository.root())
        .args(["test", "--no-run", "--quiet", "--workspace", "--target-dir"])
        .arg(target)
        .status()
        .map_err(said("cannot start cargo"))?;
    if !built.success() {
        return Err("the `ken` program does not build".to_owned());
    }
    let file = format!("ken{}", std::env::consts::EXE_SUFFIX);
    Ok((target.to_owned(), target.join("debug").join(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_a_fifth_dearer_is_told() {
        let kept = "prompt 1000\ntool 100\n";
        assert!(compared(kept, &[("prompt", 1200), ("tool", 50)]).is_empty());
        let dear = compared(kept, &[("prompt", 1201), ("tool", 121)]);
        assert_eq!(dear.len(), 2);
        let unknown = compared("prompt 1000\n", &[("tool", 1)]);
        assert!(unknown[0].to_string().contains("--write"));
    }
}
