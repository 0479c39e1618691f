//! `ken push`, `pull` and `sync --remote` against a real `ken serve` on a real PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod administer;
mod audit;
mod exchange;
mod fold;
mod losses;
mod operation;
mod people;
mod retention;
mod site;
mod trust;
