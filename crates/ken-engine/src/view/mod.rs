//! Markdown views of entries.
//!
//! `entry_file` renders and parses the file of one entry, `lists` renders overviews of many.
//! Both are pure; [`sync`](crate::sync) performs the I/O.

pub mod entry_file;
pub mod lists;
