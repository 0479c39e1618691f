//! A ledger with one claim, and runs in it.

use std::fs;
use std::path::Path;
use std::process::Command;

use ken_core::actor::Actor;
use ken_core::content::Content;
use ken_core::decide::Proposal;
use ken_core::event::{Origin, Outcome::Succeeded};
use ken_core::event::{Outcome, Provenance};
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_core::run::close::Ending;
use ken_core::run::{Finding, Member, Witness};
use ken_engine::runs::{Closed, NewRun, Reader};
use ken_engine::search::Search;
use ken_engine::world::FixedWorld;
use ken_engine::{Engine, GitEnv, init};
use tempfile::TempDir;

pub(crate) const CLAIM: &str =
    "A retried payment is charged once because the request carries its key";
pub(crate) const SAME: &str =
    "Because the request carries its key, a retried payment is charged once";
pub(crate) const NOON: &str = "2026-11-15T12:00:00Z";

pub(crate) fn actor(name: &str) -> Actor {
    name.parse().unwrap()
}

pub(crate) fn at(root: &Path, now: &str) -> Engine {
    let seed = now.bytes().map(u64::from).sum::<u64>() * 7919;
    let world = FixedWorld::new(now.parse().unwrap(), seed);
    Engine::open(root, &GitEnv::default(), None, Box::new(world)).unwrap()
}

/// A ledger with one claim an agent wrote.
pub(crate) fn house() -> (TempDir, EntryId) {
    let dir = tempfile::tempdir().unwrap();
    let git = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&dir)
        .status();
    assert!(git.unwrap().success());
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut ken = at(dir.path(), "2026-11-01T00:00:00Z");
    let id = add(&mut ken, CLAIM);
    (dir, id)
}

pub(crate) fn proposal(statement: &str) -> Proposal {
    let by = actor("agent:author");
    let evidence: ken_core::citation::Evidence = "pr:142".parse().unwrap();
    let cited = vec![evidence.cite(&by, NOON.parse().unwrap())];
    let content = Content::new(statement.parse().unwrap());
    Proposal::new(Kind::Learning, content, cited, Origin::Agent)
}

pub(crate) fn add(ken: &mut Engine, statement: &str) -> EntryId {
    ken.add(proposal(statement), &actor("agent:author"))
        .unwrap()
        .id
}

pub(crate) fn reader(agent: &str, run: &str) -> Reader {
    Reader {
        agent: actor(agent),
        run: Some(run.to_owned()),
        session: None,
    }
}

pub(crate) fn finding(statement: &str) -> Finding {
    Finding {
        statement: statement.parse().unwrap(),
        evidence: Vec::new(),
        verify: Vec::new(),
        severity_milli: 0,
        confidence_milli: 0,
        dismissed: false,
    }
}

pub(crate) fn member(session: Option<&str>, told_by: &[&str]) -> Member {
    Member {
        session: session.map(ToOwned::to_owned),
        told_by: told_by.iter().map(|it| actor(it)).collect(),
        ..Member::default()
    }
}

/// Opens a run somebody watches.
pub(crate) fn open(ken: &mut Engine, id: &str, agents: &[(&str, Member)]) {
    let wish = NewRun {
        id: Some(id.to_owned()),
        agents: agents
            .iter()
            .map(|(name, member)| (actor(name), member.clone()))
            .collect(),
        witness: Witness::Orchestrator,
        ..NewRun::default()
    };
    ken.open_run(wish, &actor("human:lead")).unwrap();
}

pub(crate) fn close(ken: &mut Engine, id: &str, outcome: Outcome) -> Closed {
    let ending = Ending {
        outcome,
        quality_milli: Some(800),
        rounds: 1,
        cost_micros: 0,
        strategy: None,
    };
    ken.close_run(id, &ending, &actor("human:lead")).unwrap()
}

/// A watched run of one agent that finds the claim after `before` happened; how that came about.
pub(crate) fn found_after(
    ken: &mut Engine,
    id: EntryId,
    before: impl FnOnce(&mut Engine),
) -> Provenance {
    open(ken, "run", &[("agent:a", Member::default())]);
    before(ken);
    ken.observe(&reader("agent:a", "run"), finding(SAME))
        .unwrap();
    close(ken, "run", Succeeded).closing.found[&id]
}

/// Everything that follows from a ledger and that somebody may rely on.
pub(crate) fn what_follows(ken: &mut Engine) -> String {
    let mut told = String::new();
    for entry in ken.state().unwrap().entries.values() {
        let posterior = entry.posterior(
            ken_core::facts::Validity::Holds,
            "2027-03-01".parse().unwrap(),
        );
        let facts = (
            entry.archived.is_some(),
            entry.status.value,
            entry.since_confirmation(),
        );
        told += &format!(
            "{} {:?} {facts:?} {:?}\n",
            entry.id,
            posterior,
            entry.tallies.worth()
        );
    }
    for run in ["one", "two"] {
        let search = Search {
            query: "retried payment".to_owned(),
            run: Some(run.to_owned()),
            floor: ken_engine::search::Floor::None,
            ..Search::default()
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
        match item.file_type().unwrap().is_dir() {
            true => copy_dir(&item.path(), &target),
            false => drop(fs::copy(item.path(), target).unwrap()),
        }
    }
}
