//! Façade: every public verb of [`Engine`](super::Engine), each one call of a free function.
//!
//! The path of the call names the file that holds the verb, with its full documentation. Verbs
//! that only this crate needs have no method; callers name their module instead. The five files
//! divide the methods by topic, because one would exceed the size limit of a file.

mod federation;
mod knowledge;
mod operations;
mod pages;
mod sessions;
