//! What callers bring as text, made into what use cases work with. Every protocol comes through here, so that what is too
//! much or makes no sense is refused in the same words.

use std::fmt::Display;
use std::str::FromStr;

use ken_core::anchor::{Anchor, Target};
use ken_mcp::ask::{ITEM_BYTES_MAX, ITEMS_MAX, TEXT_BYTES_MAX};

use super::{Failure, Reader, Recording};

/// What somebody found out, as they wrote it.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    pub statement: &'a str,
    pub kind: &'a str,
    pub cites: &'a [String],
    pub anchors: &'a [String],
    pub verify: &'a [String],
    pub tags: &'a [String],
}

impl Recording {
    /// Reads what somebody found out; says which of its parts makes no sense.
    pub fn parse(reader: Reader, raw: &Raw<'_>) -> Result<Self, Failure> {
        Ok(Self {
            reader,
            statement: one("statement", raw.statement)?,
            kind: one("kind", raw.kind)?,
            anchors: anchors(raw.anchors)?,
            cites: several("cites", raw.cites)?,
            verify: several("verify", raw.verify)?,
            tags: several("tags", raw.tags)?,
        })
    }
}

/// Reads one word or text of ours.
pub fn one<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, Failure> {
    if TEXT_BYTES_MAX < text.len() {
        return Err(Failure::Usage(format!(
            "`{name}` has at most {TEXT_BYTES_MAX} bytes"
        )));
    }
    let read = text.parse();
    read.map_err(|error| Failure::Usage(format!("`{name}`: {error}")))
}

/// Reads several.
pub fn several<T: FromStr<Err: Display>, C: FromIterator<T>>(
    name: &str,
    texts: &[String],
) -> Result<C, Failure> {
    check_items(name, texts)?;
    texts.iter().map(|text| one(name, text)).collect()
}

/// Reads the code something rests on; nobody can look it up here, so it has no fingerprint.
pub fn anchors(texts: &[String]) -> Result<Vec<Anchor>, Failure> {
    let targets: Vec<Target> = several("anchors", texts)?;
    Ok(targets.into_iter().map(Anchor::from).collect())
}

/// Refuses more of something than anybody needs.
pub fn check_items(name: &str, all: &[String]) -> Result<(), Failure> {
    let too_long = all.iter().any(|it| ITEM_BYTES_MAX < it.len());
    if ITEMS_MAX < all.len() || too_long {
        return Err(Failure::Usage(format!(
            "`{name}` has at most {ITEMS_MAX} items of at most {ITEM_BYTES_MAX} bytes"
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
        let fine = Raw {
            statement: "Retry a payment once",
            kind: "learning",
            cites: &raw_cites,
            anchors: &none,
            verify: &none,
            tags: &none,
        };
        let actor = "agent:x".parse().expect("an actor");
        let reader = || super::super::reader(&actor, None, None, None).expect("a reader");
        assert!(Recording::parse(reader(), &fine).is_ok());
        let (long, odd) = ("x".repeat(ITEM_BYTES_MAX + 1), texts("a b"));
        let many = vec!["pay".to_owned(); ITEMS_MAX + 1];
        for (name, raw) in [
            (
                "statement",
                Raw {
                    statement: " ",
                    ..fine
                },
            ),
            (
                "kind",
                Raw {
                    kind: "rumour",
                    ..fine
                },
            ),
            (
                "cites",
                Raw {
                    cites: &odd,
                    ..fine
                },
            ),
            (
                "anchors",
                Raw {
                    anchors: &texts(&long),
                    ..fine
                },
            ),
            (
                "tags",
                Raw {
                    tags: &many,
                    ..fine
                },
            ),
        ] {
            let told = Recording::parse(reader(), &raw)
                .expect_err(name)
                .to_string();
            assert!(told.starts_with(&format!("`{name}`")), "{told}");
        }
    }
}
