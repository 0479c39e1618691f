//! Runs from their opening to the ledger: what confirms, what does not, and every way to be fooled.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::Command;

use ken_core::actor::Actor;
use ken_core::content::{Content, Scope};
use ken_core::decide::Proposal;
use ken_core::entry::Entry;
use ken_core::event::{ArchiveReason, Outcome, Provenance, Relation, RetractReason};
use ken_core::event::{Origin, Outcome::Succeeded};
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_core::review::ReviewPolicy;
use ken_core::run::close::Ending;
use ken_core::run::{Finding, How, Manner, Member, Note, Witness};
use ken_core::status::Status;
use ken_engine::runs::{Closed, NewRun, Reader};
use ken_engine::search::Search;
use ken_engine::world::FixedWorld;
use ken_engine::{Engine, Error, GitEnv, init};
use tempfile::TempDir;

const CLAIM: &str = "A retried payment is charged once because the request carries its key";
const SAME: &str = "Because the request carries its key, a retried payment is charged once";
const NOON: &str = "2026-11-15T12:00:00Z";

fn actor(name: &str) -> Actor {
    name.parse().unwrap()
}

fn at(root: &Path, now: &str) -> Engine {
    let seed = now.bytes().map(u64::from).sum::<u64>() * 7919;
    let world = FixedWorld::new(now.parse().unwrap(), seed);
    Engine::open(root, &GitEnv::default(), None, Box::new(world)).unwrap()
}

/// A ledger with one claim an agent wrote.
fn house() -> (TempDir, EntryId) {
    let dir = tempfile::tempdir().unwrap();
    let git = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&dir)
        .status();
    assert!(git.unwrap().success());
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut ken = at(dir.path(), "2026-11-01T00:00:00Z");
    let id = add(&mut ken, CLAIM);
    (dir, id)
}

fn proposal(statement: &str) -> Proposal {
    let by = actor("agent:author");
    let evidence: ken_core::citation::Evidence = "pr:142".parse().unwrap();
    let cited = vec![evidence.cite(&by, NOON.parse().unwrap())];
    let content = Content::new(statement.parse().unwrap());
    Proposal::new(Kind::Learning, content, cited, Origin::Agent)
}

fn add(ken: &mut Engine, statement: &str) -> EntryId {
    ken.add(proposal(statement), &actor("agent:author"))
        .unwrap()
        .id
}

fn reader(agent: &str, run: &str) -> Reader {
    Reader {
        agent: actor(agent),
        run: Some(run.to_owned()),
        session: None,
    }
}

fn finding(statement: &str) -> Finding {
    Finding {
        statement: statement.parse().unwrap(),
        evidence: Vec::new(),
        verify: Vec::new(),
        severity_milli: 0,
        confidence_milli: 0,
        dismissed: false,
    }
}

fn member(session: Option<&str>, told_by: &[&str]) -> Member {
    Member {
        session: session.map(ToOwned::to_owned),
        told_by: told_by.iter().map(|it| actor(it)).collect(),
        ..Member::default()
    }
}

/// Opens a run somebody watches.
fn open(ken: &mut Engine, id: &str, agents: &[(&str, Member)]) {
    let wish = NewRun {
        id: Some(id.to_owned()),
        agents: agents
            .iter()
            .map(|(name, member)| (actor(name), member.clone()))
            .collect(),
        witness: Witness::Orchestrator,
        ..NewRun::default()
    };
    ken.open_run(wish, &actor("human:lead")).unwrap();
}

fn close(ken: &mut Engine, id: &str, outcome: Outcome) -> Closed {
    let ending = Ending {
        outcome,
        quality_milli: Some(800),
        rounds: 1,
        cost_micros: 0,
        strategy: None,
    };
    ken.close_run(id, &ending, &actor("human:lead")).unwrap()
}

/// A watched run of one agent that finds the claim after `before` happened; how that came about.
fn found_after(ken: &mut Engine, id: EntryId, before: impl FnOnce(&mut Engine)) -> Provenance {
    open(ken, "run", &[("agent:a", Member::default())]);
    before(ken);
    ken.observe(&reader("agent:a", "run"), finding(SAME))
        .unwrap();
    close(ken, "run", Succeeded).closing.found[&id]
}

#[test]
fn tru_01_dec_07_an_independent_finding_renews_and_verifies() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let before = ken.entry(id).unwrap().confirmation.last;
    assert_eq!(found_after(&mut ken, id, |_| ()), Provenance::Independent);
    let entry = ken.entry(id).unwrap();
    assert!(before < entry.confirmation.last);
    assert_eq!(entry.confirmation.independent, 1);
    assert_eq!(entry.status.value, Status::Verified);
}

#[test]
fn dec_09_prv_04_an_agent_that_was_shown_the_claim_renews_nothing() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let before = ken.entry(id).unwrap().confirmation.last;
    for how in [How::Pull, How::Show, How::Brief] {
        let shown = |ken: &mut Engine| {
            ken.note_shown(&reader("agent:a", "run"), &[id], how)
                .unwrap();
        };
        assert_eq!(found_after(&mut ken, id, shown), Provenance::Primed);
    }
    let entry = ken.entry(id).unwrap();
    assert_eq!(entry.confirmation.last, before);
    assert_eq!(entry.status.value, Status::Candidate);
}

#[test]
fn prv_05_an_agent_that_read_the_file_itself_has_seen_it() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let file = ken.entry(id).unwrap().file_name().unwrap();
    for path in [
        format!(".ken/entries/{file}"),
        ".ken/semantic/v1/2026-11-01t00-00-abcdef.jsonl".to_owned(),
        ".ken/index.md".to_owned(),
    ] {
        let read = |ken: &mut Engine| {
            ken.note_read(&reader("agent:a", "run"), &path).unwrap();
        };
        assert_eq!(
            found_after(&mut ken, id, read),
            Provenance::Primed,
            "{path}"
        );
    }
    let elsewhere = |ken: &mut Engine| {
        ken.note_read(&reader("agent:a", "run"), "src/pay.rs")
            .unwrap();
    };
    assert_eq!(
        found_after(&mut ken, id, elsewhere),
        Provenance::Independent
    );
}

#[test]
fn inj_23_a_sub_agent_has_seen_what_its_parent_saw() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let agents = [
        ("agent:parent", Member::default()),
        ("agent:child", member(None, &["agent:parent"])),
    ];
    open(&mut ken, "run", &agents);
    ken.note_shown(&reader("agent:parent", "run"), &[id], How::Pull)
        .unwrap();
    ken.observe(&reader("agent:child", "run"), finding(SAME))
        .unwrap();
    let found = close(&mut ken, "run", Succeeded).closing.found[&id];
    assert_eq!(found, Provenance::Primed);
}

#[test]
fn inj_24_a_conclusion_that_cites_the_claim_is_an_exposure() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let agents = [
        ("agent:a", Member::default()),
        ("agent:b", Member::default()),
    ];
    open(&mut ken, "run", &agents);
    let said = Note::Said {
        agent: actor("agent:b"),
        words: None,
        cites: vec![id],
        to: Vec::new(),
    };
    ken.note_run("run", said, &actor("agent:b")).unwrap();
    ken.observe(&reader("agent:a", "run"), finding(SAME))
        .unwrap();
    let found = close(&mut ken, "run", Succeeded).closing.found[&id];
    assert_eq!(found, Provenance::Primed);
}

#[test]
fn a_copy_that_was_seen_is_the_claim_itself() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let copy = add(&mut ken, "Payments are idempotent by the key of the caller");
    ken.link(id, copy, Relation::DerivedFrom, &actor("human:lead"))
        .unwrap();
    let shown = |ken: &mut Engine| {
        ken.note_shown(&reader("agent:a", "run"), &[copy], How::Pull)
            .unwrap();
    };
    assert_eq!(found_after(&mut ken, id, shown), Provenance::Primed);
}

#[test]
fn a_session_that_goes_on_has_seen_what_it_saw() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    open(&mut ken, "first", &[("agent:a", member(Some("s1"), &[]))]);
    ken.note_shown(&reader("agent:a", "first"), &[id], How::Pull)
        .unwrap();
    close(&mut ken, "first", Succeeded);
    for (session, expected) in [("s1", Provenance::Primed), ("s2", Provenance::Independent)] {
        open(&mut ken, "next", &[("agent:a", member(Some(session), &[]))]);
        ken.observe(&reader("agent:a", "next"), finding(SAME))
            .unwrap();
        let found = close(&mut ken, "next", Succeeded).closing.found[&id];
        assert_eq!(found, expected, "{session}");
    }
}

#[test]
fn what_an_agent_saw_outside_any_run_it_saw() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let outside = Reader {
        run: None,
        ..reader("agent:a", "")
    };
    ken.note_shown(&outside, &[id], How::Pull).unwrap();
    assert_eq!(found_after(&mut ken, id, |_| ()), Provenance::Primed);
}

#[test]
fn outside_any_run_nothing_is_confirmed_however_time_and_processes_pass() {
    let (dir, id) = house();
    let outside = Reader {
        run: None,
        ..reader("agent:a", "")
    };
    let before = at(dir.path(), NOON).entry(id).unwrap().confirmation.last;
    // Another process, an hour later, the next day: shown at one time, found at the other.
    let mut ken = at(dir.path(), "2026-11-15T10:59:00Z");
    ken.note_shown(&outside, &[id], How::Pull).unwrap();
    for later in [
        "2026-11-15T11:01:00Z",
        "2026-11-15T23:00:00Z",
        "2026-11-20T00:00:00Z",
    ] {
        let mut ken = at(dir.path(), later);
        let run = ken.observe(&outside, finding(SAME)).unwrap();
        assert_eq!(run.manner, Manner::Implicit, "{later}");
        let found = close(&mut ken, &run.id, Succeeded).closing.found[&id];
        assert_ne!(found, Provenance::Independent, "{later}");
    }
    let entry = at(dir.path(), NOON).entry(id).unwrap();
    assert_eq!(entry.confirmation.last, before);
    assert_eq!(entry.confirmation.independent, 0);
}

#[test]
fn a_run_that_is_open_on_another_machine_is_not_open_here() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    open(&mut ken, "run", &[("agent:a", Member::default())]);
    let (elsewhere, _) = house();
    let segments = ".ken/semantic";
    fs::remove_dir_all(elsewhere.path().join(segments)).unwrap();
    copy_dir(&dir.path().join(segments), &elsewhere.path().join(segments));
    let mut other = at(elsewhere.path(), NOON);
    let run = other
        .observe(&reader("agent:a", "run"), finding(SAME))
        .unwrap();
    assert_eq!(run.manner, Manner::Implicit);
    let found = close(&mut other, &run.id, Succeeded).closing.found[&id];
    assert_eq!(found, Provenance::Unwitnessed);
}

#[test]
fn nobody_who_opens_a_run_for_itself_confirms_in_it() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let wish = NewRun {
        id: Some("run".to_owned()),
        agents: vec![(actor("agent:a"), Member::default())],
        witness: Witness::Orchestrator,
        ..NewRun::default()
    };
    ken.open_run(wish, &actor("agent:a")).unwrap();
    ken.observe(&reader("agent:a", "run"), finding(SAME))
        .unwrap();
    let found = close(&mut ken, "run", Succeeded).closing.found[&id];
    assert_eq!(found, Provenance::Unwitnessed);
}

#[test]
fn notes_that_were_cut_short_confirm_nothing() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let cut = |ken: &mut Engine| {
        let path = ken.root().join(".ken/.local/runs/run.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{{\"at\":\n")).unwrap();
    };
    assert_eq!(found_after(&mut ken, id, cut), Provenance::Unwitnessed);
}

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
    assert_eq!(ken.entry(id).unwrap().confirmation.independent, 0);
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

#[test]
fn a_close_that_was_stopped_half_way_is_not_counted_twice() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    open(&mut ken, "run", &[("agent:a", Member::default())]);
    ken.note_shown(&reader("agent:a", "run"), &[id], How::Pull)
        .unwrap();
    let notes = dir.path().join(".ken/.local/runs/run.jsonl");
    let kept = fs::read(&notes).unwrap();
    close(&mut ken, "run", Succeeded);
    assert!(!notes.exists());
    let before = ken.state().unwrap();
    fs::write(&notes, kept).unwrap();
    close(&mut ken, "run", Succeeded);
    assert_eq!(ken.state().unwrap(), before);
    assert!(!notes.exists());
}

#[test]
fn no_secret_gets_into_the_notes() {
    let (dir, _) = house();
    let mut ken = at(dir.path(), NOON);
    open(&mut ken, "run", &[("agent:a", Member::default())]);
    let notes = dir.path().join(".ken/.local/runs/run.jsonl");
    let before = fs::read(&notes).unwrap();
    let key = format!("{}{}", "ghp_", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    let leaked = finding(&format!("The deploy token is {key} and works everywhere"));
    let refused = ken.observe(&reader("agent:a", "run"), leaked);
    assert!(matches!(refused, Err(Error::Guarded(_))), "{refused:?}");
    assert_eq!(fs::read(&notes).unwrap(), before);
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
fn c21_what_is_pushed_is_kept_from_one_of_several_and_never_what_a_person_wrote() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let mut human = proposal("A retried payment shows the key of the request in the log");
    human.origin = Origin::Human;
    let person = ken.add(human, &actor("human:ann")).unwrap().id;
    let agents = ["agent:a", "agent:b", "agent:c"];
    let members = agents.map(|name| (name, Member::default()));
    open(&mut ken, "run", &members);
    let portion = ken_engine::search::Portion {
        cap: 5,
        budget: usize::MAX,
        tier: None,
        role: None,
    };
    let search = Search {
        query: "retried payment request key".to_owned(),
        ..Search::default()
    };
    let mut saw = Vec::new();
    for agent in agents {
        let mut brief = ken.brief(&search, &mut |_, _| ()).unwrap();
        let page = ken
            .hand_over(&mut brief, portion, Some(&reader(agent, "run")))
            .unwrap();
        saw.push(page.shown.iter().map(|it| it.id).collect::<Vec<_>>());
    }
    assert!(saw.iter().all(|it| it.contains(&person)), "{saw:?}");
    assert!(saw.iter().any(|it| !it.contains(&id)), "{saw:?}");
    let run = ken.run("run").unwrap();
    for (agent, saw) in agents.iter().zip(&saw) {
        let noted = &run.agents[&actor(agent)];
        let shown: Vec<EntryId> = noted.shown.keys().copied().collect();
        assert_eq!(shown.contains(&id), saw.contains(&id));
        assert!(noted.offers.contains_key(&id), "with the propensity");
    }
    // Off with one line.
    let off = ReviewPolicy {
        blind: false,
        ..ReviewPolicy::default()
    };
    ken.set_review_policy(Some(off), &actor("human:lead"))
        .unwrap();
    open(&mut ken, "all", &members);
    for agent in agents {
        let mut brief = ken.brief(&search, &mut |_, _| ()).unwrap();
        let page = ken
            .hand_over(&mut brief, portion, Some(&reader(agent, "all")))
            .unwrap();
        assert!(page.shown.iter().any(|it| it.id == id));
    }
}

/// Everything that follows from a ledger and that somebody may rely on.
fn what_follows(ken: &mut Engine) -> String {
    let mut told = String::new();
    for entry in ken.state().unwrap().entries.values() {
        let posterior = entry.posterior(
            ken_core::facts::Validity::Holds,
            "2027-03-01".parse().unwrap(),
        );
        let facts = (
            entry.archived.is_some(),
            entry.status.value,
            entry.since_confirmation(),
        );
        told += &format!(
            "{} {:?} {facts:?} {:?}\n",
            entry.id,
            posterior,
            entry.tallies.worth()
        );
    }
    for run in ["one", "two"] {
        let search = Search {
            query: "retried payment".to_owned(),
            run: Some(run.to_owned()),
            floor: ken_engine::search::Floor::None,
            ..Search::default()
        };
        for hit in ken.search(&search, &mut |_, _| ()).unwrap().hits {
            told += &format!("{run} {} {:?}\n", hit.entry.id, hit.explained.score);
        }
    }
    told
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
fn c8_what_one_agent_said_is_told_to_nobody_who_did_not_ask_until_another_finds_it() {
    let (dir, _) = house();
    let mut ken = at(dir.path(), NOON);
    let statement = "The ledger adds amounts up before it takes the lock of the account";
    let severe = Finding {
        severity_milli: 7_000,
        confidence_milli: 8_000,
        ..finding(statement)
    };
    open(&mut ken, "one", &[("agent:a", Member::default())]);
    ken.observe(&reader("agent:a", "one"), severe).unwrap();
    let id = close(&mut ken, "one", Succeeded).gained[0];
    let search = Search {
        query: "ledger amounts lock account".to_owned(),
        ..Search::default()
    };
    let found = ken.search(&search, &mut |_, _| ()).unwrap();
    assert!(found.hit(id).is_some(), "who asks is answered");
    let portion = ken_engine::search::Portion {
        cap: 5,
        budget: usize::MAX,
        tier: None,
        role: None,
    };
    let told = |ken: &mut Engine, run: &str| {
        let mut brief = ken.brief(&search, &mut |_, _| ()).unwrap();
        let to = reader("agent:b", run);
        let page = ken.hand_over(&mut brief, portion, Some(&to)).unwrap();
        page.shown.iter().any(|it| it.id == id)
    };
    open(&mut ken, "two", &[("agent:b", Member::default())]);
    assert!(!told(&mut ken, "two"));
    ken.observe(&reader("agent:b", "two"), finding(statement))
        .unwrap();
    let closed = close(&mut ken, "two", Succeeded);
    assert_eq!(closed.closing.found[&id], Provenance::Independent);
    assert_eq!(closed.closing.effects[0].blind, 1, "and it was a chance");
    let off = ReviewPolicy {
        blind: false,
        ..ReviewPolicy::default()
    };
    ken.set_review_policy(Some(off), &actor("human:lead"))
        .unwrap();
    open(&mut ken, "three", &[("agent:b", Member::default())]);
    assert!(told(&mut ken, "three"));
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
fn what_people_read_nobody_writes_down() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let person = Reader {
        run: None,
        ..reader("human:ann", "")
    };
    ken.note_shown(&person, &[id], How::Pull).unwrap();
    assert!(ken.open_runs().unwrap().is_empty());
}

#[test]
fn a_name_never_leaves_its_folder() {
    let (dir, _) = house();
    let mut ken = at(dir.path(), NOON);
    for bad in ["../x", "a/b", ".", "", "a b"] {
        let wish = NewRun {
            id: Some(bad.to_owned()),
            ..NewRun::default()
        };
        assert!(ken.open_run(wish, &actor("human:lead")).is_err(), "{bad}");
    }
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap() {
        let item = item.unwrap();
        let target = to.join(item.file_name());
        match item.file_type().unwrap().is_dir() {
            true => copy_dir(&item.path(), &target),
            false => drop(fs::copy(item.path(), target).unwrap()),
        }
    }
}
