//! Setup in a repository prepared by an attacker: no file outside it is touched, and anomalies are
//! reported.

use std::fs;

use crate::setup::repository_with_ledger;

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let env = repository_with_ledger();
    let outside = env.root().parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("victim.json"), "{}").unwrap();
    symlink(&outside, env.root().join(".claude")).unwrap();
    symlink(outside.join("victim.json"), env.root().join(".mcp.json")).unwrap();
    symlink(outside.join("new.md"), env.root().join("AGENTS.md")).unwrap();
    let told = env.run(["setup", "claude"]);
    assert_eq!(told.exit, 1, "{told}");
    for path in [
        "AGENTS.md",
        ".mcp.json",
        ".claude/settings.json",
        ".claude/skills/ken/SKILL.md",
    ] {
        let line = told
            .stderr
            .lines()
            .find(|it| it.contains(&format!("note: {path}: not changed")));
        assert!(
            line.is_some_and(|it| it.contains("symbolic link")),
            "{path}: {told}"
        );
    }
    let names: Vec<_> = fs::read_dir(&outside)
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    assert_eq!(names, ["victim.json"]);
    assert_eq!(
        fs::read_to_string(outside.join("victim.json")).unwrap(),
        "{}"
    );
    let checked = env.run(["setup", "--check", "claude"]);
    assert_eq!(checked.exit, 1);
    assert!(checked.stdout.contains("refused    .mcp.json"), "{checked}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_a_link_inside_the_repository_is_followed() {
    use std::os::unix::fs::symlink;
    let env = repository_with_ledger();
    fs::create_dir(env.root().join("skills")).unwrap();
    fs::create_dir(env.root().join(".claude")).unwrap();
    symlink("../skills", env.root().join(".claude/skills")).unwrap();
    let _ = env.run(["setup", "claude"]).success();
    assert!(env.read("skills/ken/SKILL.md").contains("ken"));
    assert!(env.root().join(".claude/skills").is_symlink());
    let _ = env.run(["setup", "--check", "claude"]).success();
    let _ = env.run(["setup", "--remove", "--yes"]).success();
    assert!(!env.root().join("skills/ken").exists());
    assert!(env.root().join(".claude/skills").is_symlink());
    // Git's own folder belongs to the repository, but not to its users.
    fs::remove_file(env.root().join(".claude/skills")).unwrap();
    symlink("../.git/hooks", env.root().join(".claude/skills")).unwrap();
    let told = env.run(["setup", "claude"]);
    assert_eq!(told.exit, 1, "{told}");
    assert!(
        told.stderr
            .contains("`ken setup --print claude-code` prints the configuration"),
        "{told}"
    );
    assert!(!env.root().join(".git/hooks/ken").exists());
}

#[cfg(unix)]
#[test]
fn claude_md_that_is_agents_md_needs_no_import() {
    let env = repository_with_ledger();
    env.write("AGENTS.md", "# Ours\n");
    std::os::unix::fs::symlink("AGENTS.md", env.root().join("CLAUDE.md")).unwrap();
    let done = env.run(["setup", "claude"]).success();
    assert!(!done.stdout.contains("CLAUDE.md"), "{done}");
    assert!(env.root().join("CLAUDE.md").is_symlink());
}

#[test]
fn folders_large_files_and_bytes_that_are_no_text_are_refused() {
    let env = repository_with_ledger();
    fs::create_dir(env.root().join(".mcp.json")).unwrap();
    env.write("AGENTS.md", &"x".repeat(10 * 1024 * 1024));
    fs::create_dir(env.root().join(".claude")).unwrap();
    fs::write(env.root().join(".claude/settings.json"), [0xff, 0xfe, b'{']).unwrap();
    let told = env.run(["setup", "claude"]);
    assert_eq!(told.exit, 1, "{told}");
    insta::assert_snapshot!(told.stderr, @"
    Connecting Claude Code changes these files in [root]:
    note: AGENTS.md: not changed: it is larger than 1024 KiB
    note: .mcp.json: not changed: `.mcp.json` is a directory instead of a file
    note: .claude/settings.json: not changed: it is not UTF-8
    hint: `ken setup --print claude-code` prints the configuration, to write it by hand
    Ken changes nothing outside the repository, commits nothing and grants no permission; `ken setup --remove` undoes the changes.
    Done: 2 files written.
    hint: restart Claude Code, then commit the files to share them
    hint: Claude Code asks once whether to use the server of .mcp.json
    ");
    assert_eq!(
        fs::read(env.root().join(".claude/settings.json")).unwrap(),
        [0xff, 0xfe, b'{']
    );
}

#[test]
fn broken_and_hand_written_files_are_left_alone_and_told() {
    let env = repository_with_ledger();
    env.write(
        ".mcp.json",
        "{\"mcpServers\": {\"ken\": {\"command\": \"/opt/ken\"}}}",
    );
    env.write(".claude/settings.json", "{ broken");
    let told = env.run(["setup", "claude"]);
    assert_eq!(told.exit, 1, "{told}");
    assert!(
        told.stderr
            .contains("note: .mcp.json: the MCP server was written by hand; not changed"),
        "{told}"
    );
    assert!(
        told.stderr
            .contains("note: .claude/settings.json: not changed: the file cannot be read"),
        "{told}"
    );
    assert_eq!(env.read(".claude/settings.json"), "{ broken");
    let _ = env.run(["setup", "--remove", "--yes"]);
    assert_eq!(
        env.read(".mcp.json"),
        "{\"mcpServers\": {\"ken\": {\"command\": \"/opt/ken\"}}}"
    );
    assert_eq!(env.read(".claude/settings.json"), "{ broken");
}

#[test]
fn a_forged_record_removes_and_writes_nothing_of_others() {
    let env = repository_with_ledger();
    env.write("src/lib.rs", "fn main() {}");
    env.write("settings.json", "{}");
    fs::create_dir(env.root().join("empty")).unwrap();
    for (name, path) in [
        ("a.json", "src/lib.rs"),
        ("b.json", "../outside"),
        ("c.json", "settings.json"),
    ] {
        let record = format!(
            r#"{{"schema": "ken.setup.record.v1", "path": "{path}", "agents": ["zed"], "created": true, "folders": ["empty"]}}"#
        );
        env.write(&format!(".ken/setup/{name}"), &record);
    }
    env.write(".ken/setup/d.json", "<<<<<<< not json");
    env.write(
        ".ken/setup/.mcp.json.json",
        r#"{"schema": "ken.setup.record.v1", "path": ".mcp.json", "agents": ["claude-code"], "blank": "{\"mcpServers\": {}}"}"#,
    );
    let _ = env.run(["setup", "--remove", "--yes"]).success();
    assert_eq!(env.read("src/lib.rs"), "fn main() {}");
    assert_eq!(env.read("settings.json"), "{}");
    assert!(env.root().join("empty").is_dir());
    assert!(!env.root().join(".mcp.json").exists());
}

#[test]
fn a_forged_record_takes_no_member_of_others() {
    let env = repository_with_ledger();
    let own = "{\n  \"permissions\": {\"deny\": [\"Read(.env)\"]},\n  \"mcpServers\": {\"other\": {\"command\": \"x\"}}\n}\n";
    env.write(".claude/settings.json", own);
    let sum = |value: &str| blake3::hash(value.as_bytes()).to_hex()[..16].to_owned();
    let (deny, other) = (sum("[\"Read(.env)\"]"), sum("{\"command\":\"x\"}"));
    let record = format!(
        r#"{{"schema": "ken.setup.record.v1", "path": ".claude/settings.json", "agents": ["claude-code"], "entries": [{{"at": "/permissions", "key": "deny", "sum": "{deny}"}}, {{"at": "/mcpServers", "key": "other", "sum": "{other}"}}], "extras": ["permissions"], "made": ["/permissions", "/mcpServers"]}}"#
    );
    for command in [["setup", "claude", "--yes"], ["setup", "--remove", "--yes"]] {
        env.write(".claude/settings.json", own);
        env.write(".ken/setup/.claude+settings.json.json", &record);
        let _ = env.run(command);
        let text = env.read(".claude/settings.json");
        assert!(
            text.contains("Read(.env)") && text.contains("\"other\""),
            "{text}"
        );
    }
}
