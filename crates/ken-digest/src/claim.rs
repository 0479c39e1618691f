//! Extraction of claims from documents: statements about the repository and rules for work in it.
//!
//! A list item is one claim, a paragraph one claim per sentence, a shell command one claim with its
//! comment. Greetings, references, questions and lead sentences are not claims. A sentence that
//! depends on the previous one ("It also …") stays with it.

use ken_core::values::condition::Glob;
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Statement;
use serde::Serialize;

use crate::block::{BlockKind, MarkdownBlock, parse_blocks};
use crate::forms;
use crate::mention::{Mention, MentionKind, is_command};
use crate::modality::{Modality, is_instruction, normalize_words};
use crate::own::blank_own_blocks;
use crate::sentence::split_sentences;
use crate::source::SourceKind;
use crate::topic;
use crate::words::{
    ANNOUNCING, CONDITIONS, COURTESIES, DEPENDENT_OPENINGS, FACT_VERBS, LEAD_PHRASES,
    REFERENCE_OPENINGS, REFERRING, REPOSITORY_NOUNS, WORDS_AFTER_BARE_THIS, contains_phrase,
    is_listed, starts_with_phrase,
};

/// Maximum number of claims per document that callers should process.
pub const CLAIMS_MAX: usize = 2000;

/// Maximum length of a claim in characters; longer text is not a single claim.
const CLAIM_CHARS_MAX: usize = 600;

/// Maximum number of words of a lead sentence that is put before its items.
const LEAD_WORDS_MAX: usize = 14;

/// Words below which an item needs its lead sentence.
const ITEM_WORDS_MIN: usize = 5;

/// Minimum number of words of a sentence.
const SENTENCE_WORDS_MIN: usize = 5;

/// A claim and its location in a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DocumentClaim {
    pub text: String,
    /// Enclosing headings, outermost first.
    pub headings: Vec<String>,
    /// The sentence that introduces the list the claim is in.
    #[serde(skip)]
    pub lead: Option<String>,
    /// Counted from 1.
    pub line: usize,
    pub last_line: usize,
    pub modality: Modality,
    pub kind: EntryKind,
    pub tags: Vec<&'static str>,
    pub mentions: Vec<Mention>,
    /// Globs of the files that the claim is about, if the document gives some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applies_to: Vec<Glob>,
    /// Steps that verify the claim, if the document gives some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
}

/// Returns the claims of a document, in order.
pub fn extract_claims(source: SourceKind, text: &str) -> Vec<DocumentClaim> {
    let text = &*blank_own_blocks(text);
    match source {
        SourceKind::Decision => forms::parse_decision(text),
        SourceKind::Reviewer => forms::parse_reviewer(text),
        SourceKind::Lesson => forms::parse_lesson(text)
            .unwrap_or_else(|| claims_from_blocks(source, &parse_blocks(text))),
        SourceKind::Records => forms::parse_records(text),
        SourceKind::Owners => forms::parse_owners(text),
        SourceKind::Instructions => {
            let mut found = claims_from_blocks(source, &parse_blocks(text));
            let globs = forms::scope_globs(text);
            for claim in &mut found {
                claim.applies_to.clone_from(&globs);
            }
            found
        }
        SourceKind::Memory | SourceKind::Contributing | SourceKind::Template => {
            claims_from_blocks(source, &parse_blocks(text))
        }
    }
}

fn claims_from_blocks(source: SourceKind, blocks: &[MarkdownBlock]) -> Vec<DocumentClaim> {
    let mut found = Vec::new();
    let mut shell = ShellContext::default();
    for block in blocks {
        match block.kind {
            BlockKind::Shell => found.extend(shell.command(block)),
            // Prose in a template addresses the author of the pull request.
            BlockKind::Paragraph if source == SourceKind::Template => {}
            BlockKind::Paragraph => found.extend(claims_from_sentences(source, block)),
            BlockKind::Item => found.extend(claims_from_item(source, block)),
            BlockKind::Row => {
                found.extend(
                    join_row(&block.text).and_then(|text| claim_from_text(source, block, text)),
                );
            }
        }
    }
    found
}

/// Builds a claim from `text`, if it is one.
fn claim_from_text(
    source: SourceKind,
    block: &MarkdownBlock,
    text: String,
) -> Option<DocumentClaim> {
    let modality = Modality::of(&text);
    is_claim(&text, modality).then(|| build_claim(source, block, text, modality))
}

/// Builds a claim from `text`, which is in `block`.
pub(crate) fn build_claim(
    source: SourceKind,
    block: &MarkdownBlock,
    text: String,
    modality: Modality,
) -> DocumentClaim {
    // With several sentences, the sentence a link belongs to is unknown.
    let links = if split_sentences(&block.text).len() <= 1 || block.text == text {
        &block.links[..]
    } else {
        &[]
    };
    DocumentClaim {
        kind: topic::classify_kind(source, modality, &text, &block.headings),
        tags: topic::assign_tags(&text, &block.headings),
        mentions: block.find_mentions(&text, links),
        headings: block.headings.clone(),
        lead: block.lead.clone(),
        line: block.line,
        last_line: block.last_line,
        modality,
        applies_to: Vec::new(),
        verify: Vec::new(),
        text,
    }
}

/// Builds a claim from a list item, with its lead sentence if it is incomplete without.
fn claims_from_item(source: SourceKind, block: &MarkdownBlock) -> Vec<DocumentClaim> {
    // An item of a table of contents refers to a page; the claims are on that page.
    let is_page = block.starts_with_link && (is_labeled(&block.text) || block.links.len() == 1);
    if block.text.ends_with(':') || is_page && !Modality::of(&block.text).asks() {
        return Vec::new();
    }
    if split_sentences(&block.text).len() > Statement::SENTENCES_MAX {
        return claims_from_sentences(source, block);
    }
    let words = normalize_words(&block.text).split_whitespace().count();
    let text = match find_lead(block, words) {
        Some(ItemLead::Needed(lead)) => format!("{lead}: {}", block.text),
        // Behind the item, so that 25 items of a list do not have the same title.
        Some(ItemLead::Scope(lead)) => {
            let stop = if block.text.ends_with(['.', '!', ')']) {
                ""
            } else {
                "."
            };
            format!("{}{stop} ({lead})", block.text)
        }
        None => block.text.clone(),
    };
    let modality = match source {
        // A checklist demands its items; other boxes offer a choice.
        SourceKind::Template if is_checklist_item(block) => Modality::Must,
        SourceKind::Template => return Vec::new(),
        SourceKind::Instructions
        | SourceKind::Memory
        | SourceKind::Reviewer
        | SourceKind::Lesson
        | SourceKind::Records
        | SourceKind::Decision
        | SourceKind::Contributing
        | SourceKind::Owners => Modality::of(&text),
    };
    let is_one = is_claim(&text, modality);
    is_one
        .then(|| build_claim(source, block, text, modality))
        .into_iter()
        .collect()
}

/// Returns whether an item of a template belongs to a checklist.
fn is_checklist_item(block: &MarkdownBlock) -> bool {
    let heading = normalize_words(block.headings.last().map_or("", String::as_str));
    let normalized = normalize_words(&block.text);
    heading.contains(" check") || starts_with_phrase(&normalized, "i, i've, i'm, my, all, we")
}

/// Number of words of a lead sentence that adds information and is short enough to precede an item.
const LEAD_WORDS: std::ops::RangeInclusive<usize> = 2..=10;

/// Lead sentence of an item.
enum ItemLead {
    /// The item means nothing, or the opposite, without it: "Never commit: secrets".
    Needed(String),
    /// It says where the item applies: "In the tests".
    Scope(String),
}

/// Returns the lead sentence or heading that belongs to an item of `words` words.
fn find_lead(block: &MarkdownBlock, words: usize) -> Option<ItemLead> {
    if let Some(lead) = &block.lead {
        let last = split_sentences(lead).pop().unwrap_or_default();
        let last = last.trim_end_matches([':', '.']).trim();
        let count = normalize_words(last).split_whitespace().count();
        let announces = contains_phrase(&normalize_words(last), ANNOUNCING);
        let needs = words < ITEM_WORDS_MIN && !is_instruction(&block.text);
        // "We use: Use x" adds nothing; "In tests: Use x" does.
        let adds =
            !is_instruction(&block.text) || contains_phrase(&normalize_words(last), CONDITIONS);
        let fits = LEAD_WORDS.contains(&count) && !announces && adds;
        // Without a lead such as "Never commit:", the item would state the opposite.
        let turned = forbids(last) && !forbids(&block.text);
        return if (turned || needs) && count <= LEAD_WORDS_MAX || fits && words < ITEM_WORDS_MIN {
            Some(ItemLead::Needed(last.to_owned()))
        } else {
            fits.then(|| ItemLead::Scope(last.to_owned()))
        };
    }
    let heading = block.headings.last()?;
    let count = normalize_words(heading).split_whitespace().count();
    let turned = forbids(heading) && !forbids(&block.text) && (1..=4).contains(&count);
    turned.then(|| ItemLead::Needed(heading.trim_end_matches(':').to_owned()))
}

fn forbids(text: &str) -> bool {
    match Modality::of(text) {
        Modality::MustNot | Modality::ShouldNot => true,
        Modality::Must | Modality::Should | Modality::Fact => false,
    }
}

/// Splits a paragraph into claims; dependent sentences stay with the previous one.
fn claims_from_sentences(source: SourceKind, block: &MarkdownBlock) -> Vec<DocumentClaim> {
    let all = split_sentences(&block.text);
    // A short paragraph is one thought: split, its later sentences would lose their subject.
    if all.len() <= Statement::SENTENCES_MAX
        && block.text.split_whitespace().count() <= PARAGRAPH_WORDS_MAX
    {
        let starts_well = all.first().is_some_and(|it| !depends_on_previous(it));
        let kept: Vec<&str> = all.into_iter().filter(|it| !is_filler(it)).collect();
        let text = kept.join(" ");
        let whole = starts_well && is_complete(block, &text);
        return whole
            .then(|| claim_from_text(source, block, text))
            .flatten()
            .into_iter()
            .collect();
    }
    let mut groups: Vec<Vec<&str>> = Vec::new();
    for sentence in all {
        if !depends_on_previous(sentence) {
            groups.push(vec![sentence]);
            continue;
        }
        // Without a previous sentence its subject is unknown, so it is dropped.
        if let Some(last) = groups.last_mut()
            && last.len() < Statement::SENTENCES_MAX
        {
            last.push(sentence);
        }
    }
    let whole = groups.into_iter().map(|group| group.join(" "));
    // An unfinished sentence continues in the next block.
    let whole = whole.filter(|text| is_complete(block, text));
    whole
        .filter_map(|text| claim_from_text(source, block, text))
        .collect()
}

fn depends_on_previous(sentence: &str) -> bool {
    let normalized = normalize_words(sentence);
    let words: Vec<&str> = normalized.split_whitespace().collect();
    if words.first() == Some(&"this")
        && words
            .get(1)
            .is_some_and(|word| is_listed(word, REPOSITORY_NOUNS))
    {
        return false;
    }
    // In "Set it for servers", the subject is in an earlier sentence.
    let early = words.iter().take(LEANING_WORDS);
    let refers = early.enumerate().any(|(at, word)| {
        let bare = *word == "this"
            && words
                .get(at + 1)
                .is_none_or(|next| is_listed(next, WORDS_AFTER_BARE_THIS));
        bare || is_listed(word, REFERRING)
    });
    refers || starts_with_phrase(&normalized, DEPENDENT_OPENINGS)
}

/// Maximum number of words of a paragraph that is kept as one claim.
const PARAGRAPH_WORDS_MAX: usize = 60;

/// Returns whether a text is complete and not cut off in the middle of a paragraph.
fn is_complete(block: &MarkdownBlock, text: &str) -> bool {
    // Authors leave out the full stop before a code block.
    let is_rule = text.ends_with(char::is_alphanumeric) && Modality::of(text).asks();
    block.kind != BlockKind::Paragraph || is_rule || text.ends_with(['.', '!', ')', '`', '"', '*'])
}

/// Returns whether a sentence adds nothing: a greeting, a reference or a lead sentence.
fn is_filler(sentence: &str) -> bool {
    let normalized = normalize_words(sentence);
    let ends_open = sentence.ends_with([':', '?']);
    ends_open
        || starts_with_phrase(&normalized, REFERENCE_OPENINGS)
        || contains_phrase(&normalized, COURTESIES)
        || contains_phrase(&normalized, LEAD_PHRASES)
}

/// Number of leading words in which a pronoun refers to an earlier sentence.
const LEANING_WORDS: usize = 4;

/// Returns whether a text is a claim.
pub(crate) fn is_claim(text: &str, modality: Modality) -> bool {
    let normalized = normalize_words(text);
    let words: Vec<&str> = normalized.split_whitespace().collect();
    // "Use tabs" is a rule, "Open an issue" is not.
    let is_choice = text.contains('`')
        || starts_with_phrase(
            &normalized,
            "use, never, avoid, don't, do not, prefer, no, always",
        );
    let least = if modality.asks() && is_choice { 2 } else { 4 };
    if words.len() < least || text.chars().count() > CLAIM_CHARS_MAX {
        return false;
    }
    if text.ends_with([':', '?', '…', ',']) || text.ends_with("...") {
        return false;
    }
    if starts_with_phrase(&normalized, REFERENCE_OPENINGS)
        || contains_phrase(&normalized, COURTESIES)
        || contains_phrase(&normalized, LEAD_PHRASES)
        || ends_by_pointing(&normalized)
    {
        return false;
    }
    if modality == Modality::Fact && (is_code_fragment(text) || is_exclamation(text)) {
        return false;
    }
    if is_praise(text) {
        return false;
    }
    // A complete sentence is a statement even if its verb is not in the list.
    let is_whole = words.len() >= SENTENCE_WORDS_MIN
        && text.ends_with('.')
        && !starts_with_phrase(&normalized, "your");
    modality.asks() || is_whole || contains_phrase(&normalized, FACT_VERBS) || is_labeled(text)
}

/// Returns whether a text outside backticks is source code that lost its code block.
fn is_code_fragment(text: &str) -> bool {
    let prose: String = text.split('`').step_by(2).collect();
    let marks = [
        " = ", "()", "==", "=>", "};", ");", "await ", "def ", "const ", "return ", "import ",
    ];
    marks.iter().filter(|it| prose.contains(**it)).count() >= 2
}

/// Returns whether a text without code exclaims: "You are all set!"
fn is_exclamation(text: &str) -> bool {
    text.ends_with('!') && !text.contains('`')
}

/// Returns whether a short item with a check mark advertises: "✅ Works out of the box".
fn is_praise(text: &str) -> bool {
    let item = text.split_once(": ").map_or(text, |(_, item)| item);
    let marks = ['✅', '✔', '🚀', '🎉', '⭐', '🔥', '✨'];
    [text, item].iter().any(|text| {
        text.strip_prefix(marks).is_some_and(|rest| {
            let rest = rest.trim_start_matches('\u{fe0f}').trim_start();
            !rest.contains('`') && !is_instruction(rest) && !forbids(rest)
        })
    })
}

/// Returns whether a sentence ends with a reference: "For tests, see Development."
fn ends_by_pointing(normalized: &str) -> bool {
    let last = normalized
        .rsplit_once(" see ")
        .map(|(before, rest)| (before, rest.split_whitespace().count()));
    last.is_some_and(|(before, rest)| rest <= 4 && before.split_whitespace().count() <= 8)
}

/// Returns whether a text is a name with a description: "`src/` - the code".
fn is_labeled(text: &str) -> bool {
    let marks = [": ", " - ", " – ", " — ", " → ", " -> ", " = "];
    marks.iter().any(|mark| {
        text.split_once(mark).is_some_and(|(label, rest)| {
            let count = |text: &str| normalize_words(text).split_whitespace().count();
            (1..=6).contains(&count(label)) && count(rest) >= 2
        })
    })
}

/// Joins the cells of a table row: the first is the name, the others its description.
fn join_row(text: &str) -> Option<String> {
    let cells: Vec<&str> = text
        .split(" | ")
        .map(|it| it.trim_matches([' ', '|']))
        .filter(|it| !it.is_empty())
        .collect();
    let (first, rest) = cells.split_first()?;
    ((1..=3).contains(&rest.len())).then(|| format!("{first}: {}", rest.join("; ")))
}

/// Maximum distance in lines between a comment or `cd` and the command it belongs to.
const SHELL_LINES_MAX: usize = 3;

/// Comment and folder that apply to the next shell line.
#[derive(Default)]
struct ShellContext {
    line: usize,
    comment: Option<String>,
    folder: Option<String>,
}

impl ShellContext {
    /// Builds a claim from a shell command, with its purpose and folder.
    fn command(&mut self, block: &MarkdownBlock) -> Option<DocumentClaim> {
        // A distant comment belongs to another command.
        if block.line > self.line + SHELL_LINES_MAX {
            *self = Self::default();
        }
        self.line = block.line;
        if let Some(text) = block.text.strip_prefix('#') {
            self.comment = Some(text.trim_matches(['#', ' ']).to_owned());
            return None;
        }
        // `cd` is context for the following commands and no claim.
        if let Some(folder) = block.text.strip_prefix("cd ") {
            self.folder = Some(folder.trim().to_owned());
            return None;
        }
        let (line, behind) = match block.text.split_once(" #") {
            Some((line, behind)) => (line.trim(), Some(behind.trim().to_owned())),
            None => (block.text.as_str(), None),
        };
        // A command with a placeholder cannot be run as written, and git commands are not specific
        // to a project.
        let placeholder = line.contains(['<', '{', '`', '|', '\\']) || line.contains("...");
        if !is_command(line) || placeholder || line.starts_with("git ") {
            return None;
        }
        let heading = || {
            let last = block.headings.last().cloned();
            last.filter(|heading| {
                heading.split_whitespace().count() <= 6
                    && !contains_phrase(
                        &normalize_words(heading),
                        "commands, examples, example, usage",
                    )
            })
        };
        let lead = || {
            block
                .lead
                .as_deref()
                .and_then(|it| split_sentences(it).pop())
                .map(str::to_owned)
        };
        // The nearest description wins: comment on the line, comment above, lead sentence, heading.
        let comment = behind.or_else(|| self.comment.clone());
        let description = comment.or_else(lead).or_else(heading);
        let description = description.filter(|it| !it.is_empty())?;
        let label = description.trim_end_matches([':', '.']);
        let text = match &self.folder {
            Some(folder) => format!("{label}: run `{line}` in `{folder}`"),
            None => format!("{label}: run `{line}`"),
        };
        let mut found = build_claim(SourceKind::Instructions, block, text, Modality::Should);
        // The command is the only mention; words of its description are not checked.
        found.mentions = vec![Mention {
            kind: MentionKind::Command,
            text: line.to_owned(),
        }];
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(document: &str) -> Vec<String> {
        let found = extract_claims(SourceKind::Instructions, document);
        found.into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn what_claims_nothing_is_left_out() {
        let document = "# CLAUDE.md\n\nThis file provides guidance to agents.\n\nThank you for helping! See the docs for more.\n\nWhat next?\n\nWe use the following:\n\nTests live in `tests/`. They need a database. Run them with `make test`.\n";
        assert_eq!(
            texts(document),
            ["Tests live in `tests/`. They need a database. Run them with `make test`."]
        );
    }

    #[test]
    fn a_rule_before_a_code_block_needs_no_full_stop() {
        let document =
            "Heavy dependencies must be imported lazily\n\n```python\nimport pandas\n```\n";
        assert_eq!(
            texts(document),
            ["Heavy dependencies must be imported lazily"]
        );
        assert!(texts("The next part\n\n- of a list\n").is_empty());
    }

    #[test]
    fn an_item_keeps_the_announcement_it_cannot_do_without() {
        let document = "Never commit:\n\n- secrets\n- files that a build made for us\n\nWe use:\n\n- Rust 2024\n- Use `thiserror` for the errors of libraries.\n\n## Do not\n\n- edit the generated client\n";
        assert_eq!(
            texts(document),
            [
                "Never commit: secrets",
                "Never commit: files that a build made for us",
                "We use: Rust 2024",
                "Use `thiserror` for the errors of libraries.",
                "Do not: edit the generated client",
            ]
        );
    }

    #[test]
    fn the_title_of_an_item_is_its_own_sentence() {
        let document = "In the rust folder:\n\n- Crate names are prefixed with `app-`\n- Never call `unwrap` in a library.\n";
        assert_eq!(
            texts(document),
            [
                "Crate names are prefixed with `app-`. (In the rust folder)",
                "Never call `unwrap` in a library. (In the rust folder)",
            ]
        );
    }

    #[test]
    fn advertising_chat_and_code_without_a_fence_are_no_claims() {
        for text in [
            "Benefits: ✅ Optimized for fast automation",
            "✅ No local setup required",
            "Your cloud account is already logged in!",
            "Ask in our Discord community",
            "Your version, operating system, and other relevant details.",
            "async def main(): model = Chat() await model.run()",
            "if name == \"main\": asyncio.run(main())",
            "To that end: resist adding code to the core!",
        ] {
            assert_eq!(texts(&format!("- {text}\n")), [""; 0], "{text}");
            assert_eq!(texts(&format!("{text}\n")), [""; 0], "{text}");
        }
        let rule = "✅ Use `uv` for every install";
        assert_eq!(texts(&format!("- {rule}\n")), [rule]);
    }

    #[test]
    fn commands_come_with_what_they_are_for() {
        let document = "## Build\n\n```bash\nnpm run build # everything\n# one test\nnpx vitest run a\n\n\n\n\ncd x\nmake all\n```\n\n| `src/` | where the code is |\n|---|---|\n| `docs/` | what is written |\n";
        assert_eq!(
            texts(document),
            [
                "everything: run `npm run build`",
                "one test: run `npx vitest run a`",
                "Build: run `make all` in `x`",
                "`docs/`: what is written",
            ]
        );
    }

    #[test]
    fn a_claim_knows_its_lines_and_what_it_points_at() {
        let found = extract_claims(
            SourceKind::Instructions,
            "# A\n\n- Keep\n  `src/lib.rs` small.\n",
        );
        assert_eq!((found[0].line, found[0].last_line), (3, 4));
        assert_eq!(found[0].mentions[0].text, "src/lib.rs");
        assert_eq!(found[0].modality, Modality::Should);
    }
}
