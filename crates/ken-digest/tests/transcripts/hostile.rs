//! Malformed and hostile transcripts.

use ken_digest::transcript::{
    TranscriptAgent, detect_agent, extract_transcript_claims, parse_transcript,
};
use proptest::prelude::*;

const AGENTS: [TranscriptAgent; 4] = [
    TranscriptAgent::ClaudeCode,
    TranscriptAgent::Codex,
    TranscriptAgent::GeminiCli,
    TranscriptAgent::OpenCode,
];

#[test]
fn long_deep_and_broken_lines_are_counted_and_passed_over() {
    let deep = format!(
        "{{\"type\":\"user\",\"message\":{}1{}}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let long = format!(
        "{{\"type\":\"user\",\"message\":{{\"content\":\"{}\"}}}}",
        "x".repeat(9 << 20)
    );
    let good =
        r#"{"type":"user","sessionId":"s","message":{"role":"user","content":"hello there"}}"#;
    let invalid = b"{\"type\":\"user\",\"message\":{\"content\":\"\xff\xfe\"}}";
    let mut bytes = Vec::new();
    for line in [
        deep.as_bytes(),
        long.as_bytes(),
        invalid,
        b"{",
        b"null",
        b"[]",
        b"\"x\"",
        good.as_bytes(),
    ] {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    let read = parse_transcript(TranscriptAgent::ClaudeCode, &bytes);
    assert_eq!((read.lines, read.skipped, read.turns.len()), (8, 7, 1));
}

#[test]
fn members_of_the_wrong_type_mean_nothing() {
    let odd = [
        r#"{"type":"user","message":"text","sessionId":7,"cwd":[]}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":{},"content":3,"is_error":"yes"}]}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":null,"name":4,"input":"x"},{"type":"text"}]}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Edit","input":{"file_path":"/../../etc/passwd"}}]}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{","call_id":[]}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"zz","output":{"content":1,"success":"x"}}}"#,
        r#"{"type":"event_msg","payload":{"type":"exec_command_end","call_id":"q","exit_code":"1"}}"#,
        r#"{"type":"session_meta","payload":{"id":"../../x y","cwd":""}}"#,
    ];
    // A document of opencode is understood as a whole or not at all.
    for agent in AGENTS
        .into_iter()
        .filter(|it| *it != TranscriptAgent::OpenCode)
    {
        let read = parse_transcript(agent, odd.join("\n").as_bytes());
        assert_eq!(read.skipped, 0);
        assert_eq!(read.session, None, "a name that is none");
        assert!(extract_transcript_claims(&read, Some("/")).is_empty());
    }
}

/// Guards against quadratic work per step, which would take hours on this transcript.
#[test]
fn a_long_transcript_takes_no_longer_than_it_is_long() {
    let mut lines = Vec::new();
    let mut did = |item: serde_json::Value| {
        lines.push(serde_json::json!({"type": "item.completed", "item": item}).to_string());
    };
    for at in 0..20_000 {
        let (run, edit) = (format!("r{at}"), format!("e{at}"));
        let why = format!("error: cannot find value number {at} in this scope");
        did(
            serde_json::json!({"id": run, "type": "command_execution", "command": "cargo build", "aggregated_output": why, "exit_code": 1}),
        );
        did(
            serde_json::json!({"id": edit, "type": "file_change", "status": "completed", "changes": [{"path": format!("src/f{at}.rs")}]}),
        );
        did(
            serde_json::json!({"id": format!("p{at}"), "type": "command_execution", "command": "cargo build", "aggregated_output": "", "exit_code": 0}),
        );
    }
    let text = lines.join("\n");
    let found = extract_transcript_claims(
        &parse_transcript(TranscriptAgent::Codex, text.as_bytes()),
        None,
    );
    assert_eq!(found.len(), ken_digest::transcript::EXTRACTED_CLAIMS_MAX);
}

/// Returns transcript lines of both agents with `text` wherever a person, a shell or a file
/// supplies text.
fn lines_with_text(text: &str) -> String {
    let all = [
        serde_json::json!({"type": "user", "sessionId": text, "cwd": text, "message": {"content": text}}),
        serde_json::json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text},
            {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": text}},
            {"type": "tool_use", "id": "b", "name": "Edit", "input": {"file_path": text, "old_string": "", "new_string": text}}]}}),
        serde_json::json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "a", "is_error": true, "content": text}]}}),
        serde_json::json!({"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch", "input": text, "call_id": "c"}}),
        serde_json::json!({"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": text, "call_id": "d"}}),
        serde_json::json!({"type": "response_item", "payload": {"type": "function_call_output", "output": text, "call_id": "d"}}),
    ];
    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
    all.join("\n")
}

proptest! {
    #[test]
    fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = detect_agent(&bytes);
        for agent in AGENTS {
            let _ = extract_transcript_claims(&parse_transcript(agent, &bytes), Some("/home"));
        }
    }

    #[test]
    fn no_text_does_harm(text in "(no|No, |use |`|'|\"|&& |\\| |cd /|\\.\\./|\u{1b}\\[3|Error: |é|\u{202e}|/home/x|\n|[ -~]){0,40}") {
        for agent in AGENTS {
            let read = parse_transcript(agent, lines_with_text(&text).as_bytes());
            let _ = read.told();
            for moment in extract_transcript_claims(&read, Some("/home")) {
                prop_assert!(!moment.text.is_empty() && moment.paths.iter().all(|it| !it.contains("..")));
            }
        }
    }

    /// Truncating a transcript at any byte loses at most the truncated part.
    #[test]
    fn a_cut_transcript_is_read_up_to_the_cut(cut in 0..8000usize) {
        let whole = include_bytes!("../fixtures/claude.jsonl");
        let cut = cut.min(whole.len());
        let (part, all) = (parse_transcript(TranscriptAgent::ClaudeCode, &whole[..cut]), parse_transcript(TranscriptAgent::ClaudeCode, whole));
        prop_assert!(part.turns.len() <= all.turns.len());
        prop_assert!(part.skipped <= all.skipped + 1);
    }
}
