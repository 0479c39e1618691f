//! Golden ledger: the bytes of a release, which every later build must fold to the same state.
//!
//! `fixtures/ledger-v1/ken` holds segments and packs with every event type, including unknown types
//! and redacted copies; `STATE` holds the hash of the folded state. The fixture is created once:
//! `KEN_BLESS=1` writes it only if it is missing.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::rediscovery::RediscoveryTrace;
use ken_core::ledger::state::{EventSet, LedgerState};
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::values::kind::Memory;
use ken_engine::export::{BUNDLE_EVENTS_FILE, ExportFormat};
use ken_engine::runtime::FixedRuntime;
use ken_engine::{Engine, GitEnv, init};
use ken_ledger::layout::{SegmentForm, SegmentName};
use ken_ledger::{Ledger, LedgerLocation, pack};
use ken_testkit::any_event::{WriterStyle, generate_history};

/// Number of histories in the golden ledger, and steps per history.
const HISTORIES: u64 = 6;
const STEPS: u64 = 60;

fn fixture_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/ledger-v1")
}

/// Returns a pseudo-random number that depends only on the seed.
fn pseudo_random(seed: u64) -> u64 {
    let hash = blake3::hash(&seed.to_be_bytes());
    u64::from_be_bytes(hash.as_bytes()[..8].try_into().unwrap())
}

/// Creates the golden ledger: every other history in packs, the rest in plain segments.
fn create_fixture(target: &Path) {
    for history in 0..HISTORIES {
        let numbers: Vec<u64> = (0..STEPS)
            .map(|step| pseudo_random(history << 32 | step))
            .collect();
        let played = generate_history(WriterStyle::Any, &numbers);
        let mut lines: BTreeMap<Memory, String> = BTreeMap::new();
        for copy in played.copies {
            let text = lines.entry(copy.event.memory()).or_default();
            text.push_str(copy.line());
            text.push('\n');
        }
        for (memory, text) in lines {
            let form = if history % 2 == 0 {
                SegmentForm::Lines
            } else {
                SegmentForm::Pack
            };
            let now = "2026-11-15T00:00:00Z".parse().unwrap();
            let salt =
                u128::from(pseudo_random(history)) << 64 | u128::from(pseudo_random(history + 1));
            let path = target
                .join("ken")
                .join(SegmentName::new(memory, form, now, salt).path());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let bytes = match form {
                SegmentForm::Lines => text.into_bytes(),
                SegmentForm::Pack => pack::encode(&text, salt),
            };
            fs::write(path, bytes).unwrap();
        }
    }
    fs::write(target.join("ken/VERSION"), "1.0.0\n").unwrap();
    let (state, _) = open_copy(target);
    fs::write(target.join("STATE"), format!("{state}\n")).unwrap();
}

/// Copies the golden ledger to a temporary folder and opens it; returns the hash of its state.
fn open_copy(from: &Path) -> (String, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    copy_dir(&from.join("ken"), &dir.path().join(".ken"));
    let world = FixedRuntime::new("2026-11-15T00:00:00Z".parse().unwrap(), 1);
    let engine = Engine::open(dir.path(), &GitEnv::default(), None, Box::new(world)).unwrap();
    (without_later_tallies(engine.state().unwrap()).hash(), dir)
}

/// Returns the state without co-occurrence and rediscovery, which the build that wrote the ledger
/// did not derive.
fn without_later_tallies(mut state: LedgerState) -> LedgerState {
    for entry in state.entries.values_mut() {
        entry.tallies.together.clear();
        entry.tallies.rediscovery = RediscoveryTrace::default();
    }
    state
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Opens a new, empty ledger outside git.
fn open_empty() -> (Engine, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let world = FixedRuntime::new("2026-11-16T00:00:00Z".parse().unwrap(), 2);
    let engine = Engine::open(dir.path(), &GitEnv::default(), None, Box::new(world)).unwrap();
    (engine, dir)
}

#[test]
fn an_imported_export_has_the_exact_state_of_the_golden_ledger() {
    let (_, dir) = open_copy(&fixture_dir());
    let world = FixedRuntime::new("2026-11-15T00:00:00Z".parse().unwrap(), 1);
    let engine = Engine::open(dir.path(), &GitEnv::default(), None, Box::new(world)).unwrap();
    let all = EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    };
    let person = "human:ada".parse().unwrap();
    let lines = engine.export(&all, ExportFormat::Jsonl).unwrap();
    let bundle = engine.export(&all, ExportFormat::Okf).unwrap();
    assert_eq!(lines[""], bundle[BUNDLE_EVENTS_FILE]);
    let exported = engine.state().unwrap().entries;
    assert!(exported.len() > 10, "{} entries", exported.len());

    let (mut fresh, _dir) = open_empty();
    let outcome = fresh.import_export(&lines[""], &person).unwrap();
    assert!(outcome.refused.is_empty(), "{:?}", outcome.refused);
    assert_eq!(fresh.state().unwrap().entries, exported);

    // The second import changes nothing.
    let again = fresh.import_export(&lines[""], &person).unwrap();
    assert_eq!((again.events, again.known), (0, outcome.events));
    assert_eq!(fresh.export(&all, ExportFormat::Jsonl).unwrap(), lines);
}

#[test]
fn only_a_person_imports_an_export() {
    let (mut fresh, _dir) = open_empty();
    for by in ["agent:one", "ci:build", "peer:other"] {
        let by = by.parse().unwrap();
        let refused = fresh.import_export("", &by).unwrap_err().to_string();
        assert!(
            refused.contains("importing an export requires a person"),
            "{refused}"
        );
    }
}

#[test]
fn the_golden_ledger_folds_to_the_stored_state() {
    let fixture = fixture_dir();
    if !fixture.join("STATE").exists() && std::env::var_os("KEN_BLESS").is_some() {
        create_fixture(&fixture);
    }
    let stored = fs::read_to_string(fixture.join("STATE")).unwrap();
    let (state, dir) = open_copy(&fixture);
    assert_eq!(
        state,
        stored.trim(),
        "a build must fold old ledgers as the build that wrote them"
    );

    // Fold the events without an index too; the state must be the same.
    let ledger = Ledger::open(&LedgerLocation::plain(dir.path())).unwrap();
    let mut set = EventSet::default();
    let mut events = 0;
    for segment in ledger.list().unwrap() {
        for (_, line) in ledger.read(&segment.name).unwrap().lines() {
            set.add(RecordedEvent::parse(line.as_bytes()).unwrap());
            events += 1;
        }
    }
    assert!(events > 300, "the golden ledger holds {events} lines");
    let state = set.fold();
    assert_eq!(without_later_tallies(state.clone()).hash(), stored.trim());
    assert!(
        !state.workspace.unknown.is_empty(),
        "unknown events are part of it"
    );
}
