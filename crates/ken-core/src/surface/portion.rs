//! How much of an answer somebody wants.

use super::{BUDGET, CAP, Page, Room, Tier};
use crate::score::Role;

/// How much of an answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion {
    /// Entries at most.
    pub cap: usize,
    /// Tokens that should do.
    pub budget: usize,
    /// `None` lets the answer decide.
    pub tier: Option<Tier>,
    pub role: Option<Role>,
}

impl Default for Portion {
    fn default() -> Self {
        Self {
            cap: CAP,
            budget: BUDGET,
            tier: None,
            role: None,
        }
    }
}

impl Portion {
    /// Returns what `page` left of it, in one-liners unless somebody asked for more.
    #[must_use]
    pub fn left_by(self, page: &Page) -> Self {
        Self {
            cap: self.cap.saturating_sub(page.shown.len()),
            budget: self.budget.saturating_sub(page.tokens),
            tier: Some(self.tier.unwrap_or(Tier::Summary)),
            role: self.role,
        }
    }

    /// Returns the room it is laid out in; entry files lie in `folder`, and `tokens` estimates those of a text.
    pub fn room<'a>(self, folder: &'a str, tokens: &'a dyn Fn(&str) -> usize) -> Room<'a> {
        Room {
            cap: self.cap,
            budget: self.budget,
            tier: self.tier,
            role: self.role,
            folder,
            tokens,
        }
    }
}
