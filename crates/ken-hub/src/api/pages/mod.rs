//! HTML documentation pages: the API reference and one page per kind of problem. No scripts.

mod reference;

use std::fmt::Write as _;

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use super::problem::{Kind, Problem};

pub(super) use reference::reference_page;

/// Content security policy of the pages: only the hub's own style sheet is loaded.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:66rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
a{color:#0550ae}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{background:#f6f8fa;padding:.6rem .8rem;overflow-x:auto}
nav ul{columns:20rem 2;list-style:none;padding:0}
section{border-top:1px solid #d0d7de;padding:.5rem 0}
h3{font-size:1.05rem}h3 code{font-size:1em}
table{border-collapse:collapse;margin:.5rem 0;width:100%}
caption{text-align:left;font-weight:600}
td,th{text-align:left;font-weight:400;padding:.15rem .8rem .15rem 0;vertical-align:top;border-bottom:1px solid #eaeef2;overflow-wrap:anywhere}
thead th{color:#57606a}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre{background:#161b22}section{border-color:#30363d}td,th{border-color:#21262d}a{color:#58a6ff}thead th{color:#8b949e}}
";

/// Returns the page about one kind of problem.
pub(super) fn problem_page(slug: &str) -> Result<Response, Problem> {
    let kind = Kind::from_slug(slug).ok_or_else(|| Problem::not_found("page"))?;
    let mut page = page_head(kind.title());
    let _ = writeln!(
        page,
        "<h1>{}</h1><p>Status {}. <code>/problems/{}</code></p><p>{}</p><p><a href=\"/docs\">API reference</a></p></body></html>",
        escape(kind.title()),
        kind.status().as_u16(),
        escape(kind.slug()),
        escape(kind.text()),
    );
    Ok(html_response(page))
}

/// Returns a page as a response with the restrictive content security policy.
pub(super) fn html_response(page: String) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    ];
    (headers, page).into_response()
}

/// Returns the style sheet. A separate file, because the policy forbids inline styles.
pub(super) async fn stylesheet() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)
}

fn page_head(title: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>{}</title><link rel=\"stylesheet\" href=\"/docs/style.css\"></head><body>",
        escape(title)
    )
}

/// Escapes a text for HTML, also inside a quoted attribute.
fn escape(text: &str) -> String {
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
