//! Value parsers for names from fixed lists, such as kinds and statuses.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ken_core::values::citation::CitationType;
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use serde::de::DeserializeOwned;

/// Help of arguments that take a citation, derived from the citation types.
pub(crate) const CITE_HELP: &str = CitationType::FORMS;

/// Returns the help of an argument that takes a citation for `purpose`.
pub(crate) fn cite_help(purpose: &str) -> String {
    format!("{purpose}: {CITE_HELP}")
}

/// Names with both spellings, hyphen and underscore.
const OTHER_SPELLINGS: &[(&str, &str)] = &[
    ("anti-pattern", "anti_pattern"),
    ("commit-norm", "commit_norm"),
    ("false-positive", "false_positive"),
    ("pr-expectation", "pr_expectation"),
    ("risk-tier", "risk_tier"),
    ("user-expectation", "user_expectation"),
    ("depends-on", "depends_on"),
    ("derived-from", "derived_from"),
    ("relates-to", "relates_to"),
    ("tool_error", "tool-error"),
    ("validation_fail", "validation-fail"),
];

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
    let names = EntryKind::ALL.map(|kind| both_spellings(kind.name()));
    PossibleValuesParser::new(names).map(|name| name.parse().expect("the list names kinds"))
}

/// Parses a status.
pub(crate) fn status() -> impl TypedValueParser<Value = EntryStatus> {
    let names = EntryStatus::ALL.map(EntryStatus::name);
    PossibleValuesParser::new(names).map(|name| name.parse().expect("the list names statuses"))
}

fn both_spellings(name: &'static str) -> PossibleValue {
    let value = PossibleValue::new(name);
    match OTHER_SPELLINGS.iter().find(|(known, _)| *known == name) {
        Some((_, other)) => value.alias(*other),
        None => value,
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
