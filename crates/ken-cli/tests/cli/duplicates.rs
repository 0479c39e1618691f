//! `ken health duplicates`, `ken entry merge` and dismissals.

use crate::cli::support::{add_lesson, folder_with_ledger};

#[test]
fn entries_that_say_the_same_are_listed_merged_and_told_apart() {
    let env = folder_with_ledger();
    let one = add_lesson(&env, "Retry the payment call twice after a network timeout");
    let same = add_lesson(
        &env,
        "After a network timeout, retry the payment call twice",
    );
    let opposite = add_lesson(
        &env,
        "Never retry the payment call twice after a network timeout",
    );
    insta::assert_snapshot!(env.run(["health", "duplicates"]), @"
    exit: 0
    ----- stdout -----
    same claim with probability 0.97
      L-h9xr3ac9  After a network timeout, retry the payment call twice
      L-205zr7j2  Retry the payment call twice after a network timeout
    same claim with probability 0.97, may be opposites
      L-d95shc1g  Never retry the payment call twice after a network timeout
      L-h9xr3ac9  After a network timeout, retry the payment call twice
    same claim with probability 0.97, may be opposites
      L-d95shc1g  Never retry the payment call twice after a network timeout
      L-205zr7j2  Retry the payment call twice after a network timeout
    ----- stderr -----
    3 pairs
    hint: `ken entry merge L-205zr7j2 --into L-h9xr3ac9` merges the pair, `ken health duplicates --dismiss L-h9xr3ac9 L-205zr7j2` dismisses the pair
    ");
    insta::assert_snapshot!(env.run(["entry", "merge", same.as_str(), "--into", one.as_str()]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    merged from L-h9xr3ac9
    ");
    insta::assert_snapshot!(env.run(["health", "duplicates"]), @"
    exit: 0
    ----- stdout -----
    same claim with probability 0.97, may be opposites
      L-d95shc1g  Never retry the payment call twice after a network timeout
      L-205zr7j2  Retry the payment call twice after a network timeout
    ----- stderr -----
    1 pair
    hint: `ken health duplicates --dismiss L-d95shc1g L-205zr7j2` dismisses the pair
    ");
    let merged = env
        .run(["show", same.as_str(), "--format", "json"])
        .success()
        .json();
    assert_eq!(merged["merged_into"], one.as_str());
    let again = env.run(["entry", "merge", same.as_str(), "--into", opposite.as_str()]);
    insta::assert_snapshot!(again, @"
    exit: 1
    ----- stderr -----
    error: L-h9xr3ac9 is already merged into L-205zr7j2
    ");
    insta::assert_snapshot!(env.run(["entry", "supersede", one.as_str(), opposite.as_str()]), @"
    exit: 0
    ----- stdout -----
    L-d95shc1g
    ----- stderr -----
    supersedes L-205zr7j2, which is kept
    ");
    insta::assert_snapshot!(env.run(["health", "duplicates", "--dismiss", one.as_str(), opposite.as_str()]), @"
    exit: 0
    ----- stderr -----
    dismissed; the pair is not listed again
    ");
}

#[test]
fn a_dismissal_concerns_one_pair_and_is_in_the_log_of_both() {
    let env = folder_with_ledger();
    let [one, same, opposite] = [
        "Retry the payment call twice after a network timeout",
        "After a network timeout, retry the payment call twice",
        "Never retry the payment call twice after a network timeout",
    ]
    .map(|it| add_lesson(&env, it));
    let dismiss = |first: &str, second: &str| {
        let args = ["health", "duplicates", "--dismiss", first, second];
        env.run(args)
    };
    let _ = dismiss(&same, &one).success();
    let left = env.run(["health", "duplicates"]).success();
    assert!(left.stderr.contains("2 pairs"), "{left}");
    for (id, is_told) in [(&one, true), (&same, true), (&opposite, false)] {
        let log = env.run(["log", id, "--format", "json"]).success();
        assert_eq!(log.stdout.contains("pair.dismissed"), is_told, "{log}");
    }
    let again = dismiss(&one, &same);
    assert_eq!(again.exit, 1, "{again}");
    assert!(again.stderr.contains("nothing would change"), "{again}");
}
