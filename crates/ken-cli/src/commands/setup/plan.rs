//! Plan of file changes of `ken setup`, and its execution.
//!
//! A record is written before its file and removed after it. After an interruption, every part that
//! Ken wrote therefore still has a record.

use std::collections::BTreeSet;

use ken_agents::CodingAgent;
use ken_agents::setup::{
    self, FileUpdate, PartState, PartStatus, SetupChange, SetupRecord, SetupTarget, target_at,
    targets,
};
use ken_engine::root_files::RootFiles;

use crate::failure::CommandFailure;

/// Folder of the records.
pub(crate) const RECORDS: &str = ".ken/setup";

/// The change of one file.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) target: SetupTarget,
    pub(crate) agents: Vec<CodingAgent>,
    /// The current text.
    pub(crate) before: Option<String>,
    pub(crate) change: SetupChange,
    record: Option<SetupRecord>,
    /// Why the file is not changed at all.
    pub(crate) problem: Option<String>,
}

/// The changes of all files.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) files: RootFiles,
    pub(crate) steps: Vec<Step>,
}

impl Step {
    /// Returns whether the file is written or removed.
    pub(crate) fn is_change(&self) -> bool {
        self.problem.is_none() && self.change.after != FileUpdate::Same
    }

    /// Returns the parts that only a person can fix, one per state.
    pub(crate) fn stuck(&self) -> Vec<&PartStatus> {
        let mut found: Vec<&PartStatus> = Vec::new();
        for piece in self
            .change
            .pieces
            .iter()
            .filter(|it| it.standing.is_stuck())
        {
            if !found
                .iter()
                .any(|it| it.standing == piece.standing && it.what == piece.what)
            {
                found.push(piece);
            }
        }
        found
    }

    /// Returns whether the file is complete after an installation.
    pub(crate) fn is_fine(&self) -> bool {
        let is_fine = |it: &PartStatus| !it.standing.is_due() && !it.standing.is_stuck();
        self.problem.is_none() && self.change.pieces.iter().all(is_fine)
    }

    /// Returns whether the plan does not need the file.
    pub(crate) fn is_unneeded(&self) -> bool {
        let mut pieces = self.change.pieces.iter();
        self.problem.is_none() && pieces.all(|it| it.standing == PartState::Unneeded)
    }

    pub(crate) fn record_path(&self) -> String {
        record_path(self.target.path)
    }

    /// Returns whether the record of the file is written or removed.
    pub(crate) fn changes_record(&self) -> bool {
        self.problem.is_none() && self.change.record != self.record
    }
}

fn record_path(path: &str) -> String {
    format!("{RECORDS}/{}", SetupRecord::file_name(path))
}

/// Returns every readable record.
pub(crate) fn records(files: &RootFiles) -> Result<Vec<SetupRecord>, CommandFailure> {
    let names = files.file_names(RECORDS)?;
    let read = |name: &String| files.read(&format!("{RECORDS}/{name}")).ok().flatten();
    let texts = names.iter().filter_map(read);
    Ok(texts.filter_map(|text| SetupRecord::parse(&text)).collect())
}

/// Returns the agents with a record.
pub(crate) fn set_up(records: &[SetupRecord]) -> Vec<CodingAgent> {
    let is_named = |agent: &CodingAgent| records.iter().any(|it| it.agents().contains(agent));
    CodingAgent::ALL.into_iter().filter(is_named).collect()
}

impl Plan {
    /// Plans the setup of `agents`.
    pub(crate) fn install(
        files: RootFiles,
        agents: &[CodingAgent],
    ) -> Result<Self, CommandFailure> {
        let records = records(&files)?;
        let mut steps: Vec<Step> = Vec::new();
        for agent in agents {
            for target in targets(*agent) {
                let target = resolved(&files, target);
                match steps.iter_mut().find(|it| it.target.path == target.path) {
                    Some(step) => step.agents.push(*agent),
                    None => steps.push(looked_at(&files, &records, target, *agent)),
                }
            }
        }
        for step in &mut steps {
            if step.problem.is_none() {
                let (text, record) = (step.before.as_deref(), step.record.as_ref());
                step.change = setup::install(&step.target, text, record, &step.agents);
            }
        }
        Ok(Self { files, steps })
    }

    /// Plans the removal of `agents`; files that other agents need stay.
    pub(crate) fn remove(files: RootFiles, agents: &[CodingAgent]) -> Result<Self, CommandFailure> {
        let records = records(&files)?;
        let mut steps = Vec::new();
        for record in &records {
            let leaving: Vec<CodingAgent> = record.agents();
            let leaving: Vec<CodingAgent> = leaving
                .into_iter()
                .filter(|it| agents.contains(it))
                .collect();
            let Some(target) = target_at(&record.path).filter(|_| !leaving.is_empty()) else {
                continue;
            };
            let mut step = looked_at(&files, &records, target, leaving[0]);
            step.agents = leaving;
            if step.problem.is_none() {
                let (text, kept) = (step.before.as_deref(), record.without(&step.agents));
                step.change = match kept {
                    Some(kept) => SetupChange {
                        after: FileUpdate::Same,
                        pieces: Vec::new(),
                        record: Some(kept),
                    },
                    None => setup::remove(&step.target, text, Some(record)),
                };
            }
            steps.push(step);
        }
        Ok(Self { files, steps })
    }

    /// Applies the plan and returns the changed paths, records included. A step that failed gets
    /// its reason.
    pub(crate) fn apply(&mut self) -> Result<Vec<String>, CommandFailure> {
        let mut done = Vec::new();
        let known = records(&self.files)?;
        let known = known.iter().flat_map(|it| it.folders().map(str::to_owned));
        let mut made: BTreeSet<String> = known.collect();
        for step in &mut self.steps {
            let is_as_it_was =
                step.change.after == FileUpdate::Same && step.change.record == step.record;
            if step.problem.is_some() || is_as_it_was {
                continue;
            }
            if self.files.read(step.target.path) != Ok(step.before.clone()) {
                step.problem = Some("the file changed after Ken read it".to_owned());
                continue;
            }
            apply(&self.files, step, &mut made)?;
            if step.change.after != FileUpdate::Same {
                done.push(step.target.path.to_owned());
            }
            if step.changes_record() {
                done.push(step.record_path());
            }
        }
        self.files.remove_empty_folders([RECORDS].into_iter())?;
        Ok(done)
    }
}

/// Returns the target with the actual name of its file in this repository.
fn resolved(files: &RootFiles, target: SetupTarget) -> SetupTarget {
    let is_there = |path: &str| !matches!(files.read(path), Ok(None));
    match target.instead {
        Some(instead) if !is_there(target.path) && is_there(instead) => target.at(instead),
        Some(_) | None => target,
    }
}

fn looked_at(
    files: &RootFiles,
    records: &[SetupRecord],
    target: SetupTarget,
    agent: CodingAgent,
) -> Step {
    let record = records.iter().find(|it| it.path == target.path).cloned();
    let (before, problem) = match files.read(target.path) {
        Ok(text) => (text, None),
        // A link from one instruction file to another is one file with two names.
        Err(_) if is_link_to_agents(files, target.path) => (None, None),
        Err(why) => (None, Some(why)),
    };
    Step {
        target,
        agents: vec![agent],
        before,
        change: SetupChange {
            after: FileUpdate::Same,
            pieces: Vec::new(),
            record: None,
        },
        record,
        problem,
    }
}

fn is_link_to_agents(files: &RootFiles, path: &str) -> bool {
    let is_import = ["CLAUDE.md", "GEMINI.md"].contains(&path);
    let leads_to = std::fs::read_link(files.root().join(path));
    is_import
        && leads_to.is_ok_and(|it| {
            ["AGENTS.md", "./AGENTS.md"]
                .iter()
                .any(|to| it.as_os_str() == *to)
        })
}

/// Applies one step. `made` are the folders that Ken created; each is removed with its last file.
fn apply(
    files: &RootFiles,
    step: &Step,
    made: &mut BTreeSet<String>,
) -> Result<(), CommandFailure> {
    let path = step.target.path;
    let kept = step.record_path();
    let mut record = step.change.record.clone();
    if let (FileUpdate::Text(_), Some(record)) = (&step.change.after, &mut record) {
        made.extend(files.create_parent_folders(path)?);
        let above = |folder: &&String| path.starts_with(&format!("{folder}/"));
        record.folders = made.iter().filter(above).cloned().collect();
    }
    if let Some(record) = &record
        && step.record.as_ref() != Some(record)
    {
        files.create_parent_folders(&kept)?;
        files.write(&kept, &record.to_text())?;
    }
    match &step.change.after {
        FileUpdate::Same => {}
        FileUpdate::Text(text) => files.write(path, text)?,
        FileUpdate::Gone => {
            files.remove(path)?;
            let own: Vec<&str> = step.record.iter().flat_map(SetupRecord::folders).collect();
            files.remove_empty_folders(own.into_iter())?;
        }
    }
    if record.is_none() && step.record.is_some() {
        files.remove(&kept)?;
    }
    Ok(())
}
