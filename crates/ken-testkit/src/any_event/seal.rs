//! Ledger lines written without `ken-core`, from `docs/reference/format.md`.
//!
//! Used for types, versions and fields this build cannot write, and as a second implementation of
//! the checksum.

use ken_core::ledger::canonical;
use serde_json::{Value, json};

/// Returns `envelope` as a line: canonical JSON with a valid `sum`.
///
/// # Panics
///
/// If it is not an object or has no `data`.
pub fn seal(mut envelope: Value) -> String {
    let data = canonical::to_string(&envelope["data"]);
    let digest = short_digest(&[data.as_bytes()]);
    // Canonical JSON escapes control characters, so this placeholder cannot occur elsewhere.
    envelope["data"] = json!("\u{1}");
    envelope["sum"] = json!("");
    let open = canonical::to_string(&envelope);
    let (before, after) = open.split_once(r#""\u0001""#).expect("data is there");
    let sum = short_digest(&[
        b"ken.event.v1\n",
        before.as_bytes(),
        digest.as_bytes(),
        after.as_bytes(),
    ]);
    let after = after.replacen(r#""sum":"""#, &format!(r#""sum":"{sum}""#), 1);
    format!("{before}{data}{after}")
}

fn short_digest(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    format!("b3:{}", &hasher.finalize().to_hex()[..32])
}
