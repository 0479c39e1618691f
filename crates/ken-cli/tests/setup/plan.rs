//! The setup plan shown to people and programs before anything is written.

use ken_testkit::test_env::TestEnvironment;

use crate::setup::{read_tree, repository_with_ledger};

#[test]
fn the_plan_is_shown_and_nothing_is_written_where_nobody_can_answer() {
    let env = repository_with_ledger();
    env.write("CLAUDE.md", "# Ours\n");
    env.write(".codex/x", "");
    let before = read_tree(&env);
    insta::assert_snapshot!(env.run(["setup"]), @"
    exit: 1
    ----- stdout -----
      create  AGENTS.md                    instructions
      add to  CLAUDE.md                    import of AGENTS.md (Claude Code)
      create  .claude/skills/ken/SKILL.md  skill (Claude Code)
      create  .mcp.json                    MCP server (Claude Code)
      create  .claude/settings.json        7 hooks (Claude Code)
      create  .agents/skills/ken/SKILL.md  skill (Codex)
      create  .codex/config.toml           MCP server (Codex)
      create  .codex/hooks.json            5 hooks (Codex)
      write   .ken/setup/: 8 records of what Ken wrote, for `ken setup --remove`
    ----- stderr -----
    Connecting Claude Code and Codex changes these files in [root]:
    Ken changes nothing outside the repository, commits nothing and grants no permission; `ken setup --remove` undoes the changes.
    Nothing was written: Ken asks for confirmation only on a terminal.
    hint: `ken setup --yes` writes the changes; `ken setup --dry-run` prints them as a diff
    ");
    assert_eq!(read_tree(&env), before);
}

#[test]
fn a_named_agent_is_set_up_without_a_question() {
    let env = repository_with_ledger();
    insta::assert_snapshot!(env.run(["setup", "zed"]), @"
    exit: 0
    ----- stdout -----
      create  AGENTS.md           instructions
      create  .zed/settings.json  MCP server
      write   .ken/setup/: 2 records of what Ken wrote, for `ken setup --remove`
    ----- stderr -----
    Connecting Zed changes these files in [root]:
    Ken changes nothing outside the repository, commits nothing and grants no permission; `ken setup --remove` undoes the changes.
    Done: 4 files written.
    hint: restart Zed, then commit the files to share them
    ");
    insta::assert_snapshot!(env.run(["setup", "zed"]), @"
    exit: 0
    ----- stderr -----
    Nothing to write for Zed.
    ");
    insta::assert_snapshot!(env.run(["setup", "--check"]), @"
    exit: 0
    ----- stdout -----
    current    AGENTS.md           instructions
    current    .zed/settings.json  MCP server
    ");
    insta::assert_snapshot!(env.run(["setup", "--remove", "--yes"]), @"
    exit: 0
    ----- stdout -----
      delete  .zed/settings.json  MCP server
      delete  AGENTS.md           instructions
      remove  .ken/setup/: 2 records of what Ken wrote
    ----- stderr -----
    Removing Ken changes these files in [root]:
    Done: 4 files restored or removed.
    ");
}

#[test]
fn a_dry_run_shows_the_lines_and_writes_none() {
    let env = repository_with_ledger();
    env.write(
        ".zed/settings.json",
        "{\n  // mine\n  \"tab_size\": 2,\n}\n",
    );
    env.write("AGENTS.md", "# Ours\n@AGENTS.md\n");
    let before = read_tree(&env);
    let shown = env.run(["setup", "zed", "--dry-run"]).success();
    let expected = "\
--- a/.zed/settings.json
+++ b/.zed/settings.json
@@ -1,4 +1,10 @@
 {
   // mine
   \"tab_size\": 2,
+  \"context_servers\": {
+    \"ken\": {
+      \"command\": \"ken\",
+      \"args\": [\"mcp\"]
+    }
+  },
 }
";
    assert!(shown.stdout.contains(expected), "{shown}");
    assert_eq!(read_tree(&env), before);
}

#[test]
fn programs_get_the_plan_as_one_object() {
    let env = repository_with_ledger();
    let shown = env
        .run(["setup", "zed", "--dry-run", "--format", "json"])
        .success()
        .json();
    assert_eq!(shown["schema"], "ken.setup.v1");
    assert_eq!(shown["written"], false);
    assert_eq!(shown["files"][1]["path"], ".zed/settings.json");
    assert_eq!(shown["files"][1]["action"], "create");
    assert_eq!(shown["files"][1]["agents"][0], "zed");
    assert_eq!(shown["files"][1]["standing"][0], "missing");
    let done = env
        .run(["setup", "zed", "--format", "json"])
        .success()
        .json();
    assert_eq!(done["written"], true);
    let checked = env
        .run(["setup", "--check", "--format", "json"])
        .success()
        .json();
    assert_eq!(checked["files"][0]["standing"][0], "current");
}

#[test]
fn print_shows_what_to_write_by_hand_also_without_a_ledger() {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken"));
    let shown = env.run(["setup", "--print", "codex"]).success().stdout;
    assert!(
        shown.contains("==> .codex/config.toml (MCP server) <==\n[mcp_servers.ken]\n"),
        "{shown}"
    );
    assert!(shown.contains("ken hook codex start"), "{shown}");
}

#[test]
fn wrong_words_are_told() {
    let env = repository_with_ledger();
    insta::assert_snapshot!(env.run(["setup", "clippy"]), @"
    exit: 2
    ----- stderr -----
    error: invalid value 'clippy' for '[AGENT]...': supported agents: claude-code, codex, cursor, copilot, gemini-cli, opencode, zed

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(env.run(["setup"]), @"
    exit: 2
    ----- stderr -----
    error: no agent was found in this repository, your home or on PATH

    hint: name one: claude-code, codex, cursor, copilot, gemini-cli, opencode, zed
    ");
    insta::assert_snapshot!(env.run(["setup", "--check"]), @"
    exit: 1
    ----- stderr -----
    error: no agent is set up in this repository

    hint: run `ken setup`
    ");
    let outside = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    insta::assert_snapshot!(outside.run(["setup", "zed"]), @"
    exit: 2
    ----- stderr -----
    error: this repository has no ledger

    hint: run `ken init` at the top of the repository
    ");
}

#[test]
fn init_sets_up_the_agents_it_is_told_and_names_the_command_otherwise() {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    env.write(".claude/x", "");
    let told = env.run(["init"]).success();
    assert!(
        told.stderr
            .contains("hint: run `ken setup` to connect Claude Code"),
        "{told}"
    );
    assert!(!env.root().join("AGENTS.md").exists());
    let told = env.run(["init", "--no-agents"]).success();
    assert!(!told.stderr.contains("ken setup"), "{told}");
    let _ = env.run(["init", "--agents", "claude,zed"]).success();
    assert!(
        env.root().join(".mcp.json").exists() && env.root().join(".zed/settings.json").exists()
    );
    let told = env.run(["init"]).success();
    assert!(!told.stderr.contains("ken setup"), "{told}");
}

#[test]
fn a_plugin_is_exported_into_a_folder_and_overwrites_nothing() {
    let env = repository_with_ledger();
    let done = env.run(["setup", "--plugin", "out"]).success();
    assert!(
        done.stdout
            .contains("plugins/ken/.claude-plugin/plugin.json"),
        "{done}"
    );
    assert!(
        env.read("out/plugins/ken/hooks/hooks.json")
            .contains("ken hook claude-code start")
    );
    let _ = env.run(["setup", "--plugin", "out"]).success();
    env.write("out/server.json", "mine");
    let refused = env.run(["setup", "--plugin", "out"]);
    assert_eq!(refused.exit, 1, "{refused}");
    assert_eq!(env.read("out/server.json"), "mine");
}
