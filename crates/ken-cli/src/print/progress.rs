//! Progress indicator on stderr, shown on a terminal only, and only for work longer than a second.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Printer;

/// Time after which work counts as long.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// Milliseconds between two updates.
const TICK_MS: u64 = 100;

/// The template of a bar with a known total.
const BAR_TEMPLATE: &str = "{msg} {wide_bar} {percent}% {eta}";

/// A progress indicator; removed from the screen when dropped.
#[derive(Clone, Debug)]
pub(crate) struct ProgressIndicator {
    bar: ProgressBar,
    /// Dropped with the indicator, which tells the waiting thread that the work was short.
    _waiting: Option<Sender<()>>,
}

impl ProgressIndicator {
    /// Starts a bar toward `total`, or a spinner if the total is unknown.
    pub(crate) fn start(printer: &Printer, message: &'static str, total: Option<u64>) -> Self {
        if !printer.shows_progress() {
            // A hidden bar instead of an `Option`: callers need not distinguish the two cases.
            return Self {
                bar: ProgressBar::hidden(),
                _waiting: None,
            };
        }
        let (length, template) = match total {
            Some(total) => (Some(total), BAR_TEMPLATE),
            None => (None, "{spinner} {msg} {elapsed}"),
        };
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(message);
        let (waiting, ended) = mpsc::channel();
        let shown = bar.clone();
        // A thread, because the work itself may report no progress.
        thread::spawn(move || {
            let waited = ended.recv_timeout(SHOWN_AFTER);
            if waited == Err(RecvTimeoutError::Timeout) && !shown.is_finished() {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(TICK_MS));
            }
        });
        Self {
            bar,
            _waiting: Some(waiting),
        }
    }

    /// Shows the indicator while `act` runs and removes it before any other output.
    pub(crate) fn during<T>(self, act: impl FnOnce(&Self) -> T) -> T {
        // An explicit drop: the bar would otherwise still be on the screen when the caller prints.
        let result = act(&self);
        drop(self);
        result
    }

    /// Hides the indicator while `act` writes to the same terminal.
    pub(crate) fn aside<T>(&self, act: impl FnOnce() -> T) -> T {
        self.bar.suspend(act)
    }

    /// Sets the progress, for a total that becomes known during the work.
    pub(crate) fn set_progress(&self, done: usize, total: usize) {
        // A spinner has no length; the first total turns it into a bar.
        if self.bar.length() != Some(total as u64) {
            self.bar.set_length(total as u64);
            if let Ok(style) = ProgressStyle::with_template(BAR_TEMPLATE) {
                self.bar.set_style(style);
            }
        }
        self.bar.set_position(done as u64);
    }

    /// Advances by `amount`.
    pub(crate) fn advance(&self, amount: u64) {
        self.bar.inc(amount);
    }
}

impl Drop for ProgressIndicator {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
