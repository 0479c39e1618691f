//! Guard on this machine: the user's configuration (`user_config`), revocation and quarantine.
//!
//! The admission check itself is in `ken_guard`, because a hub uses it for its writes too.

pub(crate) mod rescan;
pub(crate) mod sources;
mod user_config;

pub use ken_guard::{
    FindingSeverity, Guard, RULE_SET as RULES, RescanFinding, ScanAxis, ScanFinding,
    ScanLevel as Status, ScanReport, TextMode as Mode, without_secrets,
};
pub use sources::QuarantinedEntry;
pub use user_config::GuardHome;
