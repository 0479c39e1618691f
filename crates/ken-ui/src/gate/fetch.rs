//! Fetch metadata: whether a request comes from our own pages.
//!
//! The rules are those of Go's `CrossOriginProtection`, extended to reads: another site may lead
//! to a page by a link, and may do nothing else.

use axum::http::header::ORIGIN;
use axum::http::{HeaderMap, Method};

/// The result of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchVerdict {
    /// From our pages, or from the address bar.
    Own,
    /// A link of another site; a strict cookie is not sent with it.
    ForeignLink,
    Refused,
    MethodNotAllowed,
}

/// Checks where a request to `host` comes from.
pub(crate) fn check_fetch(method: &Method, headers: &HeaderMap, host: &str) -> FetchVerdict {
    let text = |name: &str| headers.get(name).map(|it| it.to_str().unwrap_or("invalid"));
    let site = text("sec-fetch-site");
    let is_document =
        text("sec-fetch-mode") == Some("navigate") && text("sec-fetch-dest") == Some("document");
    let own_origin = || {
        let origin = headers.get(ORIGIN).and_then(|it| it.to_str().ok());
        let host_of = |it: &str| Some(it.split_once("://")?.1.to_owned());
        origin.and_then(host_of).is_some_and(|it| it == host)
    };
    if method == Method::GET || method == Method::HEAD {
        return match site {
            None | Some("same-origin" | "none") => FetchVerdict::Own,
            Some("cross-site" | "same-site") if is_document => FetchVerdict::ForeignLink,
            Some(_) => FetchVerdict::Refused,
        };
    }
    if method != Method::POST {
        return FetchVerdict::MethodNotAllowed;
    }
    match site {
        // A foreign origin contradicts `same-origin`; only a forged request has both.
        Some("same-origin") if !headers.contains_key(ORIGIN) || own_origin() => FetchVerdict::Own,
        None if own_origin() => FetchVerdict::Own,
        Some(_) | None => FetchVerdict::Refused,
    }
}
