//! People as opaque ids over clones and a hub: erasure, holds, and what a database dump contains.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ken_testkit::test_env::TestEnvironment;
use serde_json::Value;

use crate::site::{HubTestEnvironment, ORGANIZATION, add_entry, run_hub};

const NAME: &str = "Grace Hopper";
const ADDRESS: &str = "grace@example.org";

/// Returns the files below a folder that contain a text, whatever its case.
fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = file.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else {
            let bytes = fs::read(&path).unwrap().to_ascii_lowercase();
            let text = text.to_lowercase();
            if bytes.windows(text.len()).any(|it| it == text.as_bytes()) {
                found.push(path);
            }
        }
    }
    found
}

/// Returns a dump of the hub's tables in lower case.
fn dump(site: &HubTestEnvironment) -> String {
    let dumped = Command::new(site.server.bin().join("pg_dump"))
        .args(["--data-only", "-d", site.database.url()])
        .output()
        .unwrap();
    assert!(dumped.status.success(), "{dumped:?}");
    String::from_utf8_lossy(&dumped.stdout).to_lowercase()
}

/// Returns which of the names a dump contains, as text or as a binary column.
fn names_in(dump: &str) -> Vec<&'static str> {
    let hex = |it: &str| it.bytes().map(|it| format!("{it:02x}")).collect::<String>();
    let contains = |it: &&&str| {
        let it = it.to_lowercase();
        dump.contains(&it) || dump.contains(&hex(&it))
    };
    [NAME, ADDRESS].iter().filter(contains).copied().collect()
}

/// Lists the person in a clone, under `id` if there is one.
fn list_in_clone(clone: &TestEnvironment, id: Option<&str>) -> String {
    let mut words = vec!["ledger", "person", "add", "--name", NAME];
    words.extend(["--known-as", ADDRESS]);
    words.extend(id.iter().flat_map(|id| ["--id", id]));
    let listed = clone.run(words).success().line();
    let _ = clone.git(["config", "user.email", ADDRESS]);
    let _ = clone.git(["config", "user.name", NAME]);
    listed
}

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines.map(|it| serde_json::from_str(it).unwrap()).collect()
}

#[test]
fn a_forgotten_person_is_in_no_table_of_the_hub_and_in_no_file_of_its_clones() {
    let site = HubTestEnvironment::new();
    let by_site = |id: &str, seed: u64| {
        let token = site.token("curator", &format!("human:{id}"));
        site.create_clone_as(seed, &token)
    };
    let add = [
        "person",
        "add",
        ORGANIZATION,
        "--name",
        NAME,
        "--subject",
        ADDRESS,
    ];
    let id = site.administer(&add);
    let actor = format!("human:{id}");
    let (one, other) = (by_site(&id, 1), by_site(&id, 2));
    assert_eq!(list_in_clone(&one, Some(&id)), id);
    assert_eq!(list_in_clone(&other, Some(&id)), id);
    let kept = add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    let named = add_entry(&one, "Only GRACE HOPPER may change the nightly importer.");
    let _ = one.run(["push"]).success();
    let _ = other.run(["pull"]).success();
    let token = [
        "token",
        "create",
        ORGANIZATION,
        "--role",
        "member",
        "--actor",
        &actor,
    ];
    site.administer(&[&token[..], &["--name", "Grace Hopper's laptop"]].concat());
    let signer = one.root().join("../signers");
    fs::write(&signer, format!("{id} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGKgYVsA8Zr0FGv3mZ9d1sVQvJLq0Yj8dJ0H1b9f7Z0K {ADDRESS}\n")).unwrap();
    site.administer(&[
        "signers",
        ORGANIZATION,
        "--set",
        &signer.display().to_string(),
    ]);
    let before = dump(&site);
    assert_eq!(names_in(&before), [NAME, ADDRESS]);
    assert!(!files_with(&other.root().join(".ken"), NAME).is_empty());

    let exported = site.administer(&["person", "export", ORGANIZATION, ADDRESS]);
    let records = lines(&exported);
    let count = |kind: &str| records.iter().filter(|it| it["record"] == kind).count();
    assert_eq!(
        (count("person"), count("authored"), count("mentioned")),
        (1, 1, 1)
    );
    assert_eq!(count("token"), 3, "{exported}");
    assert!(count("audit") >= 3, "{exported}");

    // A trial changes nothing, a hold of any workspace refuses, and a program does not redact.
    let forget = ["person", "forget", ORGANIZATION, &id];
    let trial = site.administer(&forget);
    assert!(trial.contains("would be redacted"), "{trial}");
    let hold = site.administer(&[
        "hold",
        "add",
        ORGANIZATION,
        "payments",
        "--reason",
        "Case 7",
    ]);
    let by = ["--by", "human:p-00000000000b", "--yes"];
    let done = [&forget[..], &by].concat();
    let refused = run_hub(site.database.url(), &done);
    assert_ne!(refused.exit, 0, "{refused}");
    assert!(
        refused.stderr.contains("a legal hold keeps this"),
        "{refused}"
    );
    // Nor does another version of the hub delete them: a trigger refuses it.
    let direct = Command::new(site.server.bin().join("psql"))
        .args(["-d", site.database.url(), "-c"])
        .arg(
            "select set_config('ken.organization', id::text, false) from ken.organizations;
             delete from ken.people",
        )
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&direct.stderr);
    assert!(error.contains("a legal hold keeps this"), "{direct:?}");
    site.administer(&["hold", "release", ORGANIZATION, &hold]);
    let refused = run_hub(site.database.url(), &[&forget[..], &["--yes"]].concat());
    assert!(refused.stderr.contains("--by human:NAME"), "{refused}");
    assert_eq!(names_in(&dump(&site)), [NAME, ADDRESS]);

    let told = site.administer(&done);
    assert!(told.contains("stays: backups"), "{told}");
    let after = dump(&site);
    assert_eq!(names_in(&after), [] as [&str; 0]);
    assert!(after.contains(&id), "the id stays");
    // The audit log is whole: no digest covered a name.
    let verified = site.administer(&["audit", "verify", ORGANIZATION]);
    assert!(!verified.contains("altered"), "{verified}");
    let acts = site.administer(&["audit", ORGANIZATION, "--format", "json"]);
    assert!(
        acts.contains("person.forgotten") && acts.contains(&id),
        "{acts}"
    );
    let pushed = one.run(["push"]);
    assert_ne!(pushed.exit, 0, "the token is revoked: {pushed}");

    // Another member pulls the redaction and forgets the name in the clone.
    let member = site.token("curator", "human:p-00000000000c");
    let _ = other
        .run_with(&member, ["remote", "add", &site.url(), "--token-stdin"])
        .success();
    let _ = other.run(["pull"]).success();
    let _ = other
        .run(["ledger", "person", "forget", &id, "--yes"])
        .success();
    for text in [NAME, ADDRESS] {
        let found = files_with(&other.root().join(".ken"), text);
        assert_eq!(found, [] as [PathBuf; 0], "{text}");
    }
    let shown = other.run(["list", "--all"]).success().stdout;
    assert!(shown.contains(&kept) && !shown.contains(&named), "{shown}");
}

#[test]
fn a_listed_subject_acts_under_the_id_and_an_id_is_listed_once() {
    let site = HubTestEnvironment::new();
    let id = "p-7k2f5qm3w9ab";
    let add = [
        "person",
        "add",
        ORGANIZATION,
        "--id",
        id,
        "--subject",
        "Grace@Example.org",
    ];
    assert_eq!(site.administer(&add), id);
    for words in [
        &["person", "add", ORGANIZATION, "--subject", ADDRESS][..],
        &["person", "add", ORGANIZATION, "--id", id],
    ] {
        let refused = run_hub(site.database.url(), words);
        assert_ne!(refused.exit, 0, "{refused}");
        assert!(refused.stderr.contains(id), "{refused}");
    }
    let listed = site.administer(&["person", "list", ORGANIZATION, "--format", "json"]);
    assert_eq!(lines(&listed)[0]["subject"], ADDRESS);
    let policy = ["person", "policy", ORGANIZATION];
    assert_eq!(site.administer(&policy), "names");
    let set = [&policy[..], &["--set", "ids"]].concat();
    assert_eq!(site.administer(&set), "ids");
    let missing = run_hub(
        site.database.url(),
        &["person", "export", ORGANIZATION, "nobody"],
    );
    assert!(missing.stderr.contains("ken hub person list"), "{missing}");
}
