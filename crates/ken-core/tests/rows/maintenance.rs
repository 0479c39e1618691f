//! Maintenance: due services, policies, sweeping and distilling.

use std::collections::BTreeMap;

use ken_core::decide::{self, DistillRequest, Refusal, distilled_posterior};
use ken_core::health::maintenance::{
    MaintenanceCategory, MaintenanceMode, MaintenancePermission, MaintenancePolicy,
    MaintenanceService, MaintenanceUsage, StaleReason, format_task, stale_reason,
};
use ken_core::ledger::cooccurrence::{
    CooccurrenceEdge, CooccurrenceWeight, cooccurrence_edges, strongest_weight,
};
use ken_core::ledger::entry::{AnnotationState, BetaTally, Entry};
use ken_core::ledger::event::{KnowledgeDistilled, Origin, Overlay, Relation, Switch};
use ken_core::trust::facts::{BetaPosterior, Validity};
use ken_core::values::content::DecayClass;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_core::values::time::{DAY_MS, Timestamp};

use crate::health::{add_entries, days_ago};
use crate::stage::TestLedger;

fn noon() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

#[test]
fn a_service_is_due_when_something_changed_and_a_day_has_passed() {
    let daily = [
        MaintenanceService::Dedup,
        MaintenanceService::StaleSweep,
        MaintenanceService::Contradiction,
        MaintenanceService::Forage,
    ];
    for service in daily {
        let due = |ago: u64, is_dirty| {
            let last = Timestamp::from_millis(noon().millis() - ago);
            service.is_due(Some(last), is_dirty, noon())
        };
        assert!(due(DAY_MS, true) && !due(DAY_MS - 1, true));
        assert!(!due(9 * DAY_MS, false), "nothing changed");
        assert!(service.is_due(None, true, noon()));
    }
    assert!(!MaintenanceService::ConfidenceReset.is_due(None, true, noon()));
}

#[test]
fn every_service_is_known_by_both_names() {
    let names = MaintenanceService::ALL.map(|it| (it.full_name(), it.name()));
    for (service, (full, short)) in MaintenanceService::ALL.into_iter().zip(names) {
        assert_eq!(full, format!("service:consolidation:{short}"));
        assert_eq!(full.parse(), Ok(service));
        assert_eq!(short.parse(), Ok(service));
    }
    let unknown = "service:other:dedup"
        .parse::<MaintenanceService>()
        .unwrap_err();
    assert!(unknown.contains("dedup, stale_sweep, contradiction, confidence_reset, forage"));
}

#[test]
fn the_policy_decides_what_happens_unasked() {
    let policy = |mode| MaintenancePolicy {
        mode,
        auto_actions: [MaintenanceCategory::Dedup].into(),
        ..MaintenancePolicy::default()
    };
    let allowed = |mode| MaintenanceCategory::ALL.map(|it| policy(mode).allows(it));
    assert_eq!(MaintenancePolicy::default().mode, MaintenanceMode::Suggest);
    assert_eq!(allowed(MaintenanceMode::Suggest), [false; 5]);
    assert_eq!(
        allowed(MaintenanceMode::AutoNotify),
        [true, false, false, false, false]
    );
    assert_eq!(allowed(MaintenanceMode::Autonomous), [true; 5]);
    assert_eq!(
        MaintenanceService::ConfidenceReset.category(),
        None,
        "never unasked"
    );
}

#[test]
fn neither_the_budget_nor_the_number_of_runs_is_exceeded() {
    let policy = MaintenancePolicy {
        mode: MaintenanceMode::Autonomous,
        daily_maintenance_budget: 10,
        max_maintenance_colonies: 2,
        ..MaintenancePolicy::default()
    };
    let leave = |changes, runs| {
        policy.check_permission(
            MaintenanceCategory::Dedup,
            MaintenanceUsage { changes, runs },
        )
    };
    assert_eq!(leave(0, 0), MaintenancePermission::Granted(10));
    assert_eq!(leave(9, 1), MaintenancePermission::Granted(1));
    assert_eq!(leave(10, 1), MaintenancePermission::BudgetSpent);
    assert_eq!(leave(11, 1), MaintenancePermission::BudgetSpent);
    assert_eq!(leave(0, 2), MaintenancePermission::TooManyRuns);
    let suggest = MaintenancePolicy::default();
    assert_eq!(
        suggest.check_permission(MaintenanceCategory::Dedup, MaintenanceUsage::default()),
        MaintenancePermission::NotAllowed
    );
}

#[test]
fn a_task_says_that_it_is_maintenance() {
    assert_eq!(format_task("dedup", "Merge"), "[maintenance:dedup] Merge");
}

fn entry_unconfirmed_for(days: u32) -> Entry {
    let [mut entry] = add_entries(["Charging twice is safe"]);
    entry.confirmation.last = Some(days_ago(days));
    entry
}

#[test]
fn what_nobody_asked_for_in_ninety_days_is_swept_unless_the_code_bears_it_out() {
    let today = days_ago(0);
    assert_eq!(
        stale_reason(&entry_unconfirmed_for(90), 0, false, today),
        None
    );
    assert_eq!(
        stale_reason(&entry_unconfirmed_for(91), 0, false, today),
        Some(StaleReason::NotAsked(91))
    );
    assert_eq!(
        stale_reason(&entry_unconfirmed_for(91), 0, true, today),
        None
    );
    let mut shown = entry_unconfirmed_for(200);
    shown
        .tallies
        .days
        .insert(days_ago(90), BetaTally::default());
    assert_eq!(stale_reason(&shown, 0, false, today), None);
    for status in [EntryStatus::Stale, EntryStatus::Rejected] {
        let mut entry = entry_unconfirmed_for(200);
        entry.status.value = status;
        assert_eq!(stale_reason(&entry, 9, false, today), None);
    }
}

#[test]
fn silence_sweeps_no_decision() {
    let mut entry = entry_unconfirmed_for(200);
    for kind in EntryKind::lessons() {
        entry.created.as_mut().unwrap().kind = kind;
        let reason = stale_reason(&entry, 9, false, days_ago(0));
        assert_eq!(reason.is_none(), kind.is_prescriptive(), "{kind}");
    }
}

#[test]
fn five_errors_and_fewer_than_three_showings_are_enough() {
    let told = |errors, shown| {
        let mut entry = entry_unconfirmed_for(0);
        entry.tallies.shown = shown;
        stale_reason(&entry, errors, true, days_ago(0))
    };
    assert_eq!(told(4, 2), None);
    assert_eq!(told(5, 2), Some(StaleReason::NoAnswer(5)));
    assert_eq!(told(5, 3), None);
}

#[test]
fn norms_and_what_is_pinned_are_never_swept() {
    let mut stage = TestLedger::new();
    let norm = stage.add(EntryKind::CommitNorm, "Sign every commit");
    let mut norm = stage.entry(norm);
    norm.confirmation.last = Some(days_ago(400));
    assert_eq!(stale_reason(&norm, 9, false, days_ago(0)), None);
    let mut pinned = entry_unconfirmed_for(400);
    let mark = AnnotationState {
        state: Switch::On,
        heads: Vec::new(),
        note: None,
    };
    pinned.overlays.insert(Overlay::Pin, mark);
    assert_eq!(stale_reason(&pinned, 9, false, days_ago(0)), None);
}

#[test]
fn the_strongest_weight_is_that_of_a_partner_among_the_results() {
    let [mut entry, two, three, five] = add_entries(["One", "Two", "Three", "Five"]);
    let today = days_ago(0);
    let partner = |other: &Entry, weight_milli| {
        let on = today;
        (other.id, CooccurrenceWeight { weight_milli, on })
    };
    entry.tallies.together = [
        partner(&two, 2000),
        partner(&three, 3000),
        partner(&five, 5000),
    ]
    .into();
    let among = |results: &[&Entry]| {
        let ids = results.iter().map(|it| it.id).collect();
        strongest_weight(&entry, &ids, today)
    };
    assert!(
        (among(&[&entry, &two, &three]) - 3.0).abs() < 1e-9,
        "five is no result"
    );
    assert!((among(&[&entry, &five]) - 5.0).abs() < 1e-9);
    assert!(among(&[&entry]).abs() < 1e-9);
}

/// Returns five entries used together with this weight, each with these `alpha` and `beta` tallies.
fn cluster_with_tallies(alpha_milli: u64, beta_milli: u64, weight_milli: u32) -> Vec<Entry> {
    let mut all = add_entries(["One", "Two", "Three", "Four", "Five"]);
    let ids = all.each_ref().map(|it| it.id);
    let (on, tally) = (
        days_ago(0),
        BetaTally {
            alpha_milli,
            beta_milli,
        },
    );
    for entry in &mut all {
        entry.tallies.days.insert(on, tally);
        let others = ids.iter().filter(|id| **id != entry.id);
        let together = CooccurrenceWeight { weight_milli, on };
        entry.tallies.together = others.map(|id| (*id, together)).collect();
    }
    all.into()
}

fn distillation<'a>(
    sources: &'a [Entry],
    edges: &'a [CooccurrenceEdge],
    policy: &'a MaintenancePolicy,
) -> DistillRequest<'a> {
    DistillRequest {
        sources,
        statement: "All five say one thing".parse().unwrap(),
        kind: EntryKind::Pattern,
        edges,
        policy,
        today: days_ago(0),
    }
}

#[test]
fn a_pair_is_one_edge_with_the_lower_id_first() {
    let mut sources = cluster_with_tallies(1000, 0, 2_000);
    // The two ends of a pair may have different weights; the larger one counts.
    let (one, other) = (sources[0].id, sources[1].id);
    let weaker = sources[0].tallies.together.get_mut(&other).unwrap();
    weaker.weight_milli = 1_500;
    let edges = cooccurrence_edges(&sources, days_ago(0));
    assert_eq!(edges.len(), 10, "five entries have ten pairs");
    assert!(edges.iter().all(|it| it.first < it.second), "{edges:?}");
    let pair = edges
        .iter()
        .find(|it| (it.first, it.second) == (one.min(other), one.max(other)));
    assert_eq!(pair.unwrap().weight, 2.0);
}

#[test]
fn an_agent_distills_only_where_the_policy_says_so_and_a_person_always_may() {
    let sources = cluster_with_tallies(1000, 0, 3_001);
    let dense = cooccurrence_edges(&sources, days_ago(0));
    let (suggest, allowed) = (
        MaintenancePolicy::default(),
        MaintenancePolicy::default().with_allowed(MaintenanceCategory::Distillation),
    );
    let (agent, person) = (
        "agent:archivist".parse().unwrap(),
        "human:ada".parse().unwrap(),
    );
    let tried = |edges: &[CooccurrenceEdge], policy: &MaintenancePolicy, by| {
        decide::distilled_proposal(&distillation(&sources, edges, policy), by).is_ok()
    };
    assert!(tried(&dense, &allowed, &agent));
    assert!(!tried(&dense, &suggest, &agent));
    assert!(tried(&dense, &suggest, &person));
    assert!(tried(&[], &suggest, &person));
    let loose = cooccurrence_edges(&cluster_with_tallies(1000, 0, 3_000), days_ago(0));
    assert!(
        !tried(&loose, &allowed, &agent),
        "an average of 3.0 is not more than that"
    );
    assert!(tried(&loose, &suggest, &person));
}

#[test]
fn the_event_names_entry_sources_and_weight_and_the_sources_stay() {
    let mut stage = TestLedger::new();
    let ids = ["One", "Two"].map(|it| stage.add(EntryKind::Learning, it));
    let sources = ids.map(|id| stage.entry(id));
    let edge = |weight| CooccurrenceEdge {
        first: ids[0],
        second: ids[1],
        weight,
    };
    let (edges, policy) = ([edge(4.5)], MaintenancePolicy::default());
    let wish = distillation(&sources, &edges, &policy);
    let proposal = decide::distilled_proposal(&wish, &"human:ada".parse().unwrap()).unwrap();
    let event = stage.fresh();
    let entry = EntryId::created_by(event, EntryKind::Pattern);
    let drafts = decide::distill(event, proposal, &wish).unwrap();
    let data = drafts[1].body.to_json().unwrap();
    assert_eq!(data["entry"], entry.to_string());
    assert_eq!(data["cluster_weight_milli"], 4500);
    let mut told = drafts.into_iter();
    stage.write_as(
        event,
        told.next().unwrap(),
        ken_core::ledger::event::AdmissionVerdict::Admitted,
    );
    for draft in told {
        stage.write(draft);
    }
    let noted = stage
        .events
        .iter()
        .find_map(|it| it.get::<KnowledgeDistilled>());
    assert_eq!(noted.unwrap().sources, ids);
    let made = stage.entry(entry);
    let links: BTreeMap<EntryId, Relation> = made.links.iter().map(|it| (it.to, it.rel)).collect();
    assert_eq!(links, ids.map(|id| (id, Relation::DerivedFrom)).into());
    assert!(ids.iter().all(|id| stage.entry(*id).is_live()));
    assert_eq!(made.decay_class(), DecayClass::Stable);
    assert_eq!(made.citations, sources[0].citations);
    assert_eq!(
        made.created.unwrap().origin,
        Origin::Agent,
        "the least of its sources"
    );
}

#[test]
fn alpha_is_raised_to_thirty_at_most_and_confidence_is_not() {
    let today = days_ago(0);
    // Five sources with five successes and one failure each, 10 and 6 with the prior: 30
    // observations more than the prior's ten, at the mean of the sources.
    let below = distilled_posterior(&cluster_with_tallies(5_000, 1_000, 0), today);
    assert!((below.alpha - 25.0).abs() < 1e-9 && (below.beta - 15.0).abs() < 1e-9);
    let sources = cluster_with_tallies(50_000, 10_000, 0);
    let more = distilled_posterior(&sources, today);
    assert!((more.alpha - 30.0).abs() < 1e-9);
    for (distilled, sources) in [
        (below, cluster_with_tallies(5_000, 1_000, 0)),
        (more, sources),
    ] {
        let source = sources[0].posterior(Validity::Unverifiable, today);
        assert!((distilled.mean() - source.mean()).abs() < 1e-9);
        assert!(distilled.alpha > source.alpha.min(29.9));
    }
    assert_eq!(
        distilled_posterior(&cluster_with_tallies(0, 0, 0), today),
        BetaPosterior::PRIOR
    );
}

#[test]
fn what_is_folded_is_what_was_decided() {
    let mut stage = TestLedger::new();
    stage.later("2026-11-15T12:00:00Z");
    let sources = cluster_with_tallies(4_000, 2_000, 0);
    let policy = MaintenancePolicy::default();
    let wish = distillation(&sources, &[], &policy);
    let proposal = decide::distilled_proposal(&wish, &"human:ada".parse().unwrap()).unwrap();
    let event = stage.fresh();
    let entry = EntryId::created_by(event, EntryKind::Pattern);
    let mut drafts = decide::distill(event, proposal, &wish).unwrap().into_iter();
    stage.write_as(
        event,
        drafts.next().unwrap(),
        ken_core::ledger::event::AdmissionVerdict::Admitted,
    );
    for draft in drafts {
        stage.write(draft);
    }
    let believed = stage
        .entry(entry)
        .posterior(Validity::Unverifiable, days_ago(0));
    assert_eq!(
        believed,
        BetaPosterior {
            alpha: 22.5,
            beta: 17.5
        }
    );
}

#[test]
fn norms_one_entry_and_what_is_quarantined_cannot_be_distilled() {
    let policy = MaintenancePolicy::default();
    let person = "human:ada".parse().unwrap();
    let refusal = |sources: &[Entry]| {
        decide::distilled_proposal(&distillation(sources, &[], &policy), &person).unwrap_err()
    };
    let [one, two] = add_entries(["One", "Two"]);
    let alone = std::slice::from_ref(&one);
    assert_eq!(refusal(alone), Refusal::TooFewSources { count: 1 });
    assert_eq!(
        refusal(&[one.clone(), one.clone()]),
        Refusal::TooFewSources { count: 1 }
    );
    let mut apart = two.clone();
    apart.quarantine = one.revision.clone();
    assert_eq!(refusal(&[one.clone(), apart]), Refusal::Quarantined(two.id));
    let mut stage = TestLedger::new();
    let norm = stage.add(EntryKind::CommitNorm, "Sign every commit");
    let norm = stage.entry(norm);
    assert_eq!(
        refusal(&[one, norm.clone()]),
        Refusal::NotDistillable(norm.id)
    );
}
