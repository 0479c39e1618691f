//! Installing, upgrading and removing agent files: the original files come back.

use std::fs;

use crate::setup::{AGENTS, read_tree, repository_with_ledger};

/// Existing files of a user, in unusual forms.
const USER_FILES: [(&str, &str); 10] = [
    ("AGENTS.md", "# Ours\r\n\r\nNo newline at the end"),
    ("CLAUDE.md", "\u{feff}# Claude\n"),
    ("GEMINI.md", "# Gemini\n\n\n"),
    (".mcp.json", "{\"mcpServers\":{\"x\":{\"command\":\"x\"}}}"),
    (
        ".claude/settings.json",
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [],\n\t},\n}\n",
    ),
    (
        ".codex/config.toml",
        "model = \"o\" # why\r\n[mcp_servers.x]\r\ncommand = 'x'\r\n",
    ),
    (".cursor/hooks.json", "{\"version\": 1, \"hooks\": {}}"),
    (".gemini/settings.json", ""),
    ("opencode.jsonc", "// mine\n{\n  /* nothing yet */\n}"),
    (".zed/settings.json", "{\r\n  \"tab_size\": 2, // two\r\n}"),
];

#[test]
fn every_agent_comes_and_goes_without_a_trace() {
    for agent in AGENTS {
        let env = repository_with_ledger();
        let before = read_tree(&env);
        let _ = env.run(["setup", agent]).success();
        assert_ne!(read_tree(&env), before, "{agent}");
        let _ = env.run(["setup", "--check", agent]).success();
        let _ = env.run(["setup", "--remove", agent]).success();
        assert_eq!(read_tree(&env), before, "{agent}");
    }
}

#[test]
fn every_agent_comes_and_goes_among_files_of_others() {
    let env = repository_with_ledger();
    for (path, text) in USER_FILES {
        env.write(path, text);
    }
    let before = read_tree(&env);
    let _ = env
        .run(["setup", "--yes"].into_iter().chain(AGENTS))
        .success();
    let _ = env.run(["setup", "--check"]).success();
    assert!(
        !env.root().join("opencode.json").exists(),
        "the other name is used"
    );
    let again = read_tree(&env);
    let _ = env.run(["setup", "--yes"]).success();
    assert_eq!(read_tree(&env), again, "twice is once");
    let _ = env.run(["setup", "--remove", "--yes"]).success();
    assert_eq!(read_tree(&env), before);
}

#[test]
fn edits_around_what_ken_wrote_stay() {
    let env = repository_with_ledger();
    env.write("AGENTS.md", "# Ours\n");
    let _ = env.run(["setup", "claude", "codex"]).success();
    env.write(
        "AGENTS.md",
        &format!("# New\n{}More.\n", env.read("AGENTS.md")),
    );
    let settings = env.read(".claude/settings.json");
    let mine = settings.replacen("{\n", "{\n  \"model\": \"opus\",\n", 1);
    env.write(".claude/settings.json", &mine);
    env.write(
        ".codex/config.toml",
        &format!("model = \"o\"\n{}", env.read(".codex/config.toml")),
    );
    let _ = env.run(["setup", "--check"]).success();
    let _ = env.run(["setup", "--remove", "--yes"]).success();
    assert_eq!(env.read("AGENTS.md"), "# New\n# Ours\nMore.\n");
    assert_eq!(
        env.read(".claude/settings.json"),
        "{\n  \"model\": \"opus\"\n}\n"
    );
    assert_eq!(env.read(".codex/config.toml"), "model = \"o\"\n");
    assert!(!env.root().join(".codex/hooks.json").exists());
}

#[test]
fn what_an_older_ken_wrote_is_stale_until_setup_runs() {
    let env = repository_with_ledger();
    env.write("AGENTS.md", "# Ours\n");
    let before = read_tree(&env);
    let _ = env.run(["setup", "claude"]).success();
    let new = read_tree(&env);
    // The block of an older build: other text, with the matching hash.
    let block = "older words\n";
    let sum = &blake3_16(block);
    env.write(
        "AGENTS.md",
        &format!("# Ours\n\n<!-- ken:begin v=1 sha={sum} -->\n{block}<!-- ken:end -->\n"),
    );
    let stale = env.run(["setup", "--check"]);
    assert_eq!(stale.exit, 1, "{stale}");
    assert!(stale.stdout.starts_with("stale      AGENTS.md"), "{stale}");
    let _ = env.run(["setup", "claude"]).success();
    assert_eq!(read_tree(&env), new);
    let _ = env.run(["setup", "--remove", "--yes"]).success();
    assert_eq!(read_tree(&env), before);
}

fn blake3_16(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    hash.as_str()[..16].to_owned()
}

#[test]
fn what_a_person_changed_is_told_and_left() {
    let env = repository_with_ledger();
    let _ = env.run(["setup", "claude"]).success();
    let mine = env.read(".mcp.json").replace("\"mcp\"", "\"mcp\", \"-v\"");
    env.write(".mcp.json", &mine);
    fs::remove_file(env.root().join(".claude/settings.json")).unwrap();
    insta::assert_snapshot!(env.run(["setup", "--check"]), @"
    exit: 1
    ----- stdout -----
    current    AGENTS.md                    instructions
    current    .claude/skills/ken/SKILL.md  skill
    edited     .mcp.json                    MCP server
    missing    .claude/settings.json        7 hooks
    ----- stderr -----
    note: .mcp.json: the MCP server was edited by hand; not changed
    hint: run `ken setup` to update it
    ");
    let again = env.run(["setup", "claude"]);
    assert_eq!(again.exit, 1, "{again}");
    assert_eq!(env.read(".mcp.json"), mine);
    assert!(env.root().join(".claude/settings.json").exists());
    let removed = env.run(["setup", "--remove", "--yes"]);
    assert_eq!(removed.exit, 1, "{removed}");
    assert_eq!(env.read(".mcp.json"), mine);
    assert!(!env.root().join("AGENTS.md").exists());
}

#[test]
fn a_file_two_agents_share_stays_for_the_other() {
    let env = repository_with_ledger();
    let _ = env.run(["setup", "claude", "copilot"]).success();
    let _ = env.run(["setup", "--remove", "claude"]).success();
    assert!(env.root().join(".mcp.json").exists() && env.root().join("AGENTS.md").exists());
    assert!(!env.root().join(".claude").exists());
    let _ = env.run(["setup", "--check"]).success();
    let _ = env.run(["setup", "--remove", "copilot"]).success();
    assert!(!env.root().join(".mcp.json").exists() && !env.root().join("AGENTS.md").exists());
}

#[test]
fn a_folder_ken_made_goes_with_the_last_file_in_it() {
    let env = repository_with_ledger();
    let before = read_tree(&env);
    let _ = env.run(["setup", "codex"]).success();
    let _ = env.run(["setup", "gemini"]).success();
    let _ = env.run(["setup", "--remove", "codex"]).success();
    assert!(!env.root().join(".codex").exists());
    let _ = env.run(["setup", "--remove", "gemini"]).success();
    assert_eq!(read_tree(&env), before);
}

#[test]
fn another_clone_can_take_it_out() {
    let env = repository_with_ledger();
    env.write(".mcp.json", "{ }");
    let _ = env.run(["setup", "claude"]).success();
    let _ = env.git(["add", "-A"]);
    let _ = env.git(["commit", "-q", "-m", "ken"]);
    let _ = env.git(["clone", "-q", ".", "clone"]);
    let _ = env
        .run(["-C", "clone", "setup", "--remove", "--yes"])
        .success();
    assert_eq!(env.read("clone/.mcp.json"), "{ }");
    assert!(!env.root().join("clone/.claude").exists());
    assert!(!env.root().join("clone/.ken/setup").exists());
}

#[test]
fn what_ken_tells_agents_is_no_knowledge_to_import() {
    let env = repository_with_ledger();
    env.write(
        "AGENTS.md",
        "# Ours\n\n- Always run `make lint` before a commit.\n",
    );
    let _ = env.run(["setup", "claude"]).success();
    let audit = env.run(["audit", "--format", "json"]);
    assert!(audit.stdout.contains("make lint"), "{audit}");
    assert!(!audit.stdout.contains("ken_search"), "{audit}");
}

#[test]
fn uninstall_takes_it_out_too() {
    let env = repository_with_ledger();
    env.write("AGENTS.md", "# Ours\n");
    let _ = env.run(["setup", "claude"]).success();
    let gone = env.run(["self", "uninstall"]).success();
    assert!(gone.stdout.contains(".claude/settings.json\n"), "{gone}");
    assert_eq!(env.names("."), [".git", "AGENTS.md"]);
    assert_eq!(env.read("AGENTS.md"), "# Ours\n");
}

#[cfg(unix)]
#[test]
fn a_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = repository_with_ledger();
    env.write(".mcp.json", "{}");
    let path = env.root().join(".mcp.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let _ = env.run(["setup", "claude"]).success();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}
