//! Web pages on knowledge, for `ken ui` and for a hub.
//!
//! A page is a pure function from data to markup. The data comes in through [`KnowledgeSource`];
//! this crate opens no file and knows no engine or database. Text of others becomes markup in
//! [`untrusted`] only, and addresses are written and parsed in [`address`] only.
//!
//! Reading order: [`source`] and [`view`] (the data), [`address`], [`untrusted`], `frame`,
//! `component`, `page` and [`hub`] (the markup), [`action`] (forms), [`gate`] (access checks),
//! `live` and [`router`].

pub mod action;
pub mod address;
mod assets;
mod component;
mod frame;
pub mod gate;
pub mod hub;
mod live;
mod page;
mod router;
mod settings;
pub mod source;
pub mod untrusted;
pub mod view;

pub use live::ChangeTopic;
pub use router::{SourcePages, router};
pub use source::{KnowledgeError, KnowledgeSource};
