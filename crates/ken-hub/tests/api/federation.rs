//! Federation between hubs: each with a database of its own, over HTTP, with real keys of
//! `ssh-keygen`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use ken_core::federation::manifest::MANIFEST_NAMESPACE;
use ken_core::federation::{
    ExportPolicy, LINES_PER_DAY_MAX, PeerPullReport, PublicationSecret, PublicationUpdate,
};
use ken_core::ledger::event::{
    ApprovalGranted, BlankReason, Channel, Confirmed, EventBlanked, EventBody, Provenance,
    RecordedEvent, RetractReason, Retracted,
};
use ken_core::values::content::EntryScope;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Tag;
use ken_core::values::time::{DAY_MS, Timestamp};
use ken_hub::database::audit::AuditActor;
use ken_hub::ids::Role;
use ken_hub::service::federation::{
    AddPeerRequest, HubFederationError, ManifestSigner, NewHubPublication, PublicationMemory,
    PullOptions, add_peer, allow_exports, close_publication, create_publication, pull_peer,
    review_publication, update_publication,
};
use ken_hub::store::PublicationAudience;
use ken_remote::publication::PublicationSource;
use ken_sign::PublisherKey;
use ken_testkit::build::EventWriter;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hub::{ApiHubEnvironment, ApiResponse};

/// Time of all hubs at the start.
pub(crate) const NOW: u64 = 1_800_000_000_000;

const RETRIES: &str = "Bound retries of idempotent requests at three attempts with jitter";

/// A key in a folder, and what was signed with it.
pub(crate) struct TestSigner {
    folder: TempDir,
    key: PublisherKey,
    pub(crate) memory: Mutex<BTreeMap<String, PublicationMemory>>,
}

impl TestSigner {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"])
            .arg(folder.path().join("key"))
            .status();
        assert!(made.expect("ssh-keygen").success());
        let line = std::fs::read_to_string(folder.path().join("key.pub")).expect("a key");
        Self {
            key: PublisherKey::parse(&line).expect("an Ed25519 key"),
            memory: Mutex::default(),
            folder,
        }
    }

    fn sign_for(&self, bytes: &[u8], namespace: &str) -> String {
        let mut signing = Command::new("ssh-keygen")
            .args(["-Y", "sign", "-q", "-n", namespace, "-f"])
            .arg(self.folder.path().join("key"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("ssh-keygen");
        let mut input = signing.stdin.take().expect("a pipe");
        input.write_all(bytes).expect("written");
        drop(input);
        let output = signing.wait_with_output().expect("ended");
        assert!(output.status.success());
        String::from_utf8(output.stdout)
            .expect("text")
            .trim_end()
            .to_owned()
    }
}

impl ManifestSigner for TestSigner {
    fn key(&self) -> &PublisherKey {
        &self.key
    }

    fn secret(&self, publication: &Tag) -> Result<PublicationSecret, String> {
        let signature = self.sign_for(publication.as_str().as_bytes(), "test-secret");
        Ok(PublicationSecret::from_bytes(signature.as_bytes()))
    }

    fn sign(&self, bytes: &[u8]) -> Result<String, String> {
        Ok(self.sign_for(bytes, MANIFEST_NAMESPACE))
    }

    fn memory(&self, publication: &Tag) -> Result<PublicationMemory, String> {
        let memory = self.memory.lock().expect("unpoisoned");
        Ok(memory
            .get(publication.as_str())
            .cloned()
            .unwrap_or_default())
    }

    fn remember(&self, publication: &Tag, memory: &PublicationMemory) -> Result<(), String> {
        let mut all = self.memory.lock().expect("unpoisoned");
        all.insert(publication.to_string(), memory.clone());
        Ok(())
    }
}

/// A hub with a key, whose organization `acme` publishes `partners`.
pub(crate) struct FederatedHub {
    pub(crate) hub: ApiHubEnvironment,
    pub(crate) signer: TestSigner,
}

pub(crate) fn no_token(_: &str) -> Option<String> {
    None
}

fn policy() -> ExportPolicy {
    ExportPolicy {
        topics: vec!["rust".parse().expect("a tag")],
        kinds: ExportPolicy::KINDS.to_vec(),
        confidence_min: ExportPolicy::CONFIDENCE_MIN,
        exclude_threads: Vec::new(),
        never: vec!["falcon".to_owned()],
        license: "CC-BY-4.0".parse().expect("a license"),
        relay: false,
        expires_days: ExportPolicy::EXPIRES_DAYS,
    }
}

/// Returns the events of an entry that the whole organization sees: written by an agent, approved
/// and confirmed by a person.
pub(crate) fn lesson_events(
    scribe: &mut EventWriter,
    statement: &str,
    tag: &str,
) -> (EntryId, EventId, Vec<RecordedEvent>) {
    scribe.by("agent:finder/1");
    let (entry, proposal) = scribe.propose_with(EntryKind::Learning, statement, |data| {
        data.scope = EntryScope::Global;
        data.content.tags = [tag.parse().expect("a tag")].into();
    });
    scribe.by("human:ann");
    let approval = scribe.about(
        entry,
        EventBody::ApprovalGranted(ApprovalGranted {
            entry,
            artifact: "digest".parse().expect("a note"),
            signature: None,
            covers: vec![proposal.event.id],
        }),
    );
    let confirmation = scribe.about(
        entry,
        EventBody::Confirmed(Confirmed {
            provenance: Provenance::Manual,
            on: Timestamp::from_millis(NOW).date(),
            run: None,
            withdraws: Vec::new(),
        }),
    );
    let id = proposal.event.id;
    (entry, id, vec![proposal, approval, confirmation])
}

impl FederatedHub {
    pub(crate) fn start(audience: PublicationAudience) -> Self {
        let hub = ApiHubEnvironment::start_at(Timestamp::from_millis(NOW));
        let signer = TestSigner::new();
        let new = NewHubPublication {
            name: "partners".to_owned(),
            audience,
            policy: policy(),
        };
        let organization = hub.acme.organization;
        let by = AuditActor::Operator(None);
        let made = create_publication(&hub.app.database, organization, new, signer.key(), by);
        hub.runtime.block_on(made).expect("a publication");
        Self { hub, signer }
    }

    pub(crate) fn append(&self, copies: Vec<RecordedEvent>) {
        let (organization, workspace) = (self.hub.acme.organization, self.hub.acme.workspace);
        self.hub.runtime.block_on(async {
            let begun = self
                .hub
                .app
                .database
                .begin_workspace(organization, workspace);
            let mut tx = begun.await.expect("a transaction");
            tx.append(copies).await.expect("appended");
            tx.commit().await.expect("committed");
        });
    }

    /// Adds an entry of the organization's tier.
    fn teach(&self, seed: u64, statement: &str, tag: &str) -> (EntryId, EventId) {
        let mut scribe = EventWriter::new(seed);
        let (entry, event, copies) = lesson_events(&mut scribe, statement, tag);
        self.append(copies);
        (entry, event)
    }

    pub(crate) fn allow(&self, ids: &[EntryId]) -> Result<Vec<EntryId>, HubFederationError> {
        let by = "human:olga".parse().expect("an actor");
        let place = (self.hub.acme.organization, "partners");
        let services = self.hub.app.service_context();
        let allowing = allow_exports(&self.hub.app.database, &services, place, ids, &by);
        self.hub.runtime.block_on(allowing)
    }

    pub(crate) fn update(&self) -> PublicationUpdate {
        let place = (self.hub.acme.organization, "partners");
        let services = self.hub.app.service_context();
        let by = AuditActor::Operator(None);
        let database = &self.hub.app.database;
        let updating = update_publication(database, &services, place, &self.signer, by);
        self.hub.runtime.block_on(updating).expect("an update")
    }

    /// Counts what searches about retries and about worker loops show of peers.
    fn shown_of_both(&self) -> (usize, usize) {
        (
            self.foreign("bound retries of idempotent requests"),
            self.foreign("close a channel to end a worker loop"),
        )
    }

    /// Suspends a peer for a reason, or resumes it, as an operator does.
    pub(crate) fn suspend(&self, peer: &str, why: Option<&str>) {
        let (database, organization) = (&self.hub.app.database, self.hub.acme.organization);
        self.hub.runtime.block_on(async {
            let begun = database.begin_organization(organization);
            let mut tx = begun.await.expect("a transaction");
            let found = tx.peer(peer).await.expect("a database").expect("a peer");
            tx.set_peer_suspended(found.id, why).await.expect("written");
            tx.commit().await.expect("committed");
        });
    }

    fn remove_peer(&self, peer: &str) {
        let (database, organization) = (&self.hub.app.database, self.hub.acme.organization);
        self.hub.runtime.block_on(async {
            let begun = database.begin_organization(organization);
            let mut tx = begun.await.expect("a transaction");
            let found = tx.peer(peer).await.expect("a database").expect("a peer");
            tx.delete_peer(found.id).await.expect("removed");
            tx.commit().await.expect("committed");
        });
    }

    pub(crate) fn publish(&self, seed: u64, statement: &str) -> (EntryId, EventId) {
        let (entry, event) = self.teach(seed, statement, "rust/async");
        assert_eq!(self.allow(&[entry]).expect("allowed"), [entry]);
        assert_eq!(self.update().added, 1);
        (entry, event)
    }

    pub(crate) fn path(&self) -> String {
        format!("/federation/v1/{}/partners", self.signer.key().publisher())
    }

    pub(crate) fn file(&self, file: &str) -> ApiResponse {
        let path = format!("{}/{file}", self.path());
        self.hub.send("GET", &path, &[], None)
    }

    /// Adds another hub's publication as a peer.
    pub(crate) fn subscribe(&self, name: &str, publisher: &Self, hops: u8) {
        let request = self.request(name, publisher, hops);
        let added = add_peer(
            &self.hub.app.database,
            self.hub.acme.organization,
            request,
            no_token,
            AuditActor::Operator(None),
        );
        self.hub.runtime.block_on(added).expect("a peer");
    }

    fn request(&self, name: &str, publisher: &Self, hops: u8) -> AddPeerRequest {
        let url = format!("{}{}", publisher.hub.url, publisher.path());
        AddPeerRequest {
            name: name.to_owned(),
            source: PublicationSource::parse(&url),
            fingerprint: publisher.signer.key().fingerprint(),
            token_variable: None,
            hops,
            weight_max: None,
        }
    }

    pub(crate) fn pull(&self, name: &str) -> PeerPullReport {
        self.try_pull(name, LINES_PER_DAY_MAX).expect("a pull")
    }

    pub(crate) fn try_pull(
        &self,
        name: &str,
        lines_per_day: u32,
    ) -> Result<PeerPullReport, HubFederationError> {
        let options = PullOptions {
            lines_per_day,
            ..PullOptions::new(no_token)
        };
        let place = (self.hub.acme.organization, name);
        let app = &self.hub.app;
        let pulling = pull_peer(&app.database, &app.guard, place, options);
        self.hub.runtime.block_on(pulling)
    }

    pub(crate) fn waiting(&self, peer: &str) -> Vec<Value> {
        let path = format!("/v1/peers/{peer}/entries?limit=200");
        let listed = self.hub.get(&path, &self.hub.acme.curator).json();
        listed["items"].as_array().expect("a list").clone()
    }

    /// Approves everything that waits; returns how many.
    pub(crate) fn approve_all(&self, peer: &str) -> usize {
        let waiting = self.waiting(peer);
        if waiting.is_empty() {
            return 0;
        }
        let entries: Vec<Value> = waiting
            .iter()
            .map(|it| json!({"id": it["id"], "artifact": it["artifact"]}))
            .collect();
        let body = json!({"entries": entries}).to_string();
        let path = format!("/v1/peers/{peer}/approve");
        let answer = self.hub.post(&path, &self.hub.acme.curator, &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        entries.len()
    }

    pub(crate) fn search(&self, query: &str) -> Value {
        let body = json!({"query": query, "budget": 2000}).to_string();
        let path = format!("/v1/workspaces/{}/search", self.hub.acme.name);
        let answer = self.hub.post(&path, &self.hub.acme.reader, &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    pub(crate) fn foreign(&self, query: &str) -> usize {
        self.search(query)["peers"].as_array().map_or(0, Vec::len)
    }

    /// Redacts an event about an entry, as a person does with a clone.
    pub(crate) fn redact(&self, entry: EntryId, event: EventId) {
        let mut scribe = EventWriter::new(9);
        scribe.by("human:ann");
        scribe.now = Timestamp::from_millis(NOW);
        let order = EventBody::EventBlanked(EventBlanked {
            event,
            reason: BlankReason::Secret,
        });
        self.append(vec![scribe.about(entry, order)]);
    }

    fn set_clock(&self, at: Timestamp) {
        self.hub.app.clock.set(at);
    }
}

fn later(days: u64) -> Timestamp {
    Timestamp::from_millis(NOW + days * DAY_MS)
}

#[test]
fn a_hub_publishes_what_two_people_approved_and_another_shows_it_after_a_third() {
    let acme = FederatedHub::start(PublicationAudience::Public);
    let beta = FederatedHub::start(PublicationAudience::Public);
    let (entry, _) = acme.teach(1, RETRIES, "rust/async");
    let (_, _) = acme.teach(2, "The payroll of acme runs on Fridays only", "hr/payroll");
    // Nothing leaves by itself, and a policy keeps what has another topic.
    assert_eq!(acme.update().added, 0);
    let database = &acme.hub.app.database;
    let services = acme.hub.app.service_context();
    let organization = acme.hub.acme.organization;
    let review = review_publication(database, &services, organization, "partners");
    let review = acme.hub.runtime.block_on(review).expect("a review");
    assert_eq!(review.waiting.len(), 1);
    assert_eq!(review.waiting[0].entry.id, entry);
    assert_eq!(acme.allow(&[entry]).expect("allowed"), [entry]);
    assert_eq!(acme.update().added, 1);
    assert_eq!(
        acme.update().batches,
        0,
        "an update that changes nothing signs nothing"
    );

    beta.subscribe("acme", &acme, 1);
    let pulled = beta.pull("acme");
    assert_eq!((pulled.new, pulled.stopped), (1, None));
    assert_eq!(
        beta.pull("acme").new,
        0,
        "a pull is repeated without effect"
    );
    assert_eq!(beta.foreign("how often to retry idempotent requests"), 0);
    let waiting = beta.waiting("acme");
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0]["content"]["statement"], RETRIES);

    // Only a person with the role of a curator decides, and only about the words they read.
    let approve = |token: &str, artifact: &str| {
        let entries = json!({"entries": [{"id": waiting[0]["id"], "artifact": artifact}]});
        beta.hub
            .post("/v1/peers/acme/approve", token, &entries.to_string())
    };
    let artifact = waiting[0]["artifact"].as_str().expect("a digest");
    let pipeline = beta.hub.token_of(Role::Curator, "ci:main");
    approve(&pipeline, artifact).problem("forbidden");
    approve(&beta.hub.acme.member, artifact).problem("forbidden");
    approve(&beta.hub.acme.curator, "b3:other").problem("conflict");
    assert_eq!(beta.foreign("how often to retry idempotent requests"), 0);
    assert_eq!(approve(&beta.hub.acme.curator, artifact).status, 200);

    let found = beta.search("how often to retry idempotent requests");
    let peer = &found["peers"][0];
    assert_eq!(
        (peer["peer"].as_str(), peer["hops"].as_u64()),
        (Some("acme"), Some(1))
    );
    assert!(peer["weight"].as_f64().expect("a weight") <= 0.5, "{peer}");
    assert!(
        found["global"][0]["text"]
            .as_str()
            .expect("a text")
            .contains("another organization")
    );
    // A decision is taken once.
    approve(&beta.hub.acme.curator, artifact).problem("conflict");
    // Another organization of the same hub sees nothing of it.
    let body = json!({"query": "how often to retry idempotent requests"}).to_string();
    let other = beta
        .hub
        .post("/v1/workspaces/vault/search", &beta.hub.other.reader, &body);
    assert!(!other.text().contains("jitter"), "{}", other.text());
}

#[test]
fn an_order_removes_the_words_from_every_table_and_every_answer() {
    let acme = FederatedHub::start(PublicationAudience::Public);
    let beta = FederatedHub::start(PublicationAudience::Public);
    let (entry, proposal) = acme.publish(1, RETRIES);
    beta.subscribe("acme", &acme, 1);
    beta.pull("acme");
    assert_eq!(beta.approve_all("acme"), 1);
    assert_eq!(beta.foreign("retry idempotent requests"), 1);
    assert!(!beta.hub.tables_holding("jitter").is_empty());

    // The publisher's own hub stops serving the words with the redaction, before any order.
    let place = acme.update().place.expect("a place");
    let batch = format!("{}/{}.json", place.epoch, place.number);
    assert!(acme.file(&batch).text().contains("jitter"));
    acme.redact(entry, proposal);
    let served = acme.file(&batch);
    assert_eq!(served.status, 200);
    assert!(!served.text().contains("jitter"), "{}", served.text());
    // The checksum of the signed manifest still fits: a reader that comes now accepts the batch.
    let late = FederatedHub::start(PublicationAudience::Public);
    late.subscribe("acme", &acme, 1);
    assert_eq!(late.pull("acme").stopped, None);

    assert_eq!(acme.update().redacted, 1);
    let pulled = beta.pull("acme");
    assert_eq!((pulled.redacted, pulled.stopped), (1, None));
    assert_eq!(beta.foreign("retry idempotent requests"), 0);
    assert_eq!(beta.hub.tables_holding("jitter"), Vec::<String>::new());
    assert_eq!(acme.hub.tables_holding("jitter"), Vec::<String>::new());
    for file in ["publication.json", "head.json", "orders.jsonl", &batch] {
        assert!(!acme.file(file).text().contains("jitter"), "{file}");
    }
    // Words that were redacted once never leave again.
    assert_eq!(acme.update().added, 0);
}

/// Two hubs, of which the second approved two entries of the first: one about retries, one about
/// worker loops. Also returns the id of the first.
fn hubs_with_two_approved_entries() -> (FederatedHub, FederatedHub, EntryId) {
    let acme = FederatedHub::start(PublicationAudience::Public);
    let beta = FederatedHub::start(PublicationAudience::Public);
    let (entry, _) = acme.publish(1, RETRIES);
    acme.publish(
        2,
        "Close a channel from the sending side to end a worker loop",
    );
    beta.subscribe("acme", &acme, 1);
    beta.pull("acme");
    assert_eq!(beta.approve_all("acme"), 2);
    assert_eq!(beta.shown_of_both(), (1, 1));
    (acme, beta, entry)
}

#[test]
fn what_is_suspended_stale_or_withdrawn_is_not_shown() {
    let (acme, beta, entry) = hubs_with_two_approved_entries();
    beta.suspend("acme", Some("a person suspended it"));
    assert_eq!(
        beta.shown_of_both(),
        (0, 0),
        "hidden from the next request on"
    );
    let stopped = beta.pull("acme").stopped.expect("a reason");
    assert!(stopped.contains("suspended"), "{stopped}");
    beta.suspend("acme", None);
    assert_eq!(beta.shown_of_both(), (1, 1));

    // A publication without a renewal is stale after 14 days, and hidden 30 days later.
    beta.set_clock(later(20));
    let found = beta.search("bound retries of idempotent requests");
    assert_eq!(found["peers"][0]["freshness"], "stale");
    beta.set_clock(later(45));
    assert_eq!(beta.shown_of_both(), (0, 0));
    acme.set_clock(later(45));
    assert_eq!(acme.update().batches, 1, "a renewal");
    beta.pull("acme");
    assert_eq!(beta.shown_of_both(), (1, 1));

    // An entry that its publisher retracts is withdrawn.
    let mut scribe = EventWriter::new(7);
    scribe.by("human:ann");
    scribe.now = later(45);
    let retraction = scribe.about(
        entry,
        EventBody::Retracted(Retracted {
            reason: RetractReason::False,
            channel: Channel::Command,
            note: None,
        }),
    );
    acme.append(vec![retraction]);
    assert_eq!(acme.update().withdrawn, 1);
    assert_eq!(beta.pull("acme").withdrawn, 1);
    assert_eq!(beta.shown_of_both(), (0, 1));
}

#[test]
fn what_is_rejected_or_whose_peer_is_removed_is_not_shown() {
    let (_acme, beta, _) = hubs_with_two_approved_entries();
    // A person who rejects an entry hides it, and the peer loses trust.
    let trust = || {
        let peers = beta.hub.get("/v1/peers", &beta.hub.acme.curator).json();
        peers["items"][0]["trust"].as_f64().expect("a number")
    };
    let before = trust();
    let approved = beta.hub.get(
        "/v1/peers/acme/entries?verdict=approved",
        &beta.hub.acme.curator,
    );
    let approved = approved.json();
    let items = approved["items"].as_array().expect("a list");
    let of_retries = |it: &&Value| it.to_string().contains("jitter");
    let id = items.iter().find(of_retries).expect("an entry")["id"].clone();
    let rate = format!(
        "/v1/peers/acme/entries/{}/rate",
        id.as_str().expect("an id")
    );
    let helpful = json!({"verdict": "helpful"}).to_string();
    let rated = beta.hub.post(&rate, &beta.hub.acme.curator, &helpful);
    assert_eq!(rated.json()["count"], 1, "{}", rated.text());
    assert!(trust() > before);
    let rated = beta.hub.post(&rate, &beta.hub.acme.curator, &helpful);
    assert_eq!(rated.json()["count"], 0, "once per entry and day");
    let before = trust();
    let reject = json!({"ids": [id], "reason": "false"}).to_string();
    let rejected = beta
        .hub
        .post("/v1/peers/acme/reject", &beta.hub.acme.curator, &reject);
    assert_eq!(rejected.status, 200, "{}", rejected.text());
    assert!(trust() < before);
    assert_eq!(beta.shown_of_both(), (0, 1));

    // A peer that is removed takes everything with it.
    beta.remove_peer("acme");
    assert_eq!(beta.hub.tables_holding("worker loop"), Vec::<String>::new());
    assert_eq!(beta.shown_of_both(), (0, 0));
}

#[test]
fn a_publication_for_peers_looks_missing_to_everybody_else() {
    let acme = FederatedHub::start(PublicationAudience::Peers);
    acme.publish(1, RETRIES);
    let path = format!("{}/head.json", acme.path());
    let nowhere = "/federation/v1/00000000000000000000000000/partners/head.json";
    let missing = acme.hub.send("GET", nowhere, &[], None);
    missing.problem("not-found");
    let anonymous = acme.hub.send("GET", &path, &[], None);
    assert_eq!(anonymous.body, missing.body);
    // A token of another organization of the same hub is no different.
    for token in [&acme.hub.other.admin, &acme.hub.other.peer] {
        let answer = acme.hub.get(&path, token);
        assert_eq!((answer.status, answer.body), (404, missing.body.clone()));
    }
    let answer = acme.hub.get(&path, &acme.hub.acme.peer);
    assert_eq!(answer.status, 200, "{}", answer.text());
    // Whoever may read it, reads no file that is not part of it.
    let place = acme.update().place.expect("a place");
    for file in [
        format!("{}/{}.json", place.epoch, place.number + 1),
        format!("{}/1.json", place.epoch - 1),
        "../head.json".to_owned(),
        "1/2/3.json".to_owned(),
        "head.json%00".to_owned(),
    ] {
        let answer = acme
            .hub
            .get(&format!("{}/{file}", acme.path()), &acme.hub.acme.peer);
        assert_eq!(answer.status, 404, "{file}: {}", answer.text());
    }
}

#[test]
fn a_peer_reads_a_publication_for_peers_with_a_token_from_its_environment() {
    let acme = FederatedHub::start(PublicationAudience::Peers);
    let beta = FederatedHub::start(PublicationAudience::Public);
    acme.publish(1, RETRIES);
    let add = |variable: Option<&str>, token: fn(&str) -> Option<String>| {
        let request = AddPeerRequest {
            token_variable: variable.map(ToOwned::to_owned),
            ..beta.request("acme", &acme, 1)
        };
        let organization = beta.hub.acme.organization;
        let by = AuditActor::Operator(None);
        let adding = add_peer(&beta.hub.app.database, organization, request, token, by);
        beta.hub.runtime.block_on(adding)
    };
    let refused = add(None, no_token).expect_err("no token");
    assert!(
        matches!(refused, HubFederationError::NothingThere(_)),
        "{refused}"
    );
    // A variable of another kind could be a secret of the hub itself.
    let refused = add(Some("KEN_DATABASE_URL"), no_token).expect_err("another variable");
    assert!(
        matches!(refused, HubFederationError::TokenVariable),
        "{refused}"
    );
    PEER_TOKEN
        .set(acme.hub.acme.peer.clone())
        .expect("only this test sets it");
    add(Some("KEN_PEER_ACME"), stored_token).expect("a peer");
    let place = (beta.hub.acme.organization, "acme");
    let app = &beta.hub.app;
    let options = PullOptions::new(stored_token);
    let pulling = pull_peer(&app.database, &app.guard, place, options);
    let report = beta.hub.runtime.block_on(pulling).expect("a pull");
    assert_eq!(report.new, 1);
    // The database knows the name of the variable, never the token.
    assert_eq!(
        beta.hub.tables_holding(&acme.hub.acme.peer),
        Vec::<String>::new()
    );
}

static PEER_TOKEN: std::sync::OnceLock<String> = std::sync::OnceLock::new();

fn stored_token(name: &str) -> Option<String> {
    (name == "KEN_PEER_ACME").then(|| PEER_TOKEN.get().cloned())?
}

#[test]
fn a_peer_is_added_only_with_the_key_that_people_compared_and_never_as_ones_own() {
    let acme = FederatedHub::start(PublicationAudience::Public);
    let beta = FederatedHub::start(PublicationAudience::Public);
    let add = |hub: &FederatedHub, change: &dyn Fn(&mut AddPeerRequest)| {
        let mut request = hub.request("acme", &acme, 1);
        change(&mut request);
        let organization = hub.hub.acme.organization;
        let by = AuditActor::Operator(None);
        let adding = add_peer(&hub.hub.app.database, organization, request, no_token, by);
        hub.hub.runtime.block_on(adding).map(drop)
    };
    let other = beta.signer.key().fingerprint();
    let refused = add(&beta, &|it| it.fingerprint.clone_from(&other)).expect_err("a key");
    assert!(matches!(refused, HubFederationError::OtherKey), "{refused}");
    // The publisher allows no copies, so no other server may have them.
    let refused = add(&beta, &|it| it.hops = 2).expect_err("a relay");
    assert!(matches!(refused, HubFederationError::NoRelay), "{refused}");
    let refused = add(&acme, &|_| {}).expect_err("its own");
    assert!(
        matches!(refused, HubFederationError::OwnPublication),
        "{refused}"
    );
    // Plain HTTP leaves this machine only encrypted.
    let refused = add(&beta, &|it| {
        it.source = PublicationSource::parse("http://192.0.2.1/federation/v1/x/y");
    });
    let refused = refused.expect_err("an address").to_string();
    assert!(refused.contains("https"), "{refused}");
    add(&beta, &|_| {}).expect("a peer");
}

#[test]
fn a_hub_never_publishes_what_came_from_a_peer() {
    let acme = FederatedHub::start(PublicationAudience::Public);
    let beta = FederatedHub::start(PublicationAudience::Public);
    acme.publish(1, RETRIES);
    beta.subscribe("acme", &acme, 1);
    beta.pull("acme");
    beta.approve_all("acme");
    assert_eq!(beta.foreign("bound retries of idempotent requests"), 1);
    assert_eq!(beta.update().added, 0);
    for file in ["publication.json", "head.json", "orders.jsonl"] {
        assert!(!beta.file(file).text().contains("jitter"), "{file}");
    }
    // Nor under a name of its own: it was never approved as an entry of the organization.
    let database = &beta.hub.app.database;
    let services = beta.hub.app.service_context();
    let review = review_publication(database, &services, beta.hub.acme.organization, "partners");
    let review = beta.hub.runtime.block_on(review).expect("a review");
    assert!(review.waiting.is_empty() && review.approved.is_empty());
}

#[test]
fn a_closed_publication_takes_everything_back() {
    let acme = FederatedHub::start(PublicationAudience::Public);
    let beta = FederatedHub::start(PublicationAudience::Public);
    acme.publish(1, RETRIES);
    beta.subscribe("acme", &acme, 1);
    beta.pull("acme");
    beta.approve_all("acme");
    let place = (acme.hub.acme.organization, "partners");
    let by = AuditActor::Operator(None);
    let closing = close_publication(&acme.hub.app.database, place, &acme.signer, by);
    let closed = acme.hub.runtime.block_on(closing).expect("closed");
    assert_eq!(closed.withdrawn, 1);
    assert_eq!(beta.pull("acme").withdrawn, 1);
    assert_eq!(beta.foreign("bound retries of idempotent requests"), 0);
    let batch = format!("{}/1.json", closed.place.expect("a place").epoch);
    assert!(!acme.file(&batch).text().contains("jitter"));
}

#[test]
fn a_word_that_a_policy_never_shows_keeps_an_entry_here() {
    let acme = FederatedHub::start(PublicationAudience::Public);
    let (entry, _) = acme.teach(
        1,
        "Project Falcon retries idempotent requests",
        "rust/async",
    );
    let refused = acme.allow(&[entry]).expect_err("blocked");
    assert!(
        matches!(refused, HubFederationError::Blocked { .. }),
        "{refused}"
    );
    let answers = acme.update();
    assert_eq!(answers.added, 0);
    for file in ["publication.json", "head.json", "orders.jsonl"] {
        assert!(!acme.file(file).text().contains("Falcon"), "{file}");
    }
}
