//! Format-valid secrets for tests, put together at run time.
//!
//! None of them may stand whole in the repository: push protection and other scanners would stop it.
//! Prefixes come in parts and bodies from a generator with a fixed seed.

/// A secret of one rule, in the text that makes it recognisable.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) rule: &'static str,
    pub(crate) secret_type: &'static str,
    pub(crate) text: String,
    pub(crate) secret: String,
}

impl Sample {
    pub(crate) fn marker(&self) -> String {
        format!("[REDACTED:{}]", self.secret_type)
    }
}

const LETTERS_AND_DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Returns characters that look random and are the same in every run.
pub(crate) fn body(alphabet: &[u8], length: usize) -> String {
    let mut state = 0x2545_f491_4f6c_dd1d_u64.wrapping_add(length as u64);
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(alphabet[(state >> 33) as usize % alphabet.len()])
    };
    (0..length).map(|_| next()).collect()
}

/// Returns a token of letters and digits behind a prefix that is given in parts.
pub(crate) fn token(prefix: &[&str], length: usize) -> String {
    prefix.concat() + &body(LETTERS_AND_DIGITS, length)
}

pub(crate) fn jwt() -> String {
    let part = |length| {
        format!(
            "{}{}",
            ["ey", "J"].concat(),
            body(LETTERS_AND_DIGITS, length)
        )
    };
    format!("{}.{}.{}", part(33), part(60), body(LETTERS_AND_DIGITS, 43))
}

/// Returns a key block of the given kind (`RSA `, `OPENSSH `, nothing for PKCS#8).
pub(crate) fn key_block(kind: &str) -> String {
    let line = body(LETTERS_AND_DIGITS, 64);
    let mark = |word: &str| format!("-----{word} {kind}{} KEY-----", ["PRI", "VATE"].concat());
    format!("{}\n{line}\n{line}\n{}", mark("BEGIN"), mark("END"))
}

/// Returns at least one sample of every rule, and one of each shape where a rule has several.
pub(crate) fn all() -> Vec<Sample> {
    [
        aws(),
        forges(),
        chat_and_payment(),
        registries_and_models(),
        others(),
    ]
    .concat()
}

const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const DIGITS: &[u8] = b"0123456789";

fn bare(rule: &'static str, secret_type: &'static str, secret: String) -> Sample {
    Sample {
        rule,
        secret_type,
        text: secret.clone(),
        secret,
    }
}

/// A secret that only its surroundings make one.
fn within(
    rule: &'static str,
    secret_type: &'static str,
    around: (&str, &str),
    secret: String,
) -> Sample {
    Sample {
        rule,
        secret_type,
        text: format!("{}{secret}{}", around.0, around.1),
        secret,
    }
}

fn aws() -> Vec<Sample> {
    let id = |prefix: [&str; 2]| prefix.concat() + &body(UPPER, 16);
    let secret = |around| {
        within(
            "aws-secret-access-key",
            "aws-secret-access-key",
            around,
            token(&[], 40),
        )
    };
    vec![
        bare("aws-access-key-id", "aws-access-key-id", id(["AK", "IA"])),
        bare("aws-access-key-id", "aws-access-key-id", id(["AS", "IA"])),
        secret(("aws_secret_access_key = ", "\n")),
        secret(("\"SecretAccessKey\": \"", "\"")),
    ]
}

fn forges() -> Vec<Sample> {
    let fine_grained = token(&["github", "_pat_"], 22) + "_" + &token(&[], 59);
    let routable = token(&["glp", "at-"], 27) + ".01." + &body(DIGITS, 9);
    let github = ["p", "o", "u", "s", "r"].map(|kind| token(&["gh", kind, "_"], 36));
    let mut samples = vec![
        bare("github-fine-grained-token", "github-token", fine_grained),
        bare("gitlab-token", "gitlab-token", token(&["gl", "rt-"], 20)),
        bare("gitlab-token", "gitlab-token", routable),
    ];
    samples.extend(github.map(|token| bare("github-token", "github-token", token)));
    samples
}

fn chat_and_payment() -> Vec<Sample> {
    let bot = format!("xox{}-{}-{}", "b", body(DIGITS, 12), token(&[], 24));
    let app = format!("xap{}-1-A{}-{}", "p", body(DIGITS, 10), token(&[], 40));
    let webhook = format!(
        "T{}/B{}/{}",
        body(UPPER, 8),
        body(UPPER, 10),
        token(&[], 24)
    );
    let before = "https://hooks.slack.com/services/";
    vec![
        bare("slack-token", "slack-token", bot),
        bare("slack-token", "slack-token", app),
        within("slack-webhook", "slack-webhook", (before, ""), webhook),
        bare(
            "stripe-live-key",
            "stripe-key",
            token(&["sk", "_live_"], 24),
        ),
        bare(
            "stripe-live-key",
            "stripe-key",
            token(&["rk", "_live_"], 99),
        ),
    ]
}

fn registries_and_models() -> Vec<Sample> {
    let project = token(&["sk-", "proj-"], 74) + "_" + &token(&[], 60);
    let older = token(&["sk", "-"], 20) + &token(&["T3Blbk", "FJ"], 20);
    vec![
        bare("google-api-key", "google-api-key", token(&["AI", "za"], 35)),
        bare("npm-token", "npm-token", token(&["np", "m_"], 36)),
        bare(
            "pypi-token",
            "pypi-token",
            token(&["pypi-", "AgE", "IcHlwaS5vcmc"], 140),
        ),
        bare("openai-key", "openai-key", project),
        bare("openai-key", "openai-key", older),
        bare(
            "anthropic-key",
            "anthropic-key",
            token(&["sk-a", "nt-", "api03-"], 93) + "AA",
        ),
    ]
}

fn others() -> Vec<Sample> {
    let url = |around, password| within("url-password", "url-password", around, password);
    let assigned = ("let api_key = \"", "\";");
    let mut samples = vec![
        bare("json-web-token", "jwt", jwt()),
        url(("postgres://app:", "@db.corp.io:5432/app"), token(&[], 12)),
        url(
            ("redis://:", "@10.0.0.7"),
            token(&[], 9) + "@" + &token(&[], 4),
        ),
        within(
            "high-entropy-assignment",
            "generic-secret",
            assigned,
            token(&[], 32),
        ),
    ];
    let kinds = ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "];
    samples.extend(kinds.map(|kind| bare("private-key-block", "private-key", key_block(kind))));
    samples
}
