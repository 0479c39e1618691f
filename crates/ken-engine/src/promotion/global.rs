//! Global ledger: knowledge shared by projects, stored in the user's own folder.
//!
//! A copy carries the claim and its source, but no anchors, steps, conditions or citations, because
//! these are about one repository. It is added as a candidate without evidence of use, so copying
//! does not raise trust. Global hits rank below all local hits, discounted, labeled, and without
//! the score bonus of local verification.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ken_core::decide::{Proposal, Refusal};
use ken_core::federation::CompetingHypotheses;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::CopiedFrom;
use ken_core::retrieval::ranking::{ForeignHit, merge_foreign_hits};
use ken_core::retrieval::surface::EntrySelection;
use ken_core::trust::promotion::{exportable_content, origin_of_copy};
use ken_core::values::actor::Actor;
use ken_core::values::citation::{CitationSource, CitationType};
use ken_core::values::content::EntryScope;
use ken_core::values::id::EntryId;
use ken_core::values::text::Tag;
use ken_ledger::layout::KEN_DIR;
use ken_ledger::{DiskError, LedgerLocation};

use super::PromotionDecider;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::federation::{ForeignSource, PeerLedger, search_peers};
use crate::guard::Guard;
use crate::init::init_at;
use crate::runtime::Runtime;
use crate::search::{SearchOutcome, SearchQuery, SelectionLimits};
use crate::{promotion, sync};

/// Prefix of a citation of another ledger's entry: `ken:PROJECT/ENTRY`.
pub(crate) const CITATION_PREFIX: &str = "ken:";

/// Number of digits in a project id after its prefix.
const PROJECT_CHARS: usize = 8;

/// Result of a promotion to the global ledger.
#[derive(Clone, Debug)]
pub enum GlobalPromotion {
    /// The entry was copied.
    Copied(Entry),
    /// The global ledger already had the claim; this project was added to its sources.
    Known { entry: Entry, projects: usize },
}

/// Hits that the global ledger and peers add to an answer.
#[derive(Clone, Debug)]
pub struct GlobalOverlay {
    pub answer: SearchOutcome,
    pub page: EntrySelection,
    /// The peers that hits come from; hits of the global ledger have none.
    pub sources: BTreeMap<EntryId, ForeignSource>,
    /// Foreign hits that contradict local ones.
    pub competing: Vec<CompetingHypotheses>,
}

/// Ledgers that are searched after the repository's own.
#[derive(Debug, Default)]
pub struct OtherLedgers {
    pub global: Option<Engine>,
    pub peers: Vec<PeerLedger>,
}

/// Location of the global ledger, and the clock and randomness for writing to it.
#[derive(Debug)]
pub struct GlobalHome {
    pub root: PathBuf,
    pub world: Box<dyn Runtime>,
}

impl GlobalHome {
    /// Returns true if the global ledger exists.
    pub fn exists(&self) -> bool {
        self.root.join(KEN_DIR).is_dir()
    }

    /// Opens the ledger, and creates it if needed.
    fn open(self, guard: Guard, by: &Actor) -> Result<Engine, EngineError> {
        let shown = self.root.display().to_string();
        std::fs::create_dir_all(&self.root).map_err(DiskError::on("create", &shown))?;
        init_at(LedgerLocation::plain(&self.root))?;
        let mut global = Engine::open_plain(&self.root, Some(by.clone()), self.world)?;
        global.set_guard(guard);
        Ok(global)
    }
}

/// Returns the id of this project in other ledgers: a hash of the ledger's first event, which
/// every clone has.
pub(crate) fn project_id(engine: &Engine) -> Result<Tag, EngineError> {
    let first_event = engine.index.first_event()?;
    let first = first_event.map(|id| id.to_string()).unwrap_or_default();
    let hash = blake3::hash(first.as_bytes()).to_hex();
    Ok(format!("p-{}", &hash[..PROJECT_CHARS])
        .parse()
        // `p-` and eight hexadecimal digits match the syntax of tags.
        .expect("hexadecimal digits are a tag"))
}

/// Copies an entry into the global ledger, or adds this project as a source if it is there.
pub(crate) fn promote_to_global(
    engine: &mut Engine,
    home: GlobalHome,
    id: EntryId,
    judgment: PromotionDecider,
    by: &Actor,
) -> Result<GlobalPromotion, EngineError> {
    sync::sync_before_writing(engine)?;
    let entry = engine.entry(id)?;
    if entry.scope.value == EntryScope::Thread {
        return Err(EngineError::Usage(format!(
            "{id} belongs to a thread; promote it to the workspace first"
        )));
    }
    // Checked before the global ledger is opened, because opening creates it.
    promotion::check_promotable(engine, id, EntryScope::Global, judgment, by)?;
    let content = entry.content.as_ref().ok_or(Refusal::NoContent(id))?;
    let created = entry.created.as_ref().ok_or(Refusal::NoContent(id))?;
    // The first copy needs a person: agents can only add a second project to a known claim.
    let is_said = judgment == PromotionDecider::Person && by.is_human();
    if !home.exists() && !is_said {
        return Err(Refusal::OneProject(id).into());
    }
    let mut global = home.open(engine.guard.clone(), by)?;
    let project = engine.project_id()?;
    let known = global.live_entry_stating(&content.statement)?;
    let source = global_citation(&project, id);
    let done = match known {
        Some(there) => add_source_project(&mut global, &there, &source, by)?,
        None if is_said => {
            let citation = source.cite(by, engine.now());
            let origin = origin_of_copy(created.origin);
            let content = exportable_content(content);
            let mut copy = Proposal::new(created.kind, content, vec![citation], origin);
            copy.scope = EntryScope::Global;
            copy.copied_from = Some(CopiedFrom {
                project,
                entry: id,
                by: created.by.clone(),
            });
            GlobalPromotion::Copied(global.add(copy, by)?)
        }
        None => return Err(Refusal::OneProject(id).into()),
    };
    // The local event comes last: after a crash in between, a retry finds the copy.
    promotion::widen_scope(engine, id, EntryScope::Global, judgment, by)?;
    Ok(done)
}

/// Adds another project as a source of a global entry.
fn add_source_project(
    engine: &mut Engine,
    entry: &Entry,
    source: &CitationSource,
    by: &Actor,
) -> Result<GlobalPromotion, EngineError> {
    let is_cited = |entry: &Entry| {
        let mut citations = entry.citations.iter();
        citations.any(|it| it.evidence_ref == source.evidence_ref)
    };
    // Promoting twice from the same project must not confirm the entry twice.
    let entry = if is_cited(entry) {
        entry.clone()
    } else {
        engine.cite(entry.id, source.clone(), by)?;
        engine.confirm(entry.id, None, by)?
    };
    let projects = source_projects(&entry).len();
    Ok(GlobalPromotion::Known { entry, projects })
}

/// Returns the hits of other ledgers for a search that fit into the budget left by the local
/// `page`.
///
/// Entries that this repository knows itself, in these or other words, are dropped.
pub(crate) fn overlay(
    engine: &mut Engine,
    others: &mut OtherLedgers,
    search: &SearchQuery,
    (local, page): (&SearchOutcome, &EntrySelection),
    portion: SelectionLimits,
) -> Result<Option<GlobalOverlay>, EngineError> {
    let left = portion.remaining_after(page);
    if left.cap == 0 || search.query.trim().is_empty() {
        return Ok(None);
    }
    let mut answer = match &mut others.global {
        Some(global) => global.search(&search.elsewhere(), &mut |_, _| {})?,
        None => SearchOutcome::empty(local.served_by),
    };
    let project = engine.project_id()?;
    let mut found = Vec::with_capacity(answer.hits.len());
    for hit in answer.hits.drain(..) {
        if !has_source_of(engine, &hit.entry, &project)? {
            found.push(ForeignHit::global(hit));
        }
    }
    let foreign = search_peers(engine, &mut others.peers, search, &local.hits)?;
    found.extend(foreign.hits);
    answer.hits = merge_foreign_hits(&local.hits, found);
    let page_there = answer.page(left);
    let overlay = page.admits(&page_there, left).then_some(GlobalOverlay {
        answer,
        page: page_there,
        sources: foreign.sources,
        competing: foreign.competing,
    });
    Ok(overlay)
}

/// Returns true if a global entry is a copy of an entry in this repository.
fn has_source_of(engine: &Engine, entry: &Entry, project: &Tag) -> Result<bool, EngineError> {
    for (from, id) in source_entries(entry) {
        if from == project.as_str() && engine.entry(id).is_ok() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the citation of an entry in another ledger.
fn global_citation(project: &Tag, id: EntryId) -> CitationSource {
    let text = format!("{CITATION_PREFIX}{project}/{id}");
    CitationSource {
        evidence_type: CitationType::Doc,
        // A tag and an entry id have only characters that a reference allows.
        evidence_ref: text.parse().expect("two ids are a reference"),
    }
}

/// Returns the projects and entries that a global entry was copied from.
fn source_entries(entry: &Entry) -> impl Iterator<Item = (&str, EntryId)> {
    entry.citations.iter().filter_map(|citation| {
        let below = citation
            .evidence_ref
            .as_str()
            .strip_prefix(CITATION_PREFIX)?;
        let (project, id) = below.split_once('/')?;
        Some((project, id.parse().ok()?))
    })
}

/// Returns the projects that a global entry was copied from.
fn source_projects(entry: &Entry) -> BTreeSet<&str> {
    source_entries(entry).map(|(project, _)| project).collect()
}
