//! What staging would add to the ledger, repeat in it or contradict, without comparing everything with everything.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::contradiction::{Side, contradiction};
use ken_core::entry::Entry;
use ken_core::likeness::{Claim, Likeness, likeness};
use ken_core::store::{Filter, Store as _};
use serde::Serialize;

use super::near::Neighbours;
use super::staging::Staged;
use crate::engine::Engine;
use crate::error::Error;
use crate::files::{ken_dir, put};

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
        let reflection = reflect(&staged, &entries);
        let dir = ken_dir(&self.place)?;
        let bytes = serde_json::to_vec_pretty(&reflection).unwrap_or_default();
        put(&dir, REPORT_FILE, &bytes).map_err(ken_ledger::DiskError::on("write", REPORT_FILE))?;
        Ok(reflection)
    }
}

/// Returns how each of `staged` stands to the nearest of `entries` and of those staged before it.
pub fn reflect(staged: &[Staged], entries: &[Entry]) -> Reflection {
    let waiting: Vec<Taken> = staged.iter().map(|it| Taken::of(&it.statement)).collect();
    let known: Vec<Taken> = entries.iter().map(|it| Taken::of(it.said())).collect();
    let among_known = Neighbours::new(known.iter().map(|it| &it.claim));
    let among_waiting = Neighbours::new(waiting.iter().map(|it| &it.claim));
    let by_file = by_file(entries);
    let (mut seen, mut compared) = (Vec::new(), 0);
    for (place, claim) in staged.iter().enumerate() {
        let mut linked: BTreeSet<usize> = BTreeSet::new();
        for at in among_known.near(&waiting[place].claim) {
            compared += 1;
            let entry = &entries[at];
            let other = (entry.id.to_string(), entry.said());
            if let Some(relation) = relation(&waiting[place], &known[at]) {
                seen.push(told(claim, relation, other));
            }
        }
        for path in claim
            .depends_on
            .iter()
            .filter_map(|it| it.strip_prefix("file:"))
        {
            linked.extend(by_file.get(path).into_iter().flatten());
        }
        let links = linked.into_iter().take(LINKS_MAX).map(|at| &entries[at]);
        seen.extend(links.map(|it| told(claim, Relation::Link, (it.id.to_string(), it.said()))));
        for at in among_waiting
            .near(&waiting[place].claim)
            .into_iter()
            .filter(|at| *at < place)
        {
            compared += 1;
            let other = (staged[at].id.clone(), staged[at].statement.as_str());
            if let Some(relation) = relation(&waiting[place], &waiting[at]) {
                seen.push(told(claim, relation, other));
            }
        }
    }
    Reflection {
        schema: "ken.reflect.v1",
        staged: staged.len(),
        entries: entries.len(),
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
            contradiction(&a.side, &b.side, None).map(|_| Relation::Contradiction)
        }
    }
}

fn told(claim: &Staged, relation: Relation, (with, says): (String, &str)) -> Seen {
    Seen {
        staged: claim.id.clone(),
        relation,
        with,
        says: claim.statement.clone(),
        other_says: says.to_owned(),
    }
}

/// Returns which entries rest on each file.
fn by_file(entries: &[Entry]) -> BTreeMap<String, Vec<usize>> {
    let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let Some(content) = &entry.content else {
            continue;
        };
        let anchored = content.evidence.iter().map(|it| it.at.path().to_owned());
        let conditions = content
            .depends_on
            .iter()
            .filter_map(|it| it.as_str().strip_prefix("file:").map(str::to_owned));
        for path in anchored.chain(conditions).collect::<BTreeSet<_>>() {
            found.entry(path).or_default().push(place);
        }
    }
    found
}
