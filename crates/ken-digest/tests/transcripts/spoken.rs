//! Transcripts of Gemini CLI and opencode, and what was said in transcripts of all agents.

use ken_core::values::time::Timestamp;
use ken_digest::transcript::{
    ActionKind, ActionOutcome, Transcript, TranscriptAgent, TurnContent, detect_agent,
    parse_speech, parse_transcript, split_exchanges,
};
use serde_json::{Value, json};

/// Returns lines as a file has them.
fn lines(values: &[Value]) -> String {
    values.iter().map(|it| format!("{it}\n")).collect()
}

/// Returns a transcript as `> asked`, `< told` and `! done`.
fn summary(transcript: &Transcript) -> Vec<String> {
    let turns = transcript.turns.iter().map(|turn| match &turn.what {
        TurnContent::Asked(text) => format!("> {text}"),
        TurnContent::Told(text) => format!("< {text}"),
        TurnContent::Did(action) => {
            let deed = match &action.deed {
                ActionKind::Command(line) => line.clone(),
                ActionKind::Edit(edits) => edits[0].path.clone(),
                ActionKind::Other(name) => name.clone(),
            };
            let outcome = match action.outcome {
                ActionOutcome::Succeeded => "fine",
                ActionOutcome::Failed => "failed",
                ActionOutcome::Unknown => "unknown",
            };
            format!("! {deed}: {outcome}")
        }
    });
    turns.collect()
}

fn gemini_message(id: &str, kind: &str, content: &Value) -> Value {
    json!({"id": id, "timestamp": "2026-05-03T10:00:00.000Z", "type": kind, "content": content})
}

#[test]
fn lines_of_gemini_cli_amend_each_other() {
    let mut answer = gemini_message("2", "gemini", &json!("Looking."));
    answer["toolCalls"] = json!([{
        "id": "c1", "name": "run_shell_command", "args": {"command": "cargo test"},
        "status": "error",
        "result": [{"functionResponse": {"response": {"output": "1 failed"}}}],
    }]);
    let mut typed = gemini_message(
        "5",
        "user",
        &json!([{"text": "with @file and its content"}]),
    );
    typed["displayContent"] = json!("with @file");
    let text = lines(&[
        json!({"sessionId": "s-1", "projectHash": "abc", "startTime": "2026-05-03T10:00:00.000Z"}),
        gemini_message("1", "user", &json!([{"text": "run the tests"}])),
        gemini_message("2", "gemini", &json!("Look")),
        answer,
        json!({"$set": {"lastUpdated": "2026-05-03T10:00:01.000Z"}}),
        gemini_message("3", "info", &json!("Switched model")),
        gemini_message("4", "user", &json!("a question that is taken back")),
        json!({"$rewindTo": "4"}),
        typed,
        gemini_message("6", "user", &json!("/help")),
        gemini_message(
            "7",
            "gemini",
            &json!([{"text": "Read it.", "thought": false}, {"text": "hm", "thought": true}]),
        ),
    ]);
    assert_eq!(
        detect_agent(text.as_bytes()),
        Some(TranscriptAgent::GeminiCli)
    );
    let read = parse_transcript(TranscriptAgent::GeminiCli, text.as_bytes());
    assert_eq!(read.session.as_deref(), Some("s-1"));
    assert_eq!(
        summary(&read),
        [
            "> run the tests",
            "< Looking.",
            "! cargo test: failed",
            "> with @file",
            "< Read it.",
        ]
    );
    let at: Timestamp = "2026-05-03T10:00:00Z".parse().unwrap();
    assert!(read.turns.iter().all(|it| it.at == Some(at)));
}

#[test]
fn an_older_transcript_of_gemini_cli_is_one_document() {
    let document = json!({
        "sessionId": "s-1", "projectHash": "abc",
        "messages": [
            gemini_message("1", "user", &json!("hello")),
            gemini_message("2", "gemini", &json!("Hi.")),
        ],
    });
    let text = format!("{document:#}");
    assert_eq!(
        detect_agent(text.as_bytes()),
        Some(TranscriptAgent::GeminiCli)
    );
    let read = parse_transcript(TranscriptAgent::GeminiCli, text.as_bytes());
    assert_eq!(summary(&read), ["> hello", "< Hi."]);
    let mut of_subagent = document;
    of_subagent["kind"] = json!("subagent");
    let text = of_subagent.to_string();
    let read = parse_transcript(TranscriptAgent::GeminiCli, text.as_bytes());
    assert!(read.turns.is_empty(), "an agent wrote the prompt");
}

fn opencode_document() -> Value {
    json!({
        "info": {"id": "ses_1", "directory": "/home/ada/till", "title": "x"},
        "messages": [
            {
                "info": {"role": "user", "time": {"created": 1_777_802_400_000_u64}},
                "parts": [
                    {"type": "text", "text": "round half up"},
                    {"type": "text", "text": "a file that was read", "synthetic": true},
                    {"type": "file", "url": "file:///x"},
                ],
            },
            {
                "info": {"role": "assistant", "time": {"created": 1_777_802_401_000_u64}},
                "parts": [
                    {"type": "step-start"},
                    {"type": "reasoning", "text": "hm"},
                    {"type": "tool", "callID": "c1", "tool": "bash", "state": {
                        "status": "completed", "input": {"command": "pytest"}, "output": "1 failed",
                        "metadata": {"exit": 1},
                    }},
                    {"type": "tool", "callID": "c2", "tool": "edit", "state": {
                        "status": "completed", "output": "",
                        "input": {"filePath": "src/a.py", "oldString": "a", "newString": "b"},
                    }},
                    {"type": "text", "text": "Amounts round half up now."},
                ],
            },
            {
                "info": {"role": "assistant", "summary": true, "time": {"created": 1}},
                "parts": [{"type": "text", "text": "a summary for the model"}],
            },
        ],
    })
}

#[test]
fn an_export_of_opencode_is_one_document() {
    let text = format!("{:#}", opencode_document());
    assert_eq!(
        detect_agent(text.as_bytes()),
        Some(TranscriptAgent::OpenCode)
    );
    let read = parse_transcript(TranscriptAgent::OpenCode, text.as_bytes());
    assert_eq!(read.session.as_deref(), Some("ses_1"));
    assert_eq!(read.folder.as_deref(), Some("/home/ada/till"));
    assert_eq!(
        summary(&read),
        [
            "> round half up",
            "! pytest: failed",
            "! src/a.py: fine",
            "< Amounts round half up now.",
        ]
    );
    assert_eq!(read.turns[0].at.unwrap().date().to_string(), "2026-05-03");
}

#[test]
fn an_exchange_is_what_a_person_said_and_the_answer() {
    let said = |kind: &str, text: &str| {
        let at = "2026-05-03T10:00:00.000Z";
        json!({"type": kind, "timestamp": at, "message": {"role": kind, "content": text}})
    };
    let call = json!({"type": "assistant", "message": {"content": [
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls \"type\":\"text\""}},
    ]}});
    let result = json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "secret output"},
    ]}});
    let text = lines(&[
        said("assistant", "Hello, I am ready."),
        said("user", "how many retries"),
        said("user", "for payments"),
        call,
        result,
        said("assistant", "Let me look."),
        said("assistant", "Five."),
        said("user", "make it seven: \"tool_use_id\": is no mark"),
    ]);
    let speech = parse_speech(TranscriptAgent::ClaudeCode, text.as_bytes(), 100);
    assert_eq!(speech.skipped, 0);
    let exchanges = split_exchanges(speech);
    assert_eq!(exchanges.len(), 2);
    assert_eq!(exchanges[0].line, 102);
    assert_eq!(exchanges[0].asked, ["how many retries", "for payments"]);
    assert_eq!(exchanges[0].answered, ["Let me look.", "Five."]);
    assert_eq!(exchanges[1].asked.len(), 1);
    let (asked, answered) = exchanges[0].condense(str::to_uppercase);
    assert_eq!(asked, "HOW MANY RETRIES\nFOR PAYMENTS");
    assert_eq!(answered, "LET ME LOOK.\nFIVE.");
}

#[test]
fn a_long_exchange_keeps_the_start_of_the_request_and_the_end_of_the_answer() {
    let long = "word ".repeat(5_000);
    let line = |kind: &str, text: String| json!({"type": kind, "message": {"content": text}});
    let text = lines(&[
        line("user", format!("start {long}")),
        line("assistant", "forgotten".to_owned()),
        line("assistant", format!("{long} end")),
    ]);
    let speech = parse_speech(TranscriptAgent::ClaudeCode, text.as_bytes(), 0);
    let (asked, answered) = split_exchanges(speech)[0].condense(str::to_owned);
    assert!(asked.starts_with("start ") && asked.len() <= 8 << 10);
    assert!(answered.ends_with(" end") && answered.len() <= 8 << 10);
    assert!(!answered.contains("forgotten"));
}

#[test]
fn speech_is_the_transcript_without_actions() {
    let codex = lines(&[
        json!({"timestamp": "2026-05-03T10:00:00.000Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/r"}}),
        json!({"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix it"}]}}),
        json!({"type": "response_item", "payload": {"type": "function_call", "name": "shell", "call_id": "1", "arguments": "{\"command\":[\"ls\"]}"}}),
        json!({"type": "response_item", "payload": {"type": "function_call_output", "call_id": "1", "output": "a"}}),
        json!({"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}}),
    ]);
    let whole = parse_transcript(TranscriptAgent::Codex, codex.as_bytes());
    let speech = parse_speech(TranscriptAgent::Codex, codex.as_bytes(), 0);
    assert_eq!(summary(&speech), ["> fix it", "< Done."]);
    assert_eq!(whole.turns.len(), 3);
    assert_eq!((whole.folder, whole.lines), (speech.folder, speech.lines));
}
