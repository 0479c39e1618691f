//! The briefing and the list of entries, for resources and prompts.

use ken_core::id::EntryId;
use ken_core::run::How;
use ken_core::store::Filter;
use ken_engine::search::{Asked, Portion, Search};
use ken_mcp::ask::BriefAsk;
use ken_mcp::words;

use super::Desk;
use crate::asking::Asker;
use crate::failure::Failure;

/// Entries the list has at most; what is beyond is found by searching.
const INDEX_MAX: usize = 200;

pub(super) fn brief(desk: &mut Desk<'_>, ask: &BriefAsk) -> Result<String, Failure> {
    if let Some(workspace) = &ask.workspace {
        check_workspace(desk, workspace)?;
    }
    let in_hand = match &ask.base {
        Some(base) => {
            super::check_revision(base)?;
            desk.engine.asked_by_diff(base)?
        }
        None => Asked {
            text: String::new(),
            paths: desk.engine.paths_in_hand(),
        },
    };
    let task = format!("{} {}", ask.task, in_hand.text);
    let portion = Portion {
        role: ask.role,
        ..Portion::default()
    };
    let search = Search::unasked(&task, in_hand.paths, ask.role, desk.run());
    let asker = Asker {
        surroundings: desk.surroundings,
        reader: Some(desk.reader),
    };
    let briefed = asker.brief(desk.engine, search, portion, &mut |_, _| ())?;
    Ok(briefed.text())
}

/// Refuses a workspace that is not this one: it goes by the project's id, or by its folder's name.
fn check_workspace(desk: &Desk<'_>, wanted: &str) -> Result<(), Failure> {
    let folder = desk.engine.root().file_name();
    let is_folder = folder.is_some_and(|it| it == wanted);
    if is_folder || desk.engine.project()?.as_str() == wanted {
        return Ok(());
    }
    let mut failure = Failure::usage(format!("this is not workspace `{wanted}`"));
    failure.code = "no_workspace";
    Err(failure)
}

pub(super) fn index(desk: &mut Desk<'_>) -> Result<String, Failure> {
    let filter = Filter {
        limit: Some(INDEX_MAX + 1),
        ..Filter::default()
    };
    let mut entries = desk.engine.list(&filter)?;
    let is_cut = INDEX_MAX < entries.len();
    entries.truncate(INDEX_MAX);
    let ids: Vec<EntryId> = entries.iter().map(|it| it.id).collect();
    desk.engine.note_shown(desk.reader, &ids, How::Pull)?;
    let project = desk.engine.project()?;
    let newest = is_cut.then_some(INDEX_MAX);
    Ok(words::index(project.as_str(), &entries, newest))
}
