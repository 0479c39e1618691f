//! Notes of open runs: order, and deletion with the run.

use crate::environment::StoreTestEnvironment;

#[test]
fn notes_of_a_run_are_kept_in_order_until_it_is_closed() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    workspace
        .ask(async |tenant| {
            assert!(!tenant.append_run_notes("r", &["early".into()]).await?);
            assert!(tenant.insert_run("r", "agent:x").await?);
            assert!(!tenant.insert_run("r", "agent:y").await?);
            assert!(
                tenant
                    .append_run_notes("r", &["a".into(), "b".into()])
                    .await?
            );
            assert!(tenant.append_run_notes("r", &["c".into()]).await?);
            assert_eq!(tenant.run_notes("r").await?, ["a", "b", "c"]);
            assert_eq!(tenant.open_runs("I-", 10).await?.len(), 1);
            assert!(tenant.delete_open_run("r").await?);
            assert!(!tenant.delete_open_run("r").await?);
            assert!(!tenant.append_run_notes("r", &["late".into()]).await?);
            assert_eq!(tenant.run_notes("r").await?, [] as [String; 0]);
            assert_eq!(tenant.open_runs("I-", 10).await?, []);
            Ok(())
        })
        .unwrap();
}
