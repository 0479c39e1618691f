//! People as opaque ids over clones and a hub: erasure, holds, and what a database dump contains.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ken_testkit::test_env::{CommandRun, TestEnvironment};
use serde_json::Value;

use crate::site::{HubTestEnvironment, ORGANIZATION, WORKSPACE, add_entry, run_hub};

const NAME: &str = "Grace Hopper";
const ADDRESS: &str = "grace@example.org";
const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGKgYVsA8Zr0FGv3mZ9d1sVQvJLq0Yj8dJ0H1b9f7Z0K";

/// Options of a person who erases another one.
const BY_ANOTHER: [&str; 3] = ["--by", "human:p-00000000000b", "--yes"];

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

/// Lists the person in a clone under the id of the hub.
fn list_in_clone(clone: &TestEnvironment, id: &str) -> String {
    let words = ["ledger", "person", "add", "--name", NAME];
    let words = words.into_iter().chain(["--known-as", ADDRESS, "--id", id]);
    let listed = clone.run(words).success().line();
    let _ = clone.git(["config", "user.email", ADDRESS]);
    let _ = clone.git(["config", "user.name", NAME]);
    listed
}

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines.map(|it| serde_json::from_str(it).unwrap()).collect()
}

/// Two clones and a hub on which a person wrote, is named in texts, and has tokens and a key.
struct PeopleStory {
    site: HubTestEnvironment,
    id: String,
    one: TestEnvironment,
    other: TestEnvironment,
    /// An entry without a name, one that names the person, and one that they retracted.
    entries: [String; 3],
}

impl PeopleStory {
    fn begin() -> Self {
        let site = HubTestEnvironment::new();
        let add = ["person", "add", ORGANIZATION, "--name", NAME];
        let id = site.administer(&[&add[..], &["--subject", ADDRESS]].concat());
        let actor = format!("human:{id}");
        let clone = |seed| {
            let clone = site.create_clone_as(seed, &site.token("curator", &actor));
            assert_eq!(list_in_clone(&clone, &id), id);
            clone
        };
        let (one, other) = (clone(1), clone(2));
        let entries = [
            "Charging twice is safe: the key makes it one charge.",
            "Only GRACE HOPPER may change the nightly importer.",
            "The cache survives every restart of the gateway.",
        ]
        .map(|statement| add_entry(&one, statement));
        let retract = ["retract", &entries[2], "--reason", "false"];
        let note = ["--note", "Grace Hopper measured it"];
        let _ = one.run(retract.into_iter().chain(note)).success();
        let _ = one.run(["push"]).success();
        let _ = other.run(["pull"]).success();
        let token = ["token", "create", ORGANIZATION, "--role", "member"];
        let named = ["--actor", &actor, "--name", "Grace Hopper's laptop"];
        site.administer(&[&token[..], &named].concat());
        let signers = one.root().join("../signers");
        fs::write(&signers, format!("{id} {KEY} {ADDRESS}\n")).unwrap();
        let signers = signers.display().to_string();
        site.administer(&["signers", ORGANIZATION, "--set", &signers]);
        Self {
            site,
            id,
            one,
            other,
            entries,
        }
    }

    /// Runs `ken hub person forget` with further words.
    fn forget(&self, words: &[&str]) -> CommandRun {
        let forget = ["person", "forget", ORGANIZATION, &self.id];
        run_hub(self.site.database.url(), &[&forget[..], words].concat())
    }

    /// A trial changes nothing, a hold of any workspace refuses, and a program does not redact.
    fn check_refusals(&self) {
        let trial = self.forget(&[]).success();
        assert!(trial.stdout.contains("would be redacted"), "{trial}");
        let hold = ["hold", "add", ORGANIZATION, WORKSPACE, "--reason", "Case 7"];
        let hold = self.site.administer(&hold);
        let refused = self.forget(&BY_ANOTHER);
        assert_ne!(refused.exit, 0, "{refused}");
        let held = "a legal hold keeps this";
        assert!(refused.stderr.contains(held), "{refused}");
        // Nor does another version of the hub delete them: a trigger refuses it.
        let direct = Command::new(self.site.server.bin().join("psql"))
            .args(["-d", self.site.database.url(), "-c"])
            .arg(
                "select set_config('ken.organization', id::text, false) from ken.organizations;
                 delete from ken.people",
            )
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&direct.stderr);
        assert!(error.contains(held), "{direct:?}");
        self.site
            .administer(&["hold", "release", ORGANIZATION, &hold]);
        let refused = self.forget(&["--yes"]);
        assert!(refused.stderr.contains("--by human:NAME"), "{refused}");
        assert_eq!(names_in(&dump(&self.site)), [NAME, ADDRESS]);
    }
}

#[test]
fn an_export_of_the_hub_has_what_is_by_and_about_a_person() {
    let story = PeopleStory::begin();
    let export = ["person", "export", ORGANIZATION, ADDRESS];
    let exported = story.site.administer(&export);
    let records = lines(&exported);
    let count = |kind: &str| records.iter().filter(|it| it["record"] == kind).count();
    let kinds = ["person", "authored", "mentioned", "token"];
    assert_eq!(kinds.map(count), [1, 2, 2, 3], "{exported}");
    assert!(count("audit") >= 3, "{exported}");
}

#[test]
fn a_forgotten_person_is_in_no_table_of_the_hub_and_in_no_file_of_its_clones() {
    let story = PeopleStory::begin();
    let PeopleStory { site, other, .. } = &story;
    let [kept, named, wrong] = &story.entries;
    assert_eq!(names_in(&dump(site)), [NAME, ADDRESS]);
    assert!(!files_with(&other.root().join(".ken"), NAME).is_empty());
    story.check_refusals();

    let told = story.forget(&BY_ANOTHER).success();
    assert!(told.stdout.contains("stays: backups"), "{told}");
    let after = dump(site);
    assert_eq!(names_in(&after), [] as [&str; 0]);
    assert!(after.contains(&story.id), "the id stays");
    // The audit log is whole: no digest covered a name.
    let verified = site.administer(&["audit", "verify", ORGANIZATION]);
    assert!(!verified.contains("altered"), "{verified}");
    let acts = site.administer(&["audit", ORGANIZATION, "--format", "json"]);
    assert!(acts.contains("person.forgotten"), "{acts}");
    let pushed = story.one.run(["push"]);
    assert_ne!(pushed.exit, 0, "the token is revoked: {pushed}");

    // Another member pulls the redaction and forgets the name in the clone.
    let member = site.token("curator", "human:p-00000000000c");
    let _ = other
        .run_with(&member, ["remote", "add", &site.url(), "--token-stdin"])
        .success();
    let _ = other.run(["pull"]).success();
    let _ = other
        .run(["ledger", "person", "forget", &story.id, "--yes"])
        .success();
    for text in [NAME, ADDRESS] {
        let found = files_with(&other.root().join(".ken"), text);
        assert_eq!(found, [] as [PathBuf; 0], "{text}");
    }
    let shown = other.run(["list", "--all"]).success().stdout;
    assert!(shown.contains(kept) && !shown.contains(named), "{shown}");
    let shown = other.run(["show", wrong, "--format", "json"]).success();
    let retracted = &shown.json()["retracted"];
    assert_eq!(retracted["reason"], "false", "the claim is not revived");
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
