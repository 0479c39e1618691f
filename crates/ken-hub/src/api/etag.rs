//! `ETag` and `If-None-Match` on every read that answers with JSON.

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::problem::Problem;

/// Bytes of an answer that is tagged: a longer one is a page of events, which a cursor names better.
const TAGGED_BYTES_MAX: u64 = 1 << 20;

/// Tags an answer, or says that the caller has it already.
pub(super) async fn tagged(request: Request, next: Next) -> Response {
    let reads = request.method() == Method::GET;
    let known: Vec<HeaderValue> = request
        .headers()
        .get_all(IF_NONE_MATCH)
        .iter()
        .cloned()
        .collect();
    let response = next.run(request).await;
    if !reads || !is_tagged(&response) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, TAGGED_BYTES_MAX as usize).await else {
        // The body is in memory and its length is known: this cannot be.
        return Problem::failed(&std::io::Error::other("an answer broke off")).into_response();
    };
    let digest = blake3::hash(&bytes).to_hex();
    // Weak: the same answer may travel packed.
    let tag = format!("W/\"{}\"", &digest[..32]);
    let private = HeaderValue::from_static("private, no-cache");
    head.headers.insert(CACHE_CONTROL, private);
    let vary = HeaderValue::from_static("authorization");
    head.headers.append(VARY, vary);
    let has_it = known.iter().any(|it| names(it, &tag));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        head.headers.insert(ETAG, tag);
    }
    if has_it {
        head.status = StatusCode::NOT_MODIFIED;
        head.headers.remove(CONTENT_TYPE);
        head.headers.remove(CONTENT_LENGTH);
        return Response::from_parts(head, Body::empty());
    }
    Response::from_parts(head, Body::from(bytes))
}

fn is_tagged(response: &Response) -> bool {
    let json = response.headers().get(CONTENT_TYPE);
    let length = response.body().size_hint().exact();
    response.status() == StatusCode::OK
        && json.is_some_and(|it| it == "application/json")
        && length.is_some_and(|it| it <= TAGGED_BYTES_MAX)
}

/// Returns whether a header names `tag`; strong and weak ones are compared alike (RFC 9110, 13.1.2).
fn names(header: &HeaderValue, tag: &str) -> bool {
    let plain = |it: &str| it.trim().trim_start_matches("W/").to_owned();
    let wanted = plain(tag);
    let Ok(text) = header.to_str() else {
        return false;
    };
    text.trim() == "*" || text.split(',').any(|it| plain(it) == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_known_weak_strong_or_among_others() {
        let tag = "W/\"abc\"";
        for known in ["W/\"abc\"", "\"abc\"", "\"x\", W/\"abc\"", "*"] {
            assert!(names(&HeaderValue::from_static(known), tag), "{known}");
        }
        for other in ["", "abc", "\"ab\"", "W/\"abcd\""] {
            assert!(!names(&HeaderValue::from_static(other), tag), "{other}");
        }
    }
}
