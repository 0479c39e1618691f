//! What programs read, the same on every surface: the command line, MCP and HTTP.
//!
//! Each object says in `schema` what it is; members are added, never given another meaning.

mod entry;
mod event;
mod run;

pub use entry::EntryObject;
pub use event::{EventObject, words};
pub use run::{ClosedObject, PastObject, RunObject, withheld};
