//! Hits outside of the ledger: conversations with coding agents, and commit messages.
//!
//! They are a lower tier: nobody recorded, reviewed or confirmed them, and they never leave the
//! machine. Every hit says what it is and when it was said. This module ranks conversations, picks
//! the lines to show and renders the hits; finding candidates is the index's part.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::surface::delimit;
use super::words;
use crate::values::text::escape_invisible;
use crate::values::time::{Date, Timestamp};

/// Maximum number of conversations in an answer.
pub const CONVERSATION_HITS_MAX: usize = 3;

/// Maximum number of commits in an answer.
pub const COMMIT_HITS_MAX: usize = 3;

/// Heading of the hits in an answer.
pub const UNRECORDED_HEADING: &str =
    "Not recorded, from your conversations and the commit history; check before you rely on it:";

/// Maximum number of lines shown of a hit, and of characters per line.
const SHOWN_LINES_MAX: usize = 3;
const LINE_CHARS_MAX: usize = 240;

/// Maximum number of other exchanges that support the best one of a conversation: a long one
/// mentions many things.
const SUPPORTING_MAX: usize = 4;

/// Number of leading characters of a word that identify it in a line; inflections differ behind.
const STEM_CHARS_MIN: usize = 4;

/// Kind of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnrecordedKind {
    Conversation,
    Commit,
    Merge,
    Revert,
}

/// A hit outside of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnrecordedHit {
    pub kind: UnrecordedKind,
    /// Id of the exchange, or the abbreviated id of the commit.
    pub reference: String,
    /// The agent the person talked to; `None` for commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub date: Date,
    /// Citation for an entry that records it.
    pub cite: String,
    /// The lines that match best.
    pub lines: Vec<String>,
    pub score: f64,
    /// Share of the query that the words cover.
    pub coverage: f64,
}

/// Weights of the ranking; `docs/explanation/retrieval.md` has their derivation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnrecordedWeights {
    /// Share of the other exchanges' scores that supports the best exchange of a conversation.
    pub support: f64,
    /// Share of the meaning, beside the words.
    pub meaning: f64,
    /// Minimum share of the query that the words of a hit cover.
    pub coverage_min: f64,
    /// Minimum cosine of a conversation. Commits have none: ids and names in a short message hide
    /// its meaning.
    pub cosine_min: f64,
    /// Conversations whose scores reach this share of the best one are alike. The newest comes
    /// first, so that a changed decision comes before the one it replaced.
    pub alike: f64,
}

impl Default for UnrecordedWeights {
    fn default() -> Self {
        Self {
            support: 0.3,
            meaning: 0.4,
            coverage_min: 0.05,
            cosine_min: 0.4,
            alike: 0.9,
        }
    }
}

/// The score of one exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredExchange {
    pub conversation: i64,
    pub exchange: i64,
    pub at: Timestamp,
    pub score: f64,
}

impl UnrecordedHit {
    /// Returns what the hit is.
    #[must_use]
    pub fn label(&self) -> String {
        let Self {
            reference, date, ..
        } = self;
        match self.kind {
            UnrecordedKind::Conversation => {
                let agent = self.agent.as_deref().unwrap_or("an agent");
                format!("{reference}: said on {date} to {agent}, not recorded")
            }
            UnrecordedKind::Commit => format!("commit {reference} of {date}"),
            UnrecordedKind::Merge => format!("merge {reference} of {date}"),
            UnrecordedKind::Revert => format!("revert {reference} of {date}"),
        }
    }

    /// Returns the command that records what the hit says.
    #[must_use]
    pub fn record_command(&self) -> String {
        let Self {
            reference, cite, ..
        } = self;
        match self.kind {
            UnrecordedKind::Conversation => format!("ken add --from {reference} \"TEXT\""),
            UnrecordedKind::Commit | UnrecordedKind::Merge | UnrecordedKind::Revert => {
                format!("ken add --cite {cite} \"TEXT\"")
            }
        }
    }
}

/// Ranks conversations by their best exchange and the support of their others; each is represented
/// by its best exchange.
#[must_use]
pub fn rank_conversations(exchanges: &[ScoredExchange], support: f64) -> Vec<ScoredExchange> {
    let mut by_conversation: BTreeMap<i64, Vec<ScoredExchange>> = BTreeMap::new();
    for exchange in exchanges {
        let of = by_conversation.entry(exchange.conversation).or_default();
        of.push(*exchange);
    }
    let mut ranked: Vec<ScoredExchange> = by_conversation
        .into_values()
        .filter_map(|mut all| {
            all.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.at.cmp(&a.at)));
            let (best, others) = all.split_first()?;
            let others = others.iter().take(SUPPORTING_MAX).map(|it| it.score);
            let score = best.score + support * others.sum::<f64>();
            Some(ScoredExchange { score, ..*best })
        })
        .collect();
    ranked.sort_by(|a, b| {
        let by_score = b.score.total_cmp(&a.score);
        by_score.then((b.at, b.exchange).cmp(&(a.at, a.exchange)))
    });
    ranked
}

/// Orders hits that are ranked by score: of those alike, the newest comes first.
pub fn put_newest_first<T>(
    ranked: &mut [T],
    alike: f64,
    score: impl Fn(&T) -> f64,
    at: impl Fn(&T) -> u64,
) {
    let mut rest = ranked;
    while let Some(best) = rest.first().map(&score) {
        let group = rest.iter().take_while(|it| score(it) >= alike * best);
        let count = group.count().max(1);
        let (group, others) = rest.split_at_mut(count);
        // A stable sort keeps the order by score among equal times.
        group.sort_by_key(|it| std::cmp::Reverse(at(it)));
        rest = others;
    }
}

/// Returns the lines of `text` that have the most of the query's words, filled up with those behind
/// the best one, in their order.
#[must_use]
pub fn matching_lines(text: &str, query: &str) -> Vec<String> {
    let wanted: Vec<String> = words::query_words(query)
        .into_iter()
        .map(|(word, _)| word)
        .filter(|word| word.chars().count() >= STEM_CHARS_MIN)
        .collect();
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|it| it.chars().any(char::is_alphanumeric))
        .collect();
    let mut ranked: Vec<(usize, usize)> = lines
        .iter()
        .map(|line| count_words(line, &wanted))
        .enumerate()
        .collect();
    // A stable sort: of equal lines the first.
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let best = ranked.first().map_or(0, |(place, _)| *place);
    let matching = ranked.iter().filter(|(_, count)| *count > 0);
    // What follows the best line often says the rest.
    let behind = best..lines.len();
    let mut shown: Vec<usize> = Vec::new();
    for place in matching.map(|(place, _)| *place).chain(behind) {
        if shown.len() < SHOWN_LINES_MAX && !shown.contains(&place) {
            shown.push(place);
        }
    }
    shown.sort_unstable();
    shown
        .into_iter()
        .map(|place| shorten(lines[place]))
        .collect()
}

/// Returns the number of `wanted` words that a line has, inflected or not.
fn count_words(line: &str, wanted: &[String]) -> usize {
    let line = words::expand_text(line).to_lowercase();
    let has = |word: &&String| {
        let chars = word.chars().count();
        let stem = chars.saturating_sub(2).max(STEM_CHARS_MIN).min(chars);
        let stem: String = word.chars().take(stem).collect();
        line.split(' ').any(|it| it.starts_with(&stem))
    };
    wanted.iter().filter(has).count()
}

fn shorten(line: &str) -> String {
    if line.chars().count() <= LINE_CHARS_MAX {
        return line.to_owned();
    }
    let start: String = line.chars().take(LINE_CHARS_MAX - 1).collect();
    format!("{}…", start.trim_end())
}

/// Renders hits for an agent: what each is outside of the delimiters, what was said inside.
#[must_use]
pub fn render_unrecorded(hits: &[UnrecordedHit]) -> String {
    if hits.is_empty() {
        return String::new();
    }
    let mut body = String::new();
    for hit in hits {
        let _ = writeln!(body, "- {} (cite {})", hit.label(), hit.cite);
        for line in &hit.lines {
            let _ = writeln!(body, "  {}", escape_invisible(line));
        }
    }
    format!("{UNRECORDED_HEADING}\n{}", delimit(&body))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(conversation: i64, exchange: i64, day: u64, score: f64) -> ScoredExchange {
        let at = Timestamp::from_millis(day * 86_400_000);
        ScoredExchange {
            conversation,
            exchange,
            at,
            score,
        }
    }

    #[test]
    fn a_conversation_ranks_by_its_best_exchange_and_the_others_support_it() {
        let ranked = rank_conversations(
            &[
                exchange(1, 10, 1, 4.0),
                exchange(2, 20, 1, 3.9),
                exchange(2, 21, 2, 3.0),
                exchange(3, 30, 9, 1.0),
            ],
            0.3,
        );
        let best: Vec<i64> = ranked.iter().map(|it| it.exchange).collect();
        assert_eq!(best, [20, 10, 30]);
    }

    #[test]
    fn of_alike_conversations_the_newest_comes_first() {
        let mut hits = [(1.0, 1), (0.95, 9), (0.91, 5), (0.5, 20), (0.2, 30)];
        put_newest_first(&mut hits, 0.9, |it| it.0, |it| it.1);
        assert_eq!(hits.map(|it| it.1), [9, 5, 1, 20, 30]);
        let mut none: [(f64, u64); 2] = [(0.0, 1), (0.0, 2)];
        put_newest_first(&mut none, 0.9, |it| it.0, |it| it.1);
        assert_eq!(none.map(|it| it.1), [2, 1]);
    }

    #[test]
    fn the_lines_with_the_words_of_the_query_are_shown() {
        let text = "Hello.\n\nRetries stop after seven attempts.\nThe eighth trips the limit.\nBye.\nThanks.";
        let shown = matching_lines(text, "how many retry attempts are allowed");
        assert_eq!(
            shown,
            [
                "Retries stop after seven attempts.",
                "The eighth trips the limit.",
                "Bye."
            ]
        );
        let long = "word ".repeat(200);
        assert!(matching_lines(&long, "x")[0].chars().count() <= LINE_CHARS_MAX);
        assert!(matching_lines("\n---\n", "x").is_empty());
    }

    #[test]
    fn a_hit_says_what_it_is() {
        let mut hit = UnrecordedHit {
            kind: UnrecordedKind::Conversation,
            reference: "x-3fce3b5a01".to_owned(),
            agent: Some("codex".to_owned()),
            date: "2026-05-03".parse().unwrap(),
            cite: "transcript:3fce3b5a01".to_owned(),
            lines: vec!["at most 7".to_owned()],
            score: 1.0,
            coverage: 0.5,
        };
        assert_eq!(
            hit.label(),
            "x-3fce3b5a01: said on 2026-05-03 to codex, not recorded"
        );
        assert_eq!(hit.record_command(), "ken add --from x-3fce3b5a01 \"TEXT\"");
        hit.kind = UnrecordedKind::Revert;
        hit.reference = "abc1234".to_owned();
        assert_eq!(hit.label(), "revert abc1234 of 2026-05-03");
        assert!(render_unrecorded(&[]).is_empty());
    }
}
