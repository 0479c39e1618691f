//! Condensing entries that belong together into one that says what they say.

use std::collections::BTreeSet;

use ken_core::actor::Actor;
use ken_core::decide::{self, Distillation};
use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_core::text::Statement;
use ken_core::together::edges;

use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// Condenses `sources` into one entry with the words of whoever asks; the sources stay.
    pub fn distil(
        &mut self,
        sources: &[EntryId],
        statement: Statement,
        kind: Kind,
        by: &Actor,
    ) -> Result<Entry, Error> {
        self.absorb_before_writing()?;
        let ids: BTreeSet<EntryId> = sources.iter().copied().collect();
        let sources = ids.into_iter().map(|id| self.entry(id));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let today = self.now().date();
        let edges = edges(&sources, today);
        let policy = self.maintenance_policy()?;
        let wish = Distillation {
            sources: &sources,
            statement,
            kind,
            edges: &edges,
            policy: &policy,
            today,
        };
        let mut proposal = decide::distilled(&wish, by)?;
        let (event, entry) = self.admit_proposal(&mut proposal, by)?;
        let drafts = decide::distil(event, proposal, &wish)?;
        let mut ids = [Some(event)].into_iter().chain(std::iter::repeat(None));
        let drafts = drafts.into_iter().map(|it| (ids.next().flatten(), it));
        self.record_as(drafts.collect(), by)?;
        self.render_due()?;
        self.entry(entry)
    }
}
