//! Requested size of a selection: entries, tokens, detail.

use super::{DetailTier, ENTRIES_MAX, EntrySelection, SelectionContext, TOKEN_BUDGET};
use crate::retrieval::score::ReaderRole;

/// The limits of a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectionLimits {
    /// Maximum number of entries.
    pub cap: usize,
    /// Token budget.
    pub budget: usize,
    /// `None` chooses the tier by score and number of sources.
    pub tier: Option<DetailTier>,
    pub role: Option<ReaderRole>,
}

impl Default for SelectionLimits {
    fn default() -> Self {
        Self {
            cap: ENTRIES_MAX,
            budget: TOKEN_BUDGET,
            tier: None,
            role: None,
        }
    }
}

impl SelectionLimits {
    /// Returns the limits that remain after `selection`, with one-liners unless a tier was
    /// requested.
    #[must_use]
    pub fn remaining_after(self, selection: &EntrySelection) -> Self {
        Self {
            // Both can be exceeded: the budget is soft, and a caller may combine selections.
            cap: self.cap.saturating_sub(selection.shown.len()),
            budget: self.budget.saturating_sub(selection.tokens),
            tier: Some(self.tier.unwrap_or(DetailTier::Summary)),
            role: self.role,
        }
    }

    /// Returns the selection context with these limits; `folder` holds entry files, and `tokens`
    /// estimates the tokens of a text.
    pub fn room<'a>(
        self,
        folder: &'a str,
        tokens: &'a dyn Fn(&str) -> usize,
    ) -> SelectionContext<'a> {
        SelectionContext {
            cap: self.cap,
            budget: self.budget,
            tier: self.tier,
            role: self.role,
            folder,
            tokens,
        }
    }
}
