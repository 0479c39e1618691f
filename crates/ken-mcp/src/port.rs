//! What the server needs from whoever keeps knowledge, and what it tells of whoever asks.
//!
//! A repository on this machine implements it, a hub on its database.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::Value;

use crate::ask::{BriefAsk, CheckAsk, FeedbackAsk, GetAsk, RecordAsk, SearchAsk};

/// Bytes of what a client says of itself that are kept.
const CLAIM_BYTES_MAX: usize = 128;

/// Who asks, as far as the protocol tells. All of it but what was proven is the client's own word.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// The name the client goes by; empty where it says none.
    pub client: String,
    pub version: String,
    /// What tells its conversation from others on the same server, where the transport does.
    pub conversation: Option<String>,
    /// What a gate proved, where there was one that did.
    pub proven: Proven,
}

/// What a gate proved about whoever asks. Whoever made the gate put it beside the request and knows what it is.
#[derive(Clone, Default)]
pub struct Proven(Option<Arc<dyn Any + Send + Sync>>);

impl Proven {
    /// Carries `what` to whoever keeps knowledge.
    pub fn new<T: Any + Send + Sync>(what: T) -> Self {
        Self(Some(Arc::new(what)))
    }

    /// Returns what was proven, where it is a `T`.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }
}

impl fmt::Debug for Proven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = if self.0.is_some() { "known" } else { "nothing" };
        write!(f, "Proven({known})")
    }
}

impl Caller {
    /// Reads who asks from a request, or from the handshake it belongs to.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let (client, version) = match context.client_info() {
            Some(info) => (kept(&info.name), kept(&info.version)),
            None => Default::default(),
        };
        let parts = context.extensions.get::<axum::http::request::Parts>();
        let proven = parts.and_then(|it| it.extensions.get::<Proven>());
        let session = parts.and_then(|it| it.headers.get("mcp-session-id"));
        let session = session.and_then(|it| it.to_str().ok()).map(kept);
        Self {
            client,
            version,
            conversation: session.filter(|it| !it.is_empty()),
            proven: proven.cloned().unwrap_or_default(),
        }
    }
}

/// Returns the beginning of a claim that fits.
fn kept(claim: &str) -> String {
    let mut end = claim.len().min(CLAIM_BYTES_MAX);
    while !claim.is_char_boundary(end) {
        end -= 1;
    }
    claim[..end].to_owned()
}

/// What a tool answers: text for whoever reads, or an object for a program; never both, nobody pays twice.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Text(String),
    Json(Value),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub whose: Whose,
    /// What is wrong, a sentence.
    pub said: String,
    /// What to do next.
    pub next: Option<String>,
}

/// Whose trouble it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The caller can ask otherwise.
    Caller,
    /// What was asked for is not there.
    Missing,
    /// Ours, or of the store.
    Ours,
}

/// An answer, or why there is none.
pub type Answered = Result<Reply, Trouble>;

impl Trouble {
    /// The caller asked wrongly and is told what to do instead.
    #[must_use]
    pub fn asked(said: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            whose: Whose::Caller,
            said: said.into(),
            next: Some(next.into()),
        }
    }

    /// Something failed that no caller can mend.
    #[must_use]
    pub fn ours(said: impl Into<String>) -> Self {
        Self {
            whose: Whose::Ours,
            said: said.into(),
            next: None,
        }
    }

    /// Returns all of it for whoever asked.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.next {
            None => self.said.clone(),
            Some(next) => format!("{}\nnext: {next}", self.said),
        }
    }
}

/// Whether whoever keeps knowledge has the code it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Entries are checked against it, and so are changes.
    AtHand,
    /// Nothing can be checked; what applies can still be told.
    Elsewhere,
}

/// Whoever keeps knowledge. What is shown is written down before it is returned.
pub trait Knowledge: Clone + Send + Sync + 'static {
    /// Says whether the code is at hand: what is promised to a model follows from it.
    fn code(&self) -> Code {
        Code::AtHand
    }

    /// Finds the entries that answer.
    fn search(&self, caller: Caller, ask: SearchAsk) -> impl Future<Output = Answered> + Send + '_;

    /// Shows all of one entry.
    fn get(&self, caller: Caller, ask: GetAsk) -> impl Future<Output = Answered> + Send + '_;

    /// Takes down what the caller found.
    fn record(&self, caller: Caller, ask: RecordAsk) -> impl Future<Output = Answered> + Send + '_;

    /// Takes down whether an entry helped.
    fn feedback(
        &self,
        caller: Caller,
        ask: FeedbackAsk,
    ) -> impl Future<Output = Answered> + Send + '_;

    /// Says what applies to places or to a change, and what the change would invalidate.
    fn check(&self, caller: Caller, ask: CheckAsk) -> impl Future<Output = Answered> + Send + '_;

    /// Says what to know before work begins.
    fn brief(
        &self,
        caller: Caller,
        ask: BriefAsk,
    ) -> impl Future<Output = Result<String, Trouble>> + Send + '_;

    /// Lists entries, a line each.
    fn index(&self, caller: Caller) -> impl Future<Output = Result<String, Trouble>> + Send + '_;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_cut_between_characters() {
        let long = "é".repeat(CLAIM_BYTES_MAX);
        assert_eq!(kept(&long).len(), CLAIM_BYTES_MAX);
        assert_eq!(kept(&format!("x{long}")).len(), CLAIM_BYTES_MAX - 1);
        assert_eq!(kept("codex"), "codex");
    }
}
