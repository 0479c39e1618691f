//! Placeholders for passwords: words, variables and masks.

/// Words that mean "your password here", in lower case and without punctuation.
const PASSWORD_WORDS: &[&str] = &[
    "abc123",
    "apikey",
    "bar",
    "changeit",
    "changeme",
    "credentials",
    "default",
    "empty",
    "false",
    "foo",
    "hidden",
    "key",
    "masked",
    "nil",
    "none",
    "null",
    "omitted",
    "optional",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "placeholder",
    "pw",
    "pwd",
    "redacted",
    "required",
    "secret",
    "secretpassword",
    "string",
    "test",
    "token",
    "true",
    "undefined",
    "unset",
    "user",
    "username",
    "value",
];

/// Prefixes of [`PASSWORD_WORDS`], as in `your-password` or `DB_PASS`.
const PASSWORD_WORD_PREFIXES: &[&str] = &[
    "a", "admin", "database", "db", "demo", "dev", "local", "my", "new", "old", "some", "test",
    "the", "your",
];

/// Parts of a value that is computed, looked up or explained instead of written out.
const COMPUTED: &[&str] = &[
    "${",
    "#{",
    "%{",
    "{{",
    "$(",
    "<%",
    "&lt;",
    "process.env",
    "getenv",
    "not-set",
    "(",
];

/// Words that contain "pass" without meaning a password.
const UNRELATED_NAMES: &[&str] = &[
    "bypass",
    "compass",
    "encompass",
    "passed",
    "passes",
    "passing",
    "passive",
    "passport",
    "passthrough",
    "pass_through",
    "surpass",
    "trespass",
    "underpass",
];

/// Words that stand for the secret itself, as in `proxy-pass`.
const SECRET_WORDS: &[&str] = &[
    "credentials",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "pw",
    "pwd",
    "secret",
];

/// Returns whether a name only contains the letters of "pass".
pub(super) fn is_unrelated_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    UNRELATED_NAMES.iter().any(|word| lower.contains(word)) && !lower.contains("password")
}

/// Returns whether a value says that it is an example or a placeholder.
pub(super) fn says_example(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let mut parts = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let standing_in = [
        "example",
        "redacted",
        "placeholder",
        "yourpass",
        "yourkey",
        "xxxx",
        "dummy",
        "changeme",
    ];
    // `your` only as a separate word, because it occurs in longer ones by chance.
    parts.any(|part| part == "your") || standing_in.iter().any(|word| lower.contains(word))
}

/// Returns whether a text in the position of a password is a password.
pub(super) fn is_password(value: &str) -> bool {
    /// A short passphrase has a space; a sentence has more.
    const BLANKS_MAX: usize = 1;
    let lower = value.to_ascii_lowercase();
    let computed = COMPUTED.iter().any(|part| lower.contains(part))
        || lower.starts_with("env.")
        || value.starts_with(['*', '+', '.', '/', '\\', '&'])
        || is_variable_name(value)
        || lower.starts_with("http")
        || is_indexed_variable(value);
    // Lower-case words separated by `/` or `::` are routes and module paths.
    let path = |value: &str| {
        let word = |part: &str| {
            part.bytes()
                .all(|b| b.is_ascii_lowercase() || b"-_#".contains(&b))
        };
        (value.contains('/') || value.contains("::")) && value.split(['/', ':']).all(word)
    };
    let filler = ["xxxxx", "????", "****"]
        .iter()
        .any(|mask| lower.contains(mask));
    !is_placeholder(value)
        && !computed
        && !filler
        && !path(&lower)
        && !says_example(value)
        && value.bytes().filter(|b| *b == b' ').count() <= BLANKS_MAX
}

/// Returns whether a word of a sentence is a password rather than an ordinary word.
pub(super) fn is_strong_password(value: &str) -> bool {
    const CHARS_MIN: usize = 6;
    /// Minimum length of a word with fewer character classes.
    const PLAIN_CHARS_MIN: usize = 8;
    // Punctuation of the sentence is not part of the word.
    let value = value.trim_end_matches(['.', ':', '!', '?']);
    let kind = |of: fn(&u8) -> bool| usize::from(value.bytes().any(|b| of(&b)));
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let kinds = kind(u8::is_ascii_lowercase)
        + kind(u8::is_ascii_uppercase)
        + kind(u8::is_ascii_digit)
        + kind(u8::is_ascii_punctuation);
    // `utf8`, `step-2`: a lower-case word with a short number.
    let numbered = {
        let word = value.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = value.len() - word.len();
        let word = word.strip_suffix('-').unwrap_or(word);
        number <= 3 && word.bytes().all(|b| b.is_ascii_lowercase())
    };
    // `8-characters`, `1.2.3`: a quantity or version.
    let counted = value.starts_with(|c: char| c.is_ascii_digit())
        && value
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b == b'-');
    value.len() >= CHARS_MIN
        && digits > 0
        && letters > 0
        && !numbered
        && !counted
        && (kinds >= 3 || value.len() >= PLAIN_CHARS_MIN)
        && is_password(value)
}

/// Returns whether a password is a variable, a mask or a word for "password".
pub(super) fn is_placeholder(password: &str) -> bool {
    let encloses =
        |open: char, close: char| password.starts_with(open) && password.ends_with(close);
    let template =
        encloses('<', '>') || encloses('[', ']') || encloses('{', '}') || encloses('%', '%');
    // `%(name)s` and `%s` of format strings.
    let format = password.starts_with("%(") || (password.len() == 2 && password.starts_with('%'));
    let shell = password.strip_prefix('$').is_some_and(is_shell_variable);
    let mut characters = password.chars();
    let first = characters.next();
    // `****` and `xxxxxx`: one repeated character.
    let mask = characters.all(|c| Some(c) == first);
    template || format || shell || mask || is_password_word(password)
}

/// Returns whether a value is a variable or name: `$password`, `$user$pass`, `#add-password`.
fn is_variable_name(value: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphabetic() || matches!(b, b'-' | b'_' | b'.' | b'$');
    value
        .strip_prefix(['$', '#'])
        .is_some_and(|rest| rest.bytes().all(word))
}

/// Returns whether a value indexes a variable: `$config['x']`, `$_POST["x"]`.
fn is_indexed_variable(value: &str) -> bool {
    value.find('[').is_some_and(|at| {
        let before = &value[..at];
        before.contains('$') || before.contains('.')
    })
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
        .filter_map(|prefix| word.strip_prefix(prefix))
        .any(|bare| PASSWORD_WORDS.contains(&bare));
    // `proxy-pass`, `admin_password`: lower-case words, the last of which is the secret.
    let named = {
        let mut parts = password.split(['-', '_']);
        let is_word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase());
        parts.clone().count() > 1
            && parts.clone().all(is_word)
            && parts
                .next_back()
                .is_some_and(|last| SECRET_WORDS.contains(&last))
    };
    bare || named || PASSWORD_WORDS.contains(&word.as_str())
}

/// Returns whether the digits of a value identify something: they are neither a round number, nor
/// one digit repeated, nor counted up.
pub(super) fn is_identifier(value: &str) -> bool {
    let digits: Vec<u8> = value.bytes().filter(u8::is_ascii_digit).collect();
    let is_repeated = digits.windows(2).all(|pair| pair[0] == pair[1]);
    let is_counted = digits.windows(2).all(|pair| pair[1] == pair[0] + 1);
    !is_repeated && !is_counted && !digits.ends_with(b"000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_that_stand_for_a_password_are_placeholders() {
        for password in [
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
            "proxy-pass",
            "admin_password",
            "$password",
        ] {
            assert!(is_placeholder(password), "{password}");
            assert!(!is_password(password), "{password}");
        }
    }

    #[test]
    fn passwords_that_merely_resemble_a_placeholder_are_not() {
        for password in [
            "hunter2",
            "$ecret1!",
            "p4ssw0rd",
            "tr0ub4dor&3",
            "%40lpha",
            "{half",
            "passw0rd123",
            "postgres1",
            "open-sesame-42-pass",
            "Blue-Whale-pass",
        ] {
            assert!(!is_placeholder(password), "{password}");
        }
    }

    #[test]
    fn what_is_computed_or_looked_up_is_no_password() {
        for value in [
            "#{datastore['DBPASSWORD']}",
            "process.env.PASS",
            "getenv('X')",
            "env.TEST_PASSWORD",
            "$p['x']",
            "#add-password",
            "/forgot-password",
            "cms/sites/passwords#edit",
            "serde_json::value",
            "a b c",
        ] {
            assert!(!is_password(value), "{value}");
        }
        for value in ["un!techwhooah", "open_sesame", "1qay@WXS!", "correct horse"] {
            assert!(is_password(value), "{value}");
        }
    }

    #[test]
    fn a_word_of_a_sentence_is_a_password_only_if_it_is_no_word() {
        for word in [
            "required",
            "utf8",
            "step-2",
            "8-characters",
            "1.2.3",
            "salted",
            "bcrypt12",
        ] {
            assert!(!is_strong_password(word), "{word}");
        }
        for word in ["hunter2X", "blue42fish", "Tr0ub4dor&3."] {
            assert!(is_strong_password(word), "{word}");
        }
    }
}
