//! `ETag` and `If-None-Match` middleware for JSON reads.

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::problem::Problem;

/// Maximum size of a tagged response. Longer ones are pages of events, which have a cursor.
const TAGGED_BYTES_MAX: u64 = 1 << 20;

/// Adds an `ETag` to a response, or replaces it with 304 if the client already has it.
///
/// The handler always runs: tags save bandwidth, not work.
pub(super) async fn add_etag(request: Request, next: Next) -> Response {
    let reads = request.method() == Method::GET;
    // Copied because `next.run` consumes the request.
    let known: Vec<HeaderValue> = request
        .headers()
        .get_all(IF_NONE_MATCH)
        .iter()
        .cloned()
        .collect();
    let response = next.run(request).await;
    if !reads || !is_taggable(&response) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, TAGGED_BYTES_MAX as usize).await else {
        // Unreachable: `is_taggable` requires a body of known length, which is in memory.
        return Problem::internal(&std::io::Error::other("the response body ended early"))
            .into_response();
    };
    let digest = blake3::hash(&bytes).to_hex();
    // Weak: the compression layer may change the bytes of the same response.
    let tag = format!("W/\"{}\"", &digest[..32]);
    // Tenant data: shared caches must not store it, and private ones must revalidate, because a
    // token can be revoked at any time.
    let private = HeaderValue::from_static("private, no-cache");
    head.headers.insert(CACHE_CONTROL, private);
    let vary = HeaderValue::from_static("authorization");
    head.headers.append(VARY, vary);
    let has_it = known.iter().any(|header| matches_tag(header, &tag));
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

/// Returns whether a response is JSON, successful, and of a known size within the limit.
fn is_taggable(response: &Response) -> bool {
    let json = response.headers().get(CONTENT_TYPE);
    let length = response.body().size_hint().exact();
    response.status() == StatusCode::OK
        && json.is_some_and(|it| it == "application/json")
        && length.is_some_and(|it| it <= TAGGED_BYTES_MAX)
}

/// Returns whether a header contains `tag`, by weak comparison (RFC 9110, 13.1.2).
fn matches_tag(header: &HeaderValue, tag: &str) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let wanted = opaque(tag);
    let Ok(text) = header.to_str() else {
        return false;
    };
    text.trim() == "*" || text.split(',').any(|listed| opaque(listed) == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_known_weak_strong_or_among_others() {
        let tag = "W/\"abc\"";
        for known in ["W/\"abc\"", "\"abc\"", "\"x\", W/\"abc\"", "*"] {
            assert!(
                matches_tag(&HeaderValue::from_static(known), tag),
                "{known}"
            );
        }
        for other in ["", "abc", "\"ab\"", "W/\"abcd\""] {
            assert!(
                !matches_tag(&HeaderValue::from_static(other), tag),
                "{other}"
            );
        }
    }
}
