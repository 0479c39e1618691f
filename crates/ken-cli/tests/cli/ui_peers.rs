//! The pages about peers: what waits is shown with every word, and a decision is about the words
//! that were read. Real keys of `ssh-keygen`, and a publication in a folder.

use std::path::absolute;

use ken_testkit::test_env::TestEnvironment;
use serde_json::{Value, json};

use super::ui::UiServer;

const RETRIES: &str = "Bound retries of idempotent requests at three attempts";

fn clone(seed: u64) -> TestEnvironment {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).seed(seed);
    let peers = absolute(env.root().join("../peers")).expect("a folder");
    let env = env.env("KEN_PEERS", &peers.display().to_string()).in_git();
    let _ = env.run(["init"]).success();
    env
}

/// A publisher with a folder, and the ids of what it publishes.
struct Publisher {
    env: TestEnvironment,
    folder: String,
}

impl Publisher {
    fn start() -> Self {
        let env = clone(3_000);
        let folder = env.create_publication();
        Self { env, folder }
    }

    /// Publishes an entry.
    fn publish(&self, content: &Value) -> String {
        let content = content.to_string();
        let added = self.env.run(["add", "--content", &content]).success();
        let id = added.line();
        let _ = self.env.run(["confirm", &id]).success();
        let allow = ["remote", "publication", "allow", "partners", &id];
        let _ = self.env.run(allow).success();
        self.update();
        id
    }

    fn update(&self) {
        let update = ["remote", "publication", "update", "partners"];
        let _ = self.env.run(update).success();
    }

    /// Returns a reader that has this publisher as the peer `acme`.
    fn reader(&self) -> TestEnvironment {
        let reader = clone(4_000);
        let list = ["remote", "publication", "list", "--format", "json"];
        let listed = self.env.run(list).success().json();
        let key = listed["fingerprint"].as_str().expect("a fingerprint");
        let add = ["remote", "peer", "add", "acme", &self.folder, "--key", key];
        let _ = reader.run(add).success();
        pull(&reader);
        reader
    }
}

fn pull(reader: &TestEnvironment) {
    let _ = reader.run(["remote", "peer", "pull", "acme"]).success();
}

fn lesson(statement: &str) -> Value {
    json!({ "kind": "learning", "statement": statement, "cite": ["pr:1"], "tags": ["rust/async"] })
}

fn document(server: &UiServer, path: &str) -> Value {
    let answer = server.send("GET", path, "Accept: application/json\r\n", b"");
    let body = answer.split_once("\r\n\r\n").expect("a body").1;
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

fn post(server: &UiServer, action: &str, fields: &[(&str, &str)]) -> u16 {
    let encode = |text: &str| {
        let bytes = text.bytes().map(|byte| format!("%{byte:02x}"));
        bytes.collect::<String>()
    };
    let fields = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", encode(value)));
    let body = fields.collect::<Vec<_>>().join("&");
    let origin = format!("Origin: http://{}\r\n", server.address);
    let path = format!("/do/{action}");
    server.status("POST", &path, &origin, body.as_bytes())
}

/// Returns the value of a form that approves an entry of a document.
fn words(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str().expect("a text").to_owned();
    format!("{} {}", text("id"), text("artifact"))
}

fn found(reader: &TestEnvironment) -> usize {
    let search = ["search", "bound retries", "--format", "json"];
    let found = reader.run(search).success().json();
    found["global"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_person_reads_every_word_and_approves_exactly_these() {
    let acme = Publisher::start();
    let mut content = lesson(RETRIES);
    content["body"] = "A fourth attempt <b>never</b> helped.".into();
    content["lens"] = "performance".into();
    content["depends_on"] = json!(["pkg:cargo/tokio@>=1.40"]);
    let _ = acme.publish(&content);
    let _ = acme.publish(&lesson("Cancel a task before you drop its channel"));
    let reader = acme.reader();
    let own = format!("{RETRIES} with jitter");
    let own = reader.run(["add", "--content", &lesson(&own).to_string()]);
    let own = own.success().line();
    let server = UiServer::start(&reader);

    let list = document(&server, "/peers");
    assert_eq!(list[0]["name"], "acme", "{list}");
    assert_eq!(list[0]["entries"]["waiting"], 2, "{list}");
    assert!(
        list[0]["fingerprint"]
            .as_str()
            .expect("a key")
            .starts_with("SHA256:")
    );
    let page = server.send("GET", "/peers/acme", "", b"");
    for shown in [
        "A fourth attempt &lt;b&gt;never&lt;/b&gt; helped.",
        "performance",
        "rust/async",
        "pkg:cargo/tokio@&gt;=1.40",
        "ephemeral",
        &own,
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(
        page.contains("href=\"/peers\""),
        "the navigation has it: {page}"
    );

    let waiting = document(&server, "/peers/acme")["entries"].clone();
    let one = waiting.as_array().expect("a list").iter();
    let one = one
        .clone()
        .find(|it| it["content"]["statement"] == RETRIES)
        .expect("it waits");
    assert_eq!(one["related"][0]["id"], own, "{one}");
    let other = format!("{} b3:00", one["id"].as_str().expect("an id"));
    let approve = |words: &str| {
        post(
            &server,
            "approve-peer-entries",
            &[("peer", "acme"), ("words", words)],
        )
    };
    assert_eq!(
        approve(&other),
        409,
        "other words than those that were read"
    );
    assert_eq!(found(&reader), 0);
    assert_eq!(approve(&words(one)), 303);
    assert_eq!(approve(&words(one)), 409, "it waits no longer");
    // The condition names a package that is not locked here.
    let shown = document(&server, "/peers/acme?lane=approved");
    assert_eq!(shown["entries"][0]["id"], one["id"], "{shown}");
    let page = server.send("GET", "/peers/acme", "", b"");
    assert!(
        !page.contains("/do/undo"),
        "a decision about a peer is no step of the repository"
    );
    let _ = server.end();
}

#[test]
fn several_entries_are_approved_together_or_none() {
    let acme = Publisher::start();
    let _ = acme.publish(&lesson(RETRIES));
    let _ = acme.publish(&lesson("Cancel a task before you drop its channel"));
    let reader = acme.reader();
    let server = UiServer::start(&reader);
    let waiting = document(&server, "/peers/acme")["entries"].clone();
    let [first, second] = [words(&waiting[0]), words(&waiting[1])];
    let approve = |all: &[&str]| {
        let fields = all.iter().map(|it| ("words", *it));
        let fields: Vec<_> = [("peer", "acme")].into_iter().chain(fields).collect();
        post(&server, "approve-peer-entries", &fields)
    };
    let count = |lane: &str| document(&server, "/peers")[0]["entries"][lane].clone();
    assert_eq!(approve(&[]), 422);
    assert_eq!(approve(&[&first, "L-7k2f5qm3 b3:00"]), 409);
    assert_eq!(count("waiting"), 2);
    assert_eq!(approve(&[&first, &second, &first]), 303);
    assert_eq!((count("waiting"), count("approved")), (json!(0), json!(2)));
    assert_eq!(found(&reader), 1);
    let _ = server.end();
}

#[test]
fn an_entry_is_rejected_and_a_peer_suspended_and_resumed() {
    let acme = Publisher::start();
    let _ = acme.publish(&lesson(RETRIES));
    let reader = acme.reader();
    let server = UiServer::start(&reader);
    let waiting = document(&server, "/peers/acme")["entries"][0].clone();
    let approve = [("peer", "acme"), ("words", &words(&waiting))];
    assert_eq!(post(&server, "approve-peer-entries", &approve), 303);
    let peer = [("peer", "acme")];
    assert_eq!(post(&server, "suspend-peer", &peer), 303);
    assert_eq!(found(&reader), 0);
    assert!(
        server
            .send("GET", "/peers/acme", "", b"")
            .contains("a person suspended it")
    );
    assert_eq!(post(&server, "resume-peer", &peer), 303);
    assert_eq!(found(&reader), 1);
    let _ = server.end();
    // With the fixed seed of a test, one process gives two decisions about a peer the same id.
    let server = UiServer::start(&reader);
    let id = waiting["id"].as_str().expect("an id");
    let reject = |reason| [("peer", "acme"), ("entry", id), ("reason", reason)];
    assert_eq!(post(&server, "reject-peer-entry", &reject("no")), 422);
    assert_eq!(post(&server, "reject-peer-entry", &reject("false")), 303);
    assert_eq!(found(&reader), 0);
    let peers = document(&server, "/peers");
    assert_eq!(peers[0]["entries"]["rejected"], 1, "{peers}");
    for unknown in ["beta", "../acme", "%2e%2e"] {
        let path = format!("/peers/{unknown}");
        assert_eq!(server.status("GET", &path, "", b""), 404, "{unknown}");
        let suspended = post(&server, "suspend-peer", &[("peer", unknown)]);
        assert_eq!(suspended, 404, "{unknown}");
    }
    let _ = server.end();
}

#[test]
fn what_a_publisher_takes_back_is_listed_without_its_words() {
    let acme = Publisher::start();
    let id = acme.publish(&lesson(RETRIES));
    let _ = acme.publish(&lesson("Cancel a task before you drop its channel"));
    let reader = acme.reader();
    let retract = ["retract", &id, "--reason", "obsolete"];
    let _ = acme.env.run(retract).success();
    acme.update();
    pull(&reader);
    let server = UiServer::start(&reader);
    let withdrawn = document(&server, "/peers/acme?lane=withdrawn");
    assert_eq!(
        withdrawn["entries"][0]["content"]["statement"], RETRIES,
        "{withdrawn}"
    );
    let page = server.send("GET", "/peers/acme?lane=withdrawn", "", b"");
    assert!(!page.contains("/do/approve-peer-entries"), "{page}");
    let taken_back = withdrawn["entries"][0].clone();
    let approve = [("peer", "acme"), ("words", &words(&taken_back))];
    assert_eq!(post(&server, "approve-peer-entries", &approve), 409);
    let _ = server.end();
}

#[test]
fn without_a_peer_the_navigation_has_none() {
    let reader = clone(5_000);
    let server = UiServer::start(&reader);
    let page = server.send("GET", "/peers", "", b"");
    assert!(page.contains("You have no peers"), "{page}");
    assert!(!page.contains("href=\"/peers\""), "{page}");
    let _ = server.end();
}
