//! The request to record decisions: once per conversation, and only after one was made.

use serde_json::json;

use crate::hooks::{HookTestEnvironment, context_text};

const TASK: &str = "the importer drops rows, please have a look";
const DECISION: &str = "No, never drop rows silently. Every refused row must go to rejects.csv";

impl HookTestEnvironment {
    fn ask(&self, session: &str, prompt: &str) {
        let _ = self.event(session, "prompt", json!({"prompt": prompt}));
    }

    fn stop(&self, session: &str, said: &str) -> String {
        let said = json!({"last_assistant_message": said});
        context_text(&self.event(session, "stop", said))
    }
}

#[test]
fn a_stop_asks_once_for_what_the_user_decided() {
    let house = HookTestEnvironment::new();
    let _ = house.start("s1");
    house.ask("s1", TASK);
    assert_eq!(
        house.stop("s1", "Looking at it."),
        "",
        "nothing was decided"
    );
    house.ask("s1", DECISION);
    let asked = house.stop("s1", "Done.");
    assert!(asked.contains("--kind decision"), "{asked}");
    assert!(asked.contains("--cite transcript:s1"), "{asked}");
    house.ask("s1", DECISION);
    assert_eq!(house.stop("s1", "Done."), "", "asked once");
}

#[test]
fn a_last_message_that_settles_something_is_asked_for() {
    let house = HookTestEnvironment::new();
    let _ = house.start("s1");
    house.ask("s1", TASK);
    let settled = "Settled: every refused row goes to rejects.csv, with its reason.";
    assert!(house.stop("s1", settled).contains("--kind decision"));
}

#[test]
fn the_task_itself_and_recorded_decisions_are_not_asked_for() {
    let house = HookTestEnvironment::new();
    let _ = house.start("s1");
    house.ask("s1", DECISION);
    assert_eq!(
        house.stop("s1", "Done."),
        "",
        "the first prompt is the task"
    );
    house.ask("s1", DECISION);
    let rule = "Every refused row goes to rejects.csv";
    house.as_agent("s1", &["add", rule, "--kind", "decision"]);
    assert_eq!(house.stop("s1", "Done."), "", "it is recorded");
}

#[test]
fn a_compacted_session_is_asked_for_earlier_decisions() {
    let house = HookTestEnvironment::new();
    let _ = house.start("s1");
    house.ask("s1", TASK);
    house.ask("s1", DECISION);
    let compacted = json!({"source": "compact"});
    let said = context_text(&house.event("s1", "start", compacted));
    assert!(said.contains("--kind decision"), "{said}");
    assert_eq!(house.stop("s1", "Done."), "", "asked once");
}
