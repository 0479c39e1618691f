//! What staging would add to the ledger, repeat in it or contradict, without comparing everything with everything.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::contradiction::{Side, certain_contradiction};
use ken_core::entry::Entry;
use ken_core::likeness::{Claim, Likeness, likeness};
use ken_core::store::{Filter, Store as _};
use serde::Serialize;

use super::near::Neighbours;
use super::staging::Staged;
use crate::engine::Engine;
use crate::error::Error;
use crate::files::put;

/// The last report, below `.ken`.
const REPORT_FILE: &str = ".local/reflect/report.json";

/// Links told for one claim.
const LINKS_MAX: usize = 3;

/// What `reflect` saw.
#[derive(Clone, Debug, Serialize)]
pub struct Reflection {
    pub schema: &'static str,
    /// Claims that wait, and entries they were held against.
    pub staged: usize,
    pub entries: usize,
    /// Pairs that were looked at closely.
    pub compared: usize,
    pub seen: Vec<Seen>,
}

/// How a claim that waits stands to an entry, or to another that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Seen {
    pub staged: String,
    pub relation: Relation,
    /// An entry's id, or the name of another claim that waits.
    pub with: String,
    pub says: String,
    pub other_says: String,
}

/// How two stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    Contradiction,
    Duplicate,
    /// About the same file or nearly the same thing.
    Link,
}

impl Engine {
    /// Holds what waits against the ledger and against each other, and keeps the report.
    pub fn reflect(&mut self) -> Result<Reflection, Error> {
        let staged = self.staged()?;
        let entries = self.index.list(&Filter::default())?;
        let known: Vec<Known> = entries.iter().map(Known::of).collect();
        let reflection = reflect(&staged, &known);
        let dir = &*self.ken;
        let bytes = serde_json::to_vec_pretty(&reflection).unwrap_or_default();
        put(dir, REPORT_FILE, &bytes).map_err(ken_ledger::DiskError::on("write", REPORT_FILE))?;
        Ok(reflection)
    }
}

/// An entry as far as claims are held against it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    pub id: String,
    pub says: String,
    /// Files it rests on.
    pub files: BTreeSet<String>,
}

impl Known {
    fn of(entry: &Entry) -> Self {
        let mut files = BTreeSet::new();
        if let Some(content) = &entry.content {
            files.extend(content.evidence.iter().map(|it| it.at.path().to_owned()));
            let conditions = content.depends_on.iter();
            let named = conditions.filter_map(|it| it.as_str().strip_prefix("file:"));
            files.extend(named.map(str::to_owned));
        }
        Self {
            id: entry.id.to_string(),
            says: entry.said().to_owned(),
            files,
        }
    }
}

/// Returns how each of `staged` stands to the nearest of `known` and of those staged before it.
pub fn reflect(staged: &[Staged], known: &[Known]) -> Reflection {
    let waiting: Vec<Taken> = staged.iter().map(|it| Taken::of(&it.statement)).collect();
    let taken: Vec<Taken> = known.iter().map(|it| Taken::of(&it.says)).collect();
    let among_known = Neighbours::new(taken.iter().map(|it| &it.claim));
    let among_waiting = Neighbours::new(waiting.iter().map(|it| &it.claim));
    let by_file = by_file(known);
    let (mut seen, mut compared) = (Vec::new(), 0);
    for (place, claim) in staged.iter().enumerate() {
        let ours = &waiting[place];
        for at in among_known.near(&ours.claim) {
            compared += 1;
            let other = (&known[at].id, &known[at].says);
            seen.extend(relation(ours, &taken[at]).map(|it| told(claim, it, other)));
        }
        let files = claim
            .depends_on
            .iter()
            .filter_map(|it| it.strip_prefix("file:"));
        let linked: BTreeSet<usize> = files
            .filter_map(|it| by_file.get(it))
            .flatten()
            .copied()
            .collect();
        let linked = linked.into_iter().take(LINKS_MAX).map(|at| &known[at]);
        seen.extend(linked.map(|it| told(claim, Relation::Link, (&it.id, &it.says))));
        for at in among_waiting
            .near(&ours.claim)
            .into_iter()
            .filter(|at| *at < place)
        {
            compared += 1;
            let other = (&staged[at].id, &staged[at].statement);
            seen.extend(relation(ours, &waiting[at]).map(|it| told(claim, it, other)));
        }
    }
    Reflection {
        schema: "ken.reflect.v1",
        staged: staged.len(),
        entries: known.len(),
        compared,
        seen,
    }
}

/// A text, ready to be held against others.
struct Taken {
    claim: Claim,
    side: Side,
}

impl Taken {
    fn of(text: &str) -> Self {
        Self {
            claim: Claim::of(text),
            side: Side::said(text),
        }
    }
}

fn relation(a: &Taken, b: &Taken) -> Option<Relation> {
    match likeness(&a.claim, &b.claim, None) {
        Likeness::Same | Likeness::Reworded | Likeness::Alike => Some(Relation::Duplicate),
        Likeness::Opposed | Likeness::Different => {
            certain_contradiction(&a.side, &b.side, None).map(|_| Relation::Contradiction)
        }
    }
}

fn told(claim: &Staged, relation: Relation, (with, says): (&String, &String)) -> Seen {
    Seen {
        staged: claim.id.clone(),
        relation,
        with: with.clone(),
        says: claim.statement.clone(),
        other_says: says.clone(),
    }
}

/// Returns which entries rest on each file.
fn by_file(known: &[Known]) -> BTreeMap<&str, Vec<usize>> {
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, entry) in known.iter().enumerate() {
        for path in &entry.files {
            found.entry(path).or_default().push(place);
        }
    }
    found
}
