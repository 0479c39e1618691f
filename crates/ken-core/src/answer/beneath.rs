//! What was learnt elsewhere, beside what is known here: labelled, discounted, and never above what was verified here.

use super::{Hit, Search, sort};
use crate::likeness::{Claim, likeness};
use crate::score::Part;
use crate::status::Status;

/// What is left of the score of an entry that was learnt elsewhere.
const ELSEWHERE_DISCOUNT: f64 = 0.8;

/// The part of a score that says that an entry was learnt elsewhere.
const ELSEWHERE: &str = "global";

/// The part of a score that says that what was verified here comes first.
const BENEATH: &str = "below local";

impl Search {
    /// Returns what is asked of those elsewhere: they know nothing of the files and the thread in hand, and what their
    /// code contradicts is of no use here.
    #[must_use]
    pub fn elsewhere(&self) -> Self {
        Self {
            paths: Vec::new(),
            thread: None,
            include_stale: false,
            ..self.clone()
        }
    }
}

/// Returns what was learnt `elsewhere` and adds to `local`, best first: what is known here in the same words or others is
/// left out, the rest is discounted, and none of it scores as much as an entry that was verified here.
#[must_use]
pub fn beneath(local: &[Hit], elsewhere: Vec<Hit>) -> Vec<Hit> {
    let claims: Vec<Claim> = local.iter().map(|it| Claim::of(it.entry.said())).collect();
    let is_told = |hit: &Hit| {
        let claim = Claim::of(hit.entry.said());
        let mut claims = claims.iter();
        claims.any(|it| likeness(it, &claim, None).is_match())
    };
    let fresh = elsewhere.into_iter().filter(|it| !is_told(it));
    let mut fresh: Vec<Hit> = fresh.map(discounted).collect();
    sort(&mut fresh);
    let verified = local
        .iter()
        .filter(|it| it.facts.status == Status::Verified);
    let least = verified.map(|it| it.explained.score).min_by(f64::total_cmp);
    let mut above = least;
    for hit in &mut fresh {
        // Each stays below the one before it, so that being lowered changes no order.
        above = above.map(|above| lowered(hit, above));
    }
    fresh
}

fn discounted(mut hit: Hit) -> Hit {
    let lost = hit.explained.score * (ELSEWHERE_DISCOUNT - 1.0);
    lower(&mut hit, ELSEWHERE, lost);
    hit
}

/// Lowers a score until it is below `above`; returns what the next one has to be below.
fn lowered(hit: &mut Hit, above: f64) -> f64 {
    let (score, most) = (hit.explained.score, above.next_down());
    if score <= most {
        return above;
    }
    lower(hit, BENEATH, most - score);
    hit.explained.score = most;
    most
}

/// Adds `lost`, which is negative, to a score, and says so among its parts.
fn lower(hit: &mut Hit, name: &'static str, lost: f64) {
    hit.explained.parts.push(Part {
        name,
        value: 1.0,
        weight: lost,
        adds: lost,
    });
    hit.explained.score += lost;
}
