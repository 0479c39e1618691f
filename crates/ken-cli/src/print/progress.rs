//! A bar on stderr for what takes long, drawn on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::Printer;

/// Time between two drawings.
const TICK_MS: u64 = 100;

/// How a bar with a known end looks.
const BAR: &str = "{msg} {wide_bar} {percent}% {eta}";

/// Shows that something is under way; gone when dropped.
#[derive(Clone, Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Counts towards `total`, or turns where the total is not known.
    pub(crate) fn start(printer: &Printer, what: &'static str, total: Option<u64>) -> Self {
        if !printer.is_lively() {
            return Self(ProgressBar::hidden());
        }
        let (bar, template) = match total {
            Some(total) => (ProgressBar::new(total), BAR),
            None => (ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(TICK_MS));
        Self(bar)
    }

    /// Is shown while `act` is under way and gone before anything else is said.
    pub(crate) fn during<T>(self, act: impl FnOnce(&Self) -> T) -> T {
        let result = act(&self);
        drop(self);
        result
    }

    /// Steps aside while `act` writes to the same terminal.
    pub(crate) fn aside<T>(&self, act: impl FnOnce() -> T) -> T {
        self.0.suspend(act)
    }

    /// Has come to `done` of `total`, where the total shows only on the way.
    pub(crate) fn come_to(&self, done: usize, total: usize) {
        if self.0.length() != Some(total as u64) {
            self.0.set_length(total as u64);
            if let Ok(style) = ProgressStyle::with_template(BAR) {
                self.0.set_style(style);
            }
        }
        self.0.set_position(done as u64);
    }

    /// Goes on by `amount`.
    pub(crate) fn advance(&self, amount: u64) {
        self.0.inc(amount);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
