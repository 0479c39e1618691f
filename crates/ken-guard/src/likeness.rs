//! Tells a secret from the placeholder or the example that documentation puts in its place.
//!
//! A rule's expression says what has the shape of a secret; a function here says whether the match
//! is one. In doubt it is: a refused placeholder costs a rewording, a stored secret a rotation.

use regex::Captures;

/// Fewer different characters than this in a token body is filler such as `xxxx-xxxx`.
const BODY_DISTINCT_MIN: usize = 6;

/// Bits per character above which a quoted value does not look like words.
const ENTROPY_BITS_MIN: f64 = 3.5;

/// Passwords that stand for "your password here", in lower case and without punctuation.
const PASSWORD_WORDS: &[&str] = &[
    "apikey",
    "bar",
    "changeit",
    "changeme",
    "credentials",
    "example",
    "foo",
    "hidden",
    "key",
    "masked",
    "omitted",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "placeholder",
    "pw",
    "pwd",
    "redacted",
    "secret",
    "secretpassword",
    "test",
    "token",
    "user",
    "username",
];

/// What may stand before one of [`PASSWORD_WORDS`], as in `your-password` or `DB_PASS`.
const PASSWORD_WORD_PREFIXES: &[&str] = &["database", "db", "my", "some", "the", "your"];

/// Names that cannot be a real server: RFC 2606 and RFC 6761 reserve them, or they are the word itself.
const EXAMPLE_HOSTS: &[&str] = &[
    "example.com",
    "example.net",
    "example.org",
    "host",
    "hostname",
    "server",
];
const EXAMPLE_DOMAINS: &[&str] = &[
    ".example",
    ".example.com",
    ".example.net",
    ".example.org",
    ".invalid",
    ".test",
];

/// What follows the `@` of a container image reference, which otherwise reads like `user:password@host`.
const DIGEST_NAMES: &[&str] = &["sha256", "sha512"];

/// How much a match is like a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// Treated as a live secret.
    Real,
    /// Well-formed, but its surroundings say documentation: noted with the lowest severity.
    Example,
    /// Stands for a secret without being one: not a finding.
    Placeholder,
}

/// Judges a match of a rule; its expression names the groups the judge reads.
pub(crate) type Judge = fn(&Captures<'_>) -> Likeness;

/// Accepts every match.
pub(crate) fn always(_: &Captures<'_>) -> Likeness {
    Likeness::Real
}

/// Refuses filler, counted-up characters and the word "example" in the group `body`.
pub(crate) fn token(found: &Captures<'_>) -> Likeness {
    placeholder_if(is_filler(group(found, "body")))
}

/// As [`token`], and refuses bodies in lower-case words only, as in `glpat-name-of-your-token`.
pub(crate) fn token_not_words(found: &Captures<'_>) -> Likeness {
    let body = group(found, "body");
    let words = !body
        .bytes()
        .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    placeholder_if(words || is_filler(body))
}

/// Refuses a key block whose `body` has no line of key material: the markers alone are no secret.
pub(crate) fn key_block(found: &Captures<'_>) -> Likeness {
    /// Characters in a row; the shortest key (Ed25519) still fills a line of 64.
    const MATERIAL_CHARS_MIN: usize = 32;
    let material = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let lines = group(found, "body")
        .as_bytes()
        .split(|byte| !material(*byte));
    placeholder_if(
        !lines
            .into_iter()
            .any(|line| MATERIAL_CHARS_MIN <= line.len()),
    )
}

/// Refuses variables, masks and words for "password"; lowers what points at a reserved host.
pub(crate) fn url_password(found: &Captures<'_>) -> Likeness {
    let password = group(found, "secret");
    let host = group(found, "host").to_ascii_lowercase();
    if is_password_placeholder(password) || DIGEST_NAMES.contains(&host.as_str()) {
        return Likeness::Placeholder;
    }
    let example = is_example_host(&host);
    // `postgres:postgres@localhost` is what every tutorial has; on a public host it is a finding.
    if password == group(found, "user") && (example || is_local_host(&host)) {
        return Likeness::Placeholder;
    }
    if example {
        Likeness::Example
    } else {
        Likeness::Real
    }
}

/// Accepts a quoted value that is too disorderly to be words and has both letters and digits.
pub(crate) fn high_entropy(found: &Captures<'_>) -> Likeness {
    let value = group(found, "secret");
    let letters = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let digits = value.bytes().any(|byte| byte.is_ascii_digit());
    placeholder_if(
        !letters || !digits || is_filler(value) || entropy_bits(value) < ENTROPY_BITS_MIN,
    )
}

fn group<'t>(found: &Captures<'t>, name: &str) -> &'t str {
    found.name(name).map_or("", |part| part.as_str())
}

fn placeholder_if(it_is: bool) -> Likeness {
    if it_is {
        Likeness::Placeholder
    } else {
        Likeness::Real
    }
}

fn is_filler(body: &str) -> bool {
    let counts = byte_counts(body);
    let distinct = counts.iter().filter(|count| **count != 0).count();
    let ascending = body
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[0].checked_add(1) == Some(pair[1]))
        .count();
    distinct < BODY_DISTINCT_MIN
        || body.len() <= ascending * 2
        || body.to_ascii_lowercase().contains("example")
}

fn is_password_placeholder(password: &str) -> bool {
    let encloses =
        |open: char, close: char| password.starts_with(open) && password.ends_with(close);
    let template =
        encloses('<', '>') || encloses('[', ']') || encloses('{', '}') || encloses('%', '%');
    let format = password.starts_with("%(") || (password.len() == 2 && password.starts_with('%'));
    let shell = password.strip_prefix('$').is_some_and(is_shell_variable);
    let mut characters = password.chars();
    let first = characters.next();
    let mask = characters.all(|c| Some(c) == first);
    template || format || shell || mask || is_password_word(password)
}

fn is_shell_variable(name: &str) -> bool {
    let constant = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let bracketed = (name.starts_with('{') && name.ends_with('}'))
        || (name.starts_with('(') && name.ends_with(')'));
    bracketed || name.bytes().all(constant)
}

fn is_password_word(password: &str) -> bool {
    let word: String = password
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let bare = PASSWORD_WORD_PREFIXES
        .iter()
        .find_map(|prefix| word.strip_prefix(prefix));
    PASSWORD_WORDS.contains(&word.as_str())
        || bare.is_some_and(|bare| PASSWORD_WORDS.contains(&bare))
}

fn is_example_host(host: &str) -> bool {
    EXAMPLE_HOSTS.contains(&host) || EXAMPLE_DOMAINS.iter().any(|domain| host.ends_with(domain))
}

/// A name without a dot is a container, a service or this machine.
fn is_local_host(host: &str) -> bool {
    !host.contains('.')
        || host.starts_with("127.")
        || host == "0.0.0.0"
        || host.ends_with(".localhost")
}

fn entropy_bits(value: &str) -> f64 {
    let total = value.len() as f64;
    let share = |count: &u32| f64::from(*count) / total;
    byte_counts(value)
        .iter()
        .filter(|count| **count != 0)
        .map(share)
        .map(|p| -p * p.log2())
        .sum()
}

fn byte_counts(value: &str) -> [u32; 256] {
    let mut counts = [0; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_that_stand_for_a_password_are_placeholders() {
        let cases = [
            "<password>",
            "[REDACTED:url-password]",
            "{password}",
            "{{pw}}",
            "%PASS%",
            "%s",
            "%(pw)s",
            "${DB_PASSWORD}",
            "$(pass show db)",
            "$PGPASSWORD",
            "****",
            "xxxxxx",
            "...",
            "p",
            "password",
            "PASSWORD",
            "your-password",
            "MY_SECRET",
            "db_pass",
            "changeme",
            "$password",
        ];
        for password in cases {
            assert!(is_password_placeholder(password), "{password}");
        }
    }

    #[test]
    fn passwords_that_merely_resemble_a_placeholder_are_not() {
        let cases = [
            "hunter2",
            "$ecret1!",
            "p4ssw0rd",
            "tr0ub4dor&3",
            "%40lpha",
            "{half",
            "passw0rd123",
            "postgres1",
        ];
        for password in cases {
            assert!(!is_password_placeholder(password), "{password}");
        }
    }

    #[test]
    fn filler_is_recognised() {
        for body in [
            "xxxxxxxxxxxxxxxx",
            "1234567890abcdefghijklmnopqrstuvwxyz",
            "IOSFODNN7EXAMPLE",
            "T0000/B0000/XXXX",
        ] {
            assert!(is_filler(body), "{body}");
        }
        assert!(!is_filler("q8Zr1LmX7vTc2KpW"));
    }

    #[test]
    fn entropy_grows_with_disorder() {
        assert!(entropy_bits("aaaaaaaa") < 0.001);
        assert!((entropy_bits("abcdabcd") - 2.0).abs() < 0.001);
        assert!(ENTROPY_BITS_MIN < entropy_bits("q8Zr1LmX7vTc2KpWb4Nd"));
    }
}
