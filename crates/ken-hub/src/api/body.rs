//! Request extractors: JSON body, path parameters, query parameters.
//!
//! Invalid input is rejected with a [`Problem`], never with a panic. A body is received by the
//! admission middleware, only from an authenticated caller and only up to its maximum length.
//! Its depth and the length of its lists are checked before anything is allocated for them, and a
//! large body is parsed off the runtime threads.

use std::error::Error as _;

use axum::body::{Body, BodyDataStream, Bytes, to_bytes};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::request::Parts;
use futures_util::StreamExt as _;
use ken_remote::wire::{PUSH_BYTES_MAX, PUSH_EVENTS_MAX};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::AppState;
use super::problem::{Kind, Problem};
use crate::blocking::run_blocking;

/// Default maximum size of a body after decompression, in bytes.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// Bytes read and discarded from an oversized body before the request is rejected.
const DISCARDED_BYTES_MAX: usize = 8 << 20;

/// Bytes received between two points at which other tasks of the thread can run.
const BYTES_PER_TURN: usize = 64 << 10;

/// Maximum size of a body that is parsed on a runtime thread: well below a millisecond of work.
const INLINE_BYTES_MAX: usize = 16 << 10;

/// Maximum nesting depth of a body.
pub const DEPTH_MAX: usize = 64;

/// Maximum length of a list that is a member of the body. No operation accepts a longer one.
pub const LIST_ITEMS_MAX: usize = PUSH_EVENTS_MAX;

/// A JSON body.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

/// An optional JSON body. An empty body yields the default value and needs no content type.
#[derive(Debug)]
pub struct OptionalJsonBody<T>(pub T);

/// Path parameters. A path that cannot be parsed is answered as not found.
#[derive(Debug)]
pub struct PathParams<T>(pub T);

/// Query parameters.
#[derive(Debug)]
pub struct QueryParams<T>(pub T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<AppState> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Problem> {
        check_content_type(request.headers())?;
        let bytes = received_body(request.into_body()).await?;
        parse_body(app, bytes).await.map(Self)
    }
}

impl<T> FromRequest<AppState> for OptionalJsonBody<T>
where
    T: DeserializeOwned + Default + Send + 'static,
{
    type Rejection = Problem;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = received_body(body).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        check_content_type(&parts.headers)?;
        parse_body(app, bytes).await.map(Self)
    }
}

impl<S, T> FromRequestParts<S> for PathParams<T>
where
    S: Send + Sync,
    T: DeserializeOwned + Send,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let extracted = Path::<T>::from_request_parts(parts, state).await;
        let Path(params) = extracted.map_err(|_: PathRejection| Problem::not_found("object"))?;
        Ok(Self(params))
    }
}

impl<S, T> FromRequestParts<S> for QueryParams<T>
where
    S: Send + Sync,
    T: DeserializeOwned,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let extracted = Query::<T>::from_request_parts(parts, state).await;
        let Query(params) = extracted.map_err(|error: QueryRejection| {
            // The source is the message of our own deserializers; axum's wrapper adds nothing.
            let message = error.source().map_or_else(String::new, ToString::to_string);
            let message = truncate_message(&message);
            Problem::new(
                Kind::Malformed,
                format!("invalid query parameters: {message}; see /docs"),
            )
        })?;
        Ok(Self(params))
    }
}

/// Receives a body of at most `max` bytes.
///
/// Part of an oversized body is read and discarded, because a client that is still sending would
/// not read the error response.
#[derive(Debug)]
pub(super) struct BodyReader {
    stream: BodyDataStream,
    max: usize,
    bytes: Vec<u8>,
    length: usize,
    /// Bytes since other tasks could run.
    turn: usize,
}

impl BodyReader {
    pub(super) fn new(body: Body, max: usize) -> Self {
        Self {
            stream: body.into_data_stream(),
            max,
            bytes: Vec::new(),
            length: 0,
            turn: 0,
        }
    }

    /// Returns the bytes received so far, also those of an oversized body.
    ///
    /// Counted after decompression, so a small gzip body cannot expand without bound.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Receives the next part. Returns `false` at the end.
    pub(super) async fn read_chunk(&mut self) -> Result<bool, Problem> {
        if self.turn >= BYTES_PER_TURN {
            // Decompression is ready with the next chunk at once, for megabytes on end.
            self.turn = 0;
            tokio::task::yield_now().await;
        }
        let Some(chunk) = self.stream.next().await else {
            return Ok(false);
        };
        let chunk = chunk.map_err(|_| incomplete_body())?;
        self.length = self.length.saturating_add(chunk.len());
        self.turn += chunk.len();
        if self.length <= self.max {
            self.bytes.extend_from_slice(&chunk);
        } else {
            // Free the buffer at once: nothing of an oversized body is used.
            self.bytes = Vec::new();
        }
        Ok(self.length <= self.max.saturating_add(DISCARDED_BYTES_MAX))
    }

    /// Returns the received body.
    pub(super) fn take(&mut self) -> Result<Bytes, Problem> {
        if self.length > self.max {
            let max = self.max;
            let detail = format!("the body is larger than {max} bytes; send a smaller one");
            return Err(Problem::new(Kind::TooLarge, detail));
        }
        Ok(std::mem::take(&mut self.bytes).into())
    }
}

fn incomplete_body() -> Problem {
    let detail = "the body is incomplete or cannot be decompressed; send it again";
    Problem::new(Kind::Malformed, detail)
}

/// Returns a body that the admission middleware received.
pub(super) async fn received_body(body: Body) -> Result<Bytes, Problem> {
    let bytes = to_bytes(body, PUSH_BYTES_MAX).await;
    bytes.map_err(|_| incomplete_body())
}

/// Parses a body, off the runtime threads if it is large.
async fn parse_body<T: DeserializeOwned + Send + 'static>(
    app: &AppState,
    bytes: Bytes,
) -> Result<T, Problem> {
    if bytes.len() <= INLINE_BYTES_MAX {
        return parse_json(&bytes);
    }
    let _permit = app.limiter.acquire_parser().await;
    run_blocking(move || parse_json(&bytes)).await?
}

/// Parses JSON that nests no deeper than [`DEPTH_MAX`] and has no list longer than
/// [`LIST_ITEMS_MAX`].
pub(crate) fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // serde_json's own limit is 128 levels and does not apply to `RawValue`, which pushed events
    // are read into. It has no limit for lists, and a list of zeros takes 24 bytes per byte sent.
    check_shape(bytes)?;
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        match error.classify() {
            Category::Data => {
                let message = truncate_message(&error.to_string());
                Problem::invalid(format!("{message}; see /docs"))
            }
            // Only the position: the message of a syntax error may quote the body.
            Category::Syntax | Category::Eof | Category::Io => Problem::new(
                Kind::Malformed,
                format!("the body is not valid JSON: parse error at line {line} column {column}"),
            ),
        }
    })
}

/// Maximum length of a deserialization message. It may quote the request and lists every field.
const MESSAGE_CHARS_MAX: usize = 600;

/// Truncates a message at a word boundary.
pub(crate) fn truncate_message(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MESSAGE_CHARS_MAX) else {
        return text.to_owned();
    };
    let whole = text[..end].rfind(char::is_whitespace).unwrap_or(end);
    format!("{} …", text[..whole].trim_end())
}

/// Refuses a text that is nested too deeply or has too long a list, whether it is valid JSON or
/// not. Reads no further than that point and allocates nothing.
fn check_shape(bytes: &[u8]) -> Result<(), Problem> {
    // Only lists that are members of the body are counted; those inside an event belong to it.
    const LIST_DEPTH: usize = 2;
    let (mut depth, mut is_list, mut commas) = (0_usize, false, 0_usize);
    let (mut quoted, mut escaped) = (false, false);
    for byte in bytes {
        // Brackets and commas inside string literals are text.
        if quoted {
            quoted = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' | b'[' => {
                depth += 1;
                if depth == LIST_DEPTH {
                    (is_list, commas) = (*byte == b'[', 0);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == LIST_DEPTH && is_list => commas += 1,
            _ => {}
        }
        if depth > DEPTH_MAX {
            let detail = format!("the body is nested more than {DEPTH_MAX} levels deep");
            return Err(Problem::new(Kind::Malformed, detail));
        }
        if commas >= LIST_ITEMS_MAX {
            let detail = format!(
                "a list of the body has more than {LIST_ITEMS_MAX} items; split the request into several"
            );
            return Err(Problem::new(Kind::TooLarge, detail));
        }
    }
    Ok(())
}

/// Rejects a body that is not declared as JSON, or is compressed with an unsupported encoding.
pub(crate) fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let wrong = |detail: &str| Problem::new(Kind::MediaType, detail);
    // The decompression layer removes the header of a gzip body; any other encoding is left on.
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(wrong(
            "unsupported content encoding: compress the body with gzip or not at all",
        ));
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(only), None) = (types.next(), types.next()) else {
        return Err(wrong("send `Content-Type: application/json`"));
    };
    let text = only.to_str().unwrap_or_default();
    let mut parts = text.split(';').map(str::trim);
    let is_json = parts
        .next()
        .is_some_and(|media_type| media_type.eq_ignore_ascii_case("application/json"));
    let mut parameters = parts;
    let is_utf_8 = |parameter: &str| {
        ["charset=utf-8", "charset=\"utf-8\""]
            .iter()
            .any(|charset| parameter.eq_ignore_ascii_case(charset))
    };
    if !is_json || !parameters.all(is_utf_8) {
        return Err(wrong("send `Content-Type: application/json` in UTF-8"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_json_in_utf_8_is_read() {
        let cases = [
            ("application/json", true),
            ("Application/JSON; charset=UTF-8", true),
            ("application/json;charset=\"utf-8\"", true),
            ("application/json; charset=latin1", false),
            ("application/jsonx", false),
            ("text/plain", false),
            ("application/x-www-form-urlencoded", false),
            ("", false),
        ];
        for (text, fits) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(text));
            assert_eq!(check_content_type(&headers).is_ok(), fits, "{text:?}");
        }
        assert!(check_content_type(&HeaderMap::new()).is_err());
    }

    #[test]
    fn depth_and_lists_are_counted_outside_of_texts() {
        let deep = "[".repeat(DEPTH_MAX + 1);
        let items = |count: usize| vec!["0"; count].join(",");
        let too_large = Some(Kind::TooLarge);
        let cases: [(String, Option<Kind>); 9] = [
            ("1".to_owned(), None),
            (r#"{"a":[[]],"b":{}}"#.to_owned(), None),
            (deep.clone(), Some(Kind::Malformed)),
            (format!(r#"["{deep}"]"#), None),
            (format!(r#"["\"{deep}"]"#), None),
            (format!(r#"["\\",{deep}]"#), Some(Kind::Malformed)),
            (format!(r#"{{"a":[{}]}}"#, items(LIST_ITEMS_MAX)), None),
            (
                format!(r#"{{"a":[{}]}}"#, items(LIST_ITEMS_MAX + 1)),
                too_large,
            ),
            // Several lists, each within the limit, and a text full of commas.
            (
                format!(
                    r#"{{"a":[{0}],"b":[{0}],"c":["{0}"]}}"#,
                    items(LIST_ITEMS_MAX)
                ),
                None,
            ),
        ];
        for (text, kind) in cases {
            let found = check_shape(text.as_bytes()).err().map(|it| it.kind());
            assert_eq!(found, kind, "{}", truncate_message(&text));
        }
    }

    #[test]
    fn a_complaint_is_cut_between_words() {
        let short = "unknown field `q`, expected `query`";
        assert_eq!(truncate_message(short), short);
        let long = "many `words` in ".repeat(MESSAGE_CHARS_MAX);
        let cut = truncate_message(&long);
        assert!(cut.chars().count() <= MESSAGE_CHARS_MAX + 2, "{cut}");
        let whole = cut.strip_suffix(" …").expect("it says that there was more");
        assert!(long.starts_with(&format!("{whole} ")), "{whole}");
        // A text without whitespace is cut at the limit.
        let solid = "é".repeat(MESSAGE_CHARS_MAX + 1);
        assert_eq!(
            truncate_message(&solid).chars().count(),
            MESSAGE_CHARS_MAX + 2
        );
    }

    #[test]
    fn what_nests_too_deeply_is_malformed() {
        let deep = "[".repeat(DEPTH_MAX + 1) + &"]".repeat(DEPTH_MAX + 1);
        let problem = parse_json::<Value>(deep.as_bytes()).expect_err("too deep");
        assert_eq!(problem.kind(), Kind::Malformed);
        let fits = "[".repeat(DEPTH_MAX) + &"]".repeat(DEPTH_MAX);
        assert!(parse_json::<Value>(fits.as_bytes()).is_ok());
    }

    proptest! {
        /// Arbitrary bytes either parse or produce a client error.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
            if let Err(problem) = parse_json::<Value>(&bytes) {
                prop_assert!(problem.kind().status().is_client_error());
            }
        }
    }
}
