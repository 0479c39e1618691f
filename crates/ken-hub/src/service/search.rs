//! Searching: what may answer comes from the store, what deserves to be shown from the score, and what the organisation
//! knows stands beneath it.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::answer::{Candidate, Floor, Hit, Near, Scorer, Search, ThreadVisibility, sort};
use ken_core::id::EntryId;
use ken_core::object::Answered;
use ken_core::run::How;
use ken_core::score::{Role as Work, Weights, Withheld};
use ken_core::surface::{BUDGET, CAP, Finding, Page, Room, Tier};
use ken_core::workspace::Workspace;
use ken_embed::{Embedder as _, Rung, StaticTable, count_tokens};

use super::{Beside, Desk, Failure, Reader, beneath};
use crate::store::Query;

/// Entries that are scored; more would not reach the first page.
const SCORED_MAX: u32 = 50;

/// Where entry files lie in a repository; what is cut short names the file that has all of it.
const ENTRIES_DIR: &str = ".ken/entries";

/// How much of an answer is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Portion {
    /// Entries at most.
    pub cap: usize,
    /// Tokens that should do.
    pub budget: usize,
    /// `None` lets the answer decide.
    pub tier: Option<Tier>,
    pub role: Option<Work>,
}

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

/// What answers here, before it is laid out.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) hits: Vec<Hit>,
    pub(super) withheld: Vec<(EntryId, Withheld)>,
}

impl Default for Portion {
    fn default() -> Self {
        Self {
            cap: CAP,
            budget: BUDGET,
            tier: None,
            role: None,
        }
    }
}

impl Portion {
    /// Lays hits out, best first.
    #[must_use]
    pub fn page(self, hits: &[Hit]) -> Page {
        let findings: Vec<Finding<'_>> = hits.iter().map(Hit::as_finding).collect();
        self.page_of(&findings)
    }

    pub(super) fn page_of(self, findings: &[Finding<'_>]) -> Page {
        let room = Room {
            cap: self.cap,
            budget: self.budget,
            tier: self.tier,
            role: self.role,
            folder: ENTRIES_DIR,
            tokens: &count_tokens,
        };
        Page::of(findings, &room)
    }
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
    desk.check_reader(&reader).await?;
    if search.thread.is_none() {
        let run = desk.open_run_of(&reader).await?;
        search.thread = run.and_then(|it| it.thread);
    }
    let Answer { hits, withheld } = desk.answer(&search).await?;
    let page = portion.page(&hits);
    let beside = desk.beside(&search, (&hits, &page), portion).await?;
    let shown = page.shown.iter().chain(beside.shown()).map(|it| it.id);
    let shown: Vec<EntryId> = shown.collect();
    desk.note_shown(&reader, &shown, How::Pull).await?;
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
    desk.check_reader(reader).await?;
    let Answer { mut hits, .. } = desk.answer(search).await?;
    hits.retain(keep);
    let page = portion.page(&hits);
    let shown: Vec<EntryId> = page.shown.iter().map(|it| it.id).collect();
    desk.note_shown(reader, &shown, How::Pull).await?;
    Ok(page)
}

impl Desk {
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
        let mut answer = Answer::default();
        for candidate in found {
            answer.take(scorer.judge(candidate));
        }
        self.bring_opponents(&mut answer, &scorer).await?;
        Ok(answer)
    }

    /// Names the entries that contradict a hit and brings along those the search did not find.
    async fn bring_opponents(
        &mut self,
        answer: &mut Answer,
        scorer: &Scorer<'_>,
    ) -> Result<(), Failure> {
        let ids: Vec<EntryId> = answer.hits.iter().map(|hit| hit.entry.id).collect();
        let against = self.against(&ids, scorer.workspace).await?;
        let there: BTreeSet<EntryId> = answer.ids().collect();
        let all: BTreeSet<EntryId> = against.values().flatten().copied().collect();
        for id in all.difference(&there) {
            if let Some(entry) = self.tenant.entry(*id).await? {
                answer.take(scorer.judge(Candidate::beside(entry)));
            }
        }
        let shown: BTreeSet<EntryId> = answer.hits.iter().map(|hit| hit.entry.id).collect();
        for hit in &mut answer.hits {
            let own = hit.entry.id;
            let others = against.iter().filter(|(_, it)| it.contains(&own));
            let others = others.map(|(id, _)| *id);
            let others = others.chain(against.get(&own).into_iter().flatten().copied());
            // A rejected claim contradicts nothing.
            let others: BTreeSet<EntryId> = others.filter(|id| shown.contains(id)).collect();
            hit.conflicts = others.into_iter().collect();
        }
        sort(&mut answer.hits);
        Ok(())
    }

    /// Returns who contradicts each of `ids`: by a link, or flagged and not settled.
    pub(super) async fn against(
        &mut self,
        ids: &[EntryId],
        workspace: &Workspace,
    ) -> Result<BTreeMap<EntryId, BTreeSet<EntryId>>, Failure> {
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
        let room = Portion {
            cap: portion.cap.saturating_sub(page.shown.len()),
            budget: portion.budget.saturating_sub(page.tokens),
            tier: Some(portion.tier.unwrap_or(Tier::Summary)),
            role: portion.role,
        };
        if room.cap == 0 || search.query.trim().is_empty() {
            return Ok(Beside::default());
        }
        let asked = Search {
            paths: Vec::new(),
            thread: None,
            include_stale: false,
            ..search.clone()
        };
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
        let page_there = room.page(&hits);
        let is_too_much = !page.shown.is_empty() && room.budget < page_there.tokens;
        if page_there.shown.is_empty() || is_too_much {
            return Ok(Beside::default());
        }
        Ok(Beside {
            hits,
            page: Some(page_there),
        })
    }
}

impl Answer {
    fn take(&mut self, judged: Result<Hit, (EntryId, Withheld)>) {
        match judged {
            Ok(hit) => self.hits.push(hit),
            Err(withheld) => self.withheld.push(withheld),
        }
    }

    fn ids(&self) -> impl Iterator<Item = EntryId> {
        let hits = self.hits.iter().map(|hit| hit.entry.id);
        hits.chain(self.withheld.iter().map(|(id, _)| *id))
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
    let thresholds = StaticTable::new().model().thresholds;
    Near {
        relevant: thresholds.relevant,
        strict: thresholds.strict,
    }
}

/// Returns the search of a briefing: nobody asked for these entries by name, so only what surely fits is told.
pub(super) fn unasked(
    query: String,
    paths: Vec<String>,
    role: Option<Work>,
    run: String,
) -> Search {
    Search {
        query,
        paths,
        role,
        run: Some(run),
        floor: Floor::Strict,
        ..Search::default()
    }
}
