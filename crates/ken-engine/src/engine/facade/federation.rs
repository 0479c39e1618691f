//! Publications of this clone, and what dependency updates change.

use ken_core::federation::PublicationUpdate;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::federation::{
    self, DependencyLesson, NewPublication, PeerLedger, Publication, PublicationReview,
};

impl Engine {
    /// Adds a publication; writes nothing into its folder yet.
    pub fn create_publication(
        &mut self,
        new: NewPublication,
        by: &Actor,
    ) -> Result<Publication, EngineError> {
        federation::create_publication(self, new, by)
    }

    /// Returns the publications of this clone.
    pub fn publications(&self) -> Result<Vec<Publication>, EngineError> {
        federation::publications(self)
    }

    /// Returns the publication called `name`; without a name, the only one.
    pub fn publication(&self, name: Option<&str>) -> Result<Publication, EngineError> {
        federation::publication(self, name)
    }

    /// Forgets a publication. Its folder stays.
    pub fn remove_publication(&mut self, name: &str, by: &Actor) -> Result<(), EngineError> {
        federation::remove_publication(self, name, by)
    }

    /// Returns what would leave, what a person has to approve, and what the policy keeps.
    pub fn review_publication(
        &mut self,
        publication: &Publication,
    ) -> Result<PublicationReview, EngineError> {
        federation::review_publication(self, publication)
    }

    /// Records that a person approved the current words of entries for a publication.
    pub fn allow_exports(
        &mut self,
        publication: &Publication,
        ids: &[EntryId],
        by: &Actor,
    ) -> Result<Vec<EntryId>, EngineError> {
        federation::allow_exports(self, publication, ids, by)
    }

    /// Brings the folder of a publication up to date.
    pub fn update_publication(
        &mut self,
        name: Option<&str>,
        by: &Actor,
    ) -> Result<PublicationUpdate, EngineError> {
        federation::update_publication(self, name, by)
    }

    /// Returns the lessons that apply at `base`, in the work tree, or in both.
    pub fn dependency_lessons(
        &mut self,
        peers: &[PeerLedger],
        base: &str,
    ) -> Result<Vec<DependencyLesson>, EngineError> {
        federation::dependency_lessons(self, peers, base)
    }
}
