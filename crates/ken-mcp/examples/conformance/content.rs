//! What the fixture has: tools, resources, prompts, and what the plain ones answer.

use serde_json::{Value, json};

/// A picture of one red point.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/// A sound of no length.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// Tools without arguments, in the order they are listed.
const TOOLS: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
];

pub(super) fn tools() -> Value {
    let plain = TOOLS.iter().map(|name| tool(name, &json!({})));
    let asking = [
        tool("test_sampling", &json!({"prompt": {"type": "string"}})),
        tool("test_elicitation", &json!({"message": {"type": "string"}})),
        schema_tool(),
        tool(
            "test_header",
            &json!({"region": {"type": "string", "x-mcp-header": "Region"}}),
        ),
    ];
    json!({"tools": plain.chain(asking).collect::<Vec<Value>>(), "ttlMs": 60_000, "cacheScope": "private"})
}

fn tool(name: &str, properties: &Value) -> Value {
    json!({
        "name": name,
        "description": "What a scenario of the conformance suite calls.",
        "inputSchema": {"type": "object", "properties": properties},
    })
}

fn schema_tool() -> Value {
    json!({
        "name": "json_schema_2020_12_tool",
        "description": "Tool with JSON Schema 2020-12 features",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        },
    })
}

/// Returns what a tool that asks nobody answers.
pub(super) fn answer(tool: &str) -> Option<Value> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let resource = |uri: &str, mime: &str, text: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}});
    let content = match tool {
        "test_simple_text" => json!([text("This is a simple text response for testing.")]),
        "test_image_content" => json!([image]),
        "test_audio_content" => json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]),
        "test_embedded_resource" => {
            let told = "This is an embedded resource content.";
            json!([resource("test://embedded-resource", "text/plain", told)])
        }
        "test_multiple_content_types" => {
            let data = r#"{"test":"data","value":123}"#;
            let data = resource("test://mixed-content-resource", "application/json", data);
            json!([text("Multiple content types test:"), image, data])
        }
        "json_schema_2020_12_tool" | "test_header" | "test_logging_tool" => json!([text("done")]),
        "test_error_handling" => {
            let told = text("This tool intentionally returns an error for testing");
            return Some(json!({"isError": true, "content": [told]}));
        }
        _ => return None,
    };
    Some(json!({"content": content}))
}

pub(super) fn resources() -> Value {
    let resource = |uri: &str, mime: &str| json!({"uri": uri, "name": uri, "description": "A resource of the fixture.", "mimeType": mime});
    json!({
        "resources": [
            resource("test://static-text", "text/plain"),
            resource("test://static-binary", "image/png"),
            resource("test://watched-resource", "text/plain"),
        ],
        "ttlMs": 60_000,
        "cacheScope": "private",
    })
}

pub(super) fn templates() -> Value {
    let template = json!({
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "A template of the fixture.",
        "mimeType": "application/json",
    });
    json!({"resourceTemplates": [template], "ttlMs": 60_000, "cacheScope": "private"})
}

/// Returns what a resource holds.
pub(super) fn resource(uri: &str) -> Option<Value> {
    let held = match uri {
        "test://static-text" | "test://watched-resource" => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
        }
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        other => {
            let id = other
                .strip_prefix("test://template/")?
                .strip_suffix("/data")?;
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
        }
    };
    Some(json!({"contents": [held], "ttlMs": 60_000, "cacheScope": "private"}))
}

pub(super) fn prompts() -> Value {
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments = arguments
            .iter()
            .map(|it| json!({"name": it, "description": "An argument.", "required": true}));
        json!({"name": name, "description": "A prompt of the fixture.", "arguments": arguments.collect::<Vec<Value>>()})
    };
    json!({
        "prompts": [
            prompt("test_simple_prompt", &[]),
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
            prompt("test_prompt_with_image", &[]),
            prompt("test_input_required_result_prompt", &[]),
        ],
        "ttlMs": 60_000,
        "cacheScope": "private",
    })
}

/// Returns what a prompt that asks nobody says.
pub(super) fn prompt(name: &str, argument: impl Fn(&str) -> String) -> Option<Value> {
    let said = |content: Value| json!({"role": "user", "content": content});
    let text = |text: &str| said(json!({"type": "text", "text": text}));
    let messages = match name {
        "test_simple_prompt" => json!([text("This is a simple prompt for testing.")]),
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            json!([text(&format!(
                "Prompt with arguments: arg1='{one}', arg2='{two}'"
            ))])
        }
        "test_prompt_with_embedded_resource" => {
            let held = json!({"uri": argument("resourceUri"), "mimeType": "text/plain", "text": "Embedded resource content for testing."});
            let embedded = said(json!({"type": "resource", "resource": held}));
            json!([
                embedded,
                text("Please process the embedded resource above.")
            ])
        }
        "test_prompt_with_image" => {
            let image = said(json!({"type": "image", "data": PNG, "mimeType": "image/png"}));
            json!([image, text("Please analyze the image above.")])
        }
        _ => return None,
    };
    Some(json!({"messages": messages}))
}
