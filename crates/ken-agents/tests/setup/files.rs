//! Installation into single agent files: the text Ken writes and the text it leaves unchanged.

use ken_agents::CodingAgent;
use ken_agents::setup::{FileUpdate, PartState, install, remove, target_at};

use crate::{all_targets, check_round_trip, install_and_record, part_states, text_after};

#[test]
fn a_file_that_did_not_exist_does_not_exist_afterwards() {
    for target in all_targets() {
        check_round_trip(&target, None);
    }
}

#[test]
fn blank_files_come_back_as_blank_as_they_were() {
    for target in all_targets() {
        for blank in ["", "\n", "  \n\n", "\u{feff}", "\u{feff}\r\n", "\r\n", "\t"] {
            check_round_trip(&target, Some(blank));
        }
    }
}

#[test]
fn json_of_any_shape_comes_back_byte_by_byte() {
    let texts = [
        "{}",
        "{}\n",
        "{ }",
        "{\n}\n",
        "{\r\n}\r\n",
        "{\n  // nothing yet\n}",
        "{ /* nothing */ }",
        "\u{feff}{\n\t\"a\": 1\n}",
        "{\"a\":1}",
        "{\"a\":1,}",
        "{\n    \"a\": 1, // why\n    \"b\": [1, 2]   \n}\n",
        "{\n    \"a\": 1 // why   \n}\n",
        "{\r\n  \"a\": 1 // why \r\n}",
        "{\n  \"a\": 1, /* one */ /* two */\n}\n",
        "// first\n{\"mcpServers\": {}, \"hooks\": {}, \"mcp\": {}, \"context_servers\": {}}\n// last",
        "{\"mcpServers\": { }, \"hooks\": {\"Stop\": [], \"stop\": [ ], \"agentStop\": [\n]}}",
        "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\"}\n  },\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": []}]\n  }\n}",
        "{\n  \"mcpServers\": {\n    \"x\": {},\n  },\n}",
        "{\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"./x.sh\"}]}}",
        "   {\n      \"deep\": {\"er\": {}}\n   }   ",
    ];
    for target in all_targets() {
        let is_json = target.path.ends_with(".json");
        for text in texts.into_iter().filter(|_| is_json) {
            check_round_trip(&target, Some(text));
        }
    }
}

#[test]
fn markdown_of_any_shape_comes_back_byte_by_byte() {
    let texts = [
        "# Title",
        "# Title\n",
        "# Title\r\n\r\ntext",
        "a\n\n",
        "a\n\n\n",
        "\u{feff}a\r\n",
    ];
    for path in ["AGENTS.md", "CLAUDE.md", "GEMINI.md"] {
        let target = target_at(path).unwrap();
        for text in texts {
            check_round_trip(&target, Some(text));
        }
    }
}

#[test]
fn toml_of_any_shape_comes_back_byte_by_byte() {
    let target = target_at(".codex/config.toml").unwrap();
    for text in [
        "model = \"o\"",
        "model = \"o\" # why\r\n",
        "[mcp_servers.other]\ncommand = 'x'\n",
        "[mcp_servers]\n",
        "# only a comment\n\n",
        "\u{feff}a = 1\n",
    ] {
        check_round_trip(&target, Some(text));
    }
}

#[test]
fn what_is_written_parses_and_says_what_it_should() {
    for target in all_targets() {
        let (text, _) = install_and_record(&target, None);
        let Some(text) = text else { continue };
        if target.path.ends_with(".json") {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(text.contains("\"ken"), "{}: {value}", target.path);
        }
    }
    let toml = install_and_record(&target_at(".codex/config.toml").unwrap(), None)
        .0
        .unwrap();
    let parsed: toml_edit::DocumentMut = toml.parse().unwrap();
    assert_eq!(
        parsed["mcp_servers"]["ken"]["command"].as_str(),
        Some("ken")
    );
}

#[test]
fn a_server_is_added_in_the_style_of_the_file() {
    let target = target_at(".mcp.json").unwrap();
    let before =
        "{\n    \"mcpServers\": {\n        \"x\": {\"command\": \"x\"} // ours\n    }\n}\n";
    let expected = "{\n    \"mcpServers\": {\n        \"x\": {\"command\": \"x\"}, // ours\n        \"ken\": {\n            \"command\": \"ken\",\n            \"args\": [\"mcp\"]\n        }\n    }\n}\n";
    assert_eq!(
        install_and_record(&target, Some(before)).0.unwrap(),
        expected
    );
    let inline = "{\"mcpServers\":{\"x\":{}}}";
    let expected =
        "{\"mcpServers\":{\"x\":{}, \"ken\": {\"command\": \"ken\", \"args\": [\"mcp\"]}}}";
    assert_eq!(
        install_and_record(&target, Some(inline)).0.unwrap(),
        expected
    );
}

#[test]
fn entries_written_by_hand_are_left_alone_and_told() {
    let target = target_at(".mcp.json").unwrap();
    let other = "{\"mcpServers\": {\"ken\": {\"command\": \"/opt/ken\"}}}";
    let same = "{\"mcpServers\": {\"ken\": {\"args\": [\"mcp\"], \"command\": \"ken\"}}}";
    for (text, standing) in [(other, PartState::Handwritten), (same, PartState::Present)] {
        let change = install(&target, Some(text), None, &[CodingAgent::ClaudeCode]);
        assert_eq!(change.after, FileUpdate::Same);
        assert_eq!(change.pieces[0].standing, standing);
        assert_eq!(change.record, None);
        let change = remove(&target, Some(text), None);
        assert_eq!(change.after, FileUpdate::Same);
    }
    let codex = target_at(".codex/config.toml").unwrap();
    let text = "[mcp_servers.ken]\ncommand = \"ken\"\n";
    assert_eq!(
        part_states(&codex, Some(text), None),
        [PartState::Handwritten]
    );
    let skill = target_at(".claude/skills/ken/SKILL.md").unwrap();
    assert_eq!(
        part_states(&skill, Some("---\nname: ken\n---\n"), None),
        [PartState::Handwritten]
    );
}

#[test]
fn a_hook_written_by_hand_stays_while_the_others_are_added() {
    let target = target_at(".claude/settings.json").unwrap();
    let mine = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "ken hook claude-code stop"}]}]}}"#;
    let (text, record) = install_and_record(&target, Some(mine));
    let stands = part_states(&target, text.as_deref(), record.as_ref());
    assert_eq!(
        stands
            .iter()
            .filter(|it| **it == PartState::Handwritten)
            .count(),
        1
    );
    assert_eq!(
        stands
            .iter()
            .filter(|it| **it == PartState::Current)
            .count(),
        6
    );
    let gone = remove(&target, text.as_deref(), record.as_ref());
    assert_eq!(text_after(&gone, text.as_deref()).unwrap(), mine);
}

#[test]
fn files_that_are_not_of_their_form_are_left_alone_and_told() {
    for (path, text) in [
        (".mcp.json", "{"),
        (".mcp.json", "[]"),
        (".mcp.json", "// only a comment"),
        (".mcp.json", "{'mcpServers': {}}"),
        (".mcp.json", "{\"mcpServers\": []}"),
        (".mcp.json", "{\"mcpServers\": {}, \"mcpServers\": {}}"),
        (".claude/settings.json", "{\"hooks\": {\"Stop\": {}}}"),
        (".codex/config.toml", "a = "),
        (
            ".codex/config.toml",
            "mcp_servers = { other = { command = 'x' } }\n",
        ),
        ("AGENTS.md", "a\n<!-- ken:begin v=1 sha=0 -->\nb\n"),
        ("AGENTS.md", "<!-- ken:end -->\n"),
    ] {
        let target = target_at(path).unwrap();
        let stands = part_states(&target, Some(text), None);
        let told = stands
            .iter()
            .any(|it| matches!(it, PartState::Unreadable(_)));
        assert!(told, "{path} {text}: {stands:?}");
        if path != ".claude/settings.json" {
            let change = install(&target, Some(text), None, &[CodingAgent::ClaudeCode]);
            assert_eq!(change.after, FileUpdate::Same, "{path} {text}");
        }
    }
}

#[test]
fn doubled_parts_are_recognized() {
    let agents = target_at("AGENTS.md").unwrap();
    let block = install_and_record(&agents, None).0.unwrap();
    assert_eq!(
        part_states(&agents, Some(&block.repeat(2)), None),
        [PartState::Duplicated]
    );
    let mcp = target_at(".mcp.json").unwrap();
    let text = r#"{"mcpServers": {"ken": {}, "ken": {}}}"#;
    assert_eq!(part_states(&mcp, Some(text), None), [PartState::Duplicated]);
    let hooks = target_at(".cursor/hooks.json").unwrap();
    let twice = r#"{"hooks": {"stop": [{"command": "ken hook cursor stop"}, {"command": "ken hook cursor stop"}]}}"#;
    assert!(part_states(&hooks, Some(twice), None).contains(&PartState::Duplicated));
}

#[test]
fn an_import_is_written_only_where_the_file_exists_and_lacks_it() {
    for path in ["CLAUDE.md", "GEMINI.md"] {
        let target = target_at(path).unwrap();
        for text in [
            None,
            Some("# x\n@AGENTS.md\n"),
            Some("See @./AGENTS.md for more\n"),
        ] {
            assert_eq!(part_states(&target, text, None), [PartState::Unneeded]);
            assert_eq!(install(&target, text, None, &[]).after, FileUpdate::Same);
        }
        assert_eq!(
            part_states(&target, Some("# x\n"), None),
            [PartState::Missing]
        );
    }
}
