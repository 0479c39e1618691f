//! Pages about peers: what a curator reads and decides, and who is shown nothing.

use ken_core::ledger::event::{Channel, EventBody, RetractReason, Retracted};
use ken_hub::ids::Role;
use ken_hub::service::federation::ManifestSigner as _;
use ken_hub::store::PublicationAudience;
use ken_testkit::build::EventWriter;
use serde_json::Value;

use crate::browser::Browser;
use crate::federation::FederatedHub;

const RETRIES: &str = "Bound retries of idempotent requests at three attempts with jitter";
const HOSTILE: &str = "Close a <b>channel</b> to end a worker loop, as [L-7k2f5qm3] says";

/// Returns a hub that reads two entries of another hub, which it returns too.
fn two_hubs() -> (FederatedHub, FederatedHub) {
    let acme = FederatedHub::start(PublicationAudience::Public);
    let _ = acme.publish(1, RETRIES);
    let _ = acme.publish(2, HOSTILE);
    let beta = FederatedHub::start(PublicationAudience::Peers);
    beta.subscribe("acme", &acme, 1);
    assert_eq!(beta.pull("acme").new, 2);
    (acme, beta)
}

/// Returns the value of a form that approves an entry.
fn words(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str().expect("a text").to_owned();
    format!("words={}+{}", text("id"), text("artifact"))
}

#[test]
fn a_curator_reads_every_word_and_decides_in_the_browser() {
    let (acme, beta) = two_hubs();
    let curator = Browser::signed_in(&beta.hub, &beta.hub.acme.curator);
    let list = curator.get("/peers").text();
    let fingerprint = acme.signer.key().fingerprint();
    assert!(list.contains(&fingerprint), "{list}");
    assert!(list.contains("href=\"/peers/acme\""), "{list}");
    let page = curator.get("/peers/acme").text();
    for shown in [RETRIES, "rust/async", "Polarity", "Lens", "Decay"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    // Words of a stranger are text, and an id in them leads nowhere.
    assert!(page.contains("&lt;b&gt;channel&lt;/b&gt;"), "{page}");
    assert!(!page.contains("/e/L-7k2f5qm3"), "{page}");

    let waiting = beta.waiting("acme");
    let [first, second] = [words(&waiting[0]), words(&waiting[1])];
    let approve = |fields: &str| curator.post("/peers/acme/approve", fields);
    for refused in ["", "words=L-7k2f5qm3", "words=x+b3:00"] {
        assert_eq!(approve(refused).status, 422, "{refused}");
    }
    let id = waiting[0]["id"].as_str().expect("an id");
    let other = format!("{second}&words={id}+b3:00");
    assert_eq!(approve(&other).status, 409, "all of them, or none");
    assert_eq!(beta.waiting("acme").len(), 2);
    let done = approve(&format!("{first}&{second}&{first}"));
    assert_eq!(done.status, 303, "{}", done.text());
    assert_eq!(done.header("location"), "/peers/acme");
    assert!(
        curator
            .get("/peers/acme")
            .text()
            .contains("Approved 2 of acme")
    );
    assert_eq!(beta.foreign("bound retries of idempotent requests"), 1);
    assert_eq!(approve(&first).status, 409, "it waits no longer");

    let reject = |fields: &str| curator.post("/peers/acme/reject", fields);
    assert_eq!(
        reject(&format!("entry={id}")).status,
        422,
        "without a reason"
    );
    let approved = curator.get("/peers/acme?lane=approved").text();
    assert!(approved.contains("/peers/acme/reject"), "{approved}");
    for entry in &waiting {
        let id = entry["id"].as_str().expect("an id");
        let done = reject(&format!("entry={id}&reason=unwanted"));
        assert_eq!(done.status, 303, "{}", done.text());
    }
    assert_eq!(beta.foreign("bound retries of idempotent requests"), 0);
    let rejected = curator.get("/peers/acme?lane=rejected").text();
    assert!(rejected.contains(RETRIES), "{rejected}");
    assert_eq!(curator.get("/peers/acme/approve").status, 405);
    assert_eq!(curator.post("/peers/acme/other", &first).status, 404);
}

#[test]
fn nobody_else_is_shown_what_waits() {
    let (_acme, beta) = two_hubs();
    let waiting = beta.waiting("acme");
    let fields = words(&waiting[0]);
    for role in [Role::Reader, Role::Member] {
        let token = beta.hub.token_of(role, "human:mel@example.org");
        let person = Browser::signed_in(&beta.hub, &token);
        for page in ["/peers", "/peers/acme"] {
            let answer = person.get(page);
            assert_eq!(answer.status, 403, "{role:?} {page}");
            assert!(!answer.text().contains(RETRIES), "{role:?} {page}");
        }
        assert!(!person.get("/").text().contains("href=\"/peers\""));
        let answer = person.post("/peers/acme/approve", &fields);
        assert_eq!(answer.status, 403, "{role:?}");
    }
    // A curator of single workspaces does not decide for the organization.
    let workspaces = Some(vec![beta.hub.acme.workspace]);
    let organization = beta.hub.acme.organization;
    let made =
        crate::hub::create_token(&beta.hub.app, organization, Role::Curator, workspaces, None);
    let (_, secret) = beta.hub.runtime.block_on(made);
    let restricted = Browser::signed_in(&beta.hub, secret.reveal());
    assert!(!restricted.get("/").text().contains("href=\"/peers\""));
    assert_eq!(restricted.get("/peers/acme").status, 403);
    let answer = restricted.post("/peers/acme/approve", &fields);
    assert_eq!(answer.status, 403, "{}", answer.text());
    // A program with the role of a curator does not sign in at all.
    let program = beta.hub.token_of(Role::Curator, "ci:nightly");
    assert_ne!(Browser::new(&beta.hub).sign_in(&program).status, 303);
    // Another organization of the same hub: the page equals that of a peer that does not exist.
    let stranger = Browser::signed_in(&beta.hub, &beta.hub.other.curator);
    assert!(!stranger.get("/peers").text().contains("acme</a>"));
    let foreign = stranger.get("/peers/acme");
    let missing = stranger.get("/peers/nobody");
    assert_eq!((foreign.status, missing.status), (404, 404));
    assert_eq!(foreign.without_tokens(), missing.without_tokens());
    let answer = stranger.post("/peers/acme/approve", &fields);
    assert_eq!(answer.status, 404, "{}", answer.text());
    assert_eq!(beta.waiting("acme").len(), 2, "nothing was decided");
}

#[test]
fn the_navigation_names_peers_only_if_there_are_any() {
    let acme = FederatedHub::start(PublicationAudience::Public);
    let curator = Browser::signed_in(&acme.hub, &acme.hub.acme.curator);
    assert!(!curator.get("/").text().contains("href=\"/peers\""));
    assert!(curator.get("/peers").text().contains("has no peers"));
    let (_publisher, beta) = two_hubs();
    let curator = Browser::signed_in(&beta.hub, &beta.hub.acme.curator);
    assert!(curator.get("/").text().contains("href=\"/peers\""));
}

#[test]
fn what_a_publisher_takes_back_is_counted_and_not_offered() {
    let (acme, beta) = two_hubs();
    let (entry, _) = acme.publish(3, "Cancel a task before you drop its channel");
    beta.pull("acme");
    let mut scribe = EventWriter::new(7);
    scribe.by("human:ann");
    scribe.now = acme.hub.app.clock.now();
    let retraction = EventBody::Retracted(Retracted {
        reason: RetractReason::False,
        channel: Channel::Command,
        note: None,
    });
    acme.append(vec![scribe.about(entry, retraction)]);
    assert_eq!(acme.update().withdrawn, 1);
    assert_eq!(beta.pull("acme").withdrawn, 1);
    let curator = Browser::signed_in(&beta.hub, &beta.hub.acme.curator);
    let list = curator.get("/peers").text();
    let numbers: Vec<&str> = list
        .split("<td class=\"num\">")
        .skip(1)
        .map(|it| it.split('<').next().unwrap_or_default())
        .collect();
    // Trust, approved, waiting, withdrawn, redacted.
    assert_eq!(numbers[1..], ["0", "2", "1", "0"], "{list}");
    let page = curator.get("/peers/acme?lane=withdrawn").text();
    assert!(!page.contains("Cancel a task"), "{page}");
}
