//! Hubs and the database killed while writers write.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ken_testkit::laws::is_long;
use ken_testkit::postgres::Postgres;

use crate::check::check;
use crate::hubs::{Hubs, Tenant};
use crate::writers::{Log, Writer};

/// How often what is killed, in a short and in a long run.
const HUB_KILLS: (u32, u32) = (5, 100);
const SERVER_KILLS: (u32, u32) = (2, 20);
/// Writers at once, each in every workspace.
const WRITERS: u64 = 4;
/// Events that must be acknowledged between two kills: a kill while nobody writes shows nothing.
const BETWEEN: u64 = 12;
/// How long writers may take for that.
const PATIENCE: Duration = Duration::from_secs(90);

/// Returns what a run of this length has to do.
pub(crate) fn of_length<T>((short, long): (T, T)) -> T {
    if is_long() { long } else { short }
}

/// Waits until writers got some more events acknowledged.
pub(crate) fn progress(log: &Log, events: u64) {
    let (began, before) = (Instant::now(), log.acknowledged());
    while log.acknowledged() < before + events {
        assert!(
            began.elapsed() < PATIENCE,
            "nothing is acknowledged any more"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs writers while `disturb` does its worst; a writer that panics fails the test.
pub(crate) fn under_load(hubs: &[SocketAddr], tenant: &Tenant, log: &Log, disturb: impl FnOnce()) {
    paced(Duration::ZERO, hubs, tenant, log, disturb);
}

/// The same, with writers that rest between two pushes.
pub(crate) fn paced(
    pace: Duration,
    hubs: &[SocketAddr],
    tenant: &Tenant,
    log: &Log,
    disturb: impl FnOnce(),
) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let begin = |n: u64| {
            let writer = Writer {
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
        // Whatever happens, the writers end, or the scope would wait for them for ever.
        let ending = Ending(&stop);
        disturb();
        drop(ending);
        for writer in writers {
            writer.join().expect("a writer that got everything in");
        }
    });
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn nothing_acknowledged_is_lost_or_doubled_when_hubs_and_the_database_are_killed() {
    let server = Postgres::own();
    let (hubs, tenant) = Hubs::begin(&server);
    let log = Log::default();
    let (hub_kills, server_kills) = (of_length(HUB_KILLS), of_length(SERVER_KILLS));
    let apart = hub_kills / server_kills;
    under_load(&hubs.addresses(), &tenant, &log, || {
        let mut killed = 0;
        for kill in 0..hub_kills {
            progress(&log, BETWEEN);
            hubs.kill(kill as usize % 2);
            if kill % apart == apart - 1 && killed < server_kills {
                progress(&log, BETWEEN);
                server.kill();
                server.restart();
                killed += 1;
            }
        }
        assert_eq!(killed, server_kills);
        progress(&log, BETWEEN);
    });
    check(&server, &hubs, &tenant, &log);
}
