//! What programs read, the same on every surface: the command line, MCP and HTTP.
//!
//! Each object says in `schema` what it is; members are added, never given another meaning.

mod answer;
mod entry;
mod event;
mod run;

pub use answer::{AnswerObject, Answered};
pub use entry::{EntryObject, cited, confirmed, marks};
pub use event::{EventObject, words};
pub use run::{ClosedObject, PastObject, RunObject, withheld};
