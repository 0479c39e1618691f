//! The guard on this machine: what one user's goes by (`home`), and what a person may do about entries and their sources.
//!
//! The door itself is `ken_guard`'s, which a hub passes its writes through, too.

mod home;
mod rescan;
mod sources;

pub use home::GuardHome;
pub use ken_guard::{
    Axis, Guard, RULE_SET as RULES, Rescanned, ScanFinding, ScanStatus as Status, Scanned,
    Severity, TextMode as Mode, without_secrets,
};
pub use sources::Held;
