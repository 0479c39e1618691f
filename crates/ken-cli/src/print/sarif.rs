//! Findings as SARIF 2.1.0, for code hosts that annotate lines with them.
//!
//! Only the used part of the format is defined here. A test parses the output with the types of
//! another library and validates it against the published schema.

use std::collections::BTreeSet;

use ken_engine::verify::{GateFinding, GateLevel};
use serde::Serialize;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The location of a finding that is not about a file: code hosts drop results without one.
const VERSION_FILE: &str = ".ken/VERSION";

/// The name of the fingerprint; its version changes with the fingerprinted data.
const FINGERPRINT_KEY: &str = "kenFinding/v1";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifLog {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [SarifRun; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRun {
    tool: SarifTool,
    results: Vec<SarifResult>,
    column_kind: &'static str,
}

#[derive(Serialize)]
struct SarifTool {
    driver: SarifDriver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifDriver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<SarifRule>,
}

#[derive(Serialize)]
struct SarifRule {
    id: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: &'static str,
    level: &'static str,
    message: SarifMessage,
    locations: [SarifLocation; 1],
    partial_fingerprints: std::collections::BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct SarifMessage {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation {
    physical_location: SarifPhysicalLocation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifPhysicalLocation {
    artifact_location: SarifArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<SarifRegion>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifArtifactLocation {
    uri: String,
    uri_base_id: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRegion {
    start_line: u64,
}

/// Returns the findings as a SARIF log.
pub(crate) fn sarif_log(findings: &[GateFinding]) -> serde_json::Value {
    let gates: BTreeSet<&'static str> = findings.iter().map(|it| it.gate).collect();
    let log = SarifLog {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [SarifRun {
            tool: SarifTool {
                driver: SarifDriver {
                    name: "ken",
                    semantic_version: env!("CARGO_PKG_VERSION"),
                    rules: gates.into_iter().map(|id| SarifRule { id }).collect(),
                },
            },
            results: findings.iter().map(to_sarif_result).collect(),
            column_kind: "unicodeCodePoints",
        }],
    };
    serde_json::to_value(log).unwrap_or_default()
}

fn to_sarif_result(finding: &GateFinding) -> SarifResult {
    // The line is not part of the identity: lines move with every edit, and a code host would
    // report the finding as new.
    let identity = [finding.gate, &finding.at, &finding.message].join("\n");
    SarifResult {
        rule_id: finding.gate,
        level: match finding.level {
            GateLevel::Warning => "warning",
            GateLevel::Error => "error",
        },
        message: SarifMessage {
            text: match finding.file() {
                Some(_) => finding.message.clone(),
                None => format!("{}: {}", finding.at, finding.message),
            },
        },
        locations: [SarifLocation {
            physical_location: SarifPhysicalLocation {
                artifact_location: SarifArtifactLocation {
                    uri: percent_encode(finding.file().unwrap_or(VERSION_FILE)),
                    uri_base_id: "%SRCROOT%",
                },
                // SARIF lines start at 1; a finding about a whole file has none.
                region: finding
                    .line
                    .filter(|line| *line > 0)
                    .map(|start_line| SarifRegion { start_line }),
            },
        }],
        partial_fingerprints: [(FINGERPRINT_KEY, ken_engine::verify::text_digest(&identity))]
            .into(),
    }
}

/// Percent-encodes a path for a URI.
fn percent_encode(path: &str) -> String {
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
