//! Hubs and database killed while writers push.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ken_testkit::laws::is_long;
use ken_testkit::postgres::PostgresServer;

use crate::check::check_logs;
use crate::hubs::{PushTenant, SupervisedHubs};
use crate::writers::{PushRecord, PushWriter};

/// Number of kills in a short and in a long run.
const HUB_KILLS: (u32, u32) = (5, 100);
const SERVER_KILLS: (u32, u32) = (2, 20);
/// Concurrent writers, each writing to every workspace.
const WRITERS: u64 = 4;
/// Events that must be acknowledged between two kills; a kill without writes tests nothing.
const EVENTS_BETWEEN_KILLS: u64 = 12;
/// Maximum time for that many acknowledgements.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(90);

/// Returns the short or the long variant, depending on `KEN_LONG`.
pub(crate) fn short_or_long<T>((short, long): (T, T)) -> T {
    if is_long() { long } else { short }
}

/// Waits until the writers have `events` more events acknowledged.
pub(crate) fn wait_for_progress(log: &PushRecord, events: u64) {
    let (began, before) = (Instant::now(), log.acknowledged());
    while log.acknowledged() < before + events {
        assert!(
            began.elapsed() < PROGRESS_TIMEOUT,
            "nothing is acknowledged any more"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs writers while `disturb` runs; a writer that panics fails the test.
pub(crate) fn with_writers(
    hubs: &[SocketAddr],
    tenant: &PushTenant,
    log: &PushRecord,
    disturb: impl FnOnce(),
) {
    with_paced_writers(Duration::ZERO, hubs, tenant, log, disturb);
}

/// Like `with_writers`, with a pause between two pushes of a writer.
pub(crate) fn with_paced_writers(
    pace: Duration,
    hubs: &[SocketAddr],
    tenant: &PushTenant,
    log: &PushRecord,
    disturb: impl FnOnce(),
) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let begin = |n: u64| {
            let writer = PushWriter {
                hubs,
                token: &tenant.token,
                workspaces: &tenant.workspaces,
                log,
                pace,
                stop: &stop,
            };
            scope.spawn(move || writer.run(n + 1))
        };
        let writers: Vec<_> = (0..WRITERS).map(begin).collect();
        // The guard stops the writers even if `disturb` panics; otherwise the scope would never
        // end.
        let ending = StopWritersOnDrop(&stop);
        disturb();
        drop(ending);
        for writer in writers {
            writer.join().expect("a writer that got everything in");
        }
    });
}

/// Sets the stop flag when dropped.
struct StopWritersOnDrop<'a>(&'a AtomicBool);

impl Drop for StopWritersOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn nothing_acknowledged_is_lost_or_doubled_when_hubs_and_the_database_are_killed() {
    let server = PostgresServer::own();
    let (hubs, tenant) = SupervisedHubs::begin(&server);
    let log = PushRecord::default();
    let (hub_kills, server_kills) = (short_or_long(HUB_KILLS), short_or_long(SERVER_KILLS));
    let apart = hub_kills / server_kills;
    with_writers(&hubs.addresses(), &tenant, &log, || {
        let mut killed = 0;
        for kill in 0..hub_kills {
            wait_for_progress(&log, EVENTS_BETWEEN_KILLS);
            hubs.kill(kill as usize % 2);
            if kill % apart == apart - 1 && killed < server_kills {
                wait_for_progress(&log, EVENTS_BETWEEN_KILLS);
                server.kill();
                server.restart();
                killed += 1;
            }
        }
        assert_eq!(killed, server_kills);
        wait_for_progress(&log, EVENTS_BETWEEN_KILLS);
    });
    check_logs(&server, &hubs, &tenant, &log);
}
