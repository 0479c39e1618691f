//! Query cases: entries by id, alias, filter and clock reading.

use ken_core::ledger::event::{
    ArchiveReason, Archived, Channel, EventBody, Proposed, RetractReason, Retracted, StatusChanged,
};
use ken_core::ledger::store::{DerivedStore, EntryFilter, LifecycleFilter};
use ken_core::values::hlc::Hlc;
use ken_core::values::id::EntryId;
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::status::EntryStatus;

use super::{ConformanceCase, StoreScenario};

pub(super) fn cases<S: DerivedStore>() -> Vec<ConformanceCase<S>> {
    vec![
        an_entry_is_found_by_the_beginning_of_its_id,
        an_entry_is_found_by_its_alias,
        an_ambiguous_beginning_lists_candidates,
        lists_are_newest_first,
        every_filter_says_what_it_wants,
        shelves_are_kept_apart,
        the_latest_reading_has_a_limit,
    ]
}

fn an_entry_is_found_by_the_beginning_of_its_id<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let entry = scenario.propose("Charging twice is safe");
    scenario.propose("Another one");
    let id = entry.to_string();
    // With and without the kind letter, in any case.
    for beginning in [
        id.clone(),
        id[..6].to_owned(),
        id[2..].to_owned(),
        id[2..6].to_owned(),
        id.to_lowercase(),
        id.to_uppercase(),
    ] {
        assert_eq!(scenario.found(&beginning), [entry], "{beginning}");
    }
    let (absent, _) = scenario.scribe.propose("Never told");
    // `%` and `_` are wildcards of SQL `LIKE` and must not match anything.
    for nothing in [
        "",
        "-",
        "L-%",
        "L_",
        "x-1",
        "L-00000000",
        "日本",
        &absent.to_string(),
    ] {
        assert_eq!(scenario.found(nothing), [], "{nothing}");
    }
}

fn an_entry_is_found_by_its_alias<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let named = |scenario: &mut StoreScenario<S>, alias: &str| {
        let (entry, copy) =
            scenario
                .scribe
                .propose_with(EntryKind::CommitNorm, "Say why", |data| {
                    data.alias = Some(alias.parse().expect("an alias"));
                });
        scenario.tell(copy);
        entry
    };
    let norm = named(scenario, "norm.commit.001");
    assert_eq!(scenario.found("norm.commit.001"), [norm]);
    assert_eq!(scenario.found("norm.commit"), [], "an alias is given whole");
    assert_eq!(
        scenario.found("Norm.commit.001"),
        [],
        "and as it is written"
    );
    let again = named(scenario, "norm.commit.001");
    let mut both = scenario.found("norm.commit.001");
    both.sort();
    let mut wanted = vec![norm, again];
    wanted.sort();
    assert_eq!(both, wanted);
    named(scenario, &norm.to_string());
    assert_eq!(
        scenario.found(&norm.to_string()),
        [norm],
        "no alias hides an id"
    );
    scenario.assert_matches_fold();
}

fn an_ambiguous_beginning_lists_candidates<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let mut ids: Vec<String> = (0..30)
        .map(|n| scenario.propose(&format!("Lesson {n}")).to_string())
        .collect();
    ids.sort();
    let found: Vec<String> = scenario
        .found("L")
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found, ids[..20]);
    assert_eq!(scenario.found("l-").len(), 20);
}

fn listed_ids<S: DerivedStore>(scenario: &StoreScenario<S>, filter: &EntryFilter) -> Vec<EntryId> {
    let entries = scenario.store.list(filter).expect("answers");
    for entry in &entries {
        assert!(filter.matches(entry));
    }
    entries.iter().map(|entry| entry.id).collect()
}

fn lists_are_newest_first<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let newer = scenario.propose("Newer");
    scenario.scribe.at("2025-01-01T00:00:00Z");
    let older = scenario.propose("Older, told later");
    let mut filter = EntryFilter::default();
    assert_eq!(listed_ids(scenario, &filter), [newer, older]);
    filter.limit = Some(1);
    assert_eq!(listed_ids(scenario, &filter), [newer]);
    filter.limit = Some(0);
    assert_eq!(listed_ids(scenario, &filter), []);
}

fn every_filter_says_what_it_wants<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let mut proposed_as = |kind: EntryKind, change: &dyn Fn(&mut Proposed)| {
        let (entry, copy) = scenario
            .scribe
            .propose_with(kind, "A claim", |data| change(data));
        scenario.tell(copy);
        entry
    };
    let tag = |text: &str| text.parse().expect("a tag");
    let bug = proposed_as(EntryKind::Bug, &|data| {
        data.content.tags.insert(tag("auth/jwt"));
        data.content.tags.insert(tag("auth"));
        data.content.lens = Some(tag("security"));
    });
    // `auth` includes `auth/jwt`, but none of these three.
    let norm = proposed_as(EntryKind::PrExpectation, &|data| {
        data.content.tags.insert(tag("authority"));
        data.content.tags.insert(tag("auth0"));
        data.content.tags.insert(tag("auth-x"));
    });
    let friction = proposed_as(EntryKind::Friction, &|data| {
        data.content.tags.insert(tag("auth/größe"));
        data.status = EntryStatus::Active;
    });
    let mut filters = vec![(EntryFilter::default(), vec![friction, norm, bug])];
    let mut want = |entries: &[EntryId], change: &dyn Fn(&mut EntryFilter)| {
        let mut filter = EntryFilter::default();
        change(&mut filter);
        filters.push((filter, entries.to_vec()));
    };
    want(&[bug], &|f| f.memory = Some(Memory::Semantic));
    want(&[norm], &|f| f.memory = Some(Memory::Procedural));
    want(&[friction], &|f| f.kind = Some(EntryKind::Friction));
    want(&[friction], &|f| f.status = Some(EntryStatus::Active));
    want(&[friction, bug], &|f| f.tag = Some(tag("auth")));
    want(&[bug], &|f| f.tag = Some(tag("auth/jwt")));
    want(&[bug], &|f| f.lens = Some(tag("security")));
    want(&[friction, bug], &|f| {
        f.kinds = vec![EntryKind::Bug, EntryKind::Friction];
    });
    want(&[norm, bug], &|f| {
        f.tags = vec![tag("auth0"), tag("auth/jwt")];
    });
    want(&[bug], &|f| {
        f.kinds = vec![EntryKind::Bug, EntryKind::PrExpectation];
        f.tags = vec![tag("auth")];
    });
    want(&[friction], &|f| {
        f.tag = Some(tag("auth"));
        f.memory = Some(Memory::Episodic);
        f.limit = Some(5);
    });
    for (filter, wanted) in filters {
        assert_eq!(listed_ids(scenario, &filter), wanted, "{filter:?}");
    }
}

fn shelves_are_kept_apart<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let live = scenario.propose("Live");
    let archived = scenario.propose("Archived");
    let retracted = scenario.propose("Retracted");
    let body = EventBody::Archived(Archived {
        because: ArchiveReason::Age,
        rests_on: None,
    });
    let copy = scenario.scribe.about(archived, body);
    scenario.tell(copy);
    let body = EventBody::Retracted(Retracted {
        reason: RetractReason::Unwanted,
        channel: Channel::Command,
        note: None,
    });
    let copy = scenario.scribe.about(retracted, body);
    scenario.tell(copy);
    // An entry without content appears in no lifecycle filter.
    let (unworded, _) = scenario.scribe.propose("Its proposal never arrives");
    let body = EventBody::StatusChanged(StatusChanged {
        to: EntryStatus::Active,
        replaces: Vec::new(),
        reason: None,
    });
    let copy = scenario.scribe.about(unworded, body);
    scenario.tell(copy);
    let shelves: [(LifecycleFilter, &[EntryId]); 4] = [
        (LifecycleFilter::Live, &[live]),
        (LifecycleFilter::Archived, &[archived]),
        (LifecycleFilter::Retracted, &[retracted]),
        (LifecycleFilter::All, &[retracted, archived, live]),
    ];
    for (shelf, wanted) in shelves {
        let filter = EntryFilter {
            lifecycle: shelf,
            ..EntryFilter::default()
        };
        assert_eq!(listed_ids(scenario, &filter), wanted, "{shelf:?}");
    }
    assert_eq!(scenario.found(&unworded.to_string()), [unworded]);
    scenario.assert_matches_fold();
}

fn the_latest_reading_has_a_limit<S: DerivedStore>(scenario: &mut StoreScenario<S>) {
    let latest =
        |scenario: &StoreScenario<S>, limit| scenario.store.latest(limit).expect("answers");
    let (_, unheard) = scenario.scribe.propose("Never told");
    let limit = |at: Hlc| Hlc {
        wall: at.wall.plus_millis(60_000),
        ..at
    };
    assert_eq!(latest(scenario, unheard.event.at), None);
    scenario.propose("An ordinary clock");
    let ordinary = scenario.events[0].event.at;
    scenario.scribe.at("2099-01-01T00:00:00Z");
    // A clock far ahead must not advance the clocks of other writers.
    scenario.propose("A clock in 2099");
    let far = scenario.events[1].event.at;
    assert_eq!(latest(scenario, limit(ordinary)), Some(ordinary));
    assert_eq!(latest(scenario, ordinary), Some(ordinary));
    assert_eq!(latest(scenario, limit(far)), Some(far));
    scenario.take_back(scenario.events[1].event.id);
    assert_eq!(latest(scenario, limit(far)), Some(ordinary));
}
