//! Forager: passages of documentation that answer a question, as quarantined candidates.
//!
//! It reads the documentation of locked packages on this machine, folders that the user names
//! and, if the user allows hosts, their `llms.txt` and the pages it lists. On request, `admit`
//! proposes the best passages as entries of origin `web`: the guard scans and quarantines them like
//! everything from outside, and a person releases them. An entry about a package depends on its
//! version.
//!
//! Without `forage.toml` in the user's folder nothing is read and nothing is asked.

mod admit;
mod config;
mod documents;
#[cfg(feature = "http")]
mod hosts;
mod packages;
mod state;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

pub use ken_anchor::condition::PinnedPackage;
use ken_anchor::condition::pinned_packages;
use ken_core::ledger::event::ForageMode;
use ken_core::retrieval::words::query_words;
use ken_core::values::condition::Ecosystem;
use ken_forage::{Passage, PassageIndex, PassageSource, RankedPassage};

use crate::config::RepositoryConfig;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::model;
use crate::validity::WorkTree;

pub use admit::ForageOutcome;
pub(crate) use admit::admit;
pub use config::{BudgetSection, EgressSection, ForageConfig, ForageHome, ForageSourceKind};
pub use packages::PackageFolders;
pub use state::{ForageLogLine, ForageStatus};
pub(crate) use state::{forage_log, forage_status};

use documents::DocumentFolder;
use packages::{PackageCopy, locate};

/// Prefix of citations of a package's file.
pub(crate) const PACKAGE_PREFIX: &str = "pkg:";
/// Prefix of citations of a file in a folder that the user named.
pub(crate) const FOLDER_PREFIX: &str = "folder:";

/// Maximum number of passages per question.
pub const PASSAGES_MAX: usize = 10;
/// Default number of passages per question.
pub const PASSAGES_DEFAULT: usize = 3;

/// Maximum number of packages that are read whole for one question.
const PACKAGES_MAX: usize = 4;
/// Maximum number of packages whose first page is read to choose among them.
const OVERVIEWS_MAX: usize = 500;
/// Minimum length of a package name that is recognized in a question.
const NAME_CHARS_MIN: usize = 3;
/// Minimum share of the question's words in a passage.
const COVERAGE_MIN: f64 = 0.2;
/// Number of hexadecimal digits of a content hash.
const HASH_DIGITS: usize = 32;

/// Settings of the forager on this machine.
#[derive(Clone, Debug)]
pub struct ForageSetup {
    pub config: ForageConfig,
    pub folders: PackageFolders,
}

/// A question for the forager.
#[derive(Clone, Debug)]
pub struct ForageQuestion {
    pub text: String,
    /// Names of the packages it is about; empty lets the words decide.
    pub packages: Vec<String>,
    pub mode: ForageMode,
    pub limit: usize,
}

/// A passage with its exact place.
#[derive(Clone, Debug, PartialEq)]
pub struct ForageFinding {
    /// `pkg:TYPE/NAME@VERSION#PATH`, `folder:NAME/PATH` or a URL.
    pub address: String,
    pub line: u32,
    pub heading: String,
    pub text: String,
    pub code: Option<String>,
    /// The package it is about.
    pub package: Option<PinnedPackage>,
    /// The host it was read from.
    pub host: Option<String>,
    pub license: Option<String>,
    /// `b3:` and the hash of the document.
    pub content: String,
    /// How well it answers and how it can be trusted, in thousandths.
    pub quality_milli: u16,
}

/// The passages for a question, and what was read to find them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForageReport {
    /// Best first.
    pub findings: Vec<ForageFinding>,
    /// Packages that were read, as `NAME VERSION`.
    pub packages: Vec<String>,
    /// Packages that were asked for and are not locked, or not on this machine.
    pub missing: Vec<String>,
    pub documents: usize,
    pub passages: usize,
    /// Reasons why something was not read.
    pub refusals: Vec<String>,
    pub pages: u32,
}

/// A document with the facts that its findings need.
#[derive(Clone, Debug)]
struct DocumentOrigin {
    prefix: Arc<str>,
    package: Option<PinnedPackage>,
    host: Option<String>,
    license: Option<String>,
    hashes: Vec<(Arc<str>, String)>,
}

/// Everything that was read for a question.
#[derive(Default)]
struct Material {
    passages: Vec<Passage>,
    origins: Vec<DocumentOrigin>,
    ignored: Vec<String>,
}

/// Reads the configured sources and returns the best passages for a question.
pub(crate) fn find(
    engine: &mut Engine,
    setup: &ForageSetup,
    question: &ForageQuestion,
    #[cfg(feature = "http")] gateway: Option<&mut ken_fetch::FetchGateway>,
) -> Result<ForageReport, EngineError> {
    // The user's file is for every repository; this one can only forbid more.
    let config = setup.config.clone().narrowed(&repository_section(engine)?);
    let mut report = ForageReport::default();
    let mut material = Material::default();
    #[cfg(feature = "http")]
    let mut gateway = gateway;
    for source in &config.sources {
        match source {
            ForageSourceKind::Packages => {
                read_packages(engine, setup, question, &mut material, &mut report)?;
            }
            ForageSourceKind::Folders => read_folders(&config, &mut material, &mut report),
            #[cfg(feature = "http")]
            ForageSourceKind::Hosts => {
                hosts::read_hosts(
                    engine,
                    &config,
                    question,
                    gateway.as_deref_mut(),
                    &mut material,
                    &mut report,
                )?;
            }
            #[cfg(not(feature = "http"))]
            ForageSourceKind::Hosts => {
                let why = "this build has no network access for hosts";
                report.refusals.push(why.to_owned());
            }
        }
    }
    report.passages = material.passages.len();
    report.findings = rank(engine, question, material)?;
    state::log_question(engine, &report)?;
    Ok(report)
}

fn repository_section(engine: &Engine) -> Result<crate::config::ForageSection, EngineError> {
    let tree = WorkTree::new(&engine.place)?;
    Ok(RepositoryConfig::load_or_default(&tree).forage)
}

/// Reads the documentation of the packages that a question is about.
fn read_packages(
    engine: &mut Engine,
    setup: &ForageSetup,
    question: &ForageQuestion,
    material: &mut Material,
    report: &mut ForageReport,
) -> Result<(), EngineError> {
    let root = engine.root().to_owned();
    let folders = PackageFolders {
        python: [setup.config.python.clone(), setup.folders.python.clone()].concat(),
        ..setup.folders.clone()
    };
    let pinned = pinned_packages(&WorkTree::new(&engine.place)?);
    let named = named_packages(&pinned, question, report);
    // Packages that the user names and that are not locked are missing; a guess would mislead.
    let chosen = if named.is_empty() && question.packages.is_empty() {
        let copies = located(&root, &folders, pinned.iter().take(OVERVIEWS_MAX));
        choose_by_overview(engine, question, &copies)?
    } else {
        let found = located(&root, &folders, &named);
        for package in &named {
            if !found.iter().any(|it| it.package == *package) {
                let PinnedPackage { name, version, .. } = package;
                report.missing.push(format!("{name} {version}"));
            }
        }
        found
    };
    for copy in with_companions(&root, &folders, &pinned, &chosen) {
        let PinnedPackage {
            name,
            version,
            ecosystem,
            ..
        } = &copy.package;
        report.packages.push(format!("{name} {version}"));
        material.ignored.push(name.clone());
        let folder = DocumentFolder::read(&copy.roots);
        if folder.is_cut {
            let why = format!("{name} {version} has more documents than the limit");
            report.refusals.push(why);
        }
        let prefix = format!("{PACKAGE_PREFIX}{}/{name}@{version}#", ecosystem.name());
        add_folder(material, report, &folder, &prefix, |origin| {
            origin.package = Some(copy.package.clone());
            origin.license = copy.license.clone();
        });
    }
    Ok(())
}

/// Returns the locked packages that a question names, in it or beside it.
fn named_packages(
    pinned: &[PinnedPackage],
    question: &ForageQuestion,
    report: &mut ForageReport,
) -> Vec<PinnedPackage> {
    let normal = |ecosystem: Ecosystem, name: &str| ecosystem.normalize_name(name).to_lowercase();
    let is_named = |package: &&PinnedPackage, wanted: &str| {
        normal(package.ecosystem, &package.name) == normal(package.ecosystem, wanted)
    };
    let mut found: Vec<PinnedPackage> = Vec::new();
    for wanted in &question.packages {
        let before = found.len();
        found.extend(pinned.iter().filter(|it| is_named(it, wanted)).cloned());
        if found.len() == before {
            report.missing.push(wanted.clone());
        }
    }
    if question.packages.is_empty() {
        let words = question
            .text
            .split(|it: char| it.is_whitespace() || ",?!;:()`\"".contains(it));
        let words: BTreeSet<&str> = words
            .filter(|it| it.chars().count() >= NAME_CHARS_MIN)
            .collect();
        for word in words {
            found.extend(pinned.iter().filter(|it| is_named(it, word)).cloned());
        }
    }
    found.truncate(PACKAGES_MAX);
    found
}

fn located<'a>(
    root: &Path,
    folders: &PackageFolders,
    packages: impl IntoIterator<Item = &'a PinnedPackage>,
) -> Vec<PackageCopy> {
    let packages = packages.into_iter();
    packages
        .filter_map(|it| locate(root, folders, it))
        .collect()
}

/// Adds locked packages that a chosen one is split into: `clap_builder` for `clap`.
fn with_companions(
    root: &Path,
    folders: &PackageFolders,
    pinned: &[PinnedPackage],
    chosen: &[PackageCopy],
) -> Vec<PackageCopy> {
    let mut all = chosen.to_vec();
    for copy in chosen {
        let PinnedPackage {
            name, ecosystem, ..
        } = &copy.package;
        let is_part = |it: &&PinnedPackage| {
            // A similar name is not enough, as anyone may publish `clap-extra`: the manifest has to
            // name it.
            let rest = it.name.strip_prefix(name.as_str());
            it.ecosystem == *ecosystem
                && rest.is_some_and(|rest| rest.starts_with(['-', '_']))
                && copy.manifest.contains(&it.name)
        };
        for part in pinned.iter().filter(is_part).take(PACKAGES_MAX) {
            if !all.iter().any(|it| it.package.name == part.name) {
                all.extend(locate(root, folders, part));
            }
        }
    }
    all
}

/// Chooses packages by the words of their first pages.
fn choose_by_overview(
    engine: &mut Engine,
    question: &ForageQuestion,
    copies: &[PackageCopy],
) -> Result<Vec<PackageCopy>, EngineError> {
    let mut passages = Vec::new();
    for (at, copy) in copies.iter().enumerate() {
        for mut passage in documents::overview(&copy.roots) {
            passage.path = at.to_string().into();
            passages.push(passage);
        }
    }
    let index = PassageIndex::new(passages);
    let ranked = rank_with_model(engine, &index, &question.text, &[], PASSAGES_MAX)?;
    let mut chosen: Vec<PackageCopy> = Vec::new();
    for found in ranked.iter().filter(|it| it.coverage >= COVERAGE_MIN) {
        let copy = found
            .passage
            .path
            .parse()
            .ok()
            .and_then(|at: usize| copies.get(at));
        if let Some(copy) = copy.filter(|it| !chosen.contains(it)) {
            chosen.push(copy.clone());
        }
        if chosen.len() == PACKAGES_MAX {
            break;
        }
    }
    Ok(chosen)
}

fn read_folders(config: &ForageConfig, material: &mut Material, report: &mut ForageReport) {
    for root in &config.folders {
        let name = root
            .file_name()
            .and_then(|it| it.to_str())
            .unwrap_or("folder");
        let folder = DocumentFolder::read(std::slice::from_ref(root));
        if folder.documents.is_empty() {
            report
                .refusals
                .push(format!("folder `{name}` has no documents"));
        }
        let prefix = format!("{FOLDER_PREFIX}{name}/");
        add_folder(material, report, &folder, &prefix, |_| {});
    }
}

fn add_folder(
    material: &mut Material,
    report: &mut ForageReport,
    folder: &DocumentFolder,
    prefix: &str,
    describe: impl FnOnce(&mut DocumentOrigin),
) {
    let mut origin = DocumentOrigin {
        prefix: prefix.into(),
        package: None,
        host: None,
        license: None,
        hashes: Vec::new(),
    };
    describe(&mut origin);
    report.documents += folder.documents.len();
    for mut passage in folder.passages() {
        passage.path = format!("{prefix}{}", passage.path).into();
        material.passages.push(passage);
    }
    let hash = |it: &documents::LocalDocument| (Arc::clone(&it.path), content_hash(&it.text));
    origin.hashes = folder.documents.iter().map(hash).collect();
    material.origins.push(origin);
}

fn content_hash(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!("b3:{}", &hash[..HASH_DIGITS])
}

/// Ranks passages with the built-in model for their meaning.
fn rank_with_model(
    engine: &mut Engine,
    index: &PassageIndex,
    question: &str,
    ignored: &[String],
    limit: usize,
) -> Result<Vec<RankedPassage>, EngineError> {
    let mut failed = None;
    let mut similarity = |texts: &[&str]| {
        let all: Vec<&str> = std::iter::once(question)
            .chain(texts.iter().copied())
            .collect();
        match model::built_in_table(engine, &all) {
            Ok(Some(table)) => (1..all.len()).map(|at| table.cosine(0, at)).collect(),
            Ok(None) => Vec::new(),
            Err(error) => {
                failed = Some(error);
                Vec::new()
            }
        }
    };
    let ranked = index.rank(question, ignored, &mut similarity, limit);
    failed.map_or(Ok(ranked), Err)
}

fn rank(
    engine: &mut Engine,
    question: &ForageQuestion,
    material: Material,
) -> Result<Vec<ForageFinding>, EngineError> {
    let Material {
        passages,
        origins,
        ignored,
    } = material;
    let index = PassageIndex::new(passages);
    let limit = question.limit.min(PASSAGES_MAX);
    let ranked = rank_with_model(engine, &index, &question.text, &ignored, limit)?;
    let ranked = ranked.into_iter().filter(|it| it.coverage >= COVERAGE_MIN);
    let findings = ranked.filter_map(|it| {
        let path = it.passage.path.to_string();
        let (origin, content) = origins.iter().find_map(|origin| {
            let rest = path.strip_prefix(&*origin.prefix)?;
            let (_, hash) = origin.hashes.iter().find(|(name, _)| **name == *rest)?;
            Some((origin, hash.clone()))
        })?;
        let quality_milli = quality(question, origin, &it);
        let passage = it.passage;
        Some(ForageFinding {
            address: path,
            line: passage.line,
            heading: passage.heading,
            text: passage.text,
            code: passage.code,
            package: origin.package.clone(),
            host: origin.host.clone(),
            license: origin.license.clone(),
            content,
            quality_milli,
        })
    });
    Ok(findings.collect())
}

/// Returns the quality of a finding: fit, form, source, version and heading.
fn quality(question: &ForageQuestion, origin: &DocumentOrigin, found: &RankedPassage) -> u16 {
    let passage = &found.passage;
    let fit = 0.30 * found.coverage + 0.25 * found.cosine;
    let form = if passage.text.ends_with(['.', '!', ':', '`']) {
        0.15
    } else {
        0.08
    };
    let source = match (&origin.package, &origin.host, passage.source) {
        (Some(_), _, PassageSource::ChangeLog) => 0.10,
        (Some(_), _, PassageSource::Guide | PassageSource::Reference) => 0.15,
        (None, _, _) => 0.105,
    };
    // Only locked versions are read, so a package's documentation is of the right one.
    let version = if origin.package.is_some() { 0.10 } else { 0.0 };
    let words: BTreeSet<String> = query_words(&question.text)
        .into_iter()
        .map(|it| it.0)
        .collect();
    let shares = query_words(&passage.heading)
        .iter()
        .any(|(word, _)| words.contains(word));
    let heading = if shares { 0.05 } else { 0.0 };
    // All parts together are at most 1.
    ((fit + form + source + version + heading).clamp(0.0, 1.0) * 1000.0).round() as u16
}
