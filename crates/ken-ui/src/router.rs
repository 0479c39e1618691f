//! HTTP: checks a request, finds its page or action, and renders the answer.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, ALLOW, CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{Html, IntoResponse as _, Response};
use maud::Markup;
use tower_http::compression::CompressionLayer;

use crate::action::{ActionRequest, FormFields};
use crate::address::{EntryListQuery, PageAddress};
use crate::assets::ASSETS;
use crate::frame::{ActionNotice, PageContent, PageContext, render_frame};
use crate::gate::{
    AllowedHosts, BODY_BYTES_MAX, FetchVerdict, LocalSignIn, add_asset_headers, add_page_headers,
    check_fetch,
};
use crate::live::{stream_changes, topics};
use crate::page;
use crate::settings::UiSettings;
use crate::source::{KnowledgeError, KnowledgeErrorCause, KnowledgeSource, SourceOverview};

/// The header with which the script asks for parts of a page.
pub(crate) const REGIONS_HEADER: &str = "ken-regions";

/// The state of `ken ui`.
#[derive(Debug)]
struct UiState<S> {
    pages: SourcePages<S>,
    hosts: AllowedHosts,
    sign_in: Arc<LocalSignIn>,
}

/// The pages of one source, without access checks and sign-in.
///
/// A hub makes its own checks and has one source per request: a workspace as its person sees it.
#[derive(Debug)]
pub struct SourcePages<S> {
    source: S,
    /// The prefix of every address.
    base: String,
    /// The result of the last action, until a page has shown it.
    notice: Mutex<Option<ActionNotice>>,
}

/// Returns the pages of `source` behind the access checks.
pub fn router<S: KnowledgeSource>(
    source: S,
    hosts: AllowedHosts,
    sign_in: Arc<LocalSignIn>,
) -> Router {
    let state = Arc::new(UiState {
        pages: SourcePages::new(source, String::new(), None),
        hosts,
        sign_in,
    });
    // One handler instead of routes: `address` is the only code that knows paths.
    // Pages carry no secret, so compression gives nothing away. Event streams are not compressed.
    let pages = Router::new().fallback(handle::<S>).with_state(state);
    pages.layer(CompressionLayer::new())
}

async fn handle<S: KnowledgeSource>(
    State(state): State<Arc<UiState<S>>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let verdict = match check_origin(&state.hosts, &parts) {
        Ok(verdict) => verdict,
        Err(response) => return *response,
    };
    if let Some(response) = state.public(path) {
        return response;
    }
    if verdict == FetchVerdict::ForeignLink || !state.sign_in.is_signed_in(&parts.headers) {
        let page = PageAddress::parse(path, parts.uri.query());
        let target = page.filter(|_| verdict == FetchVerdict::ForeignLink);
        let markup = page::sign_in_page(&state.pages.base, target.as_ref());
        return html_response(StatusCode::UNAUTHORIZED, markup);
    }
    state.pages.answer(&parts, path, body).await
}

/// Checks host and origin of a request, before anything else of it is read.
///
/// Returns the response to a request that may come from another site's page.
pub(crate) fn check_origin(
    hosts: &AllowedHosts,
    parts: &Parts,
) -> Result<FetchVerdict, Box<Response>> {
    let Some(host) = hosts.requested(&parts.headers) else {
        return Err(Box::new(plain(
            StatusCode::MISDIRECTED_REQUEST,
            "this server does not have this name\n",
        )));
    };
    let verdict = check_fetch(&parts.method, &parts.headers, host);
    match verdict {
        FetchVerdict::Own | FetchVerdict::ForeignLink => Ok(verdict),
        FetchVerdict::Refused => Err(Box::new(plain(
            StatusCode::FORBIDDEN,
            "requests of other sites are refused\n",
        ))),
        FetchVerdict::MethodNotAllowed => {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "use GET or POST\n");
            let allowed = HeaderValue::from_static("GET, HEAD, POST");
            response.headers_mut().insert(ALLOW, allowed);
            Err(Box::new(response))
        }
    }
}

/// Returns the asset at a path.
pub(crate) fn asset_response(path: &str) -> Option<Response> {
    if path == "/favicon.ico" {
        return Some(StatusCode::NO_CONTENT.into_response());
    }
    let asset = ASSETS.find(path)?;
    let media_type = HeaderValue::from_static(asset.media_type);
    let mut response = Response::new(Body::from(asset.bytes));
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    add_asset_headers(&mut response);
    Some(response)
}

impl<S: KnowledgeSource> UiState<S> {
    /// Answers requests that need no sign-in: assets and one-time links.
    fn public(&self, path: &str) -> Option<Response> {
        if let Some(response) = asset_response(path) {
            return Some(response);
        }
        let target = self.sign_in.redeem(path.strip_prefix("/enter/")?)?;
        let page = page::entered_page(&self.pages.base, &target);
        let mut response = html_response(StatusCode::OK, page);
        set_cookie(&mut response, &self.sign_in.set_cookie());
        Some(response)
    }
}

impl<S: KnowledgeSource> SourcePages<S> {
    /// Returns the pages of `source` below the address `base`. `notice` is the result of the last
    /// action of the same person, if no page has shown it yet.
    pub fn new(source: S, base: String, notice: Option<String>) -> Self {
        let undo = None;
        Self {
            source,
            base,
            notice: Mutex::new(notice.map(|message| ActionNotice { message, undo })),
        }
    }

    /// Returns the result of the last action that no page has shown yet.
    pub fn take_notice(&self) -> Option<String> {
        self.notice().take().map(|it| it.message)
    }

    /// Answers a request for the page or form at `path`, which is relative to the base.
    pub async fn answer(&self, parts: &Parts, path: &str, body: Body) -> Response {
        if parts.method == Method::POST {
            return self.post(path, &parts.headers, body).await;
        }
        let query = parts.uri.query();
        if path == "/live" {
            let topics = topics(query.unwrap_or_default());
            let mut response = stream_changes(&self.source, topics);
            add_page_headers(&mut response);
            return response;
        }
        let page = PageAddress::parse(path, query);
        let wants_json = wants_json(&parts.headers, query);
        self.show(&parts.headers, page, wants_json).await
    }

    /// Answers a request for a page.
    async fn show(
        &self,
        headers: &HeaderMap,
        page: Option<PageAddress>,
        wants_json: bool,
    ) -> Response {
        let missing =
            || KnowledgeError::new(KnowledgeErrorCause::NotFound, "there is no such page");
        if wants_json {
            let document = match page {
                None => Err(missing()),
                Some(PageAddress::Settings) => Ok(UiSettings::from_headers(headers).document()),
                Some(page) => self.source.document(page).await,
            };
            return match document {
                Ok(document) => json_response(StatusCode::OK, &document),
                Err(error) => {
                    let message = serde_json::json!({ "error": error.message, "hint": error.hint });
                    json_response(status_of(&error), &message)
                }
            };
        }
        let Some(page) = page else {
            return self.fail(headers, &PageAddress::Home, &missing()).await;
        };
        self.respond(headers, &page, StatusCode::OK, async |context| {
            self.render(context, &page).await
        })
        .await
    }

    /// Loads the data of a page and renders it.
    async fn render(
        &self,
        context: &PageContext<'_>,
        address: &PageAddress,
    ) -> Result<PageContent, KnowledgeError> {
        use PageAddress as P;
        let source = &self.source;
        Ok(match address.clone() {
            P::Home => page::home_page(context, &source.home().await?),
            P::Inbox { lane } => page::inbox_page(context, lane, &source.inbox(lane).await?),
            P::Entries(query) => {
                let view = source.entries(query.clone()).await?;
                page::entries_page(context, &query, &view)
            }
            P::Entry { entry } => page::entry_page(context, &source.entry(entry).await?),
            P::History { entry } => page::history_page(context, &source.history(entry).await?),
            P::Neighbors { entry } => {
                page::neighbors_page(context, &source.neighbors(entry).await?)
            }
            P::Add { anchor } => page::add_page(context, &anchor),
            P::Path {
                path,
                lines,
                revision,
            } => page::path_page(context, &source.path(path, revision).await?, lines),
            P::Change { base } => page::change_page(context, &source.change(base).await?),
            P::Documents => page::documents_page(context, &source.documents().await?),
            P::Brief(query) => {
                let view = source.brief(query.clone()).await?;
                page::brief_page(context, &query, &view)
            }
            P::Runs(query) => {
                let view = source.runs(query.clone()).await?;
                page::runs_page(context, &query, &view)
            }
            P::Run { run } => page::run_page(context, &source.run(run).await?),
            P::CompareRuns { first, second } => {
                let (first, second) = (source.run(first).await?, source.run(second).await?);
                page::compare_page(context, &first, &second)
            }
            P::Impact => page::impact_page(context, &source.impact().await?),
            P::Health => page::health_page(context, &source.health().await?),
            P::Stats => page::stats_page(context, &source.stats().await?),
            P::Norms { path } => {
                let view = source.norms(path.clone()).await?;
                page::norms_page(context, path.as_ref(), &view)
            }
            P::People => page::people_page(context, &source.people().await?),
            P::Forage => page::forage_page(context, &source.forage().await?),
            P::Peers => page::peers_page(context, &source.peers().await?),
            P::Peer { peer, query } => page::peer_page(context, &source.peer(peer, query).await?),
            P::Settings => page::settings_page(context),
        })
    }

    /// Renders a page in its frame, or the error that `render` returns.
    async fn respond(
        &self,
        headers: &HeaderMap,
        address: &PageAddress,
        status: StatusCode,
        render: impl AsyncFnOnce(&PageContext<'_>) -> Result<PageContent, KnowledgeError>,
    ) -> Response {
        let (overview, overview_error) = match self.source.overview().await {
            Ok(overview) => (overview, None),
            Err(error) => (SourceOverview::default(), Some(error)),
        };
        // A part that refreshes itself must not use up the notice of the whole page.
        let is_whole = !headers.contains_key(REGIONS_HEADER);
        let notice = if is_whole { self.notice().take() } else { None };
        let context = PageContext {
            base: &self.base,
            overview: &overview,
            address,
            settings: UiSettings::from_headers(headers),
            notice: notice.as_ref(),
        };
        let rendered = match overview_error {
            Some(error) => Err(error),
            None => render(&context).await,
        };
        let (status, page) = match rendered {
            Ok(page) => (status, page),
            Err(error) => (status_of(&error), page::error_page(&context, &error)),
        };
        html_response(status, render_frame(&context, &page))
    }

    async fn fail(
        &self,
        headers: &HeaderMap,
        address: &PageAddress,
        error: &KnowledgeError,
    ) -> Response {
        let error = error.clone();
        self.respond(headers, address, StatusCode::OK, async |_| Err(error))
            .await
    }

    /// Answers a form.
    async fn post(&self, path: &str, headers: &HeaderMap, body: Body) -> Response {
        let Ok(body) = to_bytes(body, BODY_BYTES_MAX).await else {
            return plain(StatusCode::PAYLOAD_TOO_LARGE, "the form is too large\n");
        };
        match path {
            "/settings" => {
                let settings = UiSettings::from_form(&FormFields::parse(&body));
                let mut response = self.see_other(&PageAddress::Settings);
                set_cookie(&mut response, &settings.set_cookie());
                response
            }
            // Search as you type: the words are in the body, so no log of a proxy has them.
            "/entries" => {
                let query = String::from_utf8_lossy(&body);
                let page = PageAddress::parse(path, Some(&query));
                self.show(
                    headers,
                    page.or(Some(PageAddress::Entries(EntryListQuery::default()))),
                    false,
                )
                .await
            }
            _ => match path.strip_prefix("/do/") {
                Some(name) => self.act(headers, name, &FormFields::parse(&body)).await,
                None => {
                    let error =
                        KnowledgeError::new(KnowledgeErrorCause::NotFound, "there is no such form");
                    self.fail(headers, &PageAddress::Home, &error).await
                }
            },
        }
    }

    /// Performs an action and returns to the page of its form.
    async fn act(&self, headers: &HeaderMap, name: &str, form: &FormFields) -> Response {
        let back = form.text("back").and_then(PageAddress::parse_href);
        let back = back.unwrap_or(PageAddress::Home);
        let refused = async |error: KnowledgeError| {
            let status = status_of(&error);
            self.respond(headers, &back, status, async |context| {
                Ok(page::refused_page(context, (name, form), &back, &error))
            })
            .await
        };
        let request = match ActionRequest::read(name, form) {
            None => {
                let error =
                    KnowledgeError::new(KnowledgeErrorCause::NotFound, "there is no such action");
                return self.fail(headers, &back, &error).await;
            }
            Some(Err(error)) => {
                return refused(KnowledgeError::new(
                    KnowledgeErrorCause::Refused,
                    error.to_string(),
                ))
                .await;
            }
            Some(Ok(request)) => request,
        };
        match self.source.act(request).await {
            Err(error) => refused(error).await,
            Ok(done) => {
                *self.notice() = Some(ActionNotice {
                    message: done.message,
                    undo: done.undo,
                });
                // A new entry is worth seeing; every other action returns to where it was done.
                let added = done.entry.filter(|_| name == "add");
                self.see_other(&added.map_or(back, PageAddress::entry))
            }
        }
    }

    fn see_other(&self, page: &PageAddress) -> Response {
        let mut response = StatusCode::SEE_OTHER.into_response();
        let href = format!("{}{}", self.base, page.href());
        if let Ok(href) = HeaderValue::from_str(&href) {
            response.headers_mut().insert(LOCATION, href);
        }
        add_page_headers(&mut response);
        response
    }

    fn notice(&self) -> std::sync::MutexGuard<'_, Option<ActionNotice>> {
        // A panic elsewhere leaves the notice valid: it is replaced as a whole.
        self.notice.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn status_of(error: &KnowledgeError) -> StatusCode {
    match error.cause {
        KnowledgeErrorCause::Refused => StatusCode::UNPROCESSABLE_ENTITY,
        KnowledgeErrorCause::NotFound => StatusCode::NOT_FOUND,
        KnowledgeErrorCause::Forbidden => StatusCode::FORBIDDEN,
        KnowledgeErrorCause::Conflict => StatusCode::CONFLICT,
        KnowledgeErrorCause::Busy => StatusCode::SERVICE_UNAVAILABLE,
        KnowledgeErrorCause::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Returns whether the JSON of a page is wanted: by the address, or by a program that prefers JSON,
/// which browsers never do.
pub fn wants_json(headers: &HeaderMap, query: Option<&str>) -> bool {
    let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    if pairs.any(|(key, value)| key == "format" && value == "json") {
        return true;
    }
    let accepted = headers.get(ACCEPT).and_then(|it| it.to_str().ok());
    accepted.is_some_and(|it| it.starts_with("application/json"))
}

pub(crate) fn html_response(status: StatusCode, markup: Markup) -> Response {
    let mut response = (status, Html(markup.into_string())).into_response();
    add_page_headers(&mut response);
    response
}

/// Returns a JSON document as the response.
pub fn json_response(status: StatusCode, document: &serde_json::Value) -> Response {
    let mut response = (status, axum::Json(document)).into_response();
    add_page_headers(&mut response);
    response
}

fn plain(status: StatusCode, message: &'static str) -> Response {
    let mut response = (status, message).into_response();
    add_page_headers(&mut response);
    response
}

pub(crate) fn set_cookie(response: &mut Response, cookie: &str) {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}
