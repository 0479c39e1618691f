//! The secret formats, as data.
//!
//! Each expression is our own, written from what the provider documents (the comment names where);
//! it names the group `secret`, which is what gets redacted, and the groups its judge reads.
//! A rule costs nothing until one of its keywords occurs in the text: only then is its expression
//! compiled, once per process.
//!
//! Invariant: every match of a rule's expression contains one of its keywords (tested by example).

use std::sync::OnceLock;

use regex::Regex;

use crate::likeness::{self, Judge};
use crate::scan::TextMode;
use crate::verdict::Severity;

/// One format of secret.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) id: &'static str,
    /// What the redaction marker and the refusal call it; several rules may share one.
    pub(crate) secret_type: &'static str,
    pub(crate) severity: Severity,
    pub(crate) applies: Applies,
    /// Case-sensitive; a text with none of them is not searched.
    keywords: &'static [&'static str],
    expression: &'static str,
    pub(crate) judge: Judge,
}

/// Which kinds of text a rule is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applies {
    Everywhere,
    /// Rests on disorder rather than on a format, which prose full of hashes and ids would set off.
    CodeOnly,
}

impl Rule {
    /// Returns whether this rule is to be searched for in a text of this mode.
    pub(crate) fn concerns(&self, text: &str, mode: TextMode) -> bool {
        let asked = match (self.applies, mode) {
            (Applies::Everywhere, TextMode::Prose | TextMode::Code) => true,
            (Applies::CodeOnly, TextMode::Code) => true,
            (Applies::CodeOnly, TextMode::Prose) => false,
        };
        asked && self.keywords.iter().any(|keyword| text.contains(keyword))
    }
}

/// Returns every rule with a text to search in, its expression compiled.
pub(crate) fn concerning(
    text: &str,
    mode: TextMode,
) -> impl Iterator<Item = (&'static Rule, &'static Regex)> {
    static COMPILED: [OnceLock<Regex>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];
    let compile =
        |rule: &Rule| Regex::new(rule.expression).expect("a test compiles every rule of the table");
    RULES
        .iter()
        .zip(&COMPILED)
        .filter(move |(rule, _)| rule.concerns(text, mode))
        .map(move |(rule, compiled)| (rule, compiled.get_or_init(|| compile(rule))))
}

/// The rule set named by [`crate::RULE_SET`].
pub(crate) const RULES: &[Rule] = &[
    // RFC 7468 (PEM), OpenSSH PROTOCOL.key, RFC 9580 (PGP armour). A block cut off before its end
    // counts to the end of the text.
    Rule {
        id: "private-key-block",
        secret_type: "private-key",
        severity: Severity::Critical,
        applies: Applies::Everywhere,
        keywords: &["PRIVATE KEY"],
        expression: concat!(
            r"(?<secret>-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}",
            r"(?<body>(?s:.*?))",
            r"(?:-{4,5} ?END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}|\z))",
        ),
        judge: likeness::key_block,
    },
    // AWS IAM user guide, "IAM identifiers": unique id prefixes of access keys and bearer tokens.
    Rule {
        id: "aws-access-key-id",
        secret_type: "aws-access-key-id",
        severity: Severity::High,
        applies: Applies::Everywhere,
        keywords: &["AKIA", "ASIA", "ABIA", "ACCA"],
        expression: r"(?-u:\b)(?<secret>A(?:KIA|SIA|BIA|CCA)(?<body>[A-Z0-9]{16}))(?-u:\b)",
        judge: likeness::token,
    },
    // AWS CLI user guide: the setting's name in configuration files, the environment and JSON output.
    Rule {
        id: "aws-secret-access-key",
        secret_type: "aws-secret-access-key",
        severity: Severity::Critical,
        applies: Applies::Everywhere,
        keywords: &[
            "aws_secret_access_key",
            "AWS_SECRET_ACCESS_KEY",
            "SecretAccessKey",
            "secretAccessKey",
        ],
        expression: concat!(
            r"(?:aws_secret_access_key|AWS_SECRET_ACCESS_KEY|[sS]ecretAccessKey)",
            r#"["'`\s:=]{1,8}(?<secret>(?<body>[A-Za-z0-9/+]{40}))(?:[^A-Za-z0-9/+=]|\z)"#,
        ),
        judge: likeness::token,
    },
    // GitHub docs, "Token expiration and revocation" and the 2021 format announcement: prefix, then
    // letters, digits and underscores; installation tokens may carry a JWT, hence the dotted tail.
    Rule {
        id: "github-token",
        secret_type: "github-token",
        severity: Severity::Critical,
        applies: Applies::Everywhere,
        keywords: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        expression: concat!(
            r"(?<secret>gh[pousr]_(?<body>[A-Za-z0-9_]{36}[A-Za-z0-9_-]*",
            r"(?:\.[A-Za-z0-9_-]{16,})*))",
        ),
        judge: likeness::token,
    },
    Rule {
        id: "github-fine-grained-token",
        secret_type: "github-token",
        severity: Severity::Critical,
        applies: Applies::Everywhere,
        keywords: &["github_pat_"],
        expression: r"(?<secret>github_pat_(?<body>[A-Za-z0-9_]{70,}))",
        judge: likeness::token,
    },
    // GitLab docs, "Token overview", table of token prefixes; routable tokens add dotted parts.
    Rule {
        id: "gitlab-token",
        secret_type: "gitlab-token",
        severity: Severity::Critical,
        applies: Applies::Everywhere,
        keywords: &[
            "glpat-", "glptt-", "gldt-", "glrt-", "glrtr-", "glcbt-", "gloas-", "glsoat-", "glft-",
            "glimt-", "glagent-", "glwt-", "glffct-",
        ],
        expression: concat!(
            r"(?-u:\b)(?<secret>gl(?:pat|ptt|dt|rtr?|cbt|oas|soat|ft|imt|agent|wt|ffct)-",
            r"(?<body>[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,})*))",
        ),
        judge: likeness::token_not_words,
    },
    // Slack docs, "Tokens": bot, user, app-level, configuration, rotated and workflow tokens.
    Rule {
        id: "slack-token",
        secret_type: "slack-token",
        severity: Severity::Critical,
        applies: Applies::Everywhere,
        keywords: &["xox", "xapp-", "xwfp-"],
        expression: concat!(
            r"(?-u:\b)(?<secret>(?:xox[a-z](?:\.xox[a-z])?|xapp|xwfp)-",
            r"(?<body>[A-Za-z0-9%/+-]{20,}))",
        ),
        judge: likeness::token_not_words,
    },
    // Slack docs, "Sending messages using incoming webhooks": "your webhook URL contains a secret".
    Rule {
        id: "slack-webhook",
        secret_type: "slack-webhook",
        severity: Severity::High,
        applies: Applies::Everywhere,
        keywords: &["hooks.slack.com/"],
        expression: concat!(
            r"hooks\.slack\.com/(?:services|workflows|triggers)/",
            r"(?<secret>(?<body>[A-Za-z0-9+/]{30,}))",
        ),
        judge: likeness::token,
    },
    // Stripe docs, "API keys": secret and restricted keys of live mode.
    Rule {
        id: "stripe-live-key",
        secret_type: "stripe-key",
        severity: Severity::Critical,
        applies: Applies::Everywhere,
        keywords: &["sk_live_", "rk_live_"],
        expression: r"(?-u:\b)(?<secret>[sr]k_live_(?<body>[A-Za-z0-9]{16,}))",
        judge: likeness::token,
    },
    // Google Cloud docs, "Manage API keys" and the shape its consoles issue: 39 characters.
    Rule {
        id: "google-api-key",
        secret_type: "google-api-key",
        severity: Severity::High,
        applies: Applies::Everywhere,
        keywords: &["AIza"],
        expression: r"(?-u:\b)(?<secret>AIza(?<body>[A-Za-z0-9_-]{35}))(?:[^A-Za-z0-9_-]|\z)",
        judge: likeness::token,
    },
    // npm and GitHub, "npm's new access token format": prefix, 30 characters and a checksum of 6.
    Rule {
        id: "npm-token",
        secret_type: "npm-token",
        severity: Severity::Critical,
        applies: Applies::Everywhere,
        keywords: &["npm_"],
        expression: r"(?-u:\b)(?<secret>npm_(?<body>[A-Za-z0-9]{36}))(?-u:\b)",
        judge: likeness::token,
    },
    // PyPI help, "API tokens": a macaroon in URL-safe base64, whose version and first field are fixed.
    Rule {
        id: "pypi-token",
        secret_type: "pypi-token",
        severity: Severity::Critical,
        applies: Applies::Everywhere,
        keywords: &["pypi-AgE"],
        expression: r"(?<secret>pypi-AgE(?<body>[A-Za-z0-9_-]{50,}))",
        judge: likeness::token,
    },
    // OpenAI docs, "Production best practices": project, service-account and admin keys; user keys of
    // the older shape are told from other `sk-` words by the fixed middle part.
    Rule {
        id: "openai-key",
        secret_type: "openai-key",
        severity: Severity::Critical,
        applies: Applies::Everywhere,
        keywords: &["sk-proj-", "sk-svcacct-", "sk-admin-", "T3BlbkFJ"],
        expression: concat!(
            r"(?-u:\b)(?<secret>sk-(?<body>(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}",
            r"|(?:[A-Za-z0-9]+-)?[A-Za-z0-9]{16,}T3BlbkFJ[A-Za-z0-9]{16,}))",
        ),
        judge: likeness::token_not_words,
    },
    // Anthropic docs, "API overview": `sk-ant-`, the kind of key, the key.
    Rule {
        id: "anthropic-key",
        secret_type: "anthropic-key",
        severity: Severity::Critical,
        applies: Applies::Everywhere,
        keywords: &["sk-ant-"],
        expression: r"(?-u:\b)(?<secret>sk-ant-(?:[a-z]{2,8}[0-9]{2}-)?(?<body>[A-Za-z0-9_-]{40,}))",
        judge: likeness::token_not_words,
    },
    // RFC 7519: header and claims are JSON objects, so both begin with the base64 of `{"`. Often
    // short-lived or an example, hence not a refusal.
    Rule {
        id: "json-web-token",
        secret_type: "jwt",
        severity: Severity::Medium,
        applies: Applies::Everywhere,
        keywords: &["eyJ"],
        expression: r"(?-u:\b)(?<secret>eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,})",
        judge: likeness::always,
    },
    // RFC 3986 §3.2.1: user information. A raw `@` inside the password is tolerated as people write it.
    Rule {
        id: "url-password",
        secret_type: "url-password",
        severity: Severity::High,
        applies: Applies::Everywhere,
        keywords: &["://"],
        expression: concat!(
            r#"://(?<user>[^\s/?#@:"'`]*):(?<secret>[^\s/?#"'`]+)"#,
            r#"@(?<host>\[[^\]\s]*\]|[^\s/?#:@,;()<>"'`]*)"#,
        ),
        judge: likeness::url_password,
    },
    Rule {
        id: "high-entropy-assignment",
        secret_type: "generic-secret",
        severity: Severity::Medium,
        applies: Applies::CodeOnly,
        keywords: &[
            "ecret", "ECRET", "oken", "OKEN", "assw", "ASSW", "api", "API", "Api",
        ],
        expression: concat!(
            r"(?i-u)(?:secret|token|passwo?r?d|api_?key)[a-z0-9_]*",
            r#"["'`]?\s{0,4}(?::=|=>|[:=])\s{0,4}["'`](?<secret>[a-z0-9+/_=.-]{20,200})["'`]"#,
        ),
        judge: likeness::high_entropy,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles_and_names_its_secret() {
        for rule in RULES {
            let compiled = Regex::new(rule.expression).unwrap();
            assert!(
                compiled
                    .capture_names()
                    .flatten()
                    .any(|name| name == "secret"),
                "{}",
                rule.id
            );
        }
    }

    #[test]
    fn a_clean_sentence_compiles_no_rule() {
        let sentence = "Retries are safe because the charge carries an idempotency key.";
        assert_eq!(concerning(sentence, TextMode::Prose).count(), 0);
    }
}
