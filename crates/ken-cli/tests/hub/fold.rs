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
    let token = site.token("curator", "human:ada@example.org");
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
        let clone = |seed: u64| {
            let env = site.create_clone_as(seed, &token);
            let url = format!("http://127.0.0.1:{}/{workspace}", site.port);
            let _ = env
                .run_with(&token, ["remote", "add", "case", &url, "--token-stdin"])
                .success();
            env
        };
        let (one, other) = (clone(count * 2), clone(count * 2 + 1));
        write_merged_lines(&one, &history.copies);
        let pushed = one.run(["push", "case", "--format", "json"]).json();
        let not_taken: BTreeSet<String> = ["refused", "quarantined"]
            .iter()
            .flat_map(|it| pushed[it].as_array().cloned().unwrap_or_default())
            .map(|it| it["event"].as_str().unwrap().to_owned())
            .collect();
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
            prop_assert_eq!(state_hash(&one), state_hash(&other));
        }
        Ok(())
    });
    run.unwrap();
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
