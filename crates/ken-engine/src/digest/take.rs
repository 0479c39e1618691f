//! Claims that waited become entries, through the guard like any other.

use ken_core::actor::Actor;
use ken_core::citation::Evidence;
use ken_core::content::Content;
use ken_core::decide::Proposal;
use ken_core::event::Origin;
use ken_core::id::EntryId;

use super::staging::Staged;
use crate::engine::Engine;
use crate::entries::BATCH_MAX;
use crate::error::{Error, Kind};

/// What became of claims that were accepted.
#[derive(Clone, Debug, Default)]
pub struct Accepted {
    pub entries: Vec<(EntryId, Staged)>,
    pub refused: Vec<Refused>,
}

/// A claim that stays where it is, and why.
#[derive(Clone, Debug)]
pub struct Refused {
    pub staged: Staged,
    pub why: String,
}

impl Engine {
    /// Makes entries of what waits under `wanted`, or of everything; what is refused goes on waiting.
    pub fn accept_staged(&mut self, wanted: &[String], by: &Actor) -> Result<Accepted, Error> {
        let mut accepted = Accepted::default();
        let mut ready = Vec::new();
        for staged in self.staged_named(wanted)? {
            match self.staged_proposal(&staged, by) {
                Ok(proposal) => ready.push((staged, proposal)),
                Err(why) => accepted.refused.push(Refused { staged, why }),
            }
        }
        for batch in ready.chunks(BATCH_MAX) {
            self.accept_batch(batch, by, &mut accepted)?;
        }
        for (_, staged) in &accepted.entries {
            self.drop_staged(staged)?;
        }
        Ok(accepted)
    }

    /// Adds a batch in one step, or one by one where something in it is refused.
    fn accept_batch(
        &mut self,
        batch: &[(Staged, Proposal)],
        by: &Actor,
        accepted: &mut Accepted,
    ) -> Result<(), Error> {
        let proposals = batch.iter().map(|(_, proposal)| proposal.clone()).collect();
        if let Ok(ids) = self.add_many(proposals, by) {
            let taken = ids
                .into_iter()
                .zip(batch.iter().map(|(staged, _)| staged.clone()));
            accepted.entries.extend(taken);
            return Ok(());
        }
        for (staged, proposal) in batch {
            match self.add(proposal.clone(), by) {
                Ok(entry) => accepted.entries.push((entry.id, staged.clone())),
                Err(error) if error.kind() == Kind::Refused => {
                    let (staged, why) = (staged.clone(), error.to_string());
                    accepted.refused.push(Refused { staged, why });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn staged_proposal(&self, staged: &Staged, by: &Actor) -> Result<Proposal, String> {
        let told = |error: &dyn std::fmt::Display| error.to_string();
        let mut content = Content::new(staged.statement.parse().map_err(|e| told(&e))?);
        for tag in &staged.tags {
            content.tags.insert(tag.parse().map_err(|e| told(&e))?);
        }
        for condition in &staged.depends_on {
            content
                .depends_on
                .push(condition.parse().map_err(|e| told(&e))?);
        }
        for step in staged.verify.iter().take(Content::STEPS_MAX) {
            content.verify.push(step.parse().map_err(|e| told(&e))?);
        }
        content.polarity = staged.polarity;
        let evidence: Evidence = staged.cite.parse().map_err(|e| told(&e))?;
        let citation = evidence.cite(staged.by.as_ref().unwrap_or(by), self.now());
        Ok(Proposal::new(
            staged.kind,
            content,
            vec![citation],
            Origin::Import,
        ))
    }
}
