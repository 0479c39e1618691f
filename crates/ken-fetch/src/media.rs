//! Content types and character sets. Both come from the header; content is never sniffed.

use crate::refusal::FetchRefusal;

/// Format of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFormat {
    Html,
    Markdown,
    Text,
}

/// Characters of windows-1252 at 0x80 to 0x9f; the rest equals Latin-1.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Character set of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charset {
    Utf8,
    Windows1252,
}

/// Parses a `Content-Type` header.
pub(crate) fn parse_content_type(
    header: Option<&str>,
) -> Result<(PageFormat, Charset), FetchRefusal> {
    let header = header.ok_or(FetchRefusal::ContentType)?;
    let mut parts = header.split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let format = match essence.as_str() {
        "text/html" | "application/xhtml+xml" => PageFormat::Html,
        "text/markdown" | "text/x-markdown" => PageFormat::Markdown,
        "text/plain" => PageFormat::Text,
        _ => return Err(FetchRefusal::ContentType),
    };
    let charset = parts.find_map(|it| {
        let (name, value) = it.split_once('=')?;
        let value = value.trim().trim_matches('"').to_ascii_lowercase();
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    });
    let charset = match charset.as_deref() {
        None | Some("utf-8" | "utf8" | "us-ascii" | "ascii") => Charset::Utf8,
        // Browsers read Latin-1 as windows-1252, too (WHATWG Encoding).
        Some("iso-8859-1" | "latin1" | "windows-1252") => Charset::Windows1252,
        // A guess would quote text that the page does not contain, and passages are verbatim.
        Some(_) => return Err(FetchRefusal::Charset),
    };
    Ok((format, charset))
}

/// Decodes a body; text with NUL characters is not text.
pub(crate) fn decode(bytes: &[u8], charset: Charset) -> Result<String, FetchRefusal> {
    if bytes.contains(&0) {
        return Err(FetchRefusal::Charset);
    }
    Ok(match charset {
        Charset::Utf8 => {
            let text = String::from_utf8_lossy(bytes);
            text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
        }
        Charset::Windows1252 => bytes
            .iter()
            .map(|byte| match byte {
                0x80..=0x9f => WINDOWS_1252[usize::from(*byte - 0x80)],
                _ => char::from(*byte),
            })
            .collect(),
    })
}

/// Returns whether the headers ask not to be used by AI tools, quoted or kept.
pub(crate) fn is_opted_out(robots_tags: &[String], signals: &[String]) -> bool {
    let forbids = |tag: &String| {
        // A tag may name a robot before a colon. A wish to any robot is taken as one to us.
        let mut words = tag.split([',', ':']).map(str::trim);
        words.any(|word| {
            ["noai", "nosnippet", "noarchive", "none"]
                .iter()
                .any(|no| word.eq_ignore_ascii_case(no))
        })
    };
    robots_tags.iter().any(forbids) || signals.iter().any(|it| refuses_ai_input(it))
}

/// Returns whether a `Content-Signal` says that pages are no input of models: exactly our use.
pub(crate) fn refuses_ai_input(signal: &str) -> bool {
    signal.split(',').any(|part| {
        let part: String = part.chars().filter(|it| !it.is_whitespace()).collect();
        part.eq_ignore_ascii_case("ai-input=no")
    })
}
