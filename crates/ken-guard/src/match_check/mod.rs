//! Match checks: distinguish secrets from placeholders and examples in documentation.
//!
//! A rule's expression matches strings with the format of a secret; a check decides whether the
//! match is one. For formats documented by a provider, doubt counts as a secret. For strings that a
//! text merely calls a password or key, it does not, because code is full of such words.

mod host;
mod shape;
mod words;

use std::ops::Range;

use regex::bytes::Captures;
use serde::Deserialize;

use shape::ValueShape;

/// Classification of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchClass {
    /// Treated as a live secret.
    Real,
    /// Well-formed, but it or its context indicates documentation: a finding of the lowest
    /// severity.
    Example,
    /// Not a secret: no finding.
    Placeholder,
}

use MatchClass::{Example, Placeholder, Real};

/// Check applied to a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MatchCheck {
    /// No check: the expression decides.
    #[default]
    Always,
    /// `body` is not filler and does not say "example".
    Token,
    /// As `Token`, and `body` is not lower-case words, as in `glpat-name-of-your-token`.
    TokenNotWords,
    /// As `Token`, and letters and digits are mixed unlike in an identifier.
    TokenMixed,
    /// A key block contains key material; its markers alone are not a secret.
    KeyBlock,
    /// A URL's password is not a variable, a mask or a word for "password", and its host is not
    /// reserved.
    UrlPassword,
    /// A password is written out.
    Password,
    /// As `Password`, for an unquoted value, which must have a digit to differ from a word of code.
    PasswordBare,
    /// As `Password`, for a word in a sentence, which must not be an ordinary word.
    PasswordStrong,
    /// A value assigned to a name such as key or token is not a word, path, number or URL.
    Generic,
    /// As `Generic`, for a value next to such a word.
    GenericStrong,
    /// A value has too much entropy for words, a name or a digest.
    Disorder,
    /// A home directory belongs to a person, not to an example user.
    OwnFolder,
    /// A host name is not a file name or a reserved name.
    Host,
    /// A number identifies one customer: it is neither a round number nor filler.
    Identifier,
}

/// A match of a rule's expression.
#[derive(Clone, Copy)]
pub(crate) struct RuleMatch<'t> {
    pub(crate) secret: &'t str,
    body: &'t str,
    user: &'t str,
    host: &'t str,
    /// Name that the value is assigned to.
    name: &'t str,
}

impl<'t> RuleMatch<'t> {
    /// Reads the groups of a match in `text` and the range of its secret.
    ///
    /// Expressions match bytes: a span that ends inside a character is widened to include it.
    pub(crate) fn of<'n>(
        text: &'t str,
        found: &Captures<'t>,
        names: impl Iterator<Item = &'n str>,
    ) -> Option<(Self, Range<usize>)> {
        let whole = |part: Range<usize>| {
            text.floor_char_boundary(part.start)..text.ceil_char_boundary(part.end)
        };
        let group = |name: &str| {
            found
                .name(name)
                .map_or("", |part| &text[whole(part.range())])
        };
        let mut secrets = names.filter(|name| name.starts_with("secret"));
        // Each alternative of an expression has its own group; one of them took part in the match.
        let span = whole(secrets.find_map(|name| found.name(name))?.range());
        let secret = &text[span.clone()];
        let body = group("body");
        let matched = Self {
            secret,
            body: if body.is_empty() { secret } else { body },
            user: group("user"),
            host: group("host"),
            name: group("name"),
        };
        Some((matched, span))
    }

    /// Returns this match with another text as its secret.
    pub(crate) fn with_secret(self, secret: &'t str) -> Self {
        Self {
            secret,
            body: secret,
            ..self
        }
    }
}

impl MatchCheck {
    /// Classifies one match.
    pub(crate) fn of(self, matched: RuleMatch<'_>) -> MatchClass {
        match self {
            Self::Always => Real,
            Self::Token => classify_token(matched.body),
            Self::TokenNotWords => {
                // Generated tokens contain digits or capitals; only a description is all lower
                // case.
                let marked = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
                if matched.body.bytes().any(marked) {
                    classify_token(matched.body)
                } else {
                    Placeholder
                }
            }
            Self::TokenMixed => {
                if ValueShape::of(matched.body).is_mixed() && !shape::is_identifier(matched.body) {
                    classify_token(matched.body)
                } else {
                    Placeholder
                }
            }
            Self::KeyBlock => classify_key_block(matched.body),
            Self::UrlPassword => {
                host::classify_url_password(matched.secret, matched.user, matched.host)
            }
            Self::Password => secret_if(
                words::is_password(matched.secret) && !words::is_unrelated_name(matched.name),
            ),
            Self::PasswordBare => secret_if(
                words::is_password(matched.secret)
                    && matched.secret.bytes().any(|b| b.is_ascii_digit()),
            ),
            Self::PasswordStrong => secret_if(words::is_strong_password(matched.secret)),
            Self::Generic => shape::classify_generic(matched.secret, shape::ASSIGNED_CHARS_MIN),
            Self::GenericStrong => shape::classify_adjacent(matched.secret),
            Self::Disorder => secret_if(shape::has_high_entropy(matched.secret)),
            Self::OwnFolder => secret_if(host::is_personal_directory(matched.secret)),
            Self::Host => secret_if(host::is_internal_host(matched.secret)),
            Self::Identifier => secret_if(words::is_identifier(matched.secret)),
        }
    }
}

/// Returns whether a value is not an ordinary word.
pub(crate) fn is_uncommon_word(value: &str) -> bool {
    words::is_strong_password(value)
}

fn secret_if(is_real: bool) -> MatchClass {
    if is_real { Real } else { Placeholder }
}

fn classify_token(body: &str) -> MatchClass {
    let shape = ValueShape::of(body);
    if shape.is_filler() || words::says_example(body) {
        Placeholder
    // Sequential characters occur in documentation, but the format is valid: keep a finding.
    } else if shape.is_sequential() {
        Example
    } else {
        Real
    }
}

fn classify_key_block(body: &str) -> MatchClass {
    /// Consecutive characters; the shortest key (Ed25519) still fills a line of 64.
    const MATERIAL_CHARS_MIN: usize = 32;
    let material = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let mut lines = body.as_bytes().split(|byte| !material(*byte));
    secret_if(lines.any(|line| line.len() >= MATERIAL_CHARS_MIN))
}
