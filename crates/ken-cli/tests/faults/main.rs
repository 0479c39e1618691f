//! Real hubs on a real PostgreSQL, while both are killed: what was acknowledged is there, once, and says what it said.
//!
//! Two hubs run throughout. Writers keep an outside log of what was sent and what was acknowledged ([`writers`]); what
//! the hub has afterwards is held against it and against a fold of the writers' own copies ([`check`]). Short variants run
//! always, long ones with `KEN_LONG=1`; `docs/reliability.md` has the figures.

#![cfg(all(unix, feature = "hub", feature = "remote"))]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod check;
mod hubs;
mod kills;
mod load;
mod restore;
mod standby;
mod writers;
