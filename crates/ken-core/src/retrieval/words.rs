//! Tokenization for full-text search, the same for entries and queries.
//!
//! The tokenizer of the index splits at everything except letters and digits and folds case and
//! accents. It cannot know that `handleRequest` is two words or that Chinese and Japanese are
//! written without spaces; this module adds those splits.

use std::collections::BTreeMap;

/// Words that occur in nearly every text and carry no information. Sorted for binary search.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "das", "der",
    "die", "do", "does", "ein", "eine", "for", "from", "had", "has", "have", "how", "i", "if",
    "in", "into", "is", "ist", "it", "its", "my", "of", "on", "or", "our", "so", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "to", "und", "was", "we",
    "were", "what", "who", "why", "will", "with", "would", "you", "your",
];

/// Verbs at the beginning of a task. Sorted for binary search.
///
/// They state the action, not its subject. No entry is about them, and a query word that no entry
/// contains lowers the relevance of all entries. Words that are also nouns (`build`, `support`) are
/// excluded.
const COMMANDS: &[&str] = &[
    "add",
    "adjust",
    "change",
    "create",
    "extend",
    "fix",
    "implement",
    "improve",
    "introduce",
    "please",
    "refactor",
    "remove",
    "rename",
    "replace",
    "rework",
    "rewrite",
    "update",
];

/// Removes leading command verbs from a task; the last word always stays.
pub fn strip_command_verbs(task: &str) -> &str {
    let mut rest = task.trim();
    while let Some((first, remainder)) = rest.split_once(char::is_whitespace) {
        let word = first.trim_end_matches([',', ':']).to_lowercase();
        if COMMANDS.binary_search(&word.as_str()).is_err() {
            break;
        }
        rest = remainder.trim_start();
    }
    rest
}

/// Returns `text` with the parts of compound identifiers added and scripts without spaces split
/// into characters.
pub fn expand_text(text: &str) -> String {
    // Usually leaves room for the added parts without reallocating.
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    for word in split_words(text) {
        push_word(&mut out, word);
        // The whole identifier stays as well, so an exact match still ranks higher.
        let parts = split_camel_case(word);
        if parts.len() > 1 {
            for part in parts {
                push_word(&mut out, part);
            }
        }
    }
    out
}

/// Returns the words of `query` with their counts, in order of first occurrence.
///
/// Stop words are dropped unless the query has no others.
pub fn query_words(query: &str) -> Vec<(String, usize)> {
    let spread = expand_text(query).to_lowercase();
    let mut words: Vec<(String, usize)> = Vec::new();
    // The order of words must be kept, and a query may be a whole error log, which a linear search
    // would take too long for.
    let mut positions: BTreeMap<&str, usize> = BTreeMap::new();
    for word in spread.split(' ').filter(|word| !word.is_empty()) {
        let at = *positions.entry(word).or_insert(words.len());
        match words.get_mut(at) {
            Some((_, times)) => *times += 1,
            None => words.push((word.to_owned(), 1)),
        }
    }
    let is_content =
        |(word, _): &(String, usize)| STOP_WORDS.binary_search(&word.as_str()).is_err();
    if words.iter().any(is_content) {
        words.retain(is_content);
    }
    words
}

fn push_word(out: &mut String, word: &str) {
    if !out.is_empty() {
        out.push(' ');
    }
    out.push_str(word);
}

/// Splits at everything except letters and digits, and around every character of a script without
/// spaces.
fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    runs.flat_map(|run| WordIterator { rest: run })
}

struct WordIterator<'a> {
    rest: &'a str,
}

impl<'a> Iterator for WordIterator<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let first = self.rest.chars().next()?;
        let end = if is_unspaced_script(first) {
            first.len_utf8()
        } else {
            self.rest
                .find(is_unspaced_script)
                .unwrap_or(self.rest.len())
        };
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(word)
    }
}

/// Returns whether a character belongs to a script written without spaces.
fn is_unspaced_script(c: char) -> bool {
    // Kana, CJK ideographs with their extensions and compatibility forms, and Thai.
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}' | '\u{0e00}'..='\u{0e7f}')
}

/// Splits `handleRequest` and `HTTPServer` into their parts; other words stay whole.
fn split_camel_case(word: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, window) in chars.windows(2).enumerate() {
        let [(_, before), (offset, here)] = [window[0], window[1]];
        let after = chars.get(at + 2).map(|(_, c)| *c);
        // The third case splits an acronym from the word after it: `HTTP|Server`.
        let is_boundary = here.is_uppercase()
            && (before.is_lowercase()
                || before.is_numeric()
                || (before.is_uppercase() && after.is_some_and(char::is_lowercase)));
        if is_boundary {
            parts.push(&word[start..offset]);
            start = offset;
        }
    }
    parts.push(&word[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_found_whole_and_by_their_parts() {
        for (text, wanted) in [
            ("handleRequest", "handleRequest handle Request"),
            ("handle_request", "handle request"),
            ("auth/jwt", "auth jwt"),
            ("HTTPServer", "HTTPServer HTTP Server"),
            ("utf8Decoder", "utf8Decoder utf8 Decoder"),
            ("src/pay.rs#charge", "src pay rs charge"),
            ("ABC", "ABC"),
            ("", ""),
        ] {
            assert_eq!(expand_text(text), wanted, "{text}");
        }
    }

    #[test]
    fn scripts_without_spaces_are_spread() {
        assert_eq!(expand_text("缓存失效 cache"), "缓 存 失 效 cache");
        assert_eq!(expand_text("Größe der Привет"), "Größe der Привет");
    }

    #[test]
    fn queries_keep_what_tells_them_apart() {
        let words = |query| -> Vec<String> {
            let words = query_words(query).into_iter();
            words
                .map(|(word, times)| format!("{word} {times}"))
                .collect()
        };
        assert_eq!(words("How do the retries work?"), ["retries 1", "work 1"]);
        assert_eq!(words("what is it"), ["what 1", "is 1", "it 1"]);
        assert_eq!(words("Retry retry RETRY"), ["retry 3"]);
        assert!(query_words("?!").is_empty());
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn a_task_is_about_what_stands_behind_its_verb() {
        for (task, wanted) in [
            ("add refunds", "refunds"),
            (
                "Please fix:\n the flaky login test ",
                "the flaky login test",
            ),
            ("Add, rename and remove tags", "and remove tags"),
            ("build fails on arm", "build fails on arm"),
            ("add-on prices", "add-on prices"),
            ("fix", "fix"),
            ("please add", "add"),
            ("refunds add fees", "refunds add fees"),
            ("  ", ""),
        ] {
            assert_eq!(strip_command_verbs(task), wanted, "{task}");
        }
        assert!(COMMANDS.is_sorted());
    }
}
