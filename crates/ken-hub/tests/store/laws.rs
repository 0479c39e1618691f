//! Properties of the store: a log appended in any order gives the fold, and so do rebuilding,
//! evicting and pulling.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::store::{DerivedStore as _, EventDelta};
use ken_core::values::id::EventId;
use ken_hub::store::CopyOutcome;
use ken_remote::wire::LogCursor;
use ken_testkit::any_event::{EventHistory, STEPS, any_histories};
use ken_testkit::laws;
use proptest::prelude::*;

use crate::environment::{BlockingWorkspace, StoreTestEnvironment};

/// Cases per property; a case takes dozens of transactions.
fn case_count() -> u32 {
    if laws::is_long() { 2_000 } else { 60 }
}

fn property_config() -> ProptestConfig {
    ProptestConfig {
        cases: case_count(),
        max_shrink_iters: 300,
        ..ProptestConfig::default()
    }
}

static ENVIRONMENT: LazyLock<Arc<StoreTestEnvironment>> = LazyLock::new(StoreTestEnvironment::new);

fn new_workspace() -> BlockingWorkspace {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    ENVIRONMENT.workspace(&format!("w{}", COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// Appends copies in batches of different sizes, some of them through the fast append.
fn append_in_batches(workspace: &BlockingWorkspace, copies: &[RecordedEvent], seed: u64) {
    let mut rest = copies;
    let mut seed = seed;
    while !rest.is_empty() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let take = 1 + (seed >> 33) as usize % 17;
        let (portion, more) = rest.split_at(take.min(rest.len()));
        let appended = match seed >> 63 {
            0 => workspace.wait(workspace.append(portion.to_vec())),
            _ => workspace
                .ask(async |tenant| tenant.append(portion.to_vec()).await)
                .unwrap(),
        };
        assert_eq!(appended.outcomes.len(), portion.len());
        rest = more;
    }
}

/// Reads the whole log in small pages.
fn pull_log(workspace: &BlockingWorkspace) -> Vec<(u64, EventId, String)> {
    let (mut all, mut cursor) = (Vec::new(), LogCursor::default());
    loop {
        let page = workspace
            .ask(async |tenant| tenant.events_after(cursor, 7).await)
            .unwrap();
        all.extend(page.events.into_iter().map(|it| (it.seq, it.id, it.line)));
        cursor = page.cursor;
        if !page.more {
            return all;
        }
    }
}

fn check_equals_fold(history: &EventHistory, seed: u64) -> Result<(), TestCaseError> {
    let workspace = new_workspace();
    let copies = laws::shuffle_deliveries(history, seed);
    let folded = laws::fold_copies(&history.copies, &[]);
    append_in_batches(&workspace, &copies, seed);
    prop_assert_eq!(
        workspace.state().unwrap().to_canonical_json(),
        folded.to_canonical_json()
    );

    // Appending everything again changes nothing.
    let before = pull_log(&workspace);
    let told = workspace
        .ask(async |tenant| tenant.append(copies.clone()).await)
        .unwrap();
    prop_assert!(
        told.outcomes.iter().all(|it| *it == CopyOutcome::Known),
        "{:?}",
        told.outcomes
    );
    prop_assert_eq!(&pull_log(&workspace), &before);

    workspace.rebuild();
    prop_assert_eq!(workspace.state().unwrap().hash(), folded.hash());
    workspace.evict();
    prop_assert_eq!(workspace.state().unwrap().hash(), folded.hash());

    // Sequence numbers only grow, and an empty clone that pulls all events folds to the same state.
    prop_assert!(before.is_sorted_by(|a, b| a.0 < b.0));
    let ids: BTreeSet<EventId> = before.iter().map(|(_, id, _)| *id).collect();
    prop_assert_eq!(ids.len(), before.len());
    let lines = before
        .iter()
        .map(|(_, _, line)| RecordedEvent::parse(line.as_bytes()).unwrap());
    let pulled: Vec<RecordedEvent> = lines.collect();
    prop_assert_eq!(laws::fold_copies(&pulled, &[]).hash(), folded.hash());
    Ok(())
}

/// Checks that a remembered redaction holds, no matter when it is applied.
fn check_remembered_redaction(history: &EventHistory, seed: u64) -> Result<(), TestCaseError> {
    let mut workspace = new_workspace();
    let copies = laws::shuffle_deliveries(history, seed);
    let cut = seed as usize % (copies.len() + 1);
    append_in_batches(&workspace, &copies[..cut], seed);
    workspace
        .apply(EventDelta {
            blanked: &history.remembered,
            ..EventDelta::default()
        })
        .unwrap();
    append_in_batches(&workspace, &copies[cut..], seed);
    let folded = laws::fold_copies(&history.copies, &history.remembered);
    prop_assert_eq!(
        workspace.state().unwrap().to_canonical_json(),
        folded.to_canonical_json()
    );
    workspace.rebuild();
    prop_assert_eq!(
        workspace.state().unwrap().to_canonical_json(),
        folded.to_canonical_json()
    );
    Ok(())
}

proptest! {
    #![proptest_config(property_config())]

    #[test]
    fn incremental_equals_rebuild_equals_fold(history in any_histories(STEPS), seed: u64) {
        check_equals_fold(&history, seed)?;
    }

    #[test]
    fn what_is_remembered_as_blanked_stays_blanked(history in any_histories(STEPS), seed: u64) {
        check_remembered_redaction(&history, seed)?;
    }
}
