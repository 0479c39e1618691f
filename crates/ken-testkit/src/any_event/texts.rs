//! Texts and values of generated events.

use std::collections::BTreeSet;

use ken_core::values::content::{
    Content, ContentChanges, DecayClass, EntityDetail, KindDetail, Polarity, RelationshipDetail,
    SpikeConfidence, SpikeDetail,
};
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;

use super::{HistoryGenerator, RandomBits, ReplicaTurn};

/// Actors: people first, because shrinking prefers the first.
pub(super) const ACTORS: [&str; 8] = [
    "human:ada",
    "human:bob",
    "human:eve",
    "agent:claude-code/7f3a",
    "agent:codex/1",
    "ci:main",
    "import:wiki",
    "peer:other",
];

pub(super) fn word(number: u32) -> String {
    format!("zq{number}x")
}

/// Returns the generated words that occur in a text.
pub fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|part| {
            let digits = part.strip_prefix("zq").and_then(|p| p.strip_suffix('x'));
            digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
        })
        .map(str::to_owned)
        .collect()
}

fn parse_text<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("generated text is valid")
}

impl HistoryGenerator {
    /// Parses a text that contains a new word in place of `{}`.
    pub(super) fn text<T: std::str::FromStr<Err: std::fmt::Debug>>(&mut self, around: &str) -> T {
        let word = self.word();
        parse_text(&around.replace("{}", &word))
    }

    pub(super) fn content(&mut self, turn: &mut ReplicaTurn, kind: EntryKind) -> Content {
        let content = Content::new(self.text("Claim {} holds"));
        let changes = ContentChanges {
            detail: Some(self.detail(kind)),
            ..self.changes(&mut turn.choice, UnchangedFields::Statement)
        };
        content.with(changes)
    }

    /// Returns changes, at least of the statement unless it is kept.
    pub(super) fn changes(
        &mut self,
        choice: &mut RandomBits,
        keep: UnchangedFields,
    ) -> ContentChanges {
        let mut changes = ContentChanges::default();
        let mask = choice.below(64);
        let has = |bit: usize| mask & 1 << bit != 0;
        if keep == UnchangedFields::Nothing && (has(0) || mask == 0) {
            changes.statement = Some(self.text("Claim {} holds"));
        }
        if has(1) && has(2) {
            changes.body = Some(choice.one_in(2).then(|| self.text("Because of {}")));
        }
        if has(1) {
            changes.tags = Some(BTreeSet::from([self.text("auth/{}")]));
        }
        if has(2) {
            changes.verify = Some(vec![self.text("Run {} and look")]);
        }
        if has(3) {
            let target: ken_core::values::anchor::CodeLocation = self.text("src/{}.rs#charge");
            changes.anchors = Some(vec![target.into()]);
        }
        if has(4) {
            changes.polarity = Some(choice.pick(&[None, Some(Polarity::Negative)]));
            changes.decay = Some(choice.pick(&[DecayClass::Stable, DecayClass::Permanent]));
        }
        if has(5) {
            changes.lens = choice
                .pick(&[None, Some("security")])
                .map(|l| Some(parse_text(l)));
            changes.depends_on = Some(vec![self.text("not file:src/{}/**")]);
            changes.applies_to = Some(vec![self.text("src/{}/**")]);
        }
        changes
    }

    fn detail(&mut self, kind: EntryKind) -> Option<KindDetail> {
        // Never proposed: a relationship may refer to unknown entries.
        const A: &str = "E-0000000a";
        const B: &str = "E-0000000b";
        if kind == EntryKind::Spike {
            return Some(KindDetail::Spike(SpikeDetail {
                question: self.text("Does {} scale?"),
                answer: self.text("Up to {}"),
                confidence: SpikeConfidence::Conclusive,
                constraints: Vec::new(),
            }));
        }
        if kind == EntryKind::Entity {
            let name = self.text("Thing {}");
            return Some(KindDetail::Entity(EntityDetail { name }));
        }
        if kind == EntryKind::Relationship {
            let (from, to): (EntryId, EntryId) = (parse_text(A), parse_text(B));
            let rel = self.text("calls {}");
            return Some(KindDetail::Relationship(RelationshipDetail {
                from,
                rel,
                to,
            }));
        }
        None
    }
}

/// Fields that generated changes do not touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnchangedFields {
    Nothing,
    Statement,
}
