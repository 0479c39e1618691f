//! Words and values for generated events.

use std::collections::BTreeSet;

use ken_core::content::{
    Changes, Content, DecayClass, Detail, Entity, Polarity, Relationship, Spike, SpikeConfidence,
};
use ken_core::id::EntryId;
use ken_core::kind::Kind;

use super::{Choice, Play, Turn};

/// Who acts: people most often, then agents, then the rest.
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

/// Returns the unique words that occur in a text.
pub fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|part| {
            let digits = part.strip_prefix("zq").and_then(|p| p.strip_suffix('x'));
            digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
        })
        .map(str::to_owned)
        .collect()
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("generated text is valid")
}

impl Play {
    /// Makes a checked text around a fresh word.
    pub(super) fn text<T: std::str::FromStr<Err: std::fmt::Debug>>(&mut self, around: &str) -> T {
        let word = self.word();
        parsed(&around.replace("{}", &word))
    }

    pub(super) fn content(&mut self, turn: &mut Turn, kind: Kind) -> Content {
        let content = Content::new(self.text("Claim {} holds"));
        let changes = Changes {
            detail: Some(self.detail(kind)),
            ..self.changes(&mut turn.choice, Keep::Statement)
        };
        content.with(changes)
    }

    /// Returns changes of at least one field.
    pub(super) fn changes(&mut self, choice: &mut Choice, keep: Keep) -> Changes {
        let mut changes = Changes::default();
        let mask = choice.below(64);
        let has = |bit: usize| mask & 1 << bit != 0;
        if keep == Keep::Nothing && (has(0) || mask == 0) {
            changes.statement = Some(self.text("Claim {} holds"));
        }
        if has(1) {
            changes.tags = Some(BTreeSet::from([self.text("auth/{}")]));
        }
        if has(2) {
            changes.verify = Some(vec![self.text("Run {} and look")]);
        }
        if has(3) {
            let target: ken_core::anchor::Target = self.text("src/{}.rs#charge");
            changes.evidence = Some(vec![target.into()]);
        }
        if has(4) {
            changes.polarity = Some(choice.pick(&[None, Some(Polarity::Negative)]));
            changes.decay = Some(choice.pick(&[DecayClass::Stable, DecayClass::Permanent]));
        }
        if has(5) {
            changes.lens = choice
                .pick(&[None, Some("security")])
                .map(|l| Some(parsed(l)));
            changes.depends_on = Some(vec![self.text("not file:src/{}/**")]);
        }
        changes
    }

    fn detail(&mut self, kind: Kind) -> Option<Detail> {
        const A: &str = "E-0000000a";
        const B: &str = "E-0000000b";
        if kind == Kind::Spike {
            return Some(Detail::Spike(Spike {
                question: self.text("Does {} scale?"),
                answer: self.text("Up to {}"),
                confidence: SpikeConfidence::Conclusive,
                constraints: Vec::new(),
            }));
        }
        if kind == Kind::Entity {
            let name = self.text("Thing {}");
            return Some(Detail::Entity(Entity { name }));
        }
        if kind == Kind::Relationship {
            let (from, to): (EntryId, EntryId) = (parsed(A), parsed(B));
            let rel = self.text("calls {}");
            return Some(Detail::Relationship(Relationship { from, rel, to }));
        }
        None
    }
}

/// What generated changes leave alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Nothing,
    Statement,
}
