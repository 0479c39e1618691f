//! Reflection: relates inbox claims to the ledger without comparing all pairs.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::trust::contradiction::{ContradictionSide, find_certain_contradiction};
use ken_core::trust::similarity::{SimilarityVerdict, TokenizedStatement, classify_similarity};
use serde::Serialize;

use super::inbox::InboxClaim;
use super::rare_words::NeighborIndex;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::write_atomically;

/// Path of the last report, below `.ken`.
const REPORT_FILE: &str = ".local/reflect/report.json";

/// Maximum number of links reported per claim.
const LINKS_MAX: usize = 3;

/// Report of `reflect`.
#[derive(Clone, Debug, Serialize)]
pub struct ReflectReport {
    pub schema: &'static str,
    /// Number of inbox claims, and of entries they were compared with.
    pub staged: usize,
    pub entries: usize,
    /// Number of pairs compared.
    pub compared: usize,
    pub seen: Vec<ClaimRelation>,
}

/// Relation of an inbox claim to an entry or to another inbox claim, or of two entries that
/// contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClaimRelation {
    /// Id of an inbox claim, or of an entry.
    pub staged: String,
    pub relation: RelationKind,
    /// Id of an entry or of another inbox claim.
    pub with: String,
    pub says: String,
    pub other_says: String,
}

/// Kind of relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RelationKind {
    Contradiction,
    Duplicate,
    /// Both depend on the same file.
    Link,
}

/// Compares inbox claims with the ledger and with each other, adds the contradictions of the
/// ledger, and stores the report.
pub(crate) fn reflect_inbox(engine: &mut Engine) -> Result<ReflectReport, EngineError> {
    let staged = engine.inbox_claims()?;
    let entries = engine.index.list(&EntryFilter::default())?;
    let known: Vec<KnownClaim> = entries.iter().map(KnownClaim::from_entry).collect();
    let mut reflection = reflect(&staged, &known);
    let contradictions = engine.open_contradictions()?.into_iter();
    reflection
        .seen
        .extend(contradictions.map(|it| ClaimRelation {
            staged: it.first.id.to_string(),
            relation: RelationKind::Contradiction,
            with: it.second.id.to_string(),
            says: it.first.statement_text().to_owned(),
            other_says: it.second.statement_text().to_owned(),
        }));
    let dir = &*engine.ken;
    let bytes = serde_json::to_vec_pretty(&reflection).unwrap_or_default();
    write_atomically(dir, REPORT_FILE, &bytes)
        .map_err(ken_ledger::DiskError::on("write", REPORT_FILE))?;
    Ok(reflection)
}

/// Fields of an entry that claims are compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownClaim {
    pub id: String,
    pub statement: String,
    /// Files the entry depends on.
    pub files: BTreeSet<String>,
}

impl KnownClaim {
    /// Extracts the fields and the files of anchors and conditions.
    fn from_entry(entry: &Entry) -> Self {
        let mut files = BTreeSet::new();
        if let Some(content) = &entry.content {
            files.extend(content.anchors.iter().map(|it| it.at.path().to_owned()));
            let conditions = content.depends_on.iter();
            let named = conditions.filter_map(|it| it.as_str().strip_prefix("file:"));
            files.extend(named.map(str::to_owned));
        }
        Self {
            id: entry.id.to_string(),
            statement: entry.statement_text().to_owned(),
            files,
        }
    }
}

/// Relates each claim to its neighbors among `known` and among the claims before it.
pub fn reflect(staged: &[InboxClaim], known: &[KnownClaim]) -> ReflectReport {
    let waiting: Vec<ComparedClaim> = staged
        .iter()
        .map(|it| ComparedClaim::from_text(&it.statement))
        .collect();
    let entries: Vec<ComparedClaim> = known
        .iter()
        .map(|it| ComparedClaim::from_text(&it.statement))
        .collect();
    // Two indexes, because entries and inbox claims are numbered separately.
    let among_known = NeighborIndex::new(entries.iter().map(|it| &it.claim));
    let among_waiting = NeighborIndex::new(waiting.iter().map(|it| &it.claim));
    let by_file = index_by_file(known);
    let (mut seen, mut compared) = (Vec::new(), 0);
    for (place, claim) in staged.iter().enumerate() {
        let ours = &waiting[place];
        for at in among_known.nearest(&ours.claim) {
            compared += 1;
            let other = (&known[at].id, &known[at].statement);
            seen.extend(relate(ours, &entries[at]).map(|it| relation_line(claim, it, other)));
        }
        let files = claim
            .depends_on
            .iter()
            .filter_map(|it| it.strip_prefix("file:"));
        // A set, because a claim may share several files with the same entry.
        let linked: BTreeSet<usize> = files
            .filter_map(|it| by_file.get(it))
            .flatten()
            .copied()
            .collect();
        let linked_entries = linked.into_iter().take(LINKS_MAX).map(|at| &known[at]);
        seen.extend(
            linked_entries
                .map(|it| relation_line(claim, RelationKind::Link, (&it.id, &it.statement))),
        );
        // Earlier claims only, so that each pair is compared once.
        for at in among_waiting
            .nearest(&ours.claim)
            .into_iter()
            .filter(|at| *at < place)
        {
            compared += 1;
            let other = (&staged[at].id, &staged[at].statement);
            seen.extend(relate(ours, &waiting[at]).map(|it| relation_line(claim, it, other)));
        }
    }
    ReflectReport {
        schema: "ken.reflect.v1",
        staged: staged.len(),
        entries: known.len(),
        compared,
        seen,
    }
}

/// Text prepared for comparison.
struct ComparedClaim {
    claim: TokenizedStatement,
    side: ContradictionSide,
}

impl ComparedClaim {
    /// Prepares a text.
    fn from_text(text: &str) -> Self {
        Self {
            claim: TokenizedStatement::parse(text),
            side: ContradictionSide::from_text(text),
        }
    }
}

/// Returns the relation of two texts, if there is one.
fn relate(a: &ComparedClaim, b: &ComparedClaim) -> Option<RelationKind> {
    match classify_similarity(&a.claim, &b.claim, None) {
        SimilarityVerdict::Same | SimilarityVerdict::Reworded | SimilarityVerdict::Alike => {
            Some(RelationKind::Duplicate)
        }
        // Similarity alone proves no contradiction, so only certain ones are reported.
        SimilarityVerdict::Opposed | SimilarityVerdict::Different => {
            find_certain_contradiction(&a.side, &b.side, None).map(|_| RelationKind::Contradiction)
        }
    }
}

/// Creates the report line of a pair.
fn relation_line(
    claim: &InboxClaim,
    relation: RelationKind,
    (with, says): (&String, &String),
) -> ClaimRelation {
    ClaimRelation {
        staged: claim.id.clone(),
        relation,
        with: with.clone(),
        says: claim.statement.clone(),
        other_says: says.clone(),
    }
}

/// Indexes entries by the files they depend on.
fn index_by_file(known: &[KnownClaim]) -> BTreeMap<&str, Vec<usize>> {
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, entry) in known.iter().enumerate() {
        for path in &entry.files {
            found.entry(path).or_default().push(place);
        }
    }
    found
}
