//! `ken push` and `ken pull`: exchange of events with a hub.

use clap::Args;
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_engine::Engine;
use ken_engine::remote::{
    DecisionCounts, HubClient, PullReport, PushReport, PushSelection, RejectedEvent, RejectionKind,
    Remote,
};
use serde::Serialize;

use crate::commands::Session;
use crate::commands::remote::RemoteArgs;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::progress::ProgressIndicator;
use crate::print::{NoticeWriter, escape_invisible, pluralize};

/// `ken push`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken push")]
pub(crate) struct PushArgs {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// Also push events that the hub rejected or quarantined before
    #[arg(long)]
    pub(crate) again: bool,
    /// Push every event, even if the hub is known to have it
    #[arg(long, conflicts_with = "again")]
    pub(crate) everything: bool,
}

/// JSON view of an event that was not accepted.
#[derive(Serialize)]
pub(in crate::commands) struct RejectedJson {
    event: EventId,
    /// The entry of the event, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<EntryId>,
    why: RejectionKind,
    reason: String,
}

/// JSON view of a push.
#[derive(Serialize)]
pub(in crate::commands) struct PushObject {
    schema: &'static str,
    remote: String,
    admitted: usize,
    known: usize,
    /// Number of these events that are quarantined on both sides.
    set_apart: usize,
    quarantined: Vec<RejectedJson>,
    refused: Vec<RejectedJson>,
    /// Decisions of other people, which the hub accepts from their authors or signed.
    awaiting: Vec<RejectedJson>,
    /// Events that the hub rejected before and that were not pushed again.
    remembered: Vec<RejectedJson>,
    /// Whether the hub had lost events, so that every event was pushed.
    restarted: bool,
}

/// JSON view of a pull.
#[derive(Serialize)]
pub(in crate::commands) struct PullObject {
    schema: &'static str,
    remote: String,
    new: usize,
    better: usize,
    healed: Vec<EventId>,
    gone: Vec<EventId>,
    elsewhere: usize,
    quarantined: Vec<ArrivedQuarantinedJson>,
    declined: Vec<RejectedJson>,
    unreadable: usize,
    restarted: bool,
    decisions: Vec<DecisionsObject>,
}

/// JSON view of an entry that arrived quarantined.
#[derive(Serialize)]
struct ArrivedQuarantinedJson {
    entry: EntryId,
    why: String,
}

/// JSON view of one person's decisions in a pull.
#[derive(Serialize)]
struct DecisionsObject {
    by: String,
    approvals: usize,
    retractions: usize,
    blankings: usize,
}

pub(in crate::commands) fn push(
    session: &mut Session<'_>,
    args: &PushArgs,
) -> Result<CommandExit, CommandFailure> {
    let again = match (args.again, args.everything) {
        (_, true) => PushSelection::Everything,
        (true, false) => PushSelection::Rejected,
        (false, false) => PushSelection::New,
    };
    let name = args.remote.remote.as_deref();
    let (remote, report) = pushed(session, name, again)?;
    if session.is_json() {
        session.printer.json(&push_object(&remote, &report))?;
    } else {
        tell_push(session, &remote, &report)?;
    }
    Ok(push_exit(&report))
}

pub(in crate::commands) fn pull(
    session: &mut Session<'_>,
    args: &RemoteArgs,
) -> Result<CommandExit, CommandFailure> {
    let (remote, report) = pulled(session, args.remote.as_deref())?;
    if session.is_json() {
        session.printer.json(&pull_object(&remote, &report))?;
    } else {
        tell_pull(session, &remote, &report)?;
        if report.restarted {
            let name = &remote.name;
            let hint = format_args!("run `ken push {name}` to send the events that the hub lost");
            session.printer.hint(hint)?;
        }
    }
    Ok(pull_exit(&report))
}

/// Pushes the events that a hub does not have.
pub(in crate::commands) fn pushed(
    session: &mut Session<'_>,
    name: Option<&str>,
    again: PushSelection,
) -> Result<(Remote, PushReport), CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "pushing", None);
    let aside = session.printer.aside();
    session.maintain(|engine| {
        let (remote, mut hub) = opened(engine, name, (&progress, aside))?;
        let report = progress.during(|it| {
            engine.push_events(&remote, &mut *hub, again, &mut |done, all| {
                it.set_progress(done, all.unwrap_or(done));
            })
        })?;
        Ok((remote, report))
    })
}

/// Pulls the events that this clone does not have.
pub(in crate::commands) fn pulled(
    session: &mut Session<'_>,
    name: Option<&str>,
) -> Result<(Remote, PullReport), CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "pulling", None);
    let aside = session.printer.aside();
    session.maintain(|engine| {
        let (remote, mut hub) = opened(engine, name, (&progress, aside))?;
        let report = progress.during(|it| {
            engine.pull_events(&remote, &mut *hub, &mut |done, _| {
                it.set_progress(done, done);
            })
        })?;
        Ok((remote, report))
    })
}

/// Opens a remote and its client, without a request.
#[cfg(feature = "remote")]
fn opened(
    engine: &Engine,
    name: Option<&str>,
    (progress, aside): (&ProgressIndicator, NoticeWriter),
) -> Result<(Remote, Box<dyn HubClient>), CommandFailure> {
    use ken_engine::remote::{HubToken, RemoteError, exposed_token_file};

    use super::exposed_token_message;

    let remote = engine.remote(name)?;
    if let Some(path) = exposed_token_file(&remote) {
        let message = exposed_token_message(path);
        progress.aside(|| aside.note(&message));
    }
    let token = match engine.remote_token(&remote)? {
        Some(token) => token,
        None => {
            let given = crate::world::hub_token().ok_or_else(|| {
                CommandFailure::usage(format!(
                    "no token for the remote `{}`",
                    remote.name
                ))
                .with_hint(
                    "set KEN_HUB_TOKEN, or store one with `ken remote add NAME URL --token-stdin`",
                )
            })?;
            HubToken::parse(&given)
                .map_err(|e| ken_engine::EngineError::from(RemoteError::from(e)))?
        }
    };
    let client = ken_remote::HttpHubClient::open(&remote.address, token);
    let client =
        client.map_err(|e| CommandFailure::usage(format!("cannot create the hub client: {e}")))?;
    let progress = progress.clone();
    let client = client.with_retry_callback(move |why, pause| {
        // Printed before the pause, because a silent program seems to hang.
        let seconds = pause.as_secs_f64().ceil();
        let message = format!("{why}; retrying in {seconds} s");
        progress.aside(|| aside.note(&message));
        std::thread::sleep(pause);
    });
    Ok((remote, Box::new(client)))
}

#[cfg(not(feature = "remote"))]
fn opened(
    _engine: &Engine,
    _name: Option<&str>,
    _aside: (&ProgressIndicator, NoticeWriter),
) -> Result<(Remote, Box<dyn HubClient>), CommandFailure> {
    Err(
        CommandFailure::usage("this build of ken cannot connect to a hub")
            .with_hint("use a release, or build with the feature `remote`"),
    )
}

/// Returns the exit code of a push.
pub(in crate::commands) fn push_exit(report: &PushReport) -> CommandExit {
    if report.leaves_events_behind() {
        CommandExit::Refused
    } else {
        CommandExit::Fine
    }
}

/// Returns the exit code of a pull.
pub(in crate::commands) fn pull_exit(report: &PullReport) -> CommandExit {
    if report.declined.is_empty() && report.unreadable == 0 {
        CommandExit::Fine
    } else {
        CommandExit::Refused
    }
}

pub(in crate::commands) fn push_object(remote: &Remote, report: &PushReport) -> PushObject {
    PushObject {
        schema: "ken.push.v1",
        remote: remote.name.to_string(),
        admitted: report.admitted,
        known: report.known,
        set_apart: report.quarantined_here,
        quarantined: rejected_json(&report.quarantined),
        refused: rejected_json(&report.refused),
        awaiting: rejected_json(&report.awaiting),
        remembered: rejected_json(&report.rejected_before),
        restarted: report.restarted,
    }
}

pub(in crate::commands) fn pull_object(remote: &Remote, report: &PullReport) -> PullObject {
    PullObject {
        schema: "ken.pull.v1",
        remote: remote.name.to_string(),
        new: report.new,
        better: report.updated,
        healed: report.recovered.clone(),
        gone: report.lost.clone(),
        elsewhere: report.elsewhere,
        quarantined: report
            .quarantined
            .iter()
            .map(|(entry, why)| ArrivedQuarantinedJson {
                entry: *entry,
                why: why.clone(),
            })
            .collect(),
        declined: rejected_json(&report.declined),
        unreadable: report.unreadable,
        restarted: report.restarted,
        decisions: report
            .decisions
            .iter()
            .map(|(by, it)| DecisionsObject {
                by: by.to_string(),
                approvals: it.approvals,
                retractions: it.retractions,
                blankings: it.redactions,
            })
            .collect(),
    }
}

/// Returns the JSON view of rejected events.
pub(in crate::commands) fn rejected_json(these: &[RejectedEvent]) -> Vec<RejectedJson> {
    let object = |it: &RejectedEvent| RejectedJson {
        event: it.event,
        entry: it.entry,
        why: it.kind,
        reason: it.reason.clone(),
    };
    these.iter().map(object).collect()
}

/// Prints the result of a push: rejected events on stdout, the rest on stderr.
pub(in crate::commands) fn tell_push(
    session: &mut Session<'_>,
    remote: &Remote,
    report: &PushReport,
) -> Result<(), CommandFailure> {
    for (word, these) in [
        ("refused", &report.refused),
        ("quarantined", &report.quarantined),
    ] {
        lines(session, word, these)?;
    }
    let PushReport {
        admitted, known, ..
    } = report;
    let name = &remote.name;
    if report.restarted {
        let message = "was restored from an older backup: every event was pushed again";
        session.printer.talk(format_args!("`{name}` {message}"))?;
    }
    let (refused, pending) = (report.refused.len(), report.quarantined.len());
    let mut parts = Vec::new();
    let mut part = |count: usize, words: &str| {
        if count > 0 {
            parts.push(format!("{count} {words}"));
        }
    };
    part(*admitted, "new");
    part(*known, "already known");
    part(pending, "pending a curator's review");
    part(refused, "refused");
    let awaiting = report.awaiting.len();
    part(awaiting, "left to their authors");
    let all = admitted + known + pending + refused + awaiting;
    match all {
        0 if report.rejected_before.is_empty() => session
            .printer
            .talk(format_args!("`{name}` is up to date"))?,
        0 => session
            .printer
            .talk(format_args!("no new events for `{name}`"))?,
        all => {
            let events = pluralize(all as u64, "event", "events");
            let parts = parts.join(", ");
            session
                .printer
                .talk(format_args!("pushed {events} to `{name}`: {parts}"))?;
        }
    }
    if awaiting > 0 {
        let message = "the hub accepts a decision of another person when that person pushes it, or signed; see `ken remote show`";
        session.printer.talk(message)?;
    }
    if report.quarantined_here > 0 {
        let (are, them) = match report.quarantined_here {
            1 => ("is", "it"),
            _ => ("are", "them"),
        };
        let count = report.quarantined_here;
        let message = format_args!(
            "{count} of these {are} quarantined here and on the hub until a person releases {them}; see `ken guard quarantine list`"
        );
        session.printer.talk(message)?;
    }
    tell_remembered(session, remote, &report.rejected_before)
}

/// Prints the events that were rejected before and therefore not pushed: refused ones with their
/// reason on stdout, because they fail the push.
fn tell_remembered(
    session: &mut Session<'_>,
    remote: &Remote,
    these: &[RejectedEvent],
) -> Result<(), CommandFailure> {
    let name = &remote.name;
    let of_kind = |kind: RejectionKind| -> Vec<RejectedEvent> {
        let same = these.iter().filter(|it| it.kind == kind);
        same.cloned().collect()
    };
    let refused = of_kind(RejectionKind::Refused);
    lines(session, "refused", &refused)?;
    let pending = of_kind(RejectionKind::Quarantined).len();
    let awaiting = of_kind(RejectionKind::Awaiting).len();
    for (count, one, many) in [
        (
            pending,
            "event is pending a curator's review on the hub; not pushed again",
            "events are pending a curator's review on the hub; not pushed again",
        ),
        (
            awaiting,
            "decision of another person is left to its author",
            "decisions of other people are left to their authors",
        ),
        (
            refused.len(),
            "event was refused before; not pushed again",
            "events were refused before; not pushed again",
        ),
    ] {
        if count > 0 {
            session.printer.talk(pluralize(count as u64, one, many))?;
        }
    }
    if pending + refused.len() == 0 {
        return Ok(());
    }
    session.printer.hint(format_args!(
        "`ken remote show {name}` shows the reasons; `ken push {name} --again` pushes them again, and so does another token"
    ))
}

/// Prints the result of a pull: returned and rejected events on stdout, the rest on stderr.
pub(in crate::commands) fn tell_pull(
    session: &mut Session<'_>,
    remote: &Remote,
    report: &PullReport,
) -> Result<(), CommandFailure> {
    let name = &remote.name;
    for id in &report.recovered {
        session.printer.line(format_args!("restored {id}"))?;
    }
    for id in &report.lost {
        session.printer.line(format_args!("lost {id}"))?;
    }
    lines(session, "declined", &report.declined)?;
    for (entry, why) in &report.quarantined {
        let line = format_args!("quarantined {entry}: {}", escape_invisible(why));
        session.printer.line(line)?;
    }
    if report.restarted {
        let message = format_args!(
            "`{name}` was restored from an older backup: its log was read from the beginning"
        );
        session.printer.talk(message)?;
    }
    if count_pull(session, report)? == 0 {
        session
            .printer
            .talk(format_args!("no new events on `{name}`"))?;
    }
    for (by, it) in &report.decisions {
        session.printer.talk(decided(by, *it))?;
    }
    if !report.quarantined.is_empty() {
        let count = report.quarantined.len();
        let (entries, them) = match count {
            1 => ("1 entry".to_owned(), "it"),
            count => (format!("{count} entries"), "them"),
        };
        let message = format_args!(
            "{entries} arrived quarantined: agents do not see {them} until a person releases {them}"
        );
        session.printer.talk(message)?;
        session
            .printer
            .hint("`ken guard quarantine list` lists them, `ken guard quarantine release ID --reason …` releases one")?;
    }
    if !report.lost.is_empty() {
        session
            .printer
            .hint("`ken ledger recover` searches this clone's journal for them")?;
    }
    Ok(())
}

/// Prints the counts of a pull and returns the number of events.
fn count_pull(session: &mut Session<'_>, report: &PullReport) -> Result<usize, CommandFailure> {
    let mut print_count = |count: usize, one: &str, many: &str| {
        if count == 0 {
            return Ok(());
        }
        session
            .printer
            .talk(format_args!("{}", pluralize(count as u64, one, many)))
    };
    let PullReport {
        new,
        updated: better,
        elsewhere,
        unreadable,
        ..
    } = report;
    print_count(*new, "new event", "new events")?;
    print_count(*better, "event was updated", "events were updated")?;
    print_count(
        report.recovered.len(),
        "event was recovered from the hub",
        "events were recovered from the hub",
    )?;
    print_count(
        report.lost.len(),
        "event is lost here and on the hub",
        "events are lost here and on the hub",
    )?;
    print_count(
        *elsewhere,
        "event belongs to another branch and was skipped",
        "events belong to other branches and were skipped",
    )?;
    print_count(
        report.declined.len(),
        "event was declined",
        "events were declined",
    )?;
    print_count(
        *unreadable,
        "line is not an event that this ken can read",
        "lines are not events that this ken can read",
    )?;
    let brought = new + better + report.recovered.len();
    Ok(brought + report.lost.len() + elsewhere + report.declined.len() + unreadable)
}

/// Returns a summary of one person's decisions in a pull, such as `3 approvals, 1 retraction by
/// human:ada@example.org`.
fn decided(by: &Actor, it: DecisionCounts) -> String {
    let parts = [
        (it.approvals, "approval", "approvals"),
        (it.retractions, "retraction", "retractions"),
        (it.redactions, "redaction", "redactions"),
    ];
    let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, one, many)| pluralize(count as u64, one, many))
        .collect();
    format!("{} by {by}", parts.join(", "))
}

fn lines(
    session: &mut Session<'_>,
    word: &str,
    these: &[RejectedEvent],
) -> Result<(), CommandFailure> {
    for it in these {
        session
            .printer
            .line(format_args!("{word} {}", describe_rejected(it)))?;
    }
    Ok(())
}

/// Returns the entry of a rejected event and the reason. The statement is left out, because it may
/// be the reason.
pub(in crate::commands) fn describe_rejected(it: &RejectedEvent) -> String {
    let reason = escape_invisible(&it.reason);
    match it.entry {
        Some(entry) => format!("{entry}: {reason}"),
        None => format!("{}: {reason}", it.event),
    }
}
