//! Generated pages of the book: the REST API from its OpenAPI document, the metrics from a scrape.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use ken_hub::metrics::{HubMetrics, ScrapedCounts};
use ken_testkit::reference_page::{check_page, description, type_sections, type_text};
use serde_json::Value;

use crate::hub::ApiHubEnvironment;

const HINT: &str =
    "To rewrite this page, run `KEN_BLESS=1 cargo nextest run -p ken-hub reference`.";

#[test]
fn the_rest_reference_describes_every_operation() {
    let hub = ApiHubEnvironment::start();
    let document = hub.send("GET", "/v1/openapi.json", &[], None).json();
    let intro = document["info"]["description"]
        .as_str()
        .expect("an introduction");
    let mut page = format!(
        "# REST API of the hub\n\n<!-- generated -->\n\n{intro}\n\n\
        A hub serves the OpenAPI document of this page at `/v1/openapi.json`. {HINT}\n"
    );
    let mut by_tag: BTreeMap<&str, Vec<(String, &Value)>> = BTreeMap::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let tag = operation["tags"][0].as_str().unwrap_or("other");
            let name = format!("{} {path}", method.to_uppercase());
            by_tag.entry(tag).or_default().push((name, operation));
        }
    }
    for (tag, operations) in by_tag {
        let _ = write!(page, "\n## {tag}\n");
        for (name, operation) in operations {
            page.push_str(&operation_section(&name, operation));
        }
    }
    page.push_str("\n## Types\n");
    let types = document["components"]["schemas"]
        .as_object()
        .expect("types");
    let types = types.iter().map(|(name, it)| (name.clone(), it.clone()));
    page.push_str(&type_sections(&types.collect(), &[]));
    check_page("docs/reference/rest.md", &page);
}

fn operation_section(name: &str, operation: &Value) -> String {
    let mut text = format!("\n### `{name}`\n\n");
    for part in ["summary", "description"] {
        if let Some(it) = operation[part].as_str() {
            let _ = write!(text, "{it}\n\n");
        }
    }
    if let Some(role) = operation["security"][0]["token"][0].as_str() {
        let _ = writeln!(text, "- role: {role}");
    }
    for it in operation["parameters"].as_array().into_iter().flatten() {
        // Headers that all operations share are described in the introduction.
        if it["in"] == "header" {
            continue;
        }
        let (place, meaning) = (it["in"].as_str().unwrap_or_default(), description(it));
        let (name, kind) = (
            it["name"].as_str().unwrap_or_default(),
            type_text(&it["schema"]),
        );
        let _ = writeln!(text, "- {place} `{name}`: {kind}. {meaning}");
    }
    if let Some(body) = json_schema(&operation["requestBody"]) {
        let _ = writeln!(text, "- body: {}", type_text(body));
    }
    let responses = operation["responses"].as_object().into_iter().flatten();
    for (status, response) in responses.filter(|(status, _)| status.starts_with('2')) {
        let kind = json_schema(response).map(type_text).unwrap_or_default();
        let _ = writeln!(text, "- {status}: {} {kind}", description(response));
    }
    text
}

fn json_schema(holder: &Value) -> Option<&Value> {
    let content = holder["content"].as_object()?;
    let (_, media) = content.iter().find(|(name, _)| name.ends_with("json"))?;
    media.get("schema")
}

#[test]
fn the_metrics_reference_lists_every_metric() {
    let metrics = HubMetrics::new();
    // A metric with labels appears in a scrape after its first use.
    metrics.record_request("/v1/workspaces", "GET", 200, Duration::from_millis(1));
    metrics.record_events("admitted", 1);
    metrics.record_refusal("not-found");
    metrics.set_waiting(0, 0);
    metrics.add_exported(0, 0, 0);
    let scrape = metrics.render(ScrapedCounts::default());
    let mut page = format!(
        "# Metrics of the hub\n\n<!-- generated -->\n\n\
        A hub serves these metrics in the Prometheus text format. The guide \
        [Operate a hub](../guides/operate-a-hub.md)\nsays how to scrape them. Labels never contain \
        tenant data. {HINT}\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n"
    );
    for line in scrape.lines() {
        let Some((name, help)) = line
            .strip_prefix("# HELP ")
            .and_then(|it| it.split_once(' '))
        else {
            continue;
        };
        let of_type = format!("# TYPE {name} ");
        let kind = scrape.lines().find_map(|it| it.strip_prefix(&of_type));
        let labels = metric_labels(&scrape, name).join(", ");
        let kind = kind.unwrap_or_default();
        let _ = writeln!(page, "| `{name}` | {kind} | {labels} | {help} |");
    }
    check_page("docs/reference/metrics.md", &page);
}

/// Returns the labels of a metric, without the bucket bound of a histogram.
fn metric_labels<'a>(scrape: &'a str, name: &str) -> Vec<&'a str> {
    let mut samples = scrape.lines().filter(|it| it.starts_with(name));
    let labels = samples.find_map(|it| it.split_once('{')?.1.split_once('}'));
    let pairs = labels
        .map(|(pairs, _)| pairs.split(','))
        .into_iter()
        .flatten();
    pairs
        .filter_map(|it| it.split('=').next())
        .filter(|it| *it != "le")
        .collect()
}
