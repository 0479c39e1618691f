//! Inbox: claims that await a decision, one file per claim below `.ken/.local`.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::values::actor::Actor;
use ken_core::values::condition::Glob;
use ken_core::values::content::Polarity;
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::text::comparison_words;
use ken_digest::MentionKind;
use ken_digest::commit::HistoryRule;
use ken_ledger::{Dir as _, DiskError};
use serde::{Deserialize, Serialize};

use super::{ClaimSelection, inbox_folder};
use crate::audit::{AuditReport, AuditedClaim, governed_folder};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::write_atomically;

/// Folder of the inbox, below `.ken`.
pub(super) const INBOX_DIR: &str = ".local/staging";

/// Ids of rejected claims, below `.ken`.
const REJECTED_FILE: &str = ".local/staging/rejected.json";

/// Ids of claims of the history that the inbox had, below `.ken`.
const OFFERED_FILE: &str = ".local/staging/offered.json";

/// Maximum number of file conditions per claim.
const CONDITIONS_MAX: usize = 4;

/// Memories that extracted claims belong to.
const MEMORIES: [Memory; 2] = [Memory::Semantic, Memory::Procedural];

/// Claim that awaits a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxClaim {
    pub schema: String,
    /// Hash of kind, source and text, so that the same claim always has the same id.
    pub id: String,
    pub kind: EntryKind,
    pub statement: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Polarity given explicitly. It is not derived from the statement, which is too unreliable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polarity: Option<Polarity>,
    /// Conditions: the cited files exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Code locations that the claim is about, such as `src/pay.rs#charge`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<String>,
    /// Globs of the files that the claim is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applies_to: Vec<Glob>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// Citation, such as `doc:CLAUDE.md#L12@3fce3b5`.
    pub cite: String,
    /// More citations of the same claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_cites: Vec<String>,
    /// Rule that found the claim in the commit history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<HistoryRule>,
    /// Agent that made the claim. It becomes the author of the citation instead of the person who
    /// accepts the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// The exchange of a conversation that the claim was captured from. It becomes the body of the
    /// entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<String>,
    /// Entries, or other claims, that this claim amends. Accepting the claim supersedes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<String>,
    /// Entry that amends this claim. Accepting the claim adds an entry that is already superseded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// Audit findings, or the location in a transcript.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

impl InboxClaim {
    /// Returns the command that extracted the claim.
    pub fn source_command(&self) -> &'static str {
        match self.cite.split(':').next() {
            Some("transcript") => "ken capture",
            Some("doc") => "ken import",
            _ => "ken import --history",
        }
    }

    /// Creates a claim and derives its id.
    pub fn new(kind: EntryKind, statement: String, source: &str, cite: String) -> Self {
        let identity = format!(
            "{}\0{source}\0{}",
            kind.name(),
            comparison_words(&statement).join(" ")
        );
        Self {
            schema: "ken.staged.v1".to_owned(),
            id: format!("c-{}", &blake3::hash(identity.as_bytes()).to_hex()[..10]),
            kind,
            statement,
            tags: Vec::new(),
            polarity: None,
            depends_on: Vec::new(),
            anchors: Vec::new(),
            applies_to: Vec::new(),
            verify: Vec::new(),
            cite,
            also_cites: Vec::new(),
            rule: None,
            by: None,
            exchange: None,
            supersedes: Vec::new(),
            superseded_by: None,
            findings: Vec::new(),
        }
    }
}

/// Converts the selected claims of an audit to inbox claims.
pub(super) fn claims_from_audit(
    audit: &AuditReport,
    take: ClaimSelection,
    commit: Option<&str>,
) -> Vec<InboxClaim> {
    let mut findings: BTreeMap<(&str, usize), Vec<String>> = BTreeMap::new();
    for finding in &audit.findings {
        let at = (finding.document.as_str(), finding.line);
        findings
            .entry(at)
            .or_default()
            .push(finding.message.clone());
    }
    let claims: Vec<&AuditedClaim> = match take {
        ClaimSelection::All => audit.claims.iter().collect(),
        ClaimSelection::Importable => audit.importable_claims(),
    };
    // A sentence that occurs twice in a document has the same id twice.
    let mut seen = BTreeSet::new();
    claims
        .into_iter()
        .map(|claim| claim_from_audit(claim, &findings, commit))
        .filter(|it| seen.insert(it.id.clone()))
        .collect()
}

/// Converts an audited claim and attaches the findings at its line.
fn claim_from_audit(
    claim: &AuditedClaim,
    findings: &BTreeMap<(&str, usize), Vec<String>>,
    commit: Option<&str>,
) -> InboxClaim {
    let found = &claim.found;
    let at = commit.map(|it| format!("@{it}")).unwrap_or_default();
    let cite = format!("doc:{}#L{}{at}", claim.document, found.line);
    let mut staged = InboxClaim::new(found.kind, found.text.clone(), &claim.document, cite);
    staged.tags = found.tags.iter().map(|it| (*it).to_owned()).collect();
    staged.verify = found.verify.clone();
    staged.depends_on = file_conditions(claim);
    staged.applies_to.clone_from(&found.applies_to);
    // The rules of `web/AGENTS.md` are about the files below `web`.
    let folder = governed_folder(&claim.document);
    if staged.applies_to.is_empty() && !folder.is_empty() {
        staged
            .applies_to
            .extend(format!("{folder}/**").parse::<Glob>().ok());
    }
    let about = findings.get(&(claim.document.as_str(), found.line));
    staged.findings = about.cloned().unwrap_or_default();
    staged
}

/// Returns conditions that the cited files and folders exist.
///
/// The conditions do not cover file contents: a sentence that mentions a file stays valid when the
/// file changes.
fn file_conditions(claim: &AuditedClaim) -> Vec<String> {
    let is_link_only = claim
        .found
        .mentions
        .iter()
        .all(|it| it.kind == MentionKind::Link);
    // A claim that only links to a file does not depend on it.
    if is_link_only {
        return Vec::new();
    }
    // Characters of a glob pattern: in a condition such a path would match other files.
    let plain = |path: &&String| !path.contains(['[', ']', '*', '?', '{', '(', ' ']);
    let cited = claim.cites.iter().filter(plain).take(CONDITIONS_MAX);
    cited
        .map(|path| {
            let name = path.rsplit('/').next().unwrap_or(path);
            // A leading dot is not an extension: `.github` is a folder.
            let is_file = name.trim_start_matches('.').contains('.');
            format!("file:{path}{}", if is_file { "" } else { "/**" })
        })
        .collect()
}

/// Returns the claims in the inbox, ordered by memory and id.
pub(crate) fn inbox_claims(engine: &Engine) -> Result<Vec<InboxClaim>, EngineError> {
    let dir = &*engine.ken;
    let mut found = Vec::new();
    for memory in MEMORIES {
        let folder = inbox_folder(memory);
        for name in list_claim_files(dir, &folder)? {
            let path = format!("{folder}/{name}");
            let bytes = dir.read(&path).map_err(DiskError::on("read", &path))?;
            // An unreadable claim is an error: skipping it would lose a claim silently.
            let staged = serde_json::from_slice(&bytes).map_err(|error| {
                EngineError::Usage(format!(
                    "cannot read `.ken/{path}`: {error}; delete it and run `ken import --review` again"
                ))
            })?;
            found.push(staged);
        }
    }
    Ok(found)
}

/// Returns the claims whose ids start with one of `wanted`, or all claims if it is empty.
pub(crate) fn find_inbox_claims(
    engine: &Engine,
    wanted: &[String],
) -> Result<Vec<InboxClaim>, EngineError> {
    let all = engine.inbox_claims()?;
    if wanted.is_empty() {
        return Ok(all);
    }
    let mut found: Vec<InboxClaim> = Vec::new();
    for name in wanted {
        let mut fitting = all.iter().filter(|it| it.id.starts_with(name.as_str()));
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => found.push(one.clone()),
            (None, _) => {
                return Err(EngineError::Usage(format!(
                    "no claim in the inbox has an id that starts with `{name}`; run `ken inbox list`"
                )));
            }
            (Some(_), Some(_)) => {
                return Err(EngineError::Usage(format!(
                    "`{name}` is ambiguous: several claims start with it"
                )));
            }
        }
    }
    Ok(found)
}

/// Rejects claims permanently: `reduce` does not add them again.
pub(crate) fn reject_inbox_claims(
    engine: &mut Engine,
    wanted: &[String],
) -> Result<Vec<InboxClaim>, EngineError> {
    let doomed = engine.find_inbox_claims(wanted)?;
    let mut rejected = rejected_claim_ids(engine)?;
    rejected.extend(doomed.iter().map(|it| it.id.clone()));
    let dir = &*engine.ken;
    let bytes = serde_json::to_vec(&rejected).unwrap_or_default();
    // Remember the rejection first: after a crash in between, the claim can be rejected again.
    write_atomically(dir, REJECTED_FILE, &bytes).map_err(DiskError::on("write", REJECTED_FILE))?;
    for staged in &doomed {
        delete_inbox_claim(engine, staged)?;
    }
    Ok(doomed)
}

/// Returns the ids of the claims in the inbox, without parsing the files.
pub(super) fn inbox_claim_ids(engine: &Engine) -> Result<BTreeSet<String>, EngineError> {
    let dir = &*engine.ken;
    let mut found = BTreeSet::new();
    for memory in MEMORIES {
        let names = list_claim_files(dir, &inbox_folder(memory))?;
        found.extend(
            names
                .into_iter()
                .map(|it| it.trim_end_matches(".json").to_owned()),
        );
    }
    Ok(found)
}

/// Returns the ids of rejected claims.
pub(super) fn rejected_claim_ids(engine: &Engine) -> Result<BTreeSet<String>, EngineError> {
    read_claim_ids(engine, REJECTED_FILE)
}

/// Returns the ids of claims of the history that the inbox had.
pub(super) fn offered_claim_ids(engine: &Engine) -> Result<BTreeSet<String>, EngineError> {
    read_claim_ids(engine, OFFERED_FILE)
}

/// Remembers that claims of the history were in the inbox, also after they are accepted.
pub(super) fn remember_offered(engine: &Engine, claims: &[InboxClaim]) -> Result<(), EngineError> {
    let mut offered = offered_claim_ids(engine)?;
    offered.extend(claims.iter().map(|it| it.id.clone()));
    let bytes = serde_json::to_vec(&offered).unwrap_or_default();
    let written = write_atomically(&*engine.ken, OFFERED_FILE, &bytes);
    Ok(written.map_err(DiskError::on("write", OFFERED_FILE))?)
}

/// Reads a list of claim ids. A damaged file counts as empty.
fn read_claim_ids(engine: &Engine, file: &str) -> Result<BTreeSet<String>, EngineError> {
    let dir = &*engine.ken;
    let text = crate::files::read_text(dir, file)?;
    Ok(text
        .and_then(|it| serde_json::from_str(&it).ok())
        .unwrap_or_default())
}

/// Writes a claim to the inbox.
pub(super) fn store_inbox_claim(engine: &Engine, staged: &InboxClaim) -> Result<(), EngineError> {
    let dir = &*engine.ken;
    let path = claim_path(staged);
    let bytes = serde_json::to_vec_pretty(staged).unwrap_or_default();
    Ok(write_atomically(dir, &path, &bytes).map_err(DiskError::on("write", &path))?)
}

/// Deletes a claim from the inbox. A missing file is not an error.
pub(super) fn delete_inbox_claim(engine: &Engine, staged: &InboxClaim) -> Result<(), EngineError> {
    let dir = &*engine.ken;
    let path = claim_path(staged);
    match dir.remove(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(DiskError::on("remove", &path)(error).into())
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the path of a claim's file.
fn claim_path(staged: &InboxClaim) -> String {
    format!("{}/{}.json", inbox_folder(staged.kind.memory()), staged.id)
}

/// Lists the JSON files of a folder; empty if the folder does not exist.
fn list_claim_files(dir: &ken_ledger::RealDir, folder: &str) -> Result<Vec<String>, EngineError> {
    match dir.list(folder) {
        Ok(list) => {
            let mut names: Vec<String> = list.into_iter().map(|(name, _)| name).collect();
            names.retain(|name| name.ends_with(".json"));
            names.sort();
            Ok(names)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(DiskError::on("list", folder)(error).into()),
    }
}
