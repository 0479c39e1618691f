//! What people read: the API, and what each problem means. Plain HTML of ours, without a script.

use std::fmt::Write as _;

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::problem::{Kind, Problem};

/// Nothing but our own style sheet is loaded, whatever a text on the page says.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}
section{border-top:1px solid #d0d7de;padding:.5rem 0}
h2{font-size:1.05rem}h2 code{font-size:1em}
table{border-collapse:collapse}td,th{text-align:left;padding:.1rem .8rem .1rem 0;vertical-align:top}
.role{float:right;color:#57606a}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}section{border-color:#30363d}a{color:#58a6ff}.role{color:#8b949e}}
";

/// Writes the page of the API from its description.
pub(super) fn reference(document: &Value) -> String {
    let mut page = head("Ken hub: API");
    let version = document["info"]["version"].as_str().unwrap_or_default();
    let told = document["info"]["description"].as_str().unwrap_or_default();
    let _ = write!(
        page,
        "<h1>Ken hub</h1><p>Version {}. {}</p><p>The same for programs: <a href=\"/v1/openapi.json\">/v1/openapi.json</a> (OpenAPI 3.1). Send <code>Authorization: Bearer TOKEN</code>.</p>",
        escaped(version),
        escaped(told)
    );
    let paths = document["paths"].as_object();
    for (path, item) in paths.into_iter().flatten() {
        for method in ["get", "post", "put", "patch", "delete"] {
            if let Some(operation) = item.get(method) {
                write_operation(&mut page, path, method, operation);
            }
        }
    }
    page.push_str("</body></html>\n");
    page
}

fn write_operation(page: &mut String, path: &str, method: &str, operation: &Value) {
    let id = operation["operationId"].as_str().unwrap_or_default();
    let summary = operation["summary"].as_str().unwrap_or_default();
    let told = operation["description"].as_str().unwrap_or_default();
    let role = operation["security"][0][super::document::SECURITY][0].as_str();
    let role = role.map_or("no token needed".to_owned(), |it| format!("role {it}"));
    let _ = write!(
        page,
        "<section id=\"{id}\"><h2><span class=\"role\">{role}</span><code>{method} {path}</code></h2><p>{summary}</p>",
        id = escaped(id),
        role = escaped(&role),
        method = method.to_uppercase(),
        path = escaped(path),
        summary = escaped(summary),
    );
    if !told.is_empty() {
        let _ = write!(page, "<p>{}</p>", escaped(told));
    }
    let parameters = operation["parameters"].as_array();
    let parameters = parameters.map_or(&[][..], Vec::as_slice);
    if !parameters.is_empty() {
        page.push_str("<table>");
        for one in parameters {
            let text = |name: &str| escaped(one[name].as_str().unwrap_or_default());
            let (name, place, told) = (text("name"), text("in"), text("description"));
            let _ = write!(
                page,
                "<tr><td><code>{name}</code></td><td>{place}</td><td>{told}</td></tr>"
            );
        }
        page.push_str("</table>");
    }
    if let Some(schema) = operation["requestBody"]["content"]["application/json"].get("schema") {
        let _ = write!(page, "<p>Body: {}</p>", shape(schema));
    }
    page.push_str("<p>");
    let answers = operation["responses"].as_object();
    for (status, answer) in answers.into_iter().flatten() {
        let told = answer["description"].as_str().unwrap_or_default();
        let schema = answer["content"]["application/json"].get("schema");
        let schema = schema.map_or_else(String::new, |it| format!(" ({})", shape(it)));
        let (status, told) = (escaped(status), escaped(told));
        let _ = write!(page, "<code>{status}</code> {told}{schema}<br>");
    }
    page.push_str("</p></section>");
}

/// Names a schema by the last part of its reference.
fn shape(schema: &Value) -> String {
    let named = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next());
    let named = named.unwrap_or("see /v1/openapi.json");
    format!("<code>{}</code>", escaped(named))
}

/// Returns the page that explains one kind of problem.
pub(super) fn problem(slug: &str) -> Result<Response, Problem> {
    let kind = Kind::of_slug(slug).ok_or_else(|| Problem::not_found("page"))?;
    let mut page = head(kind.title());
    let _ = writeln!(
        page,
        "<h1>{}</h1><p>Status {}. <code>/problems/{}</code></p><p>{}</p><p><a href=\"/docs\">The API</a></p></body></html>",
        escaped(kind.title()),
        kind.status().as_u16(),
        escaped(kind.slug()),
        escaped(kind.text()),
    );
    Ok(html(page))
}

/// Answers with a page that may load nothing from elsewhere.
pub(super) fn html(page: String) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
    ];
    (headers, page).into_response()
}

/// Answers with the pages' style sheet.
pub(super) async fn style() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)
}

fn head(title: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>{}</title><link rel=\"stylesheet\" href=\"/docs/style.css\"></head><body>",
        escaped(title)
    )
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_never_read_as_markup() {
        let document = serde_json::json!({
            "info": {"version": "1", "description": "<script>alert(1)</script>"},
            "paths": {"/\"><img>": {"get": {"operationId": "'x'", "summary": "<b>", "responses": {}}}},
        });
        let page = reference(&document);
        for forbidden in ["<script", "<img", "<b>", "'x'"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }
}
