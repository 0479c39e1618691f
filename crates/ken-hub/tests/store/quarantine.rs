//! Quarantined events: outside the log until they are released.

use ken_core::ledger::store::DerivedStore as _;
use ken_testkit::build::EventWriter;

use crate::environment::{StoreTestEnvironment, pusher};

#[test]
fn a_quarantined_event_is_not_in_the_log_until_it_is_released() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    let mut scribe = EventWriter::new(1);
    let (first, one) = scribe.propose("One");
    let (second, two) = scribe.propose("Two");
    let quarantined = workspace
        .ask(async |tenant| {
            for copy in [&one, &two, &one] {
                tenant
                    .quarantine_event(copy, "looks like an instruction", &pusher("agent:x"))
                    .await?;
            }
            let first = tenant.quarantined_events(None, 1).await?;
            let rest = tenant
                .quarantined_events(Some(first[0].copy.event.id), 10)
                .await?;
            Ok([first, rest].concat())
        })
        .unwrap();
    assert_eq!(quarantined.len(), 2);
    assert_eq!(quarantined[0].finding, "looks like an instruction");
    assert_eq!(workspace.state().unwrap().entries.len(), 0);
    workspace
        .ask(async |tenant| {
            let released = tenant.take_quarantined_event(one.event.id).await?;
            tenant.append(vec![released.unwrap().copy]).await?;
            assert!(tenant.take_quarantined_event(two.event.id).await?.is_some());
            assert!(tenant.take_quarantined_event(two.event.id).await?.is_none());
            assert_eq!(tenant.quarantined_events(None, 10).await?, []);
            Ok(())
        })
        .unwrap();
    assert!(workspace.entry(first).unwrap().is_some());
    assert!(workspace.entry(second).unwrap().is_none());
}
