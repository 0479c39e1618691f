//! `cargo ken-bench hub --attacks`: the view of another tenant and of the probes while one tenant
//! attacks.
//!
//! Each attack runs at full strength, bounded in connections and time, against a hub in this
//! process with the limits it ships with. The other tenant's searches are measured right before
//! each attack and during it.

use std::net::SocketAddr;
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ken_hub::config::ServeSettings;
use ken_hub::database::HubName;
use ken_hub::identity::tokens::{self, TokenSpec};
use ken_hub::ids::{OrganizationId, Role, WorkspaceId};
use ken_hub::server;
use ken_testkit::attacks::{AttackCounts, AttackTarget, HubAttack, TenantView, WatchedTenant};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::super::fixture::said;
use super::super::report::{Report, Verdict, shown};
use super::append::{BATCH, progress};
use super::world::{World, append};

/// Entries of the workspace that is attacked, and of the other tenant's.
const ATTACKED_ENTRIES: usize = 12_000;
const OTHER_ENTRIES: usize = 1_000;

/// Searches of the other tenant, in turn.
const QUERIES: usize = 50;

/// Words of a long search.
const WORDS: usize = 2_500;

/// Bytes of a long search, as many as a query may have.
const WORDS_BYTES: usize = 16_000;

/// Duration of a measurement without and with an attack, and the pause after it, in which the
/// attacked limits recover.
const LASTS: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(3);

/// Bars: the other tenant's p95 under attack to that without, and the time of a probe.
const RATIO_MAX: f64 = 2.0;
const PROBE_MAX: Duration = Duration::from_millis(100);

/// A hub in this process, and the address of its probes.
struct AttackedHub {
    hub: SocketAddr,
    probes: SocketAddr,
    shutdown: CancellationToken,
    runtime: tokio::runtime::Runtime,
}

/// Runs every attack. `part` divides the connections; 1 is full strength.
pub(crate) fn run(part: usize, report: &mut Report) -> Result<(), String> {
    let preparing = tokio::runtime::Runtime::new().map_err(said("cannot begin a runtime"))?;
    let mut world = preparing.block_on(World::begin())?;
    let (target, mut watched) = preparing.block_on(prepare(&mut world, part))?;
    let attacked = AttackedHub::begin(&world.url())?;
    let target = AttackTarget {
        hub: attacked.hub,
        ..target
    };
    (watched.hub, watched.probes) = (attacked.hub, attacked.probes);
    // Warms caches and prepared statements.
    let _ = watched.watch(LASTS / 5);
    for attack in HubAttack::ALL {
        let before = watched.watch(LASTS);
        let stop = Arc::new(AtomicBool::new(false));
        let (during, counts) = std::thread::scope(|scope| {
            let attacking = scope.spawn(|| attack.run(&target, part, &stop));
            let during = watched.watch(LASTS);
            stop.store(true, Ordering::Relaxed);
            (during, attacking.join().unwrap_or_default())
        });
        tell(report, attack, &before, &during, &counts);
        std::thread::sleep(PAUSE);
    }
    report.note(format!(
        "The attacked workspace has {ATTACKED_ENTRIES} entries, the other tenant's {OTHER_ENTRIES}. The other tenant searches \
         at most 100 times per second on one connection, {} s before and {} s during each attack; probes ask `/readyz` of the probe \
         listener on a new connection every 20 ms. Attacker, tenant, hub and server share the processor. The attacker's \
         responses are counted by status; 0 is a connection without one.",
        LASTS.as_secs(),
        LASTS.as_secs()
    ));
    attacked.end();
    Ok(())
}

fn tell(
    report: &mut Report,
    attack: HubAttack,
    before: &TenantView,
    during: &TenantView,
    counts: &AttackCounts,
) {
    let (calm, attacked) = (before.search_p95(), during.search_p95());
    let ratio = attacked.as_secs_f64() / calm.as_secs_f64();
    let is_fine = ratio <= RATIO_MAX && during.failed_searches == 0;
    let (probe, longest) = during.probe_times();
    let is_ready = longest <= PROBE_MAX && during.failed_probes == 0;
    let name = attack.name();
    report.push(
        format!("{name}: another tenant's search, p95 before, during"),
        format!("{}, {}", shown(calm), shown(attacked)),
        format!("{ratio:.2} ×"),
        Verdict::of(is_fine, format!("<= {RATIO_MAX} ×")),
    );
    report.push(
        format!("{name}: `/readyz`, p95, longest"),
        format!("{}, {}", shown(probe), shown(longest)),
        "",
        Verdict::of(is_ready, format!("<= {}", shown(PROBE_MAX))),
    );
    let seen: Vec<String> = counts
        .iter()
        .map(|(status, count)| format!("{count} × {status}"))
        .collect();
    report.note(format!("{name}: the attacker got {}.", seen.join(", ")));
}

/// Makes both tenants and their entries.
async fn prepare(world: &mut World, part: usize) -> Result<(AttackTarget, WatchedTenant), String> {
    let attacked = world.add_workspaces(1).await?;
    let attacked = *attacked.first().ok_or("no workspace")?;
    let words = fill(world, world.organization, attacked, ATTACKED_ENTRIES / part).await?;
    let name = HubName::from_str("other").map_err(said("no name"))?;
    let other = world.hub.create_organization(&name).await;
    let other = other.map_err(said("cannot make an organization"))?;
    let other = other.ok_or("there is one already")?;
    let mut tx = world
        .hub
        .begin_organization(other)
        .await
        .map_err(said("cannot enter the organization"))?;
    let made = tx.create_workspace(&name).await;
    let workspace = made.map_err(said("cannot make a workspace"))?;
    let workspace = workspace.ok_or("there is one already")?;
    tx.commit().await.map_err(said("cannot commit"))?;
    let questions = fill(world, other, workspace, OTHER_ENTRIES).await?;
    let body = |query: &String| serde_json::json!({ "query": query }).to_string();
    let watched = WatchedTenant {
        hub: SocketAddr::from(([127, 0, 0, 1], 0)),
        probes: SocketAddr::from(([127, 0, 0, 1], 0)),
        token: token(world, other, Role::Reader).await?,
        path: format!("/v1/workspaces/{}/search", workspace.0),
        bodies: questions.iter().take(QUERIES).map(body).collect(),
    };
    let target = AttackTarget {
        hub: watched.hub,
        token: token(world, world.organization, Role::Agent).await?,
        workspace: format!("/v1/workspaces/{}", attacked.0),
        words: long_query(&words),
    };
    Ok((target, watched))
}

/// Returns thousands of distinct words that occur in the workspace, as far as there are so many.
fn long_query(questions: &[String]) -> String {
    let words = questions.iter().flat_map(|it| it.split_whitespace());
    let words: std::collections::BTreeSet<&str> = words.collect();
    let made = (0..WORDS).map(|n| format!("w{n}"));
    let mut query = String::new();
    for word in words.into_iter().map(str::to_owned).chain(made).take(WORDS) {
        if query.len() + word.len() + 1 > WORDS_BYTES {
            break;
        }
        query.push_str(&word);
        query.push(' ');
    }
    query
}

/// Appends lessons and returns questions that they answer.
async fn fill(
    world: &mut World,
    organization: OrganizationId,
    workspace: WorkspaceId,
    count: usize,
) -> Result<Vec<String>, String> {
    let mut questions = Vec::new();
    let mut left = count;
    while left > 0 {
        let (lessons, asked) = world.lessons(BATCH.min(left));
        left -= lessons.len();
        questions.extend(asked);
        append(&world.hub, organization, workspace, lessons).await?;
        progress("entries", count - left, count)?;
    }
    Ok(questions)
}

async fn token(world: &World, organization: OrganizationId, role: Role) -> Result<String, String> {
    let spec = TokenSpec {
        name: Some("bench".to_owned()),
        role,
        actor: None,
        workspaces: None,
        workspace_roles: Vec::new(),
        days: 1,
    };
    let tx = world.hub.begin_organization(organization).await;
    let mut tx = tx.map_err(said("cannot enter the organization"))?;
    let issued = tokens::issue(&mut tx, spec, 100).await;
    let (_, secret) = issued.map_err(said("cannot issue a token"))?;
    tx.commit().await.map_err(said("cannot commit"))?;
    Ok(secret.reveal().to_owned())
}

impl AttackedHub {
    fn begin(url: &str) -> Result<Self, String> {
        let runtime = tokio::runtime::Runtime::new().map_err(said("cannot begin a runtime"))?;
        let free = std::net::TcpListener::bind("127.0.0.1:0").map_err(said("no port"))?;
        let probes = free.local_addr().map_err(said("no port"))?;
        drop(free);
        let mut settings = ServeSettings::new(url.to_owned());
        settings.metrics = Some(probes);
        let shutdown = CancellationToken::new();
        let (app, listener) = runtime.block_on(async {
            let app = server::open(settings)
                .await
                .map_err(said("cannot open the hub"))?;
            let listener = TcpListener::bind("127.0.0.1:0").await;
            Ok::<_, String>((app, listener.map_err(said("no port"))?))
        })?;
        let hub = listener.local_addr().map_err(said("no port"))?;
        runtime.spawn(server::serve(app, listener, shutdown.clone()));
        Ok(Self {
            hub,
            probes,
            shutdown,
            runtime,
        })
    }

    fn end(self) {
        self.shutdown.cancel();
        self.runtime.shutdown_timeout(PAUSE);
    }
}
