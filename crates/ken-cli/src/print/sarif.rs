//! Findings of the gate as SARIF 2.1.0, for code hosts that show them beside the lines.
//!
//! A hand-written part of the format: what we say, in the words of the standard. A test reads it back with
//! another library's types and checks it against the published schema.

use std::collections::BTreeSet;

use ken_engine::verify::{Finding, Level};
use serde::Serialize;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Names what a fingerprint is made of; raised when that changes.
const FINGERPRINT: &str = "kenFinding/v1";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    results: Vec<Outcome>,
    column_kind: &'static str,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
struct Rule {
    id: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    rule_id: &'static str,
    level: &'static str,
    message: Message,
    locations: [Location; 1],
    partial_fingerprints: std::collections::BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Physical,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    uri: String,
    uri_base_id: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u64,
}

/// Returns the whole log.
pub(crate) fn sarif(findings: &[Finding]) -> serde_json::Value {
    let gates: BTreeSet<&'static str> = findings.iter().map(|it| it.gate).collect();
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "ken",
                    semantic_version: env!("CARGO_PKG_VERSION"),
                    rules: gates.into_iter().map(|id| Rule { id }).collect(),
                },
            },
            results: findings.iter().map(outcome).collect(),
            column_kind: "unicodeCodePoints",
        }],
    };
    serde_json::to_value(log).unwrap_or_default()
}

fn outcome(it: &Finding) -> Outcome {
    // Lines move with every edit; a finding stays the same one.
    let same = [it.gate, &it.at, &it.message].join("\n");
    Outcome {
        rule_id: it.gate,
        level: match it.level {
            Level::Warning => "warning",
            Level::Error => "error",
        },
        message: Message {
            text: it.message.clone(),
        },
        locations: [Location {
            physical_location: Physical {
                artifact_location: Artifact {
                    uri: encoded(&it.at),
                    uri_base_id: "%SRCROOT%",
                },
                region: it
                    .line
                    .filter(|line| 0 < *line)
                    .map(|start_line| Region { start_line }),
            },
        }],
        partial_fingerprints: [(FINGERPRINT, ken_engine::verify::digest(&same))].into(),
    }
}

/// A path as part of a URI.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
