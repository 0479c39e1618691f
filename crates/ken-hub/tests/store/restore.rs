//! Restored backups: tokens that were revoked after the backup stay refused.

use std::path::Path;
use std::process::Command;

use ken_core::values::time::Timestamp;
use ken_hub::clock::HubClock;
use ken_hub::database::audit::AuditActor;
use ken_hub::database::{DatabaseSettings, HubDatabase, InstanceCheck, SILENCE_MAX};
use ken_hub::identity::TokenSecret;
use ken_hub::identity::tokens::{self, TokenSpec};
use ken_hub::ids::{OrganizationId, Role};
use ken_testkit::postgres::PostgresServer;
use tokio::runtime::Runtime;

const DATABASE: &str = "hub";

/// A hub's database, with an organization and a clock of its own.
struct RestoreEnvironment {
    runtime: Runtime,
    hub: HubDatabase,
    organization: OrganizationId,
}

impl RestoreEnvironment {
    /// Migrates a new database on a server and starts a hub on it.
    fn begin(server: &PostgresServer) -> Self {
        let runtime = Runtime::new().unwrap();
        server.sql("postgres", &format!("create database {DATABASE}"));
        let url = server.url(DATABASE);
        let (hub, organization) = runtime.block_on(async {
            HubDatabase::migrate(&url).await.unwrap();
            let hub = connect(&url).await;
            hub.note_alive(InstanceCheck::Start).await.unwrap();
            let name = "acme".parse().unwrap();
            let made = hub.create_organization(&name).await.unwrap();
            (hub, made.unwrap())
        });
        Self {
            runtime,
            hub,
            organization,
        }
    }

    /// Starts a hub on a copy of the database, some time later.
    fn start_on(&self, server: &PostgresServer, later: u64) -> HubDatabase {
        let now = self.hub.clock().now().plus_millis(later);
        self.runtime.block_on(async {
            let hub = connect(&server.url(DATABASE)).await;
            let hub = hub.with_clock(HubClock::fixed_at(now));
            hub.note_alive(InstanceCheck::Start).await.unwrap();
            hub
        })
    }

    fn issue(&self, hub: &HubDatabase) -> TokenSecret {
        let spec = TokenSpec {
            name: Some("test".to_owned()),
            role: Role::Agent,
            actor: None,
            workspaces: None,
            workspace_roles: Vec::new(),
            days: 9,
        };
        self.runtime.block_on(async {
            let mut tx = hub.begin_organization(self.organization).await.unwrap();
            let (_, secret) = tokens::issue(&mut tx, spec, 100).await.unwrap();
            tx.commit().await.unwrap();
            secret
        })
    }

    fn revoke_all(&self, server: &PostgresServer) {
        server.sql(DATABASE, "update ken.tokens set revoked_at = 1");
    }

    fn is_valid(&self, hub: &HubDatabase, secret: &TokenSecret) -> bool {
        let now = hub.clock().now();
        let found = tokens::authenticate_secret(hub, secret, now);
        self.runtime.block_on(found).unwrap().is_some()
    }

    fn accept(&self, hub: &HubDatabase, keeps_tokens: bool) {
        self.runtime
            .block_on(hub.accept_restore(AuditActor::Operator(None), keeps_tokens))
            .map(|is_accepted| assert!(is_accepted))
            .unwrap();
    }

    fn restored_at(&self, hub: &HubDatabase, check: InstanceCheck) -> Option<Timestamp> {
        let state = self.runtime.block_on(hub.note_alive(check));
        state.unwrap().restored_at
    }
}

async fn connect(url: &str) -> HubDatabase {
    HubDatabase::connect(&DatabaseSettings::new(url))
        .await
        .unwrap()
}

fn run_program(program: &Path, args: &[&str]) {
    let done = Command::new(program).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{args:?}: {said}");
}

fn silence_ms() -> u64 {
    u64::try_from(SILENCE_MAX.as_millis()).unwrap()
}

#[test]
fn a_restored_dump_revives_no_token_until_the_operator_accepts_it() {
    let server = PostgresServer::own();
    let world = RestoreEnvironment::begin(&server);
    let old = world.issue(&world.hub);
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("ken.dump");
    let dump = dump.to_str().unwrap();
    let args = ["-Fc", "-f", dump, "-d", &server.url(DATABASE)];
    run_program(&server.bin().join("pg_dump"), &args);
    world.revoke_all(&server);
    assert!(!world.is_valid(&world.hub, &old));

    let restore = || {
        let fresh = PostgresServer::own();
        fresh.sql("postgres", "create role ken_app nologin");
        fresh.sql("postgres", &format!("create database {DATABASE}"));
        let args = ["--exit-on-error", "-d", &fresh.url(DATABASE), dump];
        run_program(&server.bin().join("pg_restore"), &args);
        fresh
    };
    let fresh = restore();
    let hub = world.start_on(&fresh, 1_000);
    assert!(!world.is_valid(&hub, &old), "the backup revived it");
    let new = world.issue(&hub);
    assert!(world.is_valid(&hub, &new), "a new token is valid at once");
    world.accept(&hub, false);
    assert!(!world.is_valid(&hub, &old) && world.is_valid(&hub, &new));
    // Accepted once: the next start finds nothing new.
    let hub = world.start_on(&fresh, 2_000);
    assert_eq!(world.restored_at(&hub, InstanceCheck::Start), None);
    assert!(!world.is_valid(&hub, &old) && world.is_valid(&hub, &new));

    // An operator who knows that nothing was revoked since may keep the tokens.
    let moved = restore();
    let hub = world.start_on(&moved, 1_000);
    assert!(!world.is_valid(&hub, &old));
    world.accept(&hub, true);
    assert!(world.is_valid(&hub, &old));
}

#[test]
fn a_restored_base_backup_revives_no_token_and_a_crash_ends_none() {
    let server = PostgresServer::own();
    let world = RestoreEnvironment::begin(&server);
    let old = world.issue(&world.hub);
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base");
    let from = format!("{}?replication=1", server.url("postgres"));
    let to = base.to_str().unwrap();
    let args = ["-D", to, "-X", "stream", "-c", "fast", "-d", &from];
    run_program(&server.bin().join("pg_basebackup"), &args);
    // A hub that is back soon after a crash finds its tokens valid.
    let hub = world.start_on(&server, silence_ms() / 2);
    assert!(world.is_valid(&hub, &old));
    world.revoke_all(&server);
    let fresh = PostgresServer::restored(&base);
    let hub = world.start_on(&fresh, silence_ms() + 1_000);
    assert!(!world.is_valid(&hub, &old), "the backup revived it");
}

#[test]
fn a_running_hub_notices_an_older_database_and_a_pause_in_order_is_none() {
    let server = PostgresServer::own();
    let world = RestoreEnvironment::begin(&server);
    let old = world.issue(&world.hub);
    let noted = world.runtime.block_on(async {
        world.hub.note_stopped().await.unwrap();
        let later = world.hub.clock().now().plus_millis(10 * silence_ms());
        let hub = connect(&server.url(DATABASE)).await;
        let hub = hub.with_clock(HubClock::fixed_at(later));
        let noted = hub.note_alive(InstanceCheck::Start).await.unwrap();
        assert_eq!(noted.restored_at, None, "the last hub ended in order");
        // However long the database was away, its own note is the latest one.
        let again = InstanceCheck::Running(noted.alive_at);
        assert_eq!(hub.note_alive(again).await.unwrap().restored_at, None);
        noted
    });
    server.sql(
        DATABASE,
        "update ken.instance set alive_at = alive_at - 60000",
    );
    let check = InstanceCheck::Running(noted.alive_at);
    assert!(world.restored_at(&world.hub, check).is_some());
    assert!(!world.is_valid(&world.hub, &old));
}

#[test]
fn a_clock_that_is_ahead_shuts_nobody_out_for_longer_than_until_the_operator_accepts() {
    let server = PostgresServer::own();
    let world = RestoreEnvironment::begin(&server);
    let old = world.issue(&world.hub);
    // A command on such a machine changes nothing; a hub there takes the silence for a restore.
    let ahead = world.hub.clone().with_clock(HubClock::fixed_at(
        world.hub.clock().now().plus_millis(40 * silence_ms()),
    ));
    assert_eq!(world.restored_at(&ahead, InstanceCheck::Command), None);
    assert!(world.is_valid(&world.hub, &old));
    assert!(world.restored_at(&ahead, InstanceCheck::Start).is_some());
    assert!(!world.is_valid(&world.hub, &old));
    world.accept(&world.hub, false);
    let new = world.issue(&world.hub);
    assert!(world.is_valid(&world.hub, &new), "not only in the future");
    assert!(!world.is_valid(&world.hub, &old));
}

#[test]
fn accepting_a_restore_on_a_hub_in_use_ends_no_token() {
    let server = PostgresServer::own();
    let world = RestoreEnvironment::begin(&server);
    let token = world.issue(&world.hub);
    let accepting = world.hub.accept_restore(AuditActor::Operator(None), false);
    assert!(!world.runtime.block_on(accepting).unwrap());
    assert!(world.is_valid(&world.hub, &token));
}
