//! Access checks in front of every page, in this order: host name, fetch metadata, sign-in.
//!
//! Nothing of a request but its headers is read before all three pass. The first two keep other
//! web pages in the user's browser away: DNS rebinding arrives with a foreign `Host`, a cross-site
//! request with foreign fetch metadata. These checks suffice for forms of
//! `ken ui`; a hub adds a token per page.

mod fetch;
mod headers;
mod host;
mod sign_in;
#[cfg(test)]
mod tests;

pub use host::AllowedHosts;
pub use sign_in::{ENTER_CODE_LIFETIME, LocalSignIn, cookies};

pub(crate) use fetch::{FetchVerdict, check_fetch};
pub(crate) use headers::{add_asset_headers, add_page_headers};

/// Maximum bytes of a request body: a signature or a statement with its form.
pub const BODY_BYTES_MAX: usize = 64 * 1024;
