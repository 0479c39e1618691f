//! Claims in a document: what can be true or false of the repository, or followed or broken by whoever works in it.
//!
//! A list item is one claim, a paragraph one a sentence, a line for a shell one with what its comment says. Greetings,
//! pointers, questions and announcements are none. Sentences that need the one before ("It also …") stay with it.

use ken_core::kind::Kind;
use ken_core::text::Statement;
use serde::Serialize;

use crate::block::{Block, BlockKind, blocks};
use crate::forms;
use crate::mention::{Mention, MentionKind, is_command, mentions};
use crate::modality::{Modality, is_instruction, spoken};
use crate::own::without_own;
use crate::sentence::sentences;
use crate::source::SourceKind;
use crate::topic;
use crate::words::{
    ANNOUNCING, BARE, CONDITIONS, FACTUAL, FRIENDLY, HERE, LEADING, LEANING, POINTING, REFERRING,
    has, is_one, starts,
};

/// Claims taken from one document at most.
pub const CLAIMS_MAX: usize = 2000;

/// Characters from which on a text is no single claim.
const CLAIM_CHARS_MAX: usize = 600;

/// Words an announcement may have to be put before its items.
const LEAD_WORDS_MAX: usize = 14;

/// Words below which an item cannot stand without its announcement.
const ITEM_WORDS_MIN: usize = 5;

/// Words from which on a text with a full stop is a sentence.
const SENTENCE_WORDS_MIN: usize = 5;

/// One claim and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    pub text: String,
    /// What it stands under, outermost first.
    pub headings: Vec<String>,
    /// Counted from 1.
    pub line: usize,
    pub last_line: usize,
    pub modality: Modality,
    pub kind: Kind,
    pub tags: Vec<&'static str>,
    pub mentions: Vec<Mention>,
    /// Steps that show whether it holds, where the document gives some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
}

/// Returns what a document claims, in order.
pub fn claims(source: SourceKind, text: &str) -> Vec<Found> {
    let text = &*without_own(text);
    let mut found = match source {
        SourceKind::Decision => forms::decision(text),
        SourceKind::Reviewer => forms::reviewer(text),
        SourceKind::Lesson => {
            forms::lesson(text).unwrap_or_else(|| of_blocks(source, &blocks(text)))
        }
        SourceKind::Records => forms::records(text),
        SourceKind::Owners => forms::owners(text),
        SourceKind::Instructions
        | SourceKind::Memory
        | SourceKind::Contributing
        | SourceKind::Template => of_blocks(source, &blocks(text)),
    };
    found.truncate(CLAIMS_MAX);
    found
}

fn of_blocks(source: SourceKind, blocks: &[Block]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut shell = Shell::default();
    for block in blocks {
        match block.kind {
            BlockKind::Shell => found.extend(shell.command(block)),
            // What a template says between its boxes is for whoever fills it in.
            BlockKind::Paragraph if source == SourceKind::Template => {}
            BlockKind::Paragraph => found.extend(of_sentences(source, block)),
            BlockKind::Item => found.extend(of_item(source, block)),
            BlockKind::Row => {
                found.extend(row(&block.text).and_then(|text| one(source, block, text)));
            }
        }
    }
    found
}

/// Makes a claim of `text`, if it is one.
fn one(source: SourceKind, block: &Block, text: String) -> Option<Found> {
    let modality = Modality::of(&text);
    is_claim(&text, modality).then(|| make(source, block, text, modality))
}

/// Makes a claim of `text`, which stands in `block`.
pub(crate) fn make(source: SourceKind, block: &Block, text: String, modality: Modality) -> Found {
    // Links belong to a sentence only where the block has no other.
    let links = if sentences(&block.text).len() <= 1 || block.text == text {
        &block.links[..]
    } else {
        &[]
    };
    Found {
        kind: topic::kind(source, modality, &text, &block.headings),
        tags: topic::tags(&text, &block.headings),
        mentions: mentions(&text, links),
        headings: block.headings.clone(),
        line: block.line,
        last_line: block.last_line,
        modality,
        verify: Vec::new(),
        text,
    }
}

/// Takes an item as one claim, with its announcement where it says nothing without.
fn of_item(source: SourceKind, block: &Block) -> Vec<Found> {
    // A list of pages points at them; what they claim stands there.
    let is_page = block.starts_with_link && (is_labelled(&block.text) || block.links.len() == 1);
    if block.text.ends_with(':') || is_page && !Modality::of(&block.text).asks() {
        return Vec::new();
    }
    if Statement::SENTENCES_MAX < sentences(&block.text).len() {
        return of_sentences(source, block);
    }
    let words = spoken(&block.text).split_whitespace().count();
    let text = match lead_of(block, words) {
        Some(lead) => format!("{lead}: {}", block.text),
        None => block.text.clone(),
    };
    let modality = match source {
        // A checklist asks for what its boxes say; other boxes are there to choose from.
        SourceKind::Template if is_checked(block) => Modality::Must,
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
        .then(|| make(source, block, text, modality))
        .into_iter()
        .collect()
}

/// Returns whether an item of a template is one to be ticked off.
fn is_checked(block: &Block) -> bool {
    let heading = spoken(block.headings.last().map_or("", String::as_str));
    let told = spoken(&block.text);
    heading.contains(" check") || starts(&told, "i, i've, i'm, my, all, we")
}

/// Words of an announcement from which on it says more than that a list follows, and up to which it fits before an item.
const LEAD_WORDS: std::ops::RangeInclusive<usize> = 2..=10;

/// Returns the announcement or heading an item of so many words cannot do without.
fn lead_of(block: &Block, words: usize) -> Option<String> {
    if let Some(lead) = &block.lead {
        let last = sentences(lead).pop().unwrap_or_default();
        let last = last.trim_end_matches([':', '.']).trim();
        let count = spoken(last).split_whitespace().count();
        let announces = has(&spoken(last), ANNOUNCING);
        let needs = words < ITEM_WORDS_MIN && !is_instruction(&block.text);
        // "We use: Use x" says nothing more; "In tests: Use x" does.
        let adds = !is_instruction(&block.text) || has(&spoken(last), CONDITIONS);
        let fits = LEAD_WORDS.contains(&count) && !announces && adds;
        let turned = forbids(last) && !forbids(&block.text);
        return (turned && count <= LEAD_WORDS_MAX || fits || needs && count <= LEAD_WORDS_MAX)
            .then(|| last.to_owned());
    }
    let heading = block.headings.last()?;
    let count = spoken(heading).split_whitespace().count();
    let turned = forbids(heading) && !forbids(&block.text) && (1..=4).contains(&count);
    turned.then(|| heading.trim_end_matches(':').to_owned())
}

fn forbids(text: &str) -> bool {
    match Modality::of(text) {
        Modality::MustNot | Modality::ShouldNot => true,
        Modality::Must | Modality::Should | Modality::Fact => false,
    }
}

/// Takes a paragraph apart; what leans on the sentence before stays with it.
fn of_sentences(source: SourceKind, block: &Block) -> Vec<Found> {
    let all = sentences(&block.text);
    // A short paragraph is one thought: cut apart, its later sentences lose what they are about.
    if all.len() <= Statement::SENTENCES_MAX
        && block.text.split_whitespace().count() <= PARAGRAPH_WORDS_MAX
    {
        let starts_well = all.first().is_some_and(|it| !leans(it));
        let kept: Vec<&str> = all.into_iter().filter(|it| !is_idle(it)).collect();
        let text = kept.join(" ");
        let whole = starts_well && is_ended(block, &text);
        return whole
            .then(|| one(source, block, text))
            .flatten()
            .into_iter()
            .collect();
    }
    let mut groups: Vec<Vec<&str>> = Vec::new();
    for sentence in all {
        if !leans(sentence) {
            groups.push(vec![sentence]);
            continue;
        }
        // Without one before it, nobody can tell what it is about.
        if let Some(last) = groups.last_mut()
            && last.len() < Statement::SENTENCES_MAX
        {
            last.push(sentence);
        }
    }
    let whole = groups.into_iter().map(|group| group.join(" "));
    // What breaks off goes on in what follows.
    let whole = whole.filter(|text| is_ended(block, text));
    whole.filter_map(|text| one(source, block, text)).collect()
}

fn leans(sentence: &str) -> bool {
    let told = spoken(sentence);
    let words: Vec<&str> = told.split_whitespace().collect();
    if words.first() == Some(&"this") && words.get(1).is_some_and(|word| is_one(word, HERE)) {
        return false;
    }
    // "Set it for servers": what is meant was said before.
    let early = words.iter().take(LEANING_WORDS);
    let refers = early.enumerate().any(|(at, word)| {
        let bare = *word == "this" && words.get(at + 1).is_none_or(|next| is_one(next, BARE));
        bare || is_one(word, REFERRING)
    });
    refers || starts(&told, LEANING)
}

/// Words up to which a paragraph is one claim.
const PARAGRAPH_WORDS_MAX: usize = 60;

/// Returns whether a text is not broken off in the middle of a paragraph.
fn is_ended(block: &Block, text: &str) -> bool {
    block.kind != BlockKind::Paragraph || text.ends_with(['.', '!', ')', '`', '"', '*'])
}

/// Returns whether a sentence of a paragraph adds nothing: it greets, points elsewhere or announces.
fn is_idle(sentence: &str) -> bool {
    let told = spoken(sentence);
    let ends_open = sentence.ends_with([':', '?']);
    ends_open || starts(&told, POINTING) || has(&told, FRIENDLY) || has(&told, LEADING)
}

/// Words of a sentence among which a pronoun has nothing before it to stand for.
const LEANING_WORDS: usize = 4;

/// Returns whether a text claims anything.
pub(crate) fn is_claim(text: &str, modality: Modality) -> bool {
    let told = spoken(text);
    let words: Vec<&str> = told.split_whitespace().collect();
    // "Use tabs" is a rule, "Open an issue" is not.
    let is_choice = text.contains('`')
        || starts(
            &told,
            "use, never, avoid, don't, do not, prefer, no, always",
        );
    let least = if modality.asks() && is_choice { 2 } else { 4 };
    if words.len() < least || CLAIM_CHARS_MAX < text.chars().count() {
        return false;
    }
    if text.ends_with([':', '?', '…', ',']) || text.ends_with("...") {
        return false;
    }
    if starts(&told, POINTING)
        || has(&told, FRIENDLY)
        || has(&told, LEADING)
        || ends_by_pointing(&told)
    {
        return false;
    }
    // A whole sentence says something, whatever its verb.
    let is_whole = SENTENCE_WORDS_MIN <= words.len() && text.ends_with('.');
    modality.asks() || is_whole || has(&told, FACTUAL) || is_labelled(text)
}

/// Returns whether a sentence ends by naming where to look: "For tests, see Development."
fn ends_by_pointing(told: &str) -> bool {
    let last = told
        .rsplit_once(" see ")
        .map(|(before, rest)| (before, rest.split_whitespace().count()));
    last.is_some_and(|(before, rest)| rest <= 4 && before.split_whitespace().count() <= 8)
}

/// Returns whether a text is a name and what it is: "`src/` - the code".
fn is_labelled(text: &str) -> bool {
    let marks = [": ", " - ", " – ", " — ", " → ", " -> ", " = "];
    marks.iter().any(|mark| {
        text.split_once(mark).is_some_and(|(label, rest)| {
            let count = |text: &str| spoken(text).split_whitespace().count();
            (1..=6).contains(&count(label)) && 2 <= count(rest)
        })
    })
}

/// Returns the cells of a table's row as one text: the first names what the others say.
fn row(text: &str) -> Option<String> {
    let cells: Vec<&str> = text
        .split(" | ")
        .map(|it| it.trim_matches([' ', '|']))
        .filter(|it| !it.is_empty())
        .collect();
    let (first, rest) = cells.split_first()?;
    ((1..=3).contains(&rest.len())).then(|| format!("{first}: {}", rest.join("; ")))
}

/// Lines a comment or `cd` may stand before the command it belongs to.
const SHELL_LINES_MAX: usize = 3;

/// What the lines before said to whoever types the next one.
#[derive(Default)]
struct Shell {
    line: usize,
    comment: Option<String>,
    folder: Option<String>,
}

impl Shell {
    /// Makes a claim of a line for a shell, with what it is for and where it is typed.
    fn command(&mut self, block: &Block) -> Option<Found> {
        if self.line + SHELL_LINES_MAX < block.line {
            *self = Self::default();
        }
        self.line = block.line;
        if let Some(text) = block.text.strip_prefix('#') {
            self.comment = Some(text.trim_matches(['#', ' ']).to_owned());
            return None;
        }
        if let Some(folder) = block.text.strip_prefix("cd ") {
            self.folder = Some(folder.trim().to_owned());
            return None;
        }
        let (line, behind) = match block.text.split_once(" #") {
            Some((line, behind)) => (line.trim(), Some(behind.trim().to_owned())),
            None => (block.text.as_str(), None),
        };
        let placeholder = line.contains(['<', '{', '`', '|', '\\']) || line.contains("...");
        if !is_command(line) || placeholder || line.starts_with("git ") {
            return None;
        }
        let heading = || {
            let last = block.headings.last().cloned();
            last.filter(|it| {
                it.split_whitespace().count() <= 6
                    && !has(&spoken(it), "commands, examples, example, usage")
            })
        };
        let lead = || {
            block
                .lead
                .as_deref()
                .and_then(|it| sentences(it).pop())
                .map(str::to_owned)
        };
        let label = behind.or_else(|| self.comment.clone());
        let label = label.or_else(lead).or_else(heading);
        let label = label.filter(|it| !it.is_empty())?;
        let label = label.trim_end_matches([':', '.']);
        let text = match &self.folder {
            Some(folder) => format!("{label}: run `{line}` in `{folder}`"),
            None => format!("{label}: run `{line}`"),
        };
        let mut found = make(SourceKind::Instructions, block, text, Modality::Should);
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
        let found = claims(SourceKind::Instructions, document);
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
        let found = claims(
            SourceKind::Instructions,
            "# A\n\n- Keep\n  `src/lib.rs` small.\n",
        );
        assert_eq!((found[0].line, found[0].last_line), (3, 4));
        assert_eq!(found[0].mentions[0].text, "src/lib.rs");
        assert_eq!(found[0].modality, Modality::Should);
    }
}
