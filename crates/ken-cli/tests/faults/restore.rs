//! The restore drill of `docs/operations.md`: a backup is what was restored from it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ken_testkit::postgres::Postgres;

use crate::check::check;
use crate::hubs::{DATABASE, Hubs, ORGANISATION, Tenant, ken, state_hash};
use crate::kills::{progress, under_load};
use crate::writers::Log;

const EVENTS: u64 = 80;

/// Every workspace's events and state, as hashes.
fn fingerprints(server: &Postgres, tenant: &Tenant) -> BTreeMap<String, (String, String)> {
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

fn run(program: &Path, args: &[&str]) {
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
    let server = Postgres::own();
    let (hubs, tenant) = Hubs::begin(&server);
    let log = Log::default();
    under_load(&hubs.addresses(), &tenant, &log, || progress(&log, EVENTS));
    check(&server, &hubs, &tenant, &log);
    let before = fingerprints(&server, &tenant);
    let folder = tempfile::tempdir().unwrap();

    // A dump of the one database, into an empty server that has never seen a hub.
    let dump = folder.path().join("ken.dump");
    let dumped = dump.to_str().unwrap();
    run(
        &server.bin().join("pg_dump"),
        &["-Fc", "-f", dumped, "-d", &server.url(DATABASE)],
    );
    let fresh = Postgres::own();
    fresh.sql("postgres", "create role ken_app nologin");
    fresh.sql("postgres", &format!("create database {DATABASE}"));
    let to = fresh.url(DATABASE);
    run(
        &server.bin().join("pg_restore"),
        &["--exit-on-error", "-d", &to, dumped],
    );
    rebuilt(&fresh, &hubs, &tenant, &before);
    check(&fresh, &hubs, &tenant, &log);

    // A base backup of the whole server.
    let base = folder.path().join("base");
    let from = format!("{}?replication=1", server.url("postgres"));
    run(
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
    let fresh = Postgres::restored(&base);
    rebuilt(&fresh, &hubs, &tenant, &before);
    check(&fresh, &hubs, &tenant, &log);
}

/// Moves the hubs to a restored server, throws away what can be made again, makes it again and compares.
fn rebuilt(
    server: &Postgres,
    hubs: &Hubs,
    tenant: &Tenant,
    before: &BTreeMap<String, (String, String)>,
) {
    hubs.move_to(server);
    assert_eq!(&fingerprints(server, tenant), before, "as it was restored");
    for table in ["entries", "searchable", "workspace_states"] {
        server.sql(DATABASE, &format!("delete from ken.{table}"));
    }
    for workspace in &tenant.workspaces {
        ken(&[
            "hub",
            "--database",
            &server.url(DATABASE),
            "rebuild",
            ORGANISATION,
            workspace,
        ]);
    }
    assert_eq!(&fingerprints(server, tenant), before, "as it was rebuilt");
}
