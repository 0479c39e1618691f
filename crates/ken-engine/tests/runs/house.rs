//! Test repository with one claim, and helpers that open and close runs.

use std::fs;
use std::path::Path;
use std::process::Command;

use ken_core::decide::Proposal;
use ken_core::ledger::event::{Origin, Outcome::Succeeded};
use ken_core::ledger::event::{Outcome, Provenance};
use ken_core::trust::run::closing::RunEnding;
use ken_core::trust::run::{RunFinding, RunMember, RunWitness};
use ken_core::values::actor::Actor;
use ken_core::values::content::Content;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_engine::runs::{ClosedRun, EntryReader, OpenRunRequest};
use ken_engine::runtime::FixedRuntime;
use ken_engine::search::SearchQuery;
use ken_engine::{Engine, GitEnv, init};
use tempfile::TempDir;

pub(crate) const CLAIM: &str =
    "A retried payment is charged once because the request carries its key";
pub(crate) const CLAIM_REPHRASED: &str =
    "Because the request carries its key, a retried payment is charged once";
pub(crate) const NOON: &str = "2026-11-15T12:00:00Z";

pub(crate) fn actor(name: &str) -> Actor {
    name.parse().unwrap()
}

pub(crate) fn open_engine(root: &Path, now: &str) -> Engine {
    let seed = now.bytes().map(u64::from).sum::<u64>() * 7919;
    let world = FixedRuntime::new(now.parse().unwrap(), seed);
    Engine::open(root, &GitEnv::default(), None, Box::new(world)).unwrap()
}

/// Returns a repository with a ledger and one claim by an agent, and the claim's id.
pub(crate) fn repository_with_claim() -> (TempDir, EntryId) {
    let dir = tempfile::tempdir().unwrap();
    let git = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&dir)
        .status();
    assert!(git.unwrap().success());
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut ken = open_engine(dir.path(), "2026-11-01T00:00:00Z");
    let id = add_entry(&mut ken, CLAIM);
    (dir, id)
}

pub(crate) fn proposal(statement: &str) -> Proposal {
    let by = actor("agent:author");
    let evidence: ken_core::values::citation::CitationSource = "pr:142".parse().unwrap();
    let cited = vec![evidence.cite(&by, NOON.parse().unwrap())];
    let content = Content::new(statement.parse().unwrap());
    Proposal::new(EntryKind::Learning, content, cited, Origin::Agent)
}

pub(crate) fn add_entry(ken: &mut Engine, statement: &str) -> EntryId {
    ken.add(proposal(statement), &actor("agent:author"))
        .unwrap()
        .id
}

pub(crate) fn reader(agent: &str, run: &str) -> EntryReader {
    EntryReader {
        agent: actor(agent),
        run: Some(run.to_owned()),
        session: None,
    }
}

pub(crate) fn finding(statement: &str) -> RunFinding {
    RunFinding {
        statement: statement.parse().unwrap(),
        anchors: Vec::new(),
        verify: Vec::new(),
        severity_milli: 0,
        confidence_milli: 0,
        dismissed: false,
    }
}

pub(crate) fn member(session: Option<&str>, told_by: &[&str]) -> RunMember {
    RunMember {
        session: session.map(ToOwned::to_owned),
        told_by: told_by.iter().map(|it| actor(it)).collect(),
        ..RunMember::default()
    }
}

/// Opens a run witnessed by an orchestrator.
pub(crate) fn open_witnessed_run(ken: &mut Engine, id: &str, agents: &[(&str, RunMember)]) {
    let wish = OpenRunRequest {
        id: Some(id.to_owned()),
        agents: agents
            .iter()
            .map(|(name, member)| (actor(name), member.clone()))
            .collect(),
        witness: RunWitness::Orchestrator,
        ..OpenRunRequest::default()
    };
    ken.open_run(wish, &actor("human:lead")).unwrap();
}

pub(crate) fn close_with_outcome(ken: &mut Engine, id: &str, outcome: Outcome) -> ClosedRun {
    let ending = RunEnding {
        outcome,
        quality_milli: Some(800),
        rounds: 1,
        cost_micros: 0,
        strategy: None,
    };
    ken.close_run(id, &ending, &actor("human:lead")).unwrap()
}

/// Runs `before` in a witnessed run of one agent, which then finds the claim; returns the
/// provenance of that finding.
pub(crate) fn provenance_after(
    ken: &mut Engine,
    id: EntryId,
    before: impl FnOnce(&mut Engine),
) -> Provenance {
    open_witnessed_run(ken, "run", &[("agent:a", RunMember::default())]);
    before(ken);
    ken.observe(&reader("agent:a", "run"), finding(CLAIM_REPHRASED))
        .unwrap();
    close_with_outcome(ken, "run", Succeeded).closing.found[&id]
}

/// Returns all derived state that users rely on, as text.
pub(crate) fn derived_state(ken: &mut Engine) -> String {
    let mut told = String::new();
    for entry in ken.state().unwrap().entries.values() {
        let posterior = entry.posterior(
            ken_core::trust::facts::Validity::Holds,
            "2027-03-01".parse().unwrap(),
        );
        let facts = (
            entry.archived.is_some(),
            entry.status.value,
            entry.exposures_since_confirmation(),
        );
        told += &format!(
            "{} {:?} {facts:?} {:?}\n",
            entry.id,
            posterior,
            entry.tallies.impact()
        );
    }
    for run in ["one", "two"] {
        let search = SearchQuery {
            query: "retried payment".to_owned(),
            run: Some(run.to_owned()),
            floor: ken_engine::search::RelevanceFloor::None,
            ..SearchQuery::default()
        };
        for hit in ken.search(&search, &mut |_, _| ()).unwrap().hits {
            told += &format!("{run} {} {:?}\n", hit.entry.id, hit.explained.score);
        }
    }
    told
}

pub(crate) fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap() {
        let item = item.unwrap();
        let target = to.join(item.file_name());
        if item.file_type().unwrap().is_dir() {
            copy_dir(&item.path(), &target);
        } else {
            fs::copy(item.path(), target).unwrap();
        }
    }
}
