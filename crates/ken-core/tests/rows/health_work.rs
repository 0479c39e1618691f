//! Health rules 8 to 14 and outcome totals, each tested at its boundary and on both sides of it.

use ken_core::health::history::{escalations, recommendations, summarize_outcomes};
use ken_core::health::maintenance::{MaintenanceCategory, MaintenanceMode, MaintenancePolicy};
use ken_core::health::thresholds::{HealthCounts, HealthThresholds, HealthThresholdsError};
use ken_core::health::{HealthFacts, HealthInsight, HealthRule, InsightSeverity, RunOutcome};
use ken_core::ledger::entry::{BetaTally, Entry};
use ken_core::ledger::event::{Outcome as Ended, RunClosed};
use ken_core::retrieval::score::RankingWeights;
use ken_core::values::content::DecayClass;

use crate::health::{add_entries, days_ago, health_facts};

/// Returns the outcome of a run that ended today.
fn run_ended_today(outcome: Ended) -> RunOutcome {
    RunOutcome {
        closed: RunClosed {
            run: "R-1".to_owned(),
            outcome,
            quality_milli: None,
            rounds: 1,
            cost_micros: 0,
            strategy: None,
            agents: Vec::new(),
            roles: std::collections::BTreeMap::new(),
            thread: None,
            duration_ms: 0,
            accessed: 0,
            extracted: 1,
        },
        at: "2026-11-15T10:00:00Z".parse().unwrap(),
    }
}

fn with_changes(mut outcome: RunOutcome, change: impl FnOnce(&mut RunClosed)) -> RunOutcome {
    change(&mut outcome.closed);
    outcome
}

fn run_with_strategy(name: &str, quality_milli: u16) -> RunOutcome {
    with_changes(run_ended_today(Ended::Succeeded), |it| {
        it.strategy = Some(name.parse().unwrap());
        it.quality_milli = Some(quality_milli);
    })
}

fn run_with_cost(micros: u64) -> RunOutcome {
    with_changes(run_ended_today(Ended::Succeeded), |it| {
        it.cost_micros = micros;
    })
}

fn apply_rule_to_runs(rule: HealthRule, outcomes: Vec<RunOutcome>) -> Vec<HealthInsight> {
    rule.evaluate(&facts_with_runs(outcomes))
}

fn facts_with_runs(outcomes: Vec<RunOutcome>) -> HealthFacts {
    HealthFacts {
        outcomes,
        ..health_facts(Vec::new())
    }
}

/// Adds runs that rules 8 to 11 report.
pub(crate) fn add_poor_runs(facts: &mut HealthFacts) {
    let long = || {
        with_changes(run_with_strategy("slow", 100), |it| {
            it.rounds = 10;
            it.cost_micros = 2_000_000;
            it.extracted = 0;
        })
    };
    facts.outcomes = vec![
        long(),
        long(),
        long(),
        run_with_cost(1_000_000),
        run_with_cost(9_000_000),
    ];
    facts
        .outcomes
        .extend([900, 900, 900].map(|it| run_with_strategy("fast", it)));
}

#[test]
fn a_strategy_more_than_15_percent_below_the_best_is_told_once_both_ran_three_times() {
    let poor = |quality, runs| {
        let mut all = vec![run_with_strategy("best", 1000); 3];
        all.extend(vec![run_with_strategy("other", quality); runs]);
        apply_rule_to_runs(HealthRule::StrategyEfficiency, all)
    };
    assert_eq!(poor(850, 3), []);
    let found = poor(849, 3);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, InsightSeverity::Info);
    assert!(found[0].what.contains("`other` averages"));
    assert_eq!(poor(849, 2), [], "twice is not often enough");
    let ended = |ago: u32| {
        let at = days_ago(ago).start();
        let all = [("best", 1000), ("other", 849)].into_iter();
        let all = all.flat_map(|(name, quality)| vec![run_with_strategy(name, quality); 3]);
        let all = all.map(|it| RunOutcome { at, ..it }).collect();
        apply_rule_to_runs(HealthRule::StrategyEfficiency, all).len()
    };
    assert_eq!((ended(90), ended(91)), (1, 0), "the last 90 days count");
    let rarely_best = [
        vec![run_with_strategy("best", 1000); 2],
        vec![run_with_strategy("other", 100); 3],
    ];
    assert_eq!(
        apply_rule_to_runs(HealthRule::StrategyEfficiency, rarely_best.concat()),
        []
    );
}

#[test]
fn two_runs_of_ten_rounds_below_40_percent_are_told() {
    let long = |rounds, quality_milli| {
        with_changes(run_ended_today(Ended::Succeeded), |it| {
            it.rounds = rounds;
            it.quality_milli = Some(quality_milli);
        })
    };
    let rule = HealthRule::DiminishingRounds;
    let found = apply_rule_to_runs(rule, vec![long(10, 399), long(11, 0)]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, InsightSeverity::Attention);
    assert_eq!(apply_rule_to_runs(rule, vec![long(10, 399)]), [], "once");
    assert_eq!(
        apply_rule_to_runs(rule, vec![long(10, 399), long(9, 399)]),
        [],
        "short"
    );
    assert_eq!(
        apply_rule_to_runs(rule, vec![long(10, 399), long(10, 400)]),
        [],
        "good"
    );
}

#[test]
fn a_run_that_cost_more_than_two_and_a_half_medians_is_told_from_five_runs_on() {
    let rule = HealthRule::CostOutlier;
    let with_one = |last, usual: usize| {
        let mut all = vec![run_with_cost(100); usual];
        all.push(run_with_cost(last));
        apply_rule_to_runs(rule, all)
    };
    assert_eq!(with_one(250, 4), []);
    let found = with_one(251, 4);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, InsightSeverity::Info);
    assert_eq!(with_one(251, 3), [], "four runs have no median yet");
    let untold = vec![
        run_with_cost(0),
        run_with_cost(100),
        run_with_cost(100),
        run_with_cost(100),
        run_with_cost(900),
    ];
    assert_eq!(
        apply_rule_to_runs(rule, untold),
        [],
        "nobody said what the first cost"
    );
}

#[test]
fn more_than_30_percent_of_spend_on_successes_that_left_nothing_is_told() {
    let rule = HealthRule::KnowledgeRoi;
    let silent = |micros| with_changes(run_with_cost(micros), |it| it.extracted = 0);
    assert_eq!(
        apply_rule_to_runs(rule, vec![silent(300), run_with_cost(700)]),
        []
    );
    let found = apply_rule_to_runs(rule, vec![silent(301), run_with_cost(699)]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, InsightSeverity::Attention);
    let command = found[0].command.as_deref().unwrap();
    assert!(command.starts_with("ken capture --problem "));
    let failed = with_changes(silent(900), |it| it.outcome = Ended::Failed);
    assert_eq!(
        apply_rule_to_runs(rule, vec![failed, run_with_cost(100)]),
        [],
        "failures teach otherwise"
    );
    assert_eq!(
        apply_rule_to_runs(rule, vec![silent(0)]),
        [],
        "nothing was spent"
    );
}

#[test]
fn what_ended_long_ago_or_was_maintenance_or_given_up_does_not_count() {
    let rule = HealthRule::KnowledgeRoi;
    let silent = || with_changes(run_with_cost(900), |it| it.extracted = 0);
    let on = |ago: u32| RunOutcome {
        at: days_ago(ago).start(),
        ..silent()
    };
    assert_eq!(apply_rule_to_runs(rule, vec![on(90)]).len(), 1);
    assert_eq!(apply_rule_to_runs(rule, vec![on(91)]), []);
    let own = with_changes(silent(), |it| {
        it.strategy = Some("maintenance/dedup".parse().unwrap());
    });
    assert_eq!(apply_rule_to_runs(rule, vec![own]), []);
    let abandoned = with_changes(silent(), |it| it.outcome = Ended::Abandoned);
    assert_eq!(apply_rule_to_runs(rule, vec![abandoned]), []);
}

/// Returns an entry that helped on `days` days, the first of them `span` days ago.
fn entry_that_helped(days: u32, span: u32) -> Entry {
    let [mut entry] = add_entries(["Charging twice is safe"]);
    let tally = BetaTally {
        alpha_milli: 1000,
        beta_milli: 0,
    };
    let on = |it: u32| (days_ago(span - it), tally);
    entry.tallies.days = (0..days).map(on).collect();
    entry
}

#[test]
fn recommends_another_decay_where_an_entry_lasts_or_fails() {
    let told = |entry: Entry, errors: u64| {
        let id = entry.id;
        let mut facts = health_facts(vec![entry]);
        facts.errors.insert(id, errors);
        let mut found = HealthRule::Evaporation.evaluate(&facts);
        found
            .pop()
            .map(|it| it.command.unwrap().replace(&id.to_string(), "ID"))
    };
    let stable = Some("ken edit ID --decay stable".to_owned());
    assert_eq!(told(entry_that_helped(5, 34), 0), stable);
    assert_eq!(told(entry_that_helped(4, 34), 0), None, "on four days");
    assert_eq!(told(entry_that_helped(5, 33), 0), None, "for 33 days");
    let mut durable = entry_that_helped(5, 34);
    durable.content.as_mut().unwrap().decay = DecayClass::Permanent;
    assert_eq!(told(durable.clone(), 4), None);
    let ephemeral = Some("ken edit ID --decay ephemeral".to_owned());
    assert_eq!(told(durable, 5), ephemeral);
}

/// Returns twelve entries, the first of which were used on this many days each.
fn entries_with_use(uses: &[u32]) -> HealthFacts {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let mut known = add_entries(names);
    for (entry, days) in known.iter_mut().zip(uses) {
        entry.tallies.days = entry_that_helped(*days, 30).tallies.days;
    }
    health_facts(known.into())
}

#[test]
fn recommends_to_explore_where_the_same_few_entries_are_used() {
    let told = |facts: &HealthFacts| HealthRule::Branching.evaluate(facts);
    // Three entries used equally count as three; with less even use they count as fewer.
    assert_eq!(told(&entries_with_use(&[4, 4, 4])), []);
    let found = told(&entries_with_use(&[5, 4, 4]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, InsightSeverity::Info);
    assert_eq!(
        found[0].command.as_deref(),
        Some(
            "ken config weights set semantic=0.33 thompson=0.30 freshness=0.15 status=0.10 thread=0.07 cooccurrence=0.05"
        )
    );
    assert_eq!(told(&entries_with_use(&[9])), [], "nine uses say nothing");
    assert_eq!(told(&entries_with_use(&[10])).len(), 1);
    let mut few = entries_with_use(&[10]);
    few.entries.truncate(9);
    assert_eq!(told(&few), [], "there is nothing else to choose from");
}

fn maintenance_run(category: MaintenanceCategory, outcome: Ended) -> RunOutcome {
    let strategy = format!("maintenance/{category}");
    with_changes(run_ended_today(outcome), |it| {
        it.strategy = Some(strategy.parse().unwrap());
    })
}

#[test]
fn recommends_autonomy_that_was_earned_and_takes_it_back() {
    let command = |policy: MaintenancePolicy, good: usize, bad: usize| {
        let mut outcomes =
            vec![maintenance_run(MaintenanceCategory::Dedup, Ended::Succeeded); good];
        outcomes.extend(vec![
            maintenance_run(
                MaintenanceCategory::Dedup,
                Ended::Failed
            );
            bad
        ]);
        let facts = HealthFacts {
            policy,
            ..facts_with_runs(outcomes)
        };
        let found = HealthRule::EarnedAutonomy.evaluate(&facts).pop();
        found.and_then(|it| it.command)
    };
    let suggest = MaintenancePolicy::default();
    let more = "ken health maintain policy --mode auto_notify --auto dedup";
    assert_eq!(command(suggest.clone(), 4, 0), None);
    assert_eq!(command(suggest.clone(), 5, 0).as_deref(), Some(more));
    assert_eq!(command(suggest.clone(), 9, 1), None);
    let auto = suggest.with_allowed(MaintenanceCategory::Dedup);
    assert_eq!(command(auto.clone(), 9, 1), None);
    let less = "ken health maintain policy --mode suggest";
    assert_eq!(command(auto, 9, 2).as_deref(), Some(less));
    let all = MaintenancePolicy {
        mode: MaintenanceMode::Autonomous,
        ..MaintenancePolicy::default()
    };
    let others = "ken health maintain policy --mode auto_notify --auto stale_sweep,contradiction,distillation,forage";
    assert_eq!(command(all, 0, 2).as_deref(), Some(others));
}

#[test]
fn performance_insights_recommend_and_change_nothing() {
    let mut facts = health_facts(Vec::new());
    add_poor_runs(&mut facts);
    let before = facts.clone();
    for rule in [
        HealthRule::StrategyEfficiency,
        HealthRule::DiminishingRounds,
        HealthRule::CostOutlier,
        HealthRule::KnowledgeRoi,
    ] {
        for insight in rule.evaluate(&facts) {
            assert_eq!(insight.category, "performance");
            assert_ne!(insight.severity, InsightSeverity::ActionRequired);
        }
    }
    assert_eq!(facts.outcomes, before.outcomes);
    assert_eq!(
        (facts.weights, &facts.policy),
        (RankingWeights::default(), &before.policy)
    );
}

#[test]
fn three_failures_in_a_row_escalate_and_a_success_ends_the_row() {
    let in_thread = |outcome| {
        with_changes(run_ended_today(outcome), |it| {
            it.thread = Some("pay".parse().unwrap());
        })
    };
    let failed = || in_thread(Ended::Failed);
    assert_eq!(escalations(&facts_with_runs(vec![failed(), failed()])), []);
    let found = escalations(&facts_with_runs(vec![
        failed(),
        failed(),
        run_ended_today(Ended::Succeeded),
        failed(),
    ]));
    assert_eq!(found.len(), 1, "another thread's success is none of theirs");
    assert_eq!(
        found[0].what,
        "the last 3 runs in thread `pay` failed; a person should investigate"
    );
    let mended = vec![failed(), failed(), failed(), in_thread(Ended::Succeeded)];
    assert_eq!(escalations(&facts_with_runs(mended)), []);
}

#[test]
fn outcomes_are_summed_up_and_recommend_the_best_strategy() {
    let mut facts = health_facts(Vec::new());
    add_poor_runs(&mut facts);
    let all = summarize_outcomes(&facts);
    assert_eq!((all.runs, all.succeeded, all.failed), (8, 8, 0));
    assert_eq!((all.cost_micros, all.extracted), (16_000_000, 5));
    let found = recommendations(&facts);
    assert_eq!(found.len(), 1);
    assert!(
        found[0]
            .what
            .starts_with("`fast` has the best outcomes here (quality 0.90)")
    );
    let failed = with_changes(run_ended_today(Ended::Failed), |it| it.accessed = 1);
    let good = with_changes(run_ended_today(Ended::Succeeded), |it| it.accessed = 1);
    let found = recommendations(&facts_with_runs(vec![failed.clone(), good, failed]));
    assert_eq!(found[0].command, "ken health impact");
    assert_eq!(
        recommendations(&facts_with_runs(vec![run_ended_today(Ended::Succeeded)])),
        []
    );
}

#[test]
fn a_limit_trips_when_it_is_reached_and_not_before() {
    let limits = HealthThresholds::from_json(r#"{"friction_week": 3}"#).unwrap();
    let counts = |friction_week| HealthCounts {
        friction_week,
        ..HealthCounts::default()
    };
    assert_eq!(limits.tripped(&counts(2)), []);
    let tripped = limits.tripped(&counts(3));
    assert_eq!(tripped.len(), 1);
    assert_eq!(tripped[0].threshold, "friction_week");
    assert_eq!((tripped[0].limit, tripped[0].found), (3, 3));
    assert_eq!(tripped[0].command, "ken health friction report");
}

#[test]
fn limits_are_read_strictly() {
    let read = HealthThresholds::from_json;
    assert_eq!(read("{}").unwrap(), HealthThresholds::default());
    assert_eq!(
        read(r#"{"schema":"ken.health_thresholds.v1"}"#).unwrap(),
        HealthThresholds::default()
    );
    assert!(matches!(
        read(r#"{"fricton": 3}"#),
        Err(HealthThresholdsError::Form(_))
    ));
    assert!(matches!(
        read(r#"{"attention": -1}"#),
        Err(HealthThresholdsError::Form(_))
    ));
    assert_eq!(
        read(r#"{"attention": 0}"#),
        Err(HealthThresholdsError::Zero("attention"))
    );
    let other = r#"{"schema":"ken.health_thresholds.v9"}"#;
    assert!(matches!(read(other), Err(HealthThresholdsError::Schema(_))));
}
