//! `ken search`: finds the entries relevant to a query, with the reasons for each match.

use clap::{Args, ValueEnum};
use ken_core::federation::{CompetingHypotheses, ForeignSource, Freshness, Preference};
use ken_core::retrieval::score::HiddenReason;
use ken_core::retrieval::surface::{
    self, DetailTier, ENTRIES_MAX, EntrySelection, NOTHING_FOUND, OmittedEntry, SelectedEntry,
    TOKEN_BUDGET,
};
use ken_core::retrieval::unrecorded::{self, UNRECORDED_HEADING, UnrecordedHit};
use ken_core::values::id::EntryId;
use ken_core::values::text::{Tag, enum_label, escape_invisible};
use ken_core::values::time::{Date, Timestamp};
use ken_engine::promotion::GlobalOverlay;
use ken_engine::search::{
    RelevanceFloor, SearchHit, SearchOutcome, SearchQuery, SelectionLimits, UnansweredQuery,
};
use serde::Serialize;

use super::{Session, query_input};
use crate::args::filter::WhichArgs;
use crate::asking::{
    GLOBAL_HEADING, PEERS_HEADING, QueryResults, QueryService, SearchRequest, WeakHits,
};
use crate::commands::query_input::{QueryInputArgs, ReaderRoleArg, TypedQuery};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::answer_json::answer_json;
use crate::print::hits::{hit_text, score_text, unrecorded_text};
use crate::print::pluralize;
use crate::print::progress::ProgressIndicator;

/// `ken search`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken search retry payment\n  ken search --file src/pay.rs\n  cargo test 2>&1 | ken search --error"
)]
pub(crate) struct SearchArgs {
    /// The query: words, a question or an identifier
    #[arg(value_name = "QUERY", required_unless_present_any = ["paths", "diff", "error", "file", "unanswered"])]
    pub(crate) query: Vec<String>,
    #[command(flatten)]
    pub(crate) input: QueryInputArgs,
    /// Role of the reader; each role ranks other kinds first
    #[arg(long = "for", value_name = "ROLE")]
    pub(crate) role: Option<ReaderRoleArg>,
    /// Thread of work, whose entries are included
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<Tag>,
    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = ENTRIES_MAX)]
    pub(crate) limit: usize,
    /// Detail per entry: summary, standard, full or auto
    #[arg(
        long,
        value_name = "TIER",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) tier: AskedTier,
    /// Token budget; 500 with --context
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Print a `Knowledge Context` block for an agent's prompt
    #[arg(long)]
    pub(crate) context: bool,
    /// Minimum relevance: none, relevant, strict or a cosine similarity
    #[arg(long, value_name = "FLOOR", default_value = "relevant", value_parser = floor)]
    pub(crate) threshold: RelevanceFloor,
    /// Show the signals of each score, and every entry considered but not shown
    #[arg(long)]
    pub(crate) explain: bool,
    /// Rank by mean confidence even in a run, where Thompson sampling explores otherwise
    #[arg(long)]
    pub(crate) mean: bool,
    /// Include entries that no longer match the code
    #[arg(long)]
    pub(crate) include_stale: bool,
    /// List earlier queries without a relevant hit
    #[arg(long, conflicts_with = "query")]
    pub(crate) unanswered: bool,
    #[command(flatten)]
    pub(crate) which: WhichArgs,
}

/// Requested detail per entry.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum AskedTier {
    Summary,
    Standard,
    Full,
    Auto,
}

impl AskedTier {
    pub(crate) fn tier(self) -> Option<DetailTier> {
        match self {
            Self::Summary => Some(DetailTier::Summary),
            Self::Standard => Some(DetailTier::Standard),
            Self::Full => Some(DetailTier::Full),
            Self::Auto => None,
        }
    }
}

/// Maximum number of weak matches shown.
const WEAK_MAX: usize = 3;

fn floor(text: &str) -> Result<RelevanceFloor, String> {
    match text {
        "none" => return Ok(RelevanceFloor::None),
        "relevant" => return Ok(RelevanceFloor::Relevant),
        "strict" => return Ok(RelevanceFloor::Strict),
        _ => {}
    }
    match text.parse::<f64>() {
        Ok(cosine) if (-1.0..=1.0).contains(&cosine) => Ok(RelevanceFloor::Cosine(cosine)),
        Ok(_) | Err(_) => Err("write none, relevant, strict or a number from -1 to 1".to_owned()),
    }
}

/// JSON view of queries without a relevant hit.
#[derive(Serialize)]
struct UnansweredObject<'a> {
    schema: &'static str,
    questions: Vec<QuestionObject<'a>>,
}

#[derive(Serialize)]
struct QuestionObject<'a> {
    query: &'a str,
    times: u64,
    last: Timestamp,
    /// The best hit, although it is not relevant.
    top: Option<EntryId>,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: SearchArgs,
) -> Result<CommandExit, CommandFailure> {
    if args.unanswered {
        return unanswered(session);
    }
    let role = args.role.map(|asker| asker.role());
    let portion = SelectionLimits {
        cap: args.limit,
        budget: args.budget.unwrap_or(if args.context {
            TOKEN_BUDGET
        } else {
            usize::MAX
        }),
        tier: args.tier.tier(),
        role,
    };
    let start = session.surroundings.start.clone();
    let progress = ProgressIndicator::start(session.printer, "reading entries", None);
    let (reader, run) = (session.surroundings.reader(), session.surroundings.run());
    let run = run.map(ToOwned::to_owned);
    let surroundings = session.surroundings.clone();
    let weak = weak_hits(&args, session.is_json());
    let (found, missing) = session.read(|engine| {
        engine.note_unrecorded_edits();
        let typed = query_input::read_query(engine, &start, &args.query, &args.input)?;
        let (extracted, missing) = typed.into_parts();
        let search = SearchQuery {
            query: extracted.text,
            names: extracted.names,
            paths: extracted.paths,
            frames: extracted.frames,
            filter: args.which.to_filter(),
            role,
            thread: args.thread,
            run: run.filter(|_| !args.mean),
            floor: args.threshold,
            or_nearest: false,
            include_stale: args.include_stale,
            is_about_paths: args.query.is_empty() && args.input.is_paths(),
        };
        let question = SearchRequest {
            search,
            portion,
            is_in_words: args.input.is_empty(),
            weak,
        };
        let asker = QueryService {
            surroundings: &surroundings,
            reader: reader.as_ref(),
        };
        let found = progress
            .during(|it| asker.search(engine, question, &mut |at, all| it.set_progress(at, all)))?;
        Ok((found, missing))
    })?;
    if let Some(hint) = TypedQuery::hint(&missing) {
        session.printer.hint(hint)?;
    }
    session.print_global_error(&found.global)?;
    if session.is_json() {
        session.printer.json(&answer_json(&found))?;
    } else if args.context {
        let page = found.global.beside(found.page);
        let block = surface::render_context_block(&page, found.answer.served_by.name());
        session.printer.text(block)?;
    } else {
        list(session, &found, args.explain)?;
    }
    Ok(CommandExit::Fine)
}

/// Returns the treatment of hits below the floor.
fn weak_hits(args: &SearchArgs, is_json: bool) -> WeakHits {
    if args.explain {
        WeakHits::Explain
    } else if is_json || args.context {
        WeakHits::Drop
    } else {
        WeakHits::Suggest
    }
}

/// Lists queries without a relevant hit.
fn unanswered(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let missed = session.read(|engine| Ok(engine.unanswered_queries()?))?;
    if session.is_json() {
        let questions = missed.iter().map(|it| QuestionObject {
            query: &it.query,
            times: it.times,
            last: it.last,
            top: it.top,
        });
        session.printer.json(&UnansweredObject {
            schema: "ken.unanswered.v1",
            questions: questions.collect(),
        })?;
        return Ok(CommandExit::Fine);
    }
    for UnansweredQuery {
        query, times, last, ..
    } in &missed
    {
        let day = last.date();
        let line = format_args!("{day}  {times:>3}×  {}", escape_invisible(query));
        session.printer.line(line)?;
    }
    if missed.is_empty() {
        session.printer.line("Every query had a relevant hit.")?;
    } else {
        session
            .printer
            .hint("run `ken add` to add the missing answers")?;
    }
    Ok(CommandExit::Fine)
}

/// Prints the hits as text.
fn list(
    session: &mut Session<'_>,
    found: &QueryResults,
    explain: bool,
) -> Result<(), CommandFailure> {
    let QueryResults {
        answer,
        page,
        global,
        today,
        ..
    } = found;
    if page.shown.is_empty() {
        session.printer.line(NOTHING_FOUND)?;
    }
    if let Some(nearest) = found.nearest.as_ref().filter(|_| found.suggests_nearest) {
        list_weak(session, nearest, *today, explain)?;
    }
    list_hits(session, (answer, page), *today, explain)?;
    if let Some(overlay) = &global.overlay {
        list_overlay(session, overlay, *today, explain)?;
    }
    list_unrecorded(session, &found.unrecorded)?;
    tell(session, found, explain)
}

/// Lists hits of the global ledger, then those of peers with the peer, its trust and what they
/// contradict.
fn list_overlay(
    session: &mut Session<'_>,
    overlay: &GlobalOverlay,
    today: Date,
    explain: bool,
) -> Result<(), CommandFailure> {
    let (mut peers, mut own) = (overlay.page.clone(), overlay.page.clone());
    peers
        .shown
        .retain(|it| overlay.sources.contains_key(&it.id));
    own.shown.retain(|it| !overlay.sources.contains_key(&it.id));
    if !own.shown.is_empty() {
        session.printer.line(GLOBAL_HEADING)?;
        list_hits(session, (&overlay.answer, &own), today, explain)?;
    }
    if peers.shown.is_empty() {
        return Ok(());
    }
    session.printer.line(PEERS_HEADING)?;
    for shown in &peers.shown {
        let one = EntrySelection {
            shown: vec![shown.clone()],
            ..peers.clone()
        };
        list_hits(session, (&overlay.answer, &one), today, explain)?;
        if let Some(source) = overlay.sources.get(&shown.id) {
            session
                .printer
                .line(format_args!("  {}", source_text(source)))?;
        }
        let competing = overlay.competing.iter();
        for it in competing.filter(|it| it.foreign == shown.id) {
            session
                .printer
                .line(format_args!("  {}", competing_text(it)))?;
        }
    }
    Ok(())
}

/// Describes the peer of a hit.
fn source_text(source: &ForeignSource) -> String {
    let age = match source.freshness {
        Freshness::Fresh | Freshness::Empty => "",
        Freshness::Stale | Freshness::Lapsed => "; not renewed in time",
    };
    format!(
        "peer {}: trust {:.2} (mean {:.2}), weight {:.2}{age}",
        source.peer, source.trust, source.mean, source.weight
    )
}

/// Describes which side of a contradiction with a local entry is preferred.
fn competing_text(it: &CompetingHypotheses) -> String {
    let verdict = match it.preferred {
        Preference::Local => "the entry of this repository is preferred",
        Preference::Foreign => "the peer's entry is preferred",
        Preference::Undecided => "neither is preferred",
    };
    format!("competes with {}: {verdict}", it.local)
}

/// Lists conversations and commits below the entries.
fn list_unrecorded(
    session: &mut Session<'_>,
    hits: &[UnrecordedHit],
) -> Result<(), CommandFailure> {
    // An agent gets the text of others between delimiters, as everywhere.
    if session.surroundings.reader().is_some() {
        return session.printer.text(unrecorded::render_unrecorded(hits));
    }
    let Some(first) = hits.first() else {
        return Ok(());
    };
    session.printer.line(UNRECORDED_HEADING)?;
    let width = session.printer.width();
    for hit in hits {
        session.printer.text(unrecorded_text(hit, width))?;
    }
    let command = first.record_command();
    session
        .printer
        .hint(format_args!("`{command}` records it in your words"))
}

/// Lists the nearest hits below the threshold.
fn list_weak(
    session: &mut Session<'_>,
    weak: &SearchOutcome,
    today: Date,
    explain: bool,
) -> Result<(), CommandFailure> {
    // An entry that shares neither a word nor a direction with the query is no match at all.
    let is_near = |hit: &&SearchHit| hit.coverage > 0.0 || hit.cosine > 0.0;
    let near: Vec<&SearchHit> = weak.hits.iter().filter(is_near).collect();
    if near.is_empty() {
        return Ok(());
    }
    session.printer.line("weak matches:")?;
    let width = session.printer.width();
    for hit in near.iter().take(WEAK_MAX) {
        session.printer.text(hit_text(hit, today, width))?;
        if explain {
            session.printer.text(score_text(hit))?;
        }
    }
    let more = near.len().saturating_sub(WEAK_MAX) as u64;
    if more > 0 {
        let more = pluralize(more, "weaker match", "weaker matches");
        let hint = format_args!("{more} more: add `--threshold none` to see them");
        session.printer.hint(hint)?;
    }
    Ok(())
}

fn list_hits(
    session: &mut Session<'_>,
    (answer, page): (&SearchOutcome, &EntrySelection),
    today: Date,
    explain: bool,
) -> Result<(), CommandFailure> {
    let width = session.printer.width();
    for hit in page.shown.iter().filter_map(|it| answer.hit(it.id)) {
        session.printer.text(hit_text(hit, today, width))?;
        if explain {
            session.printer.text(score_text(hit))?;
        }
    }
    Ok(())
}

/// Prints notices about hits that the list omits.
fn tell(
    session: &mut Session<'_>,
    found: &QueryResults,
    explain: bool,
) -> Result<(), CommandFailure> {
    let QueryResults { answer, page, .. } = found;
    if explain {
        for OmittedEntry { id, why } in &page.left_out {
            let nearest = found.nearest.as_ref();
            let hit = answer.hit(*id).or_else(|| nearest?.hit(*id));
            let score = hit.map_or(0.0, |hit| hit.explained.score);
            let why = enum_label(why);
            let line = format_args!("left out: {id}, score {score:.3}, {why}");
            session.printer.talk(line)?;
        }
        for (id, why) in &answer.withheld {
            let why = enum_label(why);
            let line = format_args!("withheld: {id}, {why}");
            session.printer.talk(line)?;
        }
    } else if !answer.withheld.is_empty() {
        let stale = |(_, why): &&(EntryId, HiddenReason)| why.is_about_code();
        let stale = answer.withheld.iter().filter(stale).count();
        let count = pluralize(answer.withheld.len() as u64, "entry", "entries");
        let hint = match stale {
            0 => format!("{count} withheld; `--explain` shows why"),
            all if all == answer.withheld.len() => {
                format!("{count} withheld: the code changed; `--include-stale` shows them")
            }
            some => {
                format!("{count} withheld, {some} because the code changed; `--explain` shows why")
            }
        };
        session.printer.hint(hint)?;
    }
    if let Some(SelectedEntry { id, .. }) = page.shown.first() {
        let hint = format_args!("`ken show {id}` shows the whole entry");
        session.printer.hint(hint)?;
    }
    Ok(())
}
