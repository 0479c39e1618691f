//! Each of the six gates, passed and failed once, with its name, message and exit code.

use ken_core::ledger::event::RecordedEvent;
use ken_core::values::citation::CitationSource;
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Timestamp;
use ken_testkit::build::EventWriter;
use ken_testkit::test_env::TestEnvironment;

use crate::gates::{add_entry, gate_findings, repository_with_ledger};

const SEGMENT: &str = "v1/2026-01-01t00-00-aaaaaa.jsonl";

/// Appends lines to the ledger that no command would write.
fn write_segment(env: &TestEnvironment, memory: &str, events: &[&RecordedEvent]) {
    let lines: Vec<String> = events.iter().map(|it| format!("{}\n", it.line())).collect();
    env.write(&format!(".ken/{memory}/{SEGMENT}"), &lines.concat());
}

fn verify_gate(env: &TestEnvironment, gate: &str) -> (i32, Vec<String>) {
    let run = env.run(["verify"]);
    (run.exit, gate_findings(&run, gate))
}

#[test]
fn schema_passes_what_reads_and_fails_what_does_not() {
    let env = repository_with_ledger();
    let _ = add_entry(&env, "learning", "Charging twice is safe with a key");
    assert_eq!(verify_gate(&env, "knowledge.schema"), (0, Vec::new()));
    let (_, good) = EventWriter::new(9).propose("Refunds are idempotent");
    let line = good.line().replace("idempotent", "never idempotent");
    env.write(
        &format!(".ken/semantic/{SEGMENT}"),
        &format!("{line}\n{line}\n"),
    );
    let run = env.run(["verify"]);
    assert_eq!(run.exit, 3, "{run}");
    assert!(run.stderr.contains("is damaged at line 1"), "{run}");
}

#[test]
fn an_edit_that_breaks_the_schema_fails_the_gate() {
    let env = repository_with_ledger();
    let id = add_entry(&env, "learning", "Charging twice is safe with a key");
    let name = env
        .names(".ken/entries")
        .into_iter()
        .find(|it| it.starts_with(&id));
    let path = format!(".ken/entries/{}", name.expect("its file"));
    env.write(
        &path,
        &env.read(&path).replace("tags: []", "tags: [\"Not A Tag\"]"),
    );
    let (exit, told) = verify_gate(&env, "knowledge.schema");
    let wanted = format!(
        "error {path}: this edit cannot be recorded: its `tags` cannot be read: tag `Not A Tag`: write lowercase words joined by `/`, such as auth/jwt; correct the file and run `ken sync` [knowledge.schema]"
    );
    assert_eq!((exit, told), (1, vec![wanted.clone()]));
    // A sync refuses the edit, writes nothing, and leaves the file for the next check.
    let ledger = || {
        let names = env.names(".ken/semantic/v1").into_iter();
        let texts = names.map(|it| env.read(&format!(".ken/semantic/v1/{it}")));
        texts.collect::<Vec<_>>()
    };
    let before = ledger();
    for _ in 0..2 {
        assert_eq!(env.run(["sync"]).exit, 1);
        assert_eq!(ledger(), before);
        let (exit, told) = verify_gate(&env, "knowledge.schema");
        assert_eq!((exit, told), (1, vec![wanted.clone()]));
    }
    // A deletion of the broken file is still a deletion.
    std::fs::remove_file(env.root().join(&path)).expect("its file");
    let _ = env.run(["sync"]).success();
    assert_eq!(verify_gate(&env, "knowledge.schema"), (0, Vec::new()));
}

#[test]
fn provenance_is_needed_by_facts_and_norms_and_not_by_friction() {
    let env = repository_with_ledger();
    let _ = add_entry(&env, "learning", "Charging twice is safe with a key");
    let friction = [
        "health",
        "friction",
        "record",
        "--type",
        "tool_error",
        "--context",
        "{}",
    ];
    let _ = env.run(friction).success();
    assert_eq!(verify_gate(&env, "knowledge.provenance"), (0, Vec::new()));
    let mut scribe = EventWriter::new(9);
    let (id, bare) = scribe.propose_with(EntryKind::Learning, "Nobody says where from", |it| {
        it.citations.clear();
    });
    write_segment(&env, "semantic", &[&bare]);
    let wanted = format!(
        "error {id}: provenance required: cite at least one of commit, pr, doc, test, transcript; run `ken entry cite {id} TYPE:REF` [knowledge.provenance]"
    );
    assert_eq!(verify_gate(&env, "knowledge.provenance"), (1, vec![wanted]));
    let (norm, bare) = scribe.propose_with(EntryKind::CommitNorm, "Sign every commit", |it| {
        it.citations.clear();
    });
    write_segment(&env, "procedural", &[&bare]);
    let (exit, told) = verify_gate(&env, "knowledge.provenance");
    let start = format!("error {norm}: provenance required");
    assert_eq!(exit, 1);
    assert!(told.iter().any(|it| it.starts_with(&start)), "{told:?}");
}

#[test]
fn a_link_that_leads_nowhere_is_a_warning() {
    let env = repository_with_ledger();
    let one = add_entry(&env, "learning", "Charging twice is safe with a key");
    let other = add_entry(&env, "learning", "Refunds need no key");
    let _ = env.run(["entry", "link", &one, &other]).success();
    assert_eq!(verify_gate(&env, "knowledge.links"), (0, Vec::new()));
    let mut scribe = EventWriter::new(9);
    let (unknown, _) = scribe.propose("Known elsewhere");
    let id = one.parse().expect("an id");
    let link = ken_core::ledger::event::Linked {
        to: unknown,
        rel: ken_core::ledger::event::Relation::RelatesTo,
        withdraws: Vec::new(),
    };
    let link = scribe.about(id, ken_core::ledger::event::EventBody::Linked(link));
    write_segment(&env, "semantic", &[&link]);
    let (exit, told) = verify_gate(&env, "knowledge.links");
    let wanted = format!(
        "warning {id}: links to {unknown}, which does not exist on this branch; `ken show {id}` lists its links [knowledge.links]"
    );
    assert!(told.contains(&wanted), "{told:?}");
    assert_eq!(exit, 0, "a warning does not block");
}

#[test]
fn a_norm_unconfirmed_for_more_than_90_days_is_flagged_and_never_blocks() {
    let env = repository_with_ledger();
    let norm = add_entry(&env, "commit-norm", "Sign every tag");
    let _ = add_entry(&env, "learning", "Old facts are not norms");
    env.wait_days(90);
    assert_eq!(verify_gate(&env, "knowledge.staleness"), (0, Vec::new()));
    env.wait_days(1);
    let wanted = format!(
        "warning {norm}: this norm was not confirmed for 91 days: Sign every tag (review it and run `ken confirm {norm}` or `ken retract {norm}`) [knowledge.staleness]"
    );
    assert_eq!(verify_gate(&env, "knowledge.staleness"), (0, vec![wanted]));
    let _ = env.run(["confirm", &norm]).success();
    assert_eq!(verify_gate(&env, "knowledge.staleness"), (0, Vec::new()));
}

#[test]
fn norms_that_contradict_block_and_facts_that_do_are_told() {
    let env = repository_with_ledger();
    let one = add_entry(&env, "commit-norm", "Use pnpm to install packages");
    assert_eq!(
        verify_gate(&env, "knowledge.contradictions"),
        (0, Vec::new())
    );
    let other = add_entry(&env, "commit-norm", "Install packages with npm");
    let (exit, told) = verify_gate(&env, "knowledge.contradictions");
    assert_eq!((exit, told.len()), (1, 1), "{told:?}");
    assert!(told[0].starts_with("error "), "{told:?}");
    assert!(told[0].contains("JavaScript package manager: "), "{told:?}");
    let _ = env.git(["checkout", "-q", "-b", "work"]);
    let _ = env.git(["add", "-A"]);
    let _ = env.git(["commit", "-q", "-m", "feat: two norms"]);
    let run = env.run(["verify", "--base", "main"]);
    let of_change = gate_findings(&run, "knowledge.contradictions");
    assert_eq!((run.exit, of_change.len()), (1, 1), "{run}");
    let _ = env
        .run(["inbox", "resolve", &one, &other, "--keep", &one])
        .success();
    assert_eq!(
        verify_gate(&env, "knowledge.contradictions"),
        (0, Vec::new())
    );
    let _ = add_entry(&env, "learning", "Use tabs");
    let _ = add_entry(&env, "learning", "Use spaces");
    let _ = env.run(["health", "contradictions", "--flag"]).success();
    let (exit, told) = verify_gate(&env, "knowledge.contradictions");
    assert_eq!((exit, told.len()), (0, 1), "{told:?}");
    assert!(told[0].starts_with("warning "), "{told:?}");
}

/// Records friction and returns its id.
fn record_friction(env: &TestEnvironment) -> String {
    let args = ["health", "friction", "record", "--type", "tool_error"];
    let args = args.into_iter().chain(["--context", "{}"]);
    env.run(args).success().line()
}

#[test]
fn a_write_that_brings_friction_into_another_memory_is_refused() {
    let env = repository_with_ledger();
    let known = add_entry(&env, "learning", "The linter runs twice");
    let friction = record_friction(&env);
    let cited = format!("transcript:{friction}");
    let quoted = format!("The linter is flaky, see {friction}");
    let add = |kind, statement, cite| {
        let args = ["add", "--kind", kind, "--statement", statement];
        args.into_iter().chain(["--cite", cite]).collect()
    };
    let spoken = format!("echo {friction}");
    let attempts: [Vec<&str>; 9] = [
        add("learning", "The linter is flaky", &cited),
        add("commit-norm", "Run the linter twice", &cited),
        add("learning", &quoted, "pr:1"),
        vec!["entry", "cite", &known, &cited],
        vec!["entry", "link", &known, &friction],
        vec!["edit", &known, "--statement", &quoted],
        vec!["edit", &known, "--body", &quoted],
        vec!["edit", &known, "--verify", &spoken],
        vec!["entry", "merge", &friction, "--into", &known],
    ];
    for args in attempts {
        for by in ["human:ada@example.org", "agent:helper"] {
            let refused = env.run(args.iter().copied().chain(["--by", by]));
            assert_eq!(refused.exit, 1, "{args:?}: {refused}");
            let why = "directional flow violation";
            assert!(refused.stderr.contains(why), "{args:?}: {refused}");
        }
    }
    assert_eq!(verify_gate(&env, "episodic.no_backflow"), (0, Vec::new()));
}

#[test]
fn nothing_episodic_gets_into_another_memory_without_a_person() {
    let env = repository_with_ledger();
    let _ = add_entry(&env, "learning", "Charging twice is safe with a key");
    assert_eq!(verify_gate(&env, "episodic.no_backflow"), (0, Vec::new()));
    let friction = record_friction(&env);
    let cited = format!("transcript:{friction}");
    // A line that no command writes, as a merge may bring it.
    let mut writer = EventWriter::new(10);
    let (id, forged) = writer.propose_with(EntryKind::Learning, "The linter is flaky", |it| {
        let source: CitationSource = cited.parse().expect("a citation");
        let by = "agent:helper".parse().expect("an actor");
        it.citations.push(source.cite(&by, Timestamp::default()));
    });
    write_segment(&env, "semantic", &[&forged]);
    let wanted = format!(
        "error {id}: directional flow violation: {friction} is episodic and no person approved moving it to semantic memory; `ken entry promote` requests the approval [episodic.no_backflow]"
    );
    assert_eq!(
        verify_gate(&env, "episodic.no_backflow"),
        (1, vec![wanted.clone()])
    );
    // An agent's approval does not count; a person's does.
    let approval = |by: &str, seed: u64| {
        let mut scribe = EventWriter::new(seed);
        let entry = id;
        scribe.by(by).at("2026-03-01T00:00:00Z").about(
            entry,
            ken_core::ledger::event::EventBody::ApprovalGranted(
                ken_core::ledger::event::ApprovalGranted {
                    entry,
                    artifact: "looked at together".parse().expect("a note"),
                    signature: None,
                    covers: Vec::new(),
                },
            ),
        )
    };
    let agents = approval("agent:helper", 11);
    write_segment(&env, "semantic", &[&forged, &agents]);
    assert_eq!(verify_gate(&env, "episodic.no_backflow"), (1, vec![wanted]));
    write_segment(
        &env,
        "semantic",
        &[&forged, &agents, &approval("human:ada@example.org", 12)],
    );
    assert_eq!(verify_gate(&env, "episodic.no_backflow"), (0, Vec::new()));
}

#[test]
fn the_answer_is_json_with_passes_and_findings_and_the_same_each_time() {
    let env = repository_with_ledger();
    let _ = add_entry(&env, "commit-norm", "Always sign tags");
    let _ = add_entry(&env, "commit-norm", "Never sign tags");
    let first = env.run(["verify", "--format", "json"]);
    let again = env.run(["verify", "--format", "json"]);
    assert_eq!(first.exit, 1);
    assert_eq!(first.stdout, again.stdout);
    let json = first.json();
    assert_eq!(json["passes"], false);
    assert_eq!(json["findings"][0]["gate"], "knowledge.contradictions");
    assert_eq!(json["findings"][0]["level"], "error");
}
