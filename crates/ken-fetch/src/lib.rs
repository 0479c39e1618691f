//! Gateway to public hosts: reads a page of a host that the user allowed, or refuses.
//!
//! Three invariants. A connection is only opened to an address that was checked to be public:
//! [`FetchGateway`] resolves a name once and hands exactly these addresses to the client. A host
//! that the [`EgressPolicy`] does not allow is not even looked up. Every response is bounded in
//! size and time, also after decompression.
//!
//! The crate keeps no file: rates, budgets and `robots.txt` live in a [`FetchState`] that the
//! caller stores. Time and names come in through [`FetchClock`] and [`NameLookup`], so that tests
//! need no network and no waiting.

mod address;
mod body;
mod budget;
mod clock;
mod dial;
mod gateway;
mod media;
mod names;
mod policy;
mod refusal;
mod robots;
mod state;

pub use address::is_public_address;
pub use budget::{BudgetUse, FetchBudget};
pub use clock::{FetchClock, SystemFetchClock};
pub use dial::{DirectDialer, SocketDialer};
pub use gateway::{FetchAttempt, FetchGateway, FetchedPage};
pub use media::PageFormat;
pub use names::{NameLookup, SystemNameLookup};
pub use policy::{EgressPolicy, FetchUrl};
pub use refusal::FetchRefusal;
pub use robots::RobotsRules;
pub use state::{FetchState, HostState};
