//! Claims that wait for somebody to decide: one file each below `.ken/.local`, under a name their text gives.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::actor::Actor;
use ken_core::content::Polarity;
use ken_core::kind::{Kind, Memory};
use ken_core::text::comparison_words;
use ken_digest::MentionKind;
use ken_ledger::{Dir as _, DiskError};
use serde::{Deserialize, Serialize};

use super::{Take, folder};
use crate::audit::{Audit, Claim};
use crate::engine::Engine;
use crate::error::Error;
use crate::files::put;

/// Where claims wait, below `.ken`.
pub(super) const FOLDER: &str = ".local/staging";

/// Names of claims somebody rejected, below `.ken`.
const REJECTED_FILE: &str = ".local/staging/rejected.json";

/// Files a claim is bound to at most.
const BOUND_MAX: usize = 4;

/// Memories a document's claims go to.
const MEMORIES: [Memory; 2] = [Memory::Semantic, Memory::Procedural];

/// A claim that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    pub schema: String,
    /// Given by source and text, so the same claim has the same name each time.
    pub id: String,
    pub kind: Kind,
    pub statement: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// As somebody gave it; how a sentence is worded says too little to hold it against others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polarity: Option<Polarity>,
    /// Conditions it rests on: that what it cites is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// What shows it: `doc:CLAUDE.md#L12@3fce3b5`.
    pub cite: String,
    /// Who said so, where it was an agent: evidence is cited in its name, not in that of whoever accepts the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// What the audit found about it, or where it was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

impl Staged {
    /// Makes a claim with a name of its own.
    pub fn new(kind: Kind, statement: String, source: &str, cite: String) -> Self {
        let told = format!(
            "{}\0{source}\0{}",
            kind.name(),
            comparison_words(&statement).join(" ")
        );
        Self {
            schema: "ken.staged.v1".to_owned(),
            id: format!("c-{}", &blake3::hash(told.as_bytes()).to_hex()[..10]),
            kind,
            statement,
            tags: Vec::new(),
            polarity: None,
            depends_on: Vec::new(),
            verify: Vec::new(),
            cite,
            by: None,
            findings: Vec::new(),
        }
    }
}

/// Returns what an audit found, as claims that can wait.
pub(super) fn of_audit(audit: &Audit, take: Take, commit: Option<&str>) -> Vec<Staged> {
    let mut findings: BTreeMap<(&str, usize), Vec<String>> = BTreeMap::new();
    for finding in &audit.findings {
        let at = (finding.document.as_str(), finding.line);
        findings
            .entry(at)
            .or_default()
            .push(finding.message.clone());
    }
    let claims: Vec<&Claim> = match take {
        Take::All => audit.claims.iter().collect(),
        Take::Sound => audit.sound(),
    };
    let mut seen = BTreeSet::new();
    claims
        .into_iter()
        .map(|claim| of_claim(claim, &findings, commit))
        .filter(|it| seen.insert(it.id.clone()))
        .collect()
}

fn of_claim(
    claim: &Claim,
    findings: &BTreeMap<(&str, usize), Vec<String>>,
    commit: Option<&str>,
) -> Staged {
    let found = &claim.found;
    let at = commit.map(|it| format!("@{it}")).unwrap_or_default();
    let cite = format!("doc:{}#L{}{at}", claim.document, found.line);
    let mut staged = Staged::new(found.kind, found.text.clone(), &claim.document, cite);
    staged.tags = found.tags.iter().map(|it| (*it).to_owned()).collect();
    staged.verify = found.verify.clone();
    staged.depends_on = conditions(claim);
    let about = findings.get(&(claim.document.as_str(), found.line));
    staged.findings = about.cloned().unwrap_or_default();
    staged
}

/// Returns what must be there for a claim to make sense: files and folders it cites.
///
/// Not what they contain: a sentence that mentions a file does not fall with the file's next change.
fn conditions(claim: &Claim) -> Vec<String> {
    let is_link_only = claim
        .found
        .mentions
        .iter()
        .all(|it| it.kind == MentionKind::Link);
    if is_link_only {
        return Vec::new();
    }
    let plain = |path: &&String| !path.contains(['[', ']', '*', '?', '{', '(', ' ']);
    let cited = claim.cites.iter().filter(plain).take(BOUND_MAX);
    cited
        .map(|path| {
            let name = path.rsplit('/').next().unwrap_or(path);
            let is_file = name.trim_start_matches('.').contains('.');
            format!("file:{path}{}", if is_file { "" } else { "/**" })
        })
        .collect()
}

impl Engine {
    /// Returns what waits, by memory and name.
    pub fn staged(&self) -> Result<Vec<Staged>, Error> {
        let dir = &*self.ken;
        let mut found = Vec::new();
        for memory in MEMORIES {
            let folder = folder(memory);
            for name in names(dir, &folder)? {
                let path = format!("{folder}/{name}");
                let bytes = dir.read(&path).map_err(DiskError::on("read", &path))?;
                let staged = serde_json::from_slice(&bytes).map_err(|error| {
                    Error::Usage(format!(
                        "cannot read `.ken/{path}`: {error}; delete it and run `ken reduce` again"
                    ))
                })?;
                found.push(staged);
            }
        }
        Ok(found)
    }

    /// Returns what waits under names that begin with one of `wanted`; everything for none.
    pub fn staged_named(&self, wanted: &[String]) -> Result<Vec<Staged>, Error> {
        let all = self.staged()?;
        if wanted.is_empty() {
            return Ok(all);
        }
        let mut found: Vec<Staged> = Vec::new();
        for name in wanted {
            let mut fitting = all.iter().filter(|it| it.id.starts_with(name.as_str()));
            match (fitting.next(), fitting.next()) {
                (Some(one), None) => found.push(one.clone()),
                (None, _) => {
                    return Err(Error::Usage(format!(
                        "nothing waits under `{name}`; `ken stage list` shows what does"
                    )));
                }
                (Some(_), Some(_)) => {
                    return Err(Error::Usage(format!(
                        "`{name}` is the beginning of several names"
                    )));
                }
            }
        }
        Ok(found)
    }

    /// Rejects claims for good: `reduce` does not bring them again.
    pub fn reject_staged(&mut self, wanted: &[String]) -> Result<usize, Error> {
        let doomed = self.staged_named(wanted)?;
        let mut rejected = self.rejected_ids()?;
        rejected.extend(doomed.iter().map(|it| it.id.clone()));
        let dir = &*self.ken;
        let bytes = serde_json::to_vec(&rejected).unwrap_or_default();
        put(dir, REJECTED_FILE, &bytes).map_err(DiskError::on("write", REJECTED_FILE))?;
        for staged in &doomed {
            self.drop_staged(staged)?;
        }
        Ok(doomed.len())
    }

    pub(super) fn staged_ids(&self) -> Result<BTreeSet<String>, Error> {
        let dir = &*self.ken;
        let mut found = BTreeSet::new();
        for memory in MEMORIES {
            let names = names(dir, &folder(memory))?;
            found.extend(
                names
                    .into_iter()
                    .map(|it| it.trim_end_matches(".json").to_owned()),
            );
        }
        Ok(found)
    }

    pub(super) fn rejected_ids(&self) -> Result<BTreeSet<String>, Error> {
        let dir = &*self.ken;
        let text = crate::files::read_text(dir, REJECTED_FILE)?;
        Ok(text
            .and_then(|it| serde_json::from_str(&it).ok())
            .unwrap_or_default())
    }

    pub(super) fn put_staged(&self, staged: &Staged) -> Result<(), Error> {
        let dir = &*self.ken;
        let path = path_of(staged);
        let bytes = serde_json::to_vec_pretty(staged).unwrap_or_default();
        Ok(put(dir, &path, &bytes).map_err(DiskError::on("write", &path))?)
    }

    pub(super) fn drop_staged(&self, staged: &Staged) -> Result<(), Error> {
        let dir = &*self.ken;
        let path = path_of(staged);
        match dir.remove(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(DiskError::on("remove", &path)(error).into())
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

fn path_of(staged: &Staged) -> String {
    format!("{}/{}.json", folder(staged.kind.memory()), staged.id)
}

/// Returns the names of the files in a folder; none if it is not there.
fn names(dir: &ken_ledger::RealDir, folder: &str) -> Result<Vec<String>, Error> {
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
