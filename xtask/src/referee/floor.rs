//! The floor: the same cases against a ledger that stays empty.
//!
//! A system without memory passes every check for absence. So the referee runs each case once more
//! without its writes: then the control of every case and every obligation must fail. A check that
//! passes here would pass with any program.

/// Commands of `ken` that add or change no knowledge, by their first words.
const KEN_READS: &[&[&str]] = &[
    &["brief"],
    &["guard", "quarantine", "list"],
    &["guard", "scan"],
    &["health", "contradictions"],
    &["hook"],
    &["hub"],
    &["inbox", "list"],
    &["ledger", "check"],
    &["ledger", "export"],
    &["ledger", "index"],
    &["ledger", "render"],
    &["list"],
    &["log"],
    &["norms", "list"],
    &["remote"],
    &["run", "show"],
    &["search"],
    &["show"],
    &["verify"],
];

const MCP_READS: &[&str] = &["ken_search", "ken_show", "ken_check"];

/// Tells whether a command line may change the knowledge of a ledger.
pub(crate) fn writes(words: &[&str]) -> bool {
    match words {
        ["ken", "inbox"] => false,
        ["ken", command @ ..] => !KEN_READS.iter().any(|read| command.starts_with(read)),
        ["mcp", _, tool, ..] => !MCP_READS.contains(tool),
        ["http", method, path, ..] => *method != "GET" && !path.ends_with("/search"),
        // Files, git, scans and the hub itself hold no knowledge before Ken has read them.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_are_told_apart() {
        for (line, expected) in [
            ("ken add x", true),
            ("ken inbox approve L-1", true),
            ("ken inbox", false),
            ("ken ledger redact E", true),
            ("ken ledger export --all", false),
            ("mcp agent:a ken_add", true),
            ("mcp agent:a ken_search", false),
            ("http POST /v1/workspaces/w/search", false),
            ("http POST /v1/workspaces/w/entries", true),
            ("http GET /v1/workspaces/w/entries", false),
            ("git merge other", false),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(writes(&words), expected, "{line}");
        }
    }
}
