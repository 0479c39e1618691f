//! What each rule finds and what it leaves alone.

use super::*;
use crate::rules::RULES;
use crate::sample;

fn found(text: &str, mode: TextMode) -> Vec<&'static str> {
    scan(text, mode).into_iter().map(|hit| hit.rule).collect()
}

#[test]
fn every_sample_is_found_by_its_rule_at_its_place() {
    for sample in sample::all() {
        let text = format!("é {} — end", sample.text);
        let start = text.find(&sample.secret).unwrap();
        let hits = scan(&text, TextMode::Code);
        let ours = hits.iter().find(|hit| hit.rule == sample.rule);
        let hit = ours.unwrap_or_else(|| panic!("{} missed; found {hits:?}", sample.rule));
        assert_eq!(
            hit.span,
            start..start + sample.secret.len(),
            "{}",
            sample.rule
        );
        assert_eq!(hit.secret_type, sample.secret_type);
    }
}

#[test]
fn every_rule_has_a_sample_and_a_distinct_id() {
    let samples = sample::all();
    for (at, rule) in RULES.iter().enumerate() {
        assert!(
            samples.iter().any(|sample| sample.rule == rule.id),
            "{} has no sample",
            rule.id
        );
        assert!(
            RULES[..at].iter().all(|earlier| earlier.id != rule.id),
            "{} twice",
            rule.id
        );
    }
}

#[test]
fn every_sample_is_found_between_common_delimiters() {
    for sample in sample::all() {
        for (before, after) in [
            ("'", "'"),
            ("`", "`"),
            ("(", ")"),
            ("KEY=", "\n"),
            ("> ", ","),
        ] {
            let text = format!("{before}{}{after}", sample.text);
            assert!(
                found(&text, TextMode::Code).contains(&sample.rule),
                "{before}{}{after}",
                sample.rule
            );
        }
    }
}

#[test]
fn a_token_one_character_short_is_not_found() {
    let cases = [
        (
            "aws-access-key-id",
            ["AK", "IA"].concat() + &sample::body(b"ABCDEFGHJKLMNP234567", 15),
        ),
        (
            "aws-access-key-id",
            ["AK", "IA"].concat() + &sample::body(b"ABCDEFGHJKLMNP234567", 17),
        ),
        (
            "aws-secret-access-key",
            format!("aws_secret_access_key = {}", sample::token(&[], 39)),
        ),
        (
            "aws-secret-access-key",
            format!("aws_secret_access_key = {}", sample::token(&[], 41)),
        ),
        ("github-token", sample::token(&["gh", "p_"], 35)),
        ("github-token", sample::token(&["gh", "x_"], 36)),
        (
            "github-fine-grained-token",
            sample::token(&["github", "_pat_"], 22),
        ),
        ("gitlab-token", sample::token(&["glp", "at-"], 19)),
        (
            "gitlab-token",
            "glpat-name-of-your-own-access-token".to_owned(),
        ),
        ("slack-token", sample::token(&["xo", "xb-"], 19)),
        ("stripe-live-key", sample::token(&["sk", "_live_"], 15)),
        ("stripe-live-key", sample::token(&["sk", "_test_"], 24)),
        ("google-api-key", sample::token(&["AI", "za"], 34)),
        ("google-api-key", sample::token(&["AI", "za"], 36)),
        ("npm-token", sample::token(&["np", "m_"], 35)),
        ("npm-token", sample::token(&["np", "m_"], 37)),
        ("pypi-token", sample::token(&["pypi-", "AgE"], 49)),
        ("openai-key", sample::token(&["sk-", "proj-"], 39)),
        (
            "openai-key",
            "disk-admin-panel-with-a-long-component-name-inside".to_owned(),
        ),
        (
            "anthropic-key",
            sample::token(&["sk-a", "nt-", "api03-"], 20),
        ),
        (
            "json-web-token",
            format!("eyJ{}.abc.def", sample::token(&[], 30)),
        ),
        (
            "private-key-block",
            sample::key_block("").replace(char::is_alphanumeric, "-"),
        ),
    ];
    for (rule, text) in cases {
        assert_eq!(
            found(&text, TextMode::Code),
            [] as [&str; 0],
            "{rule}: {} bytes",
            text.len()
        );
    }
}

#[test]
fn documentation_placeholders_are_not_found() {
    let cases = [
        ["AKIA", "IOSFODNN7EXAMPLE"].concat(),
        format!("ghp_{}", "x".repeat(36)),
        ["ghp_", "1234567890abcdefghijklmnopqrstuvwxyz"].concat(),
        format!("glpat-{}", "X".repeat(20)),
        "sk_live_********************".to_owned(),
        format!(
            "https://hooks.slack.com/services/T{0}/B{0}/{1}",
            "0".repeat(8),
            "X".repeat(24)
        ),
        "A file that begins with -----BEGIN PRIVATE KEY----- is refused".to_owned(),
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----".to_owned(),
        "sk-ant-... and sk-proj-... are the prefixes".to_owned(),
    ];
    for text in cases {
        assert_eq!(found(&text, TextMode::Code), [] as [&str; 0], "{text}");
    }
}

#[test]
fn passwords_in_urls_are_told_from_placeholders() {
    let severity = |text: &str| scan(text, TextMode::Prose).first().map(|hit| hit.severity);
    let cases = [
        (
            "postgres://app:hunter2x@db.corp.io/app",
            Some(Severity::High),
        ),
        (
            "postgres://app:p@ss:w0rd@db.corp.io/app",
            Some(Severity::High),
        ),
        (
            "jdbc:mysql://root:tr0ub4dor&3@10.1.2.3:3306/x",
            Some(Severity::High),
        ),
        ("amqps://:s3cr3tKey9@mq.corp.io", Some(Severity::High)),
        ("http://ken:S3cretPw9@localhost:8080/", Some(Severity::High)),
        ("http://ken:S3cretPw9@${HOST}/", Some(Severity::High)),
        (
            "postgres://postgres:postgres@db.corp.io/x",
            Some(Severity::High),
        ),
        (
            "https://ken:S3cretPw9@api.example.com/v1",
            Some(Severity::Low),
        ),
        ("mysql://root:hunter2@host/db", Some(Severity::Low)),
        ("postgres://postgres:postgres@localhost/x", None),
        ("amqp://guest:guest@rabbitmq:5672", None),
        ("postgres://user:pass@localhost/db", None),
        ("postgres://user:<password>@db.corp.io", None),
        ("postgres://user:${DB_PASSWORD}@db.corp.io", None),
        ("postgres://user:$PGPASSWORD@db.corp.io", None),
        ("postgres://user:****@db.corp.io", None),
        ("postgres://user:your-password@db.corp.io", None),
        ("postgres://user@db.corp.io:5432/x", None),
        ("http://localhost:3000/npm/pkg@1.0.2", None),
        ("https://corp.io:443?to=ken@corp.io", None),
        ("ssh://git@github.com:22/ken/ken.git", None),
        ("docker://alpine:3.19@sha256:0123456789abcdef", None),
    ];
    for (text, expected) in cases {
        assert_eq!(severity(text), expected, "{text}");
    }
}

#[test]
fn every_password_of_several_urls_is_found() {
    let text = "http://a:s3cretA@x.io,http://b:s3cretB@y.io http://c:s3cretC@http://d:s3cretD@z.io";
    assert_eq!(found(text, TextMode::Prose).len(), 4);
}

#[test]
fn a_token_split_by_hidden_characters_is_found_where_it_stands() {
    let token = sample::token(&["gh", "p_"], 36);
    for hidden in [
        "\u{200b}",
        "\u{200d}",
        "\u{2060}\u{feff}",
        "\u{ad}",
        "\u{202e}",
        "\u{e0041}",
        "\0",
    ] {
        let split = format!("{}{hidden}{}", &token[..2], &token[2..]);
        let text = format!("see {split}{hidden}.");
        let hits = scan(&text, TextMode::Prose);
        let hit = hits.iter().find(|hit| hit.rule == "github-token").unwrap();
        assert_eq!(&text[hit.span.clone()], split, "{hidden:?}");
    }
}

#[test]
fn a_token_glued_to_a_word_by_a_hidden_character_is_found() {
    let text = format!("key\u{200b}{}", sample::token(&["np", "m_"], 36));
    assert!(found(&text, TextMode::Prose).contains(&"npm-token"));
}

#[test]
fn a_key_block_in_one_escaped_line_or_cut_off_is_found() {
    let block = sample::key_block("RSA ");
    let escaped = format!("{{\"private_key\":\"{}\"}}", block.replace('\n', "\\n"));
    assert_eq!(found(&escaped, TextMode::Prose), ["private-key-block"]);
    assert_eq!(found(&block[..110], TextMode::Prose), ["private-key-block"]);
}

#[test]
fn a_marker_in_prose_does_not_shield_the_key_after_it() {
    let text = format!(
        "It starts with -----BEGIN PRIVATE KEY----- like so:\n{}",
        sample::key_block("")
    );
    assert_eq!(found(&text, TextMode::Prose), ["private-key-block"]);
}

#[test]
fn entropy_counts_in_code_and_not_in_prose() {
    let text = format!("token: '{}'", sample::token(&[], 32));
    assert_eq!(found(&text, TextMode::Code), ["high-entropy-assignment"]);
    assert_eq!(found(&text, TextMode::Prose), [] as [&str; 0]);
}

#[test]
fn engineering_sentences_are_not_flagged() {
    let sentences = [
        "Auth middleware often swallows context cancellation errors — check for ctx.Err() after upstream calls",
        "The npm_config_registry variable wins over .npmrc; npm_lifecycle_event names the script.",
        "Rotate the AWS access key before the token expires; AKIA marks long-lived ids, ASIA temporary ones.",
        "Commit 9fceb02d0ae598e95dc970b74767f19372d61af8 broke `git clone https://github.com/ken/ken.git`.",
        "Set password: \"correct horse battery staple\" in the fixture, secret = \"not-a-secret-at-all-just-words\".",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 is the empty digest",
        "Use `token: ${{ secrets.GITHUB_TOKEN }}` in the workflow, never a ghp_ token.",
        "Listen on http://0.0.0.0:8080 and mail ken@corp.io; see https://docs.rs/regex/1.12.0/regex/#syntax",
        "let id = \"550e8400-e29b-41d4-a716-446655440000\"; // eyJ is how every JWT begins",
        "The risk-admin-service talks to task_live_view over xoxb-style headers.",
        "api_key = \"your_api_key_goes_here_please\"",
        "Größe ändert sich 😀 — 漢字も大丈夫",
    ];
    for text in sentences {
        for mode in [TextMode::Prose, TextMode::Code] {
            assert_eq!(found(text, mode), [] as [&str; 0], "{text}");
        }
    }
}

#[test]
fn findings_are_in_the_order_of_the_text() {
    let text = format!(
        "{} {} a\u{200b}b",
        sample::token(&["np", "m_"], 36),
        sample::token(&["gh", "p_"], 36)
    );
    assert_eq!(
        found(&text, TextMode::Prose),
        ["npm-token", "github-token", "hidden-zero-width"]
    );
}
