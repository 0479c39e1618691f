//! Sentence splitting.

/// Abbreviations whose full stop does not end a sentence, in lower case.
const ABBREVIATIONS: [&str; 12] = [
    "e.g.", "i.e.", "etc.", "vs.", "cf.", "no.", "approx.", "resp.", "incl.", "ca.", "dr.", "st.",
];

/// Splits a paragraph into sentences, never inside backticks.
pub fn split_sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut in_code) = (0, false);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '`' {
            in_code = !in_code;
        }
        if in_code || !matches!(c, '.' | '!' | '?') {
            continue;
        }
        let mut end = at + c.len_utf8();
        // Closing marks belong to the sentence they close.
        while let Some((place, mark)) = chars.peek().copied() {
            if !matches!(mark, ')' | '"' | '\'' | '”' | '.' | '!' | '?') {
                break;
            }
            end = place + mark.len_utf8();
            chars.next();
        }
        if ends_sentence(&text[start..end], &text[end..]) {
            found.push(text[start..end].trim());
            start = end;
        }
    }
    found.push(text[start..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// Returns whether a stop between `before` and `rest` ends a sentence.
fn ends_sentence(before: &str, rest: &str) -> bool {
    // `v1.2` and `src/lib.rs` contain a stop without a blank after it.
    if !rest.starts_with(char::is_whitespace) {
        return rest.is_empty();
    }
    let last = before.rsplit(char::is_whitespace).next().unwrap_or(before);
    let last = last.trim_start_matches('(').to_lowercase();
    let is_initial = last.len() == 2 && last.starts_with(char::is_alphabetic);
    if ABBREVIATIONS.contains(&last.as_str()) || is_initial {
        return false;
    }
    let next = rest.trim_start().chars().next();
    // A lowercase word continues the sentence, as after an ellipsis or unknown abbreviation.
    next.is_none_or(|c| !c.is_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_falls_into_sentences() {
        for (text, expected) in [
            (
                "One thing. Another one!",
                &["One thing.", "Another one!"][..],
            ),
            (
                "Use v1.2 of it, e.g. Foo. Then stop",
                &["Use v1.2 of it, e.g. Foo.", "Then stop"],
            ),
            (
                "Run `a. B` (see below.) Then go.",
                &["Run `a. B` (see below.)", "Then go."],
            ),
            (
                "Edit src/lib.rs. `cargo test` runs it",
                &["Edit src/lib.rs.", "`cargo test` runs it"],
            ),
            ("It ends... and goes on", &["It ends... and goes on"]),
            ("", &[]),
        ] {
            assert_eq!(split_sentences(text), expected, "{text}");
        }
    }
}
