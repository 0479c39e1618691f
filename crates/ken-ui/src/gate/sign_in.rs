//! Sign-in of `ken ui`: a link that works once, then a cookie for the life of the process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use axum::http::header::COOKIE;

use crate::address::PageAddress;

/// Time for which a one-time link works.
pub const ENTER_CODE_LIFETIME: Duration = Duration::from_secs(60);

/// One-time links and the cookie they lead to. Secrets are never printed, not even by `Debug`.
pub struct LocalSignIn {
    cookie_name: String,
    secret: String,
    codes: Mutex<BTreeMap<String, IssuedCode>>,
}

struct IssuedCode {
    issued: Instant,
    target: PageAddress,
}

impl LocalSignIn {
    /// Creates the sign-in of a server on `port`. `secret` must be random; it is the cookie's
    /// value.
    pub fn new(port: u16, secret: String) -> Self {
        Self {
            // Cookies ignore the port, so the name tells servers on one host apart.
            cookie_name: format!("ken_{port}"),
            secret,
            codes: Mutex::default(),
        }
    }

    /// Issues a link to `target`, which works once. `code` must be random.
    pub fn issue(&self, code: String, target: PageAddress) -> String {
        let path = format!("/enter/{code}");
        let issued = Instant::now();
        self.codes().insert(code, IssuedCode { issued, target });
        path
    }

    /// Redeems a code; returns the page it leads to, unless it is unknown, used or expired.
    pub(crate) fn redeem(&self, code: &str) -> Option<PageAddress> {
        let mut codes = self.codes();
        codes.retain(|_, it| it.issued.elapsed() < ENTER_CODE_LIFETIME);
        codes.remove(code).map(|it| it.target)
    }

    /// Returns the header that signs the browser in.
    pub(crate) fn set_cookie(&self) -> String {
        let (name, secret) = (&self.cookie_name, &self.secret);
        format!("{name}={secret}; HttpOnly; SameSite=Strict; Path=/")
    }

    /// Returns whether the request carries the cookie.
    pub(crate) fn is_signed_in(&self, headers: &HeaderMap) -> bool {
        // Hashes compare in constant time, so the duration does not reveal the cookie.
        let secret = blake3::hash(self.secret.as_bytes());
        let sent = cookies(headers).filter(|(name, _)| *name == self.cookie_name);
        sent.fold(false, |found, (_, value)| {
            found | (blake3::hash(value.as_bytes()) == secret)
        })
    }

    fn codes(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, IssuedCode>> {
        // A panic elsewhere leaves the map valid: every change is one call.
        self.codes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for LocalSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalSignIn")
    }
}

/// Returns the cookies of a request.
pub fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let texts = headers.get_all(COOKIE).iter();
    let texts = texts.filter_map(|it| it.to_str().ok());
    texts
        .flat_map(|it| it.split(';'))
        .filter_map(|it| it.trim().split_once('='))
}
