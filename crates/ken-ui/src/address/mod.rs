//! Addresses of pages: the only code that turns a path and query into a page, and a page into a
//! link.
//!
//! The whole state of a page is in its address. Invariant: a link that [`PageAddress::href`] writes
//! parses back to the same address, and no address leads out of the repository.

mod path;
mod peer;
mod query;
#[cfg(test)]
mod tests;

use percent_encoding::percent_decode_str;

pub use path::{RepoPath, RepoPathError};
pub use peer::{PeerLane, PeerQuery};
pub use query::{BriefQuery, EntryListQuery, InboxLane, LineSpan, RunListQuery};

pub(crate) use path::encode_segment;
use query::QueryString;

/// Maximum characters of one segment or query value.
pub const VALUE_CHARS_MAX: usize = 2_048;

/// The page that an address names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageAddress {
    Home,
    Inbox {
        lane: Option<InboxLane>,
    },
    Entries(EntryListQuery),
    /// One entry, by id, the beginning of an id, or alias.
    Entry {
        entry: String,
    },
    History {
        entry: String,
    },
    Neighbors {
        entry: String,
    },
    /// The form of a new entry, anchored to `anchor` if it is not empty.
    Add {
        anchor: String,
    },
    /// A file or folder of the repository.
    Path {
        path: RepoPath,
        lines: Option<LineSpan>,
        /// The commit whose code is shown; the work tree if absent.
        revision: Option<String>,
    },
    /// The effect of this branch on knowledge.
    Change {
        base: Option<String>,
    },
    Documents,
    Brief(BriefQuery),
    Runs(RunListQuery),
    Run {
        run: String,
    },
    CompareRuns {
        first: String,
        second: String,
    },
    Impact,
    Health,
    Stats,
    Norms {
        path: Option<RepoPath>,
    },
    People,
    /// What the forager did and may do.
    Forage,
    /// Publications of other organizations that the person reads.
    Peers,
    Peer {
        peer: String,
        query: PeerQuery,
    },
    Settings,
}

impl PageAddress {
    /// Returns the page of a request path and query, or `None` if there is no such page.
    pub fn parse(path: &str, query: Option<&str>) -> Option<Self> {
        let query = QueryString::parse(query.unwrap_or_default());
        let segments = decode_segments(path)?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let page = match segments.as_slice() {
            [] => Self::Home,
            ["inbox"] => Self::Inbox {
                lane: query.parsed("lane"),
            },
            ["entries"] => Self::Entries(EntryListQuery::read(&query)),
            ["e", entry] => Self::Entry {
                entry: named(entry)?,
            },
            ["e", entry, "history"] => Self::History {
                entry: named(entry)?,
            },
            ["e", entry, "near"] => Self::Neighbors {
                entry: named(entry)?,
            },
            ["add"] => Self::Add {
                anchor: query.text("anchor").unwrap_or_default(),
            },
            ["at", below @ ..] => Self::Path {
                path: RepoPath::from_segments(below).ok()?,
                lines: query.parsed("lines"),
                revision: query.text("rev").and_then(|it| revision(&it)),
            },
            ["change"] => Self::Change {
                base: query.text("base").and_then(|it| revision(&it)),
            },
            ["documents"] => Self::Documents,
            ["brief"] => Self::Brief(BriefQuery::read(&query)),
            ["runs"] => Self::Runs(RunListQuery::read(&query)),
            ["runs", "compare"] => Self::CompareRuns {
                first: query.text("a").unwrap_or_default(),
                second: query.text("b").unwrap_or_default(),
            },
            ["runs", "id", run] => Self::Run { run: named(run)? },
            ["impact"] => Self::Impact,
            ["health"] => Self::Health,
            ["stats"] => Self::Stats,
            ["norms"] => Self::Norms {
                path: query.parsed("path"),
            },
            ["people"] => Self::People,
            ["forage"] => Self::Forage,
            ["peers"] => Self::Peers,
            ["peers", peer] => Self::Peer {
                peer: named(peer)?,
                query: PeerQuery::read(&query),
            },
            ["settings"] => Self::Settings,
            _ => return None,
        };
        Some(page)
    }

    /// Returns the address below the base of the pages.
    pub fn href(&self) -> String {
        let mut query = QueryString::default();
        let path = match self {
            Self::Home => "/".to_owned(),
            Self::Inbox { lane } => {
                query.set("lane", lane.map(InboxLane::name));
                "/inbox".to_owned()
            }
            Self::Entries(asked) => {
                asked.write(&mut query);
                "/entries".to_owned()
            }
            Self::Entry { entry } => format!("/e/{}", encode_segment(entry)),
            Self::History { entry } => format!("/e/{}/history", encode_segment(entry)),
            Self::Neighbors { entry } => format!("/e/{}/near", encode_segment(entry)),
            Self::Add { anchor } => {
                query.set("anchor", Some(anchor.as_str()).filter(|it| !it.is_empty()));
                "/add".to_owned()
            }
            Self::Path {
                path,
                lines,
                revision,
            } => {
                query.set("rev", revision.as_deref());
                query.set("lines", lines.map(|it| it.to_string()).as_deref());
                path.href("/at")
            }
            Self::Change { base } => {
                query.set("base", base.as_deref());
                "/change".to_owned()
            }
            Self::Documents => "/documents".to_owned(),
            Self::Brief(asked) => {
                asked.write(&mut query);
                "/brief".to_owned()
            }
            Self::Runs(asked) => {
                asked.write(&mut query);
                "/runs".to_owned()
            }
            Self::Run { run } => format!("/runs/id/{}", encode_segment(run)),
            Self::CompareRuns { first, second } => {
                query.set("a", Some(first.as_str()).filter(|it| !it.is_empty()));
                query.set("b", Some(second.as_str()).filter(|it| !it.is_empty()));
                "/runs/compare".to_owned()
            }
            Self::Impact => "/impact".to_owned(),
            Self::Health => "/health".to_owned(),
            Self::Stats => "/stats".to_owned(),
            Self::Norms { path } => {
                query.set("path", path.as_ref().map(RepoPath::as_str));
                "/norms".to_owned()
            }
            Self::People => "/people".to_owned(),
            Self::Forage => "/forage".to_owned(),
            Self::Peers => "/peers".to_owned(),
            Self::Peer { peer, query: asked } => {
                asked.write(&mut query);
                format!("/peers/{}", encode_segment(peer))
            }
            Self::Settings => "/settings".to_owned(),
        };
        query.after(path)
    }

    /// Parses a link that [`Self::href`] wrote, such as the return address of a form.
    pub fn parse_href(href: &str) -> Option<Self> {
        let href = href.split_once('#').map_or(href, |(href, _)| href);
        match href.split_once('?') {
            None => Self::parse(href, None),
            Some((path, query)) => Self::parse(path, Some(query)),
        }
    }

    /// Returns the page of an entry.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "ids are small and often made at the call"
    )]
    pub fn entry(id: impl ToString) -> Self {
        Self::Entry {
            entry: id.to_string(),
        }
    }

    /// Returns the page of a path of the repository.
    pub fn path(path: RepoPath) -> Self {
        Self::Path {
            path,
            lines: None,
            revision: None,
        }
    }
}

/// Returns the decoded segments of an absolute path; `None` for a path that is no address.
fn decode_segments(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return Some(Vec::new());
    }
    let decode = |segment: &str| {
        let text = percent_decode_str(segment).decode_utf8().ok()?;
        (text.chars().count() <= VALUE_CHARS_MAX).then(|| text.into_owned())
    };
    path.split('/').map(decode).collect()
}

/// Returns the name of a revision. One that git would take for an option names nothing.
fn revision(text: &str) -> Option<String> {
    let is_name = !text.starts_with('-') && !text.chars().any(char::is_control);
    is_name.then(|| text.to_owned())
}

/// Returns the name of an entry or run. Browsers resolve dot segments, so these name nothing.
fn named(segment: &str) -> Option<String> {
    let is_name = !matches!(segment, "" | "." | "..") && !segment.chars().any(char::is_control);
    is_name.then(|| segment.to_owned())
}
