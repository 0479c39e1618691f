//! Live updates: server-sent events that name what changed, never its content.
//!
//! The browser then fetches the page again through its own address, so a stream gives access to
//! nothing that the pages do not.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;

use crate::address::RepoPath;
use crate::source::KnowledgeSource;

/// Maximum topics of one stream.
const TOPICS_MAX: usize = 8;

/// Data of the first event: changes from now on are reported.
const READY: &str = "ready";

/// Interval of comments that keep the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// A part of the knowledge that a page shows and that can change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeTopic {
    /// Any event of the ledger.
    Ledger,
    /// The notes of any open run.
    Runs,
    /// The items of the inbox that are found by comparing all entries.
    Inbox,
    /// A file of the work tree.
    File(RepoPath),
}

impl fmt::Display for ChangeTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ledger => f.write_str("ledger"),
            Self::Runs => f.write_str("runs"),
            Self::Inbox => f.write_str("inbox"),
            // Encoded, so that a topic contains no space and an attribute can hold several.
            Self::File(path) => write!(f, "file:{}", path.encoded()),
        }
    }
}

impl FromStr for ChangeTopic {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.split_once(':') {
            None if text == "ledger" => Ok(Self::Ledger),
            None if text == "runs" => Ok(Self::Runs),
            None if text == "inbox" => Ok(Self::Inbox),
            Some(("file", path)) => RepoPath::decode(path).map(Self::File).ok_or(()),
            Some(_) | None => Err(()),
        }
    }
}

/// Returns the topics of a query such as `topic=ledger&topic=file:src/pay.rs`.
pub(crate) fn topics(query: &str) -> Vec<ChangeTopic> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    let topics = pairs.filter(|(key, _)| key == "topic");
    topics
        .filter_map(|(_, text)| text.parse().ok())
        .take(TOPICS_MAX)
        .collect()
}

/// Streams the topics that change until the browser leaves.
pub(crate) fn stream_changes<S: KnowledgeSource>(source: &S, topics: Vec<ChangeTopic>) -> Response {
    let changes = source.watch(topics).map(|changed| {
        let names: Vec<String> = changed.iter().map(ToString::to_string).collect();
        // A browser ignores an event without data.
        let data = if names.is_empty() {
            READY.to_owned()
        } else {
            names.join(" ")
        };
        Ok::<_, Infallible>(Event::default().data(data))
    });
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Sse::new(changes).keep_alive(keep_alive).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_parse_back_to_themselves() {
        let file = ChangeTopic::File("src/a b.rs".parse().expect("a path"));
        let fixed = [ChangeTopic::Ledger, ChangeTopic::Runs, ChangeTopic::Inbox];
        for topic in fixed.into_iter().chain([file]) {
            assert_eq!(topic.to_string().parse(), Ok(topic));
        }
        let query = "topic=ledger&topic=file%3A..%2Fx&topic=x&other=runs";
        assert_eq!(topics(query), [ChangeTopic::Ledger]);
    }
}
