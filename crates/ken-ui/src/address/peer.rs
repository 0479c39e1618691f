//! Selection of the entries of a peer.

use super::query::{QueryString, query_names};

query_names! {
    /// What became of entries of a peer.
    #[derive(Default)]
    PeerLane {
        #[default]
        Waiting "waiting",
        Approved "approved",
        Rejected "rejected",
        Withdrawn "withdrawn",
        Redacted "redacted",
    }
}

/// Selection and page of the entries of a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerQuery {
    pub lane: PeerLane,
    /// The place to continue after, as the page before named it.
    pub after: Option<String>,
}

impl PeerQuery {
    /// Reads the query of an address; what does not parse is ignored.
    pub fn parse(query: &str) -> Self {
        Self::read(&QueryString::parse(query))
    }

    pub(super) fn read(query: &QueryString) -> Self {
        Self {
            lane: query.parsed("lane").unwrap_or_default(),
            after: query.text("after"),
        }
    }

    pub(super) fn write(&self, query: &mut QueryString) {
        let lane = Some(self.lane).filter(|it| *it != PeerLane::default());
        query.set("lane", lane.map(PeerLane::name));
        query.set("after", self.after.as_deref());
    }

    /// Returns the address of this selection at `path`.
    pub(crate) fn href(&self, path: &str) -> String {
        let mut query = QueryString::default();
        self.write(&mut query);
        query.after(path.to_owned())
    }
}
