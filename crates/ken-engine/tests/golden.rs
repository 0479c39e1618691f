//! The golden ledger: bytes of a release every later build must fold to the same state.
//!
//! `fixtures/ledger-v1/ken` holds segments and packs with every kind of event, unknown types and
//! blanked copies among them; `STATE` the hash of what they fold to. It is made once:
//! `KEN_BLESS=1` writes it only where it is missing.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ken_core::event::Recorded;
use ken_core::kind::Memory;
use ken_core::state::{EventSet, State};
use ken_engine::world::FixedWorld;
use ken_engine::{Engine, GitEnv};
use ken_ledger::layout::{Form, SegmentName};
use ken_ledger::{Ledger, Place, pack};
use ken_testkit::any_event::{Manners, play};

/// Histories in the golden ledger, and steps in each.
const HISTORIES: u64 = 6;
const STEPS: u64 = 60;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/ledger-v1")
}

/// Numbers that look random and are the same every time.
fn number(seed: u64) -> u64 {
    let hash = blake3::hash(&seed.to_be_bytes());
    u64::from_be_bytes(hash.as_bytes()[..8].try_into().unwrap())
}

/// Makes the golden ledger: every other history in packs, the rest in plain segments.
fn bless(target: &Path) {
    for history in 0..HISTORIES {
        let numbers: Vec<u64> = (0..STEPS)
            .map(|step| number(history << 32 | step))
            .collect();
        let played = play(Manners::Any, &numbers);
        let mut lines: BTreeMap<Memory, String> = BTreeMap::new();
        for copy in played.copies {
            let text = lines.entry(copy.event.memory()).or_default();
            text.push_str(copy.line());
            text.push('\n');
        }
        for (memory, text) in lines {
            let form = if history % 2 == 0 {
                Form::Lines
            } else {
                Form::Pack
            };
            let now = "2026-11-15T00:00:00Z".parse().unwrap();
            let salt = u128::from(number(history)) << 64 | u128::from(number(history + 1));
            let path = target
                .join("ken")
                .join(SegmentName::new(memory, form, now, salt).path());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let bytes = match form {
                Form::Lines => text.into_bytes(),
                Form::Pack => pack::encode(&text, salt),
            };
            fs::write(path, bytes).unwrap();
        }
    }
    fs::write(target.join("ken/VERSION"), "1.0.0\n").unwrap();
    let (state, _) = open(target);
    fs::write(target.join("STATE"), format!("{state}\n")).unwrap();
}

/// Copies the golden ledger to a folder of its own and opens it; returns the hash of its state.
fn open(from: &Path) -> (String, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    copy(&from.join("ken"), &dir.path().join(".ken"));
    let world = FixedWorld::new("2026-11-15T00:00:00Z".parse().unwrap(), 1);
    let engine = Engine::open(dir.path(), &GitEnv::default(), None, Box::new(world)).unwrap();
    (as_then(engine.state().unwrap()).hash(), dir)
}

/// Returns a state without what the build that wrote the ledger did not derive yet: what entries are used with.
fn as_then(mut state: State) -> State {
    for entry in state.entries.values_mut() {
        entry.tallies.together.clear();
    }
    state
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn the_golden_ledger_folds_to_the_stored_state() {
    let fixture = fixture();
    if !fixture.join("STATE").exists() && std::env::var_os("KEN_BLESS").is_some() {
        bless(&fixture);
    }
    let stored = fs::read_to_string(fixture.join("STATE")).unwrap();
    let (state, dir) = open(&fixture);
    assert_eq!(
        state,
        stored.trim(),
        "a build must fold old ledgers as the build that wrote them"
    );

    // The same by the set alone, without an index in between.
    let ledger = Ledger::open(&Place::plain(dir.path())).unwrap();
    let mut set = EventSet::default();
    let mut events = 0;
    for segment in ledger.list().unwrap() {
        for (_, line) in ledger.read(&segment.name).unwrap().lines() {
            set.add(Recorded::parse(line.as_bytes()).unwrap());
            events += 1;
        }
    }
    assert!(300 < events, "the golden ledger holds {events} lines");
    let state = set.fold();
    assert_eq!(as_then(state.clone()).hash(), stored.trim());
    assert!(
        !state.workspace.unknown.is_empty(),
        "unknown events are part of it"
    );
}
