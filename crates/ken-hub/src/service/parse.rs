//! Parsing of request fields. Every protocol uses these functions, so limits and error messages are
//! the same everywhere.

use std::fmt::Display;
use std::str::FromStr;

use ken_core::values::anchor::{Anchor, CodeLocation};
use ken_core::values::content::ContentChanges;
use ken_core::values::text::ClaimText;
use ken_mcp::ask::{CLAIM_BYTES_MAX, ITEM_BYTES_MAX, ITEMS_MAX, TEXT_BYTES_MAX};

use super::{AddEntryRequest, EditRequest, EntryReader, ServiceError};

/// Unparsed fields of a claim.
#[derive(Clone, Copy, Debug)]
pub struct RawClaimFields<'a> {
    pub statement: &'a str,
    pub kind: &'a str,
    pub cites: &'a [String],
    pub anchors: &'a [String],
    pub verify: &'a [String],
    pub tags: &'a [String],
}

impl AddEntryRequest {
    /// Parses a claim; the error names the invalid field.
    pub fn parse(reader: EntryReader, raw: &RawClaimFields<'_>) -> Result<Self, ServiceError> {
        let ClaimText { statement, body } =
            parse_text("statement", raw.statement, CLAIM_BYTES_MAX)?;
        Ok(Self {
            reader,
            statement,
            body,
            kind: parse_field("kind", raw.kind)?,
            anchors: parse_anchors(raw.anchors)?,
            cites: parse_list("cites", raw.cites)?,
            verify: parse_list("verify", raw.verify)?,
            tags: parse_list("tags", raw.tags)?,
        })
    }
}

/// Unparsed fields of an edit. An absent field stays; an empty text or list clears it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawEditFields<'a> {
    pub statement: Option<&'a str>,
    pub body: Option<&'a str>,
    pub anchors: Option<&'a [String]>,
    pub verify: Option<&'a [String]>,
    pub depends_on: Option<&'a [String]>,
    pub applies_to: Option<&'a [String]>,
    /// Tags to add.
    pub tags: &'a [String],
    /// Tags to remove.
    pub untag: &'a [String],
    pub lens: Option<&'a str>,
    pub note: Option<&'a str>,
}

/// Parses an edit, which has to change something; the error names the invalid field.
pub fn parse_edit(raw: &RawEditFields<'_>) -> Result<EditRequest, ServiceError> {
    let mut changes = ContentChanges {
        body: raw.body.map(|it| parse_or_clear("body", it)).transpose()?,
        anchors: raw.anchors.map(parse_anchors).transpose()?,
        verify: parse_optional_list("verify", raw.verify)?,
        depends_on: parse_optional_list("depends_on", raw.depends_on)?,
        applies_to: parse_optional_list("applies_to", raw.applies_to)?,
        lens: raw.lens.map(|it| parse_or_clear("lens", it)).transpose()?,
        ..ContentChanges::default()
    };
    if let Some(text) = raw.statement {
        let ClaimText { statement, body } = parse_text("statement", text, CLAIM_BYTES_MAX)?;
        changes.statement = Some(statement);
        changes.body = changes.body.or_else(|| body.map(Some));
    }
    if changes.is_empty() && raw.tags.is_empty() && raw.untag.is_empty() {
        return Err(ServiceError::invalid_request("no change was given"));
    }
    Ok(EditRequest {
        changes,
        add_tags: parse_list("tags", raw.tags)?,
        remove_tags: parse_list("untag", raw.untag)?,
        note: raw.note.map(|it| parse_field("note", it)).transpose()?,
    })
}

/// Parses a text; an empty one clears its field.
fn parse_or_clear<T: FromStr<Err: Display>>(
    name: &str,
    text: &str,
) -> Result<Option<T>, ServiceError> {
    let text = Some(text).filter(|it| !it.trim().is_empty());
    text.map(|it| parse_field(name, it)).transpose()
}

fn parse_optional_list<T: FromStr<Err: Display>>(
    name: &str,
    texts: Option<&[String]>,
) -> Result<Option<Vec<T>>, ServiceError> {
    texts.map(|it| parse_list(name, it)).transpose()
}

/// Parses one field; the error names it.
pub fn parse_field<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, ServiceError> {
    parse_text(name, text, TEXT_BYTES_MAX)
}

fn parse_text<T: FromStr<Err: Display>>(
    name: &str,
    text: &str,
    max: usize,
) -> Result<T, ServiceError> {
    // Checked before parsing, so the error never has to quote an arbitrarily long input.
    if text.len() > max {
        return Err(ServiceError::InvalidRequest(format!(
            "`{name}` must not be longer than {max} bytes"
        )));
    }
    let read = text.parse();
    read.map_err(|error| ServiceError::InvalidRequest(format!("`{name}`: {error}")))
}

/// Parses a list field.
pub fn parse_list<T: FromStr<Err: Display>, C: FromIterator<T>>(
    name: &str,
    texts: &[String],
) -> Result<C, ServiceError> {
    check_items(name, texts)?;
    texts.iter().map(|text| parse_field(name, text)).collect()
}

/// Parses anchors. A hub has no source code, so they carry no fingerprint.
pub fn parse_anchors(texts: &[String]) -> Result<Vec<Anchor>, ServiceError> {
    let targets: Vec<CodeLocation> = parse_list("anchors", texts)?;
    Ok(targets.into_iter().map(Anchor::from).collect())
}

/// Refuses lists with too many or too long items.
pub fn check_items(name: &str, all: &[String]) -> Result<(), ServiceError> {
    let too_long = all.iter().any(|item| item.len() > ITEM_BYTES_MAX);
    if all.len() > ITEMS_MAX || too_long {
        return Err(ServiceError::InvalidRequest(format!(
            "`{name}` must have at most {ITEMS_MAX} items of at most {ITEM_BYTES_MAX} bytes"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_named() {
        let texts = |one: &str| vec![one.to_owned()];
        let (none, raw_cites) = (Vec::new(), texts("commit:4f2a9c1"));
        let fine = RawClaimFields {
            statement: "Retry a payment once",
            kind: "learning",
            cites: &raw_cites,
            anchors: &none,
            verify: &none,
            tags: &none,
        };
        let actor = "agent:x".parse().expect("an actor");
        let reader = || super::super::build_reader(&actor, None, None, None).expect("a reader");
        assert!(AddEntryRequest::parse(reader(), &fine).is_ok());
        let (long, odd) = ("x".repeat(ITEM_BYTES_MAX + 1), texts("a b"));
        let many = vec!["pay".to_owned(); ITEMS_MAX + 1];
        for (name, raw) in [
            (
                "statement",
                RawClaimFields {
                    statement: " ",
                    ..fine
                },
            ),
            (
                "kind",
                RawClaimFields {
                    kind: "rumor",
                    ..fine
                },
            ),
            (
                "cites",
                RawClaimFields {
                    cites: &odd,
                    ..fine
                },
            ),
            (
                "anchors",
                RawClaimFields {
                    anchors: &texts(&long),
                    ..fine
                },
            ),
            (
                "tags",
                RawClaimFields {
                    tags: &many,
                    ..fine
                },
            ),
        ] {
            let told = AddEntryRequest::parse(reader(), &raw)
                .expect_err(name)
                .to_string();
            assert!(told.starts_with(&format!("`{name}`")), "{told}");
        }
    }
}
