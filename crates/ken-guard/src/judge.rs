//! Tells a secret from the placeholder or the example that documentation puts in its place.
//!
//! A rule's expression says what has the shape of a secret; a judge here says whether the match is one. For formats a
//! provider documents the doubt is in favour of a secret; for what a text merely calls a password or a key it is not,
//! because code is full of such words.

mod host;
mod shape;
mod words;

use std::ops::Range;

use regex::bytes::Captures;
use serde::Deserialize;

use shape::Shape;

/// How much a match is like a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// Treated as a live secret.
    Real,
    /// Well-formed, but it or its surroundings say documentation: noted with the lowest severity.
    Example,
    /// Stands for a secret without being one: not a finding.
    Placeholder,
}

use Likeness::{Example, Placeholder, Real};

/// Which question is asked about a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Judge {
    /// None: the expression decides.
    #[default]
    Always,
    /// Whether `body` is filler or says "example".
    Token,
    /// As `Token`, and whether `body` is lower-case words, as in `glpat-name-of-your-token`.
    TokenNotWords,
    /// As `Token`, and whether letters and digits are mixed as no identifier mixes them.
    TokenMixed,
    /// Whether a key block holds key material: its markers alone are no secret.
    KeyBlock,
    /// Whether a URL's password is a variable, a mask, a word for "password", or its host is reserved.
    UrlPassword,
    /// Whether a password is written out.
    Password,
    /// As `Password`, for an unquoted value, which must have a digit to be told from a word of code.
    PasswordBare,
    /// As `Password`, for a word of a sentence, which must not be a word.
    PasswordStrong,
    /// Whether a value assigned to a name that says key or token is no word, path, number or URL.
    Generic,
    /// As `Generic`, for a value that merely stands beside such a word.
    GenericStrong,
    /// Whether a value is too disorderly to be words, a name or a digest.
    Disorder,
    /// Whether a folder is somebody's, rather than the one everybody writes in examples.
    OwnFolder,
    /// Whether a host is one, rather than a file name or a reserved name.
    Host,
}

/// What a rule's expression found.
#[derive(Clone, Copy)]
pub(crate) struct Match<'t> {
    pub(crate) secret: &'t str,
    body: &'t str,
    user: &'t str,
    host: &'t str,
}

impl<'t> Match<'t> {
    /// Reads the groups of a match in `text`, and where its secret stands.
    ///
    /// Expressions see bytes: a span that ends inside a character is widened to hold it whole.
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
        let span = whole(secrets.find_map(|name| found.name(name))?.range());
        let secret = &text[span.clone()];
        let body = group("body");
        let it = Self {
            secret,
            body: if body.is_empty() { secret } else { body },
            user: group("user"),
            host: group("host"),
        };
        Some((it, span))
    }

    /// Returns this match with another text in the secret's place.
    pub(crate) fn with_secret(self, secret: &'t str) -> Self {
        Self {
            secret,
            body: secret,
            ..self
        }
    }
}

impl Judge {
    /// Answers for one match.
    pub(crate) fn of(self, it: Match<'_>) -> Likeness {
        match self {
            Self::Always => Real,
            Self::Token => token(it.body),
            Self::TokenNotWords => {
                let marked = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
                if it.body.bytes().any(marked) {
                    token(it.body)
                } else {
                    Placeholder
                }
            }
            Self::TokenMixed => {
                if Shape::of(it.body).is_mixed() && !shape::is_identifier(it.body) {
                    token(it.body)
                } else {
                    Placeholder
                }
            }
            Self::KeyBlock => key_block(it.body),
            Self::UrlPassword => host::url_password(it.secret, it.user, it.host),
            Self::Password => real_if(words::is_password(it.secret)),
            Self::PasswordBare => real_if(
                words::is_password(it.secret) && it.secret.bytes().any(|b| b.is_ascii_digit()),
            ),
            Self::PasswordStrong => real_if(words::is_strong_password(it.secret)),
            Self::Generic => shape::generic(it.secret, shape::ASSIGNED_CHARS_MIN),
            Self::GenericStrong => shape::beside(it.secret),
            Self::Disorder => real_if(shape::is_disorderly(it.secret)),
            Self::OwnFolder => real_if(host::is_own_folder(it.secret)),
            Self::Host => real_if(host::is_internal(it.secret)),
        }
    }
}

/// Returns whether a value is none that people say for other reasons.
pub(crate) fn is_no_word(value: &str) -> bool {
    words::is_strong_password(value)
}

fn real_if(it_is: bool) -> Likeness {
    if it_is { Real } else { Placeholder }
}

fn token(body: &str) -> Likeness {
    let shape = Shape::of(body);
    if shape.is_one_character() || words::says_example(body) {
        Placeholder
    } else if shape.is_counted_up() {
        Example
    } else {
        Real
    }
}

fn key_block(body: &str) -> Likeness {
    /// Characters in a row; the shortest key (Ed25519) still fills a line of 64.
    const MATERIAL_CHARS_MIN: usize = 32;
    let material = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let mut lines = body.as_bytes().split(|byte| !material(*byte));
    real_if(lines.any(|line| MATERIAL_CHARS_MIN <= line.len()))
}
