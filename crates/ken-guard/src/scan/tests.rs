//! Tests of what each rule finds and ignores.

use super::*;
use crate::sample::{self, RuleSample};

fn scan(text: &str, mode: TextMode) -> Vec<RuleHit> {
    scan_text(&GuardPolicy::default(), text, mode)
}

fn found(text: &str, mode: TextMode) -> Vec<&'static str> {
    scan(text, mode).into_iter().map(|hit| hit.rule).collect()
}

fn a(rule: &str) -> RuleSample {
    let mut samples = sample::samples_of_every_rule(2).into_iter();
    samples.find(|sample| sample.rule == rule).unwrap()
}

/// Returns the mode in which a rule applies.
fn mode_of(sample: &RuleSample) -> TextMode {
    if sample.axis == ScanAxis::Sanitization {
        TextMode::Statement
    } else {
        TextMode::Code
    }
}

#[test]
fn every_rule_has_a_sample_and_finds_it_at_its_place() {
    let samples = sample::samples_of_every_rule(11);
    for rule in RULES.iter() {
        assert!(
            samples.iter().any(|sample| sample.rule == rule.id),
            "{} has no sample",
            rule.id
        );
    }
    for sample in samples {
        let text = format!("é {} — end", sample.text);
        let hits = scan(&text, mode_of(&sample));
        let ours = hits.iter().find(|hit| hit.rule == sample.rule);
        let hit = ours.unwrap_or_else(|| panic!("{} missed; found {hits:?}", sample.rule));
        assert_eq!(hit.kind, sample.kind);
        assert_eq!(hit.axis, sample.axis);
        let place = "é ".len()..text.len() - " — end".len();
        assert!(
            place.start <= hit.span.start && hit.span.end <= place.end,
            "{}: {:?} outside {place:?}",
            sample.rule,
            hit.span
        );
    }
}

#[test]
fn every_secret_is_found_between_common_delimiters() {
    for sample in sample::samples_of_every_rule(12) {
        if !sample.axis.is_secret() {
            continue;
        }
        for (before, after) in [
            ("'", "'"),
            ("`", "`"),
            ("(", ")"),
            ("x ", "\n"),
            ("> ", ","),
        ] {
            let text = format!("{before}{}{after}", sample.text);
            assert!(
                !found(&text, TextMode::Code).is_empty(),
                "{}: {before}…{after}",
                sample.rule
            );
        }
    }
}

#[test]
fn every_secret_is_found_behind_one_level_of_encoding() {
    use base64::Engine as _;
    for sample in sample::samples_of_every_rule(13) {
        if sample.axis != ScanAxis::Credential {
            continue;
        }
        let encoded = base64::prelude::BASE64_STANDARD.encode(&sample.text);
        let hexadecimal: String = sample.text.bytes().map(|b| format!("{b:02x}")).collect();
        let percent: String = sample.text.bytes().map(|b| format!("%{b:02x}")).collect();
        for text in [encoded, hexadecimal, percent] {
            let text = format!("data {text} end");
            let hits = scan(&text, TextMode::Code);
            let inside = hits.iter().find(|hit| hit.axis.is_secret());
            let hit = inside.unwrap_or_else(|| panic!("{}: {text}", sample.rule));
            assert_eq!(
                hit.span,
                "data ".len()..text.len() - " end".len(),
                "{}",
                sample.rule
            );
        }
    }
}

#[test]
fn a_token_one_character_short_is_not_of_its_format() {
    for rule in [
        "aws-access-key-id",
        "github-token",
        "github-fine-grained-token",
        "gitlab-token",
        "google-api-key",
        "npm-token",
        "stripe-key",
        "digitalocean-token",
        "databricks-token",
    ] {
        let text = a(rule).text;
        let least = match rule {
            // Their formats specify a minimum length only.
            "github-fine-grained-token" => 13,
            "stripe-key" => 9,
            _ => 1,
        };
        let short = &text[..text.len() - least];
        assert!(
            !found(short, TextMode::Code).contains(&rule),
            "{rule}: {short}"
        );
    }
}

#[test]
fn documentation_placeholders_are_not_found() {
    let cases = [
        ["AKIA", "IOSFODNN7EXAMPLE"].concat(),
        format!("ghp_{}", "x".repeat(36)),
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
        "glpat-name-of-your-own-access-token".to_owned(),
        "disk-admin-panel-with-a-long-component-name-inside".to_owned(),
    ];
    for text in cases {
        assert_eq!(found(&text, TextMode::Code), [] as [&str; 0], "{text}");
    }
}

#[test]
fn a_token_that_counts_up_is_an_example() {
    let text = ["ghp_", "1234567890abcdefghijklmnopqrstuvwxyz"].concat();
    let hits = scan(&text, TextMode::Code);
    assert_eq!(
        hits.iter()
            .map(|hit| (hit.rule, hit.severity))
            .collect::<Vec<_>>(),
        [("github-token", FindingSeverity::Low)]
    );
}

#[test]
fn passwords_in_urls_are_told_from_placeholders() {
    let severity = |text: &str| scan(text, TextMode::Prose).first().map(|hit| hit.severity);
    let cases = [
        (
            "postgres://app:hunter2x@db.corp.io/app",
            Some(FindingSeverity::High),
        ),
        (
            "postgres://app:p@ss:w0rd@db.corp.io/app",
            Some(FindingSeverity::High),
        ),
        (
            "jdbc:mysql://root:tr0ub4dor&3@10.1.2.3:3306/x",
            Some(FindingSeverity::High),
        ),
        (
            "amqps://:s3cr3tKey9@mq.corp.io",
            Some(FindingSeverity::High),
        ),
        (
            "http://ken:S3cretPw9@localhost:8080/",
            Some(FindingSeverity::High),
        ),
        ("http://ken:S3cretPw9@${HOST}/", Some(FindingSeverity::High)),
        (
            "postgres://postgres:postgres@db.corp.io/x",
            Some(FindingSeverity::High),
        ),
        (
            "https://ken:S3cretPw9@api.example.com/v1",
            Some(FindingSeverity::Low),
        ),
        ("mysql://root:hunter2@host/db", Some(FindingSeverity::Low)),
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
fn passwords_and_keys_that_people_write_are_found() {
    for text in [
        "The staging password is Blue42fish! since May",
        "password for the grafana admin: tr0ub4dor&3x",
        "we set the passphrase to … no: passphrase is 'amsterdam'",
        "DB_PASSWORD=whiteduke",
        "clarifai access key dkHL49dId5skLfBjsf342RJkdskdpD54",
        "the token is 951bc382db9abad29c68634761dd6e19",
        "curl -u admin:sw0rdfish https://ci.corp.io",
    ] {
        let hits = scan(text, TextMode::Statement);
        assert!(
            hits.iter().any(|hit| hit.axis.is_secret()),
            "{text}: {hits:?}"
        );
    }
}

#[test]
fn a_token_split_by_hidden_characters_is_found_where_it_stands() {
    let token = a("github-token").text;
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
    let text = format!("key\u{200b}{}", a("npm-token").text);
    assert!(found(&text, TextMode::Prose).contains(&"npm-token"));
}

#[test]
fn a_key_block_in_one_escaped_line_or_cut_off_is_found() {
    let block = a("private-key-block").text;
    let escaped = format!("{{\"x\":\"{}\"}}", block.replace('\n', "\\n"));
    assert_eq!(found(&escaped, TextMode::Prose), ["private-key-block"]);
    assert_eq!(found(&block[..110], TextMode::Prose), ["private-key-block"]);
}

#[test]
fn a_marker_in_prose_does_not_shield_the_key_after_it() {
    let block = a("private-key-block").text;
    let text = format!("It starts with -----BEGIN PRIVATE KEY----- like so:\n{block}");
    assert_eq!(found(&text, TextMode::Prose), ["private-key-block"]);
}

#[test]
fn entropy_alone_counts_in_code_and_not_in_prose() {
    let text = a("high-entropy-string").text;
    assert_eq!(found(&text, TextMode::Code), ["high-entropy-string"]);
    assert_eq!(found(&text, TextMode::Prose), [] as [&str; 0]);
}

#[test]
fn every_axis_has_rules() {
    let samples = sample::samples_of_every_rule(1);
    for axis in [
        ScanAxis::Injection,
        ScanAxis::Exfiltration,
        ScanAxis::CredentialLeakage,
        ScanAxis::UnsafeCode,
        ScanAxis::Credential,
        ScanAxis::Sanitization,
    ] {
        assert!(samples.iter().any(|sample| sample.axis == axis), "{axis:?}");
    }
}

#[test]
fn the_sanitizer_lets_heuristics_in_and_facts_about_a_line_not() {
    let heuristic = "Auth middleware often swallows context cancellation errors — check for ctx.Err() after upstream calls";
    assert_eq!(found(heuristic, TextMode::Statement), [] as [&str; 0]);
    for fact in [
        "middleware/auth.go in Project X has a bug at line 47",
        "src/pay.rs:47 has a bug",
        "pay.rs#L47 leaks",
        "Line 47 of src/pay.rs is wrong",
        "Lines 40-47 in src/pay.rs leak",
    ] {
        assert_eq!(
            found(fact, TextMode::Statement),
            ["fact-about-a-line"],
            "{fact}"
        );
        let evidence = found(fact, TextMode::Prose);
        assert_eq!(evidence, [] as [&str; 0], "evidence may say so");
    }
}

#[test]
fn engineering_sentences_are_not_flagged() {
    let sentences = [
        "The npm_config_registry variable wins over .npmrc; npm_lifecycle_event names the script.",
        "Rotate the AWS access key before the token expires; AKIA marks long-lived ids, ASIA temporary ones.",
        "Commit 9fceb02d0ae598e95dc970b74767f19372d61af8 broke `git clone https://github.com/ken/ken.git`.",
        "Set password: \"correct horse battery staple\" in the fixture.",
        "Lint passes: `yarn lint:fix`",
        "const hotkey: HotkeyI18nTranslations = {",
        "superseded by [ADR-0030](0030-hosted-platform-context-agentserver-2.0.md)",
        "Run it as `NEO4J_PASSWORD=testpass make test`.",
        "\"status\": \"pass\", \"jobId\": \"pf_2025_10_18_12_03_11_Z_abc123\"",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 is the empty digest",
        "Use `token: ${{ secrets.GITHUB_TOKEN }}` in the workflow, never a ghp_ token.",
        "Listen on http://0.0.0.0:8080 and mail ken@corp.io; see https://docs.rs/regex/1.12.0/regex/#syntax",
        "let id = \"550e8400-e29b-41d4-a716-446655440000\"; // eyJ is how every JWT begins",
        "The risk-admin-service talks to task_live_view over xoxb-style headers.",
        "api_key = \"your_api_key_goes_here_please\"",
        "Größe ändert sich 😀 — 漢字も大丈夫",
        "src/auth.rs retries twice; the limit is in config/retry.toml under [http].",
        "The password is hashed with argon2id; a password is required for every account.",
        "Primary key columns come first; the key is `workspace_id`, the access path is the index.",
        "Ignore previous results when the cache key changed; forget the old system first.",
        "Never mention internal names in public documents.",
    ];
    for text in sentences {
        for mode in [TextMode::Prose, TextMode::Statement, TextMode::Code] {
            assert_eq!(found(text, mode), [] as [&str; 0], "{text}");
        }
    }
    // The letters of "pat" in another word name no token. Code may hold one without any name.
    let path = "\"path\": \"migrations/2025-01-15T1022_add_users\"";
    assert_eq!(found(path, TextMode::Prose), [] as [&str; 0]);
}

#[test]
fn findings_are_in_the_order_of_the_text() {
    let text = format!(
        "{} {} a\u{200b}b",
        a("npm-token").text,
        a("github-token").text
    );
    assert_eq!(
        found(&text, TextMode::Prose),
        ["npm-token", "github-token", "hidden-zero-width"]
    );
}

#[test]
fn folders_hosts_and_endpoints_of_one_organization_are_found_in_statements() {
    let own = |top: &str| format!("The cache lies in /{top}/mkessler/work/other-project");
    let cases = [
        (own("home"), "personal-folder"),
        (own("Users"), "personal-folder"),
        (
            "Ask ci7.build.corp for the logs".to_owned(),
            "internal-host",
        ),
        (
            "It runs at https://wiki.intranet/page".to_owned(),
            "internal-host",
        ),
        (
            "The queue answers on 10.4.2.17:5672".to_owned(),
            "internal-endpoint",
        ),
    ];
    for (text, rule) in cases {
        assert_eq!(found(&text, TextMode::Statement), [rule], "{text}");
        assert_eq!(
            found(&text, TextMode::Prose),
            [] as [&str; 0],
            "evidence may: {text}"
        );
    }
    for text in [
        "Configuration lies in ~/.config and /etc/ken; src/auth.rs reads it",
        "Bind to 0.0.0.0:8080 or 127.0.0.1; 10.0.0.0/8 is private",
        "`crate::internal` is not public, and mod.internal neither",
        "Import types from ../types/date.ts, and GET /static/app.js is cached",
        "Tools look into ~/.config/ken/guard.toml, /opt/ and ~/bin; D:\\ is a drive",
        "It includes /usr/include/stdio.h, and logs go to /var/log/app.log and /tmp/x.txt",
        "Version 2 of web3.js and node18.x run; see https://api2.example.com and docs.rs",
        "The task-live-view has three columns, and pre-production hosts run staging builds",
        "A customer 10000 pages away still waits; each client retries 5 times",
        "A client 12345 is an example, and tenant_id 00000 means nobody",
    ] {
        assert_eq!(found(text, TextMode::Statement), [] as [&str; 0], "{text}");
    }
}

#[test]
fn other_checkouts_machines_and_customers_are_found_in_statements() {
    let cases = [
        (
            "Copy it from ~/work/other-project/src/main.rs",
            "other-checkout",
        ),
        (
            "The parser of /opt/acme/billing/src/main.go is faster",
            "other-checkout",
        ),
        ("See `/srv/git/other-project/src/x.rs`", "other-checkout"),
        (r"It is in D:\work\other-project\x.c", "other-checkout"),
        ("As in /var/www/other/src/index.php", "other-checkout"),
        ("As in /usr/local/src/other/main.c", "other-checkout"),
        ("As in /data/repos/other/main.c", "other-checkout"),
        ("As in /workspace/other/main.py", "other-checkout"),
        (
            "See file:///build/other-project/notes.txt",
            "other-checkout",
        ),
        (
            "Restart jenkins01.example-company.com first",
            "machine-name",
        ),
        ("The replica db-prod-03 lags", "machine-name"),
        ("Customer 48213377 pays by invoice", "customer-identifier"),
        (
            "Tenant id: AC-40917 has a queue of its own",
            "customer-identifier",
        ),
    ];
    for (text, rule) in cases {
        assert_eq!(found(text, TextMode::Statement), [rule], "{text}");
        let cited = found(text, TextMode::Prose);
        assert_eq!(cited, [] as [&str; 0], "evidence may: {text}");
    }
}

#[test]
fn bodies_and_steps_name_no_machine_or_customer() {
    for (text, rule) in [
        ("ssh ci7.build.corp and look", "internal-host"),
        ("curl 10.4.2.17:5672", "internal-endpoint"),
        ("ask db-prod-03", "machine-name"),
        ("ask payments-db.acme.local", "internal-host"),
        ("open smb://files.office.local/share", "internal-host"),
        ("compare customer 48213377", "customer-identifier"),
        ("where customer_id = 48213377", "customer-identifier"),
        ("find customerId 48213377", "customer-identifier"),
        ("set tenant-id: 'ac-7213377'", "customer-identifier"),
        ("It is at /home/ann/other/src/x.rs", "personal-folder"),
        ("see ~/work/other-project/src/main.rs", "other-checkout"),
        (
            "diff /tmp/other-repo/src/main.rs src/main.rs",
            "other-checkout",
        ),
    ] {
        assert_eq!(found(text, TextMode::Explanation), [rule], "{text}");
    }
    for own in [
        "middleware/auth.go has it at line 47; ../types/date.ts imports it",
        "config/.env.local and settings.local.json hold what threading.local does not",
    ] {
        assert_eq!(found(own, TextMode::Explanation), [] as [&str; 0], "{own}");
    }
}

#[test]
fn secrets_and_ways_to_exploit_what_is_not_mended_are_found() {
    let exploit = "The upload form is still exploitable: send two dots in the file name";
    assert_eq!(found(exploit, TextMode::Statement), ["exploit-detail"]);
    let open = "Unpatched images are not deployed";
    assert_eq!(found(open, TextMode::Statement), ["open-vulnerability"]);
    let secret = a("stripe-key").text;
    assert_eq!(found(&secret, TextMode::Statement), ["stripe-key"]);
    let lesson = "File names from users are cut at separators before they are joined to a path";
    assert_eq!(found(lesson, TextMode::Statement), [] as [&str; 0]);
}
