//! Actions of the person at the browser: a form comes in, a [`UserAction`] goes out.
//!
//! Every action is one form with `method=post` and an address of its own, so it works without a
//! script. Values are parsed here, with the types of the command line; rules are decided elsewhere.

use std::fmt::Display;
use std::str::FromStr;

use ken_core::federation::RejectReason;
use ken_core::health::maintenance::MaintenanceService;
use ken_core::ledger::event::{DomainAction, Feedback, Overlay, Relation, RetractReason, Switch};
use ken_core::ledger::source::ContributionSource;
use ken_core::values::anchor::CodeLocation;
use ken_core::values::citation::CitationSource;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_core::values::text::{Note, Statement, Tag};
use serde::de::DeserializeOwned;

/// Maximum number of values with one name in a form.
const REPEATED_MAX: usize = 200;

/// The names of all actions in addresses.
pub const ACTION_NAMES: &[&str] = &[
    "confirm",
    "edit",
    "cite",
    "accept-code",
    "reanchor",
    "retract",
    "restore",
    "archive",
    "status",
    "overlay",
    "link",
    "feedback",
    "release",
    "approve",
    "promote",
    "keep-one",
    "keep-both",
    "keep-scoped",
    "dismiss-contradiction",
    "merge",
    "supersede",
    "dismiss-duplicate",
    "add",
    "reanchor-moved",
    "accept-claims",
    "reject-claims",
    "maintain",
    "import-documents",
    "revoke",
    "forage-domain",
    "approve-peer-entries",
    "reject-peer-entry",
    "suspend-peer",
    "resume-peer",
    "undo",
];

/// Everything that a person can do on the pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserAction {
    OnEntry(EntryId, EntryAction),
    Add(Box<NewEntry>),
    /// Follows all code that moved unchanged.
    ReanchorMoved,
    AcceptClaims(Vec<String>),
    RejectClaims(Vec<String>),
    OnPair {
        first: EntryId,
        second: EntryId,
        decision: PairDecision,
    },
    Maintain(MaintenanceService),
    /// Puts the claims of audited documents into the inbox.
    ImportDocuments,
    Revoke {
        source: ContributionSource,
        state: Switch,
    },
    /// Sets or resets the trust in a host that the forager may read.
    DecideDomain {
        host: String,
        action: DomainAction,
    },
    OnPeer {
        peer: String,
        action: PeerAction,
    },
    /// Undoes the step that begins with this event.
    Undo(EventId),
}

/// Actions on one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryAction {
    Confirm,
    Edit {
        statement: Statement,
        reason: Option<Note>,
        /// Accept the current code as well, because the new statement describes it.
        accepts_code: bool,
    },
    Cite(CitationSource),
    /// The claim still holds for the changed code.
    AcceptCode(Option<CitationSource>),
    Reanchor(CodeLocation),
    Retract {
        reason: RetractReason,
        note: Option<Note>,
    },
    Restore,
    Archive,
    SetStatus {
        status: EntryStatus,
        note: Option<Note>,
    },
    SetOverlay {
        overlay: Overlay,
        state: Switch,
        note: Option<Note>,
    },
    Link {
        to: EntryId,
        relation: Relation,
    },
    Feedback(Feedback),
    Release(Note),
    Approve {
        /// The digest of the artifact that the person read.
        digest: String,
        signature: Option<String>,
    },
    Promote,
}

/// Decisions about two entries. Those that prefer one name it first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairDecision {
    /// The first stays and supersedes the second, which contradicts it.
    Keep,
    KeepBoth,
    /// Both stay, each limited by a tag.
    KeepScoped {
        first_tag: Tag,
        second_tag: Tag,
    },
    NoContradiction,
    /// The second is merged into the first.
    Merge,
    /// The first supersedes the second.
    Supersede,
    NoDuplicate,
}

/// Actions on one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerAction {
    /// Approves entries, all of them or none.
    Approve(Vec<ReadWords>),
    Reject {
        entry: EntryId,
        reason: RejectReason,
    },
    /// Shows none of its entries until it is resumed.
    Suspend,
    Resume,
}

/// An entry of a peer, and the digest of the words that the person read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadWords {
    pub entry: EntryId,
    pub digest: String,
}

/// The content of a new entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    pub kind: EntryKind,
    pub statement: Statement,
    pub anchors: Vec<CodeLocation>,
    pub citations: Vec<CitationSource>,
    pub tags: Vec<Tag>,
}

/// An action together with the version of the entry that the person had read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionRequest {
    pub action: UserAction,
    /// The content events of the entry when the page was made, joined with commas.
    pub revision: Option<String>,
    /// Replace secrets in the text instead of refusing it.
    pub redacts: bool,
}

/// Error: a field of a form that is missing or invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct FormError {
    pub field: &'static str,
    pub message: String,
}

/// The fields of a form, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormFields(Vec<(String, String)>);

impl FormFields {
    /// Parses the body of a form. Browsers send line breaks as two characters.
    pub fn parse(body: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(body);
        Self(
            pairs
                // A statement typed in a browser must equal the same statement typed in a
                // terminal: the digest that finds repeated claims is over the text.
                .map(|(key, value)| (key.into_owned(), value.replace("\r\n", "\n")))
                .collect(),
        )
    }

    /// Returns the first value of a field, trimmed; `None` if it is absent or empty.
    pub fn text(&self, field: &str) -> Option<&str> {
        let found = self.0.iter().find(|(name, _)| name == field);
        found
            .map(|(_, value)| value.trim())
            .filter(|it| !it.is_empty())
    }

    /// Returns every field in its order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.0.iter();
        all.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the first value of a field as it was sent.
    pub(crate) fn raw(&self, field: &str) -> Option<&str> {
        self.pairs()
            .find(|(name, _)| *name == field)
            .map(|(_, value)| value)
    }

    fn all(&self, field: &str) -> Vec<String> {
        let found = self.0.iter().filter(|(name, _)| name == field);
        let values = found.map(|(_, value)| value.trim().to_owned());
        values
            .filter(|it| !it.is_empty())
            // A form of the pages has at most one value per listed claim; a longer one was not
            // made by a page.
            .take(REPEATED_MAX)
            .collect()
    }

    /// Parses a required field.
    fn value<T: FromStr<Err: Display>>(&self, field: &'static str) -> Result<T, FormError> {
        self.optional(field)?.ok_or_else(|| FormError {
            field,
            message: "is required".to_owned(),
        })
    }

    fn optional<T: FromStr<Err: Display>>(
        &self,
        field: &'static str,
    ) -> Result<Option<T>, FormError> {
        let parsed = self.text(field).map(|text| parse_field(field, text));
        parsed.transpose()
    }

    /// Parses a required field whose values are the names of an enum in JSON.
    fn named<T: DeserializeOwned>(&self, field: &'static str) -> Result<T, FormError> {
        let text = self.text(field).unwrap_or_default();
        // The names in forms are those in JSON and in the ledger, so there is no third list of
        // names to keep in step.
        serde_json::from_value(text.into()).map_err(|_| FormError {
            field,
            message: format!("`{text}` is not a valid value"),
        })
    }

    /// Parses several values, separated by commas or whitespace.
    fn list<T: FromStr<Err: Display>>(&self, field: &'static str) -> Result<Vec<T>, FormError> {
        let words = self.text(field).unwrap_or_default();
        let words = words.split([',', ' ', '\n', '\r', '\t']);
        let words = words.filter(|it| !it.is_empty());
        words.map(|text| parse_field(field, text)).collect()
    }
}

fn parse_field<T: FromStr<Err: Display>>(field: &'static str, text: &str) -> Result<T, FormError> {
    text.parse().map_err(|error: T::Err| FormError {
        field,
        message: error.to_string(),
    })
}

impl ActionRequest {
    /// Reads the form of the action `name`; `None` if there is no such action.
    pub fn read(name: &str, form: &FormFields) -> Option<Result<Self, FormError>> {
        // Three readers instead of one, because each shares the field that all its actions
        // require.
        let action = read_entry_action(name, form)
            .or_else(|| read_pair_action(name, form))
            .or_else(|| read_other_action(name, form))?;
        Some(action.map(|action| Self {
            action,
            // Without it, a decision would apply to a text that changed while the person was
            // reading.
            revision: form.text("revision").map(ToOwned::to_owned),
            redacts: form.text("redact").is_some(),
        }))
    }
}

/// Reads an action on one entry.
fn read_entry_action(name: &str, form: &FormFields) -> Option<Result<UserAction, FormError>> {
    let read = || -> Result<Option<UserAction>, FormError> {
        let action = match name {
            "confirm" => EntryAction::Confirm,
            "edit" => EntryAction::Edit {
                statement: form.value("statement")?,
                reason: form.optional("reason")?,
                // A checkbox that is not ticked is not sent at all.
                accepts_code: form.text("accept_code").is_some(),
            },
            "cite" => EntryAction::Cite(form.value("citation")?),
            "accept-code" => EntryAction::AcceptCode(form.optional("citation")?),
            "reanchor" => EntryAction::Reanchor(form.value("to")?),
            "retract" => EntryAction::Retract {
                reason: form.named("reason")?,
                note: form.optional("note")?,
            },
            "restore" => EntryAction::Restore,
            "archive" => EntryAction::Archive,
            "status" => EntryAction::SetStatus {
                status: form.value("status")?,
                note: form.optional("note")?,
            },
            "overlay" => EntryAction::SetOverlay {
                overlay: form.named("overlay")?,
                state: form.named("state")?,
                note: form.optional("note")?,
            },
            "link" => EntryAction::Link {
                to: form.value("to")?,
                relation: form.named("relation")?,
            },
            "feedback" => EntryAction::Feedback(form.named("verdict")?),
            "release" => EntryAction::Release(form.value("reason")?),
            "approve" => EntryAction::Approve {
                // Approval is bound to the bytes that were shown; an artifact that changed since
                // is refused.
                digest: form.value("digest")?,
                signature: form.optional("signature")?,
            },
            "promote" => EntryAction::Promote,
            _ => return Ok(None),
        };
        // Read last: a form with several errors names the field that the person filled in.
        Ok(Some(UserAction::OnEntry(form.value("entry")?, action)))
    };
    read().transpose()
}

/// Reads a decision about two entries.
fn read_pair_action(name: &str, form: &FormFields) -> Option<Result<UserAction, FormError>> {
    let read = || -> Result<Option<UserAction>, FormError> {
        let decision = match name {
            "keep-one" => PairDecision::Keep,
            "keep-both" => PairDecision::KeepBoth,
            "keep-scoped" => PairDecision::KeepScoped {
                first_tag: form.value("first_tag")?,
                second_tag: form.value("second_tag")?,
            },
            "dismiss-contradiction" => PairDecision::NoContradiction,
            "merge" => PairDecision::Merge,
            "supersede" => PairDecision::Supersede,
            "dismiss-duplicate" => PairDecision::NoDuplicate,
            _ => return Ok(None),
        };
        let (first, second) = (form.value("first")?, form.value("second")?);
        Ok(Some(UserAction::OnPair {
            first,
            second,
            decision,
        }))
    };
    read().transpose()
}

/// Reads an action on claims or on the whole knowledge base.
fn read_other_action(name: &str, form: &FormFields) -> Option<Result<UserAction, FormError>> {
    let read = || -> Result<Option<UserAction>, FormError> {
        Ok(Some(match name {
            "add" => UserAction::Add(Box::new(NewEntry {
                kind: form.value("kind")?,
                statement: form.value("statement")?,
                anchors: form.list("anchors")?,
                citations: form.list("citations")?,
                tags: form.list("tags")?,
            })),
            "reanchor-moved" => UserAction::ReanchorMoved,
            "accept-claims" => UserAction::AcceptClaims(form.all("claim")),
            "reject-claims" => UserAction::RejectClaims(form.all("claim")),
            "maintain" => UserAction::Maintain(form.named("service")?),
            "import-documents" => UserAction::ImportDocuments,
            "revoke" => UserAction::Revoke {
                source: form.value("source")?,
                state: form.named("state")?,
            },
            "forage-domain" => UserAction::DecideDomain {
                host: form.value("host")?,
                action: form.named("decision")?,
            },
            "approve-peer-entries" => on_peer(form, PeerAction::Approve(read_words(form)?))?,
            "reject-peer-entry" => {
                let (entry, reason) = (form.value("entry")?, read_reject_reason(form)?);
                on_peer(form, PeerAction::Reject { entry, reason })?
            }
            "suspend-peer" => on_peer(form, PeerAction::Suspend)?,
            "resume-peer" => on_peer(form, PeerAction::Resume)?,
            "undo" => UserAction::Undo(form.value("step")?),
            _ => return Ok(None),
        }))
    };
    read().transpose()
}

fn on_peer(form: &FormFields, action: PeerAction) -> Result<UserAction, FormError> {
    let peer = form.value("peer")?;
    Ok(UserAction::OnPeer { peer, action })
}

/// Reads the entries of a peer that a form approves; at least one.
pub fn read_words(form: &FormFields) -> Result<Vec<ReadWords>, FormError> {
    let named = form.all("words").into_iter().map(|text| {
        // An approval without the digest would cover words that nobody read.
        let (entry, digest) = text.split_once(' ').unwrap_or((&text, ""));
        let entry = parse_field("words", entry)?;
        if digest.is_empty() {
            let message = "an entry has no digest".to_owned();
            return Err(FormError {
                field: "words",
                message,
            });
        }
        let digest = digest.to_owned();
        Ok(ReadWords { entry, digest })
    });
    let read: Vec<ReadWords> = named.collect::<Result<_, _>>()?;
    if read.is_empty() {
        return Err(FormError {
            field: "words",
            message: "no entry was ticked".to_owned(),
        });
    }
    Ok(read)
}

/// Reads why a form rejects an entry of a peer.
pub fn read_reject_reason(form: &FormFields) -> Result<RejectReason, FormError> {
    match form.text("reason") {
        Some("false") => Ok(RejectReason::False),
        Some("unwanted") => Ok(RejectReason::Unwanted),
        Some(_) | None => Err(FormError {
            field: "reason",
            message: "choose `false` or `unwanted`".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, body: &str) -> Option<Result<UserAction, String>> {
        let form = FormFields::parse(body.as_bytes());
        let read = ActionRequest::read(name, &form)?;
        Some(read.map(|it| it.action).map_err(|error| error.to_string()))
    }

    #[test]
    fn forms_become_actions() {
        let entry = "L-7k2f5qm3".parse().expect("an id");
        assert_eq!(
            read("confirm", "entry=L-7k2f5qm3"),
            Some(Ok(UserAction::OnEntry(entry, EntryAction::Confirm)))
        );
        assert_eq!(
            read("retract", "entry=L-7k2f5qm3&reason=false&note="),
            Some(Ok(UserAction::OnEntry(
                entry,
                EntryAction::Retract {
                    reason: RetractReason::False,
                    note: None
                }
            )))
        );
        let words = |digest: &str| ReadWords {
            entry,
            digest: digest.to_owned(),
        };
        assert_eq!(
            read(
                "approve-peer-entries",
                "peer=acme&words=L-7k2f5qm3+b3:00&words=L-7k2f5qm3+b3:11"
            ),
            Some(Ok(UserAction::OnPeer {
                peer: "acme".to_owned(),
                action: PeerAction::Approve(vec![words("b3:00"), words("b3:11")]),
            }))
        );
        let Some(Ok(UserAction::Add(new))) = read(
            "add",
            "kind=learning&statement=A+claim&anchors=src%2Fpay.rs%23charge&citations=pr:7,commit:HEAD&tags=a",
        ) else {
            panic!("an addition");
        };
        assert_eq!(
            (new.anchors.len(), new.citations.len(), new.tags.len()),
            (1, 2, 1)
        );
    }

    #[test]
    fn invalid_forms_name_the_field() {
        for (name, body, message) in [
            ("confirm", "", "entry: is required"),
            ("confirm", "entry=x", "entry: `x` is not"),
            ("edit", "entry=L-7k2f5qm3", "statement: is required"),
            (
                "retract",
                "entry=L-7k2f5qm3&reason=x",
                "reason: `x` is not a valid value",
            ),
            (
                "cite",
                "entry=L-7k2f5qm3&citation=x",
                "citation: `x` is not a valid citation",
            ),
            ("undo", "step=1", "step: `1` is not"),
            (
                "approve-peer-entries",
                "peer=acme",
                "words: no entry was ticked",
            ),
            (
                "approve-peer-entries",
                "peer=acme&words=L-7k2f5qm3",
                "words: an entry has no digest",
            ),
            (
                "approve-peer-entries",
                "words=L-7k2f5qm3+b3:00",
                "peer: is required",
            ),
            (
                "reject-peer-entry",
                "peer=acme&entry=L-7k2f5qm3&reason=x",
                "reason: choose",
            ),
            ("forage-domain", "decision=trust", "host: is required"),
            (
                "forage-domain",
                "host=a.org&decision=allow",
                "decision: `allow` is not a valid value",
            ),
        ] {
            let Some(Err(error)) = read(name, body) else {
                panic!("{name} {body} is invalid");
            };
            assert!(error.starts_with(message), "{error}");
        }
        assert_eq!(read("format-disk", ""), None);
        for name in ACTION_NAMES {
            assert!(read(name, "").is_some(), "{name}");
        }
        // The other way round: every name in this file is listed.
        let source = include_str!("action.rs");
        let arms = source
            .lines()
            .map(str::trim)
            .filter(|it| it.starts_with('"') && it.contains("\" => "));
        let arms: Vec<&str> = arms.filter_map(|it| it.split('"').nth(1)).collect();
        assert!(arms.len() > 20);
        for name in arms {
            assert!(ACTION_NAMES.contains(&name), "{name}");
        }
    }
}
