//! Pins, mutes and annotations of one clone.

use crate::cli::search::ledger_with_lessons;
use crate::cli::support::{add_lesson, commit_all, repository_with_ledger};

#[test]
fn a_pin_raises_and_a_mute_withholds_and_neither_changes_what_is_true() {
    let (env, ids) = ledger_with_lessons();
    let ask = || {
        let args = [
            "search",
            "the session cache and the window",
            "--mean",
            "--threshold",
            "none",
        ];
        let answer = env.run(args.into_iter().chain(["--format", "json"]));
        answer.success().json()
    };
    let before = ask();
    let score = |answer: &serde_json::Value, id: &str| {
        let results = answer["results"].as_array().unwrap().clone();
        let hit = results.into_iter().find(|hit| hit["id"] == id);
        hit.map(|hit| hit["score"].as_f64().unwrap())
    };
    let _ = env
        .run(["entry", "pin", &ids[2], "--note", "for the release"])
        .success();
    let _ = env.run(["entry", "mute", &ids[1]]).success();
    let after = ask();
    let raised = score(&after, &ids[2]).unwrap() - score(&before, &ids[2]).unwrap();
    assert!((raised - 0.15).abs() < 1e-9, "{raised}");
    assert_eq!(score(&after, &ids[1]), None);
    assert_eq!(after["withheld"][0]["why"], "muted");
    let _ = env.run(["entry", "pin", &ids[2], "--off"]).success();
    let _ = env.run(["entry", "mute", &ids[1], "--off"]).success();
    assert_eq!(ask()["results"][0]["score"], before["results"][0]["score"]);
    let shown = |id: &str| env.run(["show", id, "--format", "json"]).success().json();
    let believed = |entry: serde_json::Value| {
        let facts = ["status", "confirmation", "tallies", "history"];
        facts.map(|it| entry[it].clone())
    };
    let fresh = believed(shown(&ids[1]));
    let _ = env.run(["entry", "invalidate", &ids[1]]).success();
    assert_eq!(ask()["withheld"][0]["why"], "invalidated");
    assert_eq!(believed(shown(&ids[1])), fresh);
    let _ = env.run(["feedback", &ids[0], "--helpful"]).success();
    let confidence = || {
        let text = env.run(["show", &ids[0]]).success().stdout;
        let line = text.lines().find(|it| it.starts_with("confidence"));
        (
            line.unwrap().to_owned(),
            shown(&ids[0])["tallies"].to_string(),
        )
    };
    let untouched = confidence();
    assert!(untouched.0.starts_with("confidence 0.52"), "{untouched:?}");
    for overlay in ["pin", "mute", "invalidate", "annotate"] {
        let set = ["entry", overlay, &ids[0], "--note", "for now"];
        let _ = env.run(set).success();
        assert_eq!(confidence(), untouched, "{overlay}");
    }
    let log = env.run(["log", &ids[0], "--all", "--format", "json"]);
    let log = log.success().stdout;
    assert_eq!(log.matches("feedback.given").count(), 1, "{log}");
    assert!(!log.contains("run.effects") && !log.contains("confidence.reset"));
}

#[test]
fn marks_of_operators_are_events_and_survive_a_new_index() {
    let (env, ids) = ledger_with_lessons();
    let marks = ["pin", "mute", "invalidate", "annotate"];
    for mark in marks {
        let set = ["entry", mark, &ids[0], "--note", "for the release"];
        let _ = env.run(set).success();
    }
    let show = || env.run(["show", &ids[0]]).success().stdout;
    let shown = show();
    for mark in marks {
        let line = format!("{mark}: for the release\n");
        assert!(shown.contains(&line), "{line} in {shown}");
    }
    let events = env.read(".ken/.local/overlays.jsonl");
    assert_eq!(
        events.lines().count(),
        3,
        "the annotation is shared: {events}"
    );
    for (event, mark) in events.lines().zip(marks) {
        assert!(event.contains("\"type\":\"overlay.set\""), "{event}");
        let overlay = format!("\"overlay\":\"{mark}\"");
        assert!(event.contains(&overlay), "{event}");
    }
    std::fs::remove_dir_all(env.root().join(".ken/.index")).expect("the index is a folder");
    assert_eq!(show(), shown);
}

#[test]
fn overlays_belong_to_one_clone_and_are_shown() {
    let env = repository_with_ledger();
    let (pinned, muted) = (
        add_lesson(&env, "Retries are bounded"),
        add_lesson(&env, "Timeouts are logged"),
    );
    commit_all(&env, "know");
    let note = ["entry", "pin", &pinned, "--note", "for the release"];
    let _ = env.run(note).success();
    let _ = env.run(["entry", "mute", &muted]).success();
    assert_eq!(env.git(["status", "--porcelain"]), "");
    let run = env.run(["show", &pinned]).success();
    assert!(run.stdout.contains("candidate  pinned\n"), "{run}");
    assert!(run.stdout.contains("pin: for the release\n"), "{run}");
    let run = env.run(["list"]).success();
    assert!(run.stdout.contains("Timeouts are logged  muted"), "{run}");
    // The overlays survive an index that is built anew.
    std::fs::remove_dir_all(env.root().join(".ken/.index")).expect("the index is a folder");
    let run = env.run(["list"]).success();
    assert!(run.stdout.contains("Retries are bounded  pinned"), "{run}");
    // Another clone has neither.
    let _ = env.git(["clone", "-q", ".", "../other"]);
    let other = env
        .ken()
        .current_dir(env.root().join("../other"))
        .arg("list")
        .output();
    let other = String::from_utf8(other.expect("ken runs").stdout).expect("UTF-8");
    assert!(other.contains("Retries are bounded"), "{other}");
    assert!(
        !other.contains("pinned") && !other.contains("muted"),
        "{other}"
    );
    let _ = env.run(["entry", "pin", &pinned, "--off"]).success();
    let run = env.run(["show", &pinned]).success();
    assert!(!run.stdout.contains("pinned"), "{run}");
    let again = env.run(["entry", "pin", &pinned, "--off"]);
    assert_eq!(again.exit, 1, "{again}");
}
