//! Tests of the condition parser: accepted and rejected texts, and round trips.

use proptest::prelude::*;

use super::*;

#[test]
fn every_kind_of_condition_reads_back_as_written() {
    for text in [
        "file:src/**/*.{rs,toml}",
        "not file:src/legacy/**",
        "symbol:src/pay.rs#Ledger::charge",
        "symbol:docs/x.md#Section two",
        "symbol:src/pay.rs#Ledger::charge@s1:0123456789abcdef",
        "text:src/**/*.py~^import\\s+(os|sys)~?",
        "not code:rust~$X.unwrap()",
        "code:python~def $F($$$ARGS): $$$",
        "config:Cargo.toml#package.edition=2024",
        "config:package.json#dependencies.\"left.pad\"==1",
        "config:a/b.yml#services[0].image=",
        "pkg:cargo/tokio@>=1.40",
        "not pkg:npm/%40scope/name@vers:npm/>=1|<2",
        "fact:monorepo",
        "not fact:team/payments",
    ] {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn only_what_reads_as_a_fingerprint_is_one() {
    for (text, name, fingerprint) in [
        (
            "symbol:a.rs#f@0123456789abcdef",
            "f",
            Some("0123456789abcdef"),
        ),
        (
            "symbol:a.rs#f@s1:0123456789abcdef",
            "f",
            Some("s1:0123456789abcdef"),
        ),
        ("symbol:a.md#Mail me@somewhere", "Mail me@somewhere", None),
        ("symbol:a.rs#f@0123", "f@0123", None),
    ] {
        let ConditionClause::Symbol(symbol) = parse(text).unwrap().clause else {
            unreachable!("the condition is about a symbol");
        };
        assert_eq!(
            (symbol.name.as_str(), symbol.fingerprint.as_deref()),
            (name, fingerprint)
        );
    }
}

#[test]
fn refusals_say_what_to_write() {
    for (text, why) in [
        ("", "a condition is empty"),
        ("weather:rain", "start with file:"),
        ("not not file:a", "start with file:"),
        ("not  file:a", "start with file:"),
        ("Not file:a", "start with file:"),
        ("file:/etc/passwd", "relative to the repository"),
        ("file:src/", "relative to the repository"),
        ("symbol:src/pay.rs", "write symbol:PATH#NAME"),
        ("symbol:./a.rs#x", "write symbol:PATH#NAME"),
        ("text:src/*.rs", "write text:GLOB~REGEX"),
        ("text:src/*.rs~", "write text:GLOB~REGEX"),
        ("text:[~x", "`[` has no `]`"),
        ("code:rust", "write code:LANGUAGE~PATTERN"),
        ("code:cobol~x", "known: bash, c, cpp"),
        ("config:Cargo.toml", "write config:PATH#KEY=VALUE"),
        ("config:Cargo.toml#a", "write config:PATH#KEY=VALUE"),
        ("config:../x.toml#a=1", "write config:PATH#KEY=VALUE"),
        ("config:a.ini#a=1", "ending in .toml"),
        ("config:a.toml#a..b=1", "write a key as"),
        ("pkg:cargo/tokio", "any version is @*"),
        ("fact:Two words", "a fact has only lowercase"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    assert!(parse(&format!("file:{}", "a".repeat(1020))).is_err());
    assert!(parse("file:a\u{7}b").is_err());
}

#[test]
fn a_diff_is_matched_without_looking_at_files() {
    for (text, touched, untouched) in [
        ("file:src/**", "src/a.rs", "docs/a.md"),
        ("not file:src/**", "src/a.rs", "docs/a.md"),
        ("text:*.md~x", "a.md", "docs/a.md"),
        ("symbol:src/a.rs#f", "src/a.rs", "src/b.rs"),
        ("config:a.toml#k=v", "a.toml", "b.toml"),
        ("code:rust~f()", "src/x/y.rs", "src/x/y.py"),
        ("pkg:npm/x@1", "web/yarn.lock", "Cargo.lock"),
        ("fact:x", FACTS_PATH, "config.toml"),
    ] {
        let condition = parse(text).unwrap();
        assert!(condition.may_depend_on(touched), "{text} {touched}");
        assert!(!condition.may_depend_on(untouched), "{text} {untouched}");
    }
}

fn any_glob() -> impl Strategy<Value = Glob> {
    let part = prop_oneof![
        Just("**".to_owned()),
        "[a-z*?]{0,3}[a-z]",
        "[a-z]{1,3}\\[[a-f]-[g-z]\\]",
        "\\{[a-z]{1,2},[a-z*]{0,1}\\}\\.rs",
    ];
    proptest::collection::vec(part, 1..4)
        .prop_filter_map("two stars", |parts| parts.join("/").parse().ok())
}

fn any_path(ending: &'static str) -> impl Strategy<Value = String> {
    "[a-zA-Z0-9_-]{1,8}(/[a-zA-Z0-9_-]{1,8}){0,3}".prop_map(move |path| format!("{path}{ending}"))
}

fn any_package() -> impl Strategy<Value = ConditionClause> {
    let name = prop_oneof![
        "(cargo|gem|pypi)/[a-z][a-z0-9_-]{0,8}",
        "(maven|composer)/[a-z][a-z0-9.]{0,8}/[a-z][a-z0-9-]{0,8}",
        "npm/((%40|@)[a-z]{1,5}/)?[a-z][a-z0-9-]{0,8}",
        "golang/[a-z]{1,5}\\.com/[a-z]{1,5}(/v[2-9])?",
    ];
    let version = "[0-9]{1,2}(\\.[0-9]{1,3}){0,2}";
    let range = prop_oneof![
        Just("*".to_owned()),
        "v?[0-9]{1,2}(\\.[0-9]{1,3}){0,2}(-rc\\.[0-9])?",
        (version, version).prop_map(|(low, high)| format!(">={low}|<10{high}")),
        version.prop_map(|version| format!("!={version}")),
    ];
    (name, range, any::<bool>()).prop_map(|(name, range, long)| {
        let scheme = name.split('/').next().unwrap_or_default();
        let prefix = if long {
            format!("vers:{scheme}/")
        } else {
            String::new()
        };
        ConditionClause::Package(
            PackageRequirement::parse(&format!("{name}@{prefix}{range}")).unwrap(),
        )
    })
}

fn any_condition() -> impl Strategy<Value = ParsedCondition> {
    let fingerprint = proptest::option::of("([a-z][0-9]:)?[0-9a-f]{16,32}");
    let name = "[a-zA-Z_][a-zA-Z0-9_:.]{0,12}";
    let clause = prop_oneof![
        any_glob().prop_map(ConditionClause::File),
        (any_path(".rs"), name, fingerprint).prop_map(|(path, name, fingerprint)| {
            ConditionClause::Symbol(SymbolClause {
                path,
                name,
                fingerprint,
            })
        }),
        (any_glob(), "[ -~]{0,20}[!-~]")
            .prop_map(|(files, regex)| ConditionClause::Text { files, regex }),
        (
            proptest::sample::select(PatternLanguage::ALL.to_vec()),
            "[ -~]{0,20}[!-~]"
        )
            .prop_map(|(language, pattern)| ConditionClause::Code { language, pattern }),
        (
            any_path(".toml"),
            "[a-z]{1,4}(\\.[a-z]{1,4}|\\[[0-9]\\]|\\.\"[ -!#-~]{1,5}\"){0,3}",
            "[!-~]{0,9}"
        )
            .prop_map(|(path, key, value)| {
                ConditionClause::Config {
                    path,
                    key: key.parse().unwrap(),
                    value,
                }
            }),
        any_package(),
        "[a-z][a-z0-9._/-]{0,12}".prop_map(ConditionClause::Fact),
    ];
    let sense = prop_oneof![Just(ConditionSense::Plain), Just(ConditionSense::Negated)];
    (sense, clause).prop_map(|(sense, clause)| ParsedCondition { sense, clause })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_048))]

    #[test]
    fn what_is_printed_reads_back_as_the_same_condition(condition in any_condition()) {
        prop_assert_eq!(parse(&condition.to_string()), Ok(condition));
    }

    #[test]
    fn what_is_read_prints_as_it_was_written(
        text in "(not )?(file|symbol|text|code|config|pkg|fact):[ -~é]{0,40}"
    ) {
        if let Ok(condition) = parse(&text) {
            prop_assert_eq!(condition.to_string(), text.trim());
        }
    }

    #[test]
    fn nothing_makes_the_parser_panic(text in any::<String>(), path in any::<String>()) {
        let _ = parse(&text);
        for scheme in ["file:", "symbol:a#", "text:", "code:rust~", "config:a.toml#", "pkg:npm/", "fact:"] {
            if let Ok(condition) = parse(&format!("{scheme}{text}")) {
                let _ = condition.may_depend_on(&path);
            }
        }
    }
}
