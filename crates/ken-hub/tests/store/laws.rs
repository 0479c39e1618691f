//! A log that grew in any order gives the fold, and so does rebuilding it, evicting it, and pulling it elsewhere.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use ken_core::event::Recorded;
use ken_core::id::EventId;
use ken_core::store::{Delta, Store as _};
use ken_hub::store::Outcome;
use ken_remote::wire::Cursor;
use ken_testkit::any_event::{History, STEPS, any_histories};
use ken_testkit::laws;
use proptest::prelude::*;

use crate::world::{Blocking, World};

/// Cases each law is tried with; a case is some dozens of transactions.
fn cases() -> u32 {
    if laws::is_long() { 2_000 } else { 60 }
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: cases(),
        max_shrink_iters: 300,
        ..ProptestConfig::default()
    }
}

static WORLD: LazyLock<Arc<World>> = LazyLock::new(World::new);

fn workspace() -> Blocking {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    WORLD.workspace(&format!("w{}", COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// Appends copies in portions of different sizes, some of them as a push is.
fn append(workspace: &Blocking, copies: &[Recorded], seed: u64) {
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

/// Reads the whole log, a few events at a time.
fn pull(workspace: &Blocking) -> Vec<(u64, EventId, String)> {
    let (mut all, mut cursor) = (Vec::new(), Cursor::default());
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

fn check(history: &History, seed: u64) -> Result<(), TestCaseError> {
    let workspace = workspace();
    let copies = laws::deliveries(history, seed);
    let folded = laws::state_of(&history.copies, &[]);
    append(&workspace, &copies, seed);
    prop_assert_eq!(workspace.state().unwrap().to_bytes(), folded.to_bytes());

    // Everything again changes nothing.
    let before = pull(&workspace);
    let told = workspace
        .ask(async |tenant| tenant.append(copies.clone()).await)
        .unwrap();
    prop_assert!(
        told.outcomes.iter().all(|it| *it == Outcome::Known),
        "{:?}",
        told.outcomes
    );
    prop_assert_eq!(&pull(&workspace), &before);

    workspace.rebuild();
    prop_assert_eq!(workspace.state().unwrap().hash(), folded.hash());
    workspace.evict();
    prop_assert_eq!(workspace.state().unwrap().hash(), folded.hash());

    // Places only grow, and an empty clone that pulls them all folds the same.
    prop_assert!(before.is_sorted_by(|a, b| a.0 < b.0));
    let ids: BTreeSet<EventId> = before.iter().map(|(_, id, _)| *id).collect();
    prop_assert_eq!(ids.len(), before.len());
    let lines = before
        .iter()
        .map(|(_, _, line)| Recorded::parse(line.as_bytes()).unwrap());
    let pulled: Vec<Recorded> = lines.collect();
    prop_assert_eq!(laws::state_of(&pulled, &[]).hash(), folded.hash());
    Ok(())
}

/// What is remembered as blanked stays so, whenever that is said.
fn check_memory(history: &History, seed: u64) -> Result<(), TestCaseError> {
    let mut workspace = workspace();
    let copies = laws::deliveries(history, seed);
    let cut = seed as usize % (copies.len() + 1);
    append(&workspace, &copies[..cut], seed);
    workspace
        .apply(Delta {
            blanked: &history.remembered,
            ..Delta::default()
        })
        .unwrap();
    append(&workspace, &copies[cut..], seed);
    let folded = laws::state_of(&history.copies, &history.remembered);
    prop_assert_eq!(workspace.state().unwrap().to_bytes(), folded.to_bytes());
    workspace.rebuild();
    prop_assert_eq!(workspace.state().unwrap().to_bytes(), folded.to_bytes());
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn incremental_equals_rebuild_equals_fold(history in any_histories(STEPS), seed: u64) {
        check(&history, seed)?;
    }

    #[test]
    fn what_is_remembered_as_blanked_stays_blanked(history in any_histories(STEPS), seed: u64) {
        check_memory(&history, seed)?;
    }
}
