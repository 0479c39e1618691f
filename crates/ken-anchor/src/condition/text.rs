//! `text:GLOB~REGEX` conditions, and size-limited reading of files.

use ken_core::values::condition::Glob;
use regex::bytes::RegexBuilder;

use super::ConditionEvaluator;
use super::outcome::ConditionOutcome;
use crate::FileTree;

/// Maximum size of a file that is searched or parsed for a condition.
pub(super) const SOURCE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Maximum size of a configuration file.
pub(super) const CONFIG_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum memory of a compiled regular expression, which also bounds the time per searched byte.
pub(crate) const REGEX_BYTES_MAX: usize = 1024 * 1024;
/// Bytes searched for a NUL byte to detect binary files, as git does.
const BINARY_BYTES: usize = 8_000;

pub(super) fn evaluate(
    evidence: &ConditionEvaluator<'_>,
    files: &Glob,
    regex: &str,
) -> ConditionOutcome {
    let compiled = RegexBuilder::new(regex)
        .multi_line(true)
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_BYTES_MAX)
        .build();
    let Ok(compiled) = compiled else {
        return ConditionOutcome::unverifiable(format!(
            "`{regex}` is not a supported regular expression"
        ));
    };
    let paths = match evidence.tree.paths() {
        Ok(paths) => paths,
        Err(error) => return ConditionOutcome::unverifiable(error.to_string()),
    };
    let mut searched = 0;
    let mut unread = None;
    for path in paths.iter().filter(|path| files.matches(path)) {
        // An unreadable file does not end the search: a match in a later file still decides.
        match read_bytes(evidence.tree, path, SOURCE_BYTES_MAX) {
            Ok(Some(bytes)) if is_binary(&bytes) => {}
            Ok(Some(bytes)) => {
                searched += 1;
                if let Some(found) = compiled.find(&bytes) {
                    let line = line_number_at(&bytes, found.start());
                    return ConditionOutcome::holds(format!("`{path}` matches")).at(path, line);
                }
            }
            Ok(None) => {}
            Err(why) => unread = Some(why),
        }
    }
    match unread {
        Some(why) => ConditionOutcome::unverifiable(why),
        None => ConditionOutcome::broken(format!("none of {searched} files matches")),
    }
}

/// Reads a file as text, or returns `None` if it does not exist. Invalid UTF-8 is replaced.
pub(super) fn read_text(
    tree: &dyn FileTree,
    path: &str,
    max: usize,
) -> Result<Option<String>, String> {
    let bytes = read_bytes(tree, path, max)?;
    Ok(bytes.map(|bytes| {
        let text = String::from_utf8_lossy(&bytes);
        text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
    }))
}

/// Reads a file, or returns `None` if it does not exist. Fails if it is larger than `max`.
pub(super) fn read_bytes(
    tree: &dyn FileTree,
    path: &str,
    max: usize,
) -> Result<Option<std::sync::Arc<[u8]>>, String> {
    let bytes = tree.read(path).map_err(|error| error.to_string())?;
    if let Some(bytes) = &bytes
        && bytes.len() > max
    {
        return Err(format!(
            "`{path}` has {} bytes; at most {max} are read",
            bytes.len()
        ));
    }
    Ok(bytes)
}

pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_BYTES).any(|byte| *byte == 0)
}

/// Returns the line of a byte offset, counted from 1.
fn line_number_at(bytes: &[u8], offset: usize) -> u32 {
    let before = bytes
        .iter()
        .take(offset)
        .filter(|byte| **byte == b'\n')
        .count();
    u32::try_from(before + 1).unwrap_or(u32::MAX)
}
