//! An engine on a thread of its own, which answers one request at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

use ken_engine::Engine;
use ken_ui::KnowledgeError;
use ken_ui::source::KnowledgeErrorCause;
use tokio::sync::oneshot;

use super::errors::to_knowledge_error;
use crate::failure::CommandFailure;
use crate::world::Environment;

/// A question to the engine; it sends the answer itself.
type EngineJob = Box<dyn FnOnce(&mut Engine) + Send>;

/// The sending end of an engine's thread.
#[derive(Clone, Debug)]
pub(super) struct EngineThread {
    jobs: mpsc::Sender<EngineJob>,
}

impl EngineThread {
    /// Opens the ledger on a new thread. Dropping every clone ends the thread.
    pub(super) fn start(name: &str, environment: &Environment) -> Result<Self, CommandFailure> {
        let (jobs, received) = mpsc::channel::<EngineJob>();
        let (opened, wait) = mpsc::channel();
        let environment = environment.clone();
        // The engine is opened where it is used, because it cannot move between threads.
        let run = move || {
            let mut engine = match environment.open_to_read() {
                Ok(engine) => engine,
                Err(failure) => {
                    let _ = opened.send(Err(failure));
                    return;
                }
            };
            let _ = opened.send(Ok(()));
            for job in received {
                // A panic is a defect of one page. The others continue with a fresh engine.
                if catch_unwind(AssertUnwindSafe(|| job(&mut engine))).is_err() {
                    match environment.open_to_read() {
                        Ok(reopened) => engine = reopened,
                        Err(_) => return,
                    }
                }
            }
        };
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(run);
        spawned.map_err(|e| CommandFailure::io("cannot start a thread", &e))?;
        wait.recv()
            .map_err(|_| CommandFailure::usage("the thread of the engine ended"))??;
        Ok(Self { jobs })
    }

    /// Asks about the current state of the ledger.
    ///
    /// A request whose caller stopped waiting is skipped: a browser gives up older searches while
    /// the person types.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Engine) -> Result<T, CommandFailure> + Send + 'static,
    ) -> Result<T, KnowledgeError> {
        let (reply, answer) = oneshot::channel();
        let job = move |engine: &mut Engine| {
            if reply.is_closed() {
                return;
            }
            let refreshed = engine.refresh().map_err(CommandFailure::from);
            let answer = refreshed.and_then(|()| question(engine));
            // Notices are for a terminal; the pages show the state itself.
            drop(engine.take_notices());
            let _ = reply.send(answer.map_err(to_knowledge_error));
        };
        let ended = || {
            let message = "internal error in Ken; see its terminal, and start `ken ui` again";
            KnowledgeError::new(KnowledgeErrorCause::Internal, message)
        };
        self.jobs.send(Box::new(job)).map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }
}
