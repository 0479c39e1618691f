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
#[cfg(feature = "http")]
mod declared;
mod documents;
#[cfg(feature = "http")]
mod hosts;
mod names;
mod packages;
mod query;
mod questions;
mod requests;
#[cfg(feature = "http")]
mod search_services;
mod state;
mod strategy;
mod trust;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

pub use ken_anchor::condition::PinnedPackage;
use ken_anchor::condition::pinned_packages;
use ken_core::ledger::event::{FetchLevel, ForageMode};
use ken_core::ledger::workspace::FetchStrategy;
use ken_core::retrieval::words::query_words;
use ken_core::values::condition::Ecosystem;
use ken_core::values::time::Timestamp;
use ken_forage::{Passage, PassageIndex, PassageSource, RankedPassage};

use crate::config::RepositoryConfig;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::model;
use crate::validity::WorkTree;

pub use admit::ForageOutcome;
pub(crate) use admit::admit;
pub use config::{
    BraveSection, BudgetSection, EgressSection, ForageConfig, ForageHome, ForageSourceKind,
    SearxngSection,
};
pub use packages::PackageFolders;
pub use questions::ForageRecord;
pub(crate) use questions::forage_records;
pub use requests::ForageRequest;
pub(crate) use requests::{forage_requests, forage_unasked};
pub use state::{ForageLogLine, ForageStatus};
pub(crate) use state::{forage_log, forage_status};
pub use trust::DomainStatus;
pub(crate) use trust::{domain_statuses, override_domain};

use documents::DocumentFolder;
use packages::{PackageCopy, locate};
use strategy::{HostPages, note_pages};

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

/// Where the forager's settings are. The engine reads them only if it forages unasked.
#[derive(Clone, Debug)]
pub struct ForagePlace {
    pub home: ForageHome,
    pub folders: PackageFolders,
}

impl ForagePlace {
    /// Loads the settings; `None` if the forager is off.
    pub fn load(&self) -> Result<Option<ForageSetup>, EngineError> {
        let config = self.home.load()?;
        Ok(config.map(|config| ForageSetup {
            config,
            folders: self.folders.clone(),
        }))
    }
}

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
    pub level: FetchLevel,
    pub read_at: Timestamp,
    /// What was sent to a search service to find it.
    pub query: Option<String>,
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
    /// What was sent to search services, as `SERVICE: WORDS`.
    pub sent: Vec<String>,
    pub pages: u32,
}

/// A document with the facts that its findings need.
#[derive(Clone, Debug)]
struct DocumentOrigin {
    prefix: Arc<str>,
    package: Option<PinnedPackage>,
    host: Option<String>,
    /// Whether a person trusts the host.
    is_trusted: bool,
    license: Option<String>,
    level: FetchLevel,
    read_at: Timestamp,
    query: Option<String>,
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
    let folders = PackageFolders {
        python: [config.python.clone(), setup.folders.python.clone()].concat(),
        ..setup.folders.clone()
    };
    let locked = LockedPackages {
        pinned: pinned_packages(&WorkTree::new(&engine.place)?),
        folders: &folders,
    };
    let mut chosen = Vec::new();
    for source in &config.sources {
        match source {
            ForageSourceKind::Packages => {
                chosen = read_packages(engine, &locked, question, &mut material, &mut report)?;
            }
            ForageSourceKind::Folders => {
                read_folders(&config, engine.now(), &mut material, &mut report);
            }
            // Read below, together: they share one gateway and its budget.
            ForageSourceKind::Hosts | ForageSourceKind::Searxng | ForageSourceKind::Brave => {}
        }
    }
    let network = config.sources.iter().copied();
    let network: Vec<ForageSourceKind> = network.filter(|it| it.uses_network()).collect();
    #[cfg(feature = "http")]
    if !network.is_empty() {
        let request = hosts::NetworkRequest {
            config: &config,
            folders: &folders,
            question,
            sources: &network,
            packages: &chosen,
            pinned: &locked.pinned,
        };
        hosts::read_network(engine, &request, gateway, &mut material, &mut report)?;
    }
    #[cfg(not(feature = "http"))]
    if !network.is_empty() {
        drop(chosen);
        let why = "this build has no network access for hosts and search services";
        report.refusals.push(why.to_owned());
    }
    report.passages = material.passages.len();
    let mut seen = pages_per_host(&material);
    report.findings = rank(engine, question, material)?;
    for finding in &report.findings {
        let host = finding.host.as_ref().and_then(|it| seen.get_mut(it));
        if let Some(seen) = host {
            // The best finding decides; they are in order.
            seen.useful = seen.useful.or(strategy_of(finding.level));
        }
    }
    if !seen.is_empty() {
        let mut state = state::load(engine)?;
        note_pages(&mut state, &seen, engine.now());
        state::store(engine, &state)?;
    }
    state::log_question(engine, &report)?;
    Ok(report)
}

/// Returns the words of a question that a search service would be sent.
pub(crate) fn search_service_query(
    engine: &Engine,
    setup: &ForageSetup,
    question: &str,
) -> Result<Option<String>, EngineError> {
    let pinned = pinned_packages(&WorkTree::new(&engine.place)?);
    let (public, private) =
        names::words_of_repository(engine, &setup.config, &setup.folders, &pinned)?;
    let policy = &engine.guard.policy;
    Ok(query::build_query(question, policy, &public, &private))
}

/// Returns the number of pages that were read of each host.
fn pages_per_host(material: &Material) -> BTreeMap<String, HostPages> {
    let mut seen: BTreeMap<String, HostPages> = BTreeMap::new();
    for host in material.origins.iter().filter_map(|it| it.host.as_ref()) {
        seen.entry(host.clone()).or_default().pages += 1;
    }
    seen
}

fn strategy_of(level: FetchLevel) -> Option<FetchStrategy> {
    match level {
        FetchLevel::Markdown => Some(FetchStrategy::Markdown),
        FetchLevel::Html => Some(FetchStrategy::Html),
        FetchLevel::Package | FetchLevel::Folder => None,
    }
}

/// The packages of the lockfiles, and where their copies are.
struct LockedPackages<'a> {
    pinned: Vec<PinnedPackage>,
    folders: &'a PackageFolders,
}

fn repository_section(engine: &Engine) -> Result<crate::config::ForageSection, EngineError> {
    let tree = WorkTree::new(&engine.place)?;
    Ok(RepositoryConfig::load_or_default(&tree).forage)
}

/// Reads the documentation of the packages that a question is about, and returns their copies.
fn read_packages(
    engine: &mut Engine,
    locked: &LockedPackages<'_>,
    question: &ForageQuestion,
    material: &mut Material,
    report: &mut ForageReport,
) -> Result<Vec<PackageCopy>, EngineError> {
    let root = engine.root().to_owned();
    let LockedPackages { pinned, folders } = locked;
    let named = named_packages(pinned, question, report);
    // Packages that the user names and that are not locked are missing; a guess would mislead.
    let chosen = if named.is_empty() && question.packages.is_empty() {
        let copies = located(&root, folders, pinned.iter().take(OVERVIEWS_MAX));
        choose_by_overview(engine, question, &copies)?
    } else {
        let found = located(&root, folders, &named);
        for package in &named {
            if !found.iter().any(|it| it.package == *package) {
                let PinnedPackage { name, version, .. } = package;
                report.missing.push(format!("{name} {version}"));
            }
        }
        found
    };
    for copy in with_companions(&root, folders, pinned, &chosen) {
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
        add_folder(material, report, &folder, &prefix, engine.now(), |origin| {
            origin.package = Some(copy.package.clone());
            origin.license = copy.license.clone();
            origin.level = FetchLevel::Package;
        });
    }
    Ok(chosen)
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

fn read_folders(
    config: &ForageConfig,
    now: Timestamp,
    material: &mut Material,
    report: &mut ForageReport,
) {
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
        add_folder(material, report, &folder, &prefix, now, |_| {});
    }
}

fn add_folder(
    material: &mut Material,
    report: &mut ForageReport,
    folder: &DocumentFolder,
    prefix: &str,
    now: Timestamp,
    describe: impl FnOnce(&mut DocumentOrigin),
) {
    let mut origin = DocumentOrigin {
        prefix: prefix.into(),
        package: None,
        host: None,
        is_trusted: false,
        license: None,
        level: FetchLevel::Folder,
        read_at: now,
        query: None,
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
            level: origin.level,
            read_at: origin.read_at,
            query: origin.query.clone(),
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
        // A person vouches for the host as for a package that the lockfile names.
        (None, Some(_), _) if origin.is_trusted => 0.15,
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
