//! Search, lists, briefings, feedback and reports over real events.

use std::collections::BTreeMap;

use ken_core::ledger::event::{Feedback, Outcome};
use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::ranking::{RelevanceFloor, SearchQuery};
use ken_core::retrieval::surface::NOTHING_FOUND;
use ken_core::trust::run::RunNote;
use ken_core::trust::run::closing::RunEnding;
use ken_core::trust::run::reader::EntryReader;
use ken_core::values::id::EntryId;
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::time::DAY_MS;
use ken_hub::identity::AuthenticatedCaller;
use ken_hub::ids::Role;
use ken_hub::service::{
    self, BriefingRequest, HubSearchRequest, OpenRunRequest, ReportPeriod, SelectionLimits,
    ServiceError,
};

use crate::environment::{ServiceTestEnvironment, reader, recording};

/// Five lessons on one topic with five different claims.
const LESSONS: [&str; 5] = [
    "The payment gateway closes idle connections after a minute",
    "Refunds through the payment gateway need a second approval",
    "Certificates of the payment gateway are renewed every March",
    "Load tests never call the payment gateway of production",
    "Currencies without cents confuse the payment gateway",
];

fn query_of(place: &ServiceTestEnvironment, search: SearchQuery) -> HubSearchRequest {
    HubSearchRequest {
        search,
        portion: SelectionLimits::default(),
        reader: reader(&place.bot(), None),
    }
}

fn hit_ids(found: &service::HubSearchResult) -> Vec<EntryId> {
    found.hits.iter().map(|it| it.entry.id).collect()
}

fn search_for(query: &str) -> SearchQuery {
    SearchQuery {
        query: query.to_owned(),
        ..SearchQuery::default()
    }
}

#[test]
fn ret_a_search_finds_what_answers_filters_it_and_says_when_nothing_does() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let retry = place.add(
        &ada,
        EntryKind::Learning,
        "Retry a payment once after a gateway timeout",
    );
    let choice = place.add(
        &ada,
        EntryKind::Decision,
        "Payments go through one gateway only",
    );
    place.add(
        &ada,
        EntryKind::Learning,
        "Tests of the parser run without a network",
    );
    let bot = place.bot();
    let search = |search: SearchQuery| {
        let question = query_of(&place, search);
        place
            .act(&bot, async |desk| service::search(desk, question).await)
            .unwrap()
    };
    let found = search(search_for("gateway timeout retry payment"));
    assert_eq!(hit_ids(&found)[0], retry.id);
    let only = search(SearchQuery {
        filter: EntryFilter {
            kinds: vec![EntryKind::Decision],
            ..EntryFilter::default()
        },
        ..search_for("payment gateway")
    });
    assert_eq!(hit_ids(&only), [choice.id]);
    let none = search(search_for("kubernetes ingress annotations"));
    assert!(none.hits.is_empty() && none.page.shown.is_empty());
    assert!(
        ken_core::retrieval::surface::render_context_block(&none.page, service::served_by())
            .contains(NOTHING_FOUND)
    );
    let all = search(SearchQuery {
        floor: RelevanceFloor::None,
        ..search_for("kubernetes ingress annotations")
    });
    assert_eq!(all.hits.len(), 3, "everything found, best first");
}

#[test]
fn in_a_run_draws_are_seeded_and_can_be_replayed() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    for lesson in LESSONS {
        place.add(&ada, EntryKind::Learning, lesson);
    }
    // The draws themselves: `exploration_limit` clamps the scores, so two runs can score alike.
    let draws = |run: &str| {
        let search = SearchQuery {
            run: Some(run.to_owned()),
            ..search_for("what about a payment gateway?")
        };
        let question = query_of(&place, search);
        let found = place
            .act(&place.bot(), async |desk| {
                service::search(desk, question).await
            })
            .unwrap();
        found
            .hits
            .iter()
            .flat_map(|hit| {
                hit.explained
                    .parts
                    .iter()
                    .map(move |part| (hit.entry.id, part))
            })
            .filter(|(_, part)| part.name == "thompson")
            .map(|(entry, part)| (entry, part.value.to_bits()))
            .collect::<BTreeMap<_, _>>()
    };
    let first = draws("R-a");
    assert!(!first.is_empty());
    assert_eq!(first, draws("R-a"));
    let second = draws("R-b");
    assert!(
        first
            .iter()
            .all(|(entry, draw)| second.get(entry) != Some(draw))
    );
}

#[test]
fn what_is_shown_is_noted_before_it_is_returned_and_people_are_not_watched() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let entry = place.add(
        &ada,
        EntryKind::Learning,
        "Retry a payment once after a gateway timeout",
    );
    let bot = place.bot();
    let wish = OpenRunRequest {
        id: Some("R-n".to_owned()),
        ..OpenRunRequest::default()
    };
    place
        .act(&bot, async |desk| service::load_open_run(desk, wish).await)
        .unwrap();
    for caller in [&bot, &ada] {
        let mut question = query_of(&place, search_for("gateway timeout"));
        question.reader = reader(caller, Some("R-n"));
        place
            .act(caller, async |desk| service::search(desk, question).await)
            .unwrap();
    }
    let run = place
        .act(&bot, async |desk| service::get_open_run(desk, "R-n").await)
        .unwrap();
    let seen: Vec<String> = run.agents.keys().map(ToString::to_string).collect();
    assert_eq!(seen, ["agent:bot"]);
    assert!(run.agents[&bot.actor].shown.contains_key(&entry.id));
}

#[test]
fn a_person_who_is_briefed_in_a_run_takes_no_part_in_it() {
    let place = ServiceTestEnvironment::new();
    let (ada, bot) = (place.ada(), place.bot());
    for lesson in LESSONS
        .iter()
        .chain(&["The payment gateway sleeps at noon"])
    {
        place.add(&ada, EntryKind::Learning, lesson);
    }
    let wish = OpenRunRequest {
        id: Some("R-p".to_owned()),
        ..OpenRunRequest::default()
    };
    place
        .act(&bot, async |desk| service::load_open_run(desk, wish).await)
        .unwrap();
    let brief = |caller: &AuthenticatedCaller| {
        let briefing = BriefingRequest {
            reader: reader(caller, Some("R-p")),
            task: "Fix the payment gateway".to_owned(),
            paths: Vec::new(),
            role: None,
        };
        place
            .act(caller, async |desk| service::brief(desk, briefing).await)
            .unwrap()
    };
    assert_eq!(brief(&ada).entries.shown.len(), 5, "and one fitted beside");
    let agents = || {
        let run = place.act(&bot, async |desk| service::get_open_run(desk, "R-p").await);
        run.unwrap().agents
    };
    assert!(agents().is_empty(), "{:?}", agents());
    let briefed = brief(&bot);
    let noted = &agents()[&bot.actor];
    let shown: Vec<EntryId> = noted.shown.keys().copied().collect();
    let told = briefed.entries.shown.iter().map(|it| it.id);
    let told: std::collections::BTreeSet<EntryId> = told.collect();
    assert_eq!(shown, Vec::from_iter(told));
    assert_eq!(noted.passed.len(), 1, "what had no room");
}

#[test]
fn a_beginning_of_an_id_is_enough_and_a_list_goes_page_by_page() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let mut all = Vec::new();
    for lesson in LESSONS {
        place.later(1_000);
        all.push(place.add(&ada, EntryKind::Learning, lesson).id);
    }
    all.reverse();
    let reader = reader(&ada, None);
    let whole = all[0].to_string();
    let told = place
        .act(&ada, async |desk| {
            service::show_entry(desk, &reader, &whole[..7]).await
        })
        .unwrap();
    assert_eq!(told.entry.id, all[0]);
    let missing = place.act(&ada, async |desk| {
        service::show_entry(desk, &reader, "L-zzzzzzzz").await
    });
    assert!(
        matches!(missing, Err(ServiceError::NotFound { .. })),
        "{missing:?}"
    );
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let filter = EntryFilter {
            memory: Some(Memory::Semantic),
            ..EntryFilter::default()
        };
        let page = place
            .act(&ada, async |desk| {
                service::list_entries(desk, &reader, &filter, after.as_ref(), 2).await
            })
            .unwrap();
        assert!(page.entries.len() <= 2);
        seen.extend(page.entries.iter().map(|it| it.id));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, all, "each once, the newest first");
    let events = place
        .act(&ada, async |desk| {
            service::history(desk, &reader, &whole).await
        })
        .unwrap();
    assert_eq!(events.len(), 1);
}

#[test]
fn tru_feedback_counts_once_and_only_from_who_had_the_entry() {
    let place = ServiceTestEnvironment::new();
    let (ada, bot) = (place.ada(), place.bot());
    let entry = place.add(
        &ada,
        EntryKind::Learning,
        "Retry a payment once after a gateway timeout",
    );
    let id = entry.id.to_string();
    let reader = reader(&bot, None);
    let give = |verdict: Feedback| {
        place.act(&bot, async |desk| {
            service::give_feedback(desk, &reader, &id, verdict).await
        })
    };
    let refused = give(Feedback::Helpful);
    assert!(
        matches!(refused, Err(ServiceError::Conflict(_))),
        "{refused:?}"
    );
    place
        .act(&bot, async |desk| {
            service::show_entry(desk, &reader, &id).await
        })
        .unwrap();
    assert!(give(Feedback::Helpful).unwrap().is_new);
    assert!(
        !give(Feedback::Helpful).unwrap().is_new,
        "said again, it counts once"
    );
    assert!(give(Feedback::Unhelpful).unwrap().is_new);
    assert_eq!(place.events("feedback.given"), 2);
}

#[test]
fn a_briefing_hands_on_what_another_agent_of_the_run_concluded() {
    let place = ServiceTestEnvironment::new();
    let (ada, bot) = (place.ada(), place.bot());
    let known = place.add(&ada, EntryKind::Learning, LESSONS[0]);
    let wish = OpenRunRequest {
        id: Some("R-c".to_owned()),
        ..OpenRunRequest::default()
    };
    place
        .act(&bot, async |desk| service::load_open_run(desk, wish).await)
        .unwrap();
    let said = RunNote::Said {
        agent: "agent:bot/up".parse().unwrap(),
        words: Some("No lock is needed".parse().unwrap()),
        cites: vec![known.id],
        to: Vec::new(),
    };
    place
        .act(&bot, async |desk| {
            service::record_note(desk, "R-c", said).await
        })
        .unwrap();
    let down = EntryReader {
        agent: "agent:bot/down".parse().unwrap(),
        ..reader(&bot, Some("R-c"))
    };
    let briefing = BriefingRequest {
        reader: down.clone(),
        task: "bake bread".to_owned(),
        paths: Vec::new(),
        role: None,
    };
    let briefed = place.act(&bot, async |desk| service::brief(desk, briefing).await);
    let text = briefed.unwrap().text();
    let line = format!("agent:bot/up: No lock is needed [{}]", known.id);
    assert!(text.contains(&line), "{text}");
    let run = place.act(&bot, async |desk| service::get_open_run(desk, "R-c").await);
    let seen = run.unwrap().exposures(&down.agent);
    assert!(seen.contains(known.id), "{seen:?}");
}

#[test]
fn a_briefing_has_norms_what_is_known_and_how_knowledge_fares() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let norm = place.add(
        &ada,
        EntryKind::CommitNorm,
        "Commits name the ticket they belong to",
    );
    let known = place.add(
        &ada,
        EntryKind::Learning,
        "Retry a payment once after a gateway timeout",
    );
    let briefing = BriefingRequest {
        reader: reader(&place.bot(), None),
        task: "retry the payment after a gateway timeout".to_owned(),
        paths: Vec::new(),
        role: None,
    };
    let briefed = place
        .act(&place.bot(), async |desk| {
            service::brief(desk, briefing).await
        })
        .unwrap();
    assert_eq!(briefed.norms.shown[0].id, norm.id);
    assert_eq!(briefed.entries.shown[0].id, known.id);
    let text = briefed.text();
    assert!(text.contains(&norm.id.to_string()) && text.contains(&known.id.to_string()));
}

#[test]
fn outcomes_are_told_from_the_log_alone() {
    let place = ServiceTestEnvironment::new();
    let bot = place.bot();
    for (id, outcome, lesson) in [
        ("R-1", Outcome::Succeeded, LESSONS[0]),
        ("R-2", Outcome::Failed, LESSONS[1]),
    ] {
        let wish = OpenRunRequest {
            id: Some(id.to_owned()),
            ..OpenRunRequest::default()
        };
        let ending = RunEnding {
            outcome,
            quality_milli: None,
            rounds: 3,
            cost_micros: 50,
            strategy: Some("solo".parse().unwrap()),
        };
        place
            .act(&bot, async |desk| service::load_open_run(desk, wish).await)
            .unwrap();
        place.later(2_000);
        let it = recording(reader(&bot, Some(id)), EntryKind::Learning, lesson);
        place
            .act(&bot, async |desk| service::add_entry(desk, it).await)
            .unwrap();
        place
            .act(&bot, async |desk| {
                service::close_run(desk, id, &ending).await
            })
            .unwrap();
        place.later(10 * 24 * 60 * 60 * 1000);
    }
    let reading = place.caller(Role::Reader, "human:eve@example.org");
    let told = |period: &str| {
        let period: ReportPeriod = period.parse().unwrap();
        place
            .act(&reading, async |desk| {
                service::report_outcomes(desk, period).await
            })
            .unwrap()
    };
    let all = told("30d").all;
    assert_eq!((all.runs, all.succeeded, all.failed), (2, 1, 1));
    assert_eq!((all.rounds, all.cost_micros), (6, 100));
    assert_eq!(all.entries_extracted, 2);
    assert_eq!(all.duration_ms, 4_000);
    assert_eq!(told("30d").strategies["solo"].runs, 2);
    let late = told("15d").all;
    assert_eq!((late.runs, late.failed), (1, 1), "the other is older");
    assert_eq!(told("7d").all.runs, 0);
}

#[test]
fn outcomes_come_with_what_the_rules_find_about_runs() {
    let place = ServiceTestEnvironment::new();
    let bot = place.bot();
    for number in 0..6 {
        let id = format!("R-{number}");
        let (strategy, outcome, quality) = if number < 3 {
            ("fast", Outcome::Succeeded, 900)
        } else {
            ("slow", Outcome::Failed, 400)
        };
        let wish = OpenRunRequest {
            id: Some(id.clone()),
            ..OpenRunRequest::default()
        };
        let ending = RunEnding {
            outcome,
            quality_milli: Some(quality),
            rounds: 3,
            cost_micros: 0,
            strategy: Some(strategy.parse().unwrap()),
        };
        place
            .act(&bot, async |desk| service::load_open_run(desk, wish).await)
            .unwrap();
        place.later(2_000);
        place
            .act(&bot, async |desk| {
                service::close_run(desk, &id, &ending).await
            })
            .unwrap();
    }
    let reading = place.caller(Role::Reader, "human:eve@example.org");
    let period: ReportPeriod = "7d".parse().unwrap();
    let told = place
        .act(&reading, async |desk| {
            service::report_outcomes(desk, period).await
        })
        .unwrap();
    let rules: Vec<u8> = told.insights.iter().map(|it| it.number).collect();
    assert_eq!(rules, [8]);
    assert_eq!(
        told.escalations[0].what,
        "the last 3 runs outside any thread failed; a person should investigate"
    );
    assert_eq!(
        told.recommendations[0].what,
        "`fast` has the best outcomes here (quality 0.90): use it first"
    );
}

#[test]
fn a_run_that_touched_nothing_took_as_long_as_it_was_open() {
    let place = ServiceTestEnvironment::new();
    let bot = place.bot();
    for (id, open_for) in [("R-1", 47_000), ("R-2", 47_000), ("R-3", 1_000)] {
        let wish = OpenRunRequest {
            id: Some(id.to_owned()),
            ..OpenRunRequest::default()
        };
        place
            .act(&bot, async |desk| service::load_open_run(desk, wish).await)
            .unwrap();
        place.later(open_for);
        let ending = RunEnding {
            outcome: Outcome::Succeeded,
            ..RunEnding::abandoned()
        };
        place
            .act(&bot, async |desk| {
                service::close_run(desk, id, &ending).await
            })
            .unwrap();
    }
    let period: ReportPeriod = "1d".parse().unwrap();
    let told = place
        .act(&bot, async |desk| {
            service::report_outcomes(desk, period).await
        })
        .unwrap();
    assert_eq!(told.all.duration_ms, 95_000);
    assert_eq!(told.all.duration_ms_median, Some(47_000));
}

#[test]
fn gat_verify_says_what_can_be_said_without_code() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let plain = place.add(
        &ada,
        EntryKind::Learning,
        "Retry a payment once after a gateway timeout",
    );
    let mut anchored = recording(
        reader(&ada, None),
        EntryKind::Learning,
        "Charging is idempotent by its key",
    );
    anchored.anchors = vec![
        "src/pay.rs#charge"
            .parse::<ken_core::values::anchor::CodeLocation>()
            .unwrap()
            .into(),
    ];
    place
        .act(&ada, async |desk| service::add_entry(desk, anchored).await)
        .unwrap();
    place.add(&ada, EntryKind::CommitNorm, "Commits must name a ticket");
    place.add(
        &ada,
        EntryKind::CommitNorm,
        "Commits must never name a ticket",
    );
    let verified = place
        .act(&ada, async |desk| service::verify(desk).await)
        .unwrap();
    assert_eq!((verified.entries, verified.events), (4, 4));
    assert_eq!(verified.unverifiable, 1, "it rests on code");
    assert_eq!(verified.events_unseen, 0);
    let gates: Vec<&str> = verified.findings.iter().map(|it| it.gate).collect();
    assert_eq!(
        gates,
        ["knowledge.contradictions"],
        "two norms contradict each other"
    );
    assert!(!verified.passes());
    assert!(
        verified
            .findings
            .iter()
            .all(|it| it.at != plain.id.to_string())
    );
}

#[test]
fn a_failed_verification_is_recorded_once_per_day_and_result() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let verify = || {
        let verifying = place.act(&ada, async |desk| service::verify(desk).await);
        verifying.unwrap().passes()
    };
    let recorded = || {
        let sql = "SELECT subject, outcome FROM ken.audit WHERE act = 'gates.failed' ORDER BY id";
        place.bare.sql(sql).trim().to_owned()
    };
    place.add(&ada, EntryKind::CommitNorm, "Commits must name a ticket");
    assert!(verify(), "a single norm contradicts nothing");
    assert_eq!(recorded(), "");
    place.add(
        &ada,
        EntryKind::CommitNorm,
        "Commits must never name a ticket",
    );
    let line = "errors: 1, warnings: 0|failed";
    assert!(!verify() && !verify());
    assert_eq!(recorded(), line, "the same result on the same day");
    place.later(DAY_MS + 1);
    assert!(!verify());
    assert_eq!(recorded(), format!("{line}\n{line}"));
}

#[test]
fn the_impact_of_an_entry_without_trials_is_not_measured() {
    let place = ServiceTestEnvironment::new();
    let ada = place.ada();
    let entry = place.add(
        &place.bot(),
        EntryKind::Learning,
        "Retry a payment once after a gateway timeout",
    );
    let reader = reader(&ada, None);
    let report = place
        .act(&ada, async |desk| {
            service::measure_impacts(desk, &reader).await
        })
        .unwrap();
    assert!(report.entries.is_empty(), "nothing was tried yet");
    let (id, worth) = place
        .act(&ada, async |desk| {
            service::measure_entry_impact(desk, &reader, &entry.id.to_string()).await
        })
        .unwrap();
    assert_eq!(id, entry.id);
    assert_eq!(
        worth,
        ken_core::trust::impact::ImpactEstimate::TooFew {
            shown: 0,
            withheld: 0
        }
    );
}
