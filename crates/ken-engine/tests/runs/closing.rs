//! What becomes of entries and findings when a run ends.

use std::fs;
use std::path::PathBuf;

use ken_core::content::Scope;
use ken_core::entry::Entry;
use ken_core::event::Outcome::Succeeded;
use ken_core::event::{ArchiveReason, Outcome, Provenance, RetractReason};
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_core::review::ReviewPolicy;
use ken_core::run::{Finding, How, Member, Note};
use ken_core::status::Status;
use ken_engine::Engine;
use ken_engine::search::Search;

use crate::house::{
    NOON, SAME, actor, add, at, close, copy_dir, finding, found_after, house, open, proposal,
    reader, what_follows,
};

#[test]
fn a_run_nobody_closed_is_swept_when_the_next_one_begins() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    open(&mut ken, "old", &[("agent:a", Member::default())]);
    ken.observe(&reader("agent:a", "old"), finding(SAME))
        .unwrap();
    let mut ken = at(dir.path(), "2026-11-16T11:59:59Z");
    open(&mut ken, "soon", &[]);
    assert_eq!(ken.open_runs().unwrap().len(), 2);
    let mut ken = at(dir.path(), "2026-11-16T12:00:01Z");
    open(&mut ken, "later", &[]);
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
fn a_run_that_cannot_be_closed_is_in_nobodys_way() {
    let (dir, _) = house();
    let mut ken = at(dir.path(), NOON);
    open(&mut ken, "bad", &[("agent:a", Member::default())]);
    let secret = ["agent:ghp", "_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2"].concat();
    let notes = ken.root().join(".ken/.local/runs/bad.jsonl");
    let mut text = fs::read_to_string(&notes).unwrap();
    text += &format!(
        r#"{{"at":"{NOON}","by":"agent:a","note":"used","agent":"{secret}","entries":[]}}"#
    );
    fs::write(&notes, text + "\n").unwrap();
    let mut ken = at(dir.path(), "2026-11-16T12:00:01Z");
    open(&mut ken, "later", &[]);
    let open = ken.open_runs().unwrap();
    assert_eq!(open.iter().map(|it| &it.id).collect::<Vec<_>>(), ["later"]);
    assert_eq!(ken.past_runs().unwrap(), [], "nothing of it was kept");
}

#[test]
fn dec_02_dec_05_dec_06_silence_lays_aside_and_recurrence_brings_back_with_its_history() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    ken.set_review_policy(Some(ReviewPolicy::STRICT), &actor("human:lead"))
        .unwrap();
    for number in 1..=10 {
        let run = format!("run-{number}");
        open(&mut ken, &run, &[("agent:a", Member::default())]);
        ken.note_shown(&reader("agent:a", &run), &[id], How::Pull)
            .unwrap();
        let closed = close(&mut ken, &run, Succeeded);
        assert_eq!(closed.closing.archived.len(), usize::from(number == 10));
    }
    let archived = ken.entry(id).unwrap();
    assert_eq!(
        archived.archived.as_ref().unwrap().because,
        ArchiveReason::Decay
    );
    assert_eq!(found_after(&mut ken, id, |_| ()), Provenance::Independent);
    let back = ken.entry(id).unwrap();
    assert!(back.archived.is_none());
    assert_eq!(back.created, archived.created);
    assert_eq!(back.tallies.shown, 10);
    assert_eq!(back.since_confirmation().shown, 0);
}

#[test]
fn acc_02_acc_04_acc_06_prv_06_dup_03_two_agents_make_an_entry_and_the_same_again_makes_none() {
    let (dir, _) = house();
    let mut ken = at(dir.path(), NOON);
    let statement = "Amounts are integers in cents wherever the ledger adds them up";
    let agents = [
        ("agent:a", Member::default()),
        ("agent:b", Member::default()),
    ];
    let again = |ken: &mut Engine, run: &str| {
        open(ken, run, &agents);
        for agent in ["agent:a", "agent:b"] {
            ken.observe(&reader(agent, run), finding(statement))
                .unwrap();
        }
        close(ken, run, Succeeded)
    };
    let first = again(&mut ken, "one");
    let [id] = first.gained[..] else {
        panic!("{first:?}")
    };
    let entry = ken.entry(id).unwrap();
    assert_eq!(entry.status.value, Status::Active);
    assert_eq!(entry.confirmation.provenance, Some(Provenance::Independent));
    assert_eq!(entry.confirmation.last, Some("2026-11-15".parse().unwrap()));
    let created = entry.created.unwrap();
    assert_eq!(created.by, actor("agent:a"));
    assert_eq!(created.run.unwrap().id, "one");
    let second = again(&mut ken, "two");
    assert!(second.gained.is_empty());
    assert_eq!(second.closing.found[&id], Provenance::Independent);
    assert_eq!(ken.entry(id).unwrap().status.value, Status::Verified);
}

#[test]
fn acc_09_acc_11_severe_and_dismissed_findings_become_entries_alone_and_a_retracted_one_does_not() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let by = actor("human:lead");
    ken.retract(id, RetractReason::False, None, &by).unwrap();
    open(&mut ken, "run", &[("agent:a", Member::default())]);
    let with = |statement: &str, severity_milli, dismissed| Finding {
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
        with(SAME, 9_900, false),
    ] {
        ken.observe(&reader("agent:a", "run"), it).unwrap();
    }
    let closed = close(&mut ken, "run", Succeeded);
    let kinds: Vec<Kind> = closed
        .gained
        .iter()
        .map(|id| ken.entry(*id).unwrap().kind().unwrap())
        .collect();
    assert_eq!(kinds, [Kind::Incident, Kind::FalsePositive]);
    let [(refused, why)] = &closed.refused[..] else {
        panic!("{closed:?}")
    };
    assert_eq!(refused.statement.as_str(), SAME);
    assert!(why.contains("retracted as false"), "{why}");
}

#[test]
fn an_opposite_finding_confirms_nothing() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    open(&mut ken, "run", &[("agent:a", Member::default())]);
    let opposite = "A retried payment is never charged once because the request carries its key";
    ken.observe(&reader("agent:a", "run"), finding(opposite))
        .unwrap();
    assert!(close(&mut ken, "run", Succeeded).closing.found.is_empty());
    assert_eq!(ken.entry(id).unwrap().confirmation.independent, 0);
}

/// Closes a run that showed an entry; returns where its notes lay, and what they were.
fn closed_with_notes(ken: &mut Engine, id: EntryId) -> (PathBuf, Vec<u8>) {
    open(ken, "run", &[("agent:a", Member::default())]);
    ken.note_shown(&reader("agent:a", "run"), &[id], How::Pull)
        .unwrap();
    let notes = ken.root().join(".ken/.local/runs/run.jsonl");
    let kept = fs::read(&notes).unwrap();
    close(ken, "run", Succeeded);
    (notes, kept)
}

#[test]
fn a_close_that_was_stopped_half_way_is_not_counted_twice() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let (notes, kept) = closed_with_notes(&mut ken, id);
    assert!(!notes.exists());
    let before = ken.state().unwrap();
    fs::write(&notes, kept).unwrap();
    close(&mut ken, "run", Succeeded);
    assert_eq!(ken.state().unwrap(), before);
    assert!(!notes.exists());
}

#[test]
fn a_close_that_wrote_a_part_writes_the_rest() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let (notes, kept) = closed_with_notes(&mut ken, id);
    drop(ken);
    // The line that the run ended is lost; what it did to entries is not.
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
    let mut ken = at(dir.path(), "2026-11-15T12:00:01Z");
    close(&mut ken, "run", Succeeded);
    assert_eq!(ken.entry(id).unwrap().tallies.shown, 1);
    assert_eq!(ken.past_runs().unwrap().len(), 1);
}

#[test]
fn tru_06_tru_08_only_what_was_used_gains_from_a_success() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let other = add(
        &mut ken,
        "Colour themes are read once, when the window opens",
    );
    open(&mut ken, "run", &[("agent:a", Member::default())]);
    ken.note_shown(&reader("agent:a", "run"), &[id, other], How::Pull)
        .unwrap();
    let used = Note::Used {
        agent: actor("agent:a"),
        entries: vec![id],
    };
    ken.note_run("run", used, &actor("agent:a")).unwrap();
    close(&mut ken, "run", Succeeded);
    let alpha = |entry: Entry| -> u64 {
        let days = entry.tallies.days.values();
        days.map(|tally| tally.alpha_milli).sum()
    };
    assert_eq!(alpha(ken.entry(id).unwrap()), 1_300, "0.5 and the quality");
    assert_eq!(alpha(ken.entry(other).unwrap()), 0);
}

#[test]
fn tru_23_c7_what_a_run_wrote_is_active_once_it_succeeded() {
    let (dir, _) = house();
    let mut ken = at(dir.path(), NOON);
    for (run, outcome, expected) in [
        ("good", Succeeded, Status::Active),
        ("bad", Outcome::Failed, Status::Candidate),
    ] {
        open(&mut ken, run, &[("agent:a", Member::default())]);
        let statement = format!("What run {run} wrote down about the cache of sessions");
        let added = ken
            .add_for(&reader("agent:a", run), vec![proposal(&statement)])
            .unwrap();
        close(&mut ken, run, outcome);
        assert_eq!(ken.entry(added[0]).unwrap().status.value, expected, "{run}");
    }
}

#[test]
fn c18_dec_38_dec_39_a_thread_is_laid_aside_and_what_reaches_further_stays() {
    let (dir, _) = house();
    let mut ken = at(dir.path(), NOON);
    let mut add_to = |thread: &str, scope: Scope, statement: &str| {
        let mut it = proposal(statement);
        it.thread = Some(thread.parse().unwrap());
        it.scope = scope;
        ken.add(it, &actor("agent:author")).unwrap().id
    };
    let own = add_to(
        "pay",
        Scope::Thread,
        "The sandbox of the bank is down on Sundays",
    );
    let promoted = add_to("pay", Scope::Workspace, "The bank counts amounts in cents");
    let other = add_to("web", Scope::Thread, "The menu is rendered by the server");
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
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    ken.set_review_policy(Some(ReviewPolicy::STRICT), &actor("human:lead"))
        .unwrap();
    let other = add(
        &mut ken,
        "A retried payment waits for the lock of its account",
    );
    for number in 0..12 {
        let run = format!("run-{number}");
        let mut ken = at(dir.path(), &format!("2026-12-{:02}T00:00:00Z", number + 1));
        open(&mut ken, &run, &[("agent:a", Member::default())]);
        ken.note_shown(&reader("agent:a", &run), &[other], How::Pull)
            .unwrap();
        let used = Note::Used {
            agent: actor("agent:a"),
            entries: vec![id, other],
        };
        ken.note_run(&run, used, &actor("agent:a")).unwrap();
        let outcome = match number % 3 {
            0 => Outcome::Failed,
            _ => Succeeded,
        };
        close(&mut ken, &run, outcome);
    }
    let mut ken = at(dir.path(), "2027-03-01T00:00:00Z");
    let told = what_follows(&mut ken);
    let elsewhere = tempfile::tempdir().unwrap();
    copy_dir(&dir.path().join(".ken"), &elsewhere.path().join(".ken"));
    fs::remove_dir_all(elsewhere.path().join(".ken/.index")).unwrap();
    let mut clone = at(elsewhere.path(), "2027-03-01T00:00:00Z");
    assert_eq!(what_follows(&mut clone), told);
    insta::assert_snapshot!(told, @"
    L-ty2sm185 Beta { alpha: 5.000014194773592, beta: 5.000002985033989 } (true, Candidate, Seen { shown: 12, blind: 0 }) TooFew { shown: 0, withheld: 0 }
    L-z5fp2g9t Beta { alpha: 15.400000000000004, beta: 7.800000000000001 } (false, Candidate, Seen { shown: 0, blind: 0 }) TooFew { shown: 0, withheld: 0 }
    one L-z5fp2g9t 0.4444032468216898
    two L-z5fp2g9t 0.46313351011664244
    ");
}

#[test]
fn what_was_taken_back_stays_so_although_somebody_finds_it_again() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let lead = actor("human:lead");
    ken.set_review_policy(Some(ReviewPolicy::STRICT), &lead)
        .unwrap();
    for number in 1..=10 {
        let run = format!("run-{number}");
        open(&mut ken, &run, &[("agent:a", Member::default())]);
        ken.note_shown(&reader("agent:a", &run), &[id], How::Pull)
            .unwrap();
        close(&mut ken, &run, Succeeded);
    }
    open(&mut ken, "last", &[("agent:a", Member::default())]);
    ken.observe(&reader("agent:a", "last"), finding(SAME))
        .unwrap();
    ken.retract(id, RetractReason::False, None, &lead).unwrap();
    let closed = close(&mut ken, "last", Succeeded);
    assert!(closed.closing.restored.is_empty() && closed.gained.is_empty());
    assert!(ken.entry(id).unwrap().retracted.is_some());
}

#[test]
fn dst_06_dst_07_dst_08_entries_that_are_used_together_gather_and_rank_together() {
    let (dir, _) = house();
    let mut ken = at(dir.path(), NOON);
    let topics = ["locks", "keys", "amounts", "refunds", "receipts"];
    let entries = topics.map(|it| add(&mut ken, &format!("The ledger of payments keeps its {it}")));
    let alone = add(&mut ken, "The ledger of payments forgets nothing at all");
    // 1.05 to the 24th is more than three.
    for number in 0..25 {
        let run = format!("run-{number}");
        open(&mut ken, &run, &[("agent:a", Member::default())]);
        let used = Note::Used {
            agent: actor("agent:a"),
            entries: entries.to_vec(),
        };
        ken.note_run(&run, used, &actor("agent:a")).unwrap();
        close(&mut ken, &run, Succeeded);
    }
    let clusters = ken.distillation_candidates().unwrap();
    assert_eq!(clusters.len(), 1);
    assert!(
        clusters[0]
            .entries
            .iter()
            .eq(&std::collections::BTreeSet::from(entries))
    );
    assert!(3.0 < clusters[0].weight && clusters[0].weight < 4.0);
    let search = Search {
        query: "ledger of payments".to_owned(),
        ..Search::default()
    };
    let found = ken.search(&search, &mut |_, _| ()).unwrap();
    let together = |id| found.hit(id).unwrap().facts.cooccurrence;
    assert!(entries.iter().all(|id| 3.0 < together(*id)));
    assert!(together(alone).abs() < f64::EPSILON);
}
