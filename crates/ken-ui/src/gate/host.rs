//! Host names that this server answers to.

use axum::http::HeaderMap;
use axum::http::header::HOST;

/// The values of `Host` that belong to this server, with their ports.
#[derive(Clone, Debug)]
pub struct AllowedHosts(Option<Vec<String>>);

impl AllowedHosts {
    /// Returns the names of a server on the loopback interface, the given one first.
    pub fn local(name: &str, port: u16) -> Self {
        let names = [name, "127.0.0.1", "localhost", "[::1]"];
        Self(Some(names.map(|name| format!("{name}:{port}")).into()))
    }

    /// Returns the names of a server with a public URL such as `https://ken.example.org`.
    pub fn of_url(url: &str) -> Self {
        let host = url.split_once("://").map_or(url, |(_, host)| host);
        Self(Some(vec![host.to_owned()]))
    }

    /// Returns every name, for a server whose names are not known.
    ///
    /// Safe only with a cookie that belongs to one host: a browser does not send it with another
    /// name that leads to the same server.
    pub fn any() -> Self {
        Self(None)
    }

    /// Returns the requested host if this server answers to it.
    ///
    /// Exactly one header: with two, a proxy may have checked the other one.
    pub(crate) fn requested<'a>(&'a self, headers: &'a HeaderMap) -> Option<&'a str> {
        let mut sent = headers.get_all(HOST).iter();
        let (Some(only), None) = (sent.next(), sent.next()) else {
            return None;
        };
        let only = only.to_str().ok()?;
        match &self.0 {
            None => Some(only),
            Some(names) => {
                let found = names.iter().find(|it| it.eq_ignore_ascii_case(only));
                found.map(String::as_str)
            }
        }
    }
}
