//! Passages: windows of one to three sentences that a reader can understand alone.

use std::sync::Arc;

use ken_digest::split_sentences;

use crate::document::DocumentBlock;

/// Maximum characters of a passage's text.
pub const PASSAGE_CHARS_MAX: usize = 400;
/// Maximum sentences of a passage.
const SENTENCES_MAX: usize = 3;
/// Minimum words of a passage without a code example.
const WORDS_MIN: usize = 3;

/// The place of a document in its package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PassageSource {
    /// README and other guides.
    Guide,
    /// Comments in the source.
    Reference,
    ChangeLog,
}

/// One to three verbatim sentences, or a code example under a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Path within the package, or URL.
    pub path: Arc<str>,
    pub source: PassageSource,
    pub line: u32,
    pub heading: String,
    /// May be empty if there is a code example.
    pub text: String,
    pub code: Option<String>,
}

/// Splits the blocks of a document into passages.
#[must_use]
pub fn split_passages(
    path: &Arc<str>,
    source: PassageSource,
    blocks: Vec<DocumentBlock>,
) -> Vec<Passage> {
    let mut passages = Vec::new();
    for block in blocks {
        let windows = windows(&block.text);
        let count = windows.len();
        for (at, text) in windows.into_iter().enumerate() {
            // The example belongs to the end of the text above it.
            let code = block.code.clone().filter(|_| at + 1 == count);
            if code.is_none() && text.split(' ').count() < WORDS_MIN {
                continue;
            }
            passages.push(Passage {
                path: Arc::clone(path),
                source,
                line: block.line,
                heading: block.heading.clone(),
                text,
                code,
            });
        }
    }
    passages
}

/// Returns windows of at most three sentences, which overlap by one.
fn windows(text: &str) -> Vec<String> {
    // A sentence that is too long is left out and not cut, because a passage is verbatim.
    let sentences: Vec<&str> = split_sentences(text)
        .into_iter()
        .filter(|it| it.chars().count() <= PASSAGE_CHARS_MAX)
        .collect();
    if sentences.is_empty() {
        return vec![String::new()];
    }
    let mut windows: Vec<String> = Vec::new();
    let mut start = 0;
    while start < sentences.len() {
        let mut end = start;
        let mut chars = 0;
        while end < sentences.len() && end - start < SENTENCES_MAX {
            chars += sentences[end].chars().count() + 1;
            if end > start && chars > PASSAGE_CHARS_MAX {
                break;
            }
            end += 1;
        }
        windows.push(sentences[start..end].join(" "));
        if end == sentences.len() {
            break;
        }
        // An overlap of one sentence, so that an answer is not split between two windows.
        start = if end - start > 1 { end - 1 } else { end };
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_overlap_and_keep_to_the_limits() {
        let path: Arc<str> = "README.md".into();
        let block = DocumentBlock {
            heading: "H".to_owned(),
            line: 4,
            text: "One is here. Two is here. Three is here. Four is here.".to_owned(),
            code: Some("x".to_owned()),
        };
        let found = split_passages(&path, PassageSource::Guide, vec![block]);
        let texts: Vec<&str> = found.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "One is here. Two is here. Three is here.",
                "Three is here. Four is here."
            ]
        );
        assert_eq!(
            (found[0].code.as_deref(), found[1].code.as_deref()),
            (None, Some("x"))
        );
        let long = format!("{}. Short one here.", "word ".repeat(200));
        let block = DocumentBlock {
            text: long,
            ..DocumentBlock::default()
        };
        let found = split_passages(&path, PassageSource::Guide, vec![block]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, "Short one here.");
    }
}
