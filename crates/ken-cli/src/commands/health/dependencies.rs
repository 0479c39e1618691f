//! `ken health dependencies`: the lessons that a change of package versions begins and ends.

use clap::Args;
use ken_engine::federation::{DependencyLesson, LessonSource, LessonTransition};
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{escape_invisible, pluralize};

/// `ken health dependencies`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken health dependencies --base main")]
pub(crate) struct DependenciesArgs {
    /// Commit whose lockfiles are compared with the work tree
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    base: String,
    /// List lessons that apply before and after, too
    #[arg(long)]
    all: bool,
}

/// JSON view of a lesson.
#[derive(Serialize)]
struct LessonObject {
    schema: &'static str,
    id: String,
    transition: LessonTransition,
    /// The peer that published it; absent for an entry of this repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
    statement: String,
    conditions: Vec<String>,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &DependenciesArgs,
) -> Result<CommandExit, CommandFailure> {
    let peers = session.surroundings.open_peers()?;
    let lessons = session.read(|engine| Ok(engine.dependency_lessons(&peers, &args.base)?))?;
    let is_listed =
        |it: &&DependencyLesson| args.all || it.transition != LessonTransition::Continues;
    for lesson in lessons.iter().filter(is_listed) {
        let object = lesson_object(lesson);
        if session.is_json() {
            session.printer.json(&object)?;
            continue;
        }
        let word = match object.transition {
            LessonTransition::Begins => "begins",
            LessonTransition::Ends => "ends",
            LessonTransition::Continues => "continues",
        };
        let from = object
            .peer
            .map_or_else(String::new, |it| format!("  peer {it}"));
        session.printer.line(format_args!(
            "{word:<9} {}{from}  {}",
            object.id,
            object.conditions.join(", ")
        ))?;
        let statement = escape_invisible(&object.statement);
        session.printer.line(format_args!("  {statement}"))?;
    }
    if !session.is_json() {
        let count = |wanted| {
            let found = lessons.iter().filter(|it| it.transition == wanted);
            pluralize(found.count() as u64, "lesson", "lessons")
        };
        session.printer.talk(format_args!(
            "{} begin to apply, {} end, {} continue",
            count(LessonTransition::Begins),
            count(LessonTransition::Ends),
            count(LessonTransition::Continues)
        ))?;
    }
    Ok(CommandExit::Fine)
}

fn lesson_object(lesson: &DependencyLesson) -> LessonObject {
    LessonObject {
        schema: "ken.dependency_lesson.v1",
        id: lesson.entry.id.to_string(),
        transition: lesson.transition,
        peer: match &lesson.source {
            LessonSource::Repository => None,
            LessonSource::Peer(name) => Some(name.clone()),
        },
        statement: lesson.entry.statement_text().to_owned(),
        conditions: lesson.conditions.iter().map(ToString::to_string).collect(),
    }
}
