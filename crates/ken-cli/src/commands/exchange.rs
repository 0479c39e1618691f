//! `ken push` and `ken pull`: events to a hub and back.

use ken_core::actor::Actor;
use ken_core::id::{EntryId, EventId};
use ken_engine::Engine;
use ken_engine::remote::{Again, Decisions, Hub, PullReport, PushReport, Remote, Told, Why};
use serde::Serialize;

use super::Session;
use crate::args::{PushArgs, RemoteArgs};
use crate::failure::{Exit, Failure};
use crate::print::progress::Progress;
use crate::print::{Aside, counted, visible};

/// An event that did not get through, as programs read it.
#[derive(Serialize)]
pub(super) struct ToldObject {
    event: EventId,
    /// The entry it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<EntryId>,
    why: Why,
    reason: String,
}

/// What a push did, as programs read it.
#[derive(Serialize)]
pub(super) struct PushObject {
    schema: &'static str,
    remote: String,
    admitted: usize,
    known: usize,
    /// Of those two: what is quarantined, there as here.
    set_apart: usize,
    quarantined: Vec<ToldObject>,
    refused: Vec<ToldObject>,
    /// What was not taken before and not offered now.
    remembered: Vec<ToldObject>,
    /// Whether the hub was not as far as it had been, so that everything was offered.
    restarted: bool,
}

/// What a pull did, as programs read it.
#[derive(Serialize)]
pub(super) struct PullObject {
    schema: &'static str,
    remote: String,
    new: usize,
    better: usize,
    healed: Vec<EventId>,
    gone: Vec<EventId>,
    elsewhere: usize,
    quarantined: Vec<HeldObject>,
    declined: Vec<ToldObject>,
    unreadable: usize,
    restarted: bool,
    decisions: Vec<DecisionsObject>,
}

/// An entry that came quarantined, as programs read it.
#[derive(Serialize)]
struct HeldObject {
    entry: EntryId,
    why: String,
}

/// What one person decided that came with a pull, as programs read it.
#[derive(Serialize)]
struct DecisionsObject {
    by: String,
    approvals: usize,
    retractions: usize,
    blankings: usize,
}

pub(super) fn push(session: &mut Session<'_>, args: &PushArgs) -> Result<Exit, Failure> {
    let again = match (args.again, args.everything) {
        (_, true) => Again::Everything,
        (true, false) => Again::Refused,
        (false, false) => Again::No,
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

pub(super) fn pull(session: &mut Session<'_>, args: &RemoteArgs) -> Result<Exit, Failure> {
    let (remote, report) = pulled(session, args.remote.as_deref())?;
    if session.is_json() {
        session.printer.json(&pull_object(&remote, &report))?;
    } else {
        tell_pull(session, &remote, &report)?;
        if report.restarted {
            let name = &remote.name;
            let hint = format_args!("`ken push {name}` gives it what it lost");
            session.printer.hint(hint)?;
        }
    }
    Ok(pull_exit(&report))
}

/// Offers a hub what it does not have.
pub(super) fn pushed(
    session: &mut Session<'_>,
    name: Option<&str>,
    again: Again,
) -> Result<(Remote, PushReport), Failure> {
    let progress = Progress::start(session.printer, "sending", None);
    let aside = session.printer.aside();
    session.write(|engine, _| {
        let (remote, mut hub) = opened(engine, name, (&progress, aside))?;
        let report = progress.during(|it| {
            engine.push_events(&remote, &mut *hub, again, &mut |done, all| {
                it.come_to(done, all.unwrap_or(done));
            })
        })?;
        Ok((remote, report))
    })
}

/// Takes from a hub what this clone does not have.
pub(super) fn pulled(
    session: &mut Session<'_>,
    name: Option<&str>,
) -> Result<(Remote, PullReport), Failure> {
    let progress = Progress::start(session.printer, "fetching", None);
    let aside = session.printer.aside();
    session.write(|engine, _| {
        let (remote, mut hub) = opened(engine, name, (&progress, aside))?;
        let report = progress.during(|it| {
            engine.pull_events(&remote, &mut *hub, &mut |done, _| it.come_to(done, done))
        })?;
        Ok((remote, report))
    })
}

/// Finds a remote and prepares to speak to it; talks to nobody yet.
#[cfg(feature = "remote")]
fn opened(
    engine: &Engine,
    name: Option<&str>,
    (progress, aside): (&Progress, Aside),
) -> Result<(Remote, Box<dyn Hub>), Failure> {
    use ken_engine::remote::{RemoteError, Token};

    let remote = engine.remote(name)?;
    let token = match engine.remote_token(&remote)? {
        Some(token) => token,
        None => {
            let given = crate::world::hub_token().ok_or_else(|| {
                Failure::usage(format!(
                    "there is no token for the remote `{}`",
                    remote.name
                ))
                .with_hint(
                    "set KEN_HUB_TOKEN, or keep one with `ken remote add NAME URL --token-stdin`",
                )
            })?;
            Token::parse(&given).map_err(|e| ken_engine::Error::from(RemoteError::from(e)))?
        }
    };
    let client = ken_remote::Client::open(&remote.address, token);
    let client = client.map_err(|e| Failure::usage(format!("cannot speak to the hub: {e}")))?;
    let progress = progress.clone();
    let client = client.waiting_with(move |why, pause| {
        // Said before the wait: silence looks like a program that hangs.
        let seconds = pause.as_secs_f64().ceil();
        let said = format!("{why}; trying again in {seconds} s");
        progress.aside(|| aside.note(&said));
        std::thread::sleep(pause);
    });
    Ok((remote, Box::new(client)))
}

#[cfg(not(feature = "remote"))]
fn opened(
    _engine: &Engine,
    _name: Option<&str>,
    _aside: (&Progress, Aside),
) -> Result<(Remote, Box<dyn Hub>), Failure> {
    Err(
        Failure::usage("this ken was built without a way to reach a hub")
            .with_hint("releases have it; build with the feature `remote`"),
    )
}

/// Returns how a push went.
pub(super) fn push_exit(report: &PushReport) -> Exit {
    match report.refused.is_empty() && report.quarantined.is_empty() {
        true => Exit::Fine,
        false => Exit::Refused,
    }
}

/// Returns how a pull went.
pub(super) fn pull_exit(report: &PullReport) -> Exit {
    match report.declined.is_empty() && report.unreadable == 0 {
        true => Exit::Fine,
        false => Exit::Refused,
    }
}

pub(super) fn push_object(remote: &Remote, report: &PushReport) -> PushObject {
    PushObject {
        schema: "ken.push.v1",
        remote: remote.name.to_string(),
        admitted: report.admitted,
        known: report.known,
        set_apart: report.set_apart,
        quarantined: told(&report.quarantined),
        refused: told(&report.refused),
        remembered: told(&report.remembered),
        restarted: report.restarted,
    }
}

pub(super) fn pull_object(remote: &Remote, report: &PullReport) -> PullObject {
    PullObject {
        schema: "ken.pull.v1",
        remote: remote.name.to_string(),
        new: report.new,
        better: report.better,
        healed: report.healed.clone(),
        gone: report.gone.clone(),
        elsewhere: report.elsewhere,
        quarantined: report
            .quarantined
            .iter()
            .map(|(entry, why)| HeldObject {
                entry: *entry,
                why: why.clone(),
            })
            .collect(),
        declined: told(&report.declined),
        unreadable: report.unreadable,
        restarted: report.restarted,
        decisions: report
            .decisions
            .iter()
            .map(|(by, it)| DecisionsObject {
                by: by.to_string(),
                approvals: it.approvals,
                retractions: it.retractions,
                blankings: it.blankings,
            })
            .collect(),
    }
}

/// Returns events that did not get through as programs read them.
pub(super) fn told(these: &[Told]) -> Vec<ToldObject> {
    let object = |it: &Told| ToldObject {
        event: it.event,
        entry: it.entry,
        why: it.why,
        reason: it.reason.clone(),
    };
    these.iter().map(object).collect()
}

/// Says what became of a push: events that did not get through on stdout, the rest beside.
pub(super) fn tell_push(
    session: &mut Session<'_>,
    remote: &Remote,
    report: &PushReport,
) -> Result<(), Failure> {
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
        let said = "was restored from an older backup: everything was offered to it again";
        session.printer.talk(format_args!("`{name}` {said}"))?;
    }
    let (refused, waiting) = (report.refused.len(), report.quarantined.len());
    let mut parts = Vec::new();
    let mut part = |count: usize, words: &str| {
        if 0 < count {
            parts.push(format!("{count} {words}"));
        }
    };
    part(*admitted, "new to it");
    part(*known, "known there already");
    part(waiting, "waiting for a curator there");
    part(refused, "refused");
    let all = admitted + known + waiting + refused;
    match all {
        0 if report.remembered.is_empty() => session
            .printer
            .talk(format_args!("`{name}` has everything"))?,
        0 => session
            .printer
            .talk(format_args!("nothing new for `{name}`"))?,
        all => {
            let events = counted(all as u64, "event", "events");
            let parts = parts.join(", ");
            session
                .printer
                .talk(format_args!("sent {events} to `{name}`: {parts}"))?;
        }
    }
    if 0 < report.set_apart {
        let (are, them) = match report.set_apart {
            1 => ("is", "it"),
            _ => ("are", "them"),
        };
        let count = report.set_apart;
        let said = format_args!(
            "{count} of these {are} quarantined, there as here, until a person looks at {them}: `ken quarantine list`"
        );
        session.printer.talk(said)?;
    }
    tell_remembered(session, remote, &report.remembered)
}

/// Says what was not taken before and therefore not offered.
fn tell_remembered(
    session: &mut Session<'_>,
    remote: &Remote,
    these: &[Told],
) -> Result<(), Failure> {
    let name = &remote.name;
    let is_waiting = |it: &&Told| it.why == Why::Quarantined;
    let waiting = these.iter().filter(is_waiting).count();
    for (count, one, many) in [
        (
            waiting,
            "event waits for a curator there",
            "events wait for a curator there",
        ),
        (
            these.len() - waiting,
            "event was refused before",
            "events were refused before",
        ),
    ] {
        if 0 < count {
            let events = counted(count as u64, one, many);
            let said = format_args!("{events}; not offered again");
            session.printer.talk(said)?;
        }
    }
    if these.is_empty() {
        return Ok(());
    }
    session.printer.hint(format_args!(
        "`ken remote show {name}` says why; `ken push {name} --again` offers them once more"
    ))
}

/// Says what a pull brought: events that came back or were not let in on stdout, the rest beside.
pub(super) fn tell_pull(
    session: &mut Session<'_>,
    remote: &Remote,
    report: &PullReport,
) -> Result<(), Failure> {
    let name = &remote.name;
    for id in &report.healed {
        session.printer.line(format_args!("restored {id}"))?;
    }
    for id in &report.gone {
        session.printer.line(format_args!("lost {id}"))?;
    }
    lines(session, "declined", &report.declined)?;
    for (entry, why) in &report.quarantined {
        let line = format_args!("quarantined {entry}: {}", visible(why));
        session.printer.line(line)?;
    }
    if report.restarted {
        let said = format_args!(
            "`{name}` was restored from an older backup: its log was read from the beginning"
        );
        session.printer.talk(said)?;
    }
    if count_pull(session, report)? == 0 {
        session
            .printer
            .talk(format_args!("nothing new at `{name}`"))?;
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
        let said = format_args!(
            "{entries} came quarantined: agents are not shown {them} until a person looks"
        );
        session.printer.talk(said)?;
        session
            .printer
            .hint("`ken quarantine list` shows what waits, `ken quarantine lift ID --reason …` lets it out")?;
    }
    if !report.gone.is_empty() {
        session
            .printer
            .hint("`ken recover` asks this clone's journal for them")?;
    }
    Ok(())
}

/// Says how many events came, and what became of the others; returns how many there were.
fn count_pull(session: &mut Session<'_>, report: &PullReport) -> Result<usize, Failure> {
    let mut say = |count: usize, one: &str, many: &str| {
        if count == 0 {
            return Ok(());
        }
        session
            .printer
            .talk(format_args!("{}", counted(count as u64, one, many)))
    };
    let PullReport {
        new,
        better,
        elsewhere,
        unreadable,
        ..
    } = report;
    say(*new, "event is new here", "events are new here")?;
    say(
        *better,
        "event came in a better form",
        "events came in a better form",
    )?;
    say(
        report.healed.len(),
        "event that git had lost is back",
        "events that git had lost are back",
    )?;
    say(
        report.gone.len(),
        "event is lost here and at the hub",
        "events are lost here and at the hub",
    )?;
    say(
        *elsewhere,
        "event stands on another branch and stays there",
        "events stand on other branches and stay there",
    )?;
    say(
        report.declined.len(),
        "event was not let in",
        "events were not let in",
    )?;
    say(
        *unreadable,
        "line is no event this ken can read",
        "lines are no events this ken can read",
    )?;
    let brought = new + better + report.healed.len();
    Ok(brought + report.gone.len() + elsewhere + report.declined.len() + unreadable)
}

/// Says what somebody decided that came with a pull: `3 approvals, 1 retraction by human:ada@example.org`.
fn decided(by: &Actor, it: Decisions) -> String {
    let parts = [
        (it.approvals, "approval", "approvals"),
        (it.retractions, "retraction", "retractions"),
        (it.blankings, "order to blank", "orders to blank"),
    ];
    let parts = parts.into_iter().filter(|(count, ..)| 0 < *count);
    let parts: Vec<String> = parts
        .map(|(count, one, many)| counted(count as u64, one, many))
        .collect();
    format!("{} by {by}", parts.join(", "))
}

fn lines(session: &mut Session<'_>, word: &str, these: &[Told]) -> Result<(), Failure> {
    for it in these {
        session
            .printer
            .line(format_args!("{word} {}", said_of(it)))?;
    }
    Ok(())
}

/// Names what did not get through as people know it, by its entry, and says why. Not what it claims: that may be the reason.
pub(super) fn said_of(it: &Told) -> String {
    let reason = visible(&it.reason);
    match it.entry {
        Some(entry) => format!("{entry}: {reason}"),
        None => format!("{}: {reason}", it.event),
    }
}
