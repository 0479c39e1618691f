//! Queries for search services, built from words that are public already.
//!
//! A question can name a customer, a host or a secret, so no text of it is sent. A word passes only
//! if it is an ordinary lower-case word of general language, a public term, or a word of a package
//! that the lockfile takes from its public registry. Everything else is dropped: names,
//! identifiers, paths, numbers, quoted text. Names that the user, the guard or the repository lists
//! never pass, whatever else they are.

use std::collections::BTreeSet;

use ken_core::retrieval::words::query_words;
use ken_core::trust::similarity::stem;
use ken_guard::{GuardPolicy, ScannedField, TextMode, admit};
use ken_index::rarity;

/// Minimum number of words that a query must have besides stop words.
const CONTENT_WORDS_MIN: usize = 2;
/// Maximum number of words of a query: more of them find less.
const WORDS_MAX: usize = 10;
/// Length of an ordinary word that passes.
const WORD_CHARS: std::ops::RangeInclusive<usize> = 3..=18;
/// Rank in the built-in vocabulary, sorted by frequency, up to which a word counts as ordinary.
/// Behind it, names of people, places and companies prevail.
const ORDINARY_RANK_MAX: u32 = 20_000;

/// Terms that are written in capitals or are not in the vocabulary, in lower case and sorted.
const PUBLIC_TERMS: &[&str] = &[
    "api",
    "ascii",
    "async",
    "auth",
    "await",
    "aws",
    "backend",
    "bash",
    "bigint",
    "boolean",
    "cache",
    "caching",
    "callback",
    "checksum",
    "cli",
    "codec",
    "compiler",
    "concurrency",
    "config",
    "cookie",
    "cors",
    "cpu",
    "cron",
    "crud",
    "csrf",
    "css",
    "csv",
    "daemon",
    "dataframe",
    "deadlock",
    "debug",
    "debugger",
    "decoder",
    "deserialization",
    "deserialize",
    "deserializer",
    "dns",
    "docker",
    "dockerfile",
    "encoder",
    "encoding",
    "endpoint",
    "enum",
    "frontend",
    "git",
    "go",
    "gpu",
    "grpc",
    "gzip",
    "hashing",
    "hashmap",
    "heap",
    "hmac",
    "hostname",
    "html",
    "http",
    "http2",
    "https",
    "ide",
    "immutable",
    "inode",
    "int",
    "iso",
    "iterable",
    "iterator",
    "java",
    "javascript",
    "json",
    "jsonb",
    "jwt",
    "kafka",
    "keepalive",
    "kotlin",
    "kubernetes",
    "lambda",
    "latch",
    "latency",
    "linter",
    "linux",
    "localhost",
    "lockfile",
    "macos",
    "malloc",
    "memoize",
    "metadata",
    "middleware",
    "multithreaded",
    "mutable",
    "mutex",
    "mysql",
    "namespace",
    "nginx",
    "node",
    "npm",
    "nullable",
    "oauth",
    "opcode",
    "openssl",
    "orm",
    "parse",
    "parser",
    "parsing",
    "payload",
    "pem",
    "php",
    "plugin",
    "postgres",
    "postgresql",
    "preflight",
    "primitive",
    "proxy",
    "python",
    "queue",
    "readonly",
    "recursion",
    "redirect",
    "redis",
    "refactor",
    "regex",
    "regexp",
    "repl",
    "resolver",
    "rest",
    "retry",
    "rollback",
    "rollout",
    "router",
    "rpc",
    "ruby",
    "runtime",
    "rust",
    "scheduler",
    "schema",
    "sdk",
    "semaphore",
    "serialization",
    "serialize",
    "serializer",
    "sharding",
    "sigterm",
    "singleton",
    "socket",
    "sql",
    "sqlite",
    "ssh",
    "ssl",
    "stacktrace",
    "stderr",
    "stdin",
    "stdout",
    "struct",
    "subprocess",
    "swift",
    "symlink",
    "syntax",
    "tcp",
    "thread",
    "threads",
    "throughput",
    "timeout",
    "timestamp",
    "tls",
    "tokenizer",
    "toml",
    "tsv",
    "tuple",
    "typecheck",
    "typescript",
    "udp",
    "ui",
    "unicode",
    "unix",
    "unmarshal",
    "unsigned",
    "upload",
    "uri",
    "url",
    "username",
    "utc",
    "utf",
    "utf8",
    "uuid",
    "validator",
    "varchar",
    "vector",
    "webhook",
    "websocket",
    "wildcard",
    "windows",
    "workflow",
    "xml",
    "yaml",
];

/// Words beyond general language that are public.
#[derive(Clone, Debug, Default)]
pub(super) struct PublicWords {
    /// Names of packages from public registries, in lower case.
    packages: BTreeSet<String>,
    /// Words of their documentation, in lower case.
    words: BTreeSet<String>,
}

/// Names that never leave this machine, as stems of their words.
#[derive(Clone, Debug, Default)]
pub(super) struct PrivateNames {
    stems: BTreeSet<String>,
}

impl PublicWords {
    pub(super) fn add_package(&mut self, name: &str) {
        self.packages.insert(name.to_lowercase());
    }

    pub(super) fn add_text(&mut self, text: &str) {
        let words = text.split(|c: char| !c.is_alphanumeric());
        // Only what is written in lower case: a capital letter marks a name, as in a question.
        let plain = words.filter(|it| is_plain(it)).map(str::to_owned);
        self.words.extend(plain);
    }
}

impl PrivateNames {
    /// Adds every word of a name, in any form that a question could have it.
    pub(super) fn add(&mut self, name: &str) {
        for (word, _) in query_words(name) {
            // Two letters of a name are a stop word or a syllable.
            if word.chars().count() >= *WORD_CHARS.start() {
                self.stems.insert(stem(&word));
                self.stems.insert(word);
            }
        }
    }

    fn has(&self, word: &str) -> bool {
        self.stems.contains(word) || self.stems.contains(&stem(word))
    }
}

/// Returns the words of a question that may be sent; `None` if they are too few, or if the guard
/// finds a secret or a listed name that a query could repeat.
pub(super) fn build_query(
    question: &str,
    policy: &GuardPolicy,
    public: &PublicWords,
    private: &PrivateNames,
) -> Option<String> {
    // A passphrase consists of ordinary words: a question with a secret is not asked at all.
    if has_secret(question, policy) {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    for token in tokens(question) {
        let word = public_word(token.text, token.is_quoted, public);
        let Some(word) = word.filter(|it| !private.has(it)) else {
            continue;
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    // The last word keeps a text of stop words from counting as content.
    let text = format!("{} query", words.join(" "));
    let content: BTreeSet<String> = query_words(&text).into_iter().map(|it| it.0).collect();
    words.retain(|it| {
        let says_something = content.contains(it) && !QUESTION_WORDS.contains(&it.as_str());
        says_something || public.packages.contains(it)
    });
    words.truncate(WORDS_MAX);
    if words.len() < CONTENT_WORDS_MIN {
        return None;
    }
    let query = words.join(" ");
    // Words that were apart in the question could form a listed name together.
    (!has_secret(&query, policy)).then_some(query)
}

/// Words that say nothing to a search service.
const QUESTION_WORDS: [&str; 12] = [
    "after", "before", "does", "get", "how", "not", "should", "when", "where", "which", "without",
    "why",
];

/// Rule of the guard that finds names which the user listed.
const LISTED_NAME_RULE: &str = "listed-name";

fn has_secret(text: &str, policy: &GuardPolicy) -> bool {
    let scan = |mode| {
        let name = "query";
        admit(policy, &[ScannedField { name, text, mode }])
    };
    // As prose, because paths and addresses are dropped word by word; a secret may be a word.
    let is_found = !scan(TextMode::Prose).findings().is_empty();
    // The guard looks for listed names only in what is shared.
    let shared = scan(TextMode::Statement);
    let mut findings = shared.findings().iter();
    is_found || findings.any(|it| it.rule == LISTED_NAME_RULE)
}

/// A word of a question with what surrounds it.
struct QuestionToken<'a> {
    text: &'a str,
    /// Set inside of quotation marks or backticks.
    is_quoted: bool,
}

/// Splits a question at white space.
fn tokens(question: &str) -> Vec<QuestionToken<'_>> {
    let mut found = Vec::new();
    let mut open: Option<char> = None;
    for raw in question.split_whitespace() {
        let first = raw.chars().next().unwrap_or(' ');
        let opens = QUOTES.iter().find(|it| it.0 == first);
        let is_quoted = open.is_some() || opens.is_some() || raw.contains(is_quote);
        if let (None, Some((_, end))) = (open, opens) {
            open = Some(*end);
        }
        let body = raw.trim_end_matches(['.', ',', '?', '!', ':', ';']);
        let rest = body.strip_prefix(first).unwrap_or(body);
        if open.is_some_and(|end| rest.contains(end)) {
            open = None;
        }
        found.push(QuestionToken {
            text: body,
            is_quoted,
        });
    }
    found
}

/// Opening marks of quoted text with their ends.
const QUOTES: [(char, char); 6] = [
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('“', '”'),
    ('‘', '’'),
    ('«', '»'),
];

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '`' | '“' | '”' | '«' | '»')
}

/// Returns a token as a public word in lower case; `None` if it may be private.
fn public_word(token: &str, is_quoted: bool, public: &PublicWords) -> Option<String> {
    let bare = token.trim_matches(|c: char| "()[]\"'`“”‘’«»".contains(c));
    let lower = bare.to_lowercase();
    // The name of a public package is public in any case and punctuation.
    if public.packages.contains(&lower) {
        return Some(lower);
    }
    // Quoted text is a value or an identifier.
    if is_quoted || bare.len() != token.len() && !token.starts_with('(') && !token.ends_with(')') {
        return None;
    }
    if PUBLIC_TERMS.binary_search(&lower.as_str()).is_ok() {
        return Some(lower);
    }
    // A capital letter marks a name. At the start of a sentence it marks nothing, and the word is
    // lost all the same: that costs less than a name that leaves.
    if !is_plain(bare) {
        return None;
    }
    let is_ordinary = rarity(bare) <= ORDINARY_RANK_MAX;
    (is_ordinary || public.words.contains(bare)).then_some(lower)
}

/// Returns whether a text is one lower-case word of ASCII letters.
fn is_plain(word: &str) -> bool {
    WORD_CHARS.contains(&word.len()) && word.bytes().all(|it| it.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_terms_are_sorted() {
        assert!(PUBLIC_TERMS.is_sorted());
    }
}
