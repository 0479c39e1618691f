//! What a judge's answer about two entries changes.
//!
//! It may make two facts one or tell them apart for good. It may not touch norms, not take words away
//! that a person stands behind, and not merge what looks like a contradiction: that is for people.

use ken_core::actor::Actor;
use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::kind::Memory;
use ken_core::text::Statement;

use super::{Judge, JudgeError, Keep, Same};
use crate::engine::Engine;
use crate::error::Error;
use crate::pairs::{Pair, Rank, rank};

/// What became of a pair.
#[derive(Debug)]
pub enum Judged {
    /// The second is part of the first now.
    Merged { into: EntryId, from: EntryId },
    /// They stay two, and are not asked about again.
    Dismissed,
    /// Nothing changed, and nobody was asked: norms are for people.
    Norm,
    /// The judge finds them the same, but they look like opposites: a person decides.
    LeftToPeople,
    /// Nothing changed: there was no answer that counts.
    NoAnswer(JudgeError),
    /// Nothing changed: what the answer asks for was refused.
    Refused(Error),
}

impl Engine {
    /// Asks about a pair and does what the answer says, as far as a judge may.
    pub fn judge_pair(&mut self, judge: &mut Judge, pair: &Pair) -> Result<Judged, Error> {
        let (first, second) = (&pair.first, &pair.second);
        let is_norm = |it: &Entry| it.id.prefix().memory() == Memory::Procedural;
        if is_norm(first) || is_norm(second) {
            return Ok(Judged::Norm);
        }
        let by = judge.actor();
        let outcome = match judge.same_claim(first.said(), second.said()) {
            Err(error) => return Ok(Judged::NoAnswer(error)),
            Ok(Same::No) => self
                .dismiss_duplicate(first.id, second.id, &by)
                .map(|()| Judged::Dismissed),
            Ok(Same::Yes(_)) if pair.may_be_opposites => return Ok(Judged::LeftToPeople),
            Ok(Same::Yes(keep)) => self.merge_as(first, second, keep, &by),
        };
        match outcome {
            Err(error @ (Error::Refused(_) | Error::Guarded(_))) => Ok(Judged::Refused(error)),
            other => other,
        }
    }

    fn merge_as(
        &mut self,
        first: &Entry,
        second: &Entry,
        keep: Keep,
        by: &Actor,
    ) -> Result<Judged, Error> {
        let (target, source, words) = chosen(first, second, keep);
        let words = words.or_else(|| target.content.as_ref().map(|it| it.statement.clone()));
        self.merge(target.id, &[source.id], words, by)?;
        Ok(Judged::Merged {
            into: target.id,
            from: source.id,
        })
    }
}

/// Returns which entry stays, which goes, and other words for it if there are any.
///
/// The entry that stands higher stays, and keeps its words once somebody stood up for it or where a
/// person wrote them: a judge is none.
fn chosen<'a>(
    first: &'a Entry,
    second: &'a Entry,
    keep: Keep,
) -> (&'a Entry, &'a Entry, Option<Statement>) {
    let (one, other) = (rank(first), rank(second));
    let wanted_second = matches!(keep, Keep::Second);
    let second_stays = one < other || (one == other && wanted_second);
    let (stays, goes) = match second_stays {
        true => (second, first),
        false => (first, second),
    };
    let words = match keep {
        Keep::Worded(words) if rank(stays) == Rank::default() => Some(words),
        Keep::Worded(_) | Keep::First | Keep::Second => None,
    };
    (stays, goes, words)
}
