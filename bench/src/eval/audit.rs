//! How right `ken audit` is on documents that others wrote, each in its package's tree.
//!
//! The packages are fetched and kept outside the repository; their sentences are never copied into
//! it. A sample is drawn by a hash of each claim, written beside the trees for somebody to label,
//! and the labels alone are kept: package, document, line, a digest of the text and the verdict.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ken_engine::GitEnv;
use ken_engine::audit::{AuditOptions, AuditReport, FindingKind, audit};
use ken_engine::guard::Guard;

use crate::packages::{fetch_crates, fetch_npm, fetch_sdist, run, said, write};

/// Claims and findings that are labeled.
const CLAIMS: usize = 300;
const FINDINGS: usize = 100;

/// Which sample is drawn. Claims were cut differently after the first two were labeled, so those
/// show nothing any more.
const SAMPLE: u32 = 3;

/// Claims of one package in the sample, so that one long document does not fill it.
const PER_PACKAGE: usize = 24;

const CRATES: &[(&str, &str)] = &[
    ("bitflags", "2.13.2"),
    ("blake3", "1.8.7"),
    ("cc", "1.11.0"),
    ("crossterm", "0.29.0"),
    ("email_address", "0.2.9"),
    ("fancy-regex", "0.19.2"),
    ("itertools", "0.14.0"),
    ("memchr", "2.8.3"),
    ("outref", "0.5.2"),
    ("rustix", "1.1.6"),
    ("serde_json", "1.0.154"),
    ("zerocopy", "0.8.63"),
];

const NPM: &[(&str, &str)] = &[
    ("bmad-method", "6.12.0"),
    ("effect", "4.1.0"),
    ("elysia", "1.4.30"),
    ("knex", "3.3.0"),
    ("next", "16.4.6"),
    ("pino", "10.4.0"),
];

const PYTHON: &[(&str, &str)] = &[
    ("aider-chat", "0.86.2"),
    ("anthropic", "2.8.0"),
    ("attrs", "26.1.0"),
    ("black", "26.10.1"),
    ("click", "8.5.1"),
    ("cognee", "1.6.5"),
    ("dagster", "1.13.28"),
    ("fastmcp", "4.1.4"),
    ("graphiti-core", "0.31.2"),
    ("inspect-ai", "0.3.285"),
    ("instructor", "1.17.0"),
    ("letta", "0.16.8"),
    ("mcp", "2.3.0"),
    ("openai", "3.49.0"),
    ("openai-agents", "0.24.0"),
    ("prefect", "3.9.0"),
    ("pydantic-ai-slim", "2.66.0"),
    ("serena-agent", "2.1.0"),
    ("sqlglot", "30.30.0"),
    ("starlette", "1.10.0"),
    ("strands-agents", "1.62.0"),
    ("structlog", "26.1.0"),
    ("trl", "1.16.0"),
    ("weaviate-client", "4.23.1"),
];

/// One package that was audited.
struct Audited {
    name: String,
    audit: AuditReport,
    took: Duration,
}

/// Something that can be labeled.
struct Item {
    package: String,
    document: String,
    line: usize,
    kind: &'static str,
    text: String,
}

impl Item {
    /// Returns what the item is known by, without its text.
    fn key(&self) -> String {
        let Self {
            package,
            document,
            line,
            kind,
            text,
        } = self;
        let digest = &blake3::hash(text.as_bytes()).to_hex()[..12];
        format!("{package}\t{document}\t{line}\t{kind}\t{digest}")
    }
}

/// Fetches, audits and prints; writes the sample to `dir` and reads labels from `labels` where they
/// are.
pub(super) fn report(dir: &Path, labels: &Path) -> Result<(), String> {
    let audited = audited(dir)?;
    let mut counts: BTreeMap<FindingKind, usize> = BTreeMap::new();
    let (mut documents, mut claims, mut sound) = (0, 0, 0);
    println!(
        "| package | files | documents | claims | sound | findings | ms |\n|---|---|---|---|---|---|---|"
    );
    for Audited { name, audit, took } in &audited {
        documents += audit.documents.len();
        claims += audit.claims.len();
        sound += audit.importable_claims().len();
        for (kind, count) in audit.count_findings() {
            *counts.entry(kind).or_default() += count;
        }
        let (files, held) = (audit.files, audit.documents.len());
        let findings = audit.findings.len();
        println!(
            "| {name} | {files} | {held} | {} | {} | {findings} | {} |",
            audit.claims.len(),
            audit.importable_claims().len(),
            took.as_millis()
        );
    }
    println!(
        "\n{} packages, {documents} documents, {claims} claims, {sound} sound",
        audited.len()
    );
    for (kind, count) in &counts {
        println!("{}: {count}", kind.words().1);
    }
    let (claims, findings) = (claims_of(&audited), findings_of(&audited));
    write(
        &dir.join("claims.tsv"),
        &sheet(&drawn(claims, CLAIMS, PER_PACKAGE)),
    )?;
    write(
        &dir.join("findings.tsv"),
        &sheet(&drawn(findings, FINDINGS, FINDINGS)),
    )?;
    precision(labels, &audited)
}

/// Audits every package's tree as a repository of its own.
fn audited(dir: &Path) -> Result<Vec<Audited>, String> {
    let dir = std::path::absolute(dir).map_err(|error| said(dir, &error))?;
    let mut trees: Vec<(String, PathBuf)> = Vec::new();
    fetch_crates(&dir.join("crates"), &dir.join("project"), CRATES)?;
    trees.extend(CRATES.iter().map(|(name, version)| {
        (
            format!("crate {name}"),
            dir.join(format!("crates/{name}-{version}")),
        )
    }));
    for (name, version) in NPM {
        let root = dir.join(format!("npm/{name}-{version}/package"));
        fetch_npm(name, version, &root)?;
        trees.push((format!("npm {name}"), root));
    }
    for (name, version) in PYTHON {
        let root = dir.join(format!("sdists/{name}-{version}"));
        fetch_sdist(name, version, &root)?;
        trees.push((format!("python {name}"), root));
    }
    let one = |(name, root): (String, PathBuf)| {
        if !root.join(".git").exists() {
            run(Command::new("git").args(["init", "-q"]).current_dir(&root))?;
            run(Command::new("git").args(["add", "-Af"]).current_dir(&root))?;
        }
        let started = Instant::now();
        let options = AuditOptions::default();
        let audit = audit(&root, &GitEnv::default(), &Guard::default(), &options)
            .map_err(|error| format!("{name}: {error}"))?;
        Ok(Audited {
            name,
            audit,
            took: started.elapsed(),
        })
    };
    trees.into_iter().map(one).collect()
}

fn claims_of(audited: &[Audited]) -> Vec<Item> {
    let all = audited
        .iter()
        .flat_map(|it| it.audit.claims.iter().map(|claim| (&it.name, claim)));
    all.map(|(package, claim)| Item {
        package: package.clone(),
        document: claim.document.clone(),
        line: claim.found.line,
        kind: "claim",
        text: format!(
            "{} » {}",
            claim.found.headings.join(" » "),
            claim.found.text
        ),
    })
    .collect()
}

fn findings_of(audited: &[Audited]) -> Vec<Item> {
    let all = audited
        .iter()
        .flat_map(|it| it.audit.findings.iter().map(|finding| (&it.name, finding)));
    all.map(|(package, finding)| {
        let other = finding.other.as_ref().map_or("", |it| it.claim.as_str());
        let claim = finding.claim.as_deref().unwrap_or_default();
        Item {
            package: package.clone(),
            document: finding.document.clone(),
            line: finding.line,
            kind: finding.kind.words().0,
            text: format!("{} » {claim} » {other}", finding.message),
        }
    })
    .collect()
}

/// Draws items by the hash of what they are known by, so that the same ones are drawn wherever this
/// runs.
fn drawn(items: Vec<Item>, count: usize, per_package: usize) -> Vec<Item> {
    let mut keyed: Vec<(blake3::Hash, Item)> = items
        .into_iter()
        .map(|it| {
            (
                blake3::hash(format!("{SAMPLE} {}", it.key()).as_bytes()),
                it,
            )
        })
        .collect();
    keyed.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let room = |(_, it): &(blake3::Hash, Item)| {
        let held = taken.entry(it.package.clone()).or_default();
        *held += 1;
        *held <= per_package
    };
    keyed
        .into_iter()
        .filter(room)
        .take(count)
        .map(|(_, it)| it)
        .collect()
}

/// Returns items with an empty place for their label.
fn sheet(items: &[Item]) -> String {
    let mut out = String::new();
    for item in items {
        let text = item.text.replace(['\t', '\n'], " ");
        let _ = writeln!(out, "?\t{}\t{text}", item.key());
    }
    out
}

/// Prints how many of the labeled items are right, by kind.
fn precision(labels: &Path, audited: &[Audited]) -> Result<(), String> {
    let Ok(text) = fs::read_to_string(labels) else {
        println!("\nno labels at {}", labels.display());
        return Ok(());
    };
    let items = claims_of(audited).into_iter().chain(findings_of(audited));
    let known: BTreeMap<String, &'static str> = items.map(|it| (it.key(), it.kind)).collect();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut gone = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (label, key) = line
            .split_once('\t')
            .ok_or_else(|| format!("no label: {line}"))?;
        let Some(kind) = known.get(key) else {
            gone += 1;
            continue;
        };
        let (right, all) = counts.entry(kind).or_default();
        *all += 1;
        *right += usize::from(label == "y");
    }
    println!("\n| labeled | right | of | precision |\n|---|---|---|---|");
    for (kind, (right, all)) in &counts {
        println!(
            "| {kind} | {right} | {all} | {:.3} |",
            *right as f64 / *all as f64
        );
    }
    println!("{gone} labels are of what an audit does not say any more");
    Ok(())
}
