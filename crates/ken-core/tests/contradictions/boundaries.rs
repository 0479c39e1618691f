//! Boundaries of the `CON-*` requirements for pairs of entries: polarity, domain, patterns and
//! false positives.

use ken_core::trust::contradiction::{
    ContradictionRule, ContradictionSide, DOMAIN_JACCARD, POLARITY_COSINE, find_contradiction,
    find_text_contradiction,
};
use ken_core::values::content::{Content, Polarity};
use ken_core::values::kind::EntryKind;

struct EntryFixture {
    kind: EntryKind,
    content: Content,
}

fn entry_fixture(kind: EntryKind, statement: &str) -> EntryFixture {
    let content = Content::new(statement.parse().expect("a statement"));
    EntryFixture { kind, content }
}

impl EntryFixture {
    fn tagged(mut self, tags: &[&str]) -> Self {
        self.content.tags = tags.iter().map(|it| it.parse().expect("a tag")).collect();
        self
    }

    fn with_polarity(mut self, polarity: Polarity) -> Self {
        self.content.polarity = Some(polarity);
        self
    }

    fn at(mut self, anchor: &str) -> Self {
        let target: ken_core::values::anchor::CodeLocation = anchor.parse().expect("an anchor");
        self.content.anchors.push(target.into());
        self
    }
}

fn contradiction_rule(
    a: &EntryFixture,
    b: &EntryFixture,
    cosine: Option<f64>,
) -> Option<ContradictionRule> {
    let side = |it: &EntryFixture| ContradictionSide::from_content(it.kind, &it.content);
    let (one, other) = (side(a), side(b));
    let forth = find_contradiction(&one, &other, cosine).map(|it| it.rule);
    assert_eq!(
        forth,
        find_contradiction(&other, &one, cosine).map(|it| it.rule)
    );
    forth
}

const STATEMENT_FOR: &str = "Pooling connections speeds the importer up";
const STATEMENT_AGAINST: &str = "The importer starves when connections are pooled";

#[test]
fn same_polarity_is_no_contradiction() {
    use Polarity::{Negative, Positive};
    for (one, other, wanted) in [
        (
            Some(Positive),
            Some(Negative),
            Some(ContradictionRule::Polarity),
        ),
        (Some(Positive), Some(Positive), None),
        (Some(Negative), Some(Negative), None),
        (Some(Positive), None, None),
        (None, None, None),
    ] {
        let mut a = entry_fixture(EntryKind::Learning, STATEMENT_FOR).tagged(&["db"]);
        let mut b = entry_fixture(EntryKind::Learning, STATEMENT_AGAINST).tagged(&["db"]);
        (a.content.polarity, b.content.polarity) = (one, other);
        assert_eq!(
            contradiction_rule(&a, &b, None),
            wanted,
            "{one:?} {other:?}"
        );
    }
}

#[test]
fn domains_must_overlap_by_more_than_three_tenths() {
    assert!((DOMAIN_JACCARD - 0.3).abs() < f64::EPSILON);
    let tags: Vec<String> = (0..10).map(|it| format!("tag{it}")).collect();
    let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
    for (common, wanted) in [(3, None), (4, Some(ContradictionRule::Polarity))] {
        let a = entry_fixture(EntryKind::Learning, STATEMENT_FOR)
            .with_polarity(Polarity::Positive)
            .tagged(&tags);
        let b =
            entry_fixture(EntryKind::Learning, STATEMENT_AGAINST).with_polarity(Polarity::Negative);
        let b = b.tagged(&tags[..common]);
        assert_eq!(
            contradiction_rule(&a, &b, None),
            wanted,
            "{common} of 10 above {DOMAIN_JACCARD}"
        );
    }
}

#[test]
fn what_is_said_is_compared_only_within_one_domain() {
    let tabs = entry_fixture(EntryKind::CommitNorm, "Use tabs");
    for (ours, theirs, wanted) in [
        (&["go"][..], &["typescript"][..], None),
        (&["go"], &["go"], Some(ContradictionRule::Alternative)),
        (&["go"], &[], Some(ContradictionRule::Alternative)),
        (
            &["style"],
            &["style/indent"],
            Some(ContradictionRule::Alternative),
        ),
    ] {
        let a = EntryFixture {
            content: tabs.content.clone(),
            ..tabs
        }
        .tagged(ours);
        let b = entry_fixture(EntryKind::CommitNorm, "Use spaces").tagged(theirs);
        assert_eq!(
            contradiction_rule(&a, &b, None),
            wanted,
            "{ours:?} {theirs:?}"
        );
    }
}

#[test]
fn polarity_needs_something_in_common_or_a_model_that_says_so() {
    let a = entry_fixture(
        EntryKind::Learning,
        "Sharding the jobs table made claims fast",
    );
    let b = entry_fixture(
        EntryKind::Learning,
        "Partitioned work queues lose jobs on failover of a claim holder",
    );
    let (a, b) = (
        a.with_polarity(Polarity::Positive),
        b.with_polarity(Polarity::Negative),
    );
    let (a, b) = (a.tagged(&["queue"]), b.tagged(&["queue"]));
    let far = entry_fixture(EntryKind::Learning, "Dark mode flickers on reload")
        .with_polarity(Polarity::Negative);
    let far = far.tagged(&["queue"]);
    assert_eq!(
        contradiction_rule(&a, &b, Some(POLARITY_COSINE)),
        Some(ContradictionRule::Polarity)
    );
    assert_eq!(contradiction_rule(&a, &far, Some(POLARITY_COSINE)), None);
    assert_eq!(contradiction_rule(&a, &far, None), None);
}

#[test]
fn a_pattern_and_a_false_positive_on_one_file_contradict() {
    let pattern =
        |at: &str| entry_fixture(EntryKind::Pattern, "Unchecked length before indexing").at(at);
    let dismissed = |at: &str| {
        entry_fixture(EntryKind::FalsePositive, "The loop bound proves the access").at(at)
    };
    for (one, other, wanted) in [
        (
            "src/a.rs",
            "src/a.rs",
            Some(ContradictionRule::FalsePositive),
        ),
        (
            "src/a.rs#f",
            "src/a.rs",
            Some(ContradictionRule::FalsePositive),
        ),
        (
            "src/a.rs#f",
            "src/a.rs#f",
            Some(ContradictionRule::FalsePositive),
        ),
        ("src/a.rs#f", "src/a.rs#g", None),
        ("src/a.rs", "src/b.rs", None),
    ] {
        assert_eq!(
            contradiction_rule(&pattern(one), &dismissed(other), None),
            wanted,
            "{one} {other}"
        );
    }
    let learned =
        entry_fixture(EntryKind::Learning, "Unchecked length before indexing").at("src/a.rs");
    assert_eq!(
        contradiction_rule(&learned, &dismissed("src/a.rs"), None),
        None
    );
}

#[test]
fn the_same_pattern_in_both_contradicts_without_a_file() {
    let said = "Missing timeout on outgoing calls of the gateway";
    let a = entry_fixture(EntryKind::Pattern, said);
    assert_eq!(
        contradiction_rule(&a, &entry_fixture(EntryKind::FalsePositive, said), None),
        Some(ContradictionRule::FalsePositive)
    );
    let other = entry_fixture(
        EntryKind::FalsePositive,
        "Unused import in generated clients",
    );
    assert_eq!(contradiction_rule(&a, &other, None), None);
}

#[test]
fn scopes_exceptions_and_reasons_are_no_contradictions() {
    for (a, b) in [
        ("Use tabs in Go", "Use spaces in Python"),
        ("Use 2 spaces in YAML", "Use 4 spaces in Java"),
        (
            "Use Jest in the legacy package",
            "Use Vitest in the portal package",
        ),
        ("Use Jest or Vitest", "Use Vitest"),
        (
            "Never force-push except to your own branch",
            "Force-push your own branch after a rebase",
        ),
        ("Use pnpm because npm does not hoist", "Use pnpm"),
        ("Use pnpm instead of npm", "Never use npm"),
        (
            "Use pnpm. Use npm to publish.",
            "Use pnpm. Use npm to publish.",
        ),
        ("Prefer tabs over spaces", "Use tabs, not spaces"),
        ("Never merge without a review", "Always merge with a review"),
        ("npm install fails behind the proxy", "Use pnpm"),
        (
            "Keep functions under 70 lines",
            "Keep files under 500 lines",
        ),
        (
            "Return 404 for unknown users",
            "Return 409 for concurrent edits",
        ),
        (
            "Use Vitest for unit tests",
            "Use Playwright for end-to-end tests",
        ),
        (
            "Use the cache for users",
            "Do not use the cache for administrators",
        ),
    ] {
        let found = find_text_contradiction(a, b);
        assert_eq!(found, None, "{a} / {b}");
    }
}

#[test]
fn the_reason_names_the_rule_and_what_differs() {
    for (a, b, wanted) in [
        (
            "Use pnpm",
            "Use npm",
            "alternative: JavaScript package manager: pnpm or npm",
        ),
        (
            "Use tabs",
            "Never use tabs",
            "alternative: indentation: tabs or not tabs",
        ),
        (
            "Use 2 spaces",
            "Use 4 spaces",
            "number: indentation: 2 or 4",
        ),
        (
            "Always sign tags",
            "Never sign tags",
            "modality: required and forbidden: sign tag",
        ),
        (
            "Call bind() before listen()",
            "Call listen() before bind()",
            "order: reverse order",
        ),
    ] {
        let found = find_text_contradiction(a, b).map(|it| it.to_string());
        assert_eq!(found.as_deref(), Some(wanted), "{a} / {b}");
    }
}
