//! Upgrades: a part that an older build wrote is updated; a part that a person edited is not.

use ken_agents::CodingAgent;
use ken_agents::setup::{FileUpdate, PartState, SetupRecord, install, remove, target_at};

use crate::{all_targets, install_and_record, part_states, text_after};

/// Rewrites an installed text as if an older build had written it.
///
/// The older build used a hook timeout of five seconds, another server argument and other text.
fn age_installed_text(path: &str, text: &str, record: &SetupRecord) -> (String, SetupRecord) {
    let target = target_at(path).expect("it is there");
    if !path.ends_with(".json") {
        let old = if path.ends_with(".toml") {
            text.replace("args = [\"mcp\"]\n", "args = [\"serve\"]\n")
        } else if let Some(at) = text.find("ken:begin") {
            let line = at + text[at..].find('\n').expect("it is there") + 1;
            format!("{}an older line\n{}", &text[..line], &text[line..])
        } else {
            format!("an older line\n{text}")
        };
        return (update_marker_hash(&old), record.clone());
    }
    let old = text
        .replace("\"timeout\": 10,", "\"timeout\": 5,")
        .replace("\"timeout\": 10\n", "\"timeout\": 5\n")
        .replace("\"timeout\": 3\n", "\"timeout\": 5\n")
        .replace("\"timeout\": 10000\n", "\"timeout\": 5000\n")
        .replace("\"timeoutSec\": 10\n", "\"timeoutSec\": 5\n")
        .replace("\"mcp\"]", "\"serve\"]");
    assert_ne!(old, text, "{path}");
    // The older build recorded hashes of its own values; a fresh install of those values yields
    // them.
    let mut record = record.to_text();
    for (new, old) in entry_hashes(text).into_iter().zip(entry_hashes(&old)) {
        record = record.replace(&new, &old);
    }
    assert!(!part_states(&target, Some(&old), SetupRecord::parse(&record).as_ref()).is_empty());
    (old, SetupRecord::parse(&record).expect("it is there"))
}

/// Returns the hashes of the entries in a file that holds only Ken's, in file order.
fn entry_hashes(text: &str) -> Vec<String> {
    let value: serde_json::Value = serde_json::from_str(text).expect("it is there");
    let mut found = Vec::new();
    for name in ["mcpServers", "mcp", "context_servers"] {
        found.extend(value[name].get("ken").map(value_hash));
    }
    let hooks = value["hooks"].as_object().into_iter().flatten();
    found.extend(hooks.map(|(_, groups)| value_hash(&groups[0])));
    found
}

fn value_hash(value: &serde_json::Value) -> String {
    let hash = blake3::hash(value.to_string().as_bytes()).to_hex();
    hash.as_str()[..16].to_owned()
}

/// Recomputes the hash in the markers of an edited text.
fn update_marker_hash(text: &str) -> String {
    let at = text.find("sha=").expect("it is there") + 4;
    let old = &text[at..at + 16];
    let content = match text.find("ken:file") {
        Some(_) => {
            let stamp = text.trim_end().rfind('\n').expect("it is there") + 1;
            text[..stamp].to_owned()
        }
        None => {
            let begin = text.find("ken:begin").expect("it is there");
            let start = begin + text[begin..].find('\n').expect("it is there") + 1;
            let end = text.rfind("ken:end").expect("it is there");
            let end = text[..end].rfind('\n').expect("it is there") + 1;
            text[start..end].to_owned()
        }
    };
    let hash = blake3::hash(content.as_bytes()).to_hex();
    text.replacen(old, &hash.as_str()[..16], 1)
}

#[test]
fn an_older_part_is_stale_and_is_replaced_in_its_place() {
    for target in all_targets() {
        let path = target.path;
        let before = path
            .ends_with(".md")
            .then_some("# Mine\n")
            .filter(|_| !path.contains('/'));
        let (Some(new), Some(record)) = install_and_record(&target, before) else {
            panic!("{path}");
        };
        let (old, old_record) = age_installed_text(path, &new, &record);
        let stands = part_states(&target, Some(&old), Some(&old_record));
        assert!(
            stands.iter().all(|it| *it == PartState::Stale),
            "{path}: {stands:?}"
        );
        let change = install(
            &target,
            Some(&old),
            Some(&old_record),
            &[CodingAgent::ClaudeCode],
        );
        assert_eq!(change.after, FileUpdate::Text(new), "{path}");
        let (text, record) = (text_after(&change, None), change.record);
        let gone = remove(&target, text.as_deref(), record.as_ref());
        assert_eq!(
            text_after(&gone, text.as_deref()).as_deref(),
            before,
            "{path}"
        );
        let straight = remove(&target, Some(&old), Some(&old_record));
        assert_eq!(
            text_after(&straight, Some(&old)).as_deref(),
            before,
            "{path}"
        );
    }
}

#[test]
fn a_part_somebody_changed_is_left_alone_by_installing_and_removing() {
    for (path, from, to) in [
        ("AGENTS.md", "Search before you work", "Search first"),
        (
            ".codex/config.toml",
            "args = [\"mcp\"]",
            "args = [\"mcp\", \"-C\", \"x\"]",
        ),
        (".claude/skills/ken/SKILL.md", "name: ken", "name: ken-mine"),
        (".mcp.json", "\"mcp\"", "\"mcp\", \"-C\", \"x\""),
        (".opencode/plugins/ken.ts", "10_000", "1_000"),
    ] {
        let target = target_at(path).unwrap();
        let (text, record) = install_and_record(&target, None);
        let edited = text.unwrap().replacen(from, to, 1);
        assert_eq!(
            part_states(&target, Some(&edited), record.as_ref()),
            [PartState::Edited],
            "{path}"
        );
        let change = install(&target, Some(&edited), record.as_ref(), &[]);
        assert_eq!(change.after, FileUpdate::Same, "{path}");
        let change = remove(&target, Some(&edited), record.as_ref());
        assert_eq!(change.after, FileUpdate::Same, "{path}");
        assert_eq!(
            change.record.is_some(),
            record.is_some(),
            "it stays known: {path}"
        );
    }
}

#[test]
fn what_a_newer_ken_wrote_is_left_alone() {
    for path in [
        "AGENTS.md",
        ".codex/config.toml",
        ".agents/skills/ken/SKILL.md",
    ] {
        let target = target_at(path).unwrap();
        let (text, record) = install_and_record(&target, None);
        let newer = text.unwrap().replace(" v=1 ", " v=2 ");
        assert_eq!(
            part_states(&target, Some(&newer), record.as_ref()),
            [PartState::Newer]
        );
        assert_eq!(
            install(&target, Some(&newer), None, &[]).after,
            FileUpdate::Same
        );
    }
}

#[test]
fn reformatting_is_no_change() {
    for target in all_targets()
        .into_iter()
        .filter(|it| it.path.ends_with(".json"))
    {
        let (text, record) = install_and_record(&target, None);
        let value: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
        for text in [
            value.to_string(),
            serde_json::to_string_pretty(&value).unwrap(),
        ] {
            let stands = part_states(&target, Some(&text), record.as_ref());
            assert!(
                stands.iter().all(|it| *it == PartState::Current),
                "{stands:?}"
            );
            assert_eq!(
                remove(&target, Some(&text), record.as_ref()).after,
                FileUpdate::Gone
            );
        }
    }
}

#[test]
fn a_file_ken_made_stays_where_somebody_wrote_into_it() {
    let hooks = target_at(".cursor/hooks.json").unwrap();
    let (text, record) = install_and_record(&hooks, None);
    let mine = text.unwrap().replacen(
        "\"hooks\": {\n",
        "\"hooks\": {\n    \"afterFileEdit\": [{\"command\": \"./fmt.sh\"}],\n",
        1,
    );
    let gone = remove(&hooks, Some(&mine), record.as_ref());
    let expected = "{\n  \"version\": 1,\n  \"hooks\": {\n    \"afterFileEdit\": [{\"command\": \"./fmt.sh\"}]\n  }\n}\n";
    assert_eq!(text_after(&gone, Some(&mine)).unwrap(), expected);
    let agents = target_at("AGENTS.md").unwrap();
    let (text, record) = install_and_record(&agents, None);
    let mine = format!("{}# Ours\n", text.unwrap());
    let gone = remove(&agents, Some(&mine), record.as_ref());
    assert_eq!(text_after(&gone, Some(&mine)).unwrap(), "# Ours\n");
}

#[test]
fn lines_around_a_block_never_become_one() {
    let agents = target_at("AGENTS.md").unwrap();
    let (text, record) = install_and_record(&agents, Some("no newline"));
    let mine = format!("{}and more", text.unwrap());
    let gone = remove(&agents, Some(&mine), record.as_ref());
    assert_eq!(
        text_after(&gone, Some(&mine)).unwrap(),
        "no newline\nand more"
    );
}

#[test]
fn a_record_of_what_is_all_gone_is_not_believed() {
    let target = target_at(".mcp.json").unwrap();
    let (_, record) = install_and_record(&target, None);
    let theirs = "{\"mcpServers\": {}}";
    let change = install(
        &target,
        Some(theirs),
        record.as_ref(),
        &[CodingAgent::ClaudeCode],
    );
    let text = text_after(&change, None);
    let gone = remove(&target, text.as_deref(), change.record.as_ref());
    assert_eq!(text_after(&gone, text.as_deref()).unwrap(), theirs);
}
