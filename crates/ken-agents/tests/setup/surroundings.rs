//! Whatever stands around Ken's part keeps its bytes, for any text a person may have.

use ken_agents::Agent;
use ken_agents::setup::{Standing, install, remove, target_at};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{every_target, installed, left, standings, there_and_back};

const CASES: u32 = 300;

fn blanks(newline: &'static str) -> BoxedStrategy<String> {
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

fn key() -> impl Strategy<Value = String> {
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

/// A value with odd blanks, comments and trailing commas; no key of Ken's, none twice.
fn value(newline: &'static str) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("-0.5e3".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("\"// no comment\"".to_owned()),
        Just("\"ken hooks \\\" \\u00e4\"".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let item = (blanks(newline), inner, blanks(newline));
        let member = (key(), blanks(newline), item.clone());
        let array = (vec(item, 0..4), any::<bool>(), blanks(newline));
        let object = (vec(member, 0..4), any::<bool>(), blanks(newline));
        prop_oneof![
            array.prop_map(|(items, trailing, blank)| {
                let items = items.into_iter().map(|(a, it, b)| format!("{a}{it}{b}"));
                let items: Vec<String> = items.collect();
                bracketed(["[", "]"], &items, trailing, &blank)
            }),
            object.prop_map(|(members, trailing, blank)| {
                let mut seen: Vec<String> = Vec::new();
                let mut items = Vec::new();
                for (key, gap, (a, it, b)) in members {
                    if !seen.contains(&key) {
                        let quoted = serde_json::Value::from(key.clone());
                        items.push(format!("{a}{quoted}{gap}:{it}{b}"));
                        seen.push(key);
                    }
                }
                bracketed(["{", "}"], &items, trailing, &blank)
            }),
        ]
    })
}

fn bracketed([open, close]: [&str; 2], items: &[String], trailing: bool, blank: &str) -> String {
    let comma = if trailing && !items.is_empty() {
        ","
    } else {
        ""
    };
    format!("{open}{}{comma}{blank}{close}", items.join(","))
}

/// A file: a value between blanks, with or without a byte order mark.
fn file() -> impl Strategy<Value = String> {
    let newline = prop_oneof![Just("\n"), Just("\r\n")];
    newline.prop_flat_map(|newline| {
        let mark = prop_oneof![4 => Just(""), 1 => Just("\u{feff}")];
        (mark, blanks(newline), value(newline), blanks(newline))
            .prop_map(|(mark, a, it, b)| format!("{mark}{a}{it}{b}"))
    })
}

fn lines() -> impl Strategy<Value = String> {
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

fn toml() -> impl Strategy<Value = String> {
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

/// Texts a person may write before and behind what is there.
fn addition() -> impl Strategy<Value = (String, String)> {
    ("[a-z]{1,8}\n", "[a-z]{1,8}\n?")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// Installing and removing gives back any JSON; what cannot be read is not touched.
    #[test]
    fn json_keeps_its_bytes(text in file()) {
        for target in every_target().iter().filter(|it| it.path.ends_with(".json")) {
            let (after, record) = installed(target, Some(&text));
            let stands = standings(target, Some(&text), None);
            if stands.iter().all(|it| matches!(it, Standing::Missing)) {
                there_and_back(target, Some(&text));
            } else {
                let gone = remove(target, after.as_deref(), record.as_ref());
                let back = left(&gone, after.as_deref());
                prop_assert_eq!(back.as_deref(), Some(text.as_str()), "{}", target.path);
            }
        }
    }

    /// What a person adds to a file afterwards is there when Ken's part is gone, and nothing else.
    #[test]
    fn members_added_later_stay(text in file(), first in any::<bool>()) {
        let target = target_at(".mcp.json").unwrap();
        let (after, record) = installed(&target, Some(&text));
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
        let stands = standings(&target, Some(&edited), record.as_ref());
        prop_assume!(stands == [Standing::Current]);
        let gone = remove(&target, Some(&edited), record.as_ref());
        let back = left(&gone, Some(&edited)).unwrap();
        prop_assert!(back.contains("\"mine\": 7"), "{back}");
        prop_assert!(!back.contains("\"ken\""), "{back}");
        let again = install(&target, Some(&back), None, &[Agent::ClaudeCode]);
        let due = again.pieces.iter().all(|it| it.standing == Standing::Missing);
        prop_assert!(due, "still JSON: {back}");
    }

    #[test]
    fn markdown_keeps_its_bytes(text in lines(), (before, behind) in addition()) {
        for path in ["AGENTS.md", "CLAUDE.md"] {
            let target = target_at(path).unwrap();
            there_and_back(&target, Some(&text));
            let (after, record) = installed(&target, Some(&text));
            let edited = format!("{before}{}{behind}", after.unwrap());
            let gone = remove(&target, Some(&edited), record.as_ref());
            let back = left(&gone, Some(&edited)).unwrap();
            // Where the text did not end in a newline it gets one before what was added.
            let joins = text.is_empty() || text.ends_with('\n');
            let newline = if edited.find('\n').is_some_and(|at| edited[..at].ends_with('\r')) { "\r\n" } else { "\n" };
            let between = if joins { "" } else { newline };
            prop_assert_eq!(back, format!("{before}{text}{between}{behind}"), "{}", path);
        }
    }

    #[test]
    fn toml_keeps_its_bytes(text in toml()) {
        let target = target_at(".codex/config.toml").unwrap();
        let stands = standings(&target, Some(&text), None);
        let (after, record) = installed(&target, Some(&text));
        if stands == [Standing::Missing] {
            there_and_back(&target, Some(&text));
        } else {
            prop_assert_eq!(after.as_deref(), Some(text.as_str()));
            prop_assert!(record.is_none());
        }
    }
}
