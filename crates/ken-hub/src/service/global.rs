//! What the organisation knows, beside what a workspace knows.

use ken_core::answer::Hit;
use ken_core::surface::{Page, Shown};

/// What the organisation adds to an answer.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Best first.
    pub hits: Vec<Hit>,
    pub page: Option<Page>,
}

impl Beside {
    /// Returns what is shown.
    #[must_use]
    pub fn shown(&self) -> &[Shown] {
        self.page.as_ref().map_or(&[], |it| &it.shown)
    }

    /// Returns `page` with what was added behind it.
    #[must_use]
    pub fn behind(&self, page: Page) -> Page {
        match &self.page {
            Some(beside) => page.followed_by(beside),
            None => page,
        }
    }
}
