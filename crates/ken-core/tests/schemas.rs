//! The files in `schemas/v1/` match the types, and events validate against the schemas.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(
    clippy::disallowed_methods,
    reason = "the core does no I/O; its schema files are compared here"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};

use jsonschema::Validator;
use ken_core::ledger::canonical;
use ken_core::ledger::event::{EVENT_TYPES, EventBody, Proposed};
use ken_core::ledger::schema::schemas;
use ken_core::values::kind::EntryKind;
use ken_testkit::any_event::{EventHistory, STEPS, WriterStyle, generate_history};
use ken_testkit::laws::FoldedHistory;
use ken_testkit::reference_page::{
    check_page, description, field_table, reference_name, type_sections,
};
use serde_json::{Value, json};

/// A name and a change that makes a line invalid.
type SchemaViolation = (&'static str, fn(&mut Value));

const HINT: &str = "run `KEN_BLESS=1 cargo nextest run -p ken-core --test schemas`";

/// Number of histories whose events are validated.
const HISTORIES: u64 = 150;

fn schema_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/v1")
}

fn format_schema(schema: &Value) -> String {
    serde_json::to_string_pretty(schema).unwrap() + "\n"
}

fn sample_histories() -> impl Iterator<Item = EventHistory> {
    (1..=HISTORIES).map(|seed| {
        let mix = |n: u64| {
            (seed << 32 | n)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        };
        let numbers: Vec<u64> = (0..STEPS as u64)
            .map(|n| mix(n).wrapping_mul(0xbf58_476d_1ce4_e5b9))
            .collect();
        generate_history(WriterStyle::Any, &numbers)
    })
}

fn validators() -> BTreeMap<String, Validator> {
    let compiled = schemas().into_iter().map(|(name, schema)| {
        let validator = jsonschema::draft202012::new(&schema).expect(&name);
        (name, validator)
    });
    compiled.collect()
}

#[test]
fn schema_files_are_up_to_date() {
    let wanted = schemas();
    if env::var_os("KEN_BLESS").is_some() {
        fs::create_dir_all(schema_dir()).unwrap();
        for (name, schema) in &wanted {
            fs::write(schema_dir().join(name), format_schema(schema)).unwrap();
        }
    }
    for (name, schema) in &wanted {
        let text = fs::read_to_string(schema_dir().join(name)).unwrap_or_default();
        // A checkout with Windows line endings counts as equal.
        let text = text.replace("\r\n", "\n");
        assert!(
            text == format_schema(schema),
            "schemas/v1/{name} differs: {HINT}"
        );
    }
    for file in fs::read_dir(schema_dir()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(wanted.contains_key(&name), "schemas/v1/{name} is surplus");
    }
}

/// Start of a generated page.
fn page_head(title: &str, text: &str) -> String {
    format!(
        "# {title}\n\n<!-- generated -->\n\n{text}\n\n\
        To rewrite this page, run `KEN_BLESS=1 cargo nextest run -p ken-core --test schemas`.\n"
    )
}

/// Types that schemas define, by name.
fn shared_types<'a>(schemas: impl Iterator<Item = &'a Value>) -> BTreeMap<String, Value> {
    let definitions = schemas.filter_map(|schema| schema["$defs"].as_object());
    let types = definitions.flatten();
    types
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect()
}

#[test]
fn the_event_reference_describes_every_event() {
    let files = schemas();
    let events = || files.iter().filter(|(name, _)| name.starts_with("event."));
    let types = shared_types(events().map(|(_, schema)| schema));
    let mut page = page_head(
        "Events",
        "Every line of a ledger is one event. The fields of an event are the same for all types;\n\
        `data.body` holds the fields listed under each type. The JSON schemas are in `schemas/v1/`.",
    );
    let mut bodies = Vec::new();
    for (_, schema) in events() {
        let title = schema["title"].as_str().unwrap();
        let body = &schema["properties"]["data"]["oneOf"][0]["properties"]["body"];
        let name = reference_name(body).unwrap_or(title);
        let body = types.get(name).unwrap_or(body);
        let (meaning, table) = (description(body), field_table(body));
        page.push_str(&format!("\n## `{title}`\n\n{meaning}\n\n{table}"));
        bodies.push(name.to_owned());
    }
    page.push_str("\n## Fields of every event\n\n");
    let (_, first) = events().next().unwrap();
    page.push_str(&field_table(first));
    page.push_str("\n## Types\n");
    page.push_str(&type_sections(&types, &bodies));
    check_page("docs/reference/events.md", &page);
}

#[test]
fn the_entry_reference_describes_every_field() {
    let files = schemas();
    let entries = || files.iter().filter(|(name, _)| name.starts_with("entry."));
    let types = shared_types(entries().map(|(_, schema)| schema));
    let mut page = page_head(
        "Entries",
        "`ken show ID --format json` and the hub return an entry with these fields. The JSON schemas are\n\
        in `schemas/v1/`, one per kind.",
    );
    page.push_str("\n## Fields of an entry\n\n");
    page.push_str(&field_table(&files["entry.json"]));
    page.push_str("\n## Types\n");
    page.push_str(&type_sections(&types, &[]));
    check_page("docs/reference/entries.md", &page);
}

#[test]
fn every_event_type_and_kind_has_a_schema_of_draft_2020_12() {
    let files = schemas();
    for (name, schema) in &files {
        let draft = "https://json-schema.org/draft/2020-12/schema";
        assert_eq!(schema["$schema"], draft, "{name}");
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{name}");
    }
    for name in EVENT_TYPES {
        assert!(files.contains_key(&format!("event.{name}.json")), "{name}");
    }
    for kind in EntryKind::ALL {
        assert!(files.contains_key(&format!("entry.{kind}.json")), "{kind}");
    }
    assert_eq!(files.len(), EVENT_TYPES.len() + EntryKind::ALL.len() + 1);
    let validators = validators();
    for kind in ["commit-norm", "pr-expectation", "user-expectation"] {
        let schema = &validators[&format!("entry.{kind}.json")];
        let norm = |detail: Value| json!({"statement": "A", "decay": "stable", "detail": detail});
        let check = json!({"kind": "diff-size", "lines": 10});
        let checked = norm(json!({"of": "norm", "check": check}));
        assert!(schema.is_valid(&checked), "{kind}");
        let entity = norm(json!({"of": "entity", "name": "Ledger"}));
        assert!(!schema.is_valid(&entity), "{kind}: details of another kind");
        let empty = json!({"decay": "stable"});
        assert!(!schema.is_valid(&empty), "{kind}: no rule");
    }
}

#[test]
fn events_and_entries_validate_against_their_schemas() {
    let validators = validators();
    let mut met = BTreeSet::new();
    for history in sample_histories() {
        for copy in &history.copies {
            let line: Value = serde_json::from_str(copy.line()).unwrap();
            let name = copy.event.body.type_name();
            let Some(schema) = validators.get(&format!("event.{name}.json")) else {
                assert!(!EVENT_TYPES.contains(&name), "{name} has no schema");
                continue;
            };
            let readable = !matches!(copy.event.body, EventBody::Unknown { .. }) && line["v"] == 1;
            let verdict = schema.validate(&line);
            assert_eq!(verdict.is_ok(), readable, "{}: {verdict:?}", copy.line());
            met.insert(name.to_owned());
            if let Some(data) = copy.event.get::<Proposed>() {
                let content = serde_json::to_value(&data.content).unwrap();
                let verdict = validators[&format!("entry.{}.json", data.kind)].validate(&content);
                assert!(verdict.is_ok(), "{content}: {verdict:?}");
            }
        }
        for entry in FoldedHistory::of(&history).state.entries.values() {
            let entry = serde_json::to_value(entry).unwrap();
            let verdict = validators["entry.json"].validate(&entry);
            assert!(verdict.is_ok(), "{entry}: {verdict:?}");
        }
    }
    let missing: Vec<_> = EVENT_TYPES.iter().filter(|t| !met.contains(**t)).collect();
    assert!(missing.is_empty(), "never generated: {missing:?}");
}

#[test]
fn broken_events_do_not_validate() {
    let validators = validators();
    let breaks: &[SchemaViolation] = &[
        ("no id", |line| {
            drop(line.as_object_mut().unwrap().remove("id"));
        }),
        ("an id in another spelling", |line| {
            line["id"] = json!("01jc");
        }),
        ("a date for a clock", |line| {
            line["at"] = json!("2026-11-14");
        }),
        ("nobody", |line| {
            line["by"] = json!("ada");
        }),
        ("another version", |line| {
            line["v"] = json!(2);
        }),
        ("another type", |line| {
            line["type"] = json!("entry.dreamed");
        }),
        ("a member too many", |line| {
            line["more"] = json!(1);
        }),
        ("no data", |line| {
            line["data"] = json!({});
        }),
        ("half blanked", |line| {
            line["data"] = json!({ "blanked": "b3:" });
        }),
        ("no salt", |line| {
            drop(line["data"].as_object_mut().unwrap().remove("salt"));
        }),
        ("an empty body", |line| {
            line["data"]["body"] = json!({});
        }),
        ("a body of text", |line| {
            line["data"]["body"] = json!("x");
        }),
    ];
    for history in sample_histories().take(20) {
        for copy in history.copies {
            let name = copy.event.body.type_name().to_owned();
            let schema = validators.get(&format!("event.{name}.json"));
            let line: Value = serde_json::from_str(copy.line()).unwrap();
            for (what, change) in breaks {
                let needs_data = what.contains("body") || what.contains("salt");
                if copy.is_redacted() && needs_data {
                    continue;
                }
                let mut broken = line.clone();
                change(&mut broken);
                let valid = schema.is_some_and(|schema| schema.is_valid(&broken));
                assert!(!valid, "{what}: {}", canonical::to_string(&broken));
            }
        }
    }
}

#[test]
fn content_beyond_its_limits_does_not_validate() {
    let validators = validators();
    let learning = &validators["entry.learning.json"];
    let good = json!({ "statement": "Retry on 503", "decay": "stable" });
    assert!(learning.is_valid(&good));
    let with = |key: &str, value: Value| {
        let mut content = good.clone();
        content[key] = value;
        content
    };
    for bad in [
        json!({ "decay": "stable" }),
        with("statement", json!("")),
        with("verify", json!(["a", "b", "c", "d"])),
        with("tags", json!(["Auth"])),
        with("evidence", json!([{ "at": "src\\a.rs" }])),
        with("depends_on", json!(["weather:rain"])),
        with("decay", json!("never")),
        with("polarity", json!("mixed")),
        with("detail", json!({ "of": "entity", "name": "x" })),
    ] {
        assert!(!learning.is_valid(&bad), "{bad}");
    }
    let spike = &validators["entry.spike.json"];
    assert!(!spike.is_valid(&good), "a spike needs its question");
}
