//! The global ledger: what more than one project knows, kept in the user's own folder and read beside any repository.
//!
//! A copy carries the claim and where it came from, never what it rested on there: anchors, steps, conditions and
//! citations are about one repository. It arrives as a candidate with no evidence of use, so trust does not rise by
//! copying. What is read from it stands below everything this repository knows, discounted, labelled, and without the score of
//! anything verified here.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ken_core::actor::Actor;
use ken_core::answer::beneath;
use ken_core::citation::{Evidence, EvidenceType};
use ken_core::content::Scope;
use ken_core::decide::{Proposal, Refusal};
use ken_core::entry::Entry;
use ken_core::event::CopiedFrom;
use ken_core::id::EntryId;
use ken_core::promotion::{exported, origin_of_copy};
use ken_core::surface::Page;
use ken_core::text::Tag;
use ken_ledger::layout::KEN_DIR;
use ken_ledger::{DiskError, Place};

use super::Judgement;
use crate::engine::Engine;
use crate::error::Error;
use crate::guard::Guard;
use crate::init::init_place;
use crate::search::{Answer, Portion, Search};
use crate::world::World;

/// How a citation of another ledger's entry begins: `ken:PROJECT/ENTRY`.
const KEN_REF: &str = "ken:";

/// Characters of a project's id behind its letter.
const PROJECT_CHARS: usize = 8;

/// What promoting to the global ledger did.
#[derive(Clone, Debug)]
pub enum Globally {
    /// The first copy there.
    Copied(Entry),
    /// It was known there; this project was added to those that know it.
    Known { entry: Entry, projects: usize },
}

/// What the global ledger adds to an answer.
#[derive(Clone, Debug)]
pub struct Overlay {
    pub answer: Answer,
    pub page: Page,
}

/// Where the global ledger lies, and the clock and dice of who writes to it.
#[derive(Debug)]
pub struct GlobalHome {
    pub root: PathBuf,
    pub world: Box<dyn World>,
}

impl GlobalHome {
    /// Returns whether there is a ledger.
    pub fn is_there(&self) -> bool {
        self.root.join(KEN_DIR).is_dir()
    }

    /// Opens the ledger; makes one where there is none.
    fn open(self, guard: Guard, by: &Actor) -> Result<Engine, Error> {
        let shown = self.root.display().to_string();
        std::fs::create_dir_all(&self.root).map_err(DiskError::on("create", &shown))?;
        init_place(Place::plain(&self.root))?;
        let mut global = Engine::open_plain(&self.root, Some(by.clone()), self.world)?;
        global.set_guard(guard);
        Ok(global)
    }
}

impl Engine {
    /// Returns what this project is recognised by elsewhere: it follows from the first event of its ledger, which
    /// every clone has.
    pub fn project(&self) -> Result<Tag, Error> {
        let first = self.index.first_event()?;
        let first = first.map(|id| id.to_string()).unwrap_or_default();
        let hash = blake3::hash(first.as_bytes()).to_hex();
        Ok(format!("p-{}", &hash[..PROJECT_CHARS])
            .parse()
            .expect("hexadecimal digits are a tag"))
    }

    /// Copies an entry of this workspace into the global ledger, or adds this project to those that know it there.
    pub fn promote_to_global(
        &mut self,
        home: GlobalHome,
        id: EntryId,
        judgement: Judgement,
        by: &Actor,
    ) -> Result<Globally, Error> {
        self.absorb_before_writing()?;
        let entry = self.entry(id)?;
        if entry.scope.value == Scope::Thread {
            return Err(Error::Usage(format!(
                "{id} belongs to a thread; promote it to the workspace first"
            )));
        }
        self.fit(id, Scope::Global, judgement, by)?;
        let content = entry.content.as_ref().ok_or(Refusal::NoContent(id))?;
        let created = entry.created.as_ref().ok_or(Refusal::NoContent(id))?;
        let is_said = judgement == Judgement::Person && by.is_human();
        if !home.is_there() && !is_said {
            return Err(Refusal::OneProject(id).into());
        }
        let mut global = home.open(self.guard.clone(), by)?;
        let project = self.project()?;
        let known = global.live_entry_saying(&content.statement)?;
        let source = ken_ref(&project, id);
        let done = match known {
            Some(there) => global.also_known(&there, &source, by)?,
            None if is_said => {
                let citation = source.cite(by, self.now());
                let origin = origin_of_copy(created.origin);
                let content = exported(content);
                let mut copy = Proposal::new(created.kind, content, vec![citation], origin);
                copy.scope = Scope::Global;
                copy.copied_from = Some(CopiedFrom {
                    project,
                    entry: id,
                    by: created.by.clone(),
                });
                Globally::Copied(global.add(copy, by)?)
            }
            None => return Err(Refusal::OneProject(id).into()),
        };
        // Last: whoever was stopped in between promotes again and finds the copy.
        self.widen(id, Scope::Global, judgement, by)?;
        Ok(done)
    }

    /// Writes down that another project knows an entry, too.
    fn also_known(
        &mut self,
        entry: &Entry,
        source: &Evidence,
        by: &Actor,
    ) -> Result<Globally, Error> {
        let is_cited = |it: &Entry| {
            let mut cited = it.citations.iter();
            cited.any(|it| it.evidence_ref == source.evidence_ref)
        };
        let entry = match is_cited(entry) {
            true => entry.clone(),
            false => {
                self.cite(entry.id, source.clone(), by)?;
                self.confirm(entry.id, None, by)?
            }
        };
        let projects = projects(&entry).len();
        Ok(Globally::Known { entry, projects })
    }

    /// Returns what the global ledger adds to `local`, in the room its `page` left.
    ///
    /// What this repository knows itself, in the same words or others, is left out.
    pub fn overlay(
        &mut self,
        global: &mut Self,
        search: &Search,
        (local, page): (&Answer, &Page),
        portion: Portion,
    ) -> Result<Option<Overlay>, Error> {
        let left = portion.left_by(page);
        if left.cap == 0 || search.query.trim().is_empty() {
            return Ok(None);
        }
        let mut answer = global.search(&search.elsewhere(), &mut |_, _| {})?;
        let project = self.project()?;
        let mut others = Vec::with_capacity(answer.hits.len());
        for hit in answer.hits.drain(..) {
            if !self.has_source_of(&hit.entry, &project)? {
                others.push(hit);
            }
        }
        answer.hits = beneath(&local.hits, others);
        let page_there = answer.page(left);
        let overlay = page.admits(&page_there, left).then_some(Overlay {
            answer,
            page: page_there,
        });
        Ok(overlay)
    }

    /// Returns whether a global entry is a copy of one that is here.
    fn has_source_of(&self, entry: &Entry, project: &Tag) -> Result<bool, Error> {
        for (from, id) in sources(entry) {
            if from == project.as_str() && self.entry(id).is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the citation of an entry in another ledger.
fn ken_ref(project: &Tag, id: EntryId) -> Evidence {
    let text = format!("{KEN_REF}{project}/{id}");
    Evidence {
        evidence_type: EvidenceType::Doc,
        evidence_ref: text.parse().expect("two ids are a reference"),
    }
}

/// Returns the entries of projects that a global entry stands for.
fn sources(entry: &Entry) -> impl Iterator<Item = (&str, EntryId)> {
    entry.citations.iter().filter_map(|it| {
        let below = it.evidence_ref.as_str().strip_prefix(KEN_REF)?;
        let (project, id) = below.split_once('/')?;
        Some((project, id.parse().ok()?))
    })
}

/// Returns the projects that know a global entry.
fn projects(entry: &Entry) -> BTreeSet<&str> {
    sources(entry).map(|(project, _)| project).collect()
}
