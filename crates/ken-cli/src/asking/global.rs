//! What the global ledger adds to an answer: below what this repository knows, labelled, in the room that is left.
//!
//! A global ledger that cannot be read takes nothing from the answer; it is told.

use ken_core::surface::{Page, Shown};
use ken_engine::Engine;
use ken_engine::promotion::Overlay;
use ken_engine::search::{Answer, Portion, Search};

use crate::failure::Failure;
use crate::world::Surroundings;

/// Stands above what people are shown of it.
pub(crate) const HEADING: &str = "From the global ledger (other projects; not checked here):";

/// What the global ledger added.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    pub(crate) overlay: Option<Overlay>,
    /// Why it could not be asked.
    silent: Option<String>,
}

/// Asks the global ledger, if the user has one.
pub(super) fn overlay(
    surroundings: &Surroundings,
    engine: &mut Engine,
    search: &Search,
    local: (&Answer, &Page),
    portion: Portion,
) -> Beside {
    let mut asked = || -> Result<Option<Overlay>, Failure> {
        let Some(mut global) = surroundings.open_global()? else {
            return Ok(None);
        };
        Ok(engine.overlay(&mut global, search, local, portion)?)
    };
    match asked() {
        Ok(overlay) => Beside {
            overlay,
            silent: None,
        },
        Err(failure) => Beside {
            overlay: None,
            silent: Some(failure.message),
        },
    }
}

impl Beside {
    /// Returns why the global ledger could not be asked.
    pub(crate) fn silent(&self) -> Option<&str> {
        self.silent.as_deref()
    }

    /// Returns what it shows.
    pub(crate) fn shown(&self) -> &[Shown] {
        let overlay = self.overlay.as_ref();
        overlay.map_or(&[], |it| it.page.shown.as_slice())
    }

    /// Returns `page` with what was added behind it; each line of that says that it is from elsewhere.
    pub(crate) fn beside(&self, page: Page) -> Page {
        match &self.overlay {
            Some(it) => page.followed_by(&it.page),
            None => page,
        }
    }
}
