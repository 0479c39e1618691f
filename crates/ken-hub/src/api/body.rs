//! Request extractors: JSON body, path parameters, query parameters.
//!
//! Invalid input is rejected with a [`Problem`], never with a panic. Handlers list these
//! extractors after the authenticating one, so a body is read only from an authenticated caller,
//! and only up to its maximum length.

use std::error::Error as _;

use axum::body::{Body, Bytes};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::request::Parts;
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::problem::{Kind, Problem};

/// Default maximum size of a body after decompression, in bytes.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// Bytes read and discarded from an oversized body before the request is rejected.
const DISCARDED_BYTES_MAX: usize = 8 << 20;

/// Maximum nesting depth of a body.
pub const DEPTH_MAX: usize = 64;

/// A JSON body of at most `BYTES` bytes after decompression.
#[derive(Debug)]
pub struct JsonBody<T, const BYTES: usize = BODY_BYTES_MAX>(pub T);

/// An optional JSON body. An empty body yields the default value and needs no content type.
#[derive(Debug)]
pub struct OptionalJsonBody<T>(pub T);

/// Path parameters. A path that cannot be parsed is answered as not found.
#[derive(Debug)]
pub struct PathParams<T>(pub T);

/// Query parameters.
#[derive(Debug)]
pub struct QueryParams<T>(pub T);

impl<S, T, const BYTES: usize> FromRequest<S> for JsonBody<T, BYTES>
where
    S: Send + Sync,
    T: DeserializeOwned,
{
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        check_content_type(request.headers())?;
        let bytes = read_body(request.into_body(), BYTES).await?;
        parse_json(&bytes).map(Self)
    }
}

impl<S, T> FromRequest<S> for OptionalJsonBody<T>
where
    S: Send + Sync,
    T: DeserializeOwned + Default,
{
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read_body(body, BODY_BYTES_MAX).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        check_content_type(&parts.headers)?;
        parse_json(&bytes).map(Self)
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

/// Reads a body of at most `max` bytes.
///
/// Part of an oversized body is read and discarded, because a client that is still sending would
/// not read the error response.
pub(crate) async fn read_body(body: Body, max: usize) -> Result<Bytes, Problem> {
    let mut stream = body.into_data_stream();
    let (mut bytes, mut length) = (Vec::new(), 0_usize);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| {
            let detail = "the body is incomplete or cannot be decompressed; send it again";
            Problem::new(Kind::Malformed, detail)
        })?;
        // Counted after decompression, so a small gzip body cannot expand without bound.
        length = length.saturating_add(chunk.len());
        if length <= max {
            bytes.extend_from_slice(&chunk);
        } else {
            // Free the buffer at once: nothing of an oversized body is used.
            bytes = Vec::new();
            if length > max.saturating_add(DISCARDED_BYTES_MAX) {
                break;
            }
        }
    }
    if length > max {
        let detail = format!("the body is larger than {max} bytes; send a smaller one");
        return Err(Problem::new(Kind::TooLarge, detail));
    }
    Ok(bytes.into())
}

/// Parses JSON that nests no deeper than [`DEPTH_MAX`].
pub(crate) fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // serde_json's own limit is 128 levels and does not apply to `RawValue`, which pushed events
    // are read into.
    if nesting_depth(bytes) > DEPTH_MAX {
        return Err(Problem::new(
            Kind::Malformed,
            format!("the body is nested more than {DEPTH_MAX} levels deep"),
        ));
    }
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

/// Returns the nesting depth of a text, whether it is valid JSON or not.
fn nesting_depth(bytes: &[u8]) -> usize {
    let (mut deepest, mut depth) = (0_usize, 0_usize);
    let (mut quoted, mut escaped) = (false, false);
    for byte in bytes {
        // Brackets inside string literals do not nest.
        if quoted {
            quoted = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
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
    fn depth_is_counted_outside_of_texts() {
        let cases: [(&str, usize); 6] = [
            ("1", 0),
            ("[]", 1),
            (r#"{"a":[[]],"b":{}}"#, 3),
            (r#"["[[[["]"#, 1),
            (r#"["\"[[", []]"#, 2),
            (r#"["\\", [[]]]"#, 3),
        ];
        for (text, deep) in cases {
            assert_eq!(nesting_depth(text.as_bytes()), deep, "{text}");
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
