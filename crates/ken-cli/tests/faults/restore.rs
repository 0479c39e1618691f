//! The restore drill of `docs/guides/operate-a-hub.md`: a restored backup equals the original.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ken_testkit::postgres::PostgresServer;

use crate::check::check_logs;
use crate::hubs::{DATABASE, ORGANIZATION, PushTenant, SupervisedHubs, run_ken, state_hash};
use crate::kills::{wait_for_progress, with_writers};
use crate::writers::PushRecord;

const EVENTS: u64 = 80;

/// Returns hashes of every workspace's events and state.
fn workspace_hashes(
    server: &PostgresServer,
    tenant: &PushTenant,
) -> BTreeMap<String, (String, String)> {
    let of = |workspace: &String| {
        let lines = server.sql(
            DATABASE,
            &format!(
                "select md5(string_agg(e.seq || e.line, E'\\n' order by e.seq)) from ken.events e \
                 join ken.workspaces w on w.id = e.workspace_id where w.name = '{workspace}'"
            ),
        );
        (workspace.clone(), (lines, state_hash(server, workspace)))
    };
    tenant.workspaces.iter().map(of).collect()
}

fn run_program(program: &Path, args: &[&str]) {
    let done = Command::new(program).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "{} {args:?}: {said}",
        program.display()
    );
}

#[test]
fn a_hub_restored_from_a_dump_or_a_base_backup_and_rebuilt_is_the_same() {
    let server = PostgresServer::own();
    let (hubs, tenant) = SupervisedHubs::begin(&server);
    let log = PushRecord::default();
    with_writers(&hubs.addresses(), &tenant, &log, || {
        wait_for_progress(&log, EVENTS);
    });
    check_logs(&server, &hubs, &tenant, &log);
    let before = workspace_hashes(&server, &tenant);
    let folder = tempfile::tempdir().unwrap();

    // A dump of the one database, restored into an empty server that never ran a hub.
    let dump = folder.path().join("ken.dump");
    let dumped = dump.to_str().unwrap();
    run_program(
        &server.bin().join("pg_dump"),
        &["-Fc", "-f", dumped, "-d", &server.url(DATABASE)],
    );
    let fresh = PostgresServer::own();
    fresh.sql("postgres", "create role ken_app nologin");
    fresh.sql("postgres", &format!("create database {DATABASE}"));
    let to = fresh.url(DATABASE);
    run_program(
        &server.bin().join("pg_restore"),
        &["--exit-on-error", "-d", &to, dumped],
    );
    check_restored(&fresh, &hubs, &tenant, &before);
    check_logs(&fresh, &hubs, &tenant, &log);

    // A base backup of the whole server.
    let base = folder.path().join("base");
    let from = format!("{}?replication=1", server.url("postgres"));
    run_program(
        &server.bin().join("pg_basebackup"),
        &[
            "-D",
            base.to_str().unwrap(),
            "-X",
            "stream",
            "-c",
            "fast",
            "-d",
            &from,
        ],
    );
    let fresh = PostgresServer::restored(&base);
    check_restored(&fresh, &hubs, &tenant, &before);
    check_logs(&fresh, &hubs, &tenant, &log);
}

/// Moves the hubs to a restored server, deletes all projections, rebuilds them and compares.
fn check_restored(
    server: &PostgresServer,
    hubs: &SupervisedHubs,
    tenant: &PushTenant,
    before: &BTreeMap<String, (String, String)>,
) {
    hubs.move_to(server);
    let url = server.url(DATABASE);
    // The hubs refuse the tokens of a restored database until an operator accepts it.
    run_ken(&["hub", "--database", &url, "accept-restore", "--keep-tokens"]);
    assert_eq!(
        &workspace_hashes(server, tenant),
        before,
        "as it was restored"
    );
    for table in ["entries", "searchable", "workspace_states"] {
        server.sql(DATABASE, &format!("delete from ken.{table}"));
    }
    for workspace in &tenant.workspaces {
        run_ken(&[
            "hub",
            "--database",
            &url,
            "rebuild",
            ORGANIZATION,
            workspace,
        ]);
    }
    assert_eq!(
        &workspace_hashes(server, tenant),
        before,
        "as it was rebuilt"
    );
}
