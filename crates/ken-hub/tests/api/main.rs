//! The hub over HTTP on a real PostgreSQL: problems, permissions, hostile input, tenant isolation
//! and limits.

mod administration;
mod attacks;
mod authority;
mod availability;
mod browser;
mod canaries;
mod decisions;
mod events;
mod exports;
mod federation;
mod federation_faults;
mod federation_network;
mod federation_restore;
mod four_eyes;
mod hostile;
mod hub;
mod matrix;
mod mcp_client;
mod page_matrix;
mod page_overviews;
mod pages;
mod peer_pages;
mod people;
mod process;
mod provider;
mod push_matrix;
mod reading;
mod reference;
mod schemathesis;
mod stored;
mod tokens;
mod verb_matrix;
mod verbs;
