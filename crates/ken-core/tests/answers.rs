//! What answers and what is handed over: what was learnt elsewhere is never above what was verified here, whatever the
//! scores; who contradicts whom; what chance decides, and what has to be written down of a briefing.

use std::collections::BTreeSet;

use ken_core::answer::{
    Against, Answer, Candidate, Floor, Hit, Scorer, Search, ThreadVisibility, beneath, sort,
};
use ken_core::brief::{NORMS_MAX, deal, norms_page, set_apart, take_heard};
use ken_core::entry::Entry;
use ken_core::event::{Arm, Origin, SourceRun};
use ken_core::facts::EntryFacts;
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_core::review::ReviewPolicy;
use ken_core::run::blind::offers;
use ken_core::run::reader::unwitnessed;
use ken_core::run::{Manner, Noted, Offer, Run};
use ken_core::score::{Explained, Weights};
use ken_core::state::State;
use ken_core::status::Status;
use ken_core::surface::{Finding, Page, Portion, Tier};
use ken_core::time::Timestamp;
use ken_core::workspace::Workspace;
use ken_testkit::build::Scribe;
use proptest::prelude::*;

fn entry(n: usize, said: &str) -> Entry {
    let (id, line) = Scribe::new(n as u64).propose(said);
    let mut state = State::of(&[line.event]);
    state.entries.remove(&id).expect("it was proposed")
}

fn hit(entry: Entry, status: Status, score: f64) -> Hit {
    let mut facts = EntryFacts::of(&entry, None, Timestamp::default());
    facts.status = status;
    Hit {
        entry,
        facts,
        relevance: score,
        cosine: 0.0,
        coverage: 0.0,
        anchored: false,
        conflicts: Vec::new(),
        explained: Explained {
            score,
            parts: Vec::new(),
        },
    }
}

fn status() -> impl Strategy<Value = Status> {
    prop::sample::select(vec![Status::Candidate, Status::Active, Status::Verified])
}

/// Words no two statements share.
fn said(side: &str, n: usize) -> String {
    format!("{side}{n}alpha {side}{n}beta {side}{n}gamma {side}{n}delta")
}

proptest! {
    /// Sorted together by score, nothing from elsewhere stands above an entry that was verified here; all of it lost at
    /// least its discount, and its order among itself follows from its scores.
    #[test]
    fn scp_global_entries_never_stand_above_local_verified_ones(
        local in prop::collection::vec((status(), 0.0..1.5_f64), 0..8),
        global in prop::collection::vec(0.0..1.5_f64, 0..8),
    ) {
        let local: Vec<Hit> = local.iter().enumerate()
            .map(|(n, (status, score))| hit(entry(n, &said("here", n)), *status, *score)).collect();
        let there: Vec<Hit> = global.iter().enumerate()
            .map(|(n, score)| hit(entry(100 + n, &said("there", n)), Status::Verified, *score)).collect();
        let fresh = beneath(&local, there.clone());
        prop_assert_eq!(fresh.len(), there.len());
        for it in &fresh {
            let before = there.iter().find(|other| other.entry.id == it.entry.id).unwrap();
            prop_assert!(it.explained.score <= before.explained.score * 0.8 + 1e-12);
            let parts: f64 = it.explained.parts.iter().map(|part| part.adds).sum();
            prop_assert!((before.explained.score + parts - it.explained.score).abs() < 1e-9, "the parts say why");
        }
        let ids: Vec<EntryId> = fresh.iter().map(|it| it.entry.id).collect();
        let mut as_they_came = there;
        sort(&mut as_they_came);
        let as_they_came: Vec<EntryId> = as_they_came.iter().map(|it| it.entry.id).collect();
        prop_assert_eq!(&ids, &as_they_came, "being lowered changes no order");
        let scores = fresh.iter().map(|it| it.explained.score);
        prop_assert!(scores.is_sorted_by(|a, b| b <= a));
        let mut all: Vec<Hit> = local.iter().cloned().chain(fresh).collect();
        sort(&mut all);
        let last_verified = all.iter().rposition(|it| {
            it.facts.status == Status::Verified && !ids.contains(&it.entry.id)
        });
        let first_global = all.iter().position(|it| ids.contains(&it.entry.id));
        if let (Some(last), Some(first)) = (last_verified, first_global) {
            prop_assert!(last < first, "a global entry stands above a verified one");
        }
    }
}

#[test]
fn what_is_known_here_in_the_same_words_is_not_told_again() {
    let here = [hit(
        entry(1, "Retry a payment once after a timeout"),
        Status::Active,
        0.1,
    )];
    let there = vec![
        hit(
            entry(2, "After a timeout, retry a payment once!"),
            Status::Verified,
            0.9,
        ),
        hit(
            entry(3, "Log every retry with its cause"),
            Status::Verified,
            0.9,
        ),
    ];
    let fresh = beneath(&here, there);
    let said: Vec<&str> = fresh.iter().map(|it| it.entry.said()).collect();
    assert_eq!(said, ["Log every retry with its cause"]);
}

#[test]
fn those_elsewhere_are_asked_nothing_about_what_is_in_hand() {
    let search = Search {
        query: "retries".to_owned(),
        paths: vec!["src/pay.rs".to_owned()],
        thread: Some("feature".parse().unwrap()),
        run: Some("R-1".to_owned()),
        floor: Floor::Strict,
        include_stale: true,
        ..Search::default()
    };
    let there = search.elsewhere();
    assert!(there.paths.is_empty() && there.thread.is_none() && !there.include_stale);
    assert_eq!((there.query, there.run), (search.query, search.run));
    assert_eq!(there.floor, Floor::Strict);
}

#[test]
fn a_briefing_looks_for_what_the_task_is_about_and_tells_only_what_surely_fits() {
    let search = Search::unasked(
        "Add refunds",
        vec!["src".to_owned()],
        None,
        "R-1".to_owned(),
    );
    assert_eq!(search.query, "refunds");
    assert_eq!(search.floor, Floor::Strict);
    assert_eq!(search.paths, ["src"]);
    assert_eq!(search.run.as_deref(), Some("R-1"));
}

/// Lays hits out, a token for each, in full.
fn page(hits: &[Hit], cap: usize) -> Page {
    let findings: Vec<Finding<'_>> = hits.iter().map(Hit::as_finding).collect();
    laid_out(
        &findings,
        Portion {
            cap,
            ..Portion::default()
        },
    )
}

fn laid_out(findings: &[Finding<'_>], portion: Portion) -> Page {
    Page::of(findings, &portion.room(".ken/entries", &|_| 1))
}

#[test]
fn a_portion_is_what_the_page_before_left_in_one_liners_unless_asked_otherwise() {
    let hits = [0, 1].map(|n| hit(entry(n, &said("here", n)), Status::Active, 0.5));
    let portion = Portion {
        cap: 3,
        budget: 10,
        ..Portion::default()
    };
    let first = page(&hits, 3);
    let left = portion.left_by(&first);
    assert_eq!((left.cap, left.budget), (1, 8));
    assert_eq!(left.tier, Some(Tier::Summary));
    let asked = Portion {
        tier: Some(Tier::Full),
        cap: 1,
        budget: 1,
        ..portion
    };
    let left = asked.left_by(&first);
    assert_eq!((left.cap, left.budget, left.tier), (0, 0, Some(Tier::Full)));

    let none = Portion {
        budget: 0,
        ..portion
    };
    assert!(first.admits(&first, portion));
    assert!(!first.admits(&first, none), "beyond the budget");
    assert!(
        Page::empty().admits(&first, none),
        "the best goes beyond it"
    );
    assert!(!first.admits(&Page::empty(), portion), "there is nothing");
    let both = first.clone().followed_by(&first);
    assert_eq!((both.shown.len(), both.tokens), (4, 4));
}

/// A run with these agents.
fn run(manner: Manner, agents: &[&str]) -> Run {
    let first = agents[0].parse().expect("an actor");
    let mut notes = unwitnessed("R-1", manner, &first, None).to_vec();
    for agent in &agents[1..] {
        let [_, joined] = unwitnessed("R-1", manner, &agent.parse().expect("an actor"), None);
        notes.push(joined);
    }
    let noted = notes.into_iter().map(|note| Noted {
        at: Timestamp::default(),
        by: first.clone(),
        note,
    });
    Run::of(noted).expect("a run")
}

/// An entry that an agent wrote.
fn agents_entry(n: usize) -> Entry {
    let mut scribe = Scribe::new(n as u64);
    scribe.by("agent:author");
    let (id, line) = scribe.propose_with(Kind::Learning, &said("theirs", n), |data| {
        data.origin = Origin::Agent;
    });
    let mut state = State::of(&[line.event]);
    state.entries.remove(&id).expect("it was proposed")
}

#[test]
fn c21_chance_decides_in_runs_somebody_opened_only_and_never_about_people() {
    let entries: Vec<Entry> = (0..20).map(agents_entry).collect();
    let policy = ReviewPolicy::default();
    let of = |manner: Manner, agent: &str| {
        let run = run(manner, &["agent:a", "agent:b", "human:ada"]);
        offers(&run, &agent.parse().unwrap(), policy, entries.iter())
    };
    assert!(of(Manner::Implicit, "agent:a").is_empty());
    assert!(of(Manner::Explicit, "human:ada").is_empty());
    let (a, b) = (
        of(Manner::Explicit, "agent:a"),
        of(Manner::Explicit, "agent:b"),
    );
    assert_eq!((a.len(), b.len()), (20, 20));
    for (a, b) in a.iter().zip(&b) {
        let arms = [a.arm, b.arm];
        assert!(
            arms.contains(&Arm::Withheld),
            "of two agents one stays blind; a person is none"
        );
    }
    let own = entry(1, "What a person wrote");
    let run = run(Manner::Explicit, &["agent:a", "agent:b"]);
    let kept = offers(
        &run,
        &"agent:a".parse().unwrap(),
        policy,
        [&own].into_iter(),
    );
    assert_eq!((kept[0].arm, kept[0].propensity_milli), (Arm::Shown, 0));
}

#[test]
fn what_is_handed_over_is_written_down_once_each_way() {
    let mut all: Vec<Hit> = (0..4)
        .map(|n| {
            hit(
                entry(n, &said("here", n)),
                Status::Active,
                1.0 - n as f64 / 10.0,
            )
        })
        .collect();
    let ids: Vec<EntryId> = all.iter().map(|it| it.entry.id).collect();
    let unsaid = [entry(9, "heard").id];
    let dealt = deal(&mut all.clone(), Vec::new(), &unsaid, |hits| page(hits, 2));
    assert_eq!(dealt.page.ids(), ids[..2]);
    assert_eq!(dealt.shown, ids[..2], "chance decided nothing");
    assert!(dealt.offers.is_empty());
    assert_eq!(dealt.passed, [ids[2], ids[3], unsaid[0]]);

    let offer = |at: usize, arm: Arm| Offer {
        entry: ids[at],
        arm,
        propensity_milli: 100,
    };
    let arms = [Arm::Withheld, Arm::Shown, Arm::Withheld, Arm::Shown];
    let offers: Vec<Offer> = arms
        .into_iter()
        .enumerate()
        .map(|(at, arm)| offer(at, arm))
        .collect();
    let mut hits = all.clone();
    let dealt = deal(&mut hits, offers.clone(), &[], |hits| page(hits, 1));
    assert_eq!(
        dealt.page.ids(),
        [ids[1]],
        "the next takes the place of what is kept back"
    );
    assert_eq!(
        dealt.offers,
        offers[..2],
        "what would have been shown, and what was"
    );
    assert!(dealt.shown.is_empty(), "the offer says it");
    assert_eq!(dealt.passed, [ids[2], ids[3]]);
    assert_eq!(hits.len(), 3, "what is kept back is gone from the hits");

    let some = vec![offers[1]];
    let dealt = deal(&mut all, some, &[], |hits| page(hits, 2));
    assert_eq!((dealt.shown, dealt.offers.len()), (vec![ids[0]], 1));
}

#[test]
fn norms_stand_apart_and_what_one_agent_said_is_told_to_nobody_who_did_not_ask() {
    let mut scribe = Scribe::new(5);
    let (norm, a) = scribe.propose_with(Kind::CommitNorm, "Name the ticket", |_| {});
    scribe.by("agent:x");
    let (heard, b) = scribe.propose_with(Kind::Learning, "Heard in a run", |data| {
        data.origin = Origin::Agent;
        data.run = Some(SourceRun {
            id: "R-1".to_owned(),
            outcome: None,
        });
    });
    let (plain, c) = scribe.propose("Known to all");
    let state = State::of(&[a.event, b.event, c.event]);
    let hits = || -> Vec<Hit> {
        let entries = state.entries.values().cloned();
        entries.map(|it| hit(it, Status::Active, 0.5)).collect()
    };
    let left = |hits: &[Hit]| hits.iter().map(|it| it.entry.id).collect::<BTreeSet<_>>();
    let mut all = hits();
    assert_eq!(take_heard(&mut all), [heard]);
    assert_eq!(left(&all), BTreeSet::from([norm, plain]));
    let mut all = hits();
    assert_eq!(set_apart(&mut all), [heard]);
    assert_eq!(left(&all), BTreeSet::from([plain]));
}

#[test]
fn norms_are_told_a_line_each_and_no_more_than_a_reader_takes_in() {
    let mut scribe = Scribe::new(6);
    let mut said = Vec::new();
    for n in 0..NORMS_MAX + 2 {
        let text = format!("Norm number {n} of this repository");
        said.push(scribe.propose_with(Kind::CommitNorm, &text, |_| {}).1.event);
    }
    let norms = |workspace: &Workspace| {
        let entries = State::of(&said).entries.into_values().collect();
        norms_page(entries, workspace, &[], Timestamp::default(), laid_out)
    };
    let page = norms(&Workspace::default());
    assert_eq!(page.shown.len(), NORMS_MAX);
    assert_eq!(page.tier, Tier::Summary);
}

#[test]
fn opponents_are_brought_along_and_named_either_way_unless_nobody_is_shown_them() {
    let search = Search::default();
    let workspace = Workspace::default();
    let scorer = Scorer {
        search: &search,
        weights: Weights::default(),
        workspace: &workspace,
        validity: Default::default(),
        threads: ThreadVisibility::default(),
        now: Timestamp::default(),
        beside: BTreeSet::new(),
    };
    let found = |n: usize, relevance: f64| Candidate {
        relevance,
        ..Candidate::beside(entry(n, &said("here", n)))
    };
    let mut answer = Answer::of(&scorer, vec![found(1, 0.2), found(2, 0.9)]);
    let (low, high) = (answer.hits[0].entry.id, answer.hits[1].entry.id);
    let (absent, gone) = (entry(3, &said("here", 3)).id, entry(4, "gone").id);
    let against = Against::from([
        (low, BTreeSet::from([high, absent, gone])),
        (high, BTreeSet::from([low])),
    ]);
    assert_eq!(answer.missing(&against), BTreeSet::from([absent, gone]));
    answer.add(&scorer, [found(3, 0.0)]);
    assert_eq!(answer.missing(&against), BTreeSet::from([gone]));
    answer.oppose(&against);
    let conflicts = |id: EntryId| {
        let hit = answer.hits.iter().find(|it| it.entry.id == id).unwrap();
        hit.conflicts.iter().copied().collect::<BTreeSet<_>>()
    };
    assert_eq!(answer.hits[0].entry.id, high, "best first");
    assert_eq!(conflicts(low), BTreeSet::from([high, absent]));
    assert_eq!(conflicts(high), BTreeSet::from([low]));
    assert_eq!(
        conflicts(absent),
        BTreeSet::from([low]),
        "it names nobody itself"
    );
}
