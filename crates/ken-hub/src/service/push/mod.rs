//! The door for what was written elsewhere: each line judged by itself, all that are admitted appended in one transaction.

mod judge;

use std::collections::BTreeSet;

use ken_core::event::{Body, Event, EventBlanked, Proposed, Recorded};
use ken_core::id::{EntryId, EventId};
use ken_core::kind::Memory;
use ken_core::tombstone::Stones;
use ken_remote::wire::{Answered, Cursor, Verdict};

use super::desk::check_door;
use super::held::{APPROVAL_WHERE, HELD_WHERE, SET_APART_WHERE};
use super::{Desk, Failure, House};
use crate::database::{Database, Line};
use crate::identity::audit::Act;
use crate::identity::{Caller, Role, WorkspaceId};
use crate::store::{Appended, Outcome, Terms, begin_entries};
use judge::{Judged, Known, Stored, decide};

pub use judge::{Looked, Opinion, Sent, look};

/// Events that may wait in a workspace: more than anybody will look at.
const HELD_MAX: u64 = 10_000;

/// Events of one sender below curator that may wait: a sender that fills the list keeps only itself out.
const HELD_EACH_MAX: u64 = 200;

/// What became of a push.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// For each line, in their order.
    pub answers: Vec<Answered>,
    /// Whether the log is another than before.
    pub is_new: bool,
    /// Where the log ends now; nothing where nothing was sent.
    pub cursor: Option<Cursor>,
}

/// Takes lines that were looked at: the short way where all of them are new here, or the long.
pub async fn take(
    database: &Database,
    house: &House,
    caller: Caller,
    workspace: WorkspaceId,
    looked: Vec<Looked>,
) -> Result<Taken, Failure> {
    check_door(&caller, workspace)?;
    if let Some(taken) = push_fresh(database, house, &caller, workspace, &looked).await? {
        return Ok(taken);
    }
    let mut desk = Desk::begin_push(database, house, caller, workspace, &looked).await?;
    let taken = push(&mut desk, looked).await?;
    desk.finish().await?;
    Ok(taken)
}

/// Takes lines that were looked at: judges and writes while the workspace's row is held, so that what the hub has of an
/// event does not change between the judgement and the write.
async fn push(desk: &mut Desk, looked: Vec<Looked>) -> Result<Taken, Failure> {
    desk.needs(Role::Agent, "sending events")?;
    if looked.is_empty() {
        return Ok(Taken::default());
    }
    let mut batch = Batch::default();
    let sent = Sent::by(&desk.caller, desk.now);
    let mut known = desk.known_of(&looked, &sent).await?;
    for line in looked {
        batch.take(decide(line, &mut known, &sent));
    }
    if batch.copies.is_empty() && batch.holds.is_empty() {
        let cursor = desk.tenant.cursor().await?;
        return Ok(batch.taken(cursor));
    }
    let count = batch.copies.len() + batch.holds.len();
    desk.append_pushed(&mut batch).await?;
    desk.hold_pushed(&mut batch).await?;
    desk.audit(Act::EventsPushed, &counted(count)).await?;
    if batch.takes_room {
        let room = desk.tenant.room().await?;
        desk.house.quotas.check(&room)?;
    }
    let cursor = match batch.cursor {
        Some(cursor) => cursor,
        None => desk.tenant.cursor().await?,
    };
    Ok(batch.taken(cursor))
}

/// Takes lines none of which needs anything the hub knows to be judged; nothing, and nothing was written, where one does.
async fn push_fresh(
    database: &Database,
    house: &House,
    caller: &Caller,
    workspace: WorkspaceId,
    looked: &[Looked],
) -> Result<Option<Taken>, Failure> {
    let is_fine = |it: &Looked| matches!(it, Looked::Event(_, Opinion::Fine));
    let events = looked.iter().filter_map(Looked::copy).map(|it| &it.event);
    if caller.role < Role::Agent || !looked.iter().all(is_fine) || !begin_entries(events) {
        return Ok(None);
    }
    let sent = Sent::by(caller, database.world().now());
    let (mut batch, mut known) = (Batch::default(), Known::default());
    for line in looked {
        batch.take(decide(line.clone(), &mut known, &sent));
    }
    let copies = std::mem::take(&mut batch.copies);
    if copies.len() < looked.len() {
        return Ok(None);
    }
    let terms = Terms {
        quotas: Some(&house.quotas),
        heeds_retractions: copies.iter().any(|(_, copy)| proposes(&copy.event)),
        note: Some(Line::of(
            caller.into(),
            Act::EventsPushed,
            &counted(copies.len()),
        )),
    };
    let (places, copies) = places_of(copies);
    let appended = database.append_fresh(caller.organisation, workspace, copies, terms);
    let Some(appended) = appended.await? else {
        return Ok(None);
    };
    batch.appended(places, &appended);
    Ok(Some(batch.taken(appended.cursor)))
}

/// Returns whether an event proposes what people may have taken back, by somebody who may not say it again.
fn proposes(event: &Event) -> bool {
    event.get::<Proposed>().is_some() && !event.by.is_human()
}

fn counted(events: usize) -> String {
    match events {
        1 => "1 event".to_owned(),
        count => format!("{count} events"),
    }
}

/// Where the answer about an event belongs, and where the event waits for a person, if it does.
type Place = (usize, EventId, Option<&'static str>);

fn places_of(copies: Vec<(usize, Recorded)>) -> (Vec<Place>, Vec<Recorded>) {
    let of =
        |(place, copy): (usize, Recorded)| ((place, copy.event.id, set_apart(&copy.event)), copy);
    copies.into_iter().map(of).unzip()
}

/// A push that was judged.
#[derive(Debug, Default)]
struct Batch {
    /// In the order of the push; what is to be written is answered then.
    answers: Vec<Option<Answered>>,
    /// What is appended, and where its answer belongs.
    copies: Vec<(usize, Recorded)>,
    /// What is to wait, why, and where its answer belongs.
    holds: Vec<(usize, Recorded, String)>,
    is_new: bool,
    /// Whether the log may have become larger than it may be: what only blanks makes nothing larger for long, and a full
    /// workspace must not keep a leak.
    takes_room: bool,
    /// Where the log ends, once something was appended.
    cursor: Option<Cursor>,
}

impl Batch {
    fn take(&mut self, judged: Judged) {
        let place = self.answers.len();
        self.answers.push(match judged {
            Judged::Settled(answer) => Some(answer),
            Judged::Append(copy) => {
                self.copies.push((place, *copy));
                None
            }
            Judged::Hold(copy, why) => {
                self.holds.push((place, *copy, why));
                None
            }
        });
    }

    fn answer(&mut self, place: usize, id: EventId, verdict: Verdict, reason: Option<String>) {
        self.answers[place] = Some(Answered {
            id: Some(id),
            verdict,
            reason,
        });
    }

    /// Answers what was appended.
    fn appended(&mut self, places: Vec<Place>, appended: &Appended) {
        for ((place, id, waits), outcome) in places.into_iter().zip(&appended.outcomes) {
            let (verdict, reason) = verdict_on(waits, *outcome);
            self.answer(place, id, verdict, reason);
        }
        let is_new = |it: &Outcome| *it != Outcome::Known;
        self.is_new |= appended.outcomes.iter().any(is_new);
        self.cursor = Some(appended.cursor);
    }

    fn taken(self, cursor: Cursor) -> Taken {
        Taken {
            answers: self.answers.into_iter().flatten().collect(),
            is_new: self.is_new,
            cursor: Some(cursor),
        }
    }
}

impl Desk {
    /// Begins to take a push: what appending it has to know is asked with the message that begins the transaction, and the
    /// workspace's row is held from then on.
    async fn begin_push(
        database: &Database,
        house: &House,
        caller: Caller,
        workspace: WorkspaceId,
        looked: &[Looked],
    ) -> Result<Self, Failure> {
        let fine = looked.iter().filter_map(|it| match it {
            Looked::Event(copy, Opinion::Fine) => Some(Recorded::clone(copy)),
            Looked::Event(_, Opinion::Waits(_) | Opinion::Refused(_)) | Looked::Unreadable(_) => {
                None
            }
        });
        let copies: Vec<Recorded> = fine.collect();
        if copies.is_empty() {
            let mut desk = Self::begin(database, house, caller, workspace).await?;
            desk.lock().await?;
            return Ok(desk);
        }
        check_door(&caller, workspace)?;
        let organisation = caller.organisation;
        let tenant = database.appending(organisation, workspace, &copies).await?;
        // Where the workspace had to be brought back first, nothing was asked and no row taken.
        let is_held = tenant.has_foreseen();
        let mut desk = Self::over(tenant, house, caller);
        if !is_held {
            desk.lock().await?;
        }
        Ok(desk)
    }

    /// Asks for what the lines are compared with.
    async fn known_of(&mut self, looked: &[Looked], sent: &Sent) -> Result<Known, Failure> {
        let events = || looked.iter().filter_map(Looked::copy).map(|it| &it.event);
        let ids: Vec<EventId> = events().map(|it| it.id).collect();
        let mut known = Known::default();
        for (id, copy) in self.tenant.copies(&ids).await? {
            known.events.entry(id).or_default().logged = Some(copy);
        }
        for (id, line) in self.tenant.held_lines(&ids).await? {
            let stored: &mut Stored = known.events.entry(id).or_default();
            stored.held = Some(line);
        }
        if events().any(proposes) {
            known.stones = Stones::new(self.tenant.tombstones().await?);
        }
        if Role::Curator <= sent.role {
            return Ok(known);
        }
        let about = |of: fn(&Body) -> bool| -> Vec<EntryId> {
            let these = events().filter(|it| of(&it.body));
            let entries: BTreeSet<EntryId> = these.flat_map(Event::entries).collect();
            entries.into_iter().collect()
        };
        let reworded = about(|body| matches!(body, Body::Revised(_)));
        for entry in self.tenant.entries(&reworded).await? {
            let origin = entry.created.as_ref().map(|it| it.origin);
            known.origins.extend(origin.map(|it| (entry.id, it)));
        }
        let judged = about(|body| matches!(body, Body::FeedbackGiven(_)));
        let family = sent.actor.family();
        for copy in self.tenant.feedback_on(&judged).await? {
            if family.covers(&copy.event.by) {
                let day = copy.event.at.wall.date();
                let said = copy.event.entries().map(|it| ((it, day), copy.event.id));
                known.feedback.extend(said);
            }
        }
        Ok(known)
    }

    /// Appends what was admitted. What was ordered to be blanked waits no longer.
    async fn append_pushed(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        let copies = std::mem::take(&mut batch.copies);
        let orders = copies
            .iter()
            .filter_map(|(_, copy)| copy.event.get::<EventBlanked>());
        let targets: Vec<EventId> = orders.map(|it| it.event).collect();
        let only_orders = targets.len() == copies.len();
        self.append_all(batch, copies).await?;
        batch.takes_room = batch.is_new && !only_orders;
        for id in self.tenant.ordered_blank(&targets).await? {
            self.tenant.discard(id).await?;
        }
        Ok(())
    }

    async fn append_all(
        &mut self,
        batch: &mut Batch,
        copies: Vec<(usize, Recorded)>,
    ) -> Result<(), Failure> {
        if copies.is_empty() {
            return Ok(());
        }
        let (places, copies) = places_of(copies);
        let appended = self.tenant.append(copies).await?;
        batch.appended(places, &appended);
        Ok(())
    }

    /// Keeps events beside the log until a curator looked at them; one that was ordered to be blanked comes in without its
    /// words.
    async fn hold_pushed(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        let holds = std::mem::take(&mut batch.holds);
        if holds.is_empty() {
            return Ok(());
        }
        let ids: Vec<EventId> = holds.iter().map(|(_, copy, _)| copy.event.id).collect();
        let ordered = self.tenant.ordered_blank(&ids).await?;
        let by = self.caller.actor.to_string();
        let (mut all, mut own) = self.tenant.held_count(&by).await?;
        let mut blanked = Vec::new();
        for (place, copy, why) in holds {
            let id = copy.event.id;
            if ordered.contains(&id) {
                blanked.push((place, copy.blanked()));
                continue;
            }
            // Only a curator's other form comes as far as this; the one that waited is not what it said it was.
            let is_other = self.tenant.discard(id).await?.is_some();
            if !is_other {
                (all, own) = (all + 1, own + 1);
            }
            let is_full =
                HELD_MAX < all || (HELD_EACH_MAX < own && self.caller.role < Role::Curator);
            if is_full && !is_other {
                (all, own) = (all - 1, own - 1);
                let reason = format!(
                    "it would wait for a curator, and {all} events wait here, {own} of them yours: they have to be looked at first"
                );
                batch.answer(place, id, Verdict::Refused, Some(reason));
                continue;
            }
            self.tenant.hold(&copy, &why, &by).await?;
            let reason = format!("{why}; {HELD_WHERE}");
            batch.answer(place, id, Verdict::Quarantined, Some(reason));
        }
        self.append_all(batch, blanked).await
    }
}

/// Returns where an event of the log waits for a person, if it does.
fn set_apart(event: &Event) -> Option<&'static str> {
    if !event.is_quarantined() {
        return None;
    }
    let is_approved = event
        .get::<Proposed>()
        .is_some_and(|it| !it.promoted_from.is_empty() || it.kind.memory() == Memory::Procedural);
    Some(match is_approved {
        true => APPROVAL_WHERE,
        false => SET_APART_WHERE,
    })
}

fn verdict_on(waits: Option<&str>, outcome: Outcome) -> (Verdict, Option<String>) {
    match (outcome, waits) {
        (Outcome::Known, _) => (Verdict::Known, None),
        (Outcome::New | Outcome::Better, Some(place)) => {
            let reason =
                format!("it is in the log, set apart as it was where it was written: {place}");
            (Verdict::Quarantined, Some(reason))
        }
        (Outcome::New | Outcome::Better, None) => (Verdict::Admitted, None),
    }
}
