//! Value parsers for names from fixed lists, such as kinds and statuses.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ken_core::values::citation::CitationType;
use ken_core::values::kind::{EntryKind, IdPrefix};
use ken_core::values::status::EntryStatus;
use serde::de::DeserializeOwned;

/// Help of arguments that take a citation, derived from the citation types.
pub(crate) const CITE_HELP: &str = CitationType::FORMS;

/// Returns the help of an argument that takes a citation for `purpose`.
pub(crate) fn cite_help(purpose: &str) -> String {
    format!("{purpose}: {CITE_HELP}")
}

/// Parses one of `names` as `T`; hyphen and underscore are equivalent.
pub(crate) fn word<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names.iter().map(|name| both_spellings(name))).map(|name| {
        serde_json::from_value(name.replace('-', "_").into()).expect("the list names words of T")
    })
}

/// Parses a kind.
pub(crate) fn kind() -> impl TypedValueParser<Value = EntryKind> {
    let names = EntryKind::ALL.map(|kind| both_spellings(kind.name()).help(kind.summary()));
    PossibleValuesParser::new(names).map(|name| parse_kind(&name))
}

/// Returns an example of the details that entries of a kind require; `None` if they require none.
pub(crate) fn detail_example(kind: EntryKind) -> Option<&'static str> {
    match kind.prefix() {
        IdPrefix::Spike => Some(
            r#"--detail '{"question":"Is X fast enough?","answer":"Yes, 2 ms","confidence":"conclusive"}' (or "inconclusive")"#,
        ),
        IdPrefix::Entity => Some(r#"--detail '{"name":"billing service"}'"#),
        IdPrefix::Relationship => Some(
            r#"--detail '{"from":"E-7k2f","rel":"depends on","to":"E-9d2c"}'; from and to are ids or aliases of entities (`ken list --kind entity`)"#,
        ),
        IdPrefix::Lesson | IdPrefix::Norm | IdPrefix::Friction => None,
    }
}

fn parse_kind(name: &str) -> EntryKind {
    name.replace('_', "-")
        .parse()
        .expect("the list names kinds")
}

/// Parses a kind that `ken capture` can record. A false positive is reported, not captured.
pub(crate) fn capture_kind() -> impl TypedValueParser<Value = EntryKind> {
    let kinds = EntryKind::lessons().filter(|kind| *kind != EntryKind::FalsePositive);
    let names = kinds.map(|kind| both_spellings(kind.name()));
    PossibleValuesParser::new(names).map(|name| parse_kind(&name))
}

/// Parses a status.
pub(crate) fn status() -> impl TypedValueParser<Value = EntryStatus> {
    let names = EntryStatus::ALL.map(EntryStatus::name);
    PossibleValuesParser::new(names).map(|name| name.parse().expect("the list names statuses"))
}

/// Accepts a name with hyphens and with underscores; help shows the given one.
fn both_spellings(name: &'static str) -> PossibleValue {
    let value = PossibleValue::new(name);
    if name.contains('-') {
        value.alias(name.replace('-', "_"))
    } else if name.contains('_') {
        value.alias(name.replace('_', "-"))
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use ken_core::ledger::event::Relation;

    use super::*;

    fn read<T: Clone + Send + Sync + 'static>(
        parser: impl TypedValueParser<Value = T> + 'static,
        text: &str,
    ) -> Option<T> {
        let arg = clap::Arg::new("it").value_parser(parser);
        let matches = clap::Command::new("test")
            .arg(arg)
            .try_get_matches_from(["test", text]);
        matches.ok()?.remove_one("it")
    }

    #[test]
    fn both_spellings_of_a_word_are_read() {
        let relation = || word::<Relation>(&["relates-to", "refines"]);
        assert_eq!(read(relation(), "relates-to"), Some(Relation::RelatesTo));
        assert_eq!(read(relation(), "relates_to"), Some(Relation::RelatesTo));
        assert_eq!(read(relation(), "hates"), None);
        assert_eq!(read(kind(), "commit_norm"), Some(EntryKind::CommitNorm));
        assert_eq!(read(status(), "stale"), Some(EntryStatus::Stale));
    }
}
