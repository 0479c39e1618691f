//! The backend interface of the server, and the identity of callers.
//!
//! The CLI implements it on a local repository, the hub on its database.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::Value;

use crate::ask::{
    BriefingArguments, CheckArguments, CiteArguments, EditArguments, FeedbackArguments,
    GetArguments, RecordArguments, SearchArguments,
};

/// Maximum bytes kept of a client's claim about itself.
const CLAIM_BYTES_MAX: usize = 128;

/// The caller of a request. Everything except `proven` is an unverified claim of the client.
#[derive(Clone, Debug, Default)]
pub struct McpCaller {
    /// The client's name; empty if it sends none.
    pub client: String,
    pub version: String,
    /// The id of its session, if the transport has one.
    pub conversation: Option<String>,
    /// The identity proven by the access check, if any.
    pub proven: ProvenIdentity,
}

/// A proven identity of the caller, of a type that only the access check and the backend know.
#[derive(Clone, Default)]
pub struct ProvenIdentity(Option<Arc<dyn Any + Send + Sync>>);

impl ProvenIdentity {
    /// Wraps an identity for the backend.
    pub fn new<T: Any + Send + Sync>(identity: T) -> Self {
        Self(Some(Arc::new(identity)))
    }

    /// Returns the identity if its type is `T`.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }
}

impl fmt::Debug for ProvenIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The identity may contain personal data and has no `Debug` bound, so it is not printed.
        let known = if self.0.is_some() { "known" } else { "nothing" };
        write!(f, "Proven({known})")
    }
}

impl McpCaller {
    /// Extracts the caller from a request or from the handshake of its session.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let (client, version) = match context.client_info() {
            Some(info) => (truncate_claim(&info.name), truncate_claim(&info.version)),
            None => Default::default(),
        };
        let parts = context.extensions.get::<axum::http::request::Parts>();
        // Only the HTTP transport attaches request parts; on standard input both stay empty.
        // Taken from the extensions, which only the server's own middleware can set, not from a
        // header.
        let proven = parts.and_then(|it| it.extensions.get::<ProvenIdentity>());
        let header = parts.and_then(|it| it.headers.get("mcp-session-id"));
        let session = header.and_then(|it| it.to_str().ok()).map(truncate_claim);
        Self {
            client,
            version,
            conversation: session.filter(|it| !it.is_empty()),
            proven: proven.cloned().unwrap_or_default(),
        }
    }
}

/// Truncates a claim to [`CLAIM_BYTES_MAX`] bytes.
fn truncate_claim(claim: &str) -> String {
    // Byte slicing inside a character would panic, and the client controls this text.
    let mut end = claim.len().min(CLAIM_BYTES_MAX);
    while !claim.is_char_boundary(end) {
        end -= 1;
    }
    claim[..end].to_owned()
}

/// A tool's result: text for a model or JSON for a program. Never both, to save tokens.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolReply {
    Text(String),
    Json(Value),
}

/// A failed tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    pub whose: ErrorCause,
    /// The error message, one sentence.
    pub said: String,
    /// The recommended next step.
    pub next: Option<String>,
}

/// The cause of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCause {
    /// The request is invalid; the caller can correct it.
    Caller,
    /// The requested object does not exist.
    Missing,
    /// The server or its store failed.
    Ours,
}

/// The result of a tool call.
pub type ToolResult = Result<ToolReply, ToolError>;

impl ToolError {
    /// Creates an error for an invalid request, with a hint for the caller.
    #[must_use]
    pub fn asked(said: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            whose: ErrorCause::Caller,
            said: said.into(),
            next: Some(next.into()),
        }
    }

    /// Creates an error that no caller can fix.
    #[must_use]
    pub fn ours(said: impl Into<String>) -> Self {
        Self {
            whose: ErrorCause::Ours,
            said: said.into(),
            next: None,
        }
    }

    /// Returns the message and the hint for the caller.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.next {
            None => self.said.clone(),
            Some(next) => format!("{}\nnext: {next}", self.said),
        }
    }
}

/// The backend's access to the code that its knowledge is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeAccess {
    /// Entries and changes are checked against the code.
    Available,
    /// Nothing can be checked; entries are matched by path only.
    Elsewhere,
}

/// A source of knowledge. Exposures are recorded before the result is returned.
pub trait KnowledgeBackend: Clone + Send + Sync + 'static {
    /// Returns the access to the code, which determines the tool descriptions.
    fn code(&self) -> CodeAccess {
        CodeAccess::Available
    }

    /// Returns whether the caller may use tools that add data; others are not listed.
    fn may_add(&self, caller: &McpCaller) -> bool {
        let _ = caller;
        true
    }

    /// Searches entries.
    fn search(
        &self,
        caller: McpCaller,
        ask: SearchArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_;

    /// Returns one entry in full.
    fn get(
        &self,
        caller: McpCaller,
        ask: GetArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_;

    /// Adds a finding of the caller as an entry.
    fn record(
        &self,
        caller: McpCaller,
        ask: RecordArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_;

    /// Records feedback on an entry.
    fn feedback(
        &self,
        caller: McpCaller,
        ask: FeedbackArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_;

    /// Edits an entry. Only a backend without access to the code offers it.
    fn edit(
        &self,
        caller: McpCaller,
        ask: EditArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_ {
        let _ = (caller, ask);
        std::future::ready(Err(ToolError::ours(
            "this server has no tool to edit entries",
        )))
    }

    /// Adds citations to an entry. Only a backend without access to the code offers it.
    fn cite(
        &self,
        caller: McpCaller,
        ask: CiteArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_ {
        let _ = (caller, ask);
        std::future::ready(Err(ToolError::ours(
            "this server has no tool to add citations",
        )))
    }

    /// Returns the norms and entries that apply to paths or a change, and the entries the change
    /// would invalidate.
    fn check(
        &self,
        caller: McpCaller,
        ask: CheckArguments,
    ) -> impl Future<Output = ToolResult> + Send + '_;

    /// Returns a briefing.
    fn brief(
        &self,
        caller: McpCaller,
        ask: BriefingArguments,
    ) -> impl Future<Output = Result<String, ToolError>> + Send + '_;

    /// Lists entries, one line each.
    fn index(
        &self,
        caller: McpCaller,
    ) -> impl Future<Output = Result<String, ToolError>> + Send + '_;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_cut_between_characters() {
        let long = "é".repeat(CLAIM_BYTES_MAX);
        assert_eq!(truncate_claim(&long).len(), CLAIM_BYTES_MAX);
        assert_eq!(
            truncate_claim(&format!("x{long}")).len(),
            CLAIM_BYTES_MAX - 1
        );
        assert_eq!(truncate_claim("codex"), "codex");
    }
}
