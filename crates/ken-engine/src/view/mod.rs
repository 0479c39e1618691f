//! Readable files made from entries, and what people change in them.
//!
//! [`document`] is the text of one entry's file, both ways; [`gather`] the lists beside it. Both
//! are pure: reading and writing files is [`sync`](crate::sync)'s work.

pub mod document;
pub mod gather;
