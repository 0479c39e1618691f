//! What an answer comes to, in numbers: the only thing that is kept of it.

use ken_core::surface::Page;
use ken_engine::search::Answer;
use ken_engine::usage::{Answered, Asked};

/// Returns the numbers of an answer that was shown on `pages`.
pub(super) fn numbers(asked: Asked, answer: &Answer, pages: &[&Page]) -> Answered {
    let shown = || pages.iter().flat_map(|page| &page.shown);
    let found = shown().filter(|it| answer.hit(it.id).is_some()).count();
    // Norms and what the global ledger adds are shown as they are: nothing of them is spared.
    let others = shown().filter(|it| answer.hit(it.id).is_none());
    let others: usize = others.map(|it| it.tokens).sum();
    let in_full = match answer.hits.is_empty() {
        true => 0,
        false => answer.whole_tokens(),
    };
    Answered {
        asked,
        hits: answer.hits.len() + shown().count() - found,
        shown: shown().count(),
        withheld: answer.withheld.len(),
        tokens: pages.iter().map(|page| page.tokens).sum(),
        whole: in_full + others,
    }
}
