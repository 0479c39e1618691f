//! Segments that became shorter since they were indexed, remembered until they are whole again.
//!
//! Lines are only ever appended to a segment, and a pack has another name than the segments it
//! replaces. A shorter segment lost events, which would otherwise disappear without a trace.

use rusqlite::Connection;

use crate::error::IndexError;
use crate::index::Index;
use crate::rows::{self, META_CUT};
use crate::segment::{IndexedSegment, ListedSegment};

/// End of the names of compressed segments, whose file size says nothing about their text.
const PACK_SUFFIX: &str = ".pack";

/// A segment that is shorter than it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortSegment {
    pub segment: String,
    /// Bytes that it had.
    pub whole_len: u64,
}

impl Index {
    /// Returns the segments that are shorter than when they were indexed.
    pub fn short_segments(&self) -> Result<Vec<ShortSegment>, IndexError> {
        self.checked(load)
    }

    /// Remembers segments that the caller found to be cut; see [`crate::RefreshReport::short`].
    pub fn remember_short_segments(&mut self, more: &[ShortSegment]) -> Result<(), IndexError> {
        let mut known = load(&self.db)?;
        known.retain(|it| more.iter().all(|other| other.segment != it.segment));
        known.extend(more.iter().cloned());
        store(&self.db, &known)
    }
}

/// Returns the segment if its file is shorter than its indexed part.
pub(crate) fn shortened(stat: &ListedSegment, known: &IndexedSegment) -> Option<ShortSegment> {
    let whole_len = known.taken as u64;
    let is_short = stat.len < whole_len && !stat.name.ends_with(PACK_SUFFIX);
    is_short.then(|| ShortSegment {
        segment: stat.name.clone(),
        whole_len,
    })
}

/// Removes the segments that are whole again or gone.
pub(crate) fn retain_short(short: &mut Vec<ShortSegment>, listing: &[ListedSegment]) {
    let is_short = |it: &ShortSegment| {
        let mut listed = listing.iter();
        listed.any(|stat| stat.name == it.segment && stat.len < it.whole_len)
    };
    short.retain(is_short);
}

pub(crate) fn load(db: &Connection) -> Result<Vec<ShortSegment>, IndexError> {
    match rows::read_meta(db, META_CUT)? {
        None => Ok(Vec::new()),
        Some(json) => {
            let stored: Vec<(String, u64)> =
                serde_json::from_slice(&json).map_err(IndexError::damaged)?;
            let short = stored.into_iter();
            let short = short.map(|(segment, whole_len)| ShortSegment { segment, whole_len });
            Ok(short.collect())
        }
    }
}

pub(crate) fn store(db: &Connection, short: &[ShortSegment]) -> Result<(), IndexError> {
    if short.is_empty() {
        return rows::delete_meta(db, META_CUT);
    }
    let stored = short.iter().map(|it| (&it.segment, it.whole_len));
    let stored: Vec<(&String, u64)> = stored.collect();
    let json = serde_json::to_vec(&stored).expect("names and numbers");
    rows::write_meta(db, META_CUT, &json)
}
