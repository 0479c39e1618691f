//! A publisher that breaks the rules: files of a real publication, changed and signed with its key
//! again, and what a hub makes of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ken_core::federation::manifest::{ManifestRow, PublicationBatch};
use ken_core::ledger::event::{EventBody, RecordedEvent};
use ken_core::values::time::DAY_MS;
use ken_hub::config::FederationSettings;
use ken_hub::database::audit::AuditActor;
use ken_hub::service::federation::{AddPeerRequest, ManifestSigner as _, add_peer};
use ken_hub::store::PublicationAudience;
use ken_remote::publication::{PublicationSource, batch_file};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::federation::{FederatedHub, no_token};

const RETRIES: &str = "Bound retries of idempotent requests at three attempts with jitter";
const WORKERS: &str = "Close a channel from the sending side to end a worker loop";
const QUESTION: &str = "how often to retry idempotent requests";

/// A publisher whose files are in a folder, where a test changes them, and a hub that reads them.
struct Network {
    publisher: FederatedHub,
    folder: TempDir,
    reader: FederatedHub,
}

fn write(path: &Path, value: &impl Serialize) {
    let text = serde_json::to_string(value).expect("JSON") + "\n";
    fs::write(path, text).expect("written");
}

fn read<T: DeserializeOwned>(path: &Path) -> T {
    let text = fs::read_to_string(path).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

impl Network {
    /// Publishes one entry, which the reader has approved.
    fn start() -> Self {
        let network = Self::subscribed();
        assert_eq!(network.reader.pull("acme").new, 1);
        assert_eq!(network.reader.approve_all("acme"), 1);
        assert_eq!(network.reader.foreign(QUESTION), 1);
        network
    }

    /// Publishes one entry, which the reader has not pulled.
    fn subscribed() -> Self {
        let network = Self {
            publisher: FederatedHub::start(PublicationAudience::Public),
            folder: tempfile::tempdir().expect("a folder"),
            reader: FederatedHub::start(PublicationAudience::Public),
        };
        let _ = network.publisher.publish(1, RETRIES);
        let _ = network.copy_files();
        network.subscribe("acme", network.folder.path());
        network
    }

    fn subscribe(&self, name: &str, folder: &Path) {
        let request = AddPeerRequest {
            name: name.to_owned(),
            source: PublicationSource::Folder(folder.to_owned()),
            fingerprint: self.publisher.signer.key().fingerprint(),
            token_variable: None,
            hops: 1,
            weight_max: None,
        };
        let app = &self.reader.hub.app;
        let organization = self.reader.hub.acme.organization;
        let by = AuditActor::Operator(None);
        let adding = add_peer(&app.database, organization, request, no_token, by);
        let _ = self.reader.hub.runtime.block_on(adding).expect("a peer");
    }

    /// Copies the publication into the folder. Returns the file of its last batch.
    fn copy_files(&self) -> PathBuf {
        let head = self.publisher.file("head.json").json();
        let number = |name: &str| head["manifest"][name].as_u64().expect("a number");
        let (epoch, last) = (number("epoch"), number("number"));
        let mut names = ["publication.json", "head.json", "orders.jsonl"]
            .map(str::to_owned)
            .to_vec();
        names.extend((1..=last).map(|number| batch_file(epoch, number)));
        for name in &names {
            let path = self.folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            let answer = self.publisher.file(name);
            fs::write(path, answer.text()).expect("written");
        }
        self.folder.path().join(batch_file(epoch, last))
    }

    /// Changes the last batch, and signs it as the publisher does.
    fn change_last(&self, last: &Path, change: impl FnOnce(&mut PublicationBatch)) {
        let mut batch: PublicationBatch = read(last);
        change(&mut batch);
        let signature = self.publisher.signer.sign(&batch.manifest.bytes());
        batch.signature = signature.expect("a signature");
        write(last, &batch);
        let head = self.folder.path().join("head.json");
        write(&head, &batch.signed_manifest());
    }

    /// Waits until the reader has a number of waiting entries.
    fn await_waiting(&self, count: usize) {
        let began = Instant::now();
        while self.reader.waiting("acme").len() != count {
            assert!(began.elapsed() < Duration::from_secs(30), "nothing arrives");
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn peer(&self) -> Value {
        let hub = &self.reader.hub;
        let mut peers = hub.get("/v1/peers", &hub.acme.curator).json();
        peers["items"][0].take()
    }

    fn trust(&self) -> f64 {
        self.peer()["trust"].as_f64().expect("a trust")
    }

    fn suspension(&self) -> Option<String> {
        self.peer()["suspended"].as_str().map(str::to_owned)
    }
}

/// Replaces the statement of the first line, whose new checksum the manifest names.
fn reword(batch: &mut PublicationBatch, statement: &str) {
    let line = RecordedEvent::parse(batch.lines[0].as_bytes()).expect("a line");
    let mut event = line.event;
    let EventBody::Proposed(proposed) = &mut event.body else {
        panic!("a publication adds proposals");
    };
    proposed.content.statement = statement.parse().expect("a statement");
    let line = RecordedEvent::new(event);
    for row in &mut batch.manifest.rows {
        if let ManifestRow::Add { id, sum, .. } = row
            && *id == line.event.id
        {
            line.sum().clone_into(sum);
        }
    }
    batch.lines[0] = line.line().to_owned();
}

#[test]
fn two_signed_batches_for_one_place_hide_everything_of_the_peer() {
    let network = Network::start();
    let last = network.copy_files();
    network.change_last(&last, |batch| {
        batch.manifest.expires = batch.manifest.expires.plus_millis(1);
    });
    let pulled = network.reader.pull("acme");
    let why = pulled.stopped.expect("a reason");
    assert!(why.contains("fork"), "{why}");
    assert!(network.suspension().is_some_and(|it| it.contains("fork")));
    assert_eq!(network.reader.foreign(QUESTION), 0);
    let hub = &network.reader.hub;
    let acts = hub.get("/v1/audit", &hub.acme.admin).text();
    assert!(acts.contains("peer.suspended"), "{acts}");
}

#[test]
fn a_batch_without_a_valid_signature_changes_nothing_and_is_no_strike() {
    let network = Network::start();
    let trust = network.trust();
    let _ = network.publisher.publish(2, WORKERS);
    let last = network.copy_files();
    let mut batch: PublicationBatch = read(&last);
    batch.manifest.expires = batch.manifest.expires.plus_millis(1);
    write(&last, &batch);
    // A carrier could do this, so it must not cost the publisher anything.
    for _ in 0..4 {
        let pulled = network.reader.pull("acme");
        let why = pulled.stopped.expect("a reason");
        assert!(why.contains("signature"), "{why}");
        assert_eq!(pulled.new, 0);
    }
    assert_eq!(network.suspension(), None);
    assert!((network.trust() - trust).abs() < f64::EPSILON);
    assert_eq!(network.reader.foreign(QUESTION), 1);
}

#[test]
fn a_line_that_the_guard_refuses_costs_trust_and_suspends_a_peer_that_sends_little_else() {
    let network = Network::start();
    let trust = network.trust();
    let _ = network.publisher.publish(2, WORKERS);
    let last = network.copy_files();
    let secret = format!(
        "The token of staging is ghp_{}",
        "x7Kq2Lm9Tz4Rw8Yb3Nd6Hs1Vc5Gf0Jp2Qa4E"
    );
    network.change_last(&last, |batch| reword(batch, &secret));
    let pulled = network.reader.pull("acme");
    assert_eq!((pulled.new, pulled.refused.len()), (0, 1), "{pulled:?}");
    assert!(!pulled.refused[0].1.contains("ghp_"), "{pulled:?}");
    assert!(network.trust() < trust);
    assert!(
        network
            .suspension()
            .is_some_and(|it| it.contains("refused"))
    );
    assert_eq!(network.reader.foreign(QUESTION), 0);
}

#[test]
fn three_signed_mistakes_on_one_day_suspend_a_peer_until_a_person_resumes_it() {
    let network = Network::start();
    let _ = network.publisher.publish(2, WORKERS);
    let last = network.copy_files();
    network.change_last(&last, |batch| {
        batch.manifest.expires = batch.manifest.at.plus_millis(31 * DAY_MS);
    });
    for strike in 1..=3 {
        assert_eq!(network.suspension(), None, "before strike {strike}");
        let pulled = network.reader.pull("acme");
        assert!(pulled.stopped.is_some_and(|it| it.contains("expires")));
    }
    assert!(
        network
            .suspension()
            .is_some_and(|it| it.contains("3 strikes"))
    );
    assert_eq!(network.reader.foreign(QUESTION), 0);
    network.reader.suspend("acme", None);
    assert_eq!(network.reader.foreign(QUESTION), 1);
}

#[test]
fn a_contradiction_with_a_peer_names_both_sides() {
    let network = Network::start();
    let hub = &network.reader.hub;
    let path = format!("/v1/workspaces/{}/entries", hub.acme.name);
    let body = json!({
        "kind": "learning",
        "statement": "Never bound retries of idempotent requests at three attempts with jitter",
        "cites": ["pr:7"],
    });
    let added = hub.post(&path, &hub.acme.member, &body.to_string());
    assert!(added.status < 300, "{}", added.text());
    let found = network.reader.search(QUESTION);
    let pair = &found["competing_hypotheses"][0];
    assert_eq!(pair["foreign"], found["peers"][0]["entry"], "{found}");
    assert!(pair["local"].is_string(), "{found}");
}

#[test]
fn a_hub_pulls_by_itself_and_past_a_peer_that_cannot_be_read() {
    let mut network = Network::subscribed();
    // Its files are gone before the first pull; its name is before the other in every list.
    let gone = tempfile::tempdir().expect("a folder");
    let card = "publication.json";
    let copied = fs::copy(network.folder.path().join(card), gone.path().join(card));
    let _ = copied.expect("copied");
    network.subscribe("aaa", gone.path());
    drop(gone);
    let interval = Duration::from_millis(200);
    let mut settings = (*network.reader.hub.app.settings).clone();
    settings.federation = Some(FederationSettings {
        interval,
        token: no_token,
    });
    network.reader.hub.app.settings = Arc::new(settings);
    network.reader.hub.kill_and_restart();
    network.await_waiting(1);
    let _ = network.publisher.publish(2, WORKERS);
    let _ = network.copy_files();
    let hub = &network.reader.hub.app;
    hub.clock.set(hub.clock.now().plus_millis(1_000));
    network.await_waiting(2);
}
