//! A rolling upgrade: hubs of two versions serve one database while clients push.

use std::path::PathBuf;

use ken_testkit::laws::older_program;
use ken_testkit::postgres::PostgresServer;

use crate::check::check_logs;
use crate::hubs::{DATABASE, KEN, SupervisedHubs, run_ken};
use crate::kills::{wait_for_progress, with_writers};
use crate::writers::PushRecord;

/// Events that must be acknowledged at each stage of the upgrade.
const EVENTS_PER_STAGE: u64 = 60;

/// The schema of a later version, as its migration leaves it. Without a program of another version
/// to run, this one stands for the older one.
const NEWER_SCHEMA: &str = "INSERT INTO ken.migrations VALUES (9999, '9999_future', 'x', 0);
    CREATE TABLE ken.future (id bigint)";

/// With a program of the version before (`KEN_TEST_OLDER`), hubs of both versions run. Otherwise
/// hubs are restarted on a newer schema.
#[test]
fn hubs_are_replaced_one_after_the_other_under_load_and_nothing_is_lost() {
    let server = PostgresServer::own();
    let older = older_program();
    let first = older.clone().unwrap_or_else(|| PathBuf::from(KEN));
    let (hubs, tenant) = SupervisedHubs::begin_with(&first, &server);
    let log = PushRecord::default();
    with_writers(&hubs.addresses(), &tenant, &log, || {
        wait_for_progress(&log, EVENTS_PER_STAGE);
        // Both hubs keep serving while the schema changes, and afterwards.
        if older.is_some() {
            run_ken(&["hub", "--database", &server.url(DATABASE), "migrate"]);
        } else {
            server.sql(DATABASE, NEWER_SCHEMA);
        }
        wait_for_progress(&log, EVENTS_PER_STAGE);
        // Two versions at once.
        hubs.replace(0, KEN.as_ref());
        wait_for_progress(&log, EVENTS_PER_STAGE);
        hubs.replace(1, KEN.as_ref());
        wait_for_progress(&log, EVENTS_PER_STAGE);
    });
    check_logs(&server, &hubs, &tenant, &log);
}
