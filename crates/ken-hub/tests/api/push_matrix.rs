//! Authority matrix of a push: every event type × token × author × entry, from one table.
//!
//! The event types come from `ken-core`. A type without a row fails the test, and so does a row
//! without a type, so every new event type must state here what it decides.

use std::collections::BTreeSet;

use ken_core::ledger::event::{
    Confirmed, EVENT_TYPES, EventBody, EventSubject, FrictionRecorded, Origin, Provenance,
    RecordedEvent,
};
use ken_core::values::content::FrictionType;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_hub::ids::Role;
use ken_testkit::any_event::seal;
use ken_testkit::build::EventWriter;
use serde_json::{Value, json};

use crate::hub::ApiHubEnvironment;

/// What an event of the table does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Adds something; agents may push it in their own name.
    Adds,
    /// Adds something that only clones of people contain.
    Reports,
    /// Changes the content of its entry; agents may push it in their own name.
    Edits,
    /// Changes the content of its entry and decides about another.
    Merges,
    /// Decides in the name of its author.
    Decides,
    /// Decides in the name of its author, whose run may have decided, too.
    Verifies,
    /// Decides what others see or trust.
    Reviews,
    /// Redacts an event.
    Redacts,
    /// Approves, which programs cannot even claim.
    Approves,
}

use Effect::{Adds, Approves, Decides, Edits, Merges, Redacts, Reports, Reviews, Verifies};

/// Every event type with its effect.
pub(crate) const EFFECTS: &[(&str, Effect)] = &[
    ("entry.proposed", Adds),
    ("entry.revised", Edits),
    ("entry.cited", Adds),
    ("entry.confirmed", Decides),
    ("entry.status_changed", Verifies),
    ("entry.scope_changed", Decides),
    ("entry.archived", Decides),
    ("entry.restored", Decides),
    ("entry.retracted", Decides),
    ("entry.merged", Merges),
    ("entry.superseded", Decides),
    ("entry.linked", Adds),
    ("entry.reanchored", Edits),
    ("quarantine.lifted", Reviews),
    ("overlay.set", Decides),
    ("pair.dismissed", Decides),
    ("contradiction.flagged", Adds),
    ("contradiction.resolved", Decides),
    ("run.closed", Reports),
    ("run.effects", Reports),
    ("feedback.given", Adds),
    ("retrieval.missed", Adds),
    ("friction.recorded", Adds),
    ("approval.granted", Approves),
    ("origin.revoked", Reviews),
    ("config.changed", Reviews),
    ("confidence.reset", Decides),
    ("event.blanked", Redacts),
    ("knowledge.distilled", Reports),
    ("peer.trust_changed", Reviews),
    ("forage.requested", Reports),
    ("forage.completed", Reports),
    ("domain.strategy_changed", Reports),
    ("domain.overridden", Reviews),
    ("handoff.written", Adds),
    ("handoff.taken", Adds),
    ("run.observed", Reports),
];

/// A token of the matrix: its role and actor.
pub(crate) const TOKENS: [(Role, &str); 6] = [
    (Role::Reader, "agent:tester"),
    (Role::Agent, "agent:tester"),
    (Role::Member, "human:mel@example.org"),
    (Role::Curator, "human:cora@example.org"),
    (Role::Admin, "human:ada@example.org"),
    (Role::Curator, "ci:main"),
];

/// Authors beside the token's own actor: another person and another program.
const OTHERS: [&str; 2] = ["human:zoe@example.org", "agent:other"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Forbidden,
    Refused,
    Admitted,
    /// Waits for a person.
    Waits,
}

/// Entries and events of one case.
pub(crate) struct Targets {
    /// The entry that the event is about, and another one.
    pub(crate) entry: EntryId,
    pub(crate) other: EntryId,
    /// An event of the pusher.
    pub(crate) own_event: EventId,
}

fn body(name: &str, by: &str, at: &Targets) -> Value {
    let (entry, other) = (at.entry.to_string(), at.other.to_string());
    let origin = by.split(':').next().filter(|it| *it != "human");
    let mut body = match name {
        "entry.revised" => {
            json!({"changes": {"verify": ["make drill"]}, "replaces": [], "channel": "command"})
        }
        "entry.cited" => {
            json!({"citation": {"evidence_type": "pr", "evidence_ref": "7", "cited_by": by, "cited_at": 1}})
        }
        "entry.confirmed" => json!({"provenance": "manual", "on": "2026-01-02"}),
        "entry.status_changed" => json!({"to": "verified", "replaces": []}),
        "entry.scope_changed" => json!({"to": "global", "replaces": []}),
        "entry.archived" => json!({"because": "manual"}),
        "entry.restored" => json!({"undoes": []}),
        "entry.retracted" => json!({"reason": "obsolete", "channel": "command"}),
        "entry.merged" => json!({"target": entry, "sources": [other], "strategy": "keep_target",
            "changes": {"tags": ["merged"]}, "replaces": []}),
        "entry.superseded" => json!({"old": entry, "new": other}),
        "entry.linked" => json!({"to": other, "rel": "relates_to"}),
        "entry.reanchored" => json!({"evidence": [], "replaces": []}),
        "quarantine.lifted" => json!({"lifts": [], "reason": "reviewed"}),
        "overlay.set" => json!({"overlay": "pin", "state": "on", "replaces": []}),
        "pair.dismissed" => json!({"first": entry, "second": other, "as_what": "duplicate"}),
        "contradiction.flagged" => json!({"first": entry, "second": other, "why": "they disagree"}),
        "contradiction.resolved" => {
            json!({"first": entry, "second": other, "keep": "both", "flags": []})
        }
        "run.closed" => json!({"run": "r1", "outcome": "succeeded", "rounds": 1, "cost_micros": 0,
            "agents": [], "duration_ms": 0, "accessed": 0, "extracted": 0}),
        "run.effects" => json!({"run": "r1", "effects": [
            {"entry": entry, "alpha_milli": 0, "beta_milli": 0, "shown": 0, "blind": 0}]}),
        "feedback.given" => json!({"verdict": "helpful", "weight_milli": 500}),
        "retrieval.missed" => json!({"query": "refunds", "top_milli": 1}),
        "friction.recorded" => json!({"friction": "redo", "context": {}}),
        "approval.granted" => {
            json!({"entry": entry, "artifact": "b3:00", "covers": ["01JCPQ3W6M7Y2K8T4D5F6G7H8J"]})
        }
        "origin.revoked" => json!({"source": "peer:nobody", "state": "on", "replaces": []}),
        "config.changed" => json!({"key": "decay/runs", "value": 10, "replaces": []}),
        "confidence.reset" => json!({"reason": "stuck"}),
        "event.blanked" => json!({"event": at.own_event.to_string(), "reason": "other"}),
        "knowledge.distilled" => json!({"entry": entry, "sources": [], "cluster_weight_milli": 0}),
        "peer.trust_changed" => json!({"peer": "peer:x", "alpha_milli": 1, "beta_milli": 1}),
        "forage.requested" => json!({"mode": "reactive", "reason": "a gap"}),
        "forage.completed" => {
            json!({"request": at.own_event.to_string(), "fetched": 0, "admitted": 0,
            "rejected": 0, "duration_ms": 0})
        }
        "domain.strategy_changed" => {
            json!({"domain": "example.org", "strategy": "feed", "replaces": []})
        }
        "domain.overridden" => json!({"domain": "example.org", "action": "trust", "replaces": []}),
        "handoff.written" => {
            json!({"branch": "main", "unfinished": ["the refunds"], "tried": [], "open": []})
        }
        "handoff.taken" => json!({"handoff": at.own_event.to_string()}),
        "run.observed" => json!({"run": "r1", "observer": "hooks", "prompts": 2, "corrections": 1,
            "test_runs": 2, "tests_passed_at": 2, "commits": ["0123456789ab"], "merged": true,
            "reverted": false, "ci": "passed",
            "assigned": [{"entry": entry, "arm": "shown", "propensity_milli": 100}]}),
        other => panic!("{other} has no sample"),
    };
    let edits = ["entry.revised", "entry.reanchored", "entry.merged"];
    if let (true, Some(origin)) = (edits.contains(&name), origin) {
        body["origin"] = json!(origin);
    }
    body
}

/// Writes an event of a type by its name.
fn sample(scribe: &mut EventWriter, name: &str, by: &str, at: &Targets) -> RecordedEvent {
    scribe.by(by);
    if name == "entry.proposed" {
        let said = format!("Refunds of case {} need a receipt", scribe.now);
        let origin: Origin = by
            .split(':')
            .next()
            .expect("a role")
            .parse()
            .expect("an origin");
        return scribe
            .propose_with(EntryKind::Learning, &said, |it| it.origin = origin)
            .1;
    }
    let placeholder = EventBody::FrictionRecorded(FrictionRecorded {
        friction: FrictionType::Redo,
        context: json!({}),
    });
    let about = vec![EventSubject::Entry(at.entry)];
    let written = scribe.write(about, placeholder);
    let mut envelope: Value = serde_json::from_str(written.line()).expect("JSON");
    envelope["type"] = json!(name);
    envelope["data"]["body"] = body(name, by, at);
    let pairs = [
        "entry.merged",
        "entry.superseded",
        "entry.linked",
        "pair.dismissed",
    ];
    if pairs.contains(&name) || name.starts_with("contradiction.") {
        envelope["about"] = json!([at.entry.to_string(), at.other.to_string()]);
    }
    let copy = RecordedEvent::parse(seal(envelope).as_bytes()).expect("an event");
    assert_eq!(copy.event.body.type_name(), name);
    let is_known = !matches!(copy.event.body, EventBody::Unknown { .. });
    assert!(
        is_known && copy.event.unknown_fields == 0,
        "{name}: {}",
        copy.line()
    );
    copy
}

/// Returns what the rules demand, from the documentation and not from the code.
pub(crate) fn expected(
    token: (Role, &str),
    effect: Effect,
    by: &str,
    is_protected: bool,
) -> Expected {
    use Expected::{Admitted, Forbidden, Refused, Waits};
    let (role, actor) = token;
    let (is_own, is_person) = (by == actor, actor.starts_with("human:"));
    let by_person = by.starts_with("human:");
    let edit = match (is_protected, by_person) {
        (true, false) => Waits,
        // Whoever can change what was verified speaks for its author.
        (true, true) if !is_own => Refused,
        (true | false, _) => Admitted,
    };
    match (role, effect) {
        (Role::Reader, _) => Forbidden,
        (Role::Agent, Adds) if is_own => Admitted,
        (Role::Agent, Edits) if is_own => edit,
        (Role::Agent, _) => Refused,
        (_, Adds | Reports) => Admitted,
        (_, Edits) => edit,
        // In a person's name: only that person.
        (_, _) if by_person && !is_own => Refused,
        (_, Decides | Verifies) if by_person => Admitted,
        (_, Merges) if by_person => Admitted,
        (Role::Member, Redacts) if by_person => Admitted,
        (Role::Curator | Role::Admin, Reviews | Redacts | Approves) if by_person => Admitted,
        (_, Approves) | (Role::Member, _) => Refused,
        // In a program's name: a person with the role curator vouches for it.
        (_, Merges) if is_person || is_own => edit,
        (_, Decides) if is_person || is_own => Admitted,
        (_, Verifies | Reviews | Redacts) if is_person => Admitted,
        (_, _) => Refused,
    }
}

/// Pushes fresh entries: one by an agent without a verification, and one that Ada wrote and
/// verified.
pub(crate) fn fresh_targets(
    hub: &ApiHubEnvironment,
    scribe: &mut EventWriter,
    own: EventId,
) -> [Targets; 2] {
    let mut copies = Vec::new();
    let mut entries = Vec::new();
    for (by, n) in [
        ("agent:other", 0),
        ("agent:other", 1),
        ("human:ada@example.org", 2),
    ] {
        scribe.by(by);
        let said = format!("Entry {n} of {} has to be read twice", scribe.now);
        let origin = if n < 2 { Origin::Agent } else { Origin::Human };
        let (id, copy) = scribe.propose_with(EntryKind::Learning, &said, |it| it.origin = origin);
        entries.push(id);
        copies.push(copy);
    }
    let confirmed = Confirmed {
        provenance: Provenance::Manual,
        on: "2026-01-02".parse().expect("a date"),
        run: None,
        withdraws: Vec::new(),
    };
    copies.push(scribe.about(entries[2], EventBody::Confirmed(confirmed)));
    let answer = hub.push(&hub.acme, &hub.acme.admin, &copies);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!answer.text().contains("refused"), "{}", answer.text());
    [entries[0], entries[2]].map(|entry| Targets {
        entry,
        other: entries[1],
        own_event: own,
    })
}

/// Pushes an event that `actor` wrote, as the target of redactions.
pub(crate) fn push_own_event(
    hub: &ApiHubEnvironment,
    scribe: &mut EventWriter,
    actor: &str,
) -> EventId {
    scribe.by(actor);
    let friction = FrictionRecorded {
        friction: FrictionType::Redo,
        context: json!({}),
    };
    let own = scribe.write(Vec::new(), EventBody::FrictionRecorded(friction));
    hub.push(&hub.acme, &hub.acme.admin, std::slice::from_ref(&own));
    own.event.id
}

#[test]
fn every_event_type_has_a_row_and_every_row_a_type() {
    let rows: BTreeSet<&str> = EFFECTS.iter().map(|(name, _)| *name).collect();
    let types: BTreeSet<&str> = EVENT_TYPES.iter().copied().collect();
    assert_eq!(rows, types);
    assert_eq!(rows.len(), EFFECTS.len(), "a row stands twice");
}

#[test]
fn tokens_times_event_types_times_authors_times_entries() {
    let hub = ApiHubEnvironment::start();
    let mut scribe = EventWriter::new(28);
    scribe.now = hub.app.clock.now();
    let mut wrong = Vec::new();
    for (role, actor) in TOKENS {
        let token = hub.token_of(role, actor);
        let own = push_own_event(&hub, &mut scribe, actor);
        for (name, effect) in EFFECTS {
            for by in [actor, OTHERS[0], OTHERS[1]] {
                let targets = fresh_targets(&hub, &mut scribe, own);
                for (is_protected, at) in [false, true].into_iter().zip(&targets) {
                    let copy = sample(&mut scribe, name, by, at);
                    let answer = hub.push(&hub.acme, &token, &[copy]);
                    let told = answer.json();
                    let found = match (answer.status, told["events"][0]["verdict"].as_str()) {
                        (403, _) => Expected::Forbidden,
                        (_, Some("admitted")) => Expected::Admitted,
                        (_, Some("quarantined")) => Expected::Waits,
                        (_, Some("refused")) => Expected::Refused,
                        other => panic!("{name} {role} {by}: {other:?} {told}"),
                    };
                    let expected = expected((role, actor), *effect, by, is_protected);
                    if found != expected {
                        let reason = told["events"][0]["reason"].as_str().unwrap_or_default();
                        wrong.push(format!(
                            "{name} by {by} with {role} {actor}, protected {is_protected}: {found:?}, not {expected:?} {reason}"
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
