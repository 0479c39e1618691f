//! Organization-wide entries that supplement a workspace's own results.

use ken_core::federation::{CompetingHypotheses, ForeignSource};
use ken_core::retrieval::ranking::SearchHit;
use ken_core::retrieval::surface::{EntrySelection, SelectedEntry};

/// Hits from other workspaces of the organization, and from its peers.
#[derive(Clone, Debug, Default)]
pub struct OrganizationHits {
    /// Best first.
    pub hits: Vec<SearchHit>,
    pub page: Option<EntrySelection>,
    /// The peers of those hits that other organizations published.
    pub sources: Vec<ForeignSource>,
    /// Hits of peers that contradict entries of this workspace.
    pub competing: Vec<CompetingHypotheses>,
}

impl OrganizationHits {
    /// Returns the organization-wide entries that are shown.
    #[must_use]
    pub fn shown(&self) -> &[SelectedEntry] {
        self.page.as_ref().map_or(&[], |it| &it.shown)
    }

    /// Returns `page` followed by the organization-wide entries.
    #[must_use]
    pub fn append_to(&self, page: EntrySelection) -> EntrySelection {
        match &self.page {
            Some(beside) => page.followed_by(beside),
            None => page,
        }
    }
}
