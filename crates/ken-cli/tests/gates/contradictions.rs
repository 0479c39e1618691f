//! `ken health contradictions` and `ken inbox resolve` on the command line.

use crate::gates::{add_entry, gate_findings, repository_with_ledger};

#[test]
fn a_pair_is_shown_side_by_side_flagged_once_and_gone_when_dismissed() {
    let env = repository_with_ledger();
    let one = add_entry(&env, "learning", "Use tabs");
    let other = add_entry(&env, "learning", "Use spaces");
    let (first, second) = if one < other {
        (&one, &other)
    } else {
        (&other, &one)
    };
    let run = env.run(["health", "contradictions"]).success();
    assert!(
        run.stdout.starts_with("alternative: indentation: "),
        "{run}"
    );
    assert!(
        run.stdout
            .lines()
            .next()
            .is_some_and(|it| it.ends_with("  new")),
        "{run}"
    );
    let flagged = env.run(["health", "contradictions", "--flag"]).success();
    assert!(
        flagged.stderr.contains("1 contradiction, 1 of them new"),
        "{flagged}"
    );
    let again = env.run(["health", "contradictions", "--flag"]).success();
    assert!(
        again.stderr.contains("1 contradiction, 0 of them new"),
        "{again}"
    );
    assert!(!again.stdout.contains("new"), "{again}");
    std::fs::remove_dir_all(env.root().join(".ken/.index")).expect("the index is a folder");
    let rebuilt = env.run(["health", "contradictions"]).success();
    assert_eq!(rebuilt.stdout, again.stdout, "the flag is in the ledger");
    let _ = env
        .run(["health", "contradictions", "--dismiss", first, second])
        .success();
    let run = env.run(["health", "contradictions", "--flag"]).success();
    assert_eq!(run.stdout, "", "{run}");
    assert!(run.stderr.contains("no contradictions found"), "{run}");
}

#[test]
fn the_report_is_json() {
    let env = repository_with_ledger();
    let _ = add_entry(&env, "commit-norm", "Use tabs");
    let _ = add_entry(&env, "commit-norm", "Use spaces");
    let json = env
        .run(["health", "contradictions", "--format", "json"])
        .success()
        .json();
    assert_eq!(json["schema"], "ken.contradictions.v1");
    assert_eq!(json["rule"], "alternative");
    assert_eq!(json["blocks"], true);
    assert_eq!(json["flagged"], false);
    assert_eq!(json["first"]["kind"], "commit-norm");
}

#[test]
fn only_a_person_settles_what_norms_say() {
    let env = repository_with_ledger();
    let one = add_entry(&env, "commit-norm", "Use tabs");
    let other = add_entry(&env, "commit-norm", "Use spaces");
    for args in [
        vec!["inbox", "resolve", &one, &other, "--both"],
        vec!["inbox", "resolve", &one, &other, "--keep", &one],
        vec!["health", "contradictions", "--dismiss", &one, &other],
    ] {
        let run = env.run(["--by", "agent:helper"].into_iter().chain(args));
        assert_eq!(run.exit, 1, "{run}");
        let reasons = ["requires a person", "a person wrote or verified it"];
        assert!(reasons.iter().any(|it| run.stderr.contains(it)), "{run}");
    }
    let _ = env
        .run(["inbox", "resolve", &one, &other, "--both"])
        .success();
    let run = env.run(["health", "contradictions"]).success();
    assert_eq!(run.stdout, "", "{run}");
    let run = env.run(["inbox", "resolve", &one, &other, "--both"]);
    assert_eq!(run.exit, 1, "{run}");
}

#[test]
fn a_scope_keeps_both_and_tells_them_apart() {
    let env = repository_with_ledger();
    let one = add_entry(&env, "commit-norm", "Use tabs");
    let other = add_entry(&env, "commit-norm", "Use spaces");
    let (go, web) = (format!("{one}=go"), format!("{other}=typescript"));
    let args = [
        "inbox", "resolve", &one, &other, "--scope", &go, "--scope", &web,
    ];
    let run = env.run(args).success();
    assert!(
        run.stderr.contains("kept both, each limited to its tag"),
        "{run}"
    );
    let shown = env.run(["show", &one, "--format", "json"]).success();
    assert!(shown.stdout.contains("\"go\""), "{shown}");
    assert_eq!(env.run(["health", "contradictions"]).success().stdout, "");
    for bad in ["nothing", "N-zzzzzzzz=go"] {
        let run = env.run(["inbox", "resolve", &one, &other, "--scope", bad]);
        assert_ne!(run.exit, 0, "{run}");
    }
}

#[test]
fn competitors_come_with_id_title_and_confidence() {
    let env = repository_with_ledger();
    let one = add_entry(
        &env,
        "learning",
        "Indent the importer with tabs, which its diff tool aligns",
    );
    let other = add_entry(
        &env,
        "learning",
        "Indent the importer with spaces, which its diff tool aligns",
    );
    let search = ["search", "how is the importer indented", "--tier"];
    for tier in ["standard", "full"] {
        let args = search.into_iter().chain([tier, "--context"]);
        let run = env.run(args).success();
        let wanted = format!(
            "  competing_with: [{other}] Indent the importer with spaces, which its diff tool aligns (confidence 0.50)"
        );
        assert!(run.stdout.contains(&wanted), "{tier}: {run}");
        assert!(
            run.stdout.contains(&format!("  competing_with: [{one}] ")),
            "{run}"
        );
        let args = search.into_iter().chain([tier, "--format", "json"]);
        let answer = env.run(args).success().json();
        let results = answer["results"].as_array().expect("results");
        let of_one = results.iter().find(|it| it["id"] == one.as_str());
        let title = "Indent the importer with spaces, which its diff tool aligns";
        assert_eq!(
            of_one.expect("the first entry is found")["competing_with"],
            serde_json::json!([{"id": other, "title": title, "confidence": 0.5}]),
            "{tier}"
        );
    }
    let run = env
        .run(search.into_iter().chain(["summary", "--context"]))
        .success();
    assert!(!run.stdout.contains("competing_with"), "{run}");
    // The pairs follow from the ledger alone, so an index that a search rebuilds has them too.
    std::fs::remove_dir_all(env.root().join(".ken/.index")).expect("the index is a folder");
    let run = env
        .run(search.into_iter().chain(["full", "--context"]))
        .success();
    assert!(run.stdout.contains("competing_with"), "{run}");
}

#[test]
fn opposite_polarity_contradicts_if_more_than_three_tenths_of_the_tags_are_shared() {
    let tags: Vec<String> = (0..10).map(|it| format!("tag{it}")).collect();
    for (polarity, common, is_found) in [
        ("negative", 3, false),
        ("negative", 4, true),
        ("positive", 4, false),
    ] {
        let env = repository_with_ledger();
        let add = |statement: &str, polarity: &str, tags: &[String]| {
            let mut args = vec!["add", statement, "--kind", "learning", "--cite", "pr:3"];
            args.extend(["--polarity", polarity]);
            args.extend(tags.iter().flat_map(|it| ["--tag", it.as_str()]));
            let _ = env.run(args).success();
        };
        add(
            "Pooling connections speeds the importer up",
            "positive",
            &tags,
        );
        add(
            "The importer starves when connections are pooled",
            polarity,
            &tags[..common],
        );
        let run = env.run(["health", "contradictions"]).success();
        let found = run.stdout.starts_with("polarity: ");
        assert_eq!(found, is_found, "{polarity}, {common} of 10: {run}");
    }
}

#[test]
fn a_flag_has_no_effect_after_an_edit_that_removes_the_contradiction() {
    let env = repository_with_ledger();
    let one = add_entry(&env, "learning", "Use tabs in the importer");
    let other = add_entry(&env, "learning", "Use spaces in the importer");
    let _ = env.run(["health", "contradictions", "--flag"]).success();
    let conflicts = || {
        let args = ["search", "importer", "--mean", "--format", "json"];
        let found = env.run(args).success().json();
        let results = found["results"].as_array().expect("results").clone();
        let of_one = results.iter().find(|it| it["id"] == one.as_str());
        of_one.expect("the first entry is found")["conflicts"].clone()
    };
    assert_eq!(conflicts(), serde_json::json!([other]));
    let edit = |statement: &str| {
        let args = ["edit", &other, "--statement", statement];
        let _ = env.run(args).success();
    };
    edit("Prefer short functions in the importer");
    assert_eq!(conflicts(), serde_json::json!([]));
    let run = env.run(["health", "contradictions"]).success();
    assert!(run.stderr.contains("no contradictions found"), "{run}");
    let verified = env.run(["verify"]).success();
    let findings = gate_findings(&verified, "knowledge.contradictions");
    assert_eq!(findings, [""; 0], "{verified}");
    let drift = env.run(["health", "drift"]).success();
    assert!(drift.stdout.contains("No drift found."), "{drift}");
    edit("Use spaces in the importer");
    assert_eq!(conflicts(), serde_json::json!([other]));
}
