//! Any ledger pushed to a hub, rebuilt there and pulled into an empty clone folds to the same
//! state.

use std::cell::Cell;
use std::collections::BTreeSet;

use ken_hub::database::{DatabaseSettings, HubDatabase};
use ken_hub::ids::{OrganizationId, WorkspaceId};
use ken_testkit::any_event::any_histories;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::site::{HubTestEnvironment, ORGANIZATION, state_hash, write_merged_lines};

/// Number of random histories, and steps per history.
const CASES: u32 = 6;
const STEPS: usize = 40;

#[test]
fn any_ledger_folds_to_the_same_state_at_the_hub_and_in_an_empty_clone() {
    let site = HubTestEnvironment::new();
    // People of the generated histories. Each pushes, because the hub accepts a decision from its
    // author only.
    let people = ["human:ada", "human:bob", "human:eve"].map(|it| site.token("curator", it));
    let cases = Cell::new(0);
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let run = TestRunner::new(config).run(&any_histories(STEPS), |history| {
        let count = cases.get() + 1;
        cases.set(count);
        let workspace = format!("case-{count}");
        let id = site.administer(&["workspace", "add", ORGANIZATION, &workspace]);
        let clone = |seed: u64, token: &str| {
            let env = site.create_clone_as(seed, token);
            let url = format!("http://127.0.0.1:{}/{workspace}", site.port);
            let _ = env
                .run_with(token, ["remote", "add", "case", &url, "--token-stdin"])
                .success();
            env
        };
        let mut not_taken: Option<BTreeSet<String>> = None;
        let ones = people.iter().zip(count * 4..).map(|(token, seed)| {
            let env = clone(seed, token);
            write_merged_lines(&env, &history.copies);
            let pushed = env.run(["push", "case", "--format", "json"]).json();
            let now = not_taken_by(&pushed);
            let before = not_taken.take().unwrap_or_else(|| now.clone());
            not_taken = Some(before.intersection(&now).cloned().collect());
            env
        });
        let ones: Vec<_> = ones.collect();
        let (not_taken, other) = (not_taken.unwrap(), clone(count * 4 + 3, &people[0]));
        site.administer(&["rebuild", ORGANIZATION, &workspace]);
        let pulled = other.run(["pull", "case", "--format", "json"]).json();
        prop_assert_eq!(&pulled["unreadable"], 0);
        let hub = state_at_hub(&site, &id);
        prop_assert_eq!(&pulled["declined"], &serde_json::json!([]));
        prop_assert_eq!(state_hash(&other), hub.1);
        let at_hub: BTreeSet<String> = hub.0.into_iter().collect();
        for copy in &history.copies {
            let id = copy.event.id.to_string();
            prop_assert!(
                at_hub.contains(&id) || not_taken.contains(&id),
                "{id} went astray"
            );
        }
        // If the hub accepted everything, the first clone has the same state too.
        if not_taken.is_empty() {
            prop_assert_eq!(state_hash(&ones[0]), state_hash(&other));
        }
        Ok(())
    });
    run.unwrap();
}

/// Returns the events that a push left out of the log.
fn not_taken_by(pushed: &serde_json::Value) -> BTreeSet<String> {
    let lists = ["refused", "quarantined", "awaiting"];
    let events = lists.iter().flat_map(|it| pushed[it].as_array()).flatten();
    events
        .map(|it| it["event"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the event ids of a workspace's log and the hash of its state, as stored at the hub.
fn state_at_hub(site: &HubTestEnvironment, workspace: &str) -> (Vec<String>, String) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let database = HubDatabase::connect(&DatabaseSettings::new(site.database.url()))
            .await
            .unwrap();
        let sql = format!("select id from ken.organizations where name = '{ORGANIZATION}'");
        let organization = OrganizationId(site.database.sql(&sql).trim().parse().unwrap());
        let workspace = WorkspaceId(workspace.parse().unwrap());
        let mut tenant = database
            .begin_workspace(organization, workspace)
            .await
            .unwrap();
        let state = tenant.state().await.unwrap();
        let sql = format!(
            "select line from ken.events where workspace_id = '{}'",
            workspace.0
        );
        let lines = site.database.sql(&sql);
        let id = |line: &str| {
            ken_core::ledger::event::RecordedEvent::parse(line.as_bytes())
                .unwrap()
                .event
                .id
                .to_string()
        };
        (lines.lines().map(id).collect(), state.hash())
    })
}
