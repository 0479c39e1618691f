//! The five tools as clients list them: names, words, schemas, hints; always in the same order.
//!
//! Everything here is read by a model on every turn. A test holds all of it together to 1,500 tokens.

use std::sync::Arc;

use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::ask::{Ask, CheckAsk, FeedbackAsk, GetAsk, RecordAsk, SearchAsk};
use crate::port::{Code, Trouble};

/// The names of the tools, in the order they are listed.
pub const TOOLS: [&str; 5] = [
    "ken_search",
    "ken_get",
    "ken_record",
    "ken_feedback",
    "ken_check",
];

/// Makes a client that hides tools until they are searched for show this one.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";

/// What a tool does to the world.
#[derive(Clone, Copy)]
enum Does {
    /// Nothing but note what was shown.
    Reads,
    /// Adds something; asked again, nothing more.
    Adds,
}

/// Returns the definitions.
pub(crate) fn definitions(code: Code) -> Vec<Tool> {
    let [search, get, record, feedback, check] = TOOLS;
    let (finds, checks) = match code {
        Code::AtHand => (
            "Find lessons, decisions, norms and pitfalls of this repository, checked against its code. \
             Use before editing unfamiliar code and after an unexpected failure.",
            "What applies to these paths, or the change since base (default: uncommitted work): norms, entries, \
             and knowledge it would invalidate.",
        ),
        Code::Elsewhere => (
            "Find lessons, decisions, norms and pitfalls of this workspace's repository. \
             Use before editing unfamiliar code and after an unexpected failure.",
            "What applies to these paths: norms and entries.",
        ),
    };
    let mut always = MetaObject::new();
    always.insert(ALWAYS_LOAD.to_owned(), Value::Bool(true));
    vec![
        tool::<SearchAsk>(search, "Search project knowledge", finds, Does::Reads).with_meta(always),
        tool::<GetAsk>(get, "Show one entry", "Show all of an entry.", Does::Reads),
        tool::<RecordAsk>(
            record,
            "Record a finding",
            "Record one durable thing you found out about this project, with what shows it.",
            Does::Adds,
        ),
        tool::<FeedbackAsk>(
            feedback,
            "Say whether an entry helped",
            "Say whether an entry you were shown helped.",
            Does::Adds,
        ),
        match code {
            Code::AtHand => tool::<CheckAsk>(check, "Check a change", checks, Does::Reads),
            Code::Elsewhere => {
                let tool = tool::<CheckAsk>(check, "What applies", checks, Does::Reads);
                without(tool, "base")
            }
        },
    ]
}

/// Returns a tool without one of its arguments.
fn without(mut tool: Tool, argument: &str) -> Tool {
    let schema = Arc::make_mut(&mut tool.input_schema);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.remove(argument);
    }
    tool
}

/// Reads the arguments of a call. Members that are `null` count as left out: many clients fill them in.
pub(crate) fn arguments<A: Ask>(given: Option<JsonObject>) -> Result<A, Trouble> {
    let mut given = given.unwrap_or_default();
    given.retain(|_, value| !value.is_null());
    let ask: A = serde_json::from_value(Value::Object(given)).map_err(|error| {
        let known = properties::<A>().join(", ");
        Trouble::asked(error.to_string(), format!("arguments are {known}"))
    })?;
    ask.check()?;
    Ok(ask)
}

fn tool<A: Ask>(name: &'static str, title: &str, says: &'static str, does: Does) -> Tool {
    let hints = ToolAnnotations::new().open_world(false);
    let hints = match does {
        Does::Reads => hints.read_only(true),
        // Unsaid, a tool that writes counts as destructive.
        Does::Adds => hints.destructive(false).idempotent(true),
    };
    Tool::new(name, says, Arc::new(schema::<A>()))
        .with_title(title)
        .with_annotations(hints)
}

/// Returns the schema of arguments: flat, and without what only repeats itself.
fn schema<A: Ask>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|it| {
        it.meta_schema = None;
        it.inline_subschemas = true;
    });
    let schema = settings.into_generator().into_root_schema_for::<A>();
    let schema = Value::from(schema);
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    // What stands above the type is for readers of this file.
    schema.remove("description");
    strip(&mut schema);
    schema
}

/// Takes out names of Rust types, widths of integers and defaults, which descriptions tell where they matter.
fn strip(schema: &mut JsonObject) {
    for key in ["title", "default", "format"] {
        schema.remove(key);
    }
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        strip(items);
    }
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (name, property) in properties.iter_mut() {
        if let Value::Object(property) = property {
            strip(property);
            if name == "format" {
                // `text` and `json` say what they are.
                property.remove("description");
            }
        }
    }
}

fn properties<A: Ask>() -> Vec<String> {
    let schema = schema::<A>();
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map_or_else(Vec::new, |it| it.keys().cloned().collect())
}
