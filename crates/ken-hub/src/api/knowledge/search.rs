//! `POST /v1/workspaces/{workspace}/search`: it may hold a log of what failed, so it is a body and not an address.

use axum::Json;
use axum::extract::State;
use ken_core::answer::{Floor, Search};
use ken_core::kind::{Kind, Memory};
use ken_core::object::AnswerObject;
use ken_core::status::Status;
use ken_core::store::Filter;
use ken_core::surface::{BUDGET, Tier};
use ken_mcp::ask::{LIMIT_MAX, QUERY_BYTES_MAX};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{check_text, parsed, places, reading, value, work};
use crate::api::App;
use crate::api::body::JsonBody;
use crate::api::caller::{InWorkspace, Reads};
use crate::api::problem::Problem;
use crate::service::{self, Desk, Portion, Question, raw};

/// What is looked for, and for whom.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"query": "payment retries time out", "paths": ["src/pay.rs"], "limit": 5}))]
pub(super) struct SearchBody {
    /// Goal, technology and problem in words, or an error.
    #[schema(max_length = 16384)]
    query: String,
    /// Files or folders in hand, below the repository: what is known about them answers, whatever its words.
    #[serde(default)]
    #[schema(max_items = 50)]
    paths: Vec<String>,
    /// Only these kinds, such as bug, decision, incident, spike.
    #[serde(default)]
    #[schema(max_items = 50)]
    kinds: Vec<String>,
    /// Only under one of these tags.
    #[serde(default)]
    #[schema(max_items = 50)]
    tags: Vec<String>,
    /// Only this memory: semantic, procedural or episodic.
    #[serde(default)]
    #[schema(nullable = false)]
    memory: Option<String>,
    /// Only this status: candidate, active, verified, stale or rejected.
    #[serde(default)]
    #[schema(nullable = false)]
    status: Option<String>,
    /// Only of this lens.
    #[serde(default)]
    #[schema(nullable = false)]
    lens: Option<String>,
    /// For whom: kinds this role prefers come sooner.
    #[serde(default)]
    #[schema(nullable = false, example = "reviewer")]
    role: Option<String>,
    /// The thread of work it comes from; that of the run without.
    #[serde(default)]
    #[schema(nullable = false)]
    thread: Option<String>,
    /// How relevant an entry must be.
    #[serde(default)]
    floor: FloorName,
    /// Whether what the code contradicts is shown, too.
    #[serde(default)]
    include_stale: bool,
    /// Entries at most.
    #[serde(default = "five")]
    #[schema(minimum = 1, maximum = 20, default = 5)]
    limit: u32,
    /// Tokens that should do; beyond, entries become lines, then are left out.
    #[serde(default = "budget")]
    #[schema(minimum = 1, maximum = 100000, default = 500)]
    budget: u32,
    /// How much of each entry; the answer decides without.
    #[serde(default)]
    #[schema(nullable = false)]
    tier: Option<TierName>,
    /// The run it is asked in; one that Ken makes without.
    #[serde(default)]
    #[schema(nullable = false, max_length = 64)]
    run: Option<String>,
    /// The agent it is asked for; the caller without.
    #[serde(default)]
    #[schema(nullable = false, example = "agent:reviewer-1")]
    agent: Option<String>,
    /// The conversation it is asked in.
    #[serde(default)]
    #[schema(nullable = false, max_length = 256)]
    session: Option<String>,
}

/// How relevant an entry must be to be shown at all.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Floor)]
enum FloorName {
    /// Everything found, best first.
    None,
    /// For somebody who asked.
    #[default]
    Relevant,
    /// For somebody who did not.
    Strict,
}

/// How much of an entry is shown.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Tier)]
enum TierName {
    Summary,
    Standard,
    Full,
}

/// What a search found, `ken.search.v1`: `results` best first, `left_out` for want of room, `withheld` with why, and in
/// `global` what the organisation knows, beneath everything verified here.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Answer, value_type = Object, example = json!({
    "schema": "ken.search.v1", "query": "payment retries time out", "served_by": "static", "tier": "summary", "tokens": 34,
    "results": [{"id": "L-7k2f5qm3", "score": 0.61, "text": "[L-7k2f5qm3] Retry a payment once.\n"}],
    "left_out": [], "withheld": []}))]
pub(super) struct Answered(Value);

fn five() -> u32 {
    5
}

fn budget() -> u32 {
    u32::try_from(BUDGET).unwrap_or(u32::MAX)
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(search))
}

/// Finds the entries that answer, and writes down which of them were shown to whom.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/search", operation_id = "search", tag = "knowledge",
    security(("token" = ["reader"])), request_body = SearchBody,
    params(("workspace" = String, Path, description = "Its name or its id.")),
    responses((status = 200, description = "What was found, perhaps nothing.", body = Answered)))]
async fn search(
    State(app): State<App>,
    it: InWorkspace<Reads>,
    JsonBody(body): JsonBody<SearchBody>,
) -> Result<Json<Answered>, Problem> {
    let question = body.question(&it.caller.actor)?;
    let (database, house) = (&app.database, app.house());
    let desk = Desk::begin_search(database, &house, it.caller, it.workspace, &question.search);
    let mut desk = desk.await?;
    let found = service::search(&mut desk, question).await?;
    desk.finish().await?;
    Ok(Json(Answered(value(&AnswerObject::new(found.told())))))
}

impl SearchBody {
    fn question(self, caller: &ken_core::actor::Actor) -> Result<Question, Problem> {
        check_text("query", &self.query, QUERY_BYTES_MAX)?;
        if !(1..=LIMIT_MAX).contains(&self.limit) {
            return Err(Problem::invalid(format!("`limit` is 1 to {LIMIT_MAX}")));
        }
        let filter = Filter {
            kinds: raw::several::<Kind, _>("kinds", &self.kinds)?,
            tags: raw::several("tags", &self.tags)?,
            memory: parsed::<Memory>("memory", self.memory.as_deref())?,
            status: parsed::<Status>("status", self.status.as_deref())?,
            lens: parsed("lens", self.lens.as_deref())?,
            ..Filter::default()
        };
        let role = work(self.role.as_deref())?;
        let tier = self.tier.map(|it| match it {
            TierName::Summary => Tier::Summary,
            TierName::Standard => Tier::Standard,
            TierName::Full => Tier::Full,
        });
        let reading = reading!(self);
        let reader = reading.reader(caller)?;
        Ok(Question {
            portion: Portion {
                cap: self.limit as usize,
                budget: self.budget as usize,
                tier,
                role,
            },
            search: Search {
                query: self.query,
                filter,
                paths: places(self.paths)?,
                role,
                thread: parsed("thread", self.thread.as_deref())?,
                run: reader.run.clone(),
                floor: match self.floor {
                    FloorName::None => Floor::None,
                    FloorName::Relevant => Floor::Relevant,
                    FloorName::Strict => Floor::Strict,
                },
                include_stale: self.include_stale,
            },
            reader,
        })
    }
}
