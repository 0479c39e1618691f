//! JSON views for programs, identical on the command line, MCP and HTTP.
//!
//! The member `schema` identifies each view. Members are added, never redefined.

mod entry;
mod event;
mod relationships;
mod run;
mod search;

pub use entry::{
    EntryJson, describe_citation, describe_confirmation, describe_forage_provenance,
    describe_rediscovery, lifecycle_labels,
};
pub use event::{EventJson, describe_event};
pub use relationships::EntityRelationship;
pub use run::{ClosedRunJson, ExposureJson, OpenRunJson, PastRunJson, withheld_entries};
pub use search::{SearchJson, SearchResult};
