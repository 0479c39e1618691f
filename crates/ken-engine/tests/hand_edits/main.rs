//! What people do to entry files by hand, alone and between clones: exactly the right event once,
//! by the right author, in every clone, or none.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod beside;
mod desk;
mod situations;
