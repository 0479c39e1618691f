//! Every agent's dialect: recorded inputs are heard, answers have the form each agent reads, and nothing fails.

use std::fs;
use std::path::PathBuf;

use ken_agents::dialect::{
    CONTEXT_CHARS_MAX, Heard, Say, Source, answer, hear, reaches, session_in,
};
use ken_agents::{Agent, Moment};
use proptest::prelude::*;
use serde_json::{Value, json};

fn recorded(agent: Agent, name: &str) -> Vec<u8> {
    let file = format!("tests/fixtures/{}/{name}.json", agent.name());
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

fn heard(agent: Agent, moment: Moment, name: &str) -> Heard {
    hear(moment, &recorded(agent, name)).expect("what was recorded is heard")
}

const SPEAKING: [Agent; 6] = [
    Agent::ClaudeCode,
    Agent::Codex,
    Agent::Cursor,
    Agent::Copilot,
    Agent::Gemini,
    Agent::Opencode,
];

#[test]
fn every_agent_is_heard_in_its_own_words() {
    for agent in SPEAKING {
        let start = heard(agent, Moment::Start, "start");
        let session = start.session.clone().unwrap();
        assert_eq!(start.cwd.as_deref(), Some("ROOT"), "{agent:?}");
        let prompt = heard(agent, Moment::Prompt, "prompt");
        assert_eq!(prompt.prompt.as_deref(), Some("PROMPT"), "{agent:?}");
        assert_eq!(prompt.session, Some(session.clone()), "{agent:?}");
        let tool = heard(agent, Moment::Tool, "tool").tool.unwrap();
        let named = tool.paths.concat() + &tool.asked;
        assert!(named.contains("ENTRY"), "{agent:?} {tool:?}");
        assert!(tool.output.contains("read"), "{agent:?} {tool:?}");
        assert_eq!(tool.failed, None, "{agent:?}");
        let other = heard(agent, Moment::Tool, "other_tool").tool.unwrap();
        assert_eq!(
            (other.asked.lines().next(), other.failed),
            (Some("cargo test"), None)
        );
        let moment = match agent.event(Moment::Failure) {
            Some(_) => Moment::Failure,
            None => Moment::Tool,
        };
        let failure = heard(agent, moment, "failure").tool.unwrap();
        assert!(
            failure.failed.unwrap().contains("unresolved import"),
            "{agent:?}"
        );
        assert_eq!(
            session_in(&recorded(agent, "tool")),
            Some(session),
            "{agent:?}"
        );
    }
}

#[test]
fn a_subagent_and_a_source_are_told_apart() {
    for (agent, id) in [
        (Agent::ClaudeCode, "a1b2c3"),
        (Agent::Codex, "019a-sub"),
        (Agent::Cursor, "abc-123"),
        (Agent::Copilot, "code-reviewer"),
        (Agent::Opencode, "ses_child"),
    ] {
        let it = heard(agent, Moment::Subagent, "subagent");
        assert_eq!(
            it.session,
            heard(agent, Moment::Start, "start").session,
            "{agent:?}"
        );
        assert_eq!(it.subagent.unwrap().id, id, "{agent:?}");
    }
    let source = |name| heard(Agent::ClaudeCode, Moment::Start, name).source;
    assert_eq!(source("start"), Some(Source::Startup));
    assert_eq!(source("compact"), Some(Source::Compact));
    let strange = hear(Moment::Start, br#"{"source":"teleport"}"#).unwrap();
    assert_eq!(strange.source, Some(Source::Other));
}

#[test]
fn what_a_person_stopped_is_no_failure() {
    for input in [
        json!({"tool_name": "Bash", "error": "stopped", "is_interrupt": true}),
        json!({"tool_name": "Shell", "error_message": "no", "failure_type": "permission_denied"}),
        json!({"tool_name": "Bash", "tool_response": {"interrupted": true, "exit_code": 130}}),
    ] {
        let it = hear(Moment::Failure, input.to_string().as_bytes()).unwrap();
        assert_eq!(it.tool.unwrap().failed, None, "{input}");
    }
}

#[test]
fn a_stop_is_not_taken_for_another_stop() {
    for input in [json!({"stop_hook_active": true}), json!({"loop_count": 1})] {
        assert!(
            hear(Moment::Stop, input.to_string().as_bytes())
                .unwrap()
                .is_stopping_again
        );
    }
    for agent in SPEAKING {
        assert!(
            !heard(agent, Moment::Stop, "stop").is_stopping_again,
            "{agent:?}"
        );
    }
}

/// What each agent reads of an answer: the member that holds the text at start, prompt, tool, failure, subagent and stop, and the
/// event it is told under where it wants to know.
const FORMS: [(Agent, [&str; 6]); 7] = [
    (
        Agent::ClaudeCode,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PostToolUse",
            "PostToolUseFailure",
            "SubagentStart",
            "block",
        ],
    ),
    (
        Agent::Codex,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PostToolUse",
            "PostToolUse",
            "SubagentStart",
            "block",
        ],
    ),
    (
        Agent::Cursor,
        [
            ".additional_context",
            "",
            ".additional_context",
            "",
            "",
            ".followup_message",
        ],
    ),
    (
        Agent::Copilot,
        ["", "", "", "", ".additionalContext", "block"],
    ),
    (
        Agent::Gemini,
        ["SessionStart", "BeforeAgent", "AfterTool", "", "", "deny"],
    ),
    (
        Agent::Opencode,
        [
            ".context", ".context", ".context", ".context", ".context", ".context",
        ],
    ),
    (Agent::Zed, ["", "", "", "", "", ""]),
];

/// Returns the whole answer a form of the table stands for.
fn form(word: &str) -> Value {
    match word {
        "" => Value::Null,
        "block" | "deny" => json!({"decision": word, "reason": "x"}),
        event if !event.starts_with('.') => {
            json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": "x"}})
        }
        member => json!({&member[1..]: "x"}),
    }
}

#[test]
fn answers_have_the_form_each_agent_reads() {
    for (agent, forms) in FORMS {
        for (moment, word) in Moment::ALL.into_iter().zip(forms) {
            let say = match moment {
                Moment::Stop => Say::GoOn("x"),
                Moment::Start
                | Moment::Prompt
                | Moment::Tool
                | Moment::Failure
                | Moment::Subagent
                | Moment::End => Say::Context("x"),
            };
            let text = answer(agent, moment, &Heard::default(), say);
            let found = text.map_or(Value::Null, |it| serde_json::from_str(&it).unwrap());
            assert_eq!(found, form(word), "{agent:?} {moment:?}");
            assert_eq!(reaches(agent, moment), !word.is_empty());
        }
        let end = answer(agent, Moment::End, &Heard::default(), Say::Context("x"));
        assert_eq!(end, None);
    }
}

#[test]
fn no_answer_is_longer_than_an_agent_takes() {
    let long = "ä".repeat(3 * CONTEXT_CHARS_MAX);
    let said = answer(
        Agent::ClaudeCode,
        Moment::Start,
        &Heard::default(),
        Say::Context(&long),
    );
    let said: Value = serde_json::from_str(&said.unwrap()).unwrap();
    let text = said["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert_eq!(text.chars().count(), CONTEXT_CHARS_MAX);
    assert!(text.ends_with("[cut]\n"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        prop::sample::select(vec![
            "session_id",
            "sessionId",
            "cwd",
            "source",
            "prompt",
            "tool_name",
            "toolName",
            "tool_input",
            "toolArgs",
            "tool_response",
            "toolResult",
            "tool_output",
            "error",
            "agent_id",
            "agent_type",
            "stop_hook_active",
            "loop_count",
            "attachments",
            "workspace_roots",
            "hook_event_name",
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,6}",
    ];
    leaf.prop_recursive(4, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(key.clone(), inner, 0..8)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Wrong types, missing and unknown members are passed over.
    #[test]
    fn any_json_is_harmless(input in any_json(), at in 0..7_usize) {
        let text = input.to_string();
        let heard = hear(Moment::ALL[at], text.as_bytes());
        prop_assert_eq!(heard.is_some(), input.is_object());
    }

    #[test]
    fn any_bytes_are_harmless(input in prop::collection::vec(any::<u8>(), 0..300), at in 0..7_usize) {
        let _ = hear(Moment::ALL[at], &input);
        let _ = session_in(&input);
    }

    /// An input that was cut anywhere is not heard, and names its session as long as that is there.
    #[test]
    fn an_input_that_was_cut_is_not_half_heard(cut in 0..400_usize) {
        let whole = recorded(Agent::ClaudeCode, "tool");
        let cut = cut.min(whole.len() - 2);
        prop_assert_eq!(hear(Moment::Tool, &whole[..cut]), None);
    }
}
