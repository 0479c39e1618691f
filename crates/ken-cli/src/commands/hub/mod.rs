//! `ken hub`: looks after a hub's database.

#[cfg(feature = "hub")]
mod administer;
#[cfg(feature = "hub")]
mod told;

use super::Session;
use crate::args::HubArgs;
use crate::failure::{Exit, Failure};

#[cfg(feature = "hub")]
pub(super) fn run(session: &mut Session<'_>, args: &HubArgs) -> Result<Exit, Failure> {
    administer::run(session, args)
}

#[cfg(not(feature = "hub"))]
pub(super) fn run(_session: &mut Session<'_>, _args: &HubArgs) -> Result<Exit, Failure> {
    Err(Failure::usage("this ken was built without a hub")
        .with_hint("releases have it; build with the feature `hub`"))
}

#[cfg(feature = "hub")]
pub(super) use administer::{database, failed, hinted};
