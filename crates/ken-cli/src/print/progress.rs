//! Progress indicator on stderr, shown on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::Printer;

/// Milliseconds between two updates.
const TICK_MS: u64 = 100;

/// The template of a bar with a known total.
const BAR_TEMPLATE: &str = "{msg} {wide_bar} {percent}% {eta}";

/// A progress indicator; removed from the screen when dropped.
#[derive(Clone, Debug)]
pub(crate) struct ProgressIndicator(ProgressBar);

impl ProgressIndicator {
    /// Starts a bar toward `total`, or a spinner if the total is unknown.
    pub(crate) fn start(printer: &Printer, message: &'static str, total: Option<u64>) -> Self {
        if !printer.shows_progress() {
            // A hidden bar instead of an `Option`: callers need not distinguish the two cases.
            return Self(ProgressBar::hidden());
        }
        let (bar, template) = match total {
            Some(total) => (ProgressBar::new(total), BAR_TEMPLATE),
            None => (ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(message);
        bar.enable_steady_tick(Duration::from_millis(TICK_MS));
        Self(bar)
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
        self.0.suspend(act)
    }

    /// Sets the progress, for a total that becomes known during the work.
    pub(crate) fn set_progress(&self, done: usize, total: usize) {
        // A spinner has no length; the first total turns it into a bar.
        if self.0.length() != Some(total as u64) {
            self.0.set_length(total as u64);
            if let Ok(style) = ProgressStyle::with_template(BAR_TEMPLATE) {
                self.0.set_style(style);
            }
        }
        self.0.set_position(done as u64);
    }

    /// Advances by `amount`.
    pub(crate) fn advance(&self, amount: u64) {
        self.0.inc(amount);
    }
}

impl Drop for ProgressIndicator {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
