//! `ken run`, `ken observe` and what they teach, as people and programs see it.

use ken_testkit::test_env::TestEnv;

use crate::support::{lesson, plain};

const CLAIM: &str = "A retried payment is charged once because the request carries its key";

/// A ledger with a claim an agent wrote, and a run of two agents that somebody watches.
fn review() -> (TestEnv, String) {
    let env = plain();
    let args = [
        "add",
        "--by",
        "agent:author",
        "--kind",
        "learning",
        "--cite",
        "pr:142",
    ];
    let args = args.into_iter().chain(["--statement", CLAIM]);
    let id = env.run(args).success().line();
    let open = ["run", "open", "review-1", "--task", "look at payments"];
    let open = open.into_iter().chain(["--witness", "orchestrator"]);
    let open = open.chain(["--agent", "a,role=reviewer,lens=security", "--agent", "b"]);
    let _ = env.run(open).success();
    (env, id)
}

#[test]
fn a_run_is_opened_noted_shown_and_closed() {
    let (env, id) = review();
    let as_a = ["--by", "agent:a", "--run", "review-1"];
    let _ = env
        .run(["show", id.as_str()].into_iter().chain(as_a))
        .success();
    let observed = env.run(["observe", "--statement", CLAIM].into_iter().chain(as_a));
    insta::assert_snapshot!(observed, @"");
    let as_b = ["--by", "agent:b", "--run", "review-1"];
    let _ = env
        .run(["observe", "--statement", CLAIM].into_iter().chain(as_b))
        .success();
    insta::assert_snapshot!(env.run(["run", "show", "review-1"]), @"");
    insta::assert_snapshot!(env.run(["run", "close", "review-1", "--outcome", "succeeded", "--quality", "0.9"]), @"");
    insta::assert_snapshot!(env.run(["run", "list"]), @"");
    insta::assert_snapshot!(env.run(["show", "--explain", id.as_str()]), @"");
}

#[test]
fn what_a_run_is_told_of_another_folder_or_run_is_refused_with_a_way_out() {
    let (env, _) = review();
    insta::assert_snapshot!(env.run(["run", "open", "review-1"]), @"");
    insta::assert_snapshot!(env.run(["run", "close", "nobody", "--outcome", "failed"]), @"");
    insta::assert_snapshot!(env.run(["run", "open", "../x"]), @"");
    insta::assert_snapshot!(env.run(["run", "open", "x", "--agent", "a,colour=red"]), @"");
}

#[test]
fn programs_read_runs_as_json() {
    let (env, id) = review();
    let note = [
        "run", "note", "--by", "agent:a", "--run", "review-1", "--format", "json",
    ];
    let noted = env.run(
        note.into_iter()
            .chain(["--saw", id.as_str(), "--used", id.as_str()]),
    );
    let noted = noted.success().json();
    assert_eq!(noted["schema"], "ken.run.v1");
    assert_eq!(noted["agents"][0]["used"][0], id.as_str());
    let close = [
        "run",
        "close",
        "review-1",
        "--outcome",
        "succeeded",
        "--format",
        "json",
    ];
    let closed = env.run(close).success().json();
    assert_eq!(closed["schema"], "ken.run_closed.v1");
    assert_eq!(closed["touched"], 1);
    let past = env
        .run(["run", "list", "--format", "json"])
        .success()
        .json();
    assert_eq!(past["schema"], "ken.past_run.v1");
    assert_eq!(past["roles"]["reviewer"], 1);
}

#[test]
fn hlt_20_hlt_21_hlt_22_hlt_23_outcomes_are_told_by_the_events_alone() {
    let (env, _) = review();
    let close = [
        "run",
        "close",
        "review-1",
        "--outcome",
        "failed",
        "--rounds",
        "3",
    ];
    let close = close
        .into_iter()
        .chain(["--cost", "0.25", "--strategy", "pairs"]);
    let _ = env.run(close).success();
    let _ = env.run(["index", "rebuild"]).success();
    let past = env
        .run(["run", "list", "--format", "json"])
        .success()
        .json();
    assert_eq!(past["outcome"], "failed");
    assert_eq!(past["rounds"], 3);
    assert_eq!(past["cost_micros"], 250_000);
    assert_eq!(past["strategy"], "pairs");
    assert!(past["duration_ms"].is_u64());
}

#[test]
fn tru_20_tru_21_feedback_counts_for_help_and_not_for_truth() {
    let (env, id) = review();
    insta::assert_snapshot!(env.run(["feedback", "--by", "agent:a", id.as_str(), "--helpful"]), @"");
    let _ = env
        .run(["feedback", "--by", "agent:a", id.as_str(), "--unhelpful"])
        .success();
    let entry = env
        .run(["show", id.as_str(), "--format", "json"])
        .success()
        .json();
    assert_eq!(entry["confirmation"]["independent"], 0);
}

#[test]
fn tru_18_tru_19_only_a_person_resets_and_only_what_is_stuck() {
    let (env, id) = review();
    let reset = ["confidence", "reset", id.as_str(), "--reason", "new model"];
    insta::assert_snapshot!(env.run(reset), @"");
    let by_agent = reset.into_iter().chain(["--by", "agent:a"]);
    insta::assert_snapshot!(env.run(by_agent), @"");
}

#[test]
fn dec_01_dec_11_the_policy_is_shown_and_set_by_a_person() {
    let env = plain();
    insta::assert_snapshot!(env.run(["run", "policy"]), @"");
    insta::assert_snapshot!(env.run(["run", "policy", "--reviews", "3", "--blind", "off"]), @"");
    insta::assert_snapshot!(env.run(["run", "policy", "--reset"]), @"");
    insta::assert_snapshot!(env.run(["run", "policy", "--reviews", "1", "--by", "agent:a"]), @"");
}

#[test]
fn not_enough_runs_is_an_answer() {
    let (env, id) = review();
    insta::assert_snapshot!(env.run(["lift"]), @"");
    insta::assert_snapshot!(env.run(["lift", id.as_str()]), @"");
}

#[test]
fn a_thread_is_laid_aside_at_once() {
    let env = plain();
    let add = [
        "add", "--kind", "learning", "--cite", "pr:1", "--scope", "thread",
    ];
    let add = add.into_iter().chain(["--thread", "pay"]);
    let _ = env
        .run(add.chain(["--statement", "The bank is down on Sundays"]))
        .success();
    insta::assert_snapshot!(env.run(["archive", "--thread", "pay"]), @"");
}

#[test]
fn hlt_24_hlt_25_a_run_says_how_many_entries_it_used_and_left() {
    let (env, id) = review();
    let as_a = ["--by", "agent:a", "--run", "review-1"];
    let _ = env
        .run(["show", id.as_str()].into_iter().chain(as_a))
        .success();
    let severe = ["observe", "--severity", "9", "--statement"];
    let severe = severe.into_iter().chain(["The proxy writes cookies to its log"]);
    let _ = env.run(severe.chain(as_a)).success();
    let close = ["run", "close", "review-1", "--outcome", "succeeded"];
    let _ = env.run(close).success();
    let past = env.run(["run", "list", "--format", "json"]).success().json();
    assert_eq!((&past["accessed"], &past["extracted"]), (&1.into(), &1.into()));
}

#[test]
fn dup_01_dup_07_dup_12_entries_that_say_the_same_are_listed_merged_and_told_apart() {
    let env = plain();
    let one = lesson(&env, "Retry the payment call twice after a network timeout");
    let same = lesson(&env, "After a network timeout, retry the payment call twice");
    let opposite = lesson(&env, "Never retry the payment call twice after a network timeout");
    insta::assert_snapshot!(env.run(["duplicates"]), @"");
    insta::assert_snapshot!(env.run(["merge", same.as_str(), "--into", one.as_str()]), @"");
    insta::assert_snapshot!(env.run(["duplicates"]), @"");
    let merged = env.run(["show", same.as_str(), "--format", "json"]).success().json();
    assert_eq!(merged["merged_into"], one.as_str());
    let again = env.run(["merge", same.as_str(), "--into", opposite.as_str()]);
    insta::assert_snapshot!(again, @"");
    insta::assert_snapshot!(env.run(["supersede", one.as_str(), opposite.as_str()]), @"");
    insta::assert_snapshot!(env.run(["duplicates", "--dismiss", one.as_str(), opposite.as_str()]), @"");
}
