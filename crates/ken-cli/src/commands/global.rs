//! What the global ledger adds to an answer: below what this repository knows, labelled, in the room that is left.
//!
//! A global ledger that cannot be read takes nothing from the answer; it is told.

use ken_core::surface::Page;
use ken_engine::Engine;
use ken_engine::promotion::Overlay;
use ken_engine::search::{Answer, Portion, Search};

use super::Session;
use crate::failure::Failure;
use crate::world::Surroundings;

/// Stands above what people are shown of it.
pub(super) const HEADING: &str = "From the global ledger (other projects; not checked here):";

/// What the global ledger added.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) overlay: Option<Overlay>,
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
    /// Says where the global ledger could not be asked.
    pub(super) fn tell(&self, session: &mut Session<'_>) -> Result<(), Failure> {
        match &self.silent {
            None => Ok(()),
            Some(why) => {
                let said = format_args!("the global ledger was not asked: {why}");
                session.printer.talk(said)
            }
        }
    }

    /// Returns `page` with what was added behind it; each line of that says that it is from elsewhere.
    pub(super) fn beside(&self, mut page: Page) -> Page {
        if let Some(it) = &self.overlay {
            page.shown.extend(it.page.shown.iter().cloned());
            page.tokens += it.page.tokens;
        }
        page
    }
}
