//! Notes of open runs: order, and deletion with the run.

use crate::environment::StoreTestEnvironment;

#[test]
fn notes_of_a_run_are_kept_in_order_until_it_is_closed() {
    let world = StoreTestEnvironment::new();
    let workspace = world.workspace("w");
    workspace
        .ask(async |tenant| {
            let none = tenant.append_run_notes("r", &["early".into()]).await?;
            assert_eq!(none, None);
            assert!(tenant.insert_run("r", "agent:x").await?);
            assert!(!tenant.insert_run("r", "agent:y").await?);
            let notes = ["a".to_owned(), "bc".to_owned()];
            let two = tenant.append_run_notes("r", &notes).await?;
            assert_eq!(two, Some((2, 3)));
            // A run from before its notes were counted is counted anew.
            let forget = "UPDATE ken.runs SET notes = NULL, bytes = NULL";
            sqlx::query(forget).execute(tenant.connection()).await?;
            let three = tenant.append_run_notes("r", &["d".into()]).await?;
            assert_eq!(three, Some((3, 4)));
            assert_eq!(tenant.run_notes("r").await?, ["a", "bc", "d"]);
            assert_eq!(tenant.open_runs("I-", 10).await?.len(), 1);
            assert!(tenant.delete_open_run("r").await?);
            assert!(!tenant.delete_open_run("r").await?);
            let none = tenant.append_run_notes("r", &["late".into()]).await?;
            assert_eq!(none, None);
            assert_eq!(tenant.run_notes("r").await?, [] as [String; 0]);
            assert_eq!(tenant.open_runs("I-", 10).await?, []);
            Ok(())
        })
        .unwrap();
}
