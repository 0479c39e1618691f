//! `ken model`: which model serves, and choosing another.

use std::path::Path;

use ken_engine::Engine;
use ken_engine::model::{Endpoint, Fetch, Report};
use serde::Serialize;

use super::Session;
use crate::args::{AddModelArgs, ModelCommand};
use crate::failure::{Exit, Failure};
use crate::print::counted;
use crate::print::progress::Progress;
use crate::world;

/// The model as programs read it.
#[derive(Serialize)]
struct ModelObject<'a> {
    schema: &'static str,
    chosen: &'a str,
    served_by: &'static str,
    /// Why that is not the same.
    trouble: Option<&'a str>,
    id: Option<&'a str>,
    dimension: Option<usize>,
    /// What was added, whether it serves or not.
    added: AddedObject<'a>,
    entries: u64,
    /// Entries whose vectors are made by the next search.
    waiting: u64,
}

#[derive(Serialize)]
struct AddedObject<'a> {
    folder: Option<&'a str>,
    url: Option<&'a str>,
    model: Option<&'a str>,
}

pub(super) fn run(session: &mut Session<'_>, command: &ModelCommand) -> Result<Exit, Failure> {
    let report = match command {
        ModelCommand::Show => session.read(|engine| Ok(engine.model()?))?,
        ModelCommand::Add(args) => add(session, args)?,
        ModelCommand::Use { rung } => chosen(session, |engine| Ok(engine.use_model(rung.rung())?))?,
        ModelCommand::Remove => chosen(session, |engine| Ok(engine.remove_models()?))?,
    };
    print(session, &report)?;
    let is_changed = !matches!(command, ModelCommand::Show);
    if is_changed && 0 < report.waiting && !session.is_json() {
        let entries = counted(report.waiting, "entry", "entries");
        let said = format_args!("the next search embeds {entries} with it");
        session.printer.hint(said)?;
    }
    Ok(Exit::Fine)
}

/// Chooses, and returns what serves then.
fn chosen(
    session: &mut Session<'_>,
    choose: impl FnOnce(&mut Engine) -> Result<(), Failure>,
) -> Result<Report, Failure> {
    session.read(|engine| {
        choose(engine)?;
        Ok(engine.model()?)
    })
}

fn add(session: &mut Session<'_>, args: &AddModelArgs) -> Result<Report, Failure> {
    if let (Some(url), Some(dialect), Some(model)) = (&args.http, args.dialect, &args.model) {
        let endpoint = Endpoint {
            dialect: dialect.name().to_owned(),
            url: url.clone(),
            model: model.clone(),
            key_variable: args.key_env.clone(),
            plain: args.plain,
        };
        return chosen(session, |engine| Ok(engine.add_endpoint(&endpoint)?));
    }
    let source = args.source.as_deref().unwrap_or_default();
    let folder = session.surroundings.start.join(source);
    if folder.is_dir() || !is_name(source) {
        return chosen(session, |engine| Ok(engine.add_folder(&folder)?));
    }
    let wanted = Fetch {
        name: source.to_owned(),
        hub: args.hub.clone().or_else(world::model_hub),
        cache: world::models()?,
    };
    let progress = Progress::start(session.printer, "fetching the model", None);
    chosen(session, |engine| {
        let folder = progress.during(|it| {
            let count = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
            engine.fetch_model(&wanted, &mut |at, all| it.come_to(count(at), count(all)))
        })?;
        Ok(engine.add_folder(&folder)?)
    })
}

/// Returns whether this could be the name of a model and not only a path.
fn is_name(source: &str) -> bool {
    let is_plain = Path::new(source).is_relative() && !source.starts_with('.');
    is_plain && source.matches('/').count() == 1 && !source.ends_with('/')
}

fn print(session: &mut Session<'_>, report: &Report) -> Result<(), Failure> {
    if session.is_json() {
        return session.printer.json(&object(report));
    }
    let mut line = |name: &str, value: &str| {
        let line = format!("{name:<11}{value}");
        session.printer.line(line)
    };
    let served_by = report.served_by.name();
    match report.trouble {
        None => line("rung", served_by)?,
        Some(_) => line(
            "rung",
            &format!("{served_by}, instead of {}", report.chosen),
        )?,
    }
    if let Some(why) = &report.trouble {
        line("trouble", why)?;
    }
    if let Some(id) = &report.id {
        line("model", id)?;
    }
    if let Some(dimension) = report.dimension {
        line("dimension", &dimension.to_string())?;
        let (with, all) = (
            report.entries.saturating_sub(report.waiting),
            report.entries,
        );
        let vectors = match report.waiting {
            0 => format!("of {}", counted(all, "entry", "entries")),
            waiting => format!(
                "of {with} of {}; {waiting} wait for the next search",
                counted(all, "entry", "entries")
            ),
        };
        line("vectors", &vectors)?;
    }
    if let Some(folder) = &report.folder {
        line("folder", folder)?;
    }
    if let Some((url, model)) = &report.endpoint {
        line("endpoint", &format!("{model} at {url}"))?;
    }
    Ok(())
}

fn object(report: &Report) -> ModelObject<'_> {
    let endpoint = report.endpoint.as_ref();
    ModelObject {
        schema: "ken.model.v1",
        chosen: &report.chosen,
        served_by: report.served_by.name(),
        trouble: report.trouble.as_deref(),
        id: report.id.as_deref(),
        dimension: report.dimension,
        added: AddedObject {
            folder: report.folder.as_deref(),
            url: endpoint.map(|(url, _)| url.as_str()),
            model: endpoint.map(|(_, model)| model.as_str()),
        },
        entries: report.entries,
        waiting: report.waiting,
    }
}
