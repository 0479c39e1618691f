//! The start of work: the norms that hold for what is in hand, the few entries worth knowing, and how knowledge fares.

use ken_core::answer::{Answer, Search};
use ken_core::brief::{Dealt, deal, norms_page, set_apart};
use ken_core::health::{Insight, insights};
use ken_core::kind::Memory;
use ken_core::run::How;
use ken_core::score::Role as Work;
use ken_core::store::Filter;
use ken_core::surface::{self, Page, Portion};

use super::search::{laid_out, page_of, served_by};
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
    let mut seat = desk.seat(&reader).await?;
    let drawn = reader.run.clone().unwrap_or_default();
    let mut search = Search::unasked(&task, paths, role, drawn);
    search.thread = desk
        .run_at(&mut seat)
        .await?
        .and_then(|it| it.thread.clone());
    let portion = Portion {
        role,
        ..Portion::default()
    };
    let Answer { mut hits, .. } = desk.answer(&search).await?;
    let unsaid = set_apart(&mut hits);
    let norms = desk.norms(&search.paths).await?;
    let offers = desk.offers(&mut seat, hits.iter().map(|hit| &hit.entry));
    let offers = offers.await?;
    let lay_out = |hits: &[_]| page_of(hits, portion);
    let Dealt {
        page: known,
        shown,
        offers,
        passed,
    } = deal(&mut hits, offers, &unsaid, lay_out);
    let beside = desk.beside(&search, (&hits, &known), portion).await?;
    let beyond = beside.shown().iter().map(|it| it.id);
    let shown: Vec<_> = norms.ids().into_iter().chain(shown).chain(beyond).collect();
    desk.note_shown(&seat, &shown, How::Brief).await?;
    desk.note_pushed(&seat, offers, passed).await?;
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
    let seat = desk.seat(reader).await?;
    let norms = desk.norms(paths).await?;
    desk.note_shown(&seat, &norms.ids(), How::Pull).await?;
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
        Ok(norms_page(listed, &workspace, paths, self.now, laid_out))
    }
}
