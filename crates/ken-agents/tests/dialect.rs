//! Hook formats of every agent: recorded inputs parse, responses have the shape each agent reads,
//! and malformed input never fails.

use std::fs;
use std::path::PathBuf;

use ken_agents::dialect::{
    CONTEXT_CHARS_MAX, HookInput, HookResponse, StartReason, find_session_id, parse_hook_input,
    reaches_model, render_response,
};
use ken_agents::{CodingAgent, HookEvent};
use proptest::prelude::*;
use serde_json::{Value, json};

fn read_fixture(agent: CodingAgent, name: &str) -> Vec<u8> {
    let file = format!("tests/fixtures/{}/{name}.json", agent.name());
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

fn parse_fixture(agent: CodingAgent, moment: HookEvent, name: &str) -> HookInput {
    parse_hook_input(moment, &read_fixture(agent, name)).expect("what was recorded is heard")
}

const HOOK_AGENTS: [CodingAgent; 6] = [
    CodingAgent::ClaudeCode,
    CodingAgent::Codex,
    CodingAgent::Cursor,
    CodingAgent::Copilot,
    CodingAgent::Gemini,
    CodingAgent::Opencode,
];

#[test]
fn every_agent_is_heard_in_its_own_words() {
    for agent in HOOK_AGENTS {
        let start = parse_fixture(agent, HookEvent::Start, "start");
        let session = start.session.clone().unwrap();
        assert_eq!(start.cwd.as_deref(), Some("ROOT"), "{agent:?}");
        let prompt = parse_fixture(agent, HookEvent::Prompt, "prompt");
        assert_eq!(prompt.prompt.as_deref(), Some("PROMPT"), "{agent:?}");
        assert_eq!(prompt.session, Some(session.clone()), "{agent:?}");
        let tool = parse_fixture(agent, HookEvent::Tool, "tool").tool.unwrap();
        let named = tool.paths.concat() + &tool.asked;
        assert!(named.contains("ENTRY"), "{agent:?} {tool:?}");
        assert!(tool.output.contains("read"), "{agent:?} {tool:?}");
        assert_eq!(tool.failed, None, "{agent:?}");
        let other = parse_fixture(agent, HookEvent::Tool, "other_tool")
            .tool
            .unwrap();
        assert_eq!(
            (other.asked.lines().next(), other.failed),
            (Some("cargo test"), None)
        );
        let moment = match agent.event(HookEvent::Failure) {
            Some(_) => HookEvent::Failure,
            None => HookEvent::Tool,
        };
        let failure = parse_fixture(agent, moment, "failure").tool.unwrap();
        assert!(
            failure.failed.unwrap().contains("unresolved import"),
            "{agent:?}"
        );
        assert_eq!(
            find_session_id(&read_fixture(agent, "tool")),
            Some(session),
            "{agent:?}"
        );
    }
}

#[test]
fn a_subagent_and_a_source_are_told_apart() {
    for (agent, id) in [
        (CodingAgent::ClaudeCode, "a1b2c3"),
        (CodingAgent::Codex, "019a-sub"),
        (CodingAgent::Cursor, "abc-123"),
        (CodingAgent::Copilot, "code-reviewer"),
        (CodingAgent::Opencode, "ses_child"),
    ] {
        let it = parse_fixture(agent, HookEvent::Subagent, "subagent");
        assert_eq!(
            it.session,
            parse_fixture(agent, HookEvent::Start, "start").session,
            "{agent:?}"
        );
        assert_eq!(it.subagent.unwrap().id, id, "{agent:?}");
    }
    let source = |name| parse_fixture(CodingAgent::ClaudeCode, HookEvent::Start, name).source;
    assert_eq!(source("start"), Some(StartReason::Startup));
    assert_eq!(source("compact"), Some(StartReason::Compact));
    let strange = parse_hook_input(HookEvent::Start, br#"{"source":"teleport"}"#).unwrap();
    assert_eq!(strange.source, Some(StartReason::Other));
}

#[test]
fn what_a_person_stopped_is_no_failure() {
    for input in [
        json!({"tool_name": "Bash", "error": "stopped", "is_interrupt": true}),
        json!({"tool_name": "Shell", "error_message": "no", "failure_type": "permission_denied"}),
        json!({"tool_name": "Bash", "tool_response": {"interrupted": true, "exit_code": 130}}),
    ] {
        let it = parse_hook_input(HookEvent::Failure, input.to_string().as_bytes()).unwrap();
        assert_eq!(it.tool.unwrap().failed, None, "{input}");
    }
}

#[test]
fn a_stop_is_not_taken_for_another_stop() {
    for input in [json!({"stop_hook_active": true}), json!({"loop_count": 1})] {
        assert!(
            parse_hook_input(HookEvent::Stop, input.to_string().as_bytes())
                .unwrap()
                .is_stopping_again
        );
    }
    for agent in HOOK_AGENTS {
        assert!(
            !parse_fixture(agent, HookEvent::Stop, "stop").is_stopping_again,
            "{agent:?}"
        );
    }
}

/// Shape of each agent's response at start, prompt, tool, failure, subagent and stop: `.member`
/// names the member that holds the text; any other word is the hook event name the agent expects.
const RESPONSE_FORMS: [(CodingAgent, [&str; 6]); 7] = [
    (
        CodingAgent::ClaudeCode,
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
        CodingAgent::Codex,
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
        CodingAgent::Cursor,
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
        CodingAgent::Copilot,
        ["", "", "", "", ".additionalContext", "block"],
    ),
    (
        CodingAgent::Gemini,
        ["SessionStart", "BeforeAgent", "AfterTool", "", "", "deny"],
    ),
    (
        CodingAgent::Opencode,
        [
            ".context", ".context", ".context", ".context", ".context", ".context",
        ],
    ),
    (CodingAgent::Zed, ["", "", "", "", "", ""]),
];

/// Returns the complete response for one word of `RESPONSE_FORMS`.
fn expected_response(word: &str) -> Value {
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
    for (agent, forms) in RESPONSE_FORMS {
        for (moment, word) in HookEvent::ALL.into_iter().zip(forms) {
            let say = match moment {
                HookEvent::Stop => HookResponse::Continue("x"),
                HookEvent::Start
                | HookEvent::Prompt
                | HookEvent::Tool
                | HookEvent::Failure
                | HookEvent::Subagent
                | HookEvent::End => HookResponse::Context("x"),
            };
            let text = render_response(agent, moment, &HookInput::default(), say);
            let found = text.map_or(Value::Null, |it| serde_json::from_str(&it).unwrap());
            assert_eq!(found, expected_response(word), "{agent:?} {moment:?}");
            assert_eq!(reaches_model(agent, moment), !word.is_empty());
        }
        let end = render_response(
            agent,
            HookEvent::End,
            &HookInput::default(),
            HookResponse::Context("x"),
        );
        assert_eq!(end, None);
    }
}

#[test]
fn no_answer_is_longer_than_an_agent_takes() {
    let long = "ä".repeat(3 * CONTEXT_CHARS_MAX);
    let said = render_response(
        CodingAgent::ClaudeCode,
        HookEvent::Start,
        &HookInput::default(),
        HookResponse::Context(&long),
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
    /// Ignores wrong types and missing or unknown members.
    #[test]
    fn any_json_is_harmless(input in any_json(), at in 0..7_usize) {
        let text = input.to_string();
        let heard = parse_hook_input(HookEvent::ALL[at], text.as_bytes());
        prop_assert_eq!(heard.is_some(), input.is_object());
    }

    #[test]
    fn any_bytes_are_harmless(input in prop::collection::vec(any::<u8>(), 0..300), at in 0..7_usize) {
        let _ = parse_hook_input(HookEvent::ALL[at], &input);
        let _ = find_session_id(&input);
    }

    /// Rejects an input truncated at any byte; names its session if the session id survived.
    #[test]
    fn an_input_that_was_cut_is_not_half_heard(cut in 0..400_usize) {
        let whole = read_fixture(CodingAgent::ClaudeCode, "tool");
        let cut = cut.min(whole.len() - 2);
        prop_assert_eq!(parse_hook_input(HookEvent::Tool, &whole[..cut]), None);
    }
}
