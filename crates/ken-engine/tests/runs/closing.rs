//! Closing of runs: the effects on entries and findings.

use std::fs;
use std::path::PathBuf;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::Outcome::{Failed, Succeeded};
use ken_core::ledger::event::{
    ArchiveReason, Outcome, Proposed, Provenance, RetractReason, RunEffects,
};
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::{ExposureChannel, RunFinding, RunMember, RunNote};
use ken_core::values::content::{DecayClass, EntryScope};
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_engine::Engine;
use ken_engine::search::SearchQuery;

use crate::house::{
    CLAIM_REPHRASED, NOON, actor, add_entry, close_with_outcome, copy_dir, derived_state, finding,
    open_engine, open_witnessed_run, proposal, provenance_after, reader, repository_with_claim,
};

#[test]
fn a_run_nobody_closed_is_swept_when_the_next_one_begins() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    open_witnessed_run(&mut ken, "old", &[("agent:a", RunMember::default())]);
    ken.observe(&reader("agent:a", "old"), finding(CLAIM_REPHRASED))
        .unwrap();
    let mut ken = open_engine(dir.path(), "2026-11-16T11:59:59Z");
    open_witnessed_run(&mut ken, "soon", &[]);
    assert_eq!(ken.open_runs().unwrap().len(), 2);
    let mut ken = open_engine(dir.path(), "2026-11-16T12:00:01Z");
    open_witnessed_run(&mut ken, "later", &[]);
    let open: Vec<String> = ken
        .open_runs()
        .unwrap()
        .into_iter()
        .map(|it| it.id)
        .collect();
    assert_eq!(open, ["soon", "later"]);
    let past = ken.past_runs().unwrap();
    assert_eq!(past[0].closed.outcome, Outcome::Abandoned);
    assert_eq!(
        past[0].closed.duration_ms, 0,
        "nobody worked while it lay there"
    );
    assert_eq!(ken.entry(id).unwrap().confirmation.independent, 0);
}

#[test]
fn a_run_without_results_is_recorded_with_the_next_one_that_has_some() {
    let (dir, id) = repository_with_claim();
    let deferred = dir.path().join(".ken/.local/deferred");
    let deferred = || fs::read_dir(&deferred).map_or(0, Iterator::count);
    let mut ken = open_engine(dir.path(), NOON);
    let shown = |ken: &mut Engine, run: &str| {
        open_witnessed_run(ken, run, &[("agent:a", RunMember::default())]);
        ken.record_exposures(&reader("agent:a", run), &[id], ExposureChannel::Pull)
            .unwrap();
    };
    shown(&mut ken, "quiet");
    let mut ken = open_engine(dir.path(), "2026-11-16T12:00:01Z");
    shown(&mut ken, "later");
    assert_eq!(deferred(), 1, "the sweep ended it");
    assert_eq!(ken.entry(id).unwrap().tallies.shown, 0, "no event yet");
    let past = ken.past_runs().unwrap();
    assert_eq!(past[0].closed.accessed, 1, "{past:?}");
    ken.observe(&reader("agent:a", "later"), finding(CLAIM_REPHRASED))
        .unwrap();
    close_with_outcome(&mut ken, "later", Succeeded);
    assert_eq!(deferred(), 0);
    assert_eq!(ken.entry(id).unwrap().tallies.shown, 2, "both count once");
    assert_eq!(ken.past_runs().unwrap().len(), 2);
    assert!(ken.ended_run("quiet").unwrap().is_some());
}

#[test]
fn a_run_that_cannot_be_closed_is_in_nobodys_way() {
    let (dir, _) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    open_witnessed_run(&mut ken, "bad", &[("agent:a", RunMember::default())]);
    let secret = ["agent:ghp", "_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2"].concat();
    let notes = ken.root().join(".ken/.local/runs/bad.jsonl");
    let mut text = fs::read_to_string(&notes).unwrap();
    text += &format!(
        r#"{{"at":"{NOON}","by":"agent:a","note":"used","agent":"{secret}","entries":[]}}"#
    );
    fs::write(&notes, text + "\n").unwrap();
    let mut ken = open_engine(dir.path(), "2026-11-16T12:00:01Z");
    open_witnessed_run(&mut ken, "later", &[]);
    let open = ken.open_runs().unwrap();
    assert_eq!(open.iter().map(|it| &it.id).collect::<Vec<_>>(), ["later"]);
    assert_eq!(ken.past_runs().unwrap(), [], "nothing of it was kept");
}

#[test]
fn silence_lays_aside_and_recurrence_brings_back_with_its_history() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    ken.set_review_policy(Some(ReviewPolicy::STRICT), &actor("human:lead"))
        .unwrap();
    for number in 1..=10 {
        let run = format!("run-{number}");
        open_witnessed_run(&mut ken, &run, &[("agent:a", RunMember::default())]);
        ken.record_exposures(&reader("agent:a", &run), &[id], ExposureChannel::Pull)
            .unwrap();
        let closed = close_with_outcome(&mut ken, &run, Succeeded);
        assert_eq!(closed.closing.archived.len(), usize::from(number == 10));
    }
    let archived = ken.entry(id).unwrap();
    assert_eq!(
        archived.archived.as_ref().unwrap().because,
        ArchiveReason::Decay
    );
    assert_eq!(
        provenance_after(&mut ken, id, |_| ()),
        Provenance::Independent
    );
    let back = ken.entry(id).unwrap();
    assert!(back.archived.is_none());
    assert_eq!(back.created, archived.created);
    assert_eq!(back.tallies.shown, 10);
    assert_eq!(back.exposures_since_confirmation().shown, 0);
}

#[test]
fn as_many_reviews_as_the_policy_says_archive_an_entry() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let policy = ReviewPolicy {
        reviews: 13,
        ..ReviewPolicy::STRICT
    };
    ken.set_review_policy(Some(policy), &actor("human:lead"))
        .unwrap();
    for number in 1..=13 {
        let run = format!("run-{number}");
        open_witnessed_run(&mut ken, &run, &[("agent:a", RunMember::default())]);
        ken.record_exposures(&reader("agent:a", &run), &[id], ExposureChannel::Pull)
            .unwrap();
        let closed = close_with_outcome(&mut ken, &run, Succeeded);
        assert_eq!(closed.closing.archived.len(), usize::from(number == 13));
    }
}

#[test]
fn a_finding_about_the_current_change_makes_no_entry() {
    let (dir, _) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    for (run, statement, entries) in [
        (
            "change",
            "This PR adds up amounts as floats in the ledger",
            0,
        ),
        (
            "lasting",
            "This process adds up amounts as integers in the ledger",
            1,
        ),
    ] {
        let agents = ["agent:a", "agent:b"];
        let members = agents.map(|it| (it, RunMember::default()));
        open_witnessed_run(&mut ken, run, &members);
        for agent in agents {
            ken.observe(&reader(agent, run), finding(statement))
                .unwrap();
        }
        let closed = close_with_outcome(&mut ken, run, Succeeded);
        assert_eq!(closed.gained.len(), entries, "{statement}");
    }
}

#[test]
fn two_agents_make_an_entry_and_the_same_again_makes_none() {
    let (dir, _) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let statement = "Amounts are integers in cents wherever the ledger adds them up";
    let agents = [
        ("agent:a", RunMember::default()),
        ("agent:b", RunMember::default()),
    ];
    let again = |ken: &mut Engine, run: &str| {
        open_witnessed_run(ken, run, &agents);
        for agent in ["agent:a", "agent:b"] {
            let found = RunFinding {
                verify: vec!["cargo test cents".parse().unwrap()],
                ..finding(statement)
            };
            ken.observe(&reader(agent, run), found).unwrap();
        }
        close_with_outcome(ken, run, Succeeded)
    };
    let first = again(&mut ken, "one");
    let [id] = first.gained[..] else {
        panic!("{first:?}")
    };
    let entry = ken.entry(id).unwrap();
    assert_eq!(entry.status.value, EntryStatus::Active);
    assert_eq!(entry.confirmation.provenance, Some(Provenance::Independent));
    assert_eq!(entry.citations[0].to_string(), "transcript:one");
    assert_eq!(entry.confirmation.last, Some("2026-11-15".parse().unwrap()));
    let content = entry.content.unwrap();
    assert_eq!(content.statement.as_str(), statement);
    assert_eq!(content.verify[0].as_str(), "cargo test cents");
    let created = entry.created.unwrap();
    assert_eq!(created.by, actor("agent:a"));
    assert_eq!(created.run.unwrap().id, "one");
    let proposed = ken.history(id).unwrap().into_iter();
    let proposed = proposed.filter(|it| it.event.get::<Proposed>().is_some());
    assert_eq!(proposed.count(), 1, "one event");
    let search = SearchQuery {
        query: "where are amounts integers in cents".to_owned(),
        ..SearchQuery::default()
    };
    let found = ken.search(&search, &mut |_, _| {}).unwrap();
    assert_eq!(found.hits[0].entry.id, id, "in the index at once");
    assert!(found.hits[0].cosine > 0.0, "with a vector");
    let second = again(&mut ken, "two");
    assert!(second.gained.is_empty());
    assert_eq!(second.closing.found[&id], Provenance::Independent);
    assert_eq!(ken.entry(id).unwrap().status.value, EntryStatus::Verified);
}

#[test]
fn severe_and_dismissed_findings_become_entries_alone_and_a_retracted_one_does_not() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let by = actor("human:lead");
    ken.retract(id, RetractReason::False, None, &by).unwrap();
    open_witnessed_run(&mut ken, "run", &[("agent:a", RunMember::default())]);
    let with = |statement: &str, severity_milli, dismissed| RunFinding {
        severity_milli,
        dismissed,
        ..finding(statement)
    };
    for it in [
        with(
            "The proxy writes the session cookie to its log",
            9_000,
            false,
        ),
        with(
            "Unused import warnings in generated code are harmless",
            9_500,
            true,
        ),
        with(
            "The retry loop should sleep a little longer between tries",
            6_000,
            false,
        ),
        with(CLAIM_REPHRASED, 9_900, false),
    ] {
        ken.observe(&reader("agent:a", "run"), it).unwrap();
    }
    let closed = close_with_outcome(&mut ken, "run", Succeeded);
    let kinds: Vec<EntryKind> = closed
        .gained
        .iter()
        .map(|id| ken.entry(*id).unwrap().kind().unwrap())
        .collect();
    assert_eq!(kinds, [EntryKind::Incident, EntryKind::FalsePositive]);
    let [(refused, why)] = &closed.refused[..] else {
        panic!("{closed:?}")
    };
    assert_eq!(refused.statement.as_str(), CLAIM_REPHRASED);
    assert!(why.contains("retracted as false"), "{why}");
}

#[test]
fn an_opposite_finding_confirms_nothing() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    open_witnessed_run(&mut ken, "run", &[("agent:a", RunMember::default())]);
    let opposite = "A retried payment is never charged once because the request carries its key";
    ken.observe(&reader("agent:a", "run"), finding(opposite))
        .unwrap();
    assert!(
        close_with_outcome(&mut ken, "run", Succeeded)
            .closing
            .found
            .is_empty()
    );
    assert_eq!(ken.entry(id).unwrap().confirmation.independent, 0);
}

/// Closes a run that exposed an entry; returns the path and the content of its notes.
fn close_and_keep_notes(ken: &mut Engine, id: EntryId) -> (PathBuf, Vec<u8>) {
    open_witnessed_run(ken, "run", &[("agent:a", RunMember::default())]);
    ken.record_exposures(&reader("agent:a", "run"), &[id], ExposureChannel::Pull)
        .unwrap();
    let notes = ken.root().join(".ken/.local/runs/run.jsonl");
    let kept = fs::read(&notes).unwrap();
    close_with_outcome(ken, "run", Succeeded);
    (notes, kept)
}

#[test]
fn a_close_that_was_stopped_half_way_is_not_counted_twice() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let (notes, kept) = close_and_keep_notes(&mut ken, id);
    assert!(!notes.exists());
    let before = ken.state().unwrap();
    fs::write(&notes, kept).unwrap();
    close_with_outcome(&mut ken, "run", Succeeded);
    assert_eq!(ken.state().unwrap(), before);
    assert!(!notes.exists());
}

#[test]
fn a_close_that_wrote_a_part_writes_the_rest() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let (notes, kept) = close_and_keep_notes(&mut ken, id);
    drop(ken);
    // The `run.closed` event is lost; the effects on entries are not.
    for segment in fs::read_dir(dir.path().join(".ken/episodic/v1")).unwrap() {
        let path = segment.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter(|line| !line.contains("\"run.closed\""));
        fs::write(
            &path,
            lines.map(|line| format!("{line}\n")).collect::<String>(),
        )
        .unwrap();
    }
    fs::write(&notes, kept).unwrap();
    let mut ken = open_engine(dir.path(), "2026-11-15T12:00:01Z");
    close_with_outcome(&mut ken, "run", Succeeded);
    assert_eq!(ken.entry(id).unwrap().tallies.shown, 1);
    assert_eq!(ken.past_runs().unwrap().len(), 1);
}

#[test]
fn only_what_was_used_gains_from_a_success() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let other = add_entry(
        &mut ken,
        "Color themes are read once, when the window opens",
    );
    open_witnessed_run(&mut ken, "run", &[("agent:a", RunMember::default())]);
    ken.record_exposures(
        &reader("agent:a", "run"),
        &[id, other],
        ExposureChannel::Pull,
    )
    .unwrap();
    let used = RunNote::Used {
        agent: actor("agent:a"),
        entries: vec![id],
    };
    ken.record_note("run", used, &actor("agent:a")).unwrap();
    close_with_outcome(&mut ken, "run", Succeeded);
    let alpha = |entry: Entry| -> u64 {
        let days = entry.tallies.days.values();
        days.map(|tally| tally.alpha_milli).sum()
    };
    assert_eq!(alpha(ken.entry(id).unwrap()), 1_300, "0.5 and the quality");
    assert_eq!(alpha(ken.entry(other).unwrap()), 0);
    for (id, wanted) in [(id, 1_300), (other, 0)] {
        let history = ken.history(id).unwrap();
        let effects = history.iter().filter_map(|it| it.event.get::<RunEffects>());
        let [event] = effects.collect::<Vec<_>>()[..] else {
            panic!("one event: {history:?}")
        };
        assert_eq!(event.run, "run");
        let effect = event.effects.iter().find(|it| it.entry == id).unwrap();
        assert_eq!(effect.alpha_milli, wanted);
    }
}

#[test]
fn a_success_after_a_long_silence_earns_the_mastery_bonus() {
    let (dir, _) = repository_with_claim();
    let mut ken = open_engine(dir.path(), "2026-01-01T12:00:00Z");
    let mut stable = proposal("The clock of the till runs late in winter");
    stable.content.decay = DecayClass::Stable;
    let id = ken.add(stable, &actor("agent:author")).unwrap().id;
    let succeed = |ken: &mut Engine, run: &str| {
        open_witnessed_run(ken, run, &[("agent:a", RunMember::default())]);
        let used = RunNote::Used {
            agent: actor("agent:a"),
            entries: vec![id],
        };
        ken.record_note(run, used, &actor("agent:a")).unwrap();
        close_with_outcome(ken, run, Succeeded);
    };
    for number in 0..24 {
        succeed(&mut ken, &format!("run-{number}"));
    }
    // 24 successes of 1.3 make a peak of 36.2; less than half of it is left after 180 days.
    let mut ken = open_engine(dir.path(), "2026-06-30T12:00:00Z");
    succeed(&mut ken, "later");
    let days = ken.entry(id).unwrap().tallies.days;
    let last = days.values().next_back().unwrap().alpha_milli;
    let left = 5.0 + 31.2 * 0.995_f64.powi(180);
    assert!(left < 18.1, "{left}");
    let wanted = 1.3 + 0.2 * (36.2 - left);
    let earned = last as f64 / 1000.0;
    assert!((earned - wanted).abs() < 0.002, "{earned} {wanted}");
}

#[test]
fn what_a_run_wrote_is_active_once_it_succeeded() {
    let (dir, _) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    for (run, outcome, expected) in [
        ("good", Succeeded, EntryStatus::Active),
        ("bad", Failed, EntryStatus::Candidate),
    ] {
        open_witnessed_run(&mut ken, run, &[("agent:a", RunMember::default())]);
        let statement = format!("What run {run} wrote down about the cache of sessions");
        let added = ken
            .add_in_run(&reader("agent:a", run), vec![proposal(&statement)])
            .unwrap();
        close_with_outcome(&mut ken, run, outcome);
        assert_eq!(ken.entry(added[0]).unwrap().status.value, expected, "{run}");
    }
}

#[test]
fn a_thread_is_laid_aside_and_what_reaches_further_stays() {
    let (dir, _) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let mut add_to = |thread: &str, scope: EntryScope, statement: &str| {
        let mut it = proposal(statement);
        it.thread = Some(thread.parse().unwrap());
        it.scope = scope;
        ken.add(it, &actor("agent:author")).unwrap().id
    };
    let own = add_to(
        "pay",
        EntryScope::Thread,
        "The sandbox of the bank is down on Sundays",
    );
    let promoted = add_to(
        "pay",
        EntryScope::Workspace,
        "The bank counts amounts in cents",
    );
    let other = add_to(
        "web",
        EntryScope::Thread,
        "The menu is rendered by the server",
    );
    let thread = "pay".parse().unwrap();
    let archived = ken.archive_thread(&thread, &actor("human:lead")).unwrap();
    assert_eq!(archived, [own]);
    let entry = ken.entry(own).unwrap();
    assert_eq!(entry.archived.unwrap().because, ArchiveReason::Thread);
    assert!(
        entry.tallies.days.is_empty(),
        "no hidden change of confidence"
    );
    for kept in [promoted, other] {
        assert!(ken.entry(kept).unwrap().archived.is_none());
    }
}

#[test]
fn the_same_ledger_gives_the_same_posteriors_ranks_and_archive_decisions_on_another_machine() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    ken.set_review_policy(Some(ReviewPolicy::STRICT), &actor("human:lead"))
        .unwrap();
    let other = add_entry(
        &mut ken,
        "A retried payment waits for the lock of its account",
    );
    for number in 0..12 {
        let run = format!("run-{number}");
        let mut ken = open_engine(dir.path(), &format!("2026-12-{:02}T00:00:00Z", number + 1));
        open_witnessed_run(&mut ken, &run, &[("agent:a", RunMember::default())]);
        ken.record_exposures(&reader("agent:a", &run), &[other], ExposureChannel::Pull)
            .unwrap();
        let used = RunNote::Used {
            agent: actor("agent:a"),
            entries: vec![id, other],
        };
        ken.record_note(&run, used, &actor("agent:a")).unwrap();
        let outcome = match number % 3 {
            0 => Failed,
            _ => Succeeded,
        };
        close_with_outcome(&mut ken, &run, outcome);
    }
    let mut ken = open_engine(dir.path(), "2027-03-01T00:00:00Z");
    let told = derived_state(&mut ken);
    let elsewhere = tempfile::tempdir().unwrap();
    copy_dir(&dir.path().join(".ken"), &elsewhere.path().join(".ken"));
    fs::remove_dir_all(elsewhere.path().join(".ken/.index")).unwrap();
    let mut clone = open_engine(elsewhere.path(), "2027-03-01T00:00:00Z");
    assert_eq!(derived_state(&mut clone), told);
    insta::assert_snapshot!(told, @"
    L-ty2sm185 BetaPosterior { alpha: 5.000021349031977, beta: 5.000005371443528 } (true, Candidate, ExposureCount { shown: 12, blind: 0 }) TooFew { shown: 0, withheld: 0 }
    L-z5fp2g9t BetaPosterior { alpha: 15.400000000000004, beta: 7.800000000000001 } (false, Candidate, ExposureCount { shown: 0, blind: 0 }) TooFew { shown: 0, withheld: 0 }
    one L-z5fp2g9t 0.46674286986719377
    two L-z5fp2g9t 0.46674286986719377
    ");
}

#[test]
fn what_was_taken_back_stays_so_although_somebody_finds_it_again() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let lead = actor("human:lead");
    ken.set_review_policy(Some(ReviewPolicy::STRICT), &lead)
        .unwrap();
    for number in 1..=10 {
        let run = format!("run-{number}");
        open_witnessed_run(&mut ken, &run, &[("agent:a", RunMember::default())]);
        ken.record_exposures(&reader("agent:a", &run), &[id], ExposureChannel::Pull)
            .unwrap();
        close_with_outcome(&mut ken, &run, Succeeded);
    }
    open_witnessed_run(&mut ken, "last", &[("agent:a", RunMember::default())]);
    ken.observe(&reader("agent:a", "last"), finding(CLAIM_REPHRASED))
        .unwrap();
    ken.retract(id, RetractReason::False, None, &lead).unwrap();
    let closed = close_with_outcome(&mut ken, "last", Succeeded);
    assert!(closed.closing.restored.is_empty() && closed.gained.is_empty());
    assert!(ken.entry(id).unwrap().retracted.is_some());
}

#[test]
fn entries_that_are_used_together_gather_and_rank_together() {
    let (dir, _) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let topics = ["locks", "keys", "amounts", "refunds", "receipts"];
    let entries =
        topics.map(|it| add_entry(&mut ken, &format!("The ledger of payments keeps its {it}")));
    let alone = add_entry(&mut ken, "The ledger of payments forgets nothing at all");
    // 1.05 to the power of 24 is more than three.
    for number in 0..25 {
        let run = format!("run-{number}");
        open_witnessed_run(&mut ken, &run, &[("agent:a", RunMember::default())]);
        let used = RunNote::Used {
            agent: actor("agent:a"),
            entries: entries.to_vec(),
        };
        ken.record_note(&run, used, &actor("agent:a")).unwrap();
        close_with_outcome(&mut ken, &run, Succeeded);
    }
    // A failed run pairs nothing.
    open_witnessed_run(&mut ken, "failed", &[("agent:a", RunMember::default())]);
    let used = RunNote::Used {
        agent: actor("agent:a"),
        entries: vec![entries[0], alone],
    };
    ken.record_note("failed", used, &actor("agent:a")).unwrap();
    close_with_outcome(&mut ken, "failed", Failed);
    let clusters = ken.distillation_candidates().unwrap();
    assert_eq!(clusters.len(), 1);
    assert!(
        clusters[0]
            .entries
            .iter()
            .eq(&std::collections::BTreeSet::from(entries))
    );
    assert!(clusters[0].weight > 3.0 && clusters[0].weight < 4.0);
    let search = SearchQuery {
        query: "ledger of payments".to_owned(),
        ..SearchQuery::default()
    };
    let found = ken.search(&search, &mut |_, _| ()).unwrap();
    let together = |id| found.hit(id).unwrap().facts.cooccurrence;
    assert!(entries.iter().all(|id| together(*id) > 3.0));
    assert!(together(alone).abs() < f64::EPSILON);
}
