//! Keeping the ledger itself in order: packing, blanking, recovering, rebuilding, checking.

use std::collections::BTreeSet;

use ken_core::actor::Actor;
use ken_core::decide;
use ken_core::event::BlankReason;
use ken_ledger::check::{Checked, Severity};
use ken_ledger::git::{Operation, operation_under_way};
use ken_ledger::recover::{Recovered, Scope};
use ken_ledger::replace::{ReplaceError, Replaced};
use ken_ledger::{SegmentName, layout};

use crate::engine::{Engine, READ_TRIES, is_gone};
use crate::error::Error;
use crate::notice::Notice;

/// Segments above which packing is advised.
pub const SEGMENTS_ADVISED_MAX: usize = 2000;

/// One check of `ken doctor`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Check {
    pub name: &'static str,
    pub status: Health,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    Ok,
    Warning,
    Error,
}

impl Engine {
    /// Packs committed segments, in git with a commit of its own.
    pub fn pack(&mut self) -> Result<Replaced, Error> {
        self.absorb_before_writing()?;
        let now = self.now();
        let replaced = self.ledger.pack(now, &mut *self.world)?;
        self.refresh()?;
        Ok(replaced)
    }

    /// Removes the data of an event from every segment, the journal, the index and the views.
    pub fn blank(
        &mut self,
        event: &str,
        reason: BlankReason,
        by: &Actor,
    ) -> Result<Replaced, Error> {
        self.absorb_before_writing()?;
        let target = self.event(event)?;
        let draft = decide::blank(&target, by, reason)?;
        // Asked before anything is written: an order that cannot be carried out yet is no order.
        if let Some(operation) = self.operation_under_way() {
            return Err(ReplaceError::Busy(operation).into());
        }
        self.record(vec![draft], by)?;
        let now = self.now();
        let ids = BTreeSet::from([target.event.id]);
        let replaced = self.ledger.blank(&ids, now, &mut *self.world)?;
        self.refresh()?;
        self.render_due()?;
        Ok(replaced)
    }

    /// Blanks copies of blanked events that git brought back, and obeys orders it brought.
    pub(crate) fn scrub_returned(&mut self) -> Result<(), Error> {
        let mut tries = 0;
        let (obeyed, scrubbed) = loop {
            tries += 1;
            match self.scrub_once() {
                Err(error) if tries < READ_TRIES && is_gone(&error) => {}
                Err(Error::Replace(
                    error @ (ReplaceError::Busy(_) | ReplaceError::Commit { .. }),
                )) => {
                    let why = error.to_string();
                    self.notices.push(Notice::ScrubWaits { why });
                    return Ok(());
                }
                other => break other?,
            }
        };
        if 0 < scrubbed {
            self.notices.push(Notice::Scrubbed { events: scrubbed });
        }
        if obeyed || 0 < scrubbed {
            self.refresh()?;
        }
        Ok(())
    }

    /// Returns whether there was a new order, and how many events were blanked in the tree.
    fn scrub_once(&mut self) -> Result<(bool, u64), Error> {
        let now = self.now();
        let (mut all, ordered) = (self.ledger.blanked_ids()?, self.index.ordered_blank()?);
        let obeyed = !ordered.is_subset(&all);
        if !obeyed && !self.index.any_in_full(&all)? {
            return Ok((false, 0));
        }
        let replaced = if obeyed {
            // Somebody else's order: this clone's journal and memory have to follow it too.
            all.extend(ordered);
            self.ledger.blank(&all, now, &mut *self.world)?
        } else {
            self.ledger.scrub(now, &mut *self.world)?
        };
        Ok((obeyed, replaced.blanked))
    }

    /// Brings back events that a reset, clean or removed worktree took away.
    pub fn recover(&mut self, scope: Scope) -> Result<Recovered, Error> {
        let now = self.now();
        let recovered = self.ledger.recover(scope, now, &mut *self.world)?;
        self.refresh()?;
        self.absorb_before_writing()?;
        self.render_due()?;
        Ok(recovered)
    }

    /// Verifies every line of every segment and pack.
    pub fn check_ledger(&self) -> Result<Checked, Error> {
        Ok(self.ledger.check()?)
    }

    /// Returns the lines of a segment or pack as text.
    pub fn segment_text(&self, path: &str) -> Result<String, Error> {
        let inside = path
            .strip_prefix(&format!("{}/", layout::KEN_DIR))
            .unwrap_or(path);
        let name: SegmentName = inside
            .parse()
            .map_err(|e: layout::NotASegment| Error::Usage(e.to_string()))?;
        Ok(self.ledger.read(&name)?.text().to_owned())
    }

    /// Looks the installation over.
    pub fn doctor(&mut self) -> Result<Vec<Check>, Error> {
        let checked = self.ledger.check()?;
        let damaged = checked
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Damage)
            .count();
        let segments = self.ledger.list()?.len();
        let copies = self.returned_copies()?.len();
        let unknown: u32 = self.workspace()?.unknown.values().sum();
        Ok(vec![
            check(
                "ledger",
                damaged == 0,
                format!(
                    "{} in {}",
                    counted(checked.events, "event"),
                    counted(segments as u64, "file")
                ),
                || {
                    (
                        Health::Error,
                        format!("{damaged} damaged lines"),
                        "ken ledger check",
                    )
                },
            ),
            check(
                "segments",
                segments <= SEGMENTS_ADVISED_MAX,
                counted(segments as u64, "segment"),
                || {
                    (
                        Health::Warning,
                        format!("{segments} segments slow git down"),
                        "ken ledger pack",
                    )
                },
            ),
            check(
                "blanked",
                copies == 0,
                "no blanked data in the tree".to_owned(),
                || {
                    (
                        Health::Error,
                        format!("{copies} copies of blanked events are back"),
                        "ken sync",
                    )
                },
            ),
            check(
                "readable",
                unknown == 0,
                "every event is known to this ken".to_owned(),
                || {
                    (
                        Health::Warning,
                        format!("{unknown} events are from a newer ken"),
                        "install a newer ken",
                    )
                },
            ),
            self.check_attributes(),
        ])
    }

    fn operation_under_way(&self) -> Option<Operation> {
        self.place
            .git
            .as_ref()
            .and_then(|dirs| operation_under_way(&dirs.git_dir))
    }

    fn check_attributes(&self) -> Check {
        let text =
            std::fs::read_to_string(self.place.root.join(".gitattributes")).unwrap_or_default();
        let fine = self.place.git.is_none() || text.contains(".ken/**/*.jsonl -text");
        check(
            "gitattributes",
            fine,
            "line endings are kept".to_owned(),
            || {
                (
                    Health::Warning,
                    ".gitattributes lacks Ken's lines".to_owned(),
                    "ken init",
                )
            },
        )
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn check(
    name: &'static str,
    fine: bool,
    message: String,
    otherwise: impl FnOnce() -> (Health, String, &'static str),
) -> Check {
    if fine {
        return Check {
            name,
            status: Health::Ok,
            message,
            fix: None,
        };
    }
    let (status, message, fix) = otherwise();
    Check {
        name,
        status,
        message,
        fix: Some(fix.to_owned()),
    }
}
