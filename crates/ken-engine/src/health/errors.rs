//! How often entries disappoint: they came first and did not answer, or somebody called them unhelpful.
//!
//! Questions are noted on the machine they were asked on, words and all, because reading writes nothing that is
//! tracked. When a run ends, what was noted since becomes events without the words: which entry came first, and
//! that it did not answer. So the counts that rules and sweeps rest on survive a new index and a new clone.

use std::collections::BTreeMap;

use ken_core::decide::Draft;
use ken_core::entry::Entry;
use ken_core::event::{Body, RetrievalMissed};
use ken_core::health::disappointments;
use ken_core::id::EntryId;
use ken_core::store::Store as _;
use ken_core::time::Timestamp;
use ken_index::Missed;

use crate::engine::Engine;
use crate::error::Error;

/// Questions one run tells of, the newest first.
const TOLD_MAX: usize = 50;

/// Characters of a question's hash: two questions are told apart, and none can be read.
const HASH_CHARS: usize = 8;

impl Engine {
    /// Returns how often each of `entries` disappointed; those that never did are left out.
    pub(crate) fn prediction_errors(
        &mut self,
        entries: &[Entry],
    ) -> Result<BTreeMap<EntryId, u64>, Error> {
        let told = self.index.of_type::<RetrievalMissed>()?;
        let told = told.iter().flat_map(|it| it.event.entries());
        let untold = self.untold()?.into_iter().filter_map(|it| it.top);
        Ok(disappointments(told.chain(untold), entries))
    }

    /// Returns what questions noted here since the last run tell about entries.
    pub(crate) fn missed_drafts(&mut self) -> Result<Vec<Draft>, Error> {
        let mut drafts = Vec::new();
        for question in self.untold()?.into_iter().take(TOLD_MAX) {
            let known = question.top.map(|id| self.index.entry(id)).transpose()?;
            let Some(entry) = known.flatten().filter(|it| !it.is_read_only()) else {
                continue;
            };
            let hash = blake3::hash(question.query.as_bytes()).to_hex();
            let words = format!("question {}", &hash[..HASH_CHARS]);
            let query = words.parse().expect("a short line is a note");
            drafts.push(Draft {
                about: vec![entry.id.into()],
                // How near it came was not kept.
                body: Body::RetrievalMissed(RetrievalMissed {
                    query,
                    top_milli: 0,
                }),
            });
        }
        Ok(drafts)
    }

    /// Returns the questions of this machine that no event tells of yet, the newest first.
    fn untold(&mut self) -> Result<Vec<Missed>, Error> {
        let mut questions = self.index.missed()?;
        questions.retain(|it| it.top.is_some());
        if questions.is_empty() {
            return Ok(questions);
        }
        let told = self.last_told()?;
        questions.retain(|it| told.is_none_or(|told| told < it.last));
        Ok(questions)
    }

    /// Returns when this machine last told of questions.
    fn last_told(&mut self) -> Result<Option<Timestamp>, Error> {
        let node = self.ledger.node(&mut *self.world)?;
        let told = self.index.of_type::<RetrievalMissed>()?.into_iter();
        let own = told.filter(|it| it.event.at.node == node);
        Ok(own.map(|it| it.event.at.wall).max())
    }
}
