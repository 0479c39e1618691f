//! How a finding came about: the ways in which an agent may have seen a claim.

use std::fs;

use ken_core::decide::Refusal;
use ken_core::event::{Origin, Outcome::Succeeded};
use ken_core::event::{Provenance, Relation};
use ken_core::id::EntryId;
use ken_core::review::ReviewPolicy;
use ken_core::run::{Finding, How, Manner, Member, Note, Witness};
use ken_core::status::Status;
use ken_engine::runs::{NewRun, Reader, Recorded};
use ken_engine::search::Search;
use ken_engine::{Engine, Error};

use crate::house::{
    CLAIM, NOON, SAME, actor, add, at, close, copy_dir, finding, found_after, house, member, open,
    proposal, reader,
};

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
    for bad in ["../x", "a/b", ".", "", "a b", "I-0123"] {
        let wish = NewRun {
            id: Some(bad.to_owned()),
            ..NewRun::default()
        };
        assert!(ken.open_run(wish, &actor("human:lead")).is_err(), "{bad}");
    }
}

#[test]
fn tru_22_whoever_was_shown_an_entry_outside_any_run_says_once_whether_it_helped() {
    use ken_core::event::Feedback::{Helpful, Unhelpful};
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    let reader = Reader {
        agent: actor("agent:a"),
        run: None,
        session: Some("s".to_owned()),
    };
    let refused = ken.feedback_for(&reader, id, Helpful);
    let not_shown = Refusal::NotShown {
        entry: id,
        by: actor("agent:a"),
    };
    assert!(
        matches!(&refused, Err(Error::Refused(why)) if *why == not_shown),
        "{refused:?}"
    );
    ken.note_shown(&reader, &[id], How::Show).unwrap();
    for (verdict, is_new) in [
        (Helpful, true),
        (Helpful, false),
        (Unhelpful, true),
        (Helpful, true),
    ] {
        let told = ken.feedback_for(&reader, id, verdict).unwrap();
        assert_eq!(told, is_new, "{verdict:?}");
    }
    let person = Reader {
        agent: actor("human:ada"),
        run: None,
        session: None,
    };
    assert!(ken.feedback_for(&person, id, Helpful).unwrap());
}

#[test]
fn what_is_recorded_is_an_entry_or_a_finding_and_names_nothing_unseen() {
    let (dir, id) = house();
    let mut ken = at(dir.path(), NOON);
    open(&mut ken, "run", &[("agent:a", Member::default())]);
    let reader = reader("agent:a", "run");
    let mut record = |statement: &str| ken.record_for(&reader, None, proposal(statement)).unwrap();
    for _ in 0..2 {
        assert_eq!(record(SAME), Recorded::Noted(None), "known, and not seen");
    }
    let new = "Queues are drained before a deployment begins";
    let Recorded::Entry(added) = record(new) else {
        panic!("nobody said it before");
    };
    assert_eq!(
        record(new),
        Recorded::Entry(added.clone()),
        "its own, again"
    );
    assert_eq!(added.created.unwrap().run.unwrap().id, "run");
    let run = ken.run("run").unwrap();
    assert_eq!(run.agents[&reader.agent].findings.len(), 1, "noted once");
    ken.note_shown(&reader, &[id], How::Show).unwrap();
    let told = ken.record_for(&reader, None, proposal(SAME)).unwrap();
    assert_eq!(told, Recorded::Noted(Some(id)), "seen, it may be named");
    let apart = ken
        .record_for(&reader, Some("mine"), proposal(CLAIM))
        .unwrap();
    assert_eq!(apart, Recorded::Noted(Some(id)));
    let own = ken_core::run::name::conversation(&reader.agent, "mine");
    let own = ken.run(&own).unwrap();
    assert_eq!(own.witness, Witness::Nobody);
    assert_eq!(own.agents[&reader.agent].findings.len(), 1);
}
