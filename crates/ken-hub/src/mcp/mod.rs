//! The five tools over streamable HTTP at `/mcp`: the knowledge of one workspace, behind the API's own identity.
//!
//! Whoever speaks this protocol is an agent, never a person, whatever the token says; what it is shown belongs to the run
//! or the conversation it names. The hub sees only what it is asked itself, so a conversation has no witness and confirms
//! nothing by itself. Nothing is kept between requests: any process answers any of them.

mod answering;
mod gate;

use axum::Router;
use axum::middleware::from_fn_with_state;
use ken_core::actor::{Actor, Role};
use ken_mcp::ask::{BriefAsk, CheckAsk, FeedbackAsk, GetAsk, RecordAsk, SearchAsk};
use ken_mcp::port::{Code, Whose};
use ken_mcp::{Answered, Caller, Knowledge, Reply, Server, Trouble};
use serde::Serialize;

use crate::api::App;
use crate::api::problem::{Kind, Problem};
use crate::service::{self, Desk, Failure, Reader};
use gate::{Seat, seated};

/// Characters of a client's name that become part of an agent's.
const CLIENT_CHARS_MAX: usize = 32;

/// The knowledge of the workspace a request came in to.
#[derive(Clone, Debug)]
struct Hub {
    app: App,
}

/// What a call is going to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intent {
    /// Nothing but note what was shown.
    Reads,
    /// Append events.
    Writes,
}

/// What a call works with.
struct Call {
    desk: Desk,
    reader: Reader,
}

/// Returns the paths of the protocol.
pub(crate) fn routes(app: &App) -> Router {
    let hub = Hub { app: app.clone() };
    let origins = app.settings.public_url.iter().cloned().collect();
    let make = move || Server::new(hub.clone());
    ken_mcp::http::ungated(make, origins, &app.ending)
        .layer(from_fn_with_state(app.clone(), seated))
}

impl Hub {
    /// Begins a call for whoever asks.
    async fn call(&self, caller: &Caller, intent: Intent) -> Result<Call, Trouble> {
        let seat = caller.proven.get::<Seat>();
        let seat = seat.ok_or_else(|| Trouble::ours("nobody is proven to call"))?;
        self.begin(caller, seat, intent).await.map_err(trouble)
    }

    async fn begin(&self, caller: &Caller, seat: &Seat, intent: Intent) -> Result<Call, Failure> {
        let agent = agent_of(&seat.caller.actor, &caller.client);
        let house = self.app.house();
        let by = seat.caller.clone();
        let mut desk = Desk::begin(&self.app.database, &house, by, seat.workspace).await?;
        if intent == Intent::Writes {
            // Before the conversation's row, as everybody who writes does: in two orders they would wait for each other.
            desk.lock().await?;
        }
        let session = seat.session.clone().or_else(|| caller.conversation.clone());
        let mut reader = service::reader(&agent, None, seat.run.clone(), session)?;
        if let (None, Some(session)) = (&reader.run, &reader.session) {
            let session = session.clone();
            reader.run = Some(desk.converse(&agent, &session).await?);
        }
        Ok(Call { desk, reader })
    }
}

/// Returns in whose name an agent acts: the token's where that is an agent's, else an agent of that person's.
fn agent_of(actor: &Actor, client: &str) -> Actor {
    match actor.role() {
        Role::Agent | Role::Ci | Role::Import | Role::Peer => actor.clone(),
        Role::Human => {
            let plain = |c: char| match c.is_ascii_alphanumeric() || ".-_".contains(c) {
                true => c.to_ascii_lowercase(),
                false => '-',
            };
            let client: String = client.chars().take(CLIENT_CHARS_MAX).map(plain).collect();
            let client = match client.trim_matches('-') {
                "" => "unknown",
                client => client,
            };
            Actor::from_claim(Role::Agent, &format!("{client}/{}", actor.name()))
        }
    }
}

/// Tells a failure to an agent.
fn trouble(failure: Failure) -> Trouble {
    let problem = Problem::from(failure);
    let whose = match problem.kind() {
        Kind::NotFound => Whose::Missing,
        Kind::Internal | Kind::Unavailable => Whose::Ours,
        Kind::Malformed
        | Kind::Unauthenticated
        | Kind::Forbidden
        | Kind::Quota
        | Kind::MethodNotAllowed
        | Kind::Conflict
        | Kind::CursorUnknown
        | Kind::TooLarge
        | Kind::MediaType
        | Kind::Invalid
        | Kind::Refused
        | Kind::KeyReused
        | Kind::TooMany => Whose::Caller,
    };
    let next = matches!(problem.kind(), Kind::NotFound);
    Trouble {
        whose,
        said: problem.detail().to_owned(),
        next: next.then(|| "`ken_search` finds entries and their ids".to_owned()),
    }
}

/// Returns an object as a program reads it.
fn json(object: &impl Serialize) -> Reply {
    Reply::Json(serde_json::to_value(object).expect("answers are plain data"))
}

impl Knowledge for Hub {
    fn code(&self) -> Code {
        Code::Elsewhere
    }

    async fn search(&self, caller: Caller, ask: SearchAsk) -> Answered {
        let mut call = self.call(&caller, Intent::Reads).await?;
        let reply = answering::search(&mut call, ask).await;
        finished(call, reply).await
    }

    async fn get(&self, caller: Caller, ask: GetAsk) -> Answered {
        let mut call = self.call(&caller, Intent::Reads).await?;
        let reply = answering::get(&mut call, &ask).await;
        finished(call, reply).await
    }

    async fn record(&self, caller: Caller, ask: RecordAsk) -> Answered {
        let mut call = self.call(&caller, Intent::Writes).await?;
        let reply = answering::record(&mut call, &ask).await;
        finished(call, reply).await
    }

    async fn feedback(&self, caller: Caller, ask: FeedbackAsk) -> Answered {
        let mut call = self.call(&caller, Intent::Writes).await?;
        let reply = answering::feedback(&mut call, &ask).await;
        finished(call, reply).await
    }

    async fn check(&self, caller: Caller, ask: CheckAsk) -> Answered {
        let mut call = self.call(&caller, Intent::Reads).await?;
        let reply = answering::check(&mut call, ask).await;
        finished(call, reply).await
    }

    async fn brief(&self, caller: Caller, ask: BriefAsk) -> Result<String, Trouble> {
        let mut call = self.call(&caller, Intent::Reads).await?;
        let text = answering::brief(&mut call, ask).await;
        finished(call, text).await
    }

    async fn index(&self, caller: Caller) -> Result<String, Trouble> {
        let mut call = self.call(&caller, Intent::Reads).await?;
        let text = answering::index(&mut call).await;
        finished(call, text).await
    }
}

/// Keeps what a call wrote before anything is told.
async fn finished<T>(call: Call, reply: Result<T, Failure>) -> Result<T, Trouble> {
    let reply = reply.map_err(trouble)?;
    call.desk.finish().await.map_err(trouble)?;
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_speaks_the_protocol_is_an_agent() {
        for (actor, client, agent) in [
            ("agent:reviewer-1", "claude-code", "agent:reviewer-1"),
            ("ci:build", "x", "ci:build"),
            (
                "human:ada@example.org",
                "claude-code",
                "agent:claude-code/ada@example.org",
            ),
            (
                "human:ada@example.org",
                "human:eve",
                "agent:human-eve/ada@example.org",
            ),
            ("human:ada@example.org", "", "agent:unknown/ada@example.org"),
        ] {
            let actor: Actor = actor.parse().expect("an actor");
            let found = agent_of(&actor, client);
            assert_eq!(found.to_string(), agent, "{actor} {client}");
            assert!(!found.is_human());
        }
    }
}
