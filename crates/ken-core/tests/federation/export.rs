//! What leaves and what never does (L5).

use ken_core::federation::{ExportBarrier, ExportPolicy, exported_content};
use ken_core::values::content::Content;
use proptest::prelude::*;

use crate::support::{content, policy, tag};

proptest! {
    /// Code locations, steps, globs, other tags and other conditions never leave.
    #[test]
    fn only_what_the_policy_names_leaves(
        tags in prop::collection::vec("(shared|private)/[a-z]{1,8}", 0..12),
        conditions in prop::collection::vec(
            prop_oneof![
                Just("file:src/canary.rs"), Just("fact:canary"), Just("pkg:cargo/tokio@>=1.40"),
                Just("not pkg:cargo/tokio@>=1.40"), Just("text:src/**:canary"),
            ],
            0..5,
        ),
    ) {
        let mut whole = content("A lesson");
        whole.tags = tags.iter().map(|it| tag(it)).collect();
        whole.depends_on = conditions.iter().map(|it| it.parse().unwrap()).collect();
        whole.anchors = vec![serde_json::from_str(r#"{"at":"src/canary.rs#canary"}"#).unwrap()];
        whole.verify = vec!["Read canary.rs".parse().unwrap()];
        whole.applies_to = vec!["src/canary/**".parse().unwrap()];
        let left: Content = exported_content(&whole, &policy());
        let bytes = serde_json::to_string(&left).unwrap();
        prop_assert!(!bytes.contains("canary"), "{bytes}");
        prop_assert!(!bytes.contains("private"), "{bytes}");
        prop_assert!(left.tags.len() <= 8);
        prop_assert!(left.depends_on.iter().all(|it| it.as_str() == "pkg:cargo/tokio@>=1.40"));
    }
}

#[test]
fn the_default_policy_names_no_topic_and_every_publishable_kind() {
    assert_eq!(ExportPolicy::KINDS.len(), 8);
    let barrier = ExportBarrier::Topic;
    assert_eq!(
        barrier.to_string(),
        "no topic of the publication covers its tags"
    );
}
