//! Property tests: text around Ken's part keeps its bytes through installation and removal.

use ken_agents::CodingAgent;
use ken_agents::setup::{PartState, install, remove, target_at};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{all_targets, check_round_trip, install_and_record, part_states, text_after};

const CASES: u32 = 300;

fn any_whitespace(newline: &'static str) -> BoxedStrategy<String> {
    let piece = prop_oneof![
        6 => Just(String::new()),
        3 => Just(" ".to_owned()),
        2 => Just(newline.to_owned()),
        2 => Just(format!("{newline}  ")),
        1 => Just("\t".to_owned()),
        1 => Just(" /* ken: \"}\" , */ ".to_owned()),
        1 => Just(format!(" // {{ \"a\": [, {newline}")),
        1 => Just(format!("// x  {newline}\t")),
    ];
    vec(piece, 0..3).prop_map(|it| it.concat()).boxed()
}

fn any_key() -> impl Strategy<Value = String> {
    const KNOWN: [&str; 8] = [
        "mcpServers",
        "mcp",
        "context_servers",
        "hooks",
        "Stop",
        "stop",
        "SessionStart",
        "x",
    ];
    prop_oneof![
        4 => proptest::sample::select(&KNOWN[..]).prop_map(str::to_owned),
        1 => "[a-zäß,{} ]{1,5}",
    ]
}

/// Generates a value with odd whitespace, comments and trailing commas, without Ken's keys or
/// duplicate keys.
fn any_json_value(newline: &'static str) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("-0.5e3".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("\"// no comment\"".to_owned()),
        Just("\"ken hooks \\\" \\u00e4\"".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let item = (any_whitespace(newline), inner, any_whitespace(newline));
        let member = (any_key(), any_whitespace(newline), item.clone());
        let array = (vec(item, 0..4), any::<bool>(), any_whitespace(newline));
        let object = (vec(member, 0..4), any::<bool>(), any_whitespace(newline));
        prop_oneof![
            array.prop_map(|(items, trailing, blank)| {
                let items = items.into_iter().map(|(a, it, b)| format!("{a}{it}{b}"));
                let items: Vec<String> = items.collect();
                join_bracketed(["[", "]"], &items, trailing, &blank)
            }),
            object.prop_map(|(members, trailing, blank)| {
                let mut seen: Vec<String> = Vec::new();
                let mut items = Vec::new();
                for (any_key, gap, (a, it, b)) in members {
                    if !seen.contains(&any_key) {
                        let quoted = serde_json::Value::from(any_key.clone());
                        items.push(format!("{a}{quoted}{gap}:{it}{b}"));
                        seen.push(any_key);
                    }
                }
                join_bracketed(["{", "}"], &items, trailing, &blank)
            }),
        ]
    })
}

fn join_bracketed(
    [open, close]: [&str; 2],
    items: &[String],
    trailing: bool,
    blank: &str,
) -> String {
    let comma = if trailing && !items.is_empty() {
        ","
    } else {
        ""
    };
    format!("{open}{}{comma}{blank}{close}", items.join(","))
}

/// Generates a file: a value between whitespace, with or without a byte order mark.
fn any_json_file() -> impl Strategy<Value = String> {
    let newline = prop_oneof![Just("\n"), Just("\r\n")];
    newline.prop_flat_map(|newline| {
        let mark = prop_oneof![4 => Just(""), 1 => Just("\u{feff}")];
        (
            mark,
            any_whitespace(newline),
            any_json_value(newline),
            any_whitespace(newline),
        )
            .prop_map(|(mark, a, it, b)| format!("{mark}{a}{it}{b}"))
    })
}

fn any_markdown() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        3 => "[a-z #*`\\[\\]ä-]{0,20}",
        1 => Just("<!-- a comment -->".to_owned()),
        1 => Just("@other.md".to_owned()),
    ];
    let end = prop_oneof![4 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\n\n")];
    (vec((line, end), 0..6), any::<bool>()).prop_map(|(lines, cut)| {
        let text: String = lines
            .iter()
            .map(|(line, end)| format!("{line}{end}"))
            .collect();
        if cut {
            text.trim_end().to_owned()
        } else {
            text
        }
    })
}

fn any_toml() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("# a comment"),
        Just("[mcp_servers.other]"),
        Just("[profiles.x]"),
        Just("command = 'x'   # why"),
        Just("list = [\n  1, # one\n  2,\n]"),
        Just(""),
    ];
    let end = prop_oneof![4 => Just("\n"), 1 => Just("\r\n")];
    (vec((line, end), 0..6), any::<bool>()).prop_map(|(lines, cut)| {
        let text: String = lines
            .iter()
            .map(|(line, end)| format!("{line}{end}"))
            .collect();
        if cut {
            text.trim_end().to_owned()
        } else {
            text
        }
    })
}

/// Generates text that a person may add before and after the installed text.
fn any_addition() -> impl Strategy<Value = (String, String)> {
    ("[a-z]{1,8}\n", "[a-z]{1,8}\n?")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// Installing and removing restores any JSON; invalid JSON is not touched.
    #[test]
    fn json_keeps_its_bytes(text in any_json_file()) {
        for target in all_targets().iter().filter(|it| it.path.ends_with(".json")) {
            let (after, record) = install_and_record(target, Some(&text));
            let stands = part_states(target, Some(&text), None);
            if stands.iter().all(|it| matches!(it, PartState::Missing)) {
                check_round_trip(target, Some(&text));
            } else {
                let gone = remove(target, after.as_deref(), record.as_ref());
                let back = text_after(&gone, after.as_deref());
                prop_assert_eq!(back.as_deref(), Some(text.as_str()), "{}", target.path);
            }
        }
    }

    /// Text a person adds after installation remains after removal, and nothing else does.
    #[test]
    fn members_added_later_stay(text in any_json_file(), first in any::<bool>()) {
        let target = target_at(".mcp.json").unwrap();
        let (after, record) = install_and_record(&target, Some(&text));
        prop_assume!(record.is_some());
        let after = after.unwrap();
        let root = after.find('{').filter(|at| after[..*at].trim_matches('\u{feff}').trim().is_empty());
        prop_assume!(root.is_some());
        let (open, close) = (root.unwrap_or_default(), after.rfind('}').unwrap_or_default());
        let behind = &after[close..];
        prop_assume!(!behind.contains("//") && !behind.contains("/*"));
        let is_trailing = {
            let before = after[..close].trim_end();
            before.ends_with(',')
        };
        let edited = if first {
            format!("{}\"mine\": 7, {}", &after[..=open], &after[open + 1..])
        } else {
            prop_assume!(!is_trailing && !after[..close].trim_end().ends_with("*/"));
            let last = after[..close].rsplit('\n').next().unwrap_or_default();
            let before = after[..close].trim_end();
            prop_assume!(!last.contains("//") && !before.rsplit('\n').next().unwrap_or_default().contains("//"));
            format!("{}, \"mine\": 7{}", before, &after[before.len()..])
        };
        prop_assume!(edited != after);
        let stands = part_states(&target, Some(&edited), record.as_ref());
        prop_assume!(stands == [PartState::Current]);
        let gone = remove(&target, Some(&edited), record.as_ref());
        let back = text_after(&gone, Some(&edited)).unwrap();
        prop_assert!(back.contains("\"mine\": 7"), "{back}");
        prop_assert!(!back.contains("\"ken\""), "{back}");
        let again = install(&target, Some(&back), None, &[CodingAgent::ClaudeCode]);
        let due = again.pieces.iter().all(|it| it.standing == PartState::Missing);
        prop_assert!(due, "still JSON: {back}");
    }

    #[test]
    fn markdown_keeps_its_bytes(text in any_markdown(), (before, behind) in any_addition()) {
        for path in ["AGENTS.md", "CLAUDE.md"] {
            let target = target_at(path).unwrap();
            check_round_trip(&target, Some(&text));
            let (after, record) = install_and_record(&target, Some(&text));
            let edited = format!("{before}{}{behind}", after.unwrap());
            let gone = remove(&target, Some(&edited), record.as_ref());
            let back = text_after(&gone, Some(&edited)).unwrap();
            // Where the text did not end in a newline, installation adds one before the new text.
            let joins = text.is_empty() || text.ends_with('\n');
            let newline = if edited.find('\n').is_some_and(|at| edited[..at].ends_with('\r')) { "\r\n" } else { "\n" };
            let between = if joins { "" } else { newline };
            prop_assert_eq!(back, format!("{before}{text}{between}{behind}"), "{}", path);
        }
    }

    #[test]
    fn toml_keeps_its_bytes(text in any_toml()) {
        let target = target_at(".codex/config.toml").unwrap();
        let stands = part_states(&target, Some(&text), None);
        let (after, record) = install_and_record(&target, Some(&text));
        if stands == [PartState::Missing] {
            check_round_trip(&target, Some(&text));
        } else {
            prop_assert_eq!(after.as_deref(), Some(text.as_str()));
            prop_assert!(record.is_none());
        }
    }
}
