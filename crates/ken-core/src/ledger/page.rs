//! Pages of entries: filter, order, position, and counts by facet.
//!
//! A page starts at a cursor with the sort value and id of an entry, so that later pages cost as
//! much as the first one and an insertion does not shift them.

use std::fmt;
use std::str::FromStr;

use crate::ledger::entry::Entry;
use crate::ledger::event::Origin;
use crate::ledger::store::EntryFilter;
use crate::values::actor::Actor;
use crate::values::id::EntryId;
use crate::values::time::Date;

/// Maximum number of entries on a page.
pub const PAGE_ENTRIES_MAX: usize = 200;

/// Maximum number of values counted per facet; the most frequent ones are kept.
pub const FACET_VALUES_MAX: usize = 20;

/// Maximum number of entries whose tags and paths are counted; the newest ones are.
pub const FACET_ENTRIES_MAX: usize = 5_000;

/// Selects the entries of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageFilter {
    /// Its limit is ignored.
    pub entries: EntryFilter,
    pub author: Option<Actor>,
    pub origin: Option<Origin>,
    /// Entries with an anchor at this file or folder, or below it. Only live entries have one.
    pub path: Option<String>,
}

/// The order of a list. The greatest value comes first; equal values are ordered by id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntrySort {
    /// By the time of creation.
    #[default]
    Newest,
    /// By the day of the last confirmation.
    Confirmed,
    /// By mean confidence.
    Trust,
    /// By the number of runs that showed the entry.
    Shown,
    /// By missed opportunities to find the claim since the last confirmation.
    Silent,
}

/// A position in a list, in the order it was made for.
///
/// Its text form is safe in an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCursor {
    /// The sort value as text of the store: lowercase hexadecimal digits or a number.
    key: String,
    id: EntryId,
}

/// The reason a text is not a cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a position in a list")]
pub struct PageCursorError(String);

/// The position of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PageStart {
    #[default]
    First,
    After(PageCursor),
    Before(PageCursor),
}

/// A request for one page.
#[derive(Clone, Debug, Default)]
pub struct PageQuery {
    pub filter: PageFilter,
    pub sort: EntrySort,
    pub start: PageStart,
    /// At most [`PAGE_ENTRIES_MAX`].
    pub limit: usize,
    /// The day on which confidence is computed, because evidence fades.
    pub today: Date,
}

/// One page of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntryPage {
    pub entries: Vec<Entry>,
    /// The start of the previous page, if there may be one.
    pub before: Option<PageCursor>,
    /// The start of the next page, if there is one.
    pub after: Option<PageCursor>,
}

/// Number of entries of a list by facet, the most frequent value first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FacetCounts {
    pub total: u32,
    /// Set if tags and paths are counted among the newest [`FACET_ENTRIES_MAX`] entries only.
    pub is_partial: bool,
    pub kinds: Vec<FacetCount>,
    pub statuses: Vec<FacetCount>,
    pub tags: Vec<FacetCount>,
    /// Files and folders directly below the filter's path; a folder ends with `/`.
    pub paths: Vec<FacetCount>,
    pub authors: Vec<FacetCount>,
    pub origins: Vec<FacetCount>,
}

/// One value of a facet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacetCount {
    pub value: String,
    pub entries: u32,
}

impl EntrySort {
    /// Every order.
    pub const ALL: [Self; 5] = [
        Self::Newest,
        Self::Confirmed,
        Self::Trust,
        Self::Shown,
        Self::Silent,
    ];

    /// Returns the name used in addresses and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Newest => "new",
            Self::Confirmed => "confirmed",
            Self::Trust => "trust",
            Self::Shown => "shown",
            Self::Silent => "silent",
        }
    }
}

impl PageCursor {
    /// Maximum bytes of a sort value.
    const KEY_BYTES_MAX: usize = 32;

    /// Creates a cursor at an entry with this sort value.
    pub fn new(key: String, id: EntryId) -> Self {
        Self { key, id }
    }

    /// Returns the sort value.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the entry.
    pub fn id(&self) -> EntryId {
        self.id
    }
}

impl fmt::Display for PageCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.key, self.id)
    }
}

impl FromStr for PageCursor {
    type Err = PageCursorError;

    fn from_str(text: &str) -> Result<Self, PageCursorError> {
        let error = || PageCursorError(text.to_owned());
        let (key, id) = text.split_once('.').ok_or_else(error)?;
        let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        if key.len() > Self::KEY_BYTES_MAX || !key.chars().all(is_digit) {
            return Err(error());
        }
        Ok(Self::new(key.to_owned(), id.parse().map_err(|_| error())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_as_it_was_written() {
        for text in ["0190af.L-7k2f5qm3", "12.N-7k2f5qm3", ".L-7k2f5qm3"] {
            assert_eq!(text.parse::<PageCursor>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let long = format!("{}.L-7k2f5qm3", "0".repeat(33));
        for text in [
            "",
            "12",
            "12.",
            "12.L",
            "-1.L-7k2f5qm3",
            "xy.L-7k2f5qm3",
            &long,
        ] {
            assert!(text.parse::<PageCursor>().is_err(), "{text}");
        }
    }
}
