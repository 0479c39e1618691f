//! What the organisation knows, beside what a workspace knows: labelled, discounted, and never above what the workspace
//! has verified itself.

use ken_core::answer::{Hit, sort};
use ken_core::likeness::{Claim, likeness};
use ken_core::score::Part;
use ken_core::status::Status;
use ken_core::surface::{Page, Shown};

/// The part of a score that says that an entry was learnt elsewhere.
const ELSEWHERE: &str = "global";

/// The part of a score that says that what was verified here comes first.
const BENEATH: &str = "below local";

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
    pub fn behind(&self, mut page: Page) -> Page {
        if let Some(beside) = &self.page {
            page.shown.extend(beside.shown.iter().cloned());
            page.tokens += beside.tokens;
        }
        page
    }
}

/// Returns what the organisation adds to `local`, best first: what is known here in the same words or others is left
/// out, the rest is discounted, and none of it scores as much as an entry that was verified here.
#[must_use]
pub fn beneath(local: &[Hit], global: Vec<Hit>) -> Vec<Hit> {
    let claims: Vec<Claim> = local.iter().map(|it| Claim::of(it.entry.said())).collect();
    let is_told = |hit: &Hit| {
        let claim = Claim::of(hit.entry.said());
        let mut claims = claims.iter();
        claims.any(|it| likeness(it, &claim, None).is_match())
    };
    let verified = local
        .iter()
        .filter(|it| it.facts.status == Status::Verified);
    let least = verified.map(|it| it.explained.score).min_by(f64::total_cmp);
    let fresh = global.into_iter().filter(|it| !is_told(it));
    let mut fresh: Vec<Hit> = fresh
        .map(|it| capped(it.from_elsewhere(ELSEWHERE), least))
        .collect();
    sort(&mut fresh);
    fresh
}

/// Lowers a score until it is below `least`, and says so among its parts.
fn capped(mut hit: Hit, least: Option<f64>) -> Hit {
    let score = hit.explained.score;
    let Some(least) = least.filter(|least| *least <= score) else {
        return hit;
    };
    let lost = least.next_down() - score;
    hit.explained.parts.push(Part {
        name: BENEATH,
        value: 1.0,
        weight: lost,
        adds: lost,
    });
    hit.explained.score = least.next_down();
    hit
}
