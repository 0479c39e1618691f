//! `ken_check`: what applies to places or to a change, and which knowledge the change would invalidate.
//!
//! The agent asked, so nothing is kept from it by chance; what it is told is written down.

use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::kind::Prefix;
use ken_core::run::How;
use ken_core::score::Withheld;
use ken_core::surface::{Page, Tier, inline};
use ken_engine::search::{Answer, Floor, Portion, Search};
use ken_engine::validity::{Checked, From, Verdict};
use ken_engine::verify::{Finding, Scope, Verified};
use ken_mcp::Reply;
use ken_mcp::ask::{CheckAsk, Format};
use ken_mcp::words::{self, Change};

use super::Desk;
use crate::failure::Failure;
use crate::print::gate::CheckedObject;

/// Entries about the places in hand that are told.
const KNOWN_MAX: usize = 10;

/// Where uncommitted work begins.
const LAST_COMMIT: &str = "HEAD";

/// What applies, with what it was told from.
struct Applies {
    paths: Vec<String>,
    norms: Page,
    known: Page,
    withheld: Vec<EntryId>,
    /// What a change does; without one nothing was compared.
    verified: Option<Verified>,
}

pub(super) fn check(desk: &mut Desk<'_>, ask: &CheckAsk) -> Result<Reply, Failure> {
    let mut paths = desk.places(&ask.paths)?;
    let base = match (ask.base.trim(), paths.is_empty()) {
        ("", false) => None,
        ("", true) => Some(LAST_COMMIT),
        (base, _) => Some(base),
    };
    let verified = match base {
        Some(base) => changed(desk, base, ask.base.trim().is_empty())?,
        None => None,
    };
    if paths.is_empty() {
        paths = match &verified {
            Some(_) if base != Some(LAST_COMMIT) => {
                desk.engine.asked_by_diff(base.unwrap_or_default())?.paths
            }
            Some(_) | None => desk.engine.paths_in_hand(),
        };
    }
    let norms = desk.engine.norms_for(&paths)?;
    let (known, mut withheld) = about(desk, &paths)?;
    // What the change itself invalidates is told with what it did.
    let impact = verified.as_ref().map(|it| &it.impact);
    let invalid =
        |id: &EntryId| impact.is_some_and(|it| it.invalid.iter().any(|it| it.entry.id == *id));
    withheld.retain(|id| !invalid(id));
    let applies = Applies {
        paths,
        norms,
        known,
        withheld,
        verified,
    };
    let told = applies.told();
    desk.engine.note_shown(desk.reader, &told, How::Pull)?;
    match ask.format {
        Format::Text => Ok(Reply::Text(applies.words().text())),
        Format::Json => super::json(&applies.words().object(applies.change())),
    }
}

/// Holds knowledge against a change; where nobody named one and there is no commit yet, there is none.
fn changed(desk: &mut Desk<'_>, base: &str, is_guess: bool) -> Result<Option<Verified>, Failure> {
    super::check_revision(base)?;
    let scope = Scope::Change {
        base,
        head: None,
        from: From::Member,
    };
    match desk
        .engine
        .verify(scope, &desk.reader.agent, &mut |_, _| ())
    {
        Err(_) if is_guess => Ok(None),
        verified => Ok(Some(verified?)),
    }
}

/// Returns the entries about `paths`, norms left out, and those whose code changed.
fn about(desk: &mut Desk<'_>, paths: &[String]) -> Result<(Page, Vec<EntryId>), Failure> {
    let search = Search {
        query: paths.join(" ").replace('/', " "),
        paths: paths.to_vec(),
        run: Some(desk.run()),
        floor: Floor::Relevant,
        ..Search::default()
    };
    let mut answer = match paths.is_empty() {
        true => Answer {
            served_by: ken_engine::model::Rung::None,
            hits: Vec::new(),
            withheld: Vec::new(),
        },
        false => desk.engine.search(&search, &mut |_, _| ())?,
    };
    answer
        .hits
        .retain(|hit| hit.anchored && hit.entry.id.prefix() != Prefix::Norm);
    let page = answer.page(Portion {
        cap: KNOWN_MAX,
        budget: usize::MAX,
        tier: Some(Tier::Summary),
        role: None,
    });
    let mut withheld = Vec::new();
    for (id, why) in answer.withheld {
        let is_stale = matches!(why, Withheld::Changed | Withheld::Broken);
        if is_stale && is_about(&desk.engine.entry(id)?, paths) {
            withheld.push(id);
        }
    }
    Ok((page, withheld))
}

fn is_about(entry: &Entry, paths: &[String]) -> bool {
    let content = entry.content.as_ref();
    let mut anchors = content.into_iter().flat_map(|it| &it.evidence);
    anchors.any(|anchor| paths.iter().any(|path| anchor.at.covers(path)))
}

impl Applies {
    /// Returns the entries whose text the answer shows.
    fn told(&self) -> Vec<EntryId> {
        let pages = self.norms.shown.iter().chain(&self.known.shown);
        let impact = self.verified.iter().flat_map(|it| it.impact.entries_told());
        pages.map(|it| it.id).chain(impact).collect()
    }

    fn words(&self) -> words::Applies<'_> {
        let change = self.verified.as_ref().map(|it| {
            let impact = &it.impact;
            let told = it.findings.iter();
            let told = told.filter(|it| it.gate != "knowledge.validity");
            vec![
                (
                    "the change invalidates",
                    impact.invalid.iter().map(line).collect(),
                ),
                (
                    "moved by the change",
                    impact.moved.iter().map(line).collect(),
                ),
                ("findings", told.map(finding_line).collect()),
            ]
        });
        words::Applies {
            paths: &self.paths,
            norms: &self.norms,
            known: &self.known,
            withheld: &self.withheld,
            change: change.unwrap_or_default(),
            missing: "no paths, no change",
        }
    }

    fn change(&self) -> Change<'_, CheckedObject<'_>> {
        let change = self.verified.as_ref().map(|it| Change {
            invalid: CheckedObject::all(&it.impact.invalid),
            moved: CheckedObject::all(&it.impact.moved),
            findings: &it.findings,
        });
        change.unwrap_or_default()
    }
}

/// Returns what a change does to an entry.
fn line(checked: &Checked) -> String {
    let (id, title) = (checked.entry.id, inline(&checked.entry.title()));
    let anchors = checked.anchors.iter();
    let anchors = anchors.filter(|it| it.verdict != Verdict::Intact);
    let anchors = anchors.map(|it| {
        let now = it.now.as_ref().filter(|_| it.verdict == Verdict::Moved);
        let to = now.map(|it| format!(" to {}", it.at)).unwrap_or_default();
        format!("{} {}{to}", it.at, ken_core::text::word(&it.verdict))
    });
    let broken = checked.conditions.iter().filter(|it| !it.why.is_empty());
    let broken = broken.map(|it| format!("{}: {}", it.condition, it.why));
    let why: Vec<String> = anchors.chain(broken).collect();
    format!("[{id}] {title} ({})", inline(&why.join("; ")))
}

fn finding_line(it: &Finding) -> String {
    let level = ken_core::text::word(&it.level);
    let line = it.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!(
        "{level} {}{line}: {} [{}]",
        inline(&it.at),
        inline(&it.message),
        it.gate
    )
}
