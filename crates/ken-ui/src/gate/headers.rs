//! Security headers of every response.

use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::Response;

/// No inline script or style, nothing from elsewhere, and scripts may write markup only through the
/// one policy of `ken.js`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types ken";

/// Seconds for which an asset is cached; its address changes with its content.
const ASSET_CACHE: &str = "public, max-age=31536000, immutable";

/// Adds the headers of a page.
pub(crate) fn add_page_headers(response: &mut Response) {
    add_common_headers(response);
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, no_store);
}

/// Adds the headers of an asset.
pub(crate) fn add_asset_headers(response: &mut Response) {
    add_common_headers(response);
    let cached = HeaderValue::from_static(ASSET_CACHE);
    response.headers_mut().insert(CACHE_CONTROL, cached);
}

fn add_common_headers(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`: with it, browsers send `Origin: null` with our own forms.
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(), microphone=(), geolocation=()",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
