//! Provenance of findings: every way in which an agent may have been exposed to a claim.

use std::fs;

use ken_core::decide::Refusal;
use ken_core::ledger::event::{Origin, Outcome::Succeeded};
use ken_core::ledger::event::{Provenance, Relation};
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::{ExposureChannel, RunFinding, RunMember, RunMode, RunNote, RunWitness};
use ken_core::values::id::EntryId;
use ken_core::values::status::EntryStatus;
use ken_engine::runs::{EntryReader, OpenRunRequest, RecordOutcome};
use ken_engine::search::SearchQuery;
use ken_engine::{Engine, EngineError};

use crate::house::{
    CLAIM, CLAIM_REPHRASED, NOON, actor, add_entry, close_with_outcome, copy_dir, finding, member,
    open_engine, open_witnessed_run, proposal, provenance_after, reader, repository_with_claim,
};

#[test]
fn an_independent_finding_renews_and_verifies() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let before = ken.entry(id).unwrap().confirmation.last;
    assert_eq!(
        provenance_after(&mut ken, id, |_| ()),
        Provenance::Independent
    );
    let entry = ken.entry(id).unwrap();
    assert!(before < entry.confirmation.last);
    assert_eq!(entry.confirmation.independent, 1);
    assert_eq!(entry.status.value, EntryStatus::Verified);
}

#[test]
fn an_agent_that_was_shown_the_claim_renews_nothing() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let before = ken.entry(id).unwrap().confirmation.last;
    for how in [
        ExposureChannel::Pull,
        ExposureChannel::Show,
        ExposureChannel::Brief,
    ] {
        let shown = |ken: &mut Engine| {
            ken.record_exposures(&reader("agent:a", "run"), &[id], how)
                .unwrap();
        };
        assert_eq!(provenance_after(&mut ken, id, shown), Provenance::Primed);
    }
    let entry = ken.entry(id).unwrap();
    assert_eq!(entry.confirmation.last, before);
    assert_eq!(entry.status.value, EntryStatus::Candidate);
}

#[test]
fn an_agent_that_read_the_file_itself_has_seen_it() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let file = ken.entry(id).unwrap().file_name().unwrap();
    for path in [
        format!(".ken/entries/{file}"),
        ".ken/semantic/v1/2026-11-01t00-00-abcdef.jsonl".to_owned(),
        ".ken/index.md".to_owned(),
    ] {
        let read = |ken: &mut Engine| {
            ken.record_file_read(&reader("agent:a", "run"), &path)
                .unwrap();
        };
        assert_eq!(
            provenance_after(&mut ken, id, read),
            Provenance::Primed,
            "{path}"
        );
    }
    let elsewhere = |ken: &mut Engine| {
        ken.record_file_read(&reader("agent:a", "run"), "src/pay.rs")
            .unwrap();
    };
    assert_eq!(
        provenance_after(&mut ken, id, elsewhere),
        Provenance::Independent
    );
}

#[test]
fn a_sub_agent_has_seen_what_its_parent_saw() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let agents = [
        ("agent:parent", RunMember::default()),
        ("agent:child", member(None, &["agent:parent"])),
    ];
    open_witnessed_run(&mut ken, "run", &agents);
    ken.record_exposures(&reader("agent:parent", "run"), &[id], ExposureChannel::Pull)
        .unwrap();
    ken.observe(&reader("agent:child", "run"), finding(CLAIM_REPHRASED))
        .unwrap();
    let found = close_with_outcome(&mut ken, "run", Succeeded).closing.found[&id];
    assert_eq!(found, Provenance::Primed);
}

#[test]
fn a_conclusion_that_cites_the_claim_is_an_exposure() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let agents = [
        ("agent:a", RunMember::default()),
        ("agent:b", RunMember::default()),
    ];
    open_witnessed_run(&mut ken, "run", &agents);
    let said = RunNote::Said {
        agent: actor("agent:b"),
        words: None,
        cites: vec![id],
        to: Vec::new(),
    };
    ken.record_note("run", said, &actor("agent:b")).unwrap();
    ken.observe(&reader("agent:a", "run"), finding(CLAIM_REPHRASED))
        .unwrap();
    let found = close_with_outcome(&mut ken, "run", Succeeded).closing.found[&id];
    assert_eq!(found, Provenance::Primed);
}

#[test]
fn a_copy_that_was_seen_is_the_claim_itself() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let copy = add_entry(&mut ken, "Payments are idempotent by the key of the caller");
    ken.link(id, copy, Relation::DerivedFrom, &actor("human:lead"))
        .unwrap();
    let shown = |ken: &mut Engine| {
        ken.record_exposures(&reader("agent:a", "run"), &[copy], ExposureChannel::Pull)
            .unwrap();
    };
    assert_eq!(provenance_after(&mut ken, id, shown), Provenance::Primed);
}

#[test]
fn a_session_that_goes_on_has_seen_what_it_saw() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    open_witnessed_run(&mut ken, "first", &[("agent:a", member(Some("s1"), &[]))]);
    ken.record_exposures(&reader("agent:a", "first"), &[id], ExposureChannel::Pull)
        .unwrap();
    close_with_outcome(&mut ken, "first", Succeeded);
    for (session, expected) in [("s1", Provenance::Primed), ("s2", Provenance::Independent)] {
        open_witnessed_run(&mut ken, "next", &[("agent:a", member(Some(session), &[]))]);
        ken.observe(&reader("agent:a", "next"), finding(CLAIM_REPHRASED))
            .unwrap();
        let found = close_with_outcome(&mut ken, "next", Succeeded)
            .closing
            .found[&id];
        assert_eq!(found, expected, "{session}");
    }
}

#[test]
fn what_an_agent_saw_outside_any_run_it_saw() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let outside = EntryReader {
        run: None,
        ..reader("agent:a", "")
    };
    ken.record_exposures(&outside, &[id], ExposureChannel::Pull)
        .unwrap();
    assert_eq!(provenance_after(&mut ken, id, |_| ()), Provenance::Primed);
}

#[test]
fn outside_any_run_nothing_is_confirmed_however_time_and_processes_pass() {
    let (dir, id) = repository_with_claim();
    let outside = EntryReader {
        run: None,
        ..reader("agent:a", "")
    };
    let before = open_engine(dir.path(), NOON)
        .entry(id)
        .unwrap()
        .confirmation
        .last;
    // Exposure and finding in different processes: minutes, hours and days apart.
    let mut ken = open_engine(dir.path(), "2026-11-15T10:59:00Z");
    ken.record_exposures(&outside, &[id], ExposureChannel::Pull)
        .unwrap();
    for later in [
        "2026-11-15T11:01:00Z",
        "2026-11-15T23:00:00Z",
        "2026-11-20T00:00:00Z",
    ] {
        let mut ken = open_engine(dir.path(), later);
        let run = ken.observe(&outside, finding(CLAIM_REPHRASED)).unwrap();
        assert_eq!(run.manner, RunMode::Implicit, "{later}");
        let found = close_with_outcome(&mut ken, &run.id, Succeeded)
            .closing
            .found[&id];
        assert_ne!(found, Provenance::Independent, "{later}");
    }
    let entry = open_engine(dir.path(), NOON).entry(id).unwrap();
    assert_eq!(entry.confirmation.last, before);
    assert_eq!(entry.confirmation.independent, 0);
}

#[test]
fn a_run_that_is_open_on_another_machine_is_not_open_here() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    open_witnessed_run(&mut ken, "run", &[("agent:a", RunMember::default())]);
    let (elsewhere, _) = repository_with_claim();
    let segments = ".ken/semantic";
    fs::remove_dir_all(elsewhere.path().join(segments)).unwrap();
    copy_dir(&dir.path().join(segments), &elsewhere.path().join(segments));
    let mut other = open_engine(elsewhere.path(), NOON);
    let run = other
        .observe(&reader("agent:a", "run"), finding(CLAIM_REPHRASED))
        .unwrap();
    assert_eq!(run.manner, RunMode::Implicit);
    let found = close_with_outcome(&mut other, &run.id, Succeeded)
        .closing
        .found[&id];
    assert_eq!(found, Provenance::Unwitnessed);
}

#[test]
fn nobody_who_opens_a_run_for_itself_confirms_in_it() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let wish = OpenRunRequest {
        id: Some("run".to_owned()),
        agents: vec![(actor("agent:a"), RunMember::default())],
        witness: RunWitness::Orchestrator,
        ..OpenRunRequest::default()
    };
    ken.open_run(wish, &actor("agent:a")).unwrap();
    ken.observe(&reader("agent:a", "run"), finding(CLAIM_REPHRASED))
        .unwrap();
    let found = close_with_outcome(&mut ken, "run", Succeeded).closing.found[&id];
    assert_eq!(found, Provenance::Unwitnessed);
}

#[test]
fn notes_that_were_cut_short_confirm_nothing() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let cut = |ken: &mut Engine| {
        let path = ken.root().join(".ken/.local/runs/run.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{{\"at\":\n")).unwrap();
    };
    assert_eq!(provenance_after(&mut ken, id, cut), Provenance::Unwitnessed);
}

#[test]
fn no_secret_gets_into_the_notes() {
    let (dir, _) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    open_witnessed_run(&mut ken, "run", &[("agent:a", RunMember::default())]);
    let notes = dir.path().join(".ken/.local/runs/run.jsonl");
    let before = fs::read(&notes).unwrap();
    let key = format!("{}{}", "ghp_", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    let leaked = finding(&format!("The deploy token is {key} and works everywhere"));
    let refused = ken.observe(&reader("agent:a", "run"), leaked);
    assert!(
        matches!(refused, Err(EngineError::RejectedByGuard(_))),
        "{refused:?}"
    );
    assert_eq!(fs::read(&notes).unwrap(), before);
}

#[test]
fn what_is_pushed_is_kept_from_one_of_several_and_never_what_a_person_wrote() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let mut human = proposal("A retried payment shows the key of the request in the log");
    human.origin = Origin::Human;
    let person = ken.add(human, &actor("human:ann")).unwrap().id;
    let agents = ["agent:a", "agent:b", "agent:c"];
    let members = agents.map(|name| (name, RunMember::default()));
    open_witnessed_run(&mut ken, "run", &members);
    let portion = ken_engine::search::SelectionLimits {
        cap: 5,
        budget: usize::MAX,
        tier: None,
        role: None,
    };
    let search = SearchQuery {
        query: "retried payment request key".to_owned(),
        ..SearchQuery::default()
    };
    let mut saw = Vec::new();
    for agent in agents {
        let mut brief = ken.brief(&search, &mut |_, _| ()).unwrap();
        let page = ken
            .render_briefing(&mut brief, portion, Some(&reader(agent, "run")))
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
    // One setting turns the holdout off.
    let off = ReviewPolicy {
        blind: false,
        ..ReviewPolicy::default()
    };
    ken.set_review_policy(Some(off), &actor("human:lead"))
        .unwrap();
    open_witnessed_run(&mut ken, "all", &members);
    for agent in agents {
        let mut brief = ken.brief(&search, &mut |_, _| ()).unwrap();
        let page = ken
            .render_briefing(&mut brief, portion, Some(&reader(agent, "all")))
            .unwrap();
        assert!(page.shown.iter().any(|it| it.id == id));
    }
}

#[test]
fn what_one_agent_said_is_told_to_nobody_who_did_not_ask_until_another_finds_it() {
    let (dir, _) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let statement = "The ledger adds amounts up before it takes the lock of the account";
    let severe = RunFinding {
        severity_milli: 7_000,
        confidence_milli: 8_000,
        ..finding(statement)
    };
    open_witnessed_run(&mut ken, "one", &[("agent:a", RunMember::default())]);
    ken.observe(&reader("agent:a", "one"), severe).unwrap();
    let id = close_with_outcome(&mut ken, "one", Succeeded).gained[0];
    let search = SearchQuery {
        query: "ledger amounts lock account".to_owned(),
        ..SearchQuery::default()
    };
    let found = ken.search(&search, &mut |_, _| ()).unwrap();
    assert!(found.hit(id).is_some(), "who asks is answered");
    let portion = ken_engine::search::SelectionLimits {
        cap: 5,
        budget: usize::MAX,
        tier: None,
        role: None,
    };
    let told = |ken: &mut Engine, run: &str| {
        let mut brief = ken.brief(&search, &mut |_, _| ()).unwrap();
        let to = reader("agent:b", run);
        let page = ken.render_briefing(&mut brief, portion, Some(&to)).unwrap();
        page.shown.iter().any(|it| it.id == id)
    };
    open_witnessed_run(&mut ken, "two", &[("agent:b", RunMember::default())]);
    assert!(!told(&mut ken, "two"));
    ken.observe(&reader("agent:b", "two"), finding(statement))
        .unwrap();
    let closed = close_with_outcome(&mut ken, "two", Succeeded);
    assert_eq!(closed.closing.found[&id], Provenance::Independent);
    assert_eq!(closed.closing.effects[0].blind, 1, "and it was a chance");
    let off = ReviewPolicy {
        blind: false,
        ..ReviewPolicy::default()
    };
    ken.set_review_policy(Some(off), &actor("human:lead"))
        .unwrap();
    open_witnessed_run(&mut ken, "three", &[("agent:b", RunMember::default())]);
    assert!(told(&mut ken, "three"));
}

#[test]
fn what_people_read_nobody_writes_down() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let person = EntryReader {
        run: None,
        ..reader("human:ann", "")
    };
    ken.record_exposures(&person, &[id], ExposureChannel::Pull)
        .unwrap();
    assert!(ken.open_runs().unwrap().is_empty());
}

#[test]
fn a_name_never_leaves_its_folder() {
    let (dir, _) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    for bad in ["../x", "a/b", ".", "", "a b", "I-0123"] {
        let wish = OpenRunRequest {
            id: Some(bad.to_owned()),
            ..OpenRunRequest::default()
        };
        assert!(ken.open_run(wish, &actor("human:lead")).is_err(), "{bad}");
    }
}

#[test]
fn whoever_was_shown_an_entry_outside_any_run_says_once_whether_it_helped() {
    use ken_core::ledger::event::Feedback::{Helpful, Unhelpful};
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    let reader = EntryReader {
        agent: actor("agent:a"),
        run: None,
        session: Some("s".to_owned()),
    };
    let refused = ken.record_feedback(&reader, id, Helpful);
    let not_shown = Refusal::NotShown {
        entry: id,
        by: actor("agent:a"),
    };
    assert!(
        matches!(&refused, Err(EngineError::Refused(why)) if *why == not_shown),
        "{refused:?}"
    );
    ken.record_exposures(&reader, &[id], ExposureChannel::Show)
        .unwrap();
    for (verdict, is_new) in [
        (Helpful, true),
        (Helpful, false),
        (Unhelpful, true),
        (Helpful, true),
    ] {
        let told = ken.record_feedback(&reader, id, verdict).unwrap();
        assert_eq!(told, is_new, "{verdict:?}");
    }
    let person = EntryReader {
        agent: actor("human:ada"),
        run: None,
        session: None,
    };
    assert!(ken.record_feedback(&person, id, Helpful).unwrap());
}

#[test]
fn what_is_recorded_is_an_entry_or_a_finding_and_names_nothing_unseen() {
    let (dir, id) = repository_with_claim();
    let mut ken = open_engine(dir.path(), NOON);
    open_witnessed_run(&mut ken, "run", &[("agent:a", RunMember::default())]);
    let reader = reader("agent:a", "run");
    let mut record = |statement: &str| {
        ken.record_finding(&reader, None, proposal(statement))
            .unwrap()
    };
    for _ in 0..2 {
        assert_eq!(
            record(CLAIM_REPHRASED),
            RecordOutcome::Noted(None),
            "known, and not seen"
        );
    }
    let new = "Queues are drained before a deployment begins";
    let RecordOutcome::Entry(added) = record(new) else {
        panic!("nobody said it before");
    };
    assert_eq!(
        record(new),
        RecordOutcome::Entry(added.clone()),
        "its own, again"
    );
    assert_eq!(added.created.unwrap().run.unwrap().id, "run");
    let run = ken.run("run").unwrap();
    assert_eq!(run.agents[&reader.agent].findings.len(), 1, "noted once");
    ken.record_exposures(&reader, &[id], ExposureChannel::Show)
        .unwrap();
    let told = ken
        .record_finding(&reader, None, proposal(CLAIM_REPHRASED))
        .unwrap();
    assert_eq!(
        told,
        RecordOutcome::Noted(Some(id)),
        "seen, it may be named"
    );
    let apart = ken
        .record_finding(&reader, Some("mine"), proposal(CLAIM))
        .unwrap();
    assert_eq!(apart, RecordOutcome::Noted(Some(id)));
    let own = ken_core::trust::run::name::session_run_name(&reader.agent, "mine");
    let own = ken.run(&own).unwrap();
    assert_eq!(own.witness, RunWitness::Nobody);
    assert_eq!(own.agents[&reader.agent].findings.len(), 1);
}
