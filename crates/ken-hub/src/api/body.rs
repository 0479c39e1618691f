//! Reading what a request brings: body, address, query. Whatever cannot be read is a problem, never a panic.
//!
//! A body is read after its sender is known, and no further than it may be long.

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

/// Bytes a body may have after unpacking, where an operation says nothing else.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// Bytes of a body that is too long that are read and thrown away before it is refused.
const DISCARDED_BYTES_MAX: usize = 8 << 20;

/// How deeply a body may nest.
pub const DEPTH_MAX: usize = 64;

/// A JSON body of at most `BYTES` bytes after unpacking.
#[derive(Debug)]
pub struct JsonBody<T, const BYTES: usize = BODY_BYTES_MAX>(pub T);

/// A JSON body that may be left out, with its type: nothing is what nothing says otherwise.
#[derive(Debug)]
pub struct OptionalBody<T>(pub T);

/// The parameters of the path; what cannot be read names nothing.
#[derive(Debug)]
pub struct InPath<T>(pub T);

/// The parameters behind `?`.
#[derive(Debug)]
pub struct InQuery<T>(pub T);

impl<S, T, const BYTES: usize> FromRequest<S> for JsonBody<T, BYTES>
where
    S: Send + Sync,
    T: DeserializeOwned,
{
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        check_type(request.headers())?;
        let bytes = read(request.into_body(), BYTES).await?;
        parse(&bytes).map(Self)
    }
}

impl<S, T> FromRequest<S> for OptionalBody<T>
where
    S: Send + Sync,
    T: DeserializeOwned + Default,
{
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read(body, BODY_BYTES_MAX).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        check_type(&parts.headers)?;
        parse(&bytes).map(Self)
    }
}

impl<S, T> FromRequestParts<S> for InPath<T>
where
    S: Send + Sync,
    T: DeserializeOwned + Send,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found = Path::<T>::from_request_parts(parts, state).await;
        let Path(found) = found.map_err(|_: PathRejection| Problem::not_found("thing"))?;
        Ok(Self(found))
    }
}

impl<S, T> FromRequestParts<S> for InQuery<T>
where
    S: Send + Sync,
    T: DeserializeOwned,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found = Query::<T>::from_request_parts(parts, state).await;
        let Query(found) = found.map_err(|error: QueryRejection| {
            // What follows the last colon says what is wrong, in our own types' words.
            let told = error.source().map_or_else(String::new, ToString::to_string);
            Problem::new(
                Kind::Malformed,
                format!("the query cannot be read; {}; see /docs", shortened(&told)),
            )
        })?;
        Ok(Self(found))
    }
}

/// Reads a body of at most `max` bytes.
///
/// What is too long is read on for a while and thrown away: whoever is still sending would not hear the answer.
pub(crate) async fn read(body: Body, max: usize) -> Result<Bytes, Problem> {
    let mut stream = body.into_data_stream();
    let (mut bytes, mut length) = (Vec::new(), 0_usize);
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|_| {
            let detail = "the body broke off or cannot be unpacked; send it again";
            Problem::new(Kind::Malformed, detail)
        })?;
        length = length.saturating_add(piece.len());
        if length <= max {
            bytes.extend_from_slice(&piece);
        } else {
            bytes = Vec::new();
            if max.saturating_add(DISCARDED_BYTES_MAX) < length {
                break;
            }
        }
    }
    if max < length {
        let detail = format!("the body has more than {max} bytes; send less at once");
        return Err(Problem::new(Kind::TooLarge, detail));
    }
    Ok(bytes.into())
}

/// Reads JSON that nests no deeper than [`DEPTH_MAX`].
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    if DEPTH_MAX < depth(bytes) {
        return Err(Problem::new(
            Kind::Malformed,
            format!("the body nests more than {DEPTH_MAX} levels deep"),
        ));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        match error.classify() {
            Category::Data => {
                let told = error.to_string();
                Problem::invalid(format!("{}; see /docs", shortened(&told)))
            }
            Category::Syntax | Category::Eof | Category::Io => Problem::new(
                Kind::Malformed,
                format!("the body is no JSON: line {line} column {column} cannot be read"),
            ),
        }
    })
}

/// Characters of a reader's complaint that are told: it may quote the caller, and lists every field there is.
const COMPLAINT_CHARS_MAX: usize = 600;

/// Returns a complaint as it is told, cut between words where it is too long.
pub(crate) fn shortened(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(COMPLAINT_CHARS_MAX) else {
        return text.to_owned();
    };
    let whole = text[..end].rfind(char::is_whitespace).unwrap_or(end);
    format!("{} …", text[..whole].trim_end())
}

/// How deeply a text nests, whether it is JSON or not.
fn depth(bytes: &[u8]) -> usize {
    let (mut deepest, mut depth) = (0_usize, 0_usize);
    let (mut quoted, mut escaped) = (false, false);
    for byte in bytes {
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

/// Refuses a body that does not say it is JSON, or is packed in a way we cannot unpack.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let wrong = |detail: &str| Problem::new(Kind::MediaType, detail);
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(wrong("a body is packed with gzip or not at all"));
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(only), None) = (types.next(), types.next()) else {
        return Err(wrong("send `Content-Type: application/json`"));
    };
    let text = only.to_str().unwrap_or_default();
    let mut parts = text.split(';').map(str::trim);
    let is_json = parts
        .next()
        .is_some_and(|it| it.eq_ignore_ascii_case("application/json"));
    let mut parameters = parts;
    let utf_8 = |it: &str| {
        it.eq_ignore_ascii_case("charset=utf-8") || it.eq_ignore_ascii_case("charset=\"utf-8\"")
    };
    if !is_json || !parameters.all(utf_8) {
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
            assert_eq!(check_type(&headers).is_ok(), fits, "{text:?}");
        }
        assert!(check_type(&HeaderMap::new()).is_err());
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
            assert_eq!(depth(text.as_bytes()), deep, "{text}");
        }
    }

    #[test]
    fn a_complaint_is_cut_between_words() {
        let short = "unknown field `q`, expected `query`";
        assert_eq!(shortened(short), short);
        let long = "many `words` in ".repeat(COMPLAINT_CHARS_MAX);
        let cut = shortened(&long);
        assert!(cut.chars().count() <= COMPLAINT_CHARS_MAX + 2, "{cut}");
        let whole = cut.strip_suffix(" …").expect("it says that there was more");
        assert!(long.starts_with(&format!("{whole} ")), "{whole}");
        // What has no words is cut where it must be.
        let solid = "é".repeat(COMPLAINT_CHARS_MAX + 1);
        assert_eq!(shortened(&solid).chars().count(), COMPLAINT_CHARS_MAX + 2);
    }

    #[test]
    fn what_nests_too_deeply_is_malformed() {
        let deep = "[".repeat(DEPTH_MAX + 1) + &"]".repeat(DEPTH_MAX + 1);
        let problem = parse::<Value>(deep.as_bytes()).expect_err("too deep");
        assert_eq!(problem.kind(), Kind::Malformed);
        let fits = "[".repeat(DEPTH_MAX) + &"]".repeat(DEPTH_MAX);
        assert!(parse::<Value>(fits.as_bytes()).is_ok());
    }

    proptest! {
        /// Any bytes are JSON or a problem the sender can mend.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
            if let Err(problem) = parse::<Value>(&bytes) {
                prop_assert!(problem.kind().status().is_client_error());
            }
        }
    }
}
