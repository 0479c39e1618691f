//! Syntax highlighting: the classes of a file's tokens, as ranges of its text.
//!
//! Uses the highlight queries of the grammars. Embedded languages, such as code blocks in Markdown,
//! are not highlighted. The size of a file and the time are limited, because files are untrusted.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use tree_sitter_highlight::{Error, HighlightConfiguration, HighlightEvent, Highlighter};

use crate::language::Language;
use crate::outline::is_parsable;

/// Maximum milliseconds spent on one file.
pub const HIGHLIGHT_MS_MAX: u64 = 500;

/// Time that a highlighter has to stop after its time is up.
const STOP_WAIT: Duration = Duration::from_millis(500);

/// Maximum number of highlighters that run at once, those left behind included.
const RUNNING_MAX: usize = 8;

/// Highlighters that run now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Maximum depth of nested captures whose class is kept.
const NESTED_CLASSES_MAX: usize = 64;

/// The class of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenClass {
    Attribute,
    Comment,
    Constant,
    Function,
    Heading,
    Keyword,
    Literal,
    Number,
    Operator,
    Property,
    Punctuation,
    String,
    Tag,
    Type,
    Variable,
}

/// A part of a text with one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HighlightedRange {
    /// Byte range in the text, on character boundaries.
    pub bytes: Range<usize>,
    pub class: TokenClass,
}

/// The classes of a text's tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HighlightedText {
    /// Disjoint and in order. Text between the ranges has no class.
    pub ranges: Vec<HighlightedRange>,
    /// Set if the time ran out, so that the end of the text has no ranges.
    pub is_cut: bool,
}

impl TokenClass {
    /// Returns the name, which is a valid CSS class.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attribute => "attribute",
            Self::Comment => "comment",
            Self::Constant => "constant",
            Self::Function => "function",
            Self::Heading => "heading",
            Self::Keyword => "keyword",
            Self::Literal => "literal",
            Self::Number => "number",
            Self::Operator => "operator",
            Self::Property => "property",
            Self::Punctuation => "punctuation",
            Self::String => "string",
            Self::Tag => "tag",
            Self::Type => "type",
            Self::Variable => "variable",
        }
    }
}

/// Capture names of highlight queries. A capture belongs to the longest name whose parts it has:
/// `function.method` is a `function`.
const CAPTURES: &[(&str, TokenClass)] = &[
    ("attribute", TokenClass::Attribute),
    ("boolean", TokenClass::Constant),
    ("character", TokenClass::String),
    ("charset", TokenClass::Keyword),
    ("comment", TokenClass::Comment),
    ("conditional", TokenClass::Keyword),
    ("constant", TokenClass::Constant),
    ("constructor", TokenClass::Type),
    ("delimiter", TokenClass::Punctuation),
    ("escape", TokenClass::Constant),
    ("field", TokenClass::Property),
    ("float", TokenClass::Number),
    ("function", TokenClass::Function),
    ("include", TokenClass::Keyword),
    ("keyword", TokenClass::Keyword),
    ("label", TokenClass::Property),
    ("method", TokenClass::Function),
    ("module", TokenClass::Type),
    ("namespace", TokenClass::Type),
    ("number", TokenClass::Number),
    ("operator", TokenClass::Operator),
    ("parameter", TokenClass::Variable),
    ("property", TokenClass::Property),
    ("punctuation", TokenClass::Punctuation),
    ("repeat", TokenClass::Keyword),
    ("string", TokenClass::String),
    ("tag", TokenClass::Tag),
    ("text.literal", TokenClass::Literal),
    ("text.title", TokenClass::Heading),
    ("text.uri", TokenClass::String),
    ("type", TokenClass::Type),
    ("variable", TokenClass::Variable),
];

/// Highlights a text as the file at `path`. Without a grammar, or if the text is too large, no
/// token has a class.
pub fn highlight(path: &str, text: &str) -> HighlightedText {
    highlight_within(path, text, Duration::from_millis(HIGHLIGHT_MS_MAX))
}

fn highlight_within(path: &str, text: &str, limit: Duration) -> HighlightedText {
    let language = Language::of(path).filter(|it| is_parsable(*it, text.as_bytes()));
    let Some(config) = language.and_then(configuration) else {
        return HighlightedText::default();
    };
    if RUNNING.fetch_add(1, Ordering::SeqCst) >= RUNNING_MAX {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
        return HighlightedText::cut();
    }
    let stop = Arc::new(AtomicUsize::new(0));
    let (done, wait) = mpsc::channel();
    let (owned, flag) = (text.to_owned(), Arc::clone(&stop));
    // The grammar looks at a flag between its steps, and a step on a hostile file can take minutes.
    // A thread of its own can be left behind; a scoped one would have to be waited for.
    let started = thread::Builder::new().spawn(move || {
        let found = collect_ranges(config, &owned, &flag);
        RUNNING.fetch_sub(1, Ordering::SeqCst);
        // Nobody listens any more if the time was up.
        let _ = done.send(found);
    });
    if started.is_err() {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
        return HighlightedText::cut();
    }
    let in_time = wait.recv_timeout(limit).or_else(|_| {
        stop.store(1, Ordering::SeqCst);
        wait.recv_timeout(STOP_WAIT)
    });
    in_time.unwrap_or_else(|_| HighlightedText::cut())
}

fn collect_ranges(
    config: &HighlightConfiguration,
    text: &str,
    stop: &AtomicUsize,
) -> HighlightedText {
    let mut found = HighlightedText::default();
    let mut highlighter = Highlighter::new();
    let events = highlighter.highlight(config, text.as_bytes(), None, Some(stop), |_| None);
    let events = match events {
        Ok(events) => events,
        Err(error) => {
            found.is_cut = is_cancelled(&error);
            return found;
        }
    };
    let mut classes: Vec<TokenClass> = Vec::new();
    // Deeper captures are counted, so that their ends match.
    let mut deeper = 0usize;
    for event in events {
        match event {
            Ok(HighlightEvent::HighlightStart(_)) if classes.len() >= NESTED_CLASSES_MAX => {
                deeper += 1;
            }
            Ok(HighlightEvent::HighlightStart(capture)) => classes.push(CAPTURES[capture.0].1),
            Ok(HighlightEvent::HighlightEnd) if deeper > 0 => deeper -= 1,
            Ok(HighlightEvent::HighlightEnd) => {
                classes.pop();
            }
            Ok(HighlightEvent::Source { start, end }) => {
                if let Some(class) = classes.last() {
                    found.add(text, start..end, *class);
                }
            }
            Err(error) => {
                found.is_cut = is_cancelled(&error);
                break;
            }
        }
    }
    found
}

fn is_cancelled(error: &Error) -> bool {
    match error {
        Error::Cancelled => true,
        Error::InvalidLanguage(_) | Error::Unknown => false,
    }
}

impl HighlightedText {
    /// Returns no classes, because the time ran out.
    fn cut() -> Self {
        Self {
            ranges: Vec::new(),
            is_cut: true,
        }
    }

    /// Adds a range if it is after the last one; extends the last one if both touch.
    fn add(&mut self, text: &str, bytes: Range<usize>, class: TokenClass) {
        let end = self.ranges.last().map_or(0, |it| it.bytes.end);
        // A grammar that splits a character would break the text.
        if bytes.start < end || bytes.is_empty() || text.get(bytes.clone()).is_none() {
            return;
        }
        match self.ranges.last_mut() {
            Some(last) if last.bytes.end == bytes.start && last.class == class => {
                last.bytes.end = bytes.end;
            }
            Some(_) | None => self.ranges.push(HighlightedRange { bytes, class }),
        }
    }
}

/// Returns the queries of a language, compiled once per process; `None` if its grammar has none.
fn configuration(language: Language) -> Option<&'static HighlightConfiguration> {
    static COMPILED: [OnceLock<Option<HighlightConfiguration>>; LANGUAGES] =
        [const { OnceLock::new() }; LANGUAGES];
    let at = Language::ALL.iter().position(|it| *it == language)?;
    let compile = || {
        let query = highlight_query(language)?;
        let config =
            HighlightConfiguration::new(language.grammar(), language.name(), &query, "", "");
        let mut config = config.ok()?;
        let names: Vec<&str> = CAPTURES.iter().map(|(name, _)| *name).collect();
        config.configure(&names);
        Some(config)
    };
    COMPILED[at].get_or_init(compile).as_ref()
}

const LANGUAGES: usize = Language::ALL.len();

/// Returns the highlight query of a language. Some grammars extend the query of another one, which
/// comes first: of several patterns that match a token, the last one decides.
fn highlight_query(language: Language) -> Option<String> {
    let parts: &[&str] = match language {
        Language::Rust => &[tree_sitter_rust::HIGHLIGHTS_QUERY],
        Language::Python => &[tree_sitter_python::HIGHLIGHTS_QUERY],
        Language::TypeScript => &[
            tree_sitter_javascript::HIGHLIGHT_QUERY,
            tree_sitter_typescript::HIGHLIGHTS_QUERY,
        ],
        Language::Tsx => &[
            tree_sitter_javascript::HIGHLIGHT_QUERY,
            tree_sitter_typescript::HIGHLIGHTS_QUERY,
            tree_sitter_javascript::JSX_HIGHLIGHT_QUERY,
        ],
        Language::JavaScript => &[
            tree_sitter_javascript::HIGHLIGHT_QUERY,
            tree_sitter_javascript::JSX_HIGHLIGHT_QUERY,
        ],
        Language::Go => &[tree_sitter_go::HIGHLIGHTS_QUERY],
        Language::Java => &[tree_sitter_java::HIGHLIGHTS_QUERY],
        Language::C => &[tree_sitter_c::HIGHLIGHT_QUERY],
        Language::Cpp => &[
            tree_sitter_c::HIGHLIGHT_QUERY,
            tree_sitter_cpp::HIGHLIGHT_QUERY,
        ],
        Language::CSharp => &[tree_sitter_c_sharp::HIGHLIGHTS_QUERY],
        Language::Ruby => &[tree_sitter_ruby::HIGHLIGHTS_QUERY],
        Language::Php => &[tree_sitter_php::HIGHLIGHTS_QUERY],
        Language::Bash => &[tree_sitter_bash::HIGHLIGHT_QUERY],
        Language::Toml => &[tree_sitter_toml_ng::HIGHLIGHTS_QUERY],
        Language::Yaml => &[tree_sitter_yaml::HIGHLIGHTS_QUERY],
        Language::Json => &[tree_sitter_json::HIGHLIGHTS_QUERY],
        Language::Markdown => &[tree_sitter_md::HIGHLIGHT_QUERY_BLOCK],
        // Its crate has no queries.
        #[cfg(feature = "more-languages")]
        Language::Kotlin => return None,
        #[cfg(feature = "more-languages")]
        Language::Swift => &[tree_sitter_swift::HIGHLIGHTS_QUERY],
    };
    Some(parts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_compiles() {
        for language in Language::ALL {
            let Some(query) = highlight_query(*language) else {
                assert_eq!(language.name(), "Kotlin");
                continue;
            };
            let config = HighlightConfiguration::new(language.grammar(), "", &query, "", "");
            assert!(config.is_ok(), "{language:?}: {:?}", config.err());
        }
    }

    #[test]
    fn without_time_nothing_is_highlighted_and_the_answer_says_so() {
        let source = "fn a() -> u8 { 1 }\n".repeat(20_000);
        let found = highlight_within("a.rs", &source, Duration::ZERO);
        assert!(found.is_cut);
    }
}
