//! The page of the API, written from its description alone: each operation with its parameters, the fields of its body, a
//! call to copy, and its answers. No script, nothing from elsewhere; headings, lists and tables say what they are.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::document::SECURITY;
use super::{escaped, head};

/// Where schemas stand in a description.
const SCHEMAS: &str = "#/components/schemas/";

/// What stands in an address of an example for each parameter.
const NAMES: [(&str, &str); 5] = [
    ("workspace", "shop-api"),
    ("entry", "L-7k2f5qm3"),
    ("event", "01JCPQ3W6M7Y2K8T4D5F6G7H8J"),
    ("run", "R-0a1b2c3d4e"),
    ("token", "0193324e-7a3b-7c00-8000-000000000001"),
];

/// Writes the page of the API from its description.
pub(in crate::api) fn reference(document: &Value) -> String {
    let mut page = head("Ken hub: API");
    let version = document["info"]["version"].as_str().unwrap_or_default();
    let _ = write!(
        page,
        "<header><h1>Ken hub</h1><p>Version {}. The same for programs: <a href=\"/v1/openapi.json\">/v1/openapi.json</a> (OpenAPI 3.1).</p></header>",
        escaped(version)
    );
    let operations = operations(document);
    write_contents(&mut page, &operations);
    page.push_str("<main>");
    write_prose(&mut page, &document["info"]["description"]);
    page.push_str("<p>Every example takes the hub's address from <code>$HUB</code> and a token from <code>$TOKEN</code>.</p>");
    let mut tag = "";
    for operation in &operations {
        if operation.tag != tag {
            tag = operation.tag;
            let _ = write!(page, "<h2>{}</h2>", escaped(tag));
        }
        operation.write(&mut page, document);
    }
    write_shapes(&mut page, document);
    page.push_str("</main></body></html>\n");
    page
}

struct Operation<'a> {
    id: &'a str,
    tag: &'a str,
    method: String,
    path: &'a str,
    told: &'a Value,
}

/// Returns every operation, those of one tag together, tags in the order they first come.
fn operations(document: &Value) -> Vec<Operation<'_>> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for method in ["get", "post", "put", "patch", "delete"] {
            if let Some(told) = item.get(method) {
                found.push(Operation {
                    id: told["operationId"].as_str().unwrap_or_default(),
                    tag: told["tags"][0].as_str().unwrap_or("other"),
                    method: method.to_uppercase(),
                    path,
                    told,
                });
            }
        }
    }
    let order: Vec<&str> = found.iter().map(|it| it.tag).collect();
    found.sort_by_key(|it| order.iter().position(|tag| *tag == it.tag));
    found
}

fn write_contents(page: &mut String, operations: &[Operation<'_>]) {
    page.push_str("<nav aria-label=\"Operations\"><ul>");
    for operation in operations {
        let _ = write!(
            page,
            "<li><a href=\"#{}\"><code>{} {}</code></a></li>",
            escaped(operation.id),
            operation.method,
            escaped(operation.path)
        );
    }
    page.push_str("</ul></nav>");
}

impl Operation<'_> {
    fn write(&self, page: &mut String, document: &Value) {
        let role = self.told["security"][0][SECURITY][0].as_str();
        let role = role.map_or("No token needed.".to_owned(), |role| {
            format!("Needs the role <strong>{}</strong> or more.", escaped(role))
        });
        let _ = write!(
            page,
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\"><h3 id=\"{id}-title\"><code>{method} {path}</code></h3>",
            id = escaped(self.id),
            method = self.method,
            path = escaped(self.path),
        );
        write_prose(page, &self.told["summary"]);
        write_prose(page, &self.told["description"]);
        let _ = write!(page, "<p>{role}</p>");
        self.write_parameters(page);
        let body = &self.told["requestBody"]["content"]["application/json"]["schema"];
        if !body.is_null() {
            let required = self.told["requestBody"]["required"] == true;
            let note = if required { "" } else { " (may be left out)" };
            write_fields(page, &format!("Body{note}"), document, body);
        }
        let _ = write!(
            page,
            "<p>Example:</p><pre><code>{}</code></pre>",
            escaped(&self.call(document))
        );
        self.write_answers(page, document);
        page.push_str("</section>");
    }

    fn write_parameters(&self, page: &mut String) {
        let parameters = self.told["parameters"].as_array();
        let parameters = parameters.map_or(&[][..], Vec::as_slice);
        if parameters.is_empty() {
            return;
        }
        write_table(page, "Parameters", &["name", "where", "type", "meaning"]);
        for one in parameters {
            let required = one["required"] == true && one["in"] != "path";
            write_row(
                page,
                &[
                    named(&one["name"], required),
                    escaped(one["in"].as_str().unwrap_or_default()),
                    shape(&one["schema"]),
                    prose(one["description"].as_str().unwrap_or_default()),
                ],
            );
        }
        page.push_str("</tbody></table>");
    }

    fn write_answers(&self, page: &mut String, document: &Value) {
        write_table(page, "Answers", &["status", "meaning", "what it holds"]);
        let answers = self.told["responses"].as_object();
        let mut first = None;
        for (status, answer) in answers.into_iter().flatten() {
            let content = answer["content"].as_object();
            let content = content.and_then(|it| it.iter().next());
            let holds = content.map_or_else(String::new, |(kind, content)| {
                format!("{} ({})", shape(&content["schema"]), escaped(kind))
            });
            if status.starts_with('2') && first.is_none() {
                first = content.map(|(_, content)| &content["schema"]);
            }
            let told = prose(answer["description"].as_str().unwrap_or_default());
            write_row(
                page,
                &[format!("<code>{}</code>", escaped(status)), told, holds],
            );
        }
        page.push_str("</tbody></table>");
        let example = first.and_then(|schema| example(document, schema));
        if let Some(example) = example {
            let _ = write!(
                page,
                "<p>An answer:</p><pre><code>{}</code></pre>",
                escaped(&pretty(&example))
            );
        }
    }

    /// Returns a call of the operation as somebody types it.
    fn call(&self, document: &Value) -> String {
        let mut path = self.path.to_owned();
        for (name, value) in NAMES {
            path = path.replace(&format!("{{{name}}}"), value);
        }
        let mut call = "curl".to_owned();
        if self.told.get("security").is_some() {
            call.push_str(" -H \"Authorization: Bearer $TOKEN\"");
        }
        let content = &self.told["requestBody"]["content"]["application/json"];
        let body = content.get("example").cloned();
        let body = body.or_else(|| example(document, &content["schema"]));
        match body {
            Some(body) => {
                let body = body.to_string().replace('\'', "'\\''");
                let _ = write!(
                    call,
                    " -H 'Content-Type: application/json' \\\n    -d '{body}'"
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
        let query = self.told["parameters"].as_array().into_iter().flatten();
        let query = query.filter(|it| it["in"] == "query" && it["required"] == true);
        let query: Vec<&str> = query.filter_map(|it| it["name"].as_str()).collect();
        let query = match query.is_empty() {
            true => String::new(),
            false => format!("?{}=…", query.join("=…&")),
        };
        let _ = write!(call, " \\\n    \"$HUB{path}{query}\"");
        call
    }
}

/// Writes every schema that is named.
fn write_shapes(page: &mut String, document: &Value) {
    page.push_str("<h2 id=\"shapes\">Shapes</h2>");
    let schemas = document["components"]["schemas"].as_object();
    for (name, schema) in schemas.into_iter().flatten() {
        let id = format!("shape-{name}");
        let _ = write!(
            page,
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\"><h3 id=\"{id}-title\"><code>{}</code></h3>",
            escaped(name),
            id = escaped(&id),
        );
        write_prose(page, &schema["description"]);
        match schema.get("properties") {
            Some(_) => write_fields(page, "Fields", document, schema),
            None => {
                let _ = write!(page, "<p>{}</p>", shape(schema));
            }
        }
        if let Some(example) = schema.get("example") {
            let _ = write!(
                page,
                "<pre><code>{}</code></pre>",
                escaped(&pretty(example))
            );
        }
        page.push_str("</section>");
    }
}

/// Writes the fields of an object, each with its type.
fn write_fields(page: &mut String, title: &str, document: &Value, schema: &Value) {
    let whole = resolved(document, schema);
    let Some(fields) = whole["properties"].as_object() else {
        let _ = write!(page, "<p>{}: {}</p>", escaped(title), shape(schema));
        write_prose(page, &whole["description"]);
        return;
    };
    let required = whole["required"].as_array();
    write_table(page, title, &["field", "type", "meaning"]);
    for (name, field) in fields {
        let is_required = required.is_some_and(|all| all.iter().any(|it| it == name));
        let told = field["description"].as_str();
        // What a field is named after is said where its shape is.
        let told = told.unwrap_or_default();
        write_row(
            page,
            &[
                named(&Value::from(name.as_str()), is_required),
                shape(field),
                prose(told),
            ],
        );
    }
    page.push_str("</tbody></table>");
}

fn write_table(page: &mut String, caption: &str, columns: &[&str]) {
    let _ = write!(
        page,
        "<table><caption>{}</caption><thead><tr>",
        escaped(caption)
    );
    for column in columns {
        let _ = write!(page, "<th scope=\"col\">{}</th>", escaped(column));
    }
    page.push_str("</tr></thead><tbody>");
}

/// Writes a row of cells that are safe already; the first names it.
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

fn named(name: &Value, is_required: bool) -> String {
    let name = escaped(name.as_str().unwrap_or_default());
    match is_required {
        true => format!("<code>{name}</code> (required)"),
        false => format!("<code>{name}</code>"),
    }
}

/// Says what type a schema is, in words, and what it is held to.
fn shape(schema: &Value) -> String {
    let mut told = kind(schema);
    let number = |name: &str| schema.get(name).filter(|it| it.is_number());
    for (name, words) in [
        ("minimum", "from"),
        ("maximum", "to"),
        ("minLength", "at least"),
        ("maxLength", "characters at most:"),
        ("maxItems", "at most:"),
    ] {
        if let Some(limit) = number(name) {
            let _ = write!(told, ", {words} {limit}");
        }
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        let _ = write!(told, ", <code>{}</code>", escaped(pattern));
    }
    if let Some(default) = schema.get("default") {
        let default = escaped(&default.to_string());
        let _ = write!(told, "; <code>{default}</code> without");
    }
    if !schema.is_object() {
        return "see /v1/openapi.json".to_owned();
    }
    told
}

fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"]
        .as_str()
        .and_then(|it| it.strip_prefix(SCHEMAS))
    {
        let name = escaped(name);
        return format!("<a href=\"#shape-{name}\">{name}</a>");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().map(|it| {
            let word = it
                .as_str()
                .map_or_else(|| it.to_string(), ToOwned::to_owned);
            format!("<code>{}</code>", escaped(&word))
        });
        return words.collect::<Vec<_>>().join(", ");
    }
    for several in ["oneOf", "anyOf", "allOf"] {
        if let Some(all) = schema[several].as_array() {
            let all = all.iter().filter(|it| it["type"] != "null").map(kind);
            return all.collect::<Vec<_>>().join(" or ");
        }
    }
    let told = &schema["type"];
    let several = told.as_array().into_iter().flatten();
    let types = several.chain([told]).filter_map(Value::as_str);
    let names = types.filter(|it| *it != "null").map(|it| match it {
        "array" => format!("list of {}", kind(&schema["items"])),
        "object" => "object".to_owned(),
        "integer" | "number" => "number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "string" => "text".to_owned(),
        other => escaped(other),
    });
    let names = names.collect::<Vec<_>>().join(" or ");
    match names.is_empty() {
        true => "any value".to_owned(),
        false => names,
    }
}

/// Follows a reference to what it names.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let named = schema["$ref"]
        .as_str()
        .and_then(|it| it.strip_prefix(SCHEMAS));
    named.map_or(schema, |name| &document["components"]["schemas"][name])
}

/// Returns an example of a schema, its own or made from those of its parts.
fn example(document: &Value, schema: &Value) -> Option<Value> {
    let whole = resolved(document, schema);
    if let Some(example) = whole.get("example") {
        return Some(example.clone());
    }
    if let Some(items) = whole.get("items") {
        return example(document, items).map(|one| Value::Array(vec![one]));
    }
    // A page: what it lists says what it looks like.
    let items = whole["properties"].get("items")?;
    let items = example(document, items)?;
    Some(serde_json::json!({ "items": items }))
}

fn pretty(example: &Value) -> String {
    serde_json::to_string_pretty(example).unwrap_or_default()
}

/// Writes a text in paragraphs, if there is one.
fn write_prose(page: &mut String, text: &Value) {
    let text = text.as_str().unwrap_or_default();
    for paragraph in text.split("\n\n").filter(|it| !it.trim().is_empty()) {
        let _ = write!(page, "<p>{}</p>", prose(paragraph));
    }
}

/// Returns a text whose words between backticks are code.
fn prose(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let parts: Vec<&str> = text.split('`').collect();
    for (n, part) in parts.iter().enumerate() {
        // The last part of an odd number of backticks is no code.
        match n % 2 == 1 && n + 1 < parts.len() {
            true => {
                let _ = write!(told, "<code>{}</code>", escaped(part));
            }
            false => told.push_str(&escaped(part)),
        }
    }
    told
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
                "responses": {"201": {"description": "It is there.", "content": {"application/json": {
                    "schema": {"type": "object", "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}}}}}},
                    "404": {"description": "there is nothing here"}},
            }}},
            "components": {"schemas": {
                "NewThing": {"type": "object", "required": ["name"], "example": {"name": "it's"}, "properties": {
                    "name": {"type": "string", "description": "What it is `called`."},
                    "size": {"type": ["integer", "null"], "minimum": 1, "default": 3},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}, "maxItems": 5}}},
                "Thing": {"type": "object", "example": {"name": "x"}, "properties": {"name": {"type": "string", "enum": ["a", "b"]}}},
            }},
        })
    }

    #[test]
    fn an_operation_is_told_whole() {
        let page = reference(&document());
        for expected in [
            "<p>Say <code>this</code>.</p><p>And that.</p>",
            "<a href=\"#make_thing\"><code>POST /v1/workspaces/{workspace}/things</code></a>",
            "Needs the role <strong>agent</strong> or more.",
            "<th scope=\"row\"><code>workspace</code></th><td>path</td><td>text, characters at most: 63</td>",
            "<th scope=\"row\"><code>name</code> (required)</th><td>text</td><td>What it is <code>called</code>.</td>",
            "<code>size</code></th><td>number, from 1; <code>3</code> without</td>",
            "list of <a href=\"#shape-Thing\">Thing</a>, at most: 5",
            "-d &#39;{&quot;name&quot;:&quot;it&#39;\\&#39;&#39;s&quot;}&#39;",
            "&quot;$HUB/v1/workspaces/shop-api/things&quot;",
            "<code>201</code></th><td>It is there.</td>",
            "<section id=\"shape-Thing\"",
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
        let page = reference(&document);
        for forbidden in [
            "<script", "<img", "<b>", "'x'", "<i>", "<u>", "<s>", "<em>", "<q>",
        ] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }
}
