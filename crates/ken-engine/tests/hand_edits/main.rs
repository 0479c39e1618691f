//! Hand edits of entry files, alone and between clones: each edit becomes exactly one event, with
//! the right author, in every clone, or none.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod beside;
mod desk;
mod situations;
