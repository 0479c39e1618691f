//! A hub that publishes and is restored from a backup: what its readers see of it.

use ken_core::values::id::{EntryId, EventId};
use ken_hub::store::PublicationAudience;
use serde_json::Value;

use crate::federation::FederatedHub;

const RETRIES: &str = "Bound retries of idempotent requests at three attempts with jitter";

impl FederatedHub {
    /// Copies the tables of publications, as a backup has them.
    fn back_up_publications(&self) {
        let _ = self.hub.database.sql(
            "CREATE TABLE public.dump_b AS SELECT * FROM ken.publication_batches;
             CREATE TABLE public.dump_l AS SELECT * FROM ken.publication_lines;
             CREATE TABLE public.dump_p AS SELECT * FROM ken.publications",
        );
    }

    fn restore_publications(&self) {
        let _ = self.hub.database.sql(
            "DELETE FROM ken.publications; INSERT INTO ken.publications SELECT * FROM public.dump_p;
             INSERT INTO ken.publication_batches SELECT * FROM public.dump_b;
             INSERT INTO ken.publication_lines SELECT * FROM public.dump_l",
        );
    }

    /// Changes the topic that the policy lets out.
    fn change_topic(&self, from: &str, to: &str) {
        let change =
            format!("UPDATE ken.publications SET policy = replace(policy, '{from}', '{to}')");
        let _ = self.hub.database.sql(&change);
    }
}

#[test]
fn a_restored_database_begins_a_new_epoch_and_forks_nothing() {
    let acme = FederatedHub::start(PublicationAudience::Public);
    let beta = FederatedHub::start(PublicationAudience::Public);
    acme.publish(1, RETRIES);
    beta.subscribe("acme", &acme, 1);
    beta.pull("acme");
    beta.approve_all("acme");
    acme.back_up_publications();
    // Published after the dump, so the restored database does not know it, and a reader does.
    let (entry, _) = acme.publish(
        2,
        "Close a channel from the sending side to end a worker loop",
    );
    beta.pull("acme");
    acme.restore_publications();
    let update = acme.update();
    assert!(update.new_epoch);
    let pulled = beta.pull("acme");
    assert_eq!(
        (pulled.stopped, pulled.new),
        (None, 0),
        "the same words are the same lines"
    );
    assert_eq!(beta.approve_all("acme"), 1, "{entry} waited all the time");
    assert_eq!(beta.foreign("bound retries of idempotent requests"), 1);
    let peers = beta.hub.get("/v1/peers", &beta.hub.acme.curator).json();
    assert_eq!(peers["items"][0]["suspended"], Value::Null);
}

#[test]
fn an_approved_entry_that_a_restored_publisher_signs_again_is_found_again() {
    let (acme, beta, _) = published_after_a_backup();
    acme.restore_publications();
    acme.change_topic("rust", "none");
    assert!(acme.update().new_epoch);
    let _ = beta.pull("acme");
    assert_eq!(beta.foreign("retry idempotent requests"), 0);
    // The same words are the same line, which a person here approved.
    acme.change_topic("none", "rust");
    assert_eq!(acme.update().added, 1);
    let _ = beta.pull("acme");
    assert_eq!(beta.waiting("acme"), [] as [Value; 0]);
    assert_eq!(beta.foreign("retry idempotent requests"), 1);
}

#[test]
fn a_redaction_reaches_lines_that_a_restored_database_lost() {
    let (acme, beta, (entry, proposal)) = published_after_a_backup();
    acme.restore_publications();
    acme.change_topic("rust", "none");
    assert!(acme.update().new_epoch);
    let _ = beta.pull("acme");
    assert!(!beta.hub.tables_holding("jitter").is_empty());
    acme.redact(entry, proposal);
    assert_eq!(acme.update().redacted, 1);
    assert_eq!(beta.pull("acme").redacted, 1);
    assert_eq!(beta.hub.tables_holding("jitter"), [] as [String; 0]);
}

/// Returns a publisher whose backup lacks what it published, a reader that approved it, and its
/// entry and event.
fn published_after_a_backup() -> (FederatedHub, FederatedHub, (EntryId, EventId)) {
    let acme = FederatedHub::start(PublicationAudience::Public);
    let beta = FederatedHub::start(PublicationAudience::Public);
    acme.back_up_publications();
    let published = acme.publish(1, RETRIES);
    beta.subscribe("acme", &acme, 1);
    let _ = beta.pull("acme");
    assert_eq!(beta.approve_all("acme"), 1);
    assert_eq!(beta.foreign("retry idempotent requests"), 1);
    (acme, beta, published)
}
