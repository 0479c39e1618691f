//! How entries are found: by id, by name, by filter, by clock.

use ken_core::event::{
    ArchiveReason, Archived, Body, Channel, Proposed, RetractReason, Retracted, StatusChanged,
};
use ken_core::hlc::Hlc;
use ken_core::id::EntryId;
use ken_core::kind::{Kind, Memory};
use ken_core::status::Status;
use ken_core::store::{Filter, Shelf, Store};

use super::{Chapter, Told};

pub(super) fn all<S: Store>() -> Vec<Chapter<S>> {
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

fn an_entry_is_found_by_the_beginning_of_its_id<S: Store>(told: &mut Told<S>) {
    let entry = told.propose("Charging twice is safe");
    told.propose("Another one");
    let id = entry.to_string();
    for beginning in [
        id.clone(),
        id[..6].to_owned(),
        id[2..].to_owned(),
        id[2..6].to_owned(),
        id.to_lowercase(),
        id.to_uppercase(),
    ] {
        assert_eq!(told.found(&beginning), [entry], "{beginning}");
    }
    let (absent, _) = told.scribe.propose("Never told");
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
        assert_eq!(told.found(nothing), [], "{nothing}");
    }
}

fn an_entry_is_found_by_its_alias<S: Store>(told: &mut Told<S>) {
    let named = |told: &mut Told<S>, alias: &str| {
        let (entry, copy) = told
            .scribe
            .propose_with(Kind::CommitNorm, "Say why", |data| {
                data.alias = Some(alias.parse().expect("an alias"));
            });
        told.tell(copy);
        entry
    };
    let norm = named(told, "norm.commit.001");
    assert_eq!(told.found("norm.commit.001"), [norm]);
    assert_eq!(told.found("norm.commit"), [], "an alias is given whole");
    assert_eq!(told.found("Norm.commit.001"), [], "and as it is written");
    let again = named(told, "norm.commit.001");
    let mut both = told.found("norm.commit.001");
    both.sort();
    let mut wanted = vec![norm, again];
    wanted.sort();
    assert_eq!(both, wanted);
    named(told, &norm.to_string());
    assert_eq!(
        told.found(&norm.to_string()),
        [norm],
        "no alias hides an id"
    );
    told.ends_as_folded();
}

fn an_ambiguous_beginning_lists_candidates<S: Store>(told: &mut Told<S>) {
    let mut ids: Vec<String> = (0..30)
        .map(|n| told.propose(&format!("Lesson {n}")).to_string())
        .collect();
    ids.sort();
    let found: Vec<String> = told.found("L").iter().map(ToString::to_string).collect();
    assert_eq!(found, ids[..20]);
    assert_eq!(told.found("l-").len(), 20);
}

fn ids<S: Store>(told: &Told<S>, filter: &Filter) -> Vec<EntryId> {
    let entries = told.store.list(filter).expect("answers");
    for entry in &entries {
        assert!(filter.matches(entry));
    }
    entries.iter().map(|entry| entry.id).collect()
}

fn lists_are_newest_first<S: Store>(told: &mut Told<S>) {
    let newer = told.propose("Newer");
    told.scribe.at("2025-01-01T00:00:00Z");
    let older = told.propose("Older, told later");
    let mut filter = Filter::default();
    assert_eq!(ids(told, &filter), [newer, older]);
    filter.limit = Some(1);
    assert_eq!(ids(told, &filter), [newer]);
    filter.limit = Some(0);
    assert_eq!(ids(told, &filter), []);
}

fn every_filter_says_what_it_wants<S: Store>(told: &mut Told<S>) {
    let mut told_as = |kind: Kind, change: &dyn Fn(&mut Proposed)| {
        let (entry, copy) = told
            .scribe
            .propose_with(kind, "A claim", |data| change(data));
        told.tell(copy);
        entry
    };
    let tag = |text: &str| text.parse().expect("a tag");
    let bug = told_as(Kind::Bug, &|data| {
        data.content.tags.insert(tag("auth/jwt"));
        data.content.tags.insert(tag("auth"));
        data.content.lens = Some(tag("security"));
    });
    let norm = told_as(Kind::PrExpectation, &|data| {
        data.content.tags.insert(tag("authority"));
        data.content.tags.insert(tag("auth0"));
        data.content.tags.insert(tag("auth-x"));
    });
    let friction = told_as(Kind::Friction, &|data| {
        data.content.tags.insert(tag("auth/größe"));
        data.status = Status::Active;
    });
    let mut filters = vec![(Filter::default(), vec![friction, norm, bug])];
    let mut want = |entries: &[EntryId], change: &dyn Fn(&mut Filter)| {
        let mut filter = Filter::default();
        change(&mut filter);
        filters.push((filter, entries.to_vec()));
    };
    want(&[bug], &|f| f.memory = Some(Memory::Semantic));
    want(&[norm], &|f| f.memory = Some(Memory::Procedural));
    want(&[friction], &|f| f.kind = Some(Kind::Friction));
    want(&[friction], &|f| f.status = Some(Status::Active));
    want(&[friction, bug], &|f| f.tag = Some(tag("auth")));
    want(&[bug], &|f| f.tag = Some(tag("auth/jwt")));
    want(&[bug], &|f| f.lens = Some(tag("security")));
    want(&[friction, bug], &|f| {
        f.kinds = vec![Kind::Bug, Kind::Friction];
    });
    want(&[norm, bug], &|f| {
        f.tags = vec![tag("auth0"), tag("auth/jwt")];
    });
    want(&[bug], &|f| {
        f.kinds = vec![Kind::Bug, Kind::PrExpectation];
        f.tags = vec![tag("auth")];
    });
    want(&[friction], &|f| {
        f.tag = Some(tag("auth"));
        f.memory = Some(Memory::Episodic);
        f.limit = Some(5);
    });
    for (filter, wanted) in filters {
        assert_eq!(ids(told, &filter), wanted, "{filter:?}");
    }
}

fn shelves_are_kept_apart<S: Store>(told: &mut Told<S>) {
    let live = told.propose("Live");
    let archived = told.propose("Archived");
    let retracted = told.propose("Retracted");
    let body = Body::Archived(Archived {
        because: ArchiveReason::Age,
        rests_on: None,
    });
    let copy = told.scribe.about(archived, body);
    told.tell(copy);
    let body = Body::Retracted(Retracted {
        reason: RetractReason::Unwanted,
        channel: Channel::Command,
        note: None,
    });
    let copy = told.scribe.about(retracted, body);
    told.tell(copy);
    // An entry without wording is on no shelf.
    let (unworded, _) = told.scribe.propose("Its proposal never arrives");
    let body = Body::StatusChanged(StatusChanged {
        to: Status::Active,
        replaces: Vec::new(),
        reason: None,
    });
    let copy = told.scribe.about(unworded, body);
    told.tell(copy);
    let shelves: [(Shelf, &[EntryId]); 4] = [
        (Shelf::Live, &[live]),
        (Shelf::Archived, &[archived]),
        (Shelf::Retracted, &[retracted]),
        (Shelf::All, &[retracted, archived, live]),
    ];
    for (shelf, wanted) in shelves {
        let filter = Filter {
            shelf,
            ..Filter::default()
        };
        assert_eq!(ids(told, &filter), wanted, "{shelf:?}");
    }
    assert_eq!(told.found(&unworded.to_string()), [unworded]);
    told.ends_as_folded();
}

fn the_latest_reading_has_a_limit<S: Store>(told: &mut Told<S>) {
    let latest = |told: &Told<S>, limit| told.store.latest(limit).expect("answers");
    let (_, unheard) = told.scribe.propose("Never told");
    let limit = |at: Hlc| Hlc {
        wall: at.wall.plus_millis(60_000),
        ..at
    };
    assert_eq!(latest(told, unheard.event.at), None);
    told.propose("An ordinary clock");
    let ordinary = told.events[0].event.at;
    told.scribe.at("2099-01-01T00:00:00Z");
    told.propose("A clock in 2099");
    let far = told.events[1].event.at;
    assert_eq!(latest(told, limit(ordinary)), Some(ordinary));
    assert_eq!(latest(told, ordinary), Some(ordinary));
    assert_eq!(latest(told, limit(far)), Some(far));
    told.take_back(told.events[1].event.id);
    assert_eq!(latest(told, limit(far)), Some(ordinary));
}
