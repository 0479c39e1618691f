//! Text as a full-text index sees it, and the words of a query.
//!
//! A tokenizer splits at everything that is no letter or digit and folds case and accents.
//! What it cannot know is that `handleRequest` is two words and that Chinese and Japanese are
//! written without spaces: that is put right here, the same way for entries and for queries.

/// Words that stand in nearly every text and say nothing about it.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "das", "der",
    "die", "do", "does", "ein", "eine", "for", "from", "had", "has", "have", "how", "i", "if",
    "in", "into", "is", "ist", "it", "its", "my", "of", "on", "or", "our", "so", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "to", "und", "was", "we",
    "were", "what", "who", "why", "will", "with", "would", "you", "your",
];

/// Verbs a task begins with. They say what shall be done, not what it is done to; no entry is about them, and a word that
/// no entry has speaks against all that are about the rest. Words that are things as well (`build`, `support`) stay.
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

/// Returns a task without the verbs at its beginning that say what shall be done; its last word always stays.
pub fn without_command(task: &str) -> &str {
    let mut rest = task.trim();
    while let Some((word, behind)) = rest.split_once(char::is_whitespace) {
        let word = word.trim_end_matches([',', ':']).to_lowercase();
        if COMMANDS.binary_search(&word.as_str()).is_err() {
            break;
        }
        rest = behind.trim_start();
    }
    rest
}

/// Returns `text` with the parts of joined identifiers added and scripts without spaces spread.
pub fn spread(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    for word in words(text) {
        push(&mut out, word);
        let parts = camel_parts(word);
        if 1 < parts.len() {
            for part in parts {
                push(&mut out, part);
            }
        }
    }
    out
}

/// Returns the words to look for, with how often each stands in `query`, in the order they first do.
///
/// Stop words are left out unless the query has no others.
pub fn query_words(query: &str) -> Vec<(String, usize)> {
    let spread = spread(query).to_lowercase();
    let mut words: Vec<(String, usize)> = Vec::new();
    for word in spread.split(' ').filter(|word| !word.is_empty()) {
        match words.iter_mut().find(|(known, _)| known == word) {
            Some((_, times)) => *times += 1,
            None => words.push((word.to_owned(), 1)),
        }
    }
    let tells = |(word, _): &(String, usize)| STOP_WORDS.binary_search(&word.as_str()).is_err();
    if words.iter().any(tells) {
        words.retain(tells);
    }
    words
}

fn push(out: &mut String, word: &str) {
    if !out.is_empty() {
        out.push(' ');
    }
    out.push_str(word);
}

/// Splits at what is no letter or digit, and around every character of a script without spaces.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    runs.flat_map(|run| Spread { rest: run })
}

struct Spread<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Spread<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let first = self.rest.chars().next()?;
        let end = if is_dense(first) {
            first.len_utf8()
        } else {
            self.rest.find(is_dense).unwrap_or(self.rest.len())
        };
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(word)
    }
}

/// Whether a character belongs to a script that is written without spaces.
fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}' | '\u{0e00}'..='\u{0e7f}')
}

/// Splits `handleRequest` and `HTTPServer` at their humps; anything else stays whole.
fn camel_parts(word: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, window) in chars.windows(2).enumerate() {
        let [(_, before), (place, here)] = [window[0], window[1]];
        let after = chars.get(at + 2).map(|(_, c)| *c);
        let hump = here.is_uppercase()
            && (before.is_lowercase()
                || before.is_numeric()
                || (before.is_uppercase() && after.is_some_and(char::is_lowercase)));
        if hump {
            parts.push(&word[start..place]);
            start = place;
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
            assert_eq!(spread(text), wanted, "{text}");
        }
    }

    #[test]
    fn scripts_without_spaces_are_spread() {
        assert_eq!(spread("缓存失效 cache"), "缓 存 失 效 cache");
        assert_eq!(spread("Größe der Привет"), "Größe der Привет");
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
            assert_eq!(without_command(task), wanted, "{task}");
        }
        assert!(COMMANDS.is_sorted());
    }
}
