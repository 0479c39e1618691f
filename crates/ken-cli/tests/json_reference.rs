//! `docs/reference/json.md`: every object that `--format json` prints, read from the source.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ken_testkit::reference_page::{check_page, read_without_tests, repository_path, source_files};

/// Lines before and after a schema name in which its struct is named.
const STRUCT_DISTANCE: usize = 4;

/// A field of a JSON object: name, Rust type, doc comment.
struct JsonField {
    name: String,
    rust_type: String,
    meaning: String,
}

/// Returns the schema name in a line, such as `ken.inbox.v1`.
fn schema_name(line: &str) -> Option<&str> {
    let rest = line.split_once("\"ken.")?.1;
    let name = rest.split_once('"')?.0;
    name.strip_suffix(".v1").filter(|it| !it.contains(' '))
}

/// Returns the struct that is built near a line, `Self` resolved to its type.
fn struct_near(lines: &[&str], at: usize) -> Option<String> {
    let from = at.saturating_sub(STRUCT_DISTANCE);
    let to = (at + STRUCT_DISTANCE).min(lines.len());
    // The struct usually opens above the field `schema`, sometimes below `let schema = …`.
    let named = lines[from..at].iter().rev().chain(&lines[at..to]);
    let name = named
        .filter_map(|line| {
            let before = line.split_once(" {")?.0;
            let word = before
                .rsplit(|c: char| !c.is_alphanumeric())
                .next()
                .unwrap_or_default();
            let is_type = word.starts_with(char::is_uppercase) && !before.contains("fn ");
            is_type.then(|| word.to_owned())
        })
        .next()?;
    if name != "Self" {
        return Some(name);
    }
    let header = lines[..at].iter().rev().find(|it| it.starts_with("impl"))?;
    let header = header.trim_end_matches(" {");
    let name = header.rsplit(' ').next()?.split('<').next()?;
    Some(name.to_owned())
}

/// Returns the fields of a struct that is declared in `source`.
fn struct_fields(source: &str, name: &str) -> Vec<JsonField> {
    let is_declaration = |line: &&str| {
        let Some((_, rest)) = line.split_once("struct ") else {
            return false;
        };
        rest.split(|c: char| !c.is_alphanumeric()).next() == Some(name)
    };
    let mut meaning = String::new();
    let mut fields = Vec::new();
    let body = source.lines().skip_while(|line| !is_declaration(line));
    for line in body.skip(1).take_while(|line| !line.starts_with('}')) {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            meaning = format!("{meaning}{text}");
        } else if let Some((name, rust_type)) = line
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub(super) ")
            .split_once(": ")
            .filter(|_| !line.starts_with('#'))
        {
            fields.push(JsonField {
                name: name.to_owned(),
                rust_type: rust_type.trim_end_matches(',').to_owned(),
                meaning: std::mem::take(&mut meaning).trim().replace('|', "\\|"),
            });
        }
    }
    fields
}

/// Returns the JSON type of a Rust type.
fn json_type(rust_type: &str) -> String {
    let inner = |wrapper: &str| {
        let rest = rust_type.strip_prefix(wrapper)?.strip_prefix('<')?;
        rest.strip_suffix('>')
    };
    if let Some(inner) = inner("Option") {
        return format!("{} or absent", json_type(inner));
    }
    let slice = rust_type
        .strip_prefix("&'a [")
        .and_then(|it| it.strip_suffix(']'));
    if let Some(inner) = inner("Vec").or(slice) {
        return format!("array of {}", json_type(inner));
    }
    let name = rust_type.trim_start_matches('&');
    let name = name
        .trim_start_matches("'static ")
        .trim_start_matches("'a ");
    match name {
        "str" | "String" => "string",
        "bool" => "boolean",
        "usize" | "u64" | "u32" | "i64" | "f64" | "u128" => "number",
        _ => "object or string",
    }
    .to_owned()
}

#[test]
fn the_json_reference_lists_every_object() {
    let mut objects: BTreeMap<String, Vec<JsonField>> = BTreeMap::new();
    for file in source_files(&repository_path("crates/ken-cli/src"), &["rs"]) {
        let source = read_without_tests(&file);
        let lines: Vec<&str> = source.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(name) = schema_name(line) else {
                continue;
            };
            let fields = struct_near(&lines, at).map(|it| struct_fields(&source, &it));
            let known = objects.entry(name.to_owned()).or_default();
            if known.is_empty() {
                *known = fields.unwrap_or_default();
            }
        }
    }
    let mut page = "# JSON output\n\n<!-- generated -->\n\n\
        With `--format json`, a command prints one JSON object per line. The field `schema` names the\n\
        object and its version; a version keeps its fields, and new fields may be added. Entries and\n\
        events have pages of their own: [Entries](entries.md), [Events](events.md).\n\n\
        To rewrite this page, run `KEN_BLESS=1 cargo nextest run -p ken-cli json_reference`.\n"
        .to_owned();
    for (name, fields) in &objects {
        let _ = write!(page, "\n## `ken.{name}.v1`\n\n");
        let fields: Vec<_> = fields.iter().filter(|it| it.name != "schema").collect();
        if fields.is_empty() {
            page.push_str("Fields depend on the command.\n");
            continue;
        }
        page.push_str("| field | type | meaning |\n|---|---|---|\n");
        for field in fields {
            let (name, kind) = (&field.name, json_type(&field.rust_type));
            let _ = writeln!(page, "| `{name}` | {kind} | {} |", field.meaning);
        }
    }
    check_page("docs/reference/json.md", &page);
}
