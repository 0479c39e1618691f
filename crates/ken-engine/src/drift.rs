//! Drift of what this repository knows: what the core needs to tell it is gathered here.

use ken_core::drift::{Drift, Standing, drift};
use ken_core::entry::Entry;
use ken_core::facts::Validity;
use ken_core::store::{Filter, Store as _};

use crate::engine::Engine;
use crate::error::Error;
use crate::validity::{Checked, Haste, Search, Verdict};

impl Engine {
    /// Returns shelves that are stale, bloated, contradictory or orphaned.
    pub fn drift(&mut self) -> Result<Vec<Drift>, Error> {
        let entries = self.index.list(&Filter::default())?;
        let workspace = self.index.workspace()?;
        let open = workspace.open_contradictions();
        let mut linked = self.index.contradicting(entries.iter().map(|it| it.id))?;
        let checked = self.check_entries(entries, Search::File, Haste::Waiting)?;
        let live: std::collections::BTreeSet<_> = checked.iter().map(|it| it.entry.id).collect();
        let told: Vec<(Entry, Standing)> = checked
            .into_iter()
            .map(|it| {
                let id = it.entry.id;
                let mut against = linked.remove(&id).unwrap_or_default();
                against.extend(open.get(&id).into_iter().flatten());
                against.retain(|other| live.contains(other));
                let standing = Standing {
                    holds: it.validity == Validity::Holds,
                    orphaned: is_orphaned(&it),
                    against,
                };
                (it.entry, standing)
            })
            .collect();
        let told = told.iter().map(|(entry, standing)| (entry, standing));
        Ok(drift(told, self.now().date()))
    }
}

/// Whether a file the entry is about is not there.
fn is_orphaned(checked: &Checked) -> bool {
    let is_gone = |verdict, why: &str| verdict == Verdict::Gone && why == crate::validity::NO_FILE;
    let mut anchors = checked.anchors.iter();
    anchors.any(|it| is_gone(it.verdict, &it.why))
}
