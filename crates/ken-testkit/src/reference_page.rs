//! Generated pages of the book: source files to read, JSON schemas as Markdown tables, and the
//! comparison with the file on disk.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::{Map, Value};

/// Returns a path of the repository.
#[must_use]
pub fn repository_path(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(path)
}

/// Returns every file below `path` with one of the extensions, sorted, without test code and
/// fixtures.
///
/// # Panics
///
/// If a folder cannot be read.
#[must_use]
pub fn source_files(path: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    if !path.is_dir() {
        let wanted = path
            .extension()
            .is_some_and(|it| extensions.iter().any(|e| it == *e));
        return wanted.then(|| path.to_owned()).into_iter().collect();
    }
    let entries = fs::read_dir(path).expect("the folder can be read");
    let mut paths: Vec<PathBuf> = entries.map(|it| it.expect("an entry").path()).collect();
    paths.sort();
    let is_test = |it: &PathBuf| {
        ["tests", "fixtures", "tests.rs"]
            .iter()
            .any(|name| it.ends_with(name))
    };
    let paths = paths.iter().filter(|it| !is_test(it));
    paths.flat_map(|it| source_files(it, extensions)).collect()
}

/// Reads a source file up to its unit tests.
///
/// # Panics
///
/// If the file cannot be read.
#[must_use]
pub fn read_without_tests(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("the file can be read");
    let product = text.split("#[cfg(test)]").next();
    product.unwrap_or_default().to_owned()
}

/// Compares a generated page with its file in the repository; writes it if `KEN_BLESS` is set.
///
/// # Panics
///
/// If the file differs from the page or cannot be written.
pub fn check_page(path: &str, page: &str) {
    let file = repository_path(path);
    if env::var_os("KEN_BLESS").is_some() {
        fs::write(&file, page).expect("the page can be written");
    }
    let text = fs::read_to_string(&file).unwrap_or_default();
    // A checkout with Windows line endings counts as equal.
    assert!(
        text.replace("\r\n", "\n") == page,
        "{path} is outdated: run this test with KEN_BLESS=1 to write it"
    );
}

/// Returns a table of an object's fields, or an empty text if it has none.
#[must_use]
pub fn field_table(schema: &Value) -> String {
    let required = |name: &str| {
        let names = schema["required"].as_array();
        names.is_some_and(|all| all.iter().any(|it| it == name))
    };
    let mut table = String::new();
    for (name, field) in properties(schema) {
        // `false` marks a field that the schema forbids.
        if field == &Value::Bool(false) {
            continue;
        }
        if table.is_empty() {
            table.push_str("| field | type | required | meaning |\n|---|---|---|---|\n");
        }
        let mark = if required(name) { "yes" } else { "" };
        let (kind, meaning) = (type_text(field), description(field));
        let _ = writeln!(table, "| `{name}` | {kind} | {mark} | {meaning} |");
    }
    table
}

/// Returns one section per shared type, except those in `skip`.
#[must_use]
pub fn type_sections(types: &BTreeMap<String, Value>, skip: &[String]) -> String {
    let mut text = String::new();
    for (name, schema) in types {
        if skip.contains(name) {
            continue;
        }
        let _ = write!(text, "\n### {name}\n\n");
        let meaning = description(schema);
        if !meaning.is_empty() {
            let _ = write!(text, "{meaning}\n\n");
        }
        if let Some(variants) = schema["oneOf"].as_array() {
            for variant in variants {
                let _ = writeln!(text, "- {}", variant_text(variant));
            }
        } else if properties(schema).next().is_some() {
            text.push_str(&field_table(schema));
        } else {
            let _ = writeln!(text, "{}", type_text(schema));
        }
    }
    text
}

/// Returns the description of a schema on one line, safe in a table cell.
#[must_use]
pub fn description(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

/// Returns the type of a field in words, with a link if the type has its own section.
#[must_use]
pub fn type_text(schema: &Value) -> String {
    if let Some(name) = reference_name(schema) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(value) = schema.get("const") {
        return format!("`{}`", plain(value));
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().map(|it| format!("`{}`", plain(it)));
        return values.collect::<Vec<_>>().join(", ");
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let choices = choices.iter().map(type_text);
        return choices.collect::<Vec<_>>().join(" or ");
    }
    let kind = &schema["type"];
    let several = kind.as_array().into_iter().flatten();
    let names: Vec<&str> = several.chain([kind]).filter_map(Value::as_str).collect();
    if names.is_empty() {
        return "any value".to_owned();
    }
    let names = names.iter().map(|name| match *name {
        "array" => format!("array of {}", type_text(&schema["items"])),
        "string" => match schema["pattern"].as_str() {
            Some(pattern) => format!("string `{}`", pattern.replace('|', "\\|")),
            None => "string".to_owned(),
        },
        other => other.to_owned(),
    });
    names.collect::<Vec<_>>().join(" or ")
}

/// Returns the name of the type that a schema refers to.
#[must_use]
pub fn reference_name(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(Map::iter)
}

/// Returns a variant of a tagged type: its tag and its other fields.
fn variant_text(variant: &Value) -> String {
    let mut parts: Vec<String> = properties(variant)
        .map(|(name, field)| format!("`{name}`: {}", type_text(field)))
        .collect();
    parts.extend(reference_name(variant).map(|_| format!("fields of {}", type_text(variant))));
    if parts.is_empty() {
        parts.push(type_text(variant));
    }
    let meaning = description(variant);
    let fields = parts.join("; ");
    if meaning.is_empty() {
        fields
    } else {
        format!("{fields}. {meaning}")
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), ToOwned::to_owned)
}
