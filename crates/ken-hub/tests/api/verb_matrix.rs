//! Authority matrix of the verbs: role × verb × own or other's entry × REST, MCP and push.
//!
//! A verb writes events of a type, and the rules about pushed events of that type decide over every
//! protocol. So a row names the event type, and the expected answer is that of
//! [`push_matrix`](crate::push_matrix). The verbs come from the OpenAPI document and from the list
//! of tools: one without a row fails the test.

use std::collections::BTreeSet;

use ken_hub::ids::Role;
use ken_testkit::build::EventWriter;
use serde_json::{Value, json};

use crate::hub::ApiHubEnvironment;
use crate::matrix::read_operations;
use crate::mcp_client::{call_tool, list_tools};
use crate::push_matrix::{
    EFFECTS, Effect, Expected, TOKENS, Targets, expected, fresh_targets, push_own_event,
};

/// What an operation or tool writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    /// Nothing.
    Nothing,
    /// Events of this type.
    Events(&'static str),
    /// Settings of the caller, who has to be a person.
    OwnOverlays,
}

use Writes::{Events, Nothing, OwnOverlays};

/// Every operation with the tag `verbs`.
const VERBS: &[(&str, Writes)] = &[
    ("confirm_entry", Events("entry.confirmed")),
    ("edit_entry", Events("entry.revised")),
    ("cite_entry", Events("entry.cited")),
    ("retract_entry", Events("entry.retracted")),
    ("resolve_contradiction", Events("contradiction.resolved")),
    ("redact_event", Events("event.blanked")),
    ("revoke_source", Events("origin.revoked")),
    ("revoke_everywhere", Events("origin.revoked")),
    ("pin_entry", OwnOverlays),
    ("mute_entry", OwnOverlays),
];

/// Every tool of the hub.
const TOOLS: &[(&str, Writes)] = &[
    ("ken_search", Nothing),
    ("ken_show", Nothing),
    ("ken_add", Events("entry.proposed")),
    ("ken_feedback", Events("feedback.given")),
    ("ken_check", Nothing),
    ("ken_edit", Events("entry.revised")),
    ("ken_cite", Events("entry.cited")),
];

fn effect_of(event_type: &str) -> Effect {
    let mut rows = EFFECTS.iter();
    let row = rows.find(|(name, _)| *name == event_type);
    row.unwrap_or_else(|| panic!("{event_type} is no event type"))
        .1
}

/// Returns the path and the body of a verb.
fn request(verb: &str, at: &Targets, n: usize) -> (String, Value) {
    let entry = at.entry;
    let in_shop = |rest: String| format!("/v1/workspaces/shop/{rest}");
    let about = |name: &str| in_shop(format!("entries/{entry}/{name}"));
    match verb {
        "confirm_entry" => (about("confirm"), json!({})),
        "edit_entry" => (about("edit"), json!({"verify": ["make drill"]})),
        "cite_entry" => (about("cite"), json!({"cites": ["pr:7"]})),
        "retract_entry" => (about("retract"), json!({"reason": "obsolete"})),
        "pin_entry" => (about("pin"), json!({})),
        "mute_entry" => (about("mute"), json!({})),
        "resolve_contradiction" => (
            in_shop("resolve".to_owned()),
            json!({"one": entry.to_string(), "other": at.other.to_string(), "both": true}),
        ),
        "redact_event" => (
            in_shop(format!("events/{}/redact", at.own_event)),
            json!({"reason": "other"}),
        ),
        "revoke_source" => (
            in_shop("revoke".to_owned()),
            json!({"author": format!("peer:nobody-{n}")}),
        ),
        "revoke_everywhere" => (
            "/v1/revoke".to_owned(),
            json!({"author": format!("peer:somebody-{n}")}),
        ),
        other => panic!("{other} has no sample"),
    }
}

/// Returns the arguments of a tool.
fn arguments(tool: &str, at: &Targets, n: usize) -> Value {
    let id = at.entry.to_string();
    match tool {
        "ken_search" => json!({"query": "refunds"}),
        "ken_show" => json!({"id": id}),
        "ken_add" => {
            json!({"statement": format!("Case {n} of the ledger needs a second reader"), "cites": ["pr:7"]})
        }
        "ken_feedback" => json!({"id": id, "helpful": true}),
        "ken_check" => json!({"paths": ["src/pay.rs"]}),
        "ken_edit" => json!({"id": id, "verify": ["make drill"]}),
        "ken_cite" => json!({"id": id, "cites": ["pr:7"]}),
        other => panic!("{other} has no sample"),
    }
}

fn expected_over_rest(token: (Role, &str), writes: Writes, is_protected: bool) -> u16 {
    let is_person = token.1.starts_with("human:");
    match writes {
        OwnOverlays if is_person => 200,
        OwnOverlays => 403,
        Nothing => 200,
        Events(name) => match expected(token, effect_of(name), token.1, is_protected) {
            Expected::Forbidden | Expected::Refused => 403,
            Expected::Admitted => 200,
            Expected::Waits => 202,
        },
    }
}

#[test]
fn every_verb_and_every_tool_has_a_row() {
    let hub = ApiHubEnvironment::start();
    let found = read_operations(&hub).into_iter();
    let found: BTreeSet<String> = found
        .filter(|it| it.tag == "verbs")
        .map(|it| it.id)
        .collect();
    let rows: BTreeSet<String> = VERBS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, rows);
    let listed = list_tools(&hub, &hub.acme.admin);
    let rows: Vec<&str> = TOOLS.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, rows);
}

#[test]
fn a_token_is_shown_the_tools_it_may_use() {
    let hub = ApiHubEnvironment::start();
    for (role, actor) in TOKENS {
        let listed = list_tools(&hub, &hub.token_of(role, actor));
        let may = |writes: Writes| writes == Nothing || role > Role::Reader;
        let rows = TOOLS.iter().filter(|(_, writes)| may(*writes));
        let rows: Vec<&str> = rows.map(|(name, _)| *name).collect();
        assert_eq!(listed, rows, "{role} {actor}");
    }
}

#[test]
fn tokens_times_verbs_times_entries_over_rest_decide_as_a_push_does() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(29);
    let (mut wrong, mut n) = (Vec::new(), 0);
    for (role, actor) in TOKENS {
        let token = hub.token_of(role, actor);
        for (verb, writes) in VERBS {
            for is_protected in [false, true] {
                scribe.now = hub.app.clock.now();
                let own = push_own_event(&hub, &mut scribe, actor);
                let targets = fresh_targets(&hub, &mut scribe, own);
                let at = &targets[usize::from(is_protected)];
                n += 1;
                let (path, body) = request(verb, at, n);
                let answer = hub.post(&path, &token, &body.to_string());
                let expected = expected_over_rest((role, actor), *writes, is_protected);
                if answer.status != expected {
                    wrong.push(format!(
                        "{verb} with {role} {actor}, protected {is_protected}: {} instead of {expected}: {}",
                        answer.status,
                        answer.text()
                    ));
                }
                if answer.status == 403 {
                    answer.problem("forbidden");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tokens_times_tools_times_entries_over_mcp_decide_as_a_push_does() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(30);
    let (mut wrong, mut n) = (Vec::new(), 0);
    for (role, actor) in TOKENS {
        let token = hub.token_of(role, actor);
        // Whoever speaks MCP is an agent, with the token of a person, too.
        let by = if actor.starts_with("human:") {
            format!("agent:{actor}/test")
        } else {
            actor.to_owned()
        };
        for (tool, writes) in TOOLS {
            for is_protected in [false, true] {
                scribe.now = hub.app.clock.now();
                let own = push_own_event(&hub, &mut scribe, actor);
                let targets = fresh_targets(&hub, &mut scribe, own);
                let at = &targets[usize::from(is_protected)];
                n += 1;
                if *tool == "ken_feedback" {
                    // Only an agent that was shown an entry can rate it.
                    call_tool(&hub, &token, "ken_show", &arguments("ken_show", at, n));
                }
                let mut asked = arguments(tool, at, n);
                asked["format"] = json!("json");
                let told = call_tool(&hub, &token, tool, &asked);
                let found = match (&told["isError"], &told["structuredContent"]["verdict"]) {
                    (Value::Bool(true), _) => Expected::Refused,
                    (_, verdict) if verdict == "quarantined" => Expected::Waits,
                    (_, _) => Expected::Admitted,
                };
                let expected = match writes {
                    Nothing | OwnOverlays => Expected::Admitted,
                    Events(name) => {
                        match expected((role, actor), effect_of(name), &by, is_protected) {
                            Expected::Forbidden | Expected::Refused => Expected::Refused,
                            Expected::Admitted => Expected::Admitted,
                            Expected::Waits => Expected::Waits,
                        }
                    }
                };
                if found != expected {
                    wrong.push(format!(
                        "{tool} with {role} {actor}, protected {is_protected}: {found:?}, not {expected:?}: {told}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
