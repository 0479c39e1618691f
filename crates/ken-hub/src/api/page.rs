//! Lists that are long: a page at a time, each saying where the next begins.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::problem::{Kind, Problem};

/// Things a page may hold.
pub const LIMIT_MAX: u32 = 1_000;

/// Things a page holds where nothing is said.
pub const LIMIT: u32 = 100;

/// Characters a cursor may have.
pub const CURSOR_CHARS_MAX: usize = 128;

/// Which page is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Paging {
    /// Where the page begins: `next` of the page before, the first page without.
    #[serde(default)]
    #[param(max_length = 128, nullable = false)]
    pub after: Option<String>,
    /// Things it holds at most.
    #[serde(default = "limit_default", deserialize_with = "limit")]
    #[param(minimum = 1, maximum = 1000, default = 100, required = false)]
    pub limit: u32,
}

impl Paging {
    /// Reads where the page begins as an id.
    pub fn id(&self) -> Result<Option<Uuid>, Problem> {
        let id = self.after.as_deref().map(Uuid::try_parse).transpose();
        id.map_err(|_| {
            Problem::new(
                Kind::Malformed,
                "`after` is no place in this list; use `next` of the page before",
            )
        })
    }
}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Makes a page of `items`, of which one more than `limit` was asked for to see whether there are more.
    pub fn of(mut items: Vec<T>, limit: u32, name: impl FnOnce(&T) -> String) -> Self {
        let more = limit as usize > 0 && items.len() > limit as usize;
        items.truncate(limit as usize);
        let next = items.last().filter(|_| more).map(name);
        Self { items, next }
    }

    /// Turns what stands on the page into what is told.
    pub fn map<U>(self, told: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(told).collect(),
            next: self.next,
        }
    }
}

pub(crate) fn limit_default() -> u32 {
    LIMIT
}

/// Reads how many things a page may hold.
pub(crate) fn limit<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let limit = u32::deserialize(from)?;
    if !(1..=LIMIT_MAX).contains(&limit) {
        let told = format!("`limit` is a number from 1 to {LIMIT_MAX}");
        return Err(serde::de::Error::custom(told));
    }
    Ok(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_the_next_only_where_there_is_one() {
        let page = Page::of(vec![1, 2, 3], 2, ToString::to_string);
        assert_eq!((page.items, page.next.as_deref()), (vec![1, 2], Some("2")));
        let last = Page::of(vec![1, 2], 2, ToString::to_string);
        assert_eq!((last.items, last.next), (vec![1, 2], None));
        let none = Page::of(Vec::<u8>::new(), 2, ToString::to_string);
        assert_eq!(none.next, None);
    }
}
