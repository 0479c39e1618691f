//! `ken hub audit`: an operator verifies, signs and exports the log.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::site::{HubTestEnvironment, KEN, ORGANIZATION, add_entry, run_hub};

/// Creates a key pair as the guide says, and returns the paths of both files.
fn create_keys(folder: &Path) -> (String, String) {
    let (private, public) = (folder.join("audit.key"), folder.join("audit.pub"));
    let openssl = |words: &str, files: &[(&str, &Path)]| {
        let mut command = Command::new("openssl");
        command.args(words.split(' '));
        for (option, file) in files {
            command.arg(option).arg(file);
        }
        assert!(command.status().unwrap().success(), "{words}");
    };
    openssl("genpkey -algorithm ed25519", &[("-out", &private)]);
    openssl("pkey -pubout", &[("-in", &private), ("-out", &public)]);
    [private, public].map(|it| it.display().to_string()).into()
}

#[test]
fn an_operator_verifies_signs_and_exports_the_log() {
    let site = HubTestEnvironment::new();
    let clone = site.clone(1);
    add_entry(
        &clone,
        "Charging twice is safe: the key makes it one charge.",
    );
    let _ = clone.run(["push"]).success();
    let folder = tempfile::tempdir().unwrap();
    let (private, public) = create_keys(folder.path());
    let verify = |more: &[&str]| {
        let mut words = vec!["audit", "verify", ORGANIZATION];
        words.extend(more);
        run_hub(site.database.url(), &words)
    };
    let plain = verify(&[]);
    assert_eq!(plain.exit, 0, "{plain}");
    assert!(
        plain.stderr.contains("hint: without checkpoints"),
        "{plain}"
    );
    let signed = site.administer(&["audit", "checkpoints", ORGANIZATION, "--sign", &private]);
    assert_eq!(signed.lines().count(), 1, "{signed}");
    let copy = folder.path().join("checkpoints.jsonl");
    std::fs::write(&copy, format!("{signed}\n")).unwrap();
    let copy = copy.display().to_string();
    let with_key = ["--public-key", &public, "--checkpoints", &copy];
    let good = verify(&with_key);
    assert_eq!(good.exit, 0, "{good}");
    assert!(good.stderr.contains("1 checkpoint"), "{good}");
    let exported = site.administer(&["audit", "export", ORGANIZATION]);
    let records: Vec<Value> = exported
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    assert!(
        records.iter().any(|it| it["act"] == "events.pushed"),
        "{exported}"
    );
    let events = site.administer(&["audit", "export", ORGANIZATION, "--as", "cloudevents"]);
    assert!(
        events
            .lines()
            .all(|it| it.contains("\"specversion\":\"1.0\"")),
        "{events}"
    );
    // The list is where it was.
    assert!(
        site.administer(&["audit", ORGANIZATION])
            .contains("token.created")
    );
    site.database.sql(
        "set session_replication_role = replica;
         update ken.audit set by = 'human:eve@example.org' where act = 'token.created'",
    );
    let altered = verify(&with_key);
    assert_eq!(altered.exit, 1, "{altered}");
    assert!(altered.stdout.contains("was altered"), "{altered}");
    let json = verify(&["--format", "json"]);
    let found: Value = serde_json::from_str(json.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&found["passes"], &found["problems"][0]["kind"]),
        (&false.into(), &"altered".into())
    );
    let wrong = verify(&["--public-key", &private]);
    assert_eq!(wrong.exit, 2, "{wrong}");
    assert!(
        wrong.stderr.contains("expected an Ed25519 public key"),
        "{wrong}"
    );
}

#[test]
fn the_files_of_exports_and_of_the_key_are_found_beside_those_that_name_them() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("audit");
    std::fs::create_dir(&inner).unwrap();
    let (private, _) = create_keys(folder.path());
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("url", "postgres://ken@localhost/ken\n");
    write(
        "hub.toml",
        "database_file = \"url\"\nexports_file = \"audit/exports.toml\"\naudit_key_file = \"audit.key\"\n",
    );
    write(
        "audit/exports.toml",
        "[[export]]\nname = \"siem\"\norganization = \"acme\"\nwebhook = \"https://siem.example.org\"\n\
         secret_file = \"secret\"\n",
    );
    let check = || {
        let mut command = Command::new(KEN);
        command.args(["hub", "config", "check", "hub.toml"]);
        let out = command.current_dir(&folder).env_clear().output().unwrap();
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        (out.status.code(), text)
    };
    let (exit, said) = check();
    assert_eq!(exit, Some(2), "{said}");
    assert!(
        said.contains("the export `siem` needs `secret_file`"),
        "{said}"
    );
    write("audit/secret", "a secret of thirty-two characters\n");
    let (exit, said) = check();
    assert_eq!(exit, Some(0), "{said}");
    std::fs::write(&private, "no key").unwrap();
    let (exit, said) = check();
    assert_eq!(exit, Some(2), "{said}");
    assert!(said.contains("expected an Ed25519 private key"), "{said}");
}
