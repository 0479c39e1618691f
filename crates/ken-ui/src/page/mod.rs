//! Pages: pure functions from data to markup.

mod code;
mod entries;
mod entry;
mod forage;
mod forms;
mod health;
mod home;
mod inbox;
mod message;
mod peers;
mod people;
mod runs;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use code::{change_page, documents_page, path_page};
pub(crate) use entries::entries_page;
pub(crate) use entry::{entry_page, history_page, neighbors_page};
pub(crate) use forage::forage_page;
pub(crate) use forms::{add_page, settings_page};
pub(crate) use health::{health_page, impact_page, stats_page};
pub(crate) use home::home_page;
pub(crate) use inbox::inbox_page;
pub(crate) use message::{entered_page, error_page, refused_page, sign_in_page};
pub(crate) use peers::{peer_page, peers_page};
pub(crate) use people::{norms_page, people_page};
pub(crate) use runs::{brief_page, compare_page, run_page, runs_page};
