//! Definitions of the tools: names, descriptions, schemas and hints, in a fixed order.
//!
//! A model reads all of it on every turn. A test limits the total to 1,500 tokens in a repository,
//! where an agent edits with the command line, and to 2,000 at a hub.

use std::sync::Arc;

use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::ask::{
    CheckArguments, CiteArguments, EditArguments, FeedbackArguments, GetArguments, RecordArguments,
    SearchArguments, ToolArguments,
};
use crate::port::{CodeAccess, ToolError};

/// The names of the tools, in the order they are listed.
pub const TOOLS: [&str; 5] = [
    "ken_search",
    "ken_show",
    "ken_add",
    "ken_feedback",
    "ken_check",
];

/// The names of the tools that only a server without the code has, listed after [`TOOLS`].
pub const HUB_TOOLS: [&str; 2] = ["ken_edit", "ken_cite"];

/// Metadata key that makes a client with deferred tool loading show this tool at once.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";

/// The effect of a tool, from which its hints are derived.
#[derive(Clone, Copy)]
enum ToolEffect {
    /// Changes nothing; only the exposure is recorded.
    Reads,
    /// Adds data; repeating the call adds nothing more.
    Adds,
    /// Changes data; everything stays in the history.
    Changes,
}

/// Returns whether a tool changes nothing.
pub(crate) fn only_reads(tool: &Tool) -> bool {
    let hints = tool.annotations.as_ref();
    hints.and_then(|it| it.read_only_hint) == Some(true)
}

/// Returns the tool definitions.
pub(crate) fn definitions(code: CodeAccess) -> Vec<Tool> {
    let [search, get, record, feedback, check] = TOOLS;
    let (finds, checks) = match code {
        CodeAccess::Available => (
            "Find lessons, decisions, norms and pitfalls of this repository, checked against its code. \
             Use before editing unfamiliar code and after an unexpected failure.",
            "List norms and entries that apply to these paths or to the change since base (default: uncommitted work), \
             and entries it would invalidate.",
        ),
        CodeAccess::Elsewhere => (
            "Find lessons, decisions, norms and pitfalls of this workspace's repository. \
             Use before editing unfamiliar code and after an unexpected failure.",
            "List norms and entries that apply to these paths.",
        ),
    };
    let mut always = MetaObject::new();
    always.insert(ALWAYS_LOAD.to_owned(), Value::Bool(true));
    let mut searching = define_tool::<SearchArguments>(
        search,
        "Search project knowledge",
        finds,
        ToolEffect::Reads,
    );
    let mut recording = define_tool::<RecordArguments>(
        record,
        "Record a finding",
        "Record one durable finding about this project, with its sources.",
        ToolEffect::Adds,
    );
    match code {
        CodeAccess::Available => searching = remove_argument(searching, "all_workspaces"),
        // A hub has no verb that supersedes.
        CodeAccess::Elsewhere => recording = remove_argument(recording, "supersedes"),
    }
    let mut tools = vec![
        searching.with_meta(always),
        define_tool::<GetArguments>(
            get,
            "Show one entry",
            "Show an entry in full.",
            ToolEffect::Reads,
        ),
        recording,
        define_tool::<FeedbackArguments>(
            feedback,
            "Rate an entry",
            "Report whether an entry you were shown helped.",
            ToolEffect::Adds,
        ),
        match code {
            CodeAccess::Available => {
                define_tool::<CheckArguments>(check, "Check a change", checks, ToolEffect::Reads)
            }
            CodeAccess::Elsewhere => {
                let tool =
                    define_tool::<CheckArguments>(check, "Check paths", checks, ToolEffect::Reads);
                remove_argument(tool, "base")
            }
        },
    ];
    if code == CodeAccess::Elsewhere {
        tools.extend(hub_definitions());
    }
    tools
}

/// Returns the definitions of [`HUB_TOOLS`].
fn hub_definitions() -> [Tool; 2] {
    let [edit, cite] = HUB_TOOLS;
    [
        define_tool::<EditArguments>(
            edit,
            "Edit an entry",
            "Correct an entry. A person reviews the edit of an entry that people wrote or verified.",
            ToolEffect::Changes,
        ),
        define_tool::<CiteArguments>(
            cite,
            "Cite sources",
            "Add sources to an entry.",
            ToolEffect::Changes,
        ),
    ]
}

/// Removes an argument from a tool's schema.
fn remove_argument(mut tool: Tool, argument: &str) -> Tool {
    // The argument stays part of the type, because both kinds of server share it.
    let schema = Arc::make_mut(&mut tool.input_schema);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.remove(argument);
    }
    tool
}

/// Parses the arguments of a call. `null` members count as absent, because many clients send them.
pub(crate) fn parse_arguments<A: ToolArguments>(given: Option<JsonObject>) -> Result<A, ToolError> {
    let mut given = given.unwrap_or_default();
    given.retain(|_, value| !value.is_null());
    let ask: A = serde_json::from_value(Value::Object(given)).map_err(|error| {
        let known = argument_names::<A>().join(", ");
        let example = A::EXAMPLE;
        ToolError::asked(
            error.to_string(),
            format!("known arguments: {known}; example: {example}"),
        )
    })?;
    ask.check()?;
    Ok(ask)
}

fn define_tool<A: ToolArguments>(
    name: &'static str,
    title: &str,
    description: &'static str,
    effect: ToolEffect,
) -> Tool {
    let base = ToolAnnotations::new().open_world(false);
    let hints = match effect {
        ToolEffect::Reads => base.read_only(true),
        // By default, MCP treats a tool that writes as destructive.
        ToolEffect::Adds => base.destructive(false).idempotent(true),
        ToolEffect::Changes => base.destructive(false),
    };
    Tool::new(name, description, Arc::new(argument_schema::<A>()))
        .with_title(title)
        .with_annotations(hints)
}

/// Returns the schema of a tool's arguments, flat and without redundant keywords.
fn argument_schema<A: ToolArguments>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let root = settings.into_generator().into_root_schema_for::<A>();
    let value = Value::from(root);
    let mut schema = value.as_object().cloned().unwrap_or_default();
    // The doc comment of the type is for readers of the source, not for the model.
    schema.remove("description");
    strip_metadata(&mut schema);
    schema
}

/// Removes Rust type names, integer widths and defaults. Descriptions state the defaults that
/// matter.
fn strip_metadata(schema: &mut JsonObject) {
    for key in ["title", "default", "format"] {
        schema.remove(key);
    }
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        strip_metadata(items);
    }
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (name, property) in properties.iter_mut() {
        if let Value::Object(property) = property {
            strip_metadata(property);
            if name == "format" {
                // The values `text` and `json` are self-explanatory.
                property.remove("description");
            }
        }
    }
}

fn argument_names<A: ToolArguments>() -> Vec<String> {
    let schema = argument_schema::<A>();
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map_or_else(Vec::new, |it| it.keys().cloned().collect())
}
