//! Writers that push to hubs while these restart, and the record of sent and acknowledged events.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ken_core::ledger::event::{
    BlankReason, EventBlanked, EventBody, Feedback, FeedbackGiven, RecordedEvent,
};
use ken_core::values::id::{EntryId, EventId, IdSource as _};
use ken_remote::wire::{PushResponse, PushVerdict};
use ken_testkit::build::{EventWriter, SeededIds};

use ken_testkit::http::{ConnectionCut, TestHttpClient, push_body};

/// Maximum events per push.
const BATCH_MAX: usize = 4;
/// Maximum time a writer retries one batch; a hub or a server restarts well within it.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
/// Pause between two attempts while no hub answers.
const RETRY_PAUSE: Duration = Duration::from_millis(15);

/// Sent and acknowledged events per workspace.
#[derive(Debug, Default)]
pub(crate) struct PushRecord {
    workspaces: Mutex<BTreeMap<String, WorkspacePushes>>,
    acknowledged: AtomicU64,
    /// Requests without an answer: refused or broken connections, server errors.
    pub(crate) unanswered: AtomicU64,
    /// Requests that the client aborted.
    pub(crate) cut: AtomicU64,
}

/// Sent and acknowledged events of one workspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkspacePushes {
    pub(crate) events: BTreeMap<EventId, RecordedEvent>,
    pub(crate) acknowledged: BTreeSet<EventId>,
}

impl PushRecord {
    pub(crate) fn of(&self, workspace: &str) -> WorkspacePushes {
        let all = self
            .workspaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.get(workspace).cloned().unwrap_or_default()
    }

    /// Returns the number of acknowledged events so far.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    fn change(&self, workspace: &str, change: impl FnOnce(&mut WorkspacePushes)) {
        let mut all = self
            .workspaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        change(all.entry(workspace.to_owned()).or_default());
    }

    fn sent(&self, workspace: &str, batch: &[RecordedEvent]) {
        let copies = batch.iter().map(|copy| (copy.event.id, copy.clone()));
        self.change(workspace, |sent| sent.events.extend(copies));
    }

    fn acknowledge(&self, workspace: &str, ids: Vec<EventId>) {
        self.acknowledged
            .fetch_add(ids.len() as u64, Ordering::Relaxed);
        self.change(workspace, |sent| sent.acknowledged.extend(ids));
    }
}

/// A client that pushes until the stop flag is set.
#[derive(Debug)]
pub(crate) struct PushWriter<'a> {
    pub(crate) hubs: &'a [SocketAddr],
    pub(crate) token: &'a str,
    pub(crate) workspaces: &'a [String],
    pub(crate) log: &'a PushRecord,
    /// Pause between two pushes.
    pub(crate) pace: Duration,
    pub(crate) stop: &'a AtomicBool,
}

impl PushWriter<'_> {
    /// Pushes batches; aborts every seventh request midway.
    pub(crate) fn run(&self, seed: u64) {
        let mut client = TestHttpClient::new(self.token);
        let mut dice = SeededIds::new(seed);
        let mut scribe = EventWriter::new(seed);
        let mut stories: BTreeMap<&str, WrittenEvents> = BTreeMap::new();
        let mut turn = usize::try_from(seed).unwrap_or(0);
        while !self.stop.load(Ordering::Relaxed) {
            turn += 1;
            std::thread::sleep(self.pace);
            let workspace = &self.workspaces[draw_below(&mut dice, self.workspaces.len())];
            let story = stories.entry(workspace).or_default();
            let batch: Vec<RecordedEvent> = (0..=draw_below(&mut dice, BATCH_MAX))
                .map(|_| story.next(&mut scribe, &mut dice))
                .collect();
            self.log.sent(workspace, &batch);
            let (path, body) = (events_path(workspace), push_body(&batch));
            if draw_below(&mut dice, 7) == 0 {
                let cut = match draw_below(&mut dice, 3) {
                    0 => ConnectionCut::BeforeResponse,
                    _ => ConnectionCut::WithinRequest(draw_below(&mut dice, 1000)),
                };
                self.log.cut.fetch_add(1, Ordering::Relaxed);
                let _ = client.cut(self.hubs[turn % self.hubs.len()], &path, &body, cut);
            } else {
                let ids = self.push_until_acknowledged(&mut client, turn, &path, &body);
                self.log.acknowledge(workspace, ids);
            }
        }
    }

    /// Sends the same batch to the hubs in turn until one acknowledges it.
    fn push_until_acknowledged(
        &self,
        client: &mut TestHttpClient,
        turn: usize,
        path: &str,
        body: &str,
    ) -> Vec<EventId> {
        let began = Instant::now();
        for attempt in 0.. {
            let hub = self.hubs[(turn + attempt) % self.hubs.len()];
            match client.post(hub, path, body) {
                Ok(answer) if answer.status == 200 => {
                    let pushed: PushResponse =
                        serde_json::from_str(&answer.body).expect("answers to a push");
                    let accepted =
                        |verdict| matches!(verdict, PushVerdict::Admitted | PushVerdict::Known);
                    let all = pushed.events.iter().all(|it| accepted(it.verdict));
                    assert!(all, "{}", answer.body);
                    return pushed.events.iter().filter_map(|it| it.id).collect();
                }
                Ok(answer) if answer.status == 429 || answer.status >= 500 => {}
                Ok(answer) => panic!("{answer:?}"),
                Err(_) => {}
            }
            self.log.unanswered.fetch_add(1, Ordering::Relaxed);
            assert!(
                began.elapsed() < RETRY_TIMEOUT,
                "nobody took a batch in {RETRY_TIMEOUT:?}"
            );
            std::thread::sleep(RETRY_PAUSE);
        }
        unreachable!("attempts have no end")
    }
}

/// Entries and feedback that one writer wrote to one workspace.
#[derive(Debug, Default)]
struct WrittenEvents {
    entries: Vec<EntryId>,
    /// Feedback events that may still be redacted.
    given: Vec<EventId>,
}

impl WrittenEvents {
    fn next(&mut self, scribe: &mut EventWriter, dice: &mut SeededIds) -> RecordedEvent {
        if self.entries.is_empty() || draw_below(dice, 2) == 0 {
            let n = dice.random() % 1_000_000;
            let statement =
                format!("Retrying request number {n} needs the same idempotency key as before");
            let (entry, copy) = scribe.propose(&statement);
            self.entries.push(entry);
            return copy;
        }
        if draw_below(dice, 8) == 0
            && let Some(event) = self.given.pop()
        {
            let reason = BlankReason::Personal;
            return scribe.write(
                Vec::new(),
                EventBody::EventBlanked(EventBlanked { event, reason }),
            );
        }
        let entry = self.entries[draw_below(dice, self.entries.len())];
        let verdict = match draw_below(dice, 2) {
            0 => Feedback::Helpful,
            _ => Feedback::Unhelpful,
        };
        let copy = scribe.about(
            entry,
            EventBody::FeedbackGiven(FeedbackGiven {
                verdict,
                weight_milli: 1000,
            }),
        );
        self.given.push(copy.event.id);
        copy
    }
}

/// Returns the path for pushing and pulling a workspace's events.
pub(crate) fn events_path(workspace: &str) -> String {
    format!("/v1/workspaces/{workspace}/events")
}

/// Draws a number below `bound`.
pub(crate) fn draw_below(dice: &mut SeededIds, bound: usize) -> usize {
    usize::try_from(dice.random() % bound.max(1) as u128).expect("less than a number of that size")
}
