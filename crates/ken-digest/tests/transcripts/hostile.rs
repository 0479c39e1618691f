//! Bytes nobody's program wrote.

use ken_digest::transcript::{Agent, moments, read, recognise};
use proptest::prelude::*;

const AGENTS: [Agent; 2] = [Agent::ClaudeCode, Agent::Codex];

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
    let read = read(Agent::ClaudeCode, &bytes);
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
    for agent in AGENTS {
        let read = read(agent, odd.join("\n").as_bytes());
        assert_eq!(read.skipped, 0);
        assert_eq!(read.session, None, "a name that is none");
        assert!(moments(&read, Some("/")).is_empty());
    }
}

/// Whatever is asked of every step is asked of all others: made to be slow, this would take hours.
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
    let found = moments(&read(Agent::Codex, text.as_bytes()), None);
    assert_eq!(found.len(), ken_digest::transcript::MOMENTS_MAX);
}

/// A line of either agent with `text` where a person, a shell and a file are named.
fn lines(text: &str) -> String {
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
        let _ = recognise(&bytes);
        for agent in AGENTS {
            let _ = moments(&read(agent, &bytes), Some("/home"));
        }
    }

    #[test]
    fn no_text_does_harm(text in "(no|No, |use |`|'|\"|&& |\\| |cd /|\\.\\./|\u{1b}\\[3|Error: |é|\u{202e}|/home/x|\n|[ -~]){0,40}") {
        for agent in AGENTS {
            let read = read(agent, lines(&text).as_bytes());
            let _ = read.told();
            for moment in moments(&read, Some("/home")) {
                prop_assert!(!moment.text.is_empty() && moment.paths.iter().all(|it| !it.contains("..")));
            }
        }
    }

    /// Cutting a transcript anywhere loses at most what was cut.
    #[test]
    fn a_cut_transcript_is_read_up_to_the_cut(cut in 0..8000usize) {
        let whole = include_bytes!("../fixtures/claude.jsonl");
        let cut = cut.min(whole.len());
        let (part, all) = (read(Agent::ClaudeCode, &whole[..cut]), read(Agent::ClaudeCode, whole));
        prop_assert!(part.turns.len() <= all.turns.len());
        prop_assert!(part.skipped <= all.skipped + 1);
    }
}
