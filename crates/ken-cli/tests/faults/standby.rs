//! The server lost for good, a synchronous standby in its place.

use ken_testkit::postgres::Postgres;

use crate::check::check;
use crate::hubs::Hubs;
use crate::kills::{of_length, progress, under_load};
use crate::writers::Log;

/// Events acknowledged before the server is lost, and through the standby afterwards.
const EVENTS: (u64, u64) = (60, 2_000);

#[test]
fn a_promoted_synchronous_standby_has_everything_that_was_acknowledged() {
    let server = Postgres::own();
    let (hubs, tenant) = Hubs::begin(&server);
    let standby = server.standby();
    let log = Log::default();
    under_load(&hubs.addresses(), &tenant, &log, || {
        progress(&log, of_length(EVENTS));
        server.kill();
        standby.promote();
        hubs.move_to(&standby);
        progress(&log, of_length(EVENTS));
    });
    drop(server);
    check(&standby, &hubs, &tenant, &log);
}
