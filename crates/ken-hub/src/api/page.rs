//! Keyset pagination of list responses.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::problem::{Kind, Problem};

/// Maximum items per page.
pub const LIMIT_MAX: u32 = 1_000;

/// Default items per page.
pub const LIMIT: u32 = 100;

/// Maximum length of a cursor.
pub const CURSOR_CHARS_MAX: usize = 128;

/// Query parameters that select a page.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct PageParams {
    /// Start of the page: `next` of the previous page. Omit it for the first page.
    #[serde(default)]
    #[param(max_length = 128, nullable = false)]
    pub after: Option<String>,
    /// Maximum number of items.
    #[serde(default = "default_limit", deserialize_with = "deserialize_limit")]
    #[param(minimum = 1, maximum = 1000, default = 100, required = false)]
    pub limit: u32,
}

impl PageParams {
    /// Parses `after` as an id.
    pub fn after_id(&self) -> Result<Option<Uuid>, Problem> {
        let id = self.after.as_deref().map(Uuid::try_parse).transpose();
        id.map_err(|_| {
            Problem::new(
                Kind::Malformed,
                "`after` is not a valid position in this list; use `next` of the previous page",
            )
        })
    }
}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListPage)]
pub struct ListPage<T> {
    pub items: Vec<T>,
    /// Start of the next page, to be sent as `after`. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

impl<T> ListPage<T> {
    /// Builds a page from up to `limit + 1` items: the extra one shows that there is a next page.
    ///
    /// `name` returns the cursor of an item.
    pub fn from_items(mut items: Vec<T>, limit: u32, name: impl FnOnce(&T) -> String) -> Self {
        let more = limit as usize > 0 && items.len() > limit as usize;
        items.truncate(limit as usize);
        let next = items.last().filter(|_| more).map(name);
        Self { items, next }
    }

    /// Converts the items of the page.
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> ListPage<U> {
        ListPage {
            items: self.items.into_iter().map(convert).collect(),
            next: self.next,
        }
    }
}

pub(crate) fn default_limit() -> u32 {
    LIMIT
}

/// Deserializes a page size and checks its range.
pub(crate) fn deserialize_limit<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let limit = u32::deserialize(from)?;
    if !(1..=LIMIT_MAX).contains(&limit) {
        let message = format!("`limit` must be a number from 1 to {LIMIT_MAX}");
        return Err(serde::de::Error::custom(message));
    }
    Ok(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_the_next_only_where_there_is_one() {
        let page = ListPage::from_items(vec![1, 2, 3], 2, ToString::to_string);
        assert_eq!((page.items, page.next.as_deref()), (vec![1, 2], Some("2")));
        let last = ListPage::from_items(vec![1, 2], 2, ToString::to_string);
        assert_eq!((last.items, last.next), (vec![1, 2], None));
        let none = ListPage::from_items(Vec::<u8>::new(), 2, ToString::to_string);
        assert_eq!(none.next, None);
    }
}
