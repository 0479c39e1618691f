//! Rules 8 to 14 and what outcomes add up to, each at its boundary and on both sides of it.

use ken_core::content::DecayClass;
use ken_core::entry::{Entry, Tally};
use ken_core::event::{Outcome as Ended, RunClosed};
use ken_core::health::history::{escalations, recommendations, summary};
use ken_core::health::thresholds::{Counts, Thresholds, ThresholdsError};
use ken_core::health::{Facts, Insight, Outcome, Rule, Severity};
use ken_core::maintenance::{Category, Mode, Policy};
use ken_core::score::Weights;

use crate::health::{day, entries, facts};

/// A run that ended today.
fn run(outcome: Ended) -> Outcome {
    Outcome {
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

fn with(mut outcome: Outcome, change: impl FnOnce(&mut RunClosed)) -> Outcome {
    change(&mut outcome.closed);
    outcome
}

fn strategy(name: &str, quality_milli: u16) -> Outcome {
    with(run(Ended::Succeeded), |it| {
        it.strategy = Some(name.parse().unwrap());
        it.quality_milli = Some(quality_milli);
    })
}

fn cost(micros: u64) -> Outcome {
    with(run(Ended::Succeeded), |it| it.cost_micros = micros)
}

fn told(rule: Rule, outcomes: Vec<Outcome>) -> Vec<Insight> {
    rule.look(&work(outcomes))
}

fn work(outcomes: Vec<Outcome>) -> Facts {
    Facts {
        outcomes,
        ..facts(Vec::new())
    }
}

/// Adds work that rules 8 to 11 complain about.
pub(crate) fn add_poor_work(facts: &mut Facts) {
    let long = || {
        with(strategy("slow", 100), |it| {
            it.rounds = 10;
            it.cost_micros = 2_000_000;
            it.extracted = 0;
        })
    };
    facts.outcomes = vec![long(), long(), long(), cost(1_000_000), cost(9_000_000)];
    facts
        .outcomes
        .extend([900, 900, 900].map(|it| strategy("fast", it)));
}

#[test]
fn hlt_13_a_strategy_more_than_15_percent_below_the_best_is_told_once_both_ran_three_times() {
    let poor = |quality, runs| {
        let mut all = vec![strategy("best", 1000); 3];
        all.extend(vec![strategy("other", quality); runs]);
        told(Rule::StrategyEfficiency, all)
    };
    assert_eq!(poor(850, 3), []);
    let found = poor(849, 3);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Info);
    assert!(found[0].what.contains("`other` averages"));
    assert_eq!(poor(849, 2), [], "twice is not often enough");
    let rarely_best = [
        vec![strategy("best", 1000); 2],
        vec![strategy("other", 100); 3],
    ];
    assert_eq!(told(Rule::StrategyEfficiency, rarely_best.concat()), []);
}

#[test]
fn hlt_14_two_runs_of_ten_rounds_below_40_percent_are_told() {
    let long = |rounds, quality_milli| {
        with(run(Ended::Succeeded), |it| {
            it.rounds = rounds;
            it.quality_milli = Some(quality_milli);
        })
    };
    let rule = Rule::DiminishingRounds;
    let found = told(rule, vec![long(10, 399), long(11, 0)]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Attention);
    assert_eq!(told(rule, vec![long(10, 399)]), [], "once");
    assert_eq!(told(rule, vec![long(10, 399), long(9, 399)]), [], "short");
    assert_eq!(told(rule, vec![long(10, 399), long(10, 400)]), [], "good");
}

#[test]
fn hlt_15_a_run_that_cost_more_than_two_and_a_half_medians_is_told_from_five_runs_on() {
    let rule = Rule::CostOutlier;
    let with_one = |last, usual: usize| {
        let mut all = vec![cost(100); usual];
        all.push(cost(last));
        told(rule, all)
    };
    assert_eq!(with_one(250, 4), []);
    let found = with_one(251, 4);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Info);
    assert_eq!(with_one(251, 3), [], "four runs have no median yet");
    let untold = vec![cost(0), cost(100), cost(100), cost(100), cost(900)];
    assert_eq!(told(rule, untold), [], "nobody said what the first cost");
}

#[test]
fn hlt_16_more_than_30_percent_of_spend_on_successes_that_left_nothing_is_told() {
    let rule = Rule::KnowledgeRoi;
    let silent = |micros| with(cost(micros), |it| it.extracted = 0);
    assert_eq!(told(rule, vec![silent(300), cost(700)]), []);
    let found = told(rule, vec![silent(301), cost(699)]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Attention);
    let command = found[0].command.as_deref().unwrap();
    assert!(command.starts_with("ken capture --problem "));
    let failed = with(silent(900), |it| it.outcome = Ended::Failed);
    assert_eq!(
        told(rule, vec![failed, cost(100)]),
        [],
        "failures teach otherwise"
    );
    assert_eq!(told(rule, vec![silent(0)]), [], "nothing was spent");
}

#[test]
fn hlt_13_to_16_what_ended_long_ago_or_was_maintenance_or_given_up_does_not_count() {
    let rule = Rule::KnowledgeRoi;
    let silent = || with(cost(900), |it| it.extracted = 0);
    let on = |ago: u32| Outcome {
        at: day(ago).start(),
        ..silent()
    };
    assert_eq!(told(rule, vec![on(90)]).len(), 1);
    assert_eq!(told(rule, vec![on(91)]), []);
    let own = with(silent(), |it| {
        it.strategy = Some("maintenance/dedup".parse().unwrap());
    });
    assert_eq!(told(rule, vec![own]), []);
    let abandoned = with(silent(), |it| it.outcome = Ended::Abandoned);
    assert_eq!(told(rule, vec![abandoned]), []);
}

/// An entry that helped on some days, the first of them `span` days ago.
fn helpful(days: u32, span: u32) -> Entry {
    let [mut entry] = entries(["Charging twice is safe"]);
    let tally = Tally {
        alpha_milli: 1000,
        beta_milli: 0,
    };
    let on = |it: u32| (day(span - it), tally);
    entry.tallies.days = (0..days).map(on).collect();
    entry
}

#[test]
fn hlt_17_rule_12_recommends_another_decay_where_an_entry_lasts_or_fails() {
    let told = |entry: Entry, errors: u64| {
        let id = entry.id;
        let mut facts = facts(vec![entry]);
        facts.errors.insert(id, errors);
        let mut found = Rule::Evaporation.look(&facts);
        found
            .pop()
            .map(|it| it.command.unwrap().replace(&id.to_string(), "ID"))
    };
    let stable = Some("ken revise ID --decay stable".to_owned());
    assert_eq!(told(helpful(5, 34), 0), stable);
    assert_eq!(told(helpful(4, 34), 0), None, "on four days");
    assert_eq!(told(helpful(5, 33), 0), None, "for 33 days");
    let mut durable = helpful(5, 34);
    durable.content.as_mut().unwrap().decay = DecayClass::Permanent;
    assert_eq!(told(durable.clone(), 4), None);
    let ephemeral = Some("ken revise ID --decay ephemeral".to_owned());
    assert_eq!(told(durable, 5), ephemeral);
}

/// Twelve entries, of which the first few were used on so many days each.
fn used(uses: &[u32]) -> Facts {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let mut known = entries(names);
    for (entry, days) in known.iter_mut().zip(uses) {
        entry.tallies.days = helpful(*days, 30).tallies.days;
    }
    facts(known.into())
}

#[test]
fn hlt_17_rule_13_recommends_to_explore_where_the_same_few_entries_are_used() {
    let told = |facts: &Facts| Rule::Branching.look(facts);
    // Three entries used alike are three; a little less even, and they are fewer.
    assert_eq!(told(&used(&[4, 4, 4])), []);
    let found = told(&used(&[5, 4, 4]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Info);
    assert_eq!(
        found[0].command.as_deref(),
        Some(
            "ken scoring set semantic=0.33 thompson=0.30 freshness=0.15 status=0.10 thread=0.07 cooccurrence=0.05"
        )
    );
    assert_eq!(told(&used(&[9])), [], "nine uses say nothing");
    assert_eq!(told(&used(&[10])).len(), 1);
    let mut few = used(&[10]);
    few.entries.truncate(9);
    assert_eq!(told(&few), [], "there is nothing else to choose from");
}

fn maintained(category: Category, outcome: Ended) -> Outcome {
    let strategy = format!("maintenance/{category}");
    with(run(outcome), |it| {
        it.strategy = Some(strategy.parse().unwrap());
    })
}

#[test]
fn hlt_17_rule_14_recommends_autonomy_that_was_earned_and_takes_it_back() {
    let command = |policy: Policy, good: usize, bad: usize| {
        let mut outcomes = vec![maintained(Category::Dedup, Ended::Succeeded); good];
        outcomes.extend(vec![maintained(Category::Dedup, Ended::Failed); bad]);
        let facts = Facts {
            policy,
            ..work(outcomes)
        };
        let found = Rule::EarnedAutonomy.look(&facts).pop();
        found.and_then(|it| it.command)
    };
    let suggest = Policy::default();
    let more = "ken maintain policy --mode auto_notify --auto dedup";
    assert_eq!(command(suggest.clone(), 4, 0), None);
    assert_eq!(command(suggest.clone(), 5, 0).as_deref(), Some(more));
    assert_eq!(command(suggest.clone(), 9, 1), None);
    let auto = suggest.with(Category::Dedup);
    assert_eq!(command(auto.clone(), 9, 1), None);
    let less = "ken maintain policy --mode suggest";
    assert_eq!(command(auto, 9, 2).as_deref(), Some(less));
    let all = Policy {
        mode: Mode::Autonomous,
        ..Policy::default()
    };
    let others =
        "ken maintain policy --mode auto_notify --auto stale_sweep,contradiction,distillation";
    assert_eq!(command(all, 0, 2).as_deref(), Some(others));
}

#[test]
fn hlt_19_performance_insights_recommend_and_change_nothing() {
    let mut facts = facts(Vec::new());
    add_poor_work(&mut facts);
    let before = facts.clone();
    for rule in [
        Rule::StrategyEfficiency,
        Rule::DiminishingRounds,
        Rule::CostOutlier,
        Rule::KnowledgeRoi,
    ] {
        for insight in rule.look(&facts) {
            assert_eq!(insight.category, "performance");
            assert_ne!(insight.severity, Severity::ActionRequired);
        }
    }
    assert_eq!(facts.outcomes, before.outcomes);
    assert_eq!(
        (facts.weights, &facts.policy),
        (Weights::default(), &before.policy)
    );
}

#[test]
fn hlt_29_three_failures_in_a_row_escalate_and_a_success_ends_the_row() {
    let in_thread = |outcome| with(run(outcome), |it| it.thread = Some("pay".parse().unwrap()));
    let failed = || in_thread(Ended::Failed);
    assert_eq!(escalations(&work(vec![failed(), failed()])), []);
    let found = escalations(&work(vec![
        failed(),
        failed(),
        run(Ended::Succeeded),
        failed(),
    ]));
    assert_eq!(found.len(), 1, "another thread's success is none of theirs");
    assert_eq!(
        found[0].what,
        "the last 3 runs in thread `pay` failed; a person should look"
    );
    let mended = vec![failed(), failed(), failed(), in_thread(Ended::Succeeded)];
    assert_eq!(escalations(&work(mended)), []);
}

#[test]
fn hlt_29_outcomes_are_summed_up_and_recommend_the_best_strategy() {
    let mut facts = facts(Vec::new());
    add_poor_work(&mut facts);
    let all = summary(&facts);
    assert_eq!((all.runs, all.succeeded, all.failed), (8, 8, 0));
    assert_eq!((all.cost_micros, all.extracted), (16_000_000, 5));
    let found = recommendations(&facts);
    assert_eq!(found.len(), 1);
    assert!(
        found[0]
            .what
            .starts_with("`fast` has the best outcomes here (quality 0.90)")
    );
    let failed = with(run(Ended::Failed), |it| it.accessed = 1);
    let good = with(run(Ended::Succeeded), |it| it.accessed = 1);
    let found = recommendations(&work(vec![failed.clone(), good, failed]));
    assert_eq!(found[0].command, "ken lift");
    assert_eq!(recommendations(&work(vec![run(Ended::Succeeded)])), []);
}

#[test]
fn hlt_02_hlt_03_a_limit_trips_when_it_is_reached_and_not_before() {
    let limits = Thresholds::from_json(r#"{"friction_week": 3}"#).unwrap();
    let counts = |friction_week| Counts {
        friction_week,
        ..Counts::default()
    };
    assert_eq!(limits.tripped(&counts(2)), []);
    let tripped = limits.tripped(&counts(3));
    assert_eq!(tripped.len(), 1);
    assert_eq!(tripped[0].threshold, "friction_week");
    assert_eq!((tripped[0].limit, tripped[0].found), (3, 3));
    assert_eq!(tripped[0].command, "ken friction report");
}

#[test]
fn hlt_03_limits_are_read_strictly() {
    let read = Thresholds::from_json;
    assert_eq!(read("{}").unwrap(), Thresholds::default());
    assert_eq!(
        read(r#"{"schema":"ken.health_thresholds.v1"}"#).unwrap(),
        Thresholds::default()
    );
    assert!(matches!(
        read(r#"{"fricton": 3}"#),
        Err(ThresholdsError::Form(_))
    ));
    assert!(matches!(
        read(r#"{"attention": -1}"#),
        Err(ThresholdsError::Form(_))
    ));
    assert_eq!(
        read(r#"{"attention": 0}"#),
        Err(ThresholdsError::Zero("attention"))
    );
    let other = r#"{"schema":"ken.health_thresholds.v9"}"#;
    assert!(matches!(read(other), Err(ThresholdsError::Schema(_))));
}
