//! Malformed hook input: the hook exits with 0, prints nothing, and logs at most one line.

use std::io::Write as _;
use std::process::Stdio;

use ken_testkit::test_env::TestEnvironment;

use crate::hooks::HookTestEnvironment;

/// Runs a hook with arbitrary bytes on stdin; returns the exit code and stdout.
fn run_hook_bytes(env: &TestEnvironment, arguments: &[&str], input: &[u8]) -> (i32, String) {
    let mut ken = env.ken();
    ken.arg("hook").args(arguments);
    let ken = ken
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = ken.spawn().expect("a process");
    let written = child.stdin.take().expect("a process").write_all(input);
    let output = child.wait_with_output().expect("a process");
    assert!(written.is_ok(), "the agent could write all it has to say");
    let code = output.status.code().unwrap_or(-1);
    (code, String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn what_is_no_json_is_silence() {
    let house = HookTestEnvironment::new();
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let nested = format!("{{\"session_id\":\"s\",\"tool_input\":{deep}}}");
    let huge = format!(
        "{{\"session_id\":\"s\",\"prompt\":\"{}\"}}",
        "x".repeat(6 << 20)
    );
    let inputs: [&[u8]; 9] = [
        b"",
        b"   \n",
        b"not json",
        b"{\"session_id\":",
        b"[1,2,3]",
        b"null",
        b"\xff\xfe{\"prompt\":\"\xc3\x28\"}",
        nested.as_bytes(),
        huge.as_bytes(),
    ];
    for input in inputs {
        for moment in [
            "start", "prompt", "tool", "failure", "subagent", "stop", "end",
        ] {
            let (code, said) = run_hook_bytes(&house.env, &["claude-code", moment], input);
            assert_eq!(
                (code, said.as_str()),
                (0, ""),
                "{moment} {:?}",
                &input[..input.len().min(40)]
            );
        }
    }
    let log = house.env.read(".ken/.local/hook.log");
    assert!(
        log.contains("claude-code prompt: cannot read the input"),
        "{log}"
    );
    assert!(
        !log.contains("xxxx") && log.len() < 70_000,
        "no prompt and bounded"
    );
}

#[test]
fn what_is_typed_wrongly_is_silence() {
    let house = HookTestEnvironment::new();
    for arguments in [
        &[][..],
        &["claude-code"],
        &["nobody", "start"],
        &["claude-code", "PreToolUse"],
        &["claude-code", "start", "--what"],
        &["zed", "start"],
    ] {
        let (code, said) = run_hook_bytes(&house.env, arguments, b"{}");
        assert_eq!(code, 0, "{arguments:?}");
        assert!(
            said.is_empty() || arguments.contains(&"--what"),
            "{arguments:?} {said}"
        );
    }
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).env("KEN_ACTOR", "nonsense");
    assert_eq!(
        run_hook_bytes(&env, &["claude-code", "start"], b"{}"),
        (0, String::new())
    );
}

#[test]
fn without_a_ledger_nothing_is_said_or_written() {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    for moment in [
        "start", "prompt", "tool", "failure", "subagent", "stop", "end",
    ] {
        let input = br#"{"session_id":"s","prompt":"x","tool_name":"Read","tool_input":{"file_path":".ken/x"}}"#;
        assert_eq!(
            run_hook_bytes(&env, &["codex", moment], input),
            (0, String::new())
        );
    }
    assert_eq!(env.names("."), [".git"]);
}

#[test]
fn a_damaged_ledger_is_a_line_in_the_log() {
    let house = HookTestEnvironment::new();
    let name = house.env.names(".ken/semantic/v1").remove(0);
    let path = format!(".ken/semantic/v1/{name}");
    let text = house.env.read(&path);
    house
        .env
        .write(&path, &text.replacen("\"v\":1", "\"v\":x", 1));
    std::fs::remove_dir_all(house.env.root().join(".ken/.index")).unwrap();
    let (code, said) = run_hook_bytes(
        &house.env,
        &["claude-code", "prompt"],
        br#"{"session_id":"s","prompt":"a secret plan"}"#,
    );
    assert_eq!((code, said.as_str()), (0, ""));
    let log = house.env.read(".ken/.local/hook.log");
    assert!(
        log.contains("claude-code prompt:") && !log.contains("secret plan"),
        "{log}"
    );
}

#[test]
fn what_cannot_be_read_of_a_tool_may_have_shown_anything() {
    let house = HookTestEnvironment::new();
    let _ = house.hook("claude-code", "start", "start");
    let tool = house.recorded("claude-code", "other_tool");
    let cut = &tool.as_bytes()[..tool.len() - 20];
    assert_eq!(
        run_hook_bytes(&house.env, &["claude-code", "tool"], cut),
        (0, String::new())
    );
    assert_eq!(house.open_run()["agents"][0]["saw_everything"], true);
}

#[test]
fn a_secret_in_an_error_is_not_recorded() {
    let house = HookTestEnvironment::new();
    let _ = house.hook("claude-code", "start", "start");
    let secret = format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    let input = house.recorded("claude-code", "failure");
    let input = input.replace(
        "unresolved import",
        &format!("unresolved import with token {secret}"),
    );
    let _ = house.run_hook_with("claude-code", "failure", &input);
    let mut found = Vec::new();
    for memory in ["semantic", "procedural", "episodic"] {
        for name in house.env.names(&format!(".ken/{memory}/v1")) {
            found.push(house.env.read(&format!(".ken/{memory}/v1/{name}")));
        }
    }
    assert!(!found.concat().contains(&secret));
}

#[test]
fn reading_changes_no_tracked_file() {
    let house = HookTestEnvironment::new();
    for (moment, recorded) in [
        ("start", "start"),
        ("prompt", "prompt"),
        ("tool", "tool"),
        ("stop", "stop"),
    ] {
        let _ = house.hook("claude-code", moment, recorded);
    }
    assert_eq!(house.env.git(["status", "--porcelain"]), "");
}
