//! The start of work: the norms that hold for what is in hand, the few entries worth knowing, and how knowledge fares.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::answer::Hit;
use ken_core::brief::{NORMS_MAX, deal, norms_for};
use ken_core::health::{Insight, insights};
use ken_core::id::EntryId;
use ken_core::kind::{Memory, Prefix};
use ken_core::run::blind::is_one_agents_word;
use ken_core::run::{How, Offer};
use ken_core::score::Role as Work;
use ken_core::store::Filter;
use ken_core::surface::{self, Finding, Page, Tier};

use super::search::{Answer, Portion, served_by, unasked};
use super::{Beside, Desk, Failure, Reader};

/// Norms that are read.
const NORMS_READ_MAX: u32 = 500;

/// What a briefing is for.
#[derive(Clone, Debug)]
pub struct Briefing {
    pub reader: Reader,
    /// What is going to be done; may be empty.
    pub task: String,
    /// Files and folders in hand.
    pub paths: Vec<String>,
    pub role: Option<Work>,
}

/// What somebody should know before they begin.
#[derive(Clone, Debug)]
pub struct Briefed {
    /// One line each; those about what is in hand come first.
    pub norms: Page,
    /// What is known, norms left out.
    pub known: Page,
    pub beside: Beside,
    /// What the rules say about how knowledge fares, the gravest first.
    pub insights: Vec<Insight>,
}

impl Briefed {
    /// Returns all of it as an agent reads it.
    #[must_use]
    pub fn text(&self) -> String {
        let known = self.beside.behind(self.known.clone());
        surface::brief(&self.norms, &known, served_by())
    }
}

/// Gathers what to know before work begins, and writes down what is shown.
///
/// In a run somebody opened chance keeps some entries from some agents: only those can find them unseen.
pub async fn brief(desk: &mut Desk, it: Briefing) -> Result<Briefed, Failure> {
    let Briefing {
        reader,
        task,
        paths,
        role,
    } = it;
    desk.check_reader(&reader).await?;
    let run = desk.open_run_of(&reader).await?;
    let mut search = unasked(task, paths, role, reader.run.clone().unwrap_or_default());
    search.thread = run.and_then(|it| it.thread);
    let portion = Portion {
        role,
        ..Portion::default()
    };
    let Answer { mut hits, .. } = desk.answer(&search).await?;
    hits.retain(|hit| hit.entry.id.prefix() != Prefix::Norm);
    let unsaid = hits.extract_if(.., |hit| is_one_agents_word(&hit.entry));
    let unsaid: Vec<EntryId> = unsaid.map(|hit| hit.entry.id).collect();
    let norms = desk.norms(&search.paths).await?;
    let known = desk
        .hand_over((&mut hits, unsaid), &norms, portion, &reader)
        .await?;
    let beside = desk.beside(&search, (&hits, &known), portion).await?;
    let shown: Vec<EntryId> = beside.shown().iter().map(|it| it.id).collect();
    desk.note_shown(&reader, &shown, How::Brief).await?;
    let facts = desk.health_facts().await?;
    Ok(Briefed {
        norms,
        known,
        beside,
        insights: crate::away::away(move || insights(&facts)).await?,
    })
}

/// Returns the norms for the whole workspace and for `paths`, and writes down that they were shown.
pub async fn norms(desk: &mut Desk, reader: &Reader, paths: &[String]) -> Result<Page, Failure> {
    desk.check_reader(reader).await?;
    let norms = desk.norms(paths).await?;
    let shown: Vec<EntryId> = norms.shown.iter().map(|it| it.id).collect();
    desk.note_shown(reader, &shown, How::Pull).await?;
    Ok(norms)
}

impl Desk {
    /// Returns the norms for the whole workspace and for `paths`.
    pub(super) async fn norms(&mut self, paths: &[String]) -> Result<Page, Failure> {
        let filter = Filter {
            memory: Some(Memory::Procedural),
            ..Filter::default()
        };
        let workspace = self.workspace().await?;
        let listed = self
            .tenant
            .list(&filter, None, Some(NORMS_READ_MAX))
            .await?;
        let norms = norms_for(listed, &workspace, paths, self.now);
        let findings: Vec<Finding<'_>> = norms
            .iter()
            .map(|(entry, facts)| Finding {
                entry,
                facts,
                score: 0.0,
                conflicts: &[],
            })
            .collect();
        let portion = Portion {
            cap: NORMS_MAX,
            budget: usize::MAX,
            tier: Some(Tier::Summary),
            role: None,
        };
        Ok(portion.page_of(&findings))
    }

    /// Lays out what `reader` is given, and writes down what that was.
    async fn hand_over(
        &mut self,
        (hits, unsaid): (&mut Vec<Hit>, Vec<EntryId>),
        norms: &Page,
        portion: Portion,
        reader: &Reader,
    ) -> Result<Page, Failure> {
        let offers = self.offers(reader, hits.iter().map(|hit| &hit.entry));
        let offers: BTreeMap<EntryId, Offer> = offers
            .await?
            .into_iter()
            .map(|offer| (offer.entry, offer))
            .collect();
        let (page, decided) = deal(hits, &offers, |hits| portion.page(hits));
        let norms: Vec<EntryId> = norms.shown.iter().map(|it| it.id).collect();
        self.note_shown(reader, &norms, How::Brief).await?;
        if offers.is_empty() {
            let shown: Vec<EntryId> = page.shown.iter().map(|it| it.id).collect();
            self.note_shown(reader, &shown, How::Brief).await?;
        }
        let passed = passed(hits, &decided, unsaid);
        let decided = decided.iter().filter_map(|id| offers.get(id).copied());
        self.note_pushed(reader, decided.collect(), passed).await?;
        Ok(page)
    }
}

/// Returns what fitted and was not told: there was no room, or it rests on one agent's word.
fn passed(hits: &[Hit], decided: &BTreeSet<EntryId>, unsaid: Vec<EntryId>) -> Vec<EntryId> {
    let fitted = hits.iter().map(|hit| hit.entry.id);
    let fitted = fitted.filter(|id| !decided.contains(id));
    fitted.chain(unsaid).collect()
}
