//! Fault tests: real hubs on a real PostgreSQL, both killed repeatedly. Every acknowledged event
//! must be stored exactly once and unchanged.
//!
//! Two hubs run throughout. Writers record sent and acknowledged events ([`writers`]); afterwards
//! the hub's log is compared with that record and with a fold of the writers' copies ([`check`]).
//! Short variants always run, long ones with `KEN_LONG=1`; `docs/explanation/reliability.md` has
//! the results.

#![cfg(all(unix, feature = "hub", feature = "remote"))]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod check;
mod hubs;
mod kills;
mod load;
mod restore;
mod standby;
mod upgrade;
mod writers;
