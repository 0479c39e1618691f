//! What setup will do to which file, and doing it.
//!
//! A record is written before its file and removed after it: whatever is interrupted, nothing of Ken's is left that no record
//! knows.

use std::collections::BTreeSet;

use ken_agents::Agent;
use ken_agents::setup::{self, After, Change, Piece, Record, Standing, Target, target_at, targets};
use ken_engine::root_files::RootFiles;

use crate::failure::Failure;

/// Where records are kept.
const RECORDS: &str = ".ken/setup";

/// What is done to one file.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) target: Target,
    pub(crate) agents: Vec<Agent>,
    /// The text there is.
    pub(crate) before: Option<String>,
    pub(crate) change: Change,
    record: Option<Record>,
    /// Why the file is not touched at all.
    pub(crate) trouble: Option<String>,
}

/// What is done to all of them.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) files: RootFiles,
    pub(crate) steps: Vec<Step>,
}

impl Step {
    /// Returns whether the file is written to or removed.
    pub(crate) fn is_change(&self) -> bool {
        self.trouble.is_none() && self.change.after != After::Same
    }

    /// Returns the parts only a person can put right, each standing once.
    pub(crate) fn stuck(&self) -> Vec<&Piece> {
        let mut found: Vec<&Piece> = Vec::new();
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

    /// Returns whether all is as it should be after an installation.
    pub(crate) fn is_fine(&self) -> bool {
        let is_fine = |it: &Piece| !it.standing.is_due() && !it.standing.is_stuck();
        self.trouble.is_none() && self.change.pieces.iter().all(is_fine)
    }

    /// Returns whether the file has no part in this.
    pub(crate) fn is_unneeded(&self) -> bool {
        let mut pieces = self.change.pieces.iter();
        self.trouble.is_none() && pieces.all(|it| it.standing == Standing::Unneeded)
    }

    fn record_path(&self) -> String {
        record_path(self.target.path)
    }
}

fn record_path(path: &str) -> String {
    format!("{RECORDS}/{}", Record::file_name(path))
}

/// Returns every record there is, but those that cannot be read.
pub(crate) fn records(files: &RootFiles) -> Result<Vec<Record>, Failure> {
    let names = files.names(RECORDS)?;
    let read = |name: &String| files.read(&format!("{RECORDS}/{name}")).ok().flatten();
    let texts = names.iter().filter_map(read);
    Ok(texts.filter_map(|text| Record::parse(&text)).collect())
}

/// Returns the agents that are set up.
pub(crate) fn set_up(records: &[Record]) -> Vec<Agent> {
    let is_named = |agent: &Agent| records.iter().any(|it| it.agents().contains(agent));
    Agent::ALL.into_iter().filter(is_named).collect()
}

impl Plan {
    /// Says what setting up `agents` comes to.
    pub(crate) fn install(files: RootFiles, agents: &[Agent]) -> Result<Self, Failure> {
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
            if step.trouble.is_none() {
                let (text, record) = (step.before.as_deref(), step.record.as_ref());
                step.change = setup::install(&step.target, text, record, &step.agents);
            }
        }
        Ok(Self { files, steps })
    }

    /// Says what taking `agents` out again comes to; files that others need stay.
    pub(crate) fn remove(files: RootFiles, agents: &[Agent]) -> Result<Self, Failure> {
        let records = records(&files)?;
        let mut steps = Vec::new();
        for record in &records {
            let leaving: Vec<Agent> = record.agents();
            let leaving: Vec<Agent> = leaving
                .into_iter()
                .filter(|it| agents.contains(it))
                .collect();
            let Some(target) = target_at(&record.path).filter(|_| !leaving.is_empty()) else {
                continue;
            };
            let mut step = looked_at(&files, &records, target, leaving[0]);
            step.agents = leaving;
            if step.trouble.is_none() {
                let (text, kept) = (step.before.as_deref(), record.without(&step.agents));
                step.change = match kept {
                    Some(kept) => Change {
                        after: After::Same,
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

    /// Does it; returns the paths that were changed, and says of each that could not be why.
    pub(crate) fn apply(&mut self) -> Result<Vec<String>, Failure> {
        let mut done = Vec::new();
        let known = records(&self.files)?;
        let known = known.iter().flat_map(|it| it.folders().map(str::to_owned));
        let mut made: BTreeSet<String> = known.collect();
        for step in &mut self.steps {
            let is_as_it_was =
                step.change.after == After::Same && step.change.record == step.record;
            if step.trouble.is_some() || is_as_it_was {
                continue;
            }
            if self.files.read(step.target.path) != Ok(step.before.clone()) {
                step.trouble = Some("it changed while you were asked".to_owned());
                continue;
            }
            apply(&self.files, step, &mut made)?;
            if step.change.after != After::Same {
                done.push(step.target.path.to_owned());
            }
        }
        self.files.remove_empty_folders([RECORDS].into_iter())?;
        Ok(done)
    }
}

/// Returns the target under the name its file has here.
fn resolved(files: &RootFiles, target: Target) -> Target {
    let is_there = |path: &str| !matches!(files.read(path), Ok(None));
    match target.instead {
        Some(instead) if !is_there(target.path) && is_there(instead) => target.at(instead),
        Some(_) | None => target,
    }
}

fn looked_at(files: &RootFiles, records: &[Record], target: Target, agent: Agent) -> Step {
    let record = records.iter().find(|it| it.path == target.path).cloned();
    let (before, trouble) = match files.read(target.path) {
        Ok(text) => (text, None),
        // A link from one file of instructions to another is one file with two names.
        Err(_) if is_link_to_agents(files, target.path) => (None, None),
        Err(why) => (None, Some(why)),
    };
    Step {
        target,
        agents: vec![agent],
        before,
        change: Change {
            after: After::Same,
            pieces: Vec::new(),
            record: None,
        },
        record,
        trouble,
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

/// Does one step; `made` are the folders that Ken made for any file, which go with the last file in them.
fn apply(files: &RootFiles, step: &Step, made: &mut BTreeSet<String>) -> Result<(), Failure> {
    let path = step.target.path;
    let kept = step.record_path();
    let mut record = step.change.record.clone();
    if let (After::Text(_), Some(record)) = (&step.change.after, &mut record) {
        made.extend(files.make_folders(path)?);
        let above = |folder: &&String| path.starts_with(&format!("{folder}/"));
        record.folders = made.iter().filter(above).cloned().collect();
    }
    if let Some(record) = &record
        && step.record.as_ref() != Some(record)
    {
        files.make_folders(&kept)?;
        files.write(&kept, &record.to_text())?;
    }
    match &step.change.after {
        After::Same => {}
        After::Text(text) => files.write(path, text)?,
        After::Gone => {
            files.remove(path)?;
            let own: Vec<&str> = step.record.iter().flat_map(Record::folders).collect();
            files.remove_empty_folders(own.into_iter())?;
        }
    }
    if record.is_none() && step.record.is_some() {
        files.remove(&kept)?;
    }
    Ok(())
}
