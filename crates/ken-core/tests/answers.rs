//! Query answers and briefings: a global hit never ranks above a locally verified one;
//! contradicting entries are paired; the holdout is random; every exposure of a briefing is
//! recorded.

use std::collections::BTreeSet;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Arm, Origin, SourceRun};
use ken_core::ledger::state::LedgerState;
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::retrieval::brief::{
    NORMS_MAX, apply_holdout, drop_norms_about_other_files, drop_norms_and_unproven_hits,
    drop_unproven_hits, select_norms,
};
use ken_core::retrieval::ranking::{
    CandidateScorer, ConflictMap, CosineThresholds, RelevanceFloor, SearchCandidate, SearchHit,
    SearchQuery, SearchResults, SumThresholds, ThreadVisibility, merge_global_hits, sort_hits,
};
use ken_core::retrieval::score::{ExplainedScore, RankingWeights};
use ken_core::retrieval::surface::{DetailTier, EntrySelection, HitView, SelectionLimits};
use ken_core::retrieval::unasked::UnaskedMoment;
use ken_core::trust::facts::EntryFacts;
use ken_core::trust::rediscovery::RediscoveryPolicy;
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::holdout::assign_entries;
use ken_core::trust::run::reader::unwitnessed_run_notes;
use ken_core::trust::run::{HoldoutAssignment, Run, RunMode, RunRecord};
use ken_core::values::anchor::CodeLocation;
use ken_core::values::check::NormCheck;
use ken_core::values::content::{Content, KindDetail, NormDetail};
use ken_core::values::id::EntryId;
use ken_core::values::kind::{EntryKind, IdPrefix};
use ken_core::values::status::EntryStatus;
use ken_core::values::time::Timestamp;
use ken_testkit::build::EventWriter;
use proptest::prelude::*;

fn propose_entry(n: usize, said: &str) -> Entry {
    let (id, line) = EventWriter::new(n as u64).propose(said);
    let mut state = LedgerState::from_events(&[line.event]);
    state.entries.remove(&id).expect("it was proposed")
}

fn hit(entry: Entry, status: EntryStatus, score: f64) -> SearchHit {
    let mut facts = EntryFacts::from_entry(&entry, None, Timestamp::default());
    facts.status = status;
    SearchHit {
        entry,
        facts,
        relevance: score,
        cosine: 0.0,
        coverage: 0.0,
        anchored: false,
        named: false,
        conflicts: Vec::new(),
        explained: ExplainedScore {
            score,
            parts: Vec::new(),
        },
    }
}

fn any_status() -> impl Strategy<Value = EntryStatus> {
    prop::sample::select(vec![
        EntryStatus::Candidate,
        EntryStatus::Active,
        EntryStatus::Verified,
    ])
}

/// Returns a statement that shares no word with any other.
fn unique_statement(side: &str, n: usize) -> String {
    format!("{side}{n}alpha {side}{n}beta {side}{n}gamma {side}{n}delta")
}

proptest! {
    /// Merged by score, no global hit ranks above a locally verified entry. Every global hit loses
    /// at least its discount, and global hits keep their relative order.
    #[test]
    fn scp_global_entries_never_stand_above_local_verified_ones(
        local in prop::collection::vec((any_status(), 0.0..1.5_f64), 0..8),
        global in prop::collection::vec(0.0..1.5_f64, 0..8),
    ) {
        let local: Vec<SearchHit> = local.iter().enumerate()
            .map(|(n, (status, score))| hit(propose_entry(n, &unique_statement("here", n)), *status, *score)).collect();
        let there: Vec<SearchHit> = global.iter().enumerate()
            .map(|(n, score)| hit(propose_entry(100 + n, &unique_statement("there", n)), EntryStatus::Verified, *score)).collect();
        let fresh = merge_global_hits(&local, there.clone());
        prop_assert_eq!(fresh.len(), there.len());
        for it in &fresh {
            let before = there.iter().find(|other| other.entry.id == it.entry.id).unwrap();
            prop_assert!(it.explained.score <= before.explained.score * 0.8 + 1e-12);
            let parts: f64 = it.explained.parts.iter().map(|part| part.adds).sum();
            prop_assert!((before.explained.score + parts - it.explained.score).abs() < 1e-9, "the parts say why");
        }
        let ids: Vec<EntryId> = fresh.iter().map(|it| it.entry.id).collect();
        let mut as_they_came = there;
        sort_hits(&mut as_they_came);
        let as_they_came: Vec<EntryId> = as_they_came.iter().map(|it| it.entry.id).collect();
        prop_assert_eq!(&ids, &as_they_came, "being lowered changes no order");
        let scores = fresh.iter().map(|it| it.explained.score);
        prop_assert!(scores.is_sorted_by(|a, b| b <= a));
        let mut all: Vec<SearchHit> = local.iter().cloned().chain(fresh).collect();
        sort_hits(&mut all);
        let last_verified = all.iter().rposition(|it| {
            it.facts.status == EntryStatus::Verified && !ids.contains(&it.entry.id)
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
        propose_entry(1, "Retry a payment once after a timeout"),
        EntryStatus::Active,
        0.1,
    )];
    let there = vec![
        hit(
            propose_entry(2, "After a timeout, retry a payment once!"),
            EntryStatus::Verified,
            0.9,
        ),
        hit(
            propose_entry(3, "Log every retry with its cause"),
            EntryStatus::Verified,
            0.9,
        ),
    ];
    let fresh = merge_global_hits(&here, there);
    let said: Vec<&str> = fresh.iter().map(|it| it.entry.statement_text()).collect();
    assert_eq!(said, ["Log every retry with its cause"]);
}

#[test]
fn those_elsewhere_are_asked_nothing_about_what_is_in_hand() {
    let search = SearchQuery {
        query: "retries".to_owned(),
        paths: vec!["src/pay.rs".to_owned()],
        thread: Some("feature".parse().unwrap()),
        run: Some("R-1".to_owned()),
        floor: RelevanceFloor::Strict,
        include_stale: true,
        ..SearchQuery::default()
    };
    let there = search.elsewhere();
    assert!(there.paths.is_empty() && there.thread.is_none() && !there.include_stale);
    assert_eq!((there.query, there.run), (search.query, search.run));
    assert_eq!(there.floor, RelevanceFloor::Strict);
}

#[test]
fn a_briefing_looks_for_what_the_task_is_about_and_tells_only_what_surely_fits() {
    let search = SearchQuery::for_briefing(
        "Add refunds",
        vec!["src".to_owned()],
        None,
        Some("R-1".to_owned()),
    );
    assert_eq!(search.query, "refunds");
    assert_eq!(search.floor, RelevanceFloor::Strict);
    assert_eq!(search.paths, ["src"]);
    assert_eq!(search.run.as_deref(), Some("R-1"));
}

/// Selects hits in full, at one token each.
fn select_hits(hits: &[SearchHit], cap: usize) -> EntrySelection {
    let findings: Vec<HitView<'_>> = hits.iter().map(SearchHit::as_view).collect();
    select_within(
        &findings,
        SelectionLimits {
            cap,
            ..SelectionLimits::default()
        },
    )
}

fn select_within(findings: &[HitView<'_>], portion: SelectionLimits) -> EntrySelection {
    EntrySelection::of(findings, &portion.room(".ken/entries", &|_| 1))
}

#[test]
fn a_portion_is_what_the_page_before_left_in_one_liners_unless_asked_otherwise() {
    let hits = [0, 1].map(|n| {
        hit(
            propose_entry(n, &unique_statement("here", n)),
            EntryStatus::Active,
            0.5,
        )
    });
    let portion = SelectionLimits {
        cap: 3,
        budget: 10,
        ..SelectionLimits::default()
    };
    let first = select_hits(&hits, 3);
    let left = portion.remaining_after(&first);
    assert_eq!((left.cap, left.budget), (1, 8));
    assert_eq!(left.tier, Some(DetailTier::Summary));
    let asked = SelectionLimits {
        tier: Some(DetailTier::Full),
        cap: 1,
        budget: 1,
        ..portion
    };
    let left = asked.remaining_after(&first);
    assert_eq!(
        (left.cap, left.budget, left.tier),
        (0, 0, Some(DetailTier::Full))
    );

    let none = SelectionLimits {
        budget: 0,
        ..portion
    };
    assert!(first.admits(&first, portion));
    assert!(!first.admits(&first, none), "beyond the budget");
    assert!(
        EntrySelection::empty().admits(&first, none),
        "the best goes beyond it"
    );
    assert!(
        !first.admits(&EntrySelection::empty(), portion),
        "there is nothing"
    );
    let both = first.clone().followed_by(&first);
    assert_eq!((both.shown.len(), both.tokens), (4, 4));
}

/// Returns a run with these agents.
fn run_with_agents(manner: RunMode, agents: &[&str]) -> Run {
    let first = agents[0].parse().expect("an actor");
    let mut notes = unwitnessed_run_notes("R-1", manner, &first, None).to_vec();
    for agent in &agents[1..] {
        let [_, joined] =
            unwitnessed_run_notes("R-1", manner, &agent.parse().expect("an actor"), None);
        notes.push(joined);
    }
    let noted = notes.into_iter().map(|note| RunRecord {
        at: Timestamp::default(),
        by: first.clone(),
        note,
    });
    Run::from_records(noted).expect("a run")
}

/// Returns an entry written by an agent.
fn agent_entry(n: usize) -> Entry {
    let mut scribe = EventWriter::new(n as u64);
    scribe.by("agent:author");
    let (id, line) = scribe.propose_with(
        EntryKind::Learning,
        &unique_statement("theirs", n),
        |data| {
            data.origin = Origin::Agent;
        },
    );
    let mut state = LedgerState::from_events(&[line.event]);
    state.entries.remove(&id).expect("it was proposed")
}

#[test]
fn chance_decides_in_runs_somebody_opened_only_and_never_about_people() {
    let entries: Vec<Entry> = (0..20).map(agent_entry).collect();
    let policy = ReviewPolicy::default();
    let of = |manner: RunMode, agent: &str| {
        let run = run_with_agents(manner, &["agent:a", "agent:b", "human:ada"]);
        assign_entries(&run, &agent.parse().unwrap(), policy, entries.iter())
    };
    assert!(of(RunMode::Implicit, "agent:a").is_empty());
    assert!(of(RunMode::Explicit, "human:ada").is_empty());
    let (a, b) = (
        of(RunMode::Explicit, "agent:a"),
        of(RunMode::Explicit, "agent:b"),
    );
    assert_eq!((a.len(), b.len()), (20, 20));
    for (a, b) in a.iter().zip(&b) {
        let arms = [a.arm, b.arm];
        assert!(
            arms.contains(&Arm::Withheld),
            "of two agents one stays blind; a person is none"
        );
    }
    let own = propose_entry(1, "What a person wrote");
    let run = run_with_agents(RunMode::Explicit, &["agent:a", "agent:b"]);
    let kept = assign_entries(
        &run,
        &"agent:a".parse().unwrap(),
        policy,
        [&own].into_iter(),
    );
    assert_eq!((kept[0].arm, kept[0].propensity_milli), (Arm::Shown, 0));
}

#[test]
fn what_is_handed_over_is_written_down_once_each_way() {
    let mut all: Vec<SearchHit> = (0..4)
        .map(|n| {
            hit(
                propose_entry(n, &unique_statement("here", n)),
                EntryStatus::Active,
                1.0 - n as f64 / 10.0,
            )
        })
        .collect();
    let ids: Vec<EntryId> = all.iter().map(|it| it.entry.id).collect();
    let unsaid = [propose_entry(9, "heard").id];
    let dealt = apply_holdout(&mut all.clone(), Vec::new(), &unsaid, |hits| {
        select_hits(hits, 2)
    });
    assert_eq!(dealt.page.ids(), ids[..2]);
    assert_eq!(dealt.shown, ids[..2], "chance decided nothing");
    assert!(dealt.offers.is_empty());
    assert_eq!(dealt.passed, [ids[2], ids[3], unsaid[0]]);

    let offer = |at: usize, arm: Arm| HoldoutAssignment {
        entry: ids[at],
        arm,
        propensity_milli: 100,
    };
    let arms = [Arm::Withheld, Arm::Shown, Arm::Withheld, Arm::Shown];
    let offers: Vec<HoldoutAssignment> = arms
        .into_iter()
        .enumerate()
        .map(|(at, arm)| offer(at, arm))
        .collect();
    let mut hits = all.clone();
    let dealt = apply_holdout(&mut hits, offers.clone(), &[], |hits| select_hits(hits, 1));
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
    let dealt = apply_holdout(&mut all, some, &[], |hits| select_hits(hits, 2));
    assert_eq!((dealt.shown, dealt.offers.len()), (vec![ids[0]], 1));
}

#[test]
fn norms_stand_apart_and_what_one_agent_said_is_told_to_nobody_who_did_not_ask() {
    let mut scribe = EventWriter::new(5);
    let (norm, a) = scribe.propose_with(EntryKind::CommitNorm, "Name the ticket", |_| {});
    scribe.by("agent:x");
    let (heard, b) = scribe.propose_with(EntryKind::Learning, "Heard in a run", |data| {
        data.origin = Origin::Agent;
        data.run = Some(SourceRun {
            id: "R-1".to_owned(),
            outcome: None,
        });
    });
    let (plain, c) = scribe.propose("Known to all");
    let state = LedgerState::from_events(&[a.event, b.event, c.event]);
    let hits = || -> Vec<SearchHit> {
        let entries = state.entries.values().cloned();
        entries
            .map(|it| hit(it, EntryStatus::Active, 0.5))
            .collect()
    };
    let left = |hits: &[SearchHit]| hits.iter().map(|it| it.entry.id).collect::<BTreeSet<_>>();
    let mut all = hits();
    assert_eq!(
        drop_unproven_hits(&mut all, &RediscoveryPolicy::OBSERVE),
        [heard]
    );
    assert_eq!(left(&all), BTreeSet::from([norm, plain]));
    let mut all = hits();
    assert_eq!(
        drop_norms_and_unproven_hits(&mut all, &RediscoveryPolicy::OBSERVE),
        [heard]
    );
    assert_eq!(left(&all), BTreeSet::from([plain]));
}

#[test]
fn norms_are_told_a_line_each_and_no_more_than_a_reader_takes_in() {
    let mut scribe = EventWriter::new(6);
    let mut said = Vec::new();
    for n in 0..NORMS_MAX + 2 {
        let text = format!("Norm number {n} of this repository");
        said.push(
            scribe
                .propose_with(EntryKind::CommitNorm, &text, |_| {})
                .1
                .event,
        );
    }
    let norms = |workspace: &WorkspaceState| {
        let entries = LedgerState::from_events(&said)
            .entries
            .into_values()
            .collect();
        select_norms(entries, workspace, &[], Timestamp::default(), select_within)
    };
    let page = norms(&WorkspaceState::default());
    assert_eq!(page.shown.len(), NORMS_MAX);
    assert_eq!(page.tier, DetailTier::Summary);
}

#[test]
fn a_norm_about_files_applies_only_to_those_files() {
    let mut scribe = EventWriter::new(3);
    let mut said = Vec::new();
    let mut norm = |text: &str, change: &dyn Fn(&mut Content)| {
        let (id, line) = scribe.propose_with(EntryKind::PrExpectation, text, |data| {
            change(&mut data.content);
        });
        said.push(line.event);
        id
    };
    let everywhere = norm("Squash before merging", &|_| {});
    let owned = norm("Changes to `/src/pay/` must be reviewed", &|it| {
        it.applies_to = vec!["src/pay/**".parse().unwrap()];
    });
    let checked = norm("Two people review migrations", &|it| {
        let check = NormCheck::Reviewers {
            paths: vec!["migrations/**".to_owned()],
            count: 2,
            from: Vec::new(),
        };
        it.detail = Some(KindDetail::Norm(NormDetail { check }));
    });
    let anchored = norm("Keep the ledger small", &|it| {
        it.anchors = vec!["src/ledger.rs".parse::<CodeLocation>().unwrap().into()];
    });
    let norms = LedgerState::from_events(&said).entries;
    for (paths, about) in [
        (&[][..], &[][..]),
        (&["README.md"], &[]),
        (&["src/pay/card.rs"], &[owned]),
        (&["src/pay"], &[owned]),
        (&["migrations/1.sql"], &[checked]),
        (&["src"], &[owned, anchored]),
    ] {
        let paths: Vec<String> = paths.iter().map(|it| (*it).to_owned()).collect();
        let entries: Vec<Entry> = norms.values().cloned().collect();
        let workspace = WorkspaceState::default();
        let page = select_norms(
            entries.clone(),
            &workspace,
            &paths,
            Timestamp::default(),
            select_within,
        );
        let wanted: BTreeSet<EntryId> = about.iter().copied().chain([everywhere]).collect();
        assert_eq!(
            page.ids().into_iter().collect::<BTreeSet<_>>(),
            wanted,
            "{paths:?}"
        );
        let mut hits: Vec<SearchHit> = entries
            .into_iter()
            .map(|it| hit(it, EntryStatus::Active, 0.5))
            .collect();
        drop_norms_about_other_files(&mut hits, &paths);
        let pushed: BTreeSet<EntryId> = hits.iter().map(|it| it.entry.id).collect();
        assert_eq!(pushed, wanted, "{paths:?}");
    }
}

#[test]
fn a_question_about_a_file_puts_the_entries_anchored_there_first() {
    let workspace = WorkspaceState::default();
    let mut search = SearchQuery::default();
    let mut scribe = EventWriter::new(4);
    let (norm, line) = scribe.propose_with(EntryKind::CommitNorm, "Name the sdk", |_| {});
    let norm = LedgerState::from_events(&[line.event])
        .entries
        .remove(&norm);
    let candidates = || {
        let anchored = [1, 2].map(|n| SearchCandidate {
            relevance: 0.1,
            anchored: true,
            ..SearchCandidate::unmatched(propose_entry(n, &unique_statement("file", n)))
        });
        let named = SearchCandidate {
            relevance: 1.0,
            ..SearchCandidate::unmatched(norm.clone().unwrap())
        };
        anchored.into_iter().chain([named]).collect::<Vec<_>>()
    };
    let mut first_two = |is_about_paths: bool| {
        search.is_about_paths = is_about_paths;
        let scorer = CandidateScorer {
            search: &search,
            weights: RankingWeights::default(),
            workspace: &workspace,
            validity: Default::default(),
            threads: ThreadVisibility::default(),
            now: Timestamp::default(),
            beside: BTreeSet::new(),
        };
        let mut answer = SearchResults::from_candidates(&scorer, candidates());
        answer.mark_conflicts(&ConflictMap::default());
        let page = select_hits(&answer.hits, 2);
        page.ids()
            .iter()
            .filter(|id| id.prefix() == IdPrefix::Norm)
            .count()
    };
    assert_eq!(first_two(false), 1, "otherwise every category has its best");
    assert_eq!(first_two(true), 0);
}

#[test]
fn what_may_be_shown_unasked_also_answers_a_question() {
    let unmeasured = CosineThresholds {
        relevant: 0.59,
        strict: 0.65,
        joint: 0.5,
        sums: None,
    };
    let sums = SumThresholds {
        relevant: 0.55,
        strict: 0.76,
    };
    let measured = CosineThresholds {
        sums: Some(sums),
        ..unmeasured
    };
    let (short, long) = ("a typed question", "word ".repeat(60));
    for query in [short, &long] {
        let asked = |model| RelevanceFloor::Relevant.threshold(model, query);
        let unasked = |model| RelevanceFloor::Strict.threshold(model, query);
        let prompted = |model| RelevanceFloor::Prompt.threshold(model, query);
        for model in [None, Some(measured), Some(unmeasured)] {
            for (cosine, coverage) in [(0.7, 0.2), (0.7, 1.0), (0.0, 0.8), (0.4, 0.4), (0.0, 0.0)] {
                let is_strict = unasked(model).is_met(cosine, coverage);
                let is_prompted = prompted(model).is_met(cosine, coverage);
                assert!(!is_prompted || is_strict, "{cosine} {coverage}");
                assert!(
                    !is_strict || asked(model).is_met(cosine, coverage),
                    "{cosine} {coverage}"
                );
            }
        }
    }
    let asked = |model| RelevanceFloor::Relevant.threshold(model, short);
    // Neither alone would do.
    assert!(asked(Some(measured)).is_met(0.46, 0.2));
    assert!(!asked(Some(unmeasured)).is_met(0.46, 0.2));
    assert!(!asked(Some(measured)).is_met(0.46, 0.1));
    // Words that the model does not know have no meaning to compare.
    assert!(asked(Some(measured)).is_met(0.0, 0.8));
    let prompted = RelevanceFloor::Prompt.threshold(Some(measured), short);
    assert!(
        !prompted.is_met(0.0, 1.0),
        "at a prompt, words alone are not enough"
    );
}

#[test]
fn opponents_are_brought_along_and_named_either_way_unless_nobody_is_shown_them() {
    let search = SearchQuery::default();
    let workspace = WorkspaceState::default();
    let scorer = CandidateScorer {
        search: &search,
        weights: RankingWeights::default(),
        workspace: &workspace,
        validity: Default::default(),
        threads: ThreadVisibility::default(),
        now: Timestamp::default(),
        beside: BTreeSet::new(),
    };
    let found = |n: usize, relevance: f64| SearchCandidate {
        relevance,
        ..SearchCandidate::unmatched(propose_entry(n, &unique_statement("here", n)))
    };
    let mut answer = SearchResults::from_candidates(&scorer, vec![found(1, 0.2), found(2, 0.9)]);
    let (low, high) = (answer.hits[0].entry.id, answer.hits[1].entry.id);
    let (absent, gone) = (
        propose_entry(3, &unique_statement("here", 3)).id,
        propose_entry(4, "gone").id,
    );
    let against = ConflictMap::from([
        (low, BTreeSet::from([high, absent, gone])),
        (high, BTreeSet::from([low])),
    ]);
    assert_eq!(
        answer.missing_conflicts(&against, &workspace),
        BTreeSet::from([absent, gone])
    );
    answer.add_candidates(&scorer, [found(3, 0.0)]);
    assert_eq!(
        answer.missing_conflicts(&against, &workspace),
        BTreeSet::from([gone])
    );
    answer.mark_conflicts(&against);
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

#[test]
fn unasked_only_the_best_and_strong_hits_are_shown() {
    let threshold = RelevanceFloor::Prompt.threshold(None, "retry the charge of a customer");
    let made = |kind: EntryKind, relevance: f64, coverage: f64| {
        let mut entry = propose_entry(1, "A retried charge needs an idempotency key");
        if let Some(created) = &mut entry.created {
            created.kind = kind;
        }
        let mut made = hit(entry, EntryStatus::Active, relevance);
        made.coverage = coverage;
        made.named = true;
        made
    };
    let (learning, decision, bug) = (EntryKind::Learning, EntryKind::Decision, EntryKind::Bug);
    let (prompt, failure) = (UnaskedMoment::Prompt, UnaskedMoment::Failure);
    for (moment, kind, relevance, coverage, entries, is_shown) in [
        // What describes the code that a prompt names must match by its words too.
        (prompt, learning, 0.92, 0.1, 20, false),
        (prompt, learning, 0.92, 0.8, 20, true),
        (prompt, decision, 0.92, 0.1, 20, true),
        // The best match and its equals.
        (prompt, learning, 0.91, 0.8, 20, false),
        (failure, learning, 0.92, 0.29, 20, false),
        (failure, learning, 0.92, 0.3, 20, true),
        (failure, bug, 0.92, 0.0, 20, true),
        (failure, bug, 0.91, 0.0, 20, false),
        // Relevance is relative: a small ledger has nothing to compare with.
        (prompt, learning, 0.1, 0.1, 19, true),
        (failure, learning, 0.1, 0.1, 19, true),
    ] {
        let mut hits = vec![made(kind, relevance, coverage)];
        moment.drop_weak_hits(&mut hits, threshold, entries);
        let case = (moment, kind, relevance, coverage, entries);
        assert_eq!(!hits.is_empty(), is_shown, "{case:?}");
    }
    // A decision is compared with what is shown, a lesson with everything.
    for (best, best_coverage, kind, relevance, is_shown) in [
        (learning, 0.1, decision, 0.5, true),
        (learning, 0.8, decision, 0.91, false),
        (learning, 0.8, decision, 0.92, true),
        (decision, 0.1, decision, 0.91, false),
        (learning, 0.1, learning, 0.91, false),
    ] {
        let mut hits = vec![made(best, 1.0, best_coverage), made(kind, relevance, 0.8)];
        prompt.drop_weak_hits(&mut hits, threshold, 20);
        let case = (best, best_coverage, kind, relevance);
        assert_eq!(
            hits.iter().any(|it| it.relevance < 1.0),
            is_shown,
            "{case:?}"
        );
    }
}
