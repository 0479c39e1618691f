//! `text:GLOB~REGEX`, and reading files as text within limits.

use ken_core::condition::Glob;
use regex::bytes::RegexBuilder;

use super::Evidence;
use super::outcome::Outcome;
use crate::Tree;

/// Bytes of a file that is searched or parsed for a condition.
pub(super) const SOURCE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Bytes of a configuration file.
pub(super) const CONFIG_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes a compiled regular expression may take, and so the time it may cost per byte searched.
pub(crate) const REGEX_BYTES_MAX: usize = 1024 * 1024;
/// Bytes looked at to tell a binary file, as git does.
const BINARY_BYTES: usize = 8_000;

pub(super) fn evaluate(evidence: &Evidence<'_>, files: &Glob, regex: &str) -> Outcome {
    let compiled = RegexBuilder::new(regex)
        .multi_line(true)
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_BYTES_MAX)
        .build();
    let Ok(compiled) = compiled else {
        return Outcome::unverifiable(format!("`{regex}` is no regular expression we can use"));
    };
    let paths = match evidence.tree.paths() {
        Ok(paths) => paths,
        Err(error) => return Outcome::unverifiable(error.to_string()),
    };
    let mut searched = 0;
    let mut unread = None;
    for path in paths.iter().filter(|path| files.matches(path)) {
        match bytes_of(evidence.tree, path, SOURCE_BYTES_MAX) {
            Ok(Some(bytes)) if is_binary(&bytes) => {}
            Ok(Some(bytes)) => {
                searched += 1;
                if let Some(found) = compiled.find(&bytes) {
                    let line = line_at(&bytes, found.start());
                    return Outcome::holds(format!("`{path}` matches")).at(path, line);
                }
            }
            Ok(None) => {}
            Err(why) => unread = Some(why),
        }
    }
    match unread {
        Some(why) => Outcome::unverifiable(why),
        None => Outcome::broken(format!("none of {searched} files matches")),
    }
}

/// Returns the text of a file, if it is there; bytes that are no UTF-8 are replaced.
pub(super) fn text_of(tree: &dyn Tree, path: &str, max: usize) -> Result<Option<String>, String> {
    let bytes = bytes_of(tree, path, max)?;
    Ok(bytes.map(|bytes| {
        let text = String::from_utf8_lossy(&bytes);
        text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
    }))
}

/// Returns what a file holds, if it is there and not too large.
pub(super) fn bytes_of(
    tree: &dyn Tree,
    path: &str,
    max: usize,
) -> Result<Option<std::sync::Arc<[u8]>>, String> {
    let bytes = tree.read(path).map_err(|error| error.to_string())?;
    if let Some(bytes) = &bytes
        && max < bytes.len()
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

/// Returns the line `offset` lies in, counted from 1.
fn line_at(bytes: &[u8], offset: usize) -> u32 {
    let before = bytes
        .iter()
        .take(offset)
        .filter(|byte| **byte == b'\n')
        .count();
    u32::try_from(before + 1).unwrap_or(u32::MAX)
}
