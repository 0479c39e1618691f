//! Writers that push to hubs that come and go, and an outside log of what was sent and what was acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ken_core::event::{BlankReason, Body, EventBlanked, Feedback, FeedbackGiven, Recorded};
use ken_core::id::{EntryId, EventId, IdSource as _};
use ken_remote::wire::{Pushed, Verdict};
use ken_testkit::build::{Ids, Scribe};

use ken_testkit::http::{Client, Cut, push_body};

/// Events of one push, at the most.
const BATCH_MAX: usize = 4;
/// How long a writer tries to get one batch in: a hub or a server begins again well within.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two tries, while nobody answers.
const PAUSE: Duration = Duration::from_millis(15);

/// What was sent to each workspace, and what of it was acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Log {
    workspaces: Mutex<BTreeMap<String, Sent>>,
    acknowledged: AtomicU64,
    /// Requests nobody answered: refused connections, broken ones, problems of the server.
    pub(crate) unanswered: AtomicU64,
    /// Requests whose sender let go in the middle.
    pub(crate) cut: AtomicU64,
}

/// Of one workspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) events: BTreeMap<EventId, Recorded>,
    pub(crate) acknowledged: BTreeSet<EventId>,
}

impl Log {
    pub(crate) fn of(&self, workspace: &str) -> Sent {
        let all = self
            .workspaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.get(workspace).cloned().unwrap_or_default()
    }

    /// Returns how many events were acknowledged so far.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    fn change(&self, workspace: &str, change: impl FnOnce(&mut Sent)) {
        let mut all = self
            .workspaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        change(all.entry(workspace.to_owned()).or_default());
    }

    fn sent(&self, workspace: &str, batch: &[Recorded]) {
        let copies = batch.iter().map(|copy| (copy.event.id, copy.clone()));
        self.change(workspace, |sent| sent.events.extend(copies));
    }

    fn acknowledge(&self, workspace: &str, ids: Vec<EventId>) {
        self.acknowledged
            .fetch_add(ids.len() as u64, Ordering::Relaxed);
        self.change(workspace, |sent| sent.acknowledged.extend(ids));
    }
}

/// Somebody who pushes until told to stop.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    pub(crate) hubs: &'a [SocketAddr],
    pub(crate) token: &'a str,
    pub(crate) workspaces: &'a [String],
    pub(crate) log: &'a Log,
    /// Between two pushes.
    pub(crate) pace: Duration,
    pub(crate) stop: &'a AtomicBool,
}

impl Writer<'_> {
    /// Pushes; every seventh request is let go of in the middle.
    pub(crate) fn run(&self, seed: u64) {
        let mut client = Client::new(self.token);
        let mut dice = Ids::new(seed);
        let mut scribe = Scribe::new(seed);
        let mut stories: BTreeMap<&str, Story> = BTreeMap::new();
        let mut turn = usize::try_from(seed).unwrap_or(0);
        while !self.stop.load(Ordering::Relaxed) {
            turn += 1;
            std::thread::sleep(self.pace);
            let workspace = &self.workspaces[below(&mut dice, self.workspaces.len())];
            let story = stories.entry(workspace).or_default();
            let batch: Vec<Recorded> = (0..=below(&mut dice, BATCH_MAX))
                .map(|_| story.next(&mut scribe, &mut dice))
                .collect();
            self.log.sent(workspace, &batch);
            let (path, body) = (path(workspace), push_body(&batch));
            if below(&mut dice, 7) == 0 {
                let cut = match below(&mut dice, 3) {
                    0 => Cut::BeforeTheAnswer,
                    _ => Cut::Within(below(&mut dice, 1000)),
                };
                self.log.cut.fetch_add(1, Ordering::Relaxed);
                let _ = client.cut(self.hubs[turn % self.hubs.len()], &path, &body, cut);
            } else {
                let ids = self.insist(&mut client, turn, &path, &body);
                self.log.acknowledge(workspace, ids);
            }
        }
    }

    /// Sends the same batch to one hub and the other until one acknowledges it.
    fn insist(&self, client: &mut Client, turn: usize, path: &str, body: &str) -> Vec<EventId> {
        let began = Instant::now();
        for attempt in 0.. {
            let hub = self.hubs[(turn + attempt) % self.hubs.len()];
            match client.post(hub, path, body) {
                Ok(answer) if answer.status == 200 => {
                    let pushed: Pushed =
                        serde_json::from_str(&answer.body).expect("answers to a push");
                    let accepted = |verdict| matches!(verdict, Verdict::Admitted | Verdict::Known);
                    let all = pushed.events.iter().all(|it| accepted(it.verdict));
                    assert!(all, "{}", answer.body);
                    return pushed.events.iter().filter_map(|it| it.id).collect();
                }
                Ok(answer) if answer.status == 429 || 500 <= answer.status => {}
                Ok(answer) => panic!("{answer:?}"),
                Err(_) => {}
            }
            self.log.unanswered.fetch_add(1, Ordering::Relaxed);
            assert!(
                began.elapsed() < PATIENCE,
                "nobody took a batch in {PATIENCE:?}"
            );
            std::thread::sleep(PAUSE);
        }
        unreachable!("attempts have no end")
    }
}

/// What one writer did in one workspace so far.
#[derive(Debug, Default)]
struct Story {
    entries: Vec<EntryId>,
    /// Feedback that may still be blanked.
    given: Vec<EventId>,
}

impl Story {
    fn next(&mut self, scribe: &mut Scribe, dice: &mut Ids) -> Recorded {
        if self.entries.is_empty() || below(dice, 2) == 0 {
            let n = dice.random() % 1_000_000;
            let statement =
                format!("Retrying request number {n} needs the same idempotency key as before");
            let (entry, copy) = scribe.propose(&statement);
            self.entries.push(entry);
            return copy;
        }
        if below(dice, 8) == 0
            && let Some(event) = self.given.pop()
        {
            let reason = BlankReason::Personal;
            return scribe.write(
                Vec::new(),
                Body::EventBlanked(EventBlanked { event, reason }),
            );
        }
        let entry = self.entries[below(dice, self.entries.len())];
        let verdict = match below(dice, 2) {
            0 => Feedback::Helpful,
            _ => Feedback::Unhelpful,
        };
        let copy = scribe.about(
            entry,
            Body::FeedbackGiven(FeedbackGiven {
                verdict,
                weight_milli: 1000,
            }),
        );
        self.given.push(copy.event.id);
        copy
    }
}

/// Returns where a workspace's events are pushed to and pulled from.
pub(crate) fn path(workspace: &str) -> String {
    format!("/v1/workspaces/{workspace}/events")
}

/// Draws a number.
pub(crate) fn below(dice: &mut Ids, bound: usize) -> usize {
    usize::try_from(dice.random() % bound.max(1) as u128).expect("less than a number of that size")
}
