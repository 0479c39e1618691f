//! Findings of `ken doctor` about agents.

use std::fs;

use ken_testkit::test_env::TestEnvironment;

use crate::setup::repository_with_ledger;

/// Returns the lines of `ken doctor` about agents.
fn agent_findings(env: &TestEnvironment) -> String {
    let run = env.run(["doctor"]).success();
    let own = ["agents", "doubled", "halves", "path", "do:"];
    let is_own = |line: &&str| {
        own.iter()
            .any(|name| line.split_whitespace().any(|word| word == *name))
    };
    run.stdout
        .lines()
        .filter(is_own)
        .map(|line| format!("{line}\n"))
        .collect()
}

fn write_in_home(env: &TestEnvironment, path: &str, text: &str) {
    let path = env
        .root()
        .parent()
        .expect("it is there")
        .join("home")
        .join(path);
    fs::create_dir_all(path.parent().expect("it is there")).expect("it is there");
    fs::write(path, text).expect("it is there");
}

#[test]
fn where_no_agent_is_set_up_there_is_nothing_to_say() {
    assert_eq!(agent_findings(&repository_with_ledger()), "");
}

#[test]
fn a_ken_that_is_not_on_path_or_another_is_told() {
    let env = repository_with_ledger();
    let _ = env.run(["setup", "zed"]).success();
    insta::assert_snapshot!(agent_findings(&env), @"
    ok       agents         set up for Zed
    warning  path           agents start `ken`, which is not on PATH
                            do: add the folder of this program to PATH
    ");
    let folder = env.root().parent().unwrap().join("bin");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("ken"), "#!/bin/sh\n").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(folder.join("ken"), fs::Permissions::from_mode(0o755)).unwrap();
        let env = env.env("PATH", &format!("{}:/usr/bin:/bin", folder.display()));
        let told = agent_findings(&env);
        assert!(
            told.contains("warning  path           agents start another ken: "),
            "{told}"
        );
    }
}

#[test]
fn stale_doubled_and_halved_installations_are_told() {
    let env = repository_with_ledger();
    let _ = env.run(["setup", "claude", "codex"]).success();
    let plugin = r#"{"enabledPlugins": {"ken@ken": true, "other@x": true}}"#;
    write_in_home(&env, ".claude/settings.json", plugin);
    write_in_home(
        &env,
        ".codex/config.toml",
        "[mcp_servers.ken]\ncommand = 'ken'\n",
    );
    fs::remove_file(env.root().join(".codex/hooks.json")).unwrap();
    let agents = env.read("AGENTS.md");
    env.write("AGENTS.md", &agents.repeat(2));
    insta::assert_snapshot!(agent_findings(&env), @"
    warning  agents         AGENTS.md (doubled), .codex/hooks.json (missing)
                            do: ken setup --check
    warning  doubled        Claude Code has Ken's MCP server in .mcp.json and the plugin enabled in ~/.claude/settings.json, and hooks in .claude/settings.json and the plugin enabled in ~/.claude/settings.json
                            do: remove one; `ken setup --remove` removes those in the repository
    warning  doubled        Codex has Ken's MCP server in .codex/config.toml and ~/.codex/config.toml
                            do: remove one; `ken setup --remove` removes those in the repository
    warning  halves         Codex has the server but not the hooks: it gets no automatic context, and its runs are not witnessed
                            do: ken setup codex
    warning  path           agents start `ken`, which is not on PATH
                            do: add the folder of this program to PATH
    ");
}
