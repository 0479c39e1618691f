//! Questions nobody's knowledge answers: kept on this machine only, where they show what is worth writing down.

use ken_core::answer::COVERAGE_RELEVANT;
use ken_guard::{Field, TextMode, Verdict, admit};
use ken_index::Missed;

use super::{Answer, Search};
use crate::engine::Engine;
use crate::error::Error;

/// Longer questions are pasted, not asked.
const QUESTION_CHARS_MAX: usize = 300;

impl Engine {
    /// Notes a question whose best answer is weak; returns whether it is.
    ///
    /// Not every search is a question somebody asked, so this is for who knows it was. What the guard
    /// would not let into the ledger is not noted either.
    pub fn note_missed(&mut self, search: &Search, answer: &Answer) -> Result<bool, Error> {
        let query = search.query.trim();
        let asked = (1..=QUESTION_CHARS_MAX).contains(&query.chars().count());
        if !asked || !self.is_weak(answer)? {
            return Ok(false);
        }
        let text = Field {
            name: "query",
            text: query,
            mode: TextMode::Prose,
        };
        if let Verdict::Admit { .. } = admit(&self.guard.policy, &[text]) {
            let top = answer.hits.first().map(|hit| hit.entry.id);
            let now = self.now();
            self.index.note_missed(query, top, now)?;
        }
        Ok(true)
    }

    /// Returns the questions that had no good answer, the newest first.
    pub fn missed(&self) -> Result<Vec<Missed>, Error> {
        Ok(self.index.missed()?)
    }

    /// Returns whether the best entry answers neither by its meaning nor by its words nor by its place.
    fn is_weak(&mut self, answer: &Answer) -> Result<bool, Error> {
        let Some(best) = answer.hits.first() else {
            return Ok(true);
        };
        let serving = self.serving()?;
        let relevant = serving.embedder().map(|it| it.model().thresholds.relevant);
        let near = relevant.is_some_and(|relevant| relevant <= best.cosine);
        Ok(!near && !best.anchored && best.coverage < COVERAGE_RELEVANT)
    }
}
