//! How long `ken verify` takes: for a small change beside few and many anchors, and for everything
//! beside parsing alone.

use std::fmt::Write as _;
use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::fixture::{git, said};
use super::measure::{Took, in_children, in_this_process, median_took};
use super::programs::Programs;
use super::report::{Report, Verdict, shown};
use super::{Bench, Size};

/// Functions of a file, each with an anchor where there are many.
const PER_FILE: usize = 5;

/// Files a change touches.
const TOUCHED: usize = 10;

/// How much longer a change may take beside many anchors.
const CHANGE_MAX: f64 = 2.0;

/// How much longer everything may take than parsing alone.
const EVERYTHING_MAX: f64 = 1.5;

/// Measures both.
pub(crate) fn run(bench: &Bench) -> Result<Report, String> {
    let programs = Programs::build(bench)?;
    let (files, few, laps) = match bench.size {
        Size::Full => (20_000, 1_000, 9),
        Size::Quick => (200, 50, 3),
    };
    let many = files * PER_FILE;
    let folders = [few, many].map(|anchors| (anchors, folder(bench, files, anchors)));
    for (anchors, root) in &folders {
        if !root.join("done").exists() {
            prepare(&programs.ken, root, files, *anchors)?;
        }
    }
    let mut report = Report::default();
    everything(&mut report, &programs.ken, &folders[1].1, files, many)?;
    change(&mut report, &programs.ken, &folders, laps)?;
    report.note(format!(
        "verify: {files} Rust files with {PER_FILE} functions each, an entry for each anchor; a change of {TOUCHED} files in the work tree. \
         Parsing alone reads and parses the same files on one thread."
    ));
    Ok(report)
}

fn folder(bench: &Bench, files: usize, anchors: usize) -> PathBuf {
    bench
        .cache
        .join(format!("verify-{files}-{anchors}-by-{PER_FILE}"))
}

/// Makes a repository with code and entries about it, all committed.
fn prepare(ken: &Path, root: &Path, files: usize, anchors: usize) -> Result<(), String> {
    if root.exists() {
        fs::remove_dir_all(root).map_err(said("cannot remove half a repository"))?;
    }
    fs::create_dir_all(root).map_err(said("cannot create a folder"))?;
    git(root, &["init", "--quiet"])?;
    for (key, value) in [("user.name", "bench"), ("user.email", "bench@example.org")] {
        git(root, &["config", key, value])?;
    }
    for file in 0..files {
        let path = root.join(path(file));
        let parent = path.parent().unwrap_or(root);
        fs::create_dir_all(parent).map_err(said("cannot create a folder"))?;
        fs::write(path, source(file, "")).map_err(said("cannot write a file"))?;
    }
    // Where there are few anchors, the files that change have theirs too: what differs is what lies
    // beside.
    let step = files * PER_FILE / anchors;
    let mut lines = String::new();
    for symbol in 0..anchors {
        let (file, n) = (symbol / PER_FILE * step, symbol % PER_FILE);
        let line = json!({
            "kind": "learning",
            "statement": format!("Step {n} of part {file} keeps its bound."),
            "anchors": [format!("{}#step_{n}", path(file))],
            "cite": ["pr:1"],
        });
        let _ = writeln!(lines, "{line}");
    }
    let list = root.join("entries.jsonl");
    fs::write(&list, lines).map_err(said("cannot write the entries"))?;
    ran(ken, root, &["init", "-q"])?;
    ran(ken, root, &["add", "-q", "--from-jsonl", "entries.jsonl"])?;
    fs::remove_file(list).map_err(said("cannot remove the entries"))?;
    git(root, &["add", "--all"])?;
    git(
        root,
        &["commit", "--quiet", "--message", "code and entries"],
    )?;
    // How a file looks stands for what it holds once it is some seconds old.
    std::thread::sleep(Duration::from_secs(3));
    ran(ken, root, &["verify", "-q", "--by", "ci:bench"])?;
    fs::write(root.join(".git/info/exclude"), "done\n").map_err(said("cannot write a mark"))?;
    fs::write(root.join("done"), "").map_err(said("cannot write a mark"))
}

fn path(file: usize) -> String {
    format!("src/part{:03}/file{file:05}.rs", file / 100)
}

/// A file of functions that differ from file to file.
fn source(file: usize, more: &str) -> String {
    let mut text = format!("//! Part {file}.\n\nuse std::collections::BTreeMap;\n");
    for n in 0..PER_FILE {
        let _ = write!(
            text,
            "\n/// Takes step {n}.\npub fn step_{n}(values: &BTreeMap<u64, u64>, limit: u64) -> Option<u64> {{\n    \
             let mut sum: u64 = {file};\n    for (key, value) in values.range({n}..) {{\n        \
             if limit < sum.checked_add(*value)? {{\n            return Some(*key);\n        }}\n        \
             sum += value;{more}\n    }}\n    (sum != {n}).then_some(sum)\n}}\n"
        );
    }
    text
}

/// Measures a check of everything when every file looks new, beside parsing the same files.
fn everything(
    report: &mut Report,
    ken: &Path,
    root: &Path,
    files: usize,
    anchors: usize,
) -> Result<(), String> {
    let (mut bare, mut whole) = (Vec::new(), Vec::new());
    for lap in 0..3_u64 {
        let (parsed, took) = in_this_process(|| parse_all(root, files));
        parsed?;
        bare.push(took);
        touch(root, files, lap)?;
        let (done, took) = in_children(|| ran(ken, root, &["verify", "-q", "--by", "ci:bench"]));
        done?;
        whole.push(took);
    }
    let (bare, whole) = (median_took(&bare), median_took(&whole));
    let again: Vec<Took> = (0..3)
        .map(|_| in_children(|| ran(ken, root, &["verify", "-q", "--by", "ci:bench"])).1)
        .collect();
    report.took(format!("verify: parsing {files} files alone"), bare);
    report.took(
        format!("verify: everything, {anchors} anchors, all files new"),
        whole,
    );
    report.took(
        "verify: everything again, no file parsed",
        median_took(&again),
    );
    let ratio = whole.cpu.as_secs_f64() / bare.cpu.as_secs_f64();
    let wall = whole.wall.as_secs_f64() / bare.wall.as_secs_f64();
    report.push(
        "verify: everything to parsing alone",
        format!("{wall:.2}"),
        format!("{ratio:.2}"),
        Verdict::of(ratio <= EVERYTHING_MAX, format!("<= {EVERYTHING_MAX}")),
    );
    Ok(())
}

/// The commit with the small change.
const CHANGE: &str = "change";

/// Measures the same small change beside few anchors and beside many, in turn: between two commits,
/// in the work tree, and what git alone takes for the latter.
fn change(
    report: &mut Report,
    ken: &Path,
    folders: &[(usize, PathBuf); 2],
    laps: usize,
) -> Result<(), String> {
    for (_, root) in folders {
        git(root, &["checkout", "--quiet", "--", "src"])?;
        rewrite(root, "\n        sum ^= 1;")?;
        git(root, &["add", "src"])?;
        git(root, &["commit", "--quiet", "--message", CHANGE])?;
        git(root, &["branch", "--force", CHANGE])?;
        git(root, &["reset", "--quiet", "--hard", "HEAD~1"])?;
        rewrite(root, "\n        sum ^= 3;")?;
        git(root, &["status", "--short"])?;
    }
    // Files that were written just now are not trusted to stay as they are.
    std::thread::sleep(Duration::from_secs(3));
    let commits: &[&str] = &[
        "verify", "-q", "--base", "HEAD", "--head", CHANGE, "--by", "ci:bench",
    ];
    let work: &[&str] = &["verify", "-q", "--base", "HEAD", "--by", "ci:bench"];
    compare(
        report,
        &format!("a change of {TOUCHED} files between commits"),
        folders,
        laps,
        Some(CHANGE_MAX),
        |root| ran(ken, root, commits),
    )?;
    compare(
        report,
        &format!("a change of {TOUCHED} files in the work tree"),
        folders,
        laps,
        Some(CHANGE_MAX),
        |root| ran(ken, root, work),
    )?;
    compare(
        report,
        "git alone, in the work tree",
        folders,
        laps,
        None,
        |root| {
            git(root, &["diff", "--raw", "HEAD"])?;
            git(root, &["ls-files", "--others", "--exclude-standard"])
        },
    )?;
    for (anchors, root) in folders {
        rewrite(root, "\n        sum ^= 2;")?;
        let parsed = parsed(ken, root)?;
        report.note(format!(
            "verify: of {TOUCHED} changed files {parsed} are parsed beside {anchors} anchors."
        ));
        git(root, &["checkout", "--quiet", "--", "src"])?;
    }
    Ok(())
}

/// Times the same in both folders, lap by lap.
fn compare(
    report: &mut Report,
    what: &str,
    folders: &[(usize, PathBuf); 2],
    laps: usize,
    bar: Option<f64>,
    run: impl Fn(&Path) -> Result<(), String>,
) -> Result<(), String> {
    let mut took = [const { Vec::new() }; 2];
    for lap in 0..=laps {
        for ((_, root), took) in folders.iter().zip(&mut took) {
            let (done, one) = in_children(|| run(root));
            done?;
            // The first lap warms the caches.
            if lap > 0 {
                took.push(one);
            }
        }
    }
    let [few, many] = took.map(|laps| median_took(&laps));
    for ((anchors, _), took) in folders.iter().zip([few, many]) {
        report.took(format!("verify, {anchors} anchors: {what}"), took);
    }
    let ratio = many.wall.as_secs_f64() / few.wall.as_secs_f64();
    report.push(
        format!("verify: {what}, many anchors to few"),
        format!("{ratio:.2}"),
        shown(many.wall.saturating_sub(few.wall)),
        match bar {
            Some(bar) => Verdict::of(ratio <= bar, format!("<= {bar}")),
            None => Verdict::Told,
        },
    );
    Ok(())
}

/// Words the files of the small change anew.
fn rewrite(root: &Path, more: &str) -> Result<(), String> {
    for file in 0..TOUCHED {
        let file = 100 * file;
        fs::write(root.join(path(file)), source(file, more))
            .map_err(said("cannot change a file"))?;
    }
    Ok(())
}

/// Returns how many files a change makes `ken` parse when nothing of it is known.
fn parsed(ken: &Path, root: &Path) -> Result<u64, String> {
    let args = [
        "verify", "--base", "HEAD", "--by", "ci:bench", "--format", "json",
    ];
    let out = Command::new(ken).args(args).current_dir(root).output();
    let out = out.map_err(said("cannot start ken"))?;
    let told: serde_json::Value = serde_json::from_slice(&out.stdout).map_err(said("no JSON"))?;
    told["parsed"].as_u64().ok_or_else(|| "no count".to_owned())
}

fn parse_all(root: &Path, files: usize) -> Result<usize, String> {
    let mut parser = tree_sitter::Parser::new();
    let grammar = tree_sitter_rust::LANGUAGE.into();
    parser.set_language(&grammar).map_err(said("no grammar"))?;
    let mut nodes = 0;
    for file in 0..files {
        let text = fs::read(root.join(path(file))).map_err(said("cannot read a file"))?;
        let tree = parser.parse(&text, None).ok_or("cannot parse")?;
        nodes += tree.root_node().descendant_count();
    }
    Ok(nodes)
}

/// Makes every file look new.
fn touch(root: &Path, files: usize, lap: u64) -> Result<(), String> {
    let time = SystemTime::now() - Duration::from_secs(60 + lap);
    for file in 0..files {
        let file = File::options().append(true).open(root.join(path(file)));
        let file = file.map_err(said("cannot open a file"))?;
        let times = FileTimes::new().set_modified(time);
        file.set_times(times).map_err(said("cannot touch a file"))?;
    }
    Ok(())
}

/// Runs ken to its end; findings are no failure.
fn ran(ken: &Path, root: &Path, args: &[&str]) -> Result<(), String> {
    let out = Command::new(ken).args(args).current_dir(root).output();
    let out = out.map_err(said("cannot start ken"))?;
    match out.status.code() {
        Some(0 | 1) => Ok(()),
        _ => Err(String::from_utf8_lossy(&out.stderr).into_owned()),
    }
}
