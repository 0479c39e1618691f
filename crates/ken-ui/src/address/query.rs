//! Query parts of addresses as values. A value that does not parse is ignored, so an edited address
//! still shows a page.

use std::fmt;
use std::str::FromStr;

use ken_core::ledger::page::EntrySort;
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_core::values::text::Tag;

use super::VALUE_CHARS_MAX;

/// The decoded pairs of a query, in their order.
#[derive(Debug, Default)]
pub(super) struct QueryString(Vec<(String, String)>);

impl QueryString {
    pub(super) fn parse(text: &str) -> Self {
        let pairs = form_urlencoded::parse(text.as_bytes());
        // Ignored like any other invalid value. A page repeats its query in every link, so one
        // long value would be sent back many times over.
        let pairs = pairs.filter(|(_, value)| value.chars().count() <= VALUE_CHARS_MAX);
        Self(
            pairs
                .map(|(key, value)| (key.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    /// Returns a value that is not empty.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let found = self.0.iter().find(|(name, _)| name == key);
        found
            .map(|(_, value)| value.clone())
            .filter(|it| !it.is_empty())
    }

    // An address is edited by hand and kept in bookmarks for years; an error page for an outdated
    // value would help no one.
    pub(super) fn parsed<T: FromStr>(&self, key: &str) -> Option<T> {
        self.text(key)?.parse().ok()
    }

    pub(super) fn set(&mut self, key: &str, value: Option<&str>) {
        // Defaults are left out, so that one page has one address.
        if let Some(value) = value {
            self.0.push((key.to_owned(), value.to_owned()));
        }
    }

    /// Appends the query to a path.
    pub(super) fn after(self, path: String) -> String {
        if self.0.is_empty() {
            return path;
        }
        let mut out = form_urlencoded::Serializer::new(String::new());
        out.extend_pairs(self.0);
        format!("{path}?{}", out.finish())
    }
}

/// Defines an enum with a name per variant, for values of a query.
macro_rules! query_names {
    ($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $type { $($(#[$variant_doc])* $variant),* }

        impl $type {
            /// Every value, in the order of the page.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name in addresses.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }

        impl std::str::FromStr for $type {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|it| it.name() == text).ok_or(())
            }
        }
    };
}

pub(super) use query_names;

query_names! {
    /// A part of the inbox.
    InboxLane {
        Changed "changed",
        Quarantined "quarantined",
        Approvals "approvals",
        Claims "claims",
        Contradictions "contradictions",
        Duplicates "duplicates",
        Versions "versions",
        Health "health",
    }
}

/// Selection, order and page of a list of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryListQuery {
    pub words: String,
    pub kind: Option<EntryKind>,
    pub status: Option<EntryStatus>,
    pub tag: Option<Tag>,
    pub lens: Option<Tag>,
    pub lifecycle: LifecycleFilter,
    pub by: Option<String>,
    pub path: Option<String>,
    pub order: EntrySort,
    /// The cursor of the previous page.
    pub after: Option<String>,
}

const LIFECYCLES: [(LifecycleFilter, &str); 4] = [
    (LifecycleFilter::Live, "live"),
    (LifecycleFilter::Archived, "archived"),
    (LifecycleFilter::Retracted, "retracted"),
    (LifecycleFilter::All, "all"),
];

/// Returns the order with this name, or the default one.
fn sort_named(name: &str) -> EntrySort {
    let found = EntrySort::ALL.into_iter().find(|it| it.name() == name);
    found.unwrap_or_default()
}

impl EntryListQuery {
    /// Returns the filter of the entries themselves, without words, author and path.
    #[must_use]
    pub fn filter(&self) -> EntryFilter {
        EntryFilter {
            kind: self.kind,
            status: self.status,
            tag: self.tag.clone(),
            lens: self.lens.clone(),
            lifecycle: self.lifecycle,
            ..EntryFilter::default()
        }
    }

    pub(super) fn read(query: &QueryString) -> Self {
        let lifecycle = query.text("show").unwrap_or_default();
        let lifecycle = LIFECYCLES.iter().find(|(_, name)| *name == lifecycle);
        Self {
            words: query.text("q").unwrap_or_default(),
            kind: query.parsed("kind"),
            status: query.parsed("status"),
            tag: query.parsed("tag"),
            lens: query.parsed("lens"),
            lifecycle: lifecycle.map(|(it, _)| *it).unwrap_or_default(),
            by: query.text("by"),
            path: query.text("path"),
            order: sort_named(&query.text("sort").unwrap_or_default()),
            after: query.text("after"),
        }
    }

    pub(super) fn write(&self, query: &mut QueryString) {
        query.set("q", Some(self.words.as_str()).filter(|it| !it.is_empty()));
        query.set("kind", self.kind.map(EntryKind::name));
        query.set("status", self.status.map(EntryStatus::name));
        query.set("tag", self.tag.as_ref().map(Tag::as_str));
        query.set("lens", self.lens.as_ref().map(Tag::as_str));
        // Live and the default order are what an address without them means.
        let shown = (self.lifecycle != LifecycleFilter::Live).then(|| self.lifecycle_name());
        query.set("show", shown);
        query.set("by", self.by.as_deref());
        query.set("path", self.path.as_deref());
        let sort = (self.order != EntrySort::default()).then(|| self.order.name());
        query.set("sort", sort);
        query.set("after", self.after.as_deref());
    }

    /// Returns the name of the lifecycle filter.
    pub fn lifecycle_name(&self) -> &'static str {
        let found = LIFECYCLES.iter().find(|(it, _)| *it == self.lifecycle);
        found.map_or("live", |(_, name)| name)
    }

    /// Returns the values and names of the lifecycle filter.
    pub fn lifecycles() -> [(LifecycleFilter, &'static str); 4] {
        LIFECYCLES
    }

    /// Returns this query on its first page.
    #[must_use]
    pub fn first_page(&self) -> Self {
        Self {
            after: None,
            ..self.clone()
        }
    }
}

/// The input of a briefing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BriefQuery {
    pub task: String,
    pub path: String,
    pub role: String,
}

impl BriefQuery {
    pub(super) fn read(query: &QueryString) -> Self {
        let text = |key| query.text(key).unwrap_or_default();
        Self {
            task: text("task"),
            path: text("path"),
            role: text("role"),
        }
    }

    pub(super) fn write(&self, query: &mut QueryString) {
        for (key, value) in [
            ("task", &self.task),
            ("path", &self.path),
            ("role", &self.role),
        ] {
            query.set(key, Some(value.as_str()).filter(|it| !it.is_empty()));
        }
    }
}

/// Selection of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunListQuery {
    pub outcome: Option<String>,
    /// The number of ended runs before the first one listed.
    pub skip: Option<u32>,
}

impl RunListQuery {
    pub(super) fn read(query: &QueryString) -> Self {
        Self {
            outcome: query.text("outcome"),
            skip: query.parsed("skip"),
        }
    }

    pub(super) fn write(&self, query: &mut QueryString) {
        query.set("outcome", self.outcome.as_deref());
        query.set("skip", self.skip.map(|it| it.to_string()).as_deref());
    }
}

/// Lines of a file, counted from 1, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineSpan {
    pub first: u32,
    pub last: u32,
}

impl fmt::Display for LineSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl FromStr for LineSpan {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (
            first.parse().map_err(|_| ())?,
            last.parse().map_err(|_| ())?,
        );
        // Lines count from 1, as in editors and in the links of git hosts.
        if first == 0 || last < first {
            return Err(());
        }
        Ok(Self { first, last })
    }
}
