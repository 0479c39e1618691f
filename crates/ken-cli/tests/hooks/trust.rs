//! Unrecorded exposure: every way to have seen an entry unobserved must prevent its confirmation.

use std::fs;

use crate::hooks::{HookTestEnvironment, ROUNDING};

/// Id of the session under test.
const SESSION: &str = "trust";

impl HookTestEnvironment {
    fn moment(&self, moment: &str, members: &str) {
        let root = self.env.root();
        let root = root.display();
        let cwd = if members.contains("\"cwd\"") {
            String::new()
        } else {
            format!(",\"cwd\":\"{root}\"")
        };
        let input = format!("{{\"session_id\":\"{SESSION}\"{cwd}{members}}}");
        let _ = self.run_hook_with("claude-code", moment, &input);
    }

    /// Records the finding that no agent was shown, in the session.
    fn find(&self) {
        let mut observe = self.env.ken();
        observe.args([
            "run",
            "observe",
            "--by",
            "agent:claude-code",
            "--statement",
            ROUNDING,
        ]);
        let found = observe.env("KEN_SESSION", SESSION).output();
        assert!(found.expect("it runs").status.success());
    }

    /// Starts a session, runs `read`, records the finding and ends; returns true if the finding
    /// confirmed the entry.
    fn is_confirmed_after(&self, read: impl FnOnce(&Self)) -> bool {
        self.moment("start", ",\"source\":\"startup\"");
        read(self);
        self.find();
        self.moment("end", "");
        self.found(&self.rounding).0 > 0
    }

    /// Reports a command whose output names no entry.
    fn command(&self, members: &str, command: &str) {
        let members = format!(
            "{members},\"tool_name\":\"Bash\",\"tool_input\":{{\"command\":\"{command}\"}},\"tool_response\":{{\"stdout\":\"some words\"}}"
        );
        self.moment("tool", &members);
    }
}

#[test]
fn a_conversation_that_was_watched_from_its_start_confirms() {
    assert!(HookTestEnvironment::new().is_confirmed_after(|house| house.command("", "cargo test")));
}

#[test]
fn one_that_goes_on_does_not_whatever_ended_before() {
    let house = HookTestEnvironment::new();
    house.moment("prompt", ",\"prompt\":\"begin\"");
    house.moment("end", "");
    house.moment("start", ",\"source\":\"resume\"");
    house.find();
    house.moment("end", "");
    assert_eq!(house.found(&house.rounding).0, 0);
}

#[test]
fn a_start_that_does_not_say_how_it_began_is_watched_by_nobody() {
    let house = HookTestEnvironment::new();
    house.moment("start", "");
    house.find();
    house.moment("end", "");
    assert_eq!(house.found(&house.rounding).0, 0);
}

#[test]
fn a_command_in_kens_own_folder_may_show_anything() {
    let house = HookTestEnvironment::new();
    let entries = house.env.root().join(".ken/entries");
    let cwd = format!(",\"cwd\":\"{}\"", entries.display());
    assert!(!house.is_confirmed_after(|house| house.command(&cwd, "tail -n 3 *")));
}

#[test]
fn a_command_that_names_an_entry_has_shown_it() {
    let house = HookTestEnvironment::new();
    let command = format!("tail -n 3 {}-*", house.rounding);
    assert!(!house.is_confirmed_after(|house| house.command("", &command)));
}

#[test]
fn a_file_read_from_elsewhere_counts() {
    let house = HookTestEnvironment::new();
    let file = house.env.root().join(house.file(&house.rounding));
    let members = format!(
        ",\"cwd\":\"/\",\"tool_name\":\"Read\",\"tool_input\":{{\"file_path\":\"{}\"}},\"tool_response\":\"x\"",
        file.display()
    );
    assert!(!house.is_confirmed_after(|house| house.moment("tool", &members)));
}

#[test]
fn what_a_long_prompt_names_at_its_end_counts() {
    let house = HookTestEnvironment::new();
    let prompt = format!("{} @{}", "word ".repeat(2_000), house.file(&house.rounding));
    let members = format!(",\"prompt\":\"{prompt}\"");
    assert!(!house.is_confirmed_after(|house| house.moment("prompt", &members)));
}

#[test]
fn what_a_hook_could_not_write_down_counts_as_seen() {
    let house = HookTestEnvironment::new();
    let version = house.env.root().join(".ken/VERSION");
    let kept = fs::read(&version).expect("as it was set up");
    let file = house.file(&house.rounding);
    assert!(!house.is_confirmed_after(|house| {
        fs::write(&version, "99\n").expect("a ledger nobody can open");
        house.command("", &format!("cat {file}"));
        fs::write(&version, &kept).expect("and again one");
    }));
}

#[test]
fn an_agent_that_speaks_to_hooks_itself_confirms_nothing() {
    let house = HookTestEnvironment::new();
    let command = "echo {} | ken hook claude-code end";
    assert!(!house.is_confirmed_after(|house| house.command("", command)));
}

#[test]
fn a_server_that_does_not_know_its_conversation_confirms_nothing() {
    let house = HookTestEnvironment::new();
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"ken_add","arguments":{{"statement":"{ROUNDING}","cites":["pr:3"]}}}}}}"#
    );
    let begin = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"1"}}}"#;
    let said = format!(
        "{begin}\n{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}\n{call}\n"
    );
    house.moment("start", ",\"source\":\"startup\"");
    let served = house.env.run_with(&said, ["mcp"]);
    assert!(served.stdout.contains("\"id\":2"), "{served}");
    house.moment("end", "");
    assert_eq!(house.found(&house.rounding).0, 0);
}
