//! Failover to a synchronous standby after the permanent loss of the server.

use ken_testkit::postgres::PostgresServer;

use crate::check::check_logs;
use crate::hubs::SupervisedHubs;
use crate::kills::{short_or_long, wait_for_progress, with_writers};
use crate::writers::PushRecord;

/// Events acknowledged before the server is lost, in a short and in a long run; as many follow
/// through the standby.
const EVENTS: (u64, u64) = (60, 2_000);

#[test]
fn a_promoted_synchronous_standby_has_everything_that_was_acknowledged() {
    let server = PostgresServer::own();
    let (hubs, tenant) = SupervisedHubs::begin(&server);
    let standby = server.standby();
    let log = PushRecord::default();
    with_writers(&hubs.addresses(), &tenant, &log, || {
        wait_for_progress(&log, short_or_long(EVENTS));
        server.kill();
        standby.promote();
        hubs.move_to(&standby);
        wait_for_progress(&log, short_or_long(EVENTS));
    });
    drop(server);
    check_logs(&standby, &hubs, &tenant, &log);
}
