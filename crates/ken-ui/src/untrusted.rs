//! Untrusted text as markup: the only place that turns text of agents, people and files into HTML.
//!
//! Text is escaped, and characters that cannot be seen are replaced by their code point. Markdown
//! is not interpreted. Two forms are recognized in prose: code in backticks, and ids of entries in
//! brackets, which link to our own pages.
//!
//! Invariant: the text content of the markup is the text with its invisible characters written out.

use std::fmt::Write as _;

use ken_core::values::id::EntryId;
use ken_core::values::text::is_invisible;
use maud::{Escaper, Markup, PreEscaped, Render, html};

use crate::address::PageAddress;
use crate::frame::PageContext;

/// Text of others, without any interpretation.
#[derive(Clone, Copy, Debug)]
pub struct UntrustedText<'a>(pub &'a str);

impl Render for UntrustedText<'_> {
    fn render_to(&self, out: &mut String) {
        let mut plain = 0;
        for (at, c) in self.0.char_indices().filter(|(_, c)| is_invisible(*c)) {
            escape(&self.0[plain..at], out);
            plain = at + c.len_utf8();
            // The digits are ours: no character of the text is written here.
            let _ = write!(out, "<span class=\"hid\">U+{:04X}</span>", u32::from(c));
        }
        escape(&self.0[plain..], out);
    }
}

fn escape(text: &str, out: &mut String) {
    let _ = Escaper::new(out).write_str(text);
}

/// Returns text of others for a place that has no markup, such as a title attribute.
pub fn untrusted_attribute(text: &str) -> String {
    ken_core::values::text::escape_invisible(text)
}

/// Renders a statement or note: code in backticks, links to entries, line breaks.
pub(crate) fn untrusted_prose(context: &PageContext<'_>, text: &str) -> Markup {
    prose(Some(context), text)
}

/// Renders a statement or note for a place that is a link itself.
pub(crate) fn untrusted_prose_without_links(text: &str) -> Markup {
    prose(None, text)
}

fn prose(links: Option<&PageContext<'_>>, text: &str) -> Markup {
    html! {
        @for (at, line) in text.lines().enumerate() {
            @if at > 0 { br; }
            (untrusted_line(links, line))
        }
    }
}

fn untrusted_line(links: Option<&PageContext<'_>>, line: &str) -> Markup {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '[']) {
        UntrustedText(&rest[..at]).render_to(&mut out);
        rest = &rest[at..];
        let taken = if rest.starts_with('`') {
            render_code(rest, &mut out)
        } else {
            links.map_or(0, |context| render_reference(context, rest, &mut out))
        };
        if taken == 0 {
            // The mark stands for itself; both are one byte long.
            escape(&rest[..1], &mut out);
            rest = &rest[1..];
        } else {
            rest = &rest[taken..];
        }
    }
    UntrustedText(rest).render_to(&mut out);
    PreEscaped(out)
}

/// Renders the code in backticks that `text` starts with; returns the bytes taken.
fn render_code(text: &str, out: &mut String) -> usize {
    let Some(end) = text[1..].find('`').filter(|end| *end > 0) else {
        return 0;
    };
    let code = &text[1..=end];
    html! { span.tk { "`" } code { (UntrustedText(code)) } span.tk { "`" } }.render_to(out);
    end + 2
}

/// Renders the reference to an entry that `text` starts with; returns the bytes taken.
fn render_reference(context: &PageContext<'_>, text: &str, out: &mut String) -> usize {
    let Some(end) = text.find(']') else {
        return 0;
    };
    let Ok(id) = text[1..end].parse::<EntryId>() else {
        return 0;
    };
    html! { "[" a href=(context.link(&PageAddress::entry(id))) { (id) } "]" }.render_to(out);
    end + 1
}

#[cfg(test)]
mod tests {
    use ken_core::values::text::is_invisible;
    use proptest::prelude::*;

    use super::*;

    fn visible(text: &str) -> String {
        let write = |c: char| {
            if is_invisible(c) {
                format!("U+{:04X}", u32::from(c))
            } else {
                c.to_string()
            }
        };
        text.chars().map(write).collect()
    }

    fn text_content(markup: &Markup) -> String {
        let document = format!("<p>{}</p>", markup.0.replace("<br>", "\n"));
        let parsed = roxmltree::Document::parse(&document).expect("well-formed markup");
        let texts = parsed.descendants().filter(roxmltree::Node::is_text);
        texts.filter_map(|it| it.text()).collect()
    }

    proptest! {
        #[test]
        fn the_text_content_is_the_text_made_visible(text in "\\PC{0,40}[<>&\"'`\\[\\]\u{202e}\u{200b}\u{1b}a]{0,20}") {
            let markup = html! { (UntrustedText(&text)) };
            prop_assert_eq!(text_content(&markup), visible(&text));
        }

        #[test]
        fn prose_keeps_every_character(text in "[a `\\[\\]<>&L\\-7k2f5qm3\u{202e}]{0,40}") {
            let context = PageContext::for_tests();
            let markup = untrusted_prose(&context, &text);
            prop_assert_eq!(text_content(&markup), visible(&text));
        }
    }

    #[test]
    fn references_link_to_our_pages_only() {
        let context = PageContext::for_tests();
        let rendered = untrusted_prose(
            &context,
            "see [L-7k2f5qm3], [x](javascript:alert(1)), `a<b`",
        )
        .0;
        assert_eq!(
            rendered,
            "see [<a href=\"/e/L-7k2f5qm3\">L-7k2f5qm3</a>], [x](javascript:alert(1)), <span class=\"tk\">`</span><code>a&lt;b</code><span class=\"tk\">`</span>"
        );
    }
}
