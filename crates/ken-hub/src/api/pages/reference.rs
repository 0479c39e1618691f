//! HTML reference of the API, generated from the OpenAPI document.
//!
//! Lists each operation with its parameters, the fields of its body, an example call and its
//! responses. The page has no scripts and loads nothing from other origins. Headings, lists and
//! tables use semantic markup for screen readers.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::document::SECURITY_SCHEME;
use super::{escape, page_head};

/// Prefix of references to schemas.
const SCHEMA_PREFIX: &str = "#/components/schemas/";

/// Example values of path parameters.
const EXAMPLE_PARAMS: [(&str, &str); 5] = [
    ("workspace", "shop-api"),
    ("entry", "L-7k2f5qm3"),
    ("event", "01JCPQ3W6M7Y2K8T4D5F6G7H8J"),
    ("run", "R-0a1b2c3d4e"),
    ("token", "0193324e-7a3b-7c00-8000-000000000001"),
];

/// Renders the reference page of an OpenAPI document.
pub(in crate::api) fn reference_page(document: &Value) -> String {
    let mut page = page_head("Ken hub: API");
    let version = document["info"]["version"].as_str().unwrap_or_default();
    let _ = write!(
        page,
        "<header><h1>Ken hub</h1><p>Version {}. Machine-readable: <a href=\"/v1/openapi.json\">/v1/openapi.json</a> (OpenAPI 3.1).</p></header>",
        escape(version)
    );
    let operations = list_operations(document);
    write_contents(&mut page, &operations);
    page.push_str("<main>");
    write_prose(&mut page, &document["info"]["description"]);
    page.push_str("<p>The examples read the address of the hub from <code>$HUB</code> and a token from <code>$TOKEN</code>.</p>");
    let mut tag = "";
    for operation in &operations {
        if operation.tag != tag {
            tag = operation.tag;
            let _ = write!(page, "<h2>{}</h2>", escape(tag));
        }
        operation.write(&mut page, document);
    }
    write_schemas(&mut page, document);
    page.push_str("</main></body></html>\n");
    page
}

/// One operation of the document.
struct ApiOperation<'a> {
    id: &'a str,
    tag: &'a str,
    method: String,
    path: &'a str,
    spec: &'a Value,
}

/// Returns all operations grouped by tag, in the order in which the tags first occur.
fn list_operations(document: &Value) -> Vec<ApiOperation<'_>> {
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for method in ["get", "post", "put", "patch", "delete"] {
            if let Some(spec) = item.get(method) {
                operations.push(ApiOperation {
                    id: spec["operationId"].as_str().unwrap_or_default(),
                    tag: spec["tags"][0].as_str().unwrap_or("other"),
                    method: method.to_uppercase(),
                    path,
                    spec,
                });
            }
        }
    }
    // The sort is stable, so operations of one tag keep the order of the document.
    let order: Vec<&str> = operations.iter().map(|operation| operation.tag).collect();
    operations.sort_by_key(|operation| order.iter().position(|tag| *tag == operation.tag));
    operations
}

fn write_contents(page: &mut String, operations: &[ApiOperation<'_>]) {
    page.push_str("<nav aria-label=\"Operations\"><ul>");
    for operation in operations {
        let _ = write!(
            page,
            "<li><a href=\"#{}\"><code>{} {}</code></a></li>",
            escape(operation.id),
            operation.method,
            escape(operation.path)
        );
    }
    page.push_str("</ul></nav>");
}

impl ApiOperation<'_> {
    fn write(&self, page: &mut String, document: &Value) {
        let role = self.spec["security"][0][SECURITY_SCHEME][0].as_str();
        let role = role.map_or("No token needed.".to_owned(), |role| {
            format!(
                "Requires the role <strong>{}</strong> or higher.",
                escape(role)
            )
        });
        let _ = write!(
            page,
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\"><h3 id=\"{id}-title\"><code>{method} {path}</code></h3>",
            id = escape(self.id),
            method = self.method,
            path = escape(self.path),
        );
        write_prose(page, &self.spec["summary"]);
        write_prose(page, &self.spec["description"]);
        let _ = write!(page, "<p>{role}</p>");
        self.write_parameters(page);
        let body = &self.spec["requestBody"]["content"]["application/json"]["schema"];
        if !body.is_null() {
            let required = self.spec["requestBody"]["required"] == true;
            let note = if required { "" } else { " (optional)" };
            write_fields(page, &format!("Body{note}"), document, body);
        }
        let _ = write!(
            page,
            "<p>Example request:</p><pre><code>{}</code></pre>",
            escape(&self.example_call(document))
        );
        self.write_responses(page, document);
        page.push_str("</section>");
    }

    fn write_parameters(&self, page: &mut String) {
        let parameters = self.spec["parameters"].as_array();
        let parameters = parameters.map_or(&[][..], Vec::as_slice);
        if parameters.is_empty() {
            return;
        }
        write_table(page, "Parameters", &["name", "location", "type", "meaning"]);
        for parameter in parameters {
            // Path parameters are always required, so marking them would add no information.
            let required = parameter["required"] == true && parameter["in"] != "path";
            write_row(
                page,
                &[
                    field_name(&parameter["name"], required),
                    escape(parameter["in"].as_str().unwrap_or_default()),
                    describe_schema(&parameter["schema"]),
                    render_prose(parameter["description"].as_str().unwrap_or_default()),
                ],
            );
        }
        page.push_str("</tbody></table>");
    }

    fn write_responses(&self, page: &mut String, document: &Value) {
        write_table(page, "Responses", &["status", "meaning", "content"]);
        let responses = self.spec["responses"].as_object();
        let mut success_schema = None;
        for (status, response) in responses.into_iter().flatten() {
            let contents = response["content"].as_object();
            // No operation has more than one media type per status.
            let content = contents.and_then(|contents| contents.iter().next());
            let holds = content.map_or_else(String::new, |(media_type, content)| {
                format!(
                    "{} ({})",
                    describe_schema(&content["schema"]),
                    escape(media_type)
                )
            });
            if status.starts_with('2') && success_schema.is_none() {
                success_schema = content.map(|(_, content)| &content["schema"]);
            }
            let meaning = render_prose(response["description"].as_str().unwrap_or_default());
            write_row(
                page,
                &[format!("<code>{}</code>", escape(status)), meaning, holds],
            );
        }
        page.push_str("</tbody></table>");
        let example = success_schema.and_then(|schema| find_example(document, schema));
        if let Some(example) = example {
            let _ = write!(
                page,
                "<p>Example response:</p><pre><code>{}</code></pre>",
                escape(&pretty(&example))
            );
        }
    }

    /// Returns a `curl` command line that calls the operation.
    fn example_call(&self, document: &Value) -> String {
        let mut path = self.path.to_owned();
        for (name, value) in EXAMPLE_PARAMS {
            path = path.replace(&format!("{{{name}}}"), value);
        }
        let mut call = "curl".to_owned();
        if self.spec.get("security").is_some() {
            call.push_str(" -H \"Authorization: Bearer $TOKEN\"");
        }
        let content = &self.spec["requestBody"]["content"]["application/json"];
        let body = content.get("example").cloned();
        let body = body.or_else(|| find_example(document, &content["schema"]));
        match body {
            Some(body) => {
                // A single quote would end the shell's string: close it, escape, reopen.
                let quoted = body.to_string().replace('\'', "'\\''");
                let _ = write!(
                    call,
                    " -H 'Content-Type: application/json' \\\n    -d '{quoted}'"
                );
                if self.method != "POST" {
                    let _ = write!(call, " -X {}", self.method);
                }
            }
            None if self.method != "GET" => {
                let _ = write!(call, " -X {}", self.method);
            }
            None => {}
        }
        let parameters = self.spec["parameters"].as_array().into_iter().flatten();
        let required = parameters.filter(|it| it["in"] == "query" && it["required"] == true);
        let names: Vec<&str> = required.filter_map(|it| it["name"].as_str()).collect();
        let query = if names.is_empty() {
            String::new()
        } else {
            format!("?{}=…", names.join("=…&"))
        };
        let _ = write!(call, " \\\n    \"$HUB{path}{query}\"");
        call
    }
}

/// Writes every named schema of the document.
fn write_schemas(page: &mut String, document: &Value) {
    page.push_str("<h2 id=\"schemas\">Schemas</h2>");
    let schemas = document["components"]["schemas"].as_object();
    for (name, schema) in schemas.into_iter().flatten() {
        let id = format!("schema-{name}");
        let _ = write!(
            page,
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\"><h3 id=\"{id}-title\"><code>{}</code></h3>",
            escape(name),
            id = escape(&id),
        );
        write_prose(page, &schema["description"]);
        match schema.get("properties") {
            Some(_) => write_fields(page, "Fields", document, schema),
            None => {
                let _ = write!(page, "<p>{}</p>", describe_schema(schema));
            }
        }
        if let Some(example) = schema.get("example") {
            let _ = write!(page, "<pre><code>{}</code></pre>", escape(&pretty(example)));
        }
        page.push_str("</section>");
    }
}

/// Writes the fields of an object, each with its type.
fn write_fields(page: &mut String, title: &str, document: &Value, schema: &Value) {
    let whole = resolve_ref(document, schema);
    let Some(fields) = whole["properties"].as_object() else {
        let _ = write!(
            page,
            "<p>{}: {}</p>",
            escape(title),
            describe_schema(schema)
        );
        write_prose(page, &whole["description"]);
        return;
    };
    let required = whole["required"].as_array();
    write_table(page, title, &["field", "type", "meaning"]);
    for (name, field) in fields {
        let is_required = required.is_some_and(|all| all.iter().any(|it| it == name));
        // A field without a description links to its schema, which has one.
        let description = field["description"].as_str().unwrap_or_default();
        write_row(
            page,
            &[
                field_name(&Value::from(name.as_str()), is_required),
                describe_schema(field),
                render_prose(description),
            ],
        );
    }
    page.push_str("</tbody></table>");
}

fn write_table(page: &mut String, caption: &str, columns: &[&str]) {
    let _ = write!(
        page,
        "<table><caption>{}</caption><thead><tr>",
        escape(caption)
    );
    for column in columns {
        let _ = write!(page, "<th scope=\"col\">{}</th>", escape(column));
    }
    page.push_str("</tr></thead><tbody>");
}

/// Writes a row of cells, which must be escaped already. The first cell is the row header.
fn write_row(page: &mut String, cells: &[String]) {
    page.push_str("<tr>");
    for (n, cell) in cells.iter().enumerate() {
        let _ = match n {
            0 => write!(page, "<th scope=\"row\">{cell}</th>"),
            _ => write!(page, "<td>{cell}</td>"),
        };
    }
    page.push_str("</tr>");
}

fn field_name(name: &Value, is_required: bool) -> String {
    let name = escape(name.as_str().unwrap_or_default());
    if is_required {
        format!("<code>{name}</code> (required)")
    } else {
        format!("<code>{name}</code>")
    }
}

/// Describes the type and the constraints of a schema in words.
fn describe_schema(schema: &Value) -> String {
    let mut html = describe_type(schema);
    let number = |name: &str| schema.get(name).filter(|it| it.is_number());
    for (name, words) in [
        ("minimum", "from"),
        ("maximum", "to"),
        ("minLength", "min length"),
        ("maxLength", "max length"),
        ("maxItems", "max items"),
    ] {
        if let Some(limit) = number(name) {
            let _ = write!(html, ", {words} {limit}");
        }
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        let _ = write!(html, ", <code>{}</code>", escape(pattern));
    }
    if let Some(default) = schema.get("default") {
        let default = escape(&default.to_string());
        let _ = write!(html, "; default <code>{default}</code>");
    }
    // Indexing yields null for a missing schema, and OpenAPI 3.1 allows `true` as a schema.
    if !schema.is_object() {
        return "see /v1/openapi.json".to_owned();
    }
    html
}

/// Describes the type of a schema: a link, the values of an enum, or the name of a JSON type.
fn describe_type(schema: &Value) -> String {
    if let Some(name) = schema["$ref"]
        .as_str()
        .and_then(|it| it.strip_prefix(SCHEMA_PREFIX))
    {
        let name = escape(name);
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().map(|value| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), ToOwned::to_owned);
            format!("<code>{}</code>", escape(&text))
        });
        return values.collect::<Vec<_>>().join(", ");
    }
    for combinator in ["oneOf", "anyOf", "allOf"] {
        if let Some(schemas) = schema[combinator].as_array() {
            // `null` is only how OpenAPI 3.1 writes an optional field.
            let kinds = schemas
                .iter()
                .filter(|it| it["type"] != "null")
                .map(describe_type);
            return kinds.collect::<Vec<_>>().join(" or ");
        }
    }
    // OpenAPI 3.1 allows one type or a list of them.
    let declared = &schema["type"];
    let listed = declared.as_array().into_iter().flatten();
    let types = listed.chain([declared]).filter_map(Value::as_str);
    let names = types.filter(|name| *name != "null").map(|name| match name {
        "array" => format!("list of {}", describe_type(&schema["items"])),
        "integer" | "number" => "number".to_owned(),
        other => escape(other),
    });
    let names = names.collect::<Vec<_>>().join(" or ");
    if names.is_empty() {
        "any value".to_owned()
    } else {
        names
    }
}

/// Resolves a reference to a schema; returns any other schema unchanged.
fn resolve_ref<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let named = schema["$ref"]
        .as_str()
        .and_then(|it| it.strip_prefix(SCHEMA_PREFIX));
    named.map_or(schema, |name| &document["components"]["schemas"][name])
}

/// Returns the example of a schema, or one built from the examples of its parts.
fn find_example(document: &Value, schema: &Value) -> Option<Value> {
    let whole = resolve_ref(document, schema);
    if let Some(example) = whole.get("example") {
        return Some(example.clone());
    }
    if let Some(items) = whole.get("items") {
        return find_example(document, items).map(|one| Value::Array(vec![one]));
    }
    // A page of a list: show one item.
    let items = whole["properties"].get("items")?;
    let items = find_example(document, items)?;
    Some(serde_json::json!({ "items": items }))
}

fn pretty(example: &Value) -> String {
    serde_json::to_string_pretty(example).unwrap_or_default()
}

/// Writes the paragraphs of a text.
fn write_prose(page: &mut String, text: &Value) {
    let text = text.as_str().unwrap_or_default();
    for paragraph in text.split("\n\n").filter(|it| !it.trim().is_empty()) {
        let _ = write!(page, "<p>{}</p>", render_prose(paragraph));
    }
}

/// Escapes a text and renders words between backticks as code.
fn render_prose(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    let parts: Vec<&str> = text.split('`').collect();
    for (n, part) in parts.iter().enumerate() {
        // A backtick without a partner starts no code: the last part is always plain text.
        if n % 2 == 1 && n + 1 < parts.len() {
            let _ = write!(html, "<code>{}</code>", escape(part));
        } else {
            html.push_str(&escape(part));
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Value {
        json!({
            "info": {"version": "1", "description": "Say `this`.\n\nAnd that."},
            "paths": {"/v1/workspaces/{workspace}/things": {"post": {
                "operationId": "make_thing", "tags": ["things"], "summary": "Makes a thing.",
                "security": [{"token": ["agent"]}],
                "parameters": [{"name": "workspace", "in": "path", "required": true, "description": "Its name.",
                    "schema": {"type": "string", "maxLength": 63}}],
                "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewThing"}}}},
                "responses": {"201": {"description": "The thing was created.", "content": {"application/json": {
                    "schema": {"type": "object", "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}}}}}},
                    "404": {"description": "not found"}},
            }}},
            "components": {"schemas": {
                "NewThing": {"type": "object", "required": ["name"], "example": {"name": "it's"}, "properties": {
                    "name": {"type": "string", "description": "Its `display` name."},
                    "size": {"type": ["integer", "null"], "minimum": 1, "default": 3},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}, "maxItems": 5}}},
                "Thing": {"type": "object", "example": {"name": "x"}, "properties": {"name": {"type": "string", "enum": ["a", "b"]}}},
            }},
        })
    }

    #[test]
    fn an_operation_is_told_whole() {
        let page = reference_page(&document());
        for expected in [
            "<p>Say <code>this</code>.</p><p>And that.</p>",
            "<a href=\"#make_thing\"><code>POST /v1/workspaces/{workspace}/things</code></a>",
            "Requires the role <strong>agent</strong> or higher.",
            "<th scope=\"row\"><code>workspace</code></th><td>path</td><td>string, max length 63</td>",
            "<th scope=\"row\"><code>name</code> (required)</th><td>string</td><td>Its <code>display</code> name.</td>",
            "<code>size</code></th><td>number, from 1; default <code>3</code></td>",
            "list of <a href=\"#schema-Thing\">Thing</a>, max items 5",
            "-d &#39;{&quot;name&quot;:&quot;it&#39;\\&#39;&#39;s&quot;}&#39;",
            "&quot;$HUB/v1/workspaces/shop-api/things&quot;",
            "<code>201</code></th><td>The thing was created.</td>",
            "<section id=\"schema-Thing\"",
            "<code>a</code>, <code>b</code>",
        ] {
            assert!(page.contains(expected), "{expected}\n{page}");
        }
        assert!(!page.contains("<script"));
    }

    #[test]
    fn texts_are_never_read_as_markup() {
        let document = json!({
            "info": {"version": "1", "description": "<script>alert(1)</script> `<i>`"},
            "paths": {"/\"><img>": {"get": {"operationId": "'x'", "summary": "<b>", "responses": {"2<u>": {}}}}},
            "components": {"schemas": {"<s>": {"type": "<em>", "enum": ["<q>"]}}},
        });
        let page = reference_page(&document);
        for forbidden in [
            "<script", "<img", "<b>", "'x'", "<i>", "<u>", "<s>", "<em>", "<q>",
        ] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }
}
