//! Searching: what may answer comes from the store, what deserves to be shown from the score, and what the organisation
//! knows stands beneath it.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::answer::{
    Against, Answer, Candidate, Hit, Near, Scorer, Search, ThreadVisibility, beneath,
};
use ken_core::id::EntryId;
use ken_core::object::Answered;
use ken_core::run::How;
use ken_core::score::{Weights, Withheld};
use ken_core::surface::{Finding, Page, Portion};
use ken_core::workspace::Workspace;
use ken_embed::{Rung, count_tokens};

use super::desk::check_door;
use super::{Beside, Desk, Failure, House, Reader};
use crate::database::Database;
use crate::identity::{Caller, WorkspaceId};
use crate::store::{Query, model};

/// Entries that are scored; more would not reach the first page.
const SCORED_MAX: u32 = 50;

/// Where entry files lie in a repository; what is cut short names the file that has all of it.
const ENTRIES_DIR: &str = ".ken/entries";

/// What is asked, and by whom.
#[derive(Clone, Debug)]
pub struct Question {
    pub search: Search,
    pub portion: Portion,
    pub reader: Reader,
}

/// What a search found: here, and in the organisation.
#[derive(Clone, Debug)]
pub struct Found {
    pub search: Search,
    /// Best first.
    pub hits: Vec<Hit>,
    /// Relevant entries that are not shown, and why.
    pub withheld: Vec<(EntryId, Withheld)>,
    pub page: Page,
    pub beside: Beside,
}

/// Lays findings out, best first.
pub(super) fn laid_out(findings: &[Finding<'_>], portion: Portion) -> Page {
    Page::of(findings, &portion.room(ENTRIES_DIR, &count_tokens))
}

/// Lays hits out, best first.
pub(super) fn page_of(hits: &[Hit], portion: Portion) -> Page {
    let findings: Vec<Finding<'_>> = hits.iter().map(Hit::as_finding).collect();
    laid_out(&findings, portion)
}

impl Found {
    /// Returns it as programs are told.
    #[must_use]
    pub fn told(&self) -> Answered<'_> {
        let beside = self.beside.page.as_ref();
        Answered {
            query: &self.search.query,
            served_by: served_by(),
            hits: &self.hits,
            withheld: &self.withheld,
            page: &self.page,
            global: beside.map(|page| (self.beside.hits.as_slice(), page)),
        }
    }
}

/// Searches, and writes down what is shown.
pub async fn search(desk: &mut Desk, question: Question) -> Result<Found, Failure> {
    let Question {
        mut search,
        portion,
        reader,
    } = question;
    let mut seat = desk.seat(&reader).await?;
    if search.thread.is_none() {
        let run = desk.run_at(&mut seat).await?;
        search.thread = run.and_then(|it| it.thread.clone());
    }
    let Answer { hits, withheld } = desk.answer(&search).await?;
    let page = page_of(&hits, portion);
    let beside = desk.beside(&search, (&hits, &page), portion).await?;
    let shown = page.shown.iter().chain(beside.shown()).map(|it| it.id);
    let shown: Vec<EntryId> = shown.collect();
    desk.note_shown(&seat, &shown, How::Pull).await?;
    Ok(Found {
        search,
        hits,
        withheld,
        page,
        beside,
    })
}

/// Searches here only, keeps of it what `keep` says, and writes down what is shown.
pub async fn search_kept(
    desk: &mut Desk,
    reader: &Reader,
    search: &Search,
    portion: Portion,
    keep: impl Fn(&Hit) -> bool,
) -> Result<Page, Failure> {
    let seat = desk.seat(reader).await?;
    let Answer { mut hits, .. } = desk.answer(search).await?;
    hits.retain(keep);
    let page = page_of(&hits, portion);
    desk.note_shown(&seat, &page.ids(), How::Pull).await?;
    Ok(page)
}

impl Desk {
    /// Begins to answer a question: the workspace is asked with the message that begins the transaction.
    pub async fn begin_search(
        database: &Database,
        house: &House,
        caller: Caller,
        workspace: WorkspaceId,
        search: &Search,
    ) -> Result<Self, Failure> {
        check_door(&caller, workspace)?;
        let query = query(search);
        let tenant = database.searching(caller.organisation, workspace, &query);
        Ok(Self::over(tenant.await?, house, caller))
    }

    /// Returns what answers in this workspace, best first, with who contradicts it beside it.
    pub(super) async fn answer(&mut self, search: &Search) -> Result<Answer, Failure> {
        let found = self.tenant.candidates(&query(search)).await?;
        let workspace = self.workspace().await?;
        let scorer = Scorer {
            search,
            weights: Weights::of(&workspace).unwrap_or_default(),
            workspace: &workspace,
            // A hub has no code to look at.
            validity: BTreeMap::new(),
            threads: ThreadVisibility::default(),
            now: self.now,
            beside: found.iter().map(|it| it.entry.id).collect(),
        };
        let mut answer = Answer::of(&scorer, found);
        let ids: Vec<EntryId> = answer.hits.iter().map(|hit| hit.entry.id).collect();
        let against = self.against(&ids, &workspace).await?;
        let missing: Vec<EntryId> = answer.missing(&against).into_iter().collect();
        if !missing.is_empty() {
            let mut opponents = self.tenant.entries(&missing).await?;
            opponents.sort_by_key(|it| it.id);
            answer.add(&scorer, opponents.into_iter().map(Candidate::beside));
        }
        answer.oppose(&against);
        Ok(answer)
    }

    /// Returns who contradicts each of `ids`: by a link, or flagged and not settled.
    pub(super) async fn against(
        &mut self,
        ids: &[EntryId],
        workspace: &Workspace,
    ) -> Result<Against, Failure> {
        let mut against = self.tenant.contradicting(ids).await?;
        let open = workspace.open_contradictions();
        for id in ids {
            if let Some(others) = open.get(id) {
                against.entry(*id).or_default().extend(others);
            }
        }
        Ok(against)
    }

    /// Returns what the organisation adds to what is known here, in the room its page left.
    pub(super) async fn beside(
        &mut self,
        search: &Search,
        (local, page): (&[Hit], &Page),
        portion: Portion,
    ) -> Result<Beside, Failure> {
        let left = portion.left_by(page);
        if left.cap == 0 || search.query.trim().is_empty() {
            return Ok(Beside::default());
        }
        let asked = search.elsewhere();
        let found = self.tenant.global_candidates(&query(&asked)).await?;
        // Neither what is revoked there nor what is weighed otherwise there is known here.
        let nowhere = Workspace::default();
        let scorer = Scorer {
            search: &asked,
            weights: Weights::default(),
            workspace: &nowhere,
            validity: BTreeMap::new(),
            threads: ThreadVisibility::default(),
            now: self.now,
            beside: BTreeSet::new(),
        };
        let found = found.into_iter();
        let found = found.filter_map(|it| scorer.judge(it.candidate).ok());
        let hits = beneath(local, found.collect());
        let page_there = page_of(&hits, left);
        if !page.admits(&page_there, left) {
            return Ok(Beside::default());
        }
        Ok(Beside {
            hits,
            page: Some(page_there),
        })
    }
}

/// Returns which kind of model answers here: the one that is built in.
#[must_use]
pub fn served_by() -> &'static str {
    Rung::Static.name()
}

fn query(search: &Search) -> Query<'_> {
    Query {
        text: &search.query,
        filter: &search.filter,
        paths: &search.paths,
        least: search.floor.least(Some(near())),
        limit: SCORED_MAX,
    }
}

/// Returns from which cosines on the built-in model's nearness means something.
fn near() -> Near {
    let thresholds = model().thresholds;
    Near {
        relevant: thresholds.relevant,
        strict: thresholds.strict,
    }
}
