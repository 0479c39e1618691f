//! The chain of the audit log: digests, gapless numbers, and what a superuser of the database does
//! to its rows.

use base64::Engine as _;
use ken_hub::config::{AuditPublicKey, AuditSigningKey};
use ken_hub::database::audit::{AuditAction, AuditActor};
use ken_hub::database::audit_chain::ChainProblemKind;
use ken_hub::database::audit_checkpoints::{AuditCheckpoint, AuditVerification};
use ken_hub::database::{HubDatabase, MIGRATIONS};
use ken_testkit::postgres::PostgresServer;
use ring::signature::Ed25519KeyPair;

use crate::environment::{BlockingWorkspace, StoreTestEnvironment};

/// Statements of a superuser who switches the triggers off.
fn tamper(world: &StoreTestEnvironment, sql: &str) {
    let sql = format!("SET session_replication_role = replica; {sql}");
    world.bare.sql(&sql);
}

fn signing_key() -> AuditSigningKey {
    let random = ring::rand::SystemRandom::new();
    let der = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let body = base64::engine::general_purpose::STANDARD.encode(der);
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    AuditSigningKey::from_pem(&pem).unwrap()
}

/// Adds records about a workspace.
fn add_records(world: &StoreTestEnvironment, workspace: &BlockingWorkspace, subjects: &[&str]) {
    for subject in subjects {
        world.runtime.block_on(async {
            let mut tx = workspace.tenant().await;
            let act = AuditAction::WorkspaceEvicted;
            tx.audit(AuditActor::Hub, act, subject).await.unwrap();
            tx.commit().await.unwrap();
        });
    }
}

fn verify(
    world: &StoreTestEnvironment,
    key: Option<&AuditPublicKey>,
    copies: &[AuditCheckpoint],
) -> AuditVerification {
    world.runtime.block_on(async {
        let begun = world.database.begin_organization(world.organization);
        begun
            .await
            .unwrap()
            .verify_audit(key, copies)
            .await
            .unwrap()
    })
}

fn sign(world: &StoreTestEnvironment, key: &AuditSigningKey) -> Option<AuditCheckpoint> {
    world.runtime.block_on(async {
        let begun = world.database.begin_organization(world.organization);
        let mut tx = begun.await.unwrap();
        let signed = tx.sign_audit_checkpoint(key).await.unwrap();
        tx.commit().await.unwrap();
        signed
    })
}

fn kinds(verified: &AuditVerification) -> Vec<(ChainProblemKind, u64)> {
    let problems = verified.problems.iter();
    problems.map(|it| (it.kind, it.number)).collect()
}

#[test]
fn every_text_has_the_digest_that_the_database_computed() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let control: String = (1..=31).map(char::from).collect();
    let subjects = [
        "plain",
        "\"quoted\" \\ / back",
        control.as_str(),
        "\u{7f}\u{80}\u{2028} é 鍵 🔑",
        "",
    ];
    add_records(&world, &workspace, &subjects);
    let (_, proposal) = ken_testkit::build::EventWriter::new(1).propose("Charge only once");
    world.runtime.block_on(async {
        let mut tx = workspace.tenant().await;
        let audited = ken_hub::database::audit::AuditedEvents::of([&proposal.event]);
        let record = ken_hub::database::audit::NewAuditRecord::new(
            AuditActor::Operator(None),
            AuditAction::EventsPushed,
            &audited,
        );
        tx.add_audit_record(record.with_events(audited))
            .await
            .unwrap();
        tx.commit().await.unwrap();
    });
    let verified = verify(&world, None, &[]);
    assert_eq!(verified.problems, []);
    assert_eq!((verified.records, verified.chains), (6, 2));
    assert!(!verified.is_signed);
}

#[test]
fn numbers_have_no_gaps_when_many_write_at_once_and_some_give_up() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let workspace = workspace.clone();
            world.runtime.spawn(async move {
                for at in 0..10 {
                    let mut tx = workspace.tenant().await;
                    let act = AuditAction::WorkspaceEvicted;
                    tx.audit(AuditActor::Hub, act, format!("{writer} {at}"))
                        .await
                        .unwrap();
                    if at % 3 == 0 {
                        tx.rollback().await.unwrap();
                    } else {
                        tx.commit().await.unwrap();
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        world.runtime.block_on(writer).unwrap();
    }
    let id = workspace.workspace.0;
    let numbers = format!(
        "select min(number), max(number), count(*) from ken.audit_links where workspace_id = '{id}'"
    );
    assert_eq!(world.bare.sql(&numbers).trim(), "1|48|48");
    assert_eq!(verify(&world, None, &[]).problems, []);
}

#[test]
fn rows_that_a_superuser_removed_altered_or_reordered_are_found() {
    use ChainProblemKind::{Altered, Gap, RecordRemoved, Unlinked};
    for (change, expected) in [
        (
            "delete from ken.audit a using ken.audit_links l where l.record = a.id and l.number = 2",
            vec![(RecordRemoved, 2)],
        ),
        (
            "update ken.audit a set by = 'human:eve' from ken.audit_links l where l.record = a.id and l.number = 3",
            vec![(Altered, 3)],
        ),
        (
            "update ken.audit a set at = at + 1 from ken.audit_links l where l.record = a.id and l.number = 1",
            vec![(Altered, 1)],
        ),
        (
            "update ken.audit a set outcome = null from ken.audit_links l where l.record = a.id and l.number = 1",
            vec![(Altered, 1)],
        ),
        // Two records change places: each is altered where it stands.
        (
            "update ken.audit_links l set record = o.record from ken.audit_links o
             where l.number in (2, 3) and o.number = 5 - l.number and o.workspace_id = l.workspace_id",
            vec![(Altered, 2), (Altered, 3)],
        ),
        // The digest after a forged one does not follow from it.
        (
            "update ken.audit_links set digest = sha256('x') where number = 2",
            vec![(Altered, 2), (Altered, 3)],
        ),
        (
            "delete from ken.audit_links where number = 2",
            vec![(Gap, 2), (Unlinked, 1)],
        ),
        (
            "with gone as (delete from ken.audit_links where number = 1 returning record)
             delete from ken.audit a using gone where a.id = gone.record",
            vec![(Gap, 1)],
        ),
        (
            "insert into ken.audit (workspace_id, id, at, by, role, act, subject)
             select workspace_id, gen_random_uuid(), 1, 'human:eve', 'admin', 'x', 'y' from ken.audit_links limit 1",
            vec![(Unlinked, 1)],
        ),
    ] {
        let world = StoreTestEnvironment::new();
        let workspace = world.workspace("w");
        add_records(&world, &workspace, &["a", "b", "c", "d"]);
        assert_eq!(verify(&world, None, &[]).problems, []);
        tamper(&world, change);
        assert_eq!(kinds(&verify(&world, None, &[])), expected, "{change}");
    }
}

#[test]
fn a_forged_number_does_not_keep_the_verification_busy() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    add_records(&world, &workspace, &["a", "b", "c"]);
    let far = "update ken.audit_links set number = 9000000000000000000 where number = 3";
    tamper(&world, far);
    let verified = verify(&world, None, &[]);
    assert!(verified.problem_count > 8_000_000_000_000_000_000);
    assert!(verified.problems.len() <= 100, "{:?}", verified.problems);
}

/// Deletes the last record and its link, which leaves a chain that fits itself.
const CUT_TAIL: &str =
    "with gone as (delete from ken.audit_links where number = 4 returning record)
     delete from ken.audit a using gone where a.id = gone.record";

/// Computes a chain of altered records anew.
const REWRITE: &str = "update ken.audit set by = 'human:eve';
     do $$ declare r record; before bytea := decode(repeat('00', 32), 'hex'); begin
         for r in select l.workspace_id, l.number, a as audit from ken.audit_links l
             join ken.audit a on a.workspace_id = l.workspace_id and a.id = l.record order by l.number
         loop
             before := ken.audit_digest(before, r.number, r.audit);
             update ken.audit_links set digest = before where workspace_id = r.workspace_id and number = r.number;
         end loop;
     end $$";

#[test]
fn a_chain_that_was_cut_or_computed_anew_differs_from_its_checkpoint() {
    use ChainProblemKind::{CheckpointInvalid, CheckpointMismatch, CheckpointMissing};
    let key = signing_key();
    let public = key.public_key();
    let forget = "delete from ken.audit_checkpoints";
    let forge = "update ken.audit_checkpoints set body = replace(body, 'ken.audit', 'ken.Audit')";
    for (change, with_copies, expected) in [
        (CUT_TAIL.to_owned(), false, vec![(CheckpointMismatch, 1)]),
        (REWRITE.to_owned(), false, vec![(CheckpointMismatch, 1)]),
        (forge.to_owned(), false, vec![(CheckpointInvalid, 1)]),
        // Whoever also deletes the checkpoint is found by a copy of it.
        (format!("{REWRITE}; {forget}"), false, vec![]),
        (
            format!("{REWRITE}; {forget}"),
            true,
            vec![(CheckpointMismatch, 1), (CheckpointMissing, 1)],
        ),
    ] {
        let world = StoreTestEnvironment::new();
        let workspace = world.workspace("w");
        add_records(&world, &workspace, &["a", "b", "c", "d"]);
        let signed = sign(&world, &key).unwrap();
        assert_eq!(sign(&world, &key), None, "nothing grew");
        let copies = if with_copies {
            vec![signed]
        } else {
            Vec::new()
        };
        let verified = verify(&world, Some(&public), &copies);
        assert_eq!((verified.problems, verified.is_signed), (vec![], true));
        tamper(&world, &change);
        let found = kinds(&verify(&world, Some(&public), &copies));
        assert_eq!(found, expected, "{change}");
    }
}

#[test]
fn checkpoints_follow_each_other_and_only_their_key_signs_them() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let key = signing_key();
    for subject in ["a", "b", "c"] {
        add_records(&world, &workspace, &[subject]);
        assert!(sign(&world, &key).is_some());
    }
    let verified = verify(&world, Some(&key.public_key()), &[]);
    assert_eq!((verified.problems, verified.checkpoints), (vec![], 3));
    let foreign = verify(&world, Some(&signing_key().public_key()), &[]);
    let invalid = ChainProblemKind::CheckpointInvalid;
    assert_eq!(kinds(&foreign), [(invalid, 1), (invalid, 2), (invalid, 3)]);
    tamper(&world, "delete from ken.audit_checkpoints where number = 2");
    let missing = kinds(&verify(&world, Some(&key.public_key()), &[]));
    assert_eq!(missing, [(ChainProblemKind::CheckpointMissing, 2)]);
}

#[test]
fn the_role_of_the_hub_writes_no_link_and_changes_none() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    add_records(&world, &workspace, &["a"]);
    let id = workspace.workspace.0;
    for statement in [
        format!("INSERT INTO ken.audit_links VALUES ('{id}', 2, gen_random_uuid(), sha256('x'))"),
        "UPDATE ken.audit_links SET number = 9".to_owned(),
        "DELETE FROM ken.audit_links".to_owned(),
        "DELETE FROM ken.audit_checkpoints".to_owned(),
        "TRUNCATE ken.audit_chains".to_owned(),
    ] {
        let refused = world.runtime.block_on(async {
            let mut tx = workspace.tenant().await;
            sqlx::raw_sql(sqlx::AssertSqlSafe(statement.clone()))
                .execute(tx.connection())
                .await
                .is_err()
        });
        assert!(refused, "{statement}");
    }
}

#[test]
fn records_of_before_are_linked_by_the_migration() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = PostgresServer::shared().database();
    let at = MIGRATIONS
        .iter()
        .position(|it| it.name.ends_with("_audit_chain"))
        .unwrap();
    runtime
        .block_on(HubDatabase::migrate_to(database.url(), at))
        .unwrap();
    database.sql(
        "INSERT INTO ken.organizations (id, name, created_at) VALUES ('00000000-0000-4000-8000-000000000001', 'acme', 1);
         INSERT INTO ken.audit (workspace_id, id, at, by, role, act, subject)
         SELECT '00000000-0000-4000-8000-000000000001', gen_random_uuid(), n, 'human:ann', 'admin', 'made', 'w' || n
         FROM generate_series(1, 50) n",
    );
    runtime
        .block_on(HubDatabase::migrate(database.url()))
        .unwrap();
    let settings = ken_hub::database::DatabaseSettings::new(database.url());
    let hub = runtime.block_on(HubDatabase::connect(&settings)).unwrap();
    let verified = runtime.block_on(async {
        let acme = hub
            .organization_named(&"acme".parse().unwrap())
            .await
            .unwrap()
            .unwrap();
        let mut tx = hub.begin_organization(acme).await.unwrap();
        tx.verify_audit(None, &[]).await.unwrap()
    });
    assert_eq!((verified.problems, verified.records), (vec![], 50));
    runtime.block_on(hub.pool().close());
}
