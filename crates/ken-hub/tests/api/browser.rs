//! A browser without scripts: cookies, forms with their token, and the headers that browsers send.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::hub::{ApiHubEnvironment, ApiResponse};

/// A browser with its cookies.
pub(crate) struct Browser<'h> {
    hub: &'h ApiHubEnvironment,
    cookies: RefCell<BTreeMap<String, String>>,
    /// The name of the hub in the address bar; `None` for its IP address.
    host: Option<&'static str>,
}

impl<'h> Browser<'h> {
    pub(crate) fn new(hub: &'h ApiHubEnvironment) -> Self {
        Self {
            hub,
            cookies: RefCell::default(),
            host: None,
        }
    }

    /// Returns a browser that signed in with a token.
    pub(crate) fn signed_in(hub: &'h ApiHubEnvironment, token: &str) -> Self {
        let browser = Self::new(hub);
        let answer = browser.sign_in(token);
        assert_eq!(answer.status, 303, "{}", answer.text());
        browser
    }

    /// Returns a browser that opened the hub by a name and has a cookie of it.
    pub(crate) fn with_cookie(
        hub: &'h ApiHubEnvironment,
        host: &'static str,
        (name, value): (&str, &str),
    ) -> Self {
        let browser = Self {
            host: Some(host),
            ..Self::new(hub)
        };
        let mut cookies = browser.cookies.borrow_mut();
        cookies.insert(name.to_owned(), value.to_owned());
        drop(cookies);
        browser
    }

    /// Sends the form of the sign-in page.
    pub(crate) fn sign_in(&self, token: &str) -> ApiResponse {
        self.send(
            "POST",
            "/sign-in",
            "same-origin",
            Some(&format!("token={token}")),
        )
    }

    pub(crate) fn cookie(&self) -> String {
        let cookies = self.cookies.borrow();
        let pairs = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join("; ")
    }

    pub(crate) fn get(&self, path: &str) -> ApiResponse {
        self.send("GET", path, "none", None)
    }

    /// Sends a form with the token of the account page.
    pub(crate) fn post(&self, path: &str, fields: &str) -> ApiResponse {
        let token = self.form_token();
        self.send(
            "POST",
            path,
            "same-origin",
            Some(&format!("{fields}&form_token={token}")),
        )
    }

    pub(crate) fn post_without_token(&self, path: &str, fields: &str) -> ApiResponse {
        self.send("POST", path, "same-origin", Some(fields))
    }

    pub(crate) fn post_from_other_site(&self, path: &str, fields: &str) -> ApiResponse {
        let token = self.form_token();
        self.send(
            "POST",
            path,
            "cross-site",
            Some(&format!("{fields}&form_token={token}")),
        )
    }

    pub(crate) fn form_token(&self) -> String {
        let page = self.get("/account").text();
        let marker = "name=\"form_token\" value=\"";
        let start = page.find(marker).map(|at| at + marker.len());
        let token = start.map(|at| page[at..].split('"').next().unwrap_or_default());
        token.unwrap_or_default().to_owned()
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        site: &str,
        body: Option<&str>,
    ) -> ApiResponse {
        let cookie = self.cookie();
        let mut headers = vec![
            ("sec-fetch-site", site),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        if !cookie.is_empty() {
            headers.push(("cookie", &cookie));
        }
        if let Some(host) = self.host {
            headers.push(("host", host));
        }
        if body.is_some() {
            headers.push(("content-type", "application/x-www-form-urlencoded"));
        }
        let answer = self
            .hub
            .send(method, path, &headers, body.map(str::as_bytes));
        for value in answer.headers.get_all("set-cookie") {
            let text = value.to_str().expect("a cookie");
            let (pair, attributes) = text.split_once(';').expect("attributes");
            let (name, value) = pair.split_once('=').expect("a pair");
            if attributes.contains("Max-Age=0") {
                self.cookies.borrow_mut().remove(name);
            } else {
                self.cookies
                    .borrow_mut()
                    .insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }
}

impl ApiResponse {
    /// Returns the page without form tokens, which differ on every page.
    pub(crate) fn without_tokens(&self) -> String {
        let text = self.text();
        let mut parts = text.split("name=\"form_token\" value=\"");
        let first = parts.next().unwrap_or_default().to_owned();
        let rest = parts.map(|it| it.split_once('"').map_or("", |(_, rest)| rest));
        rest.fold(first, |page, part| page + part)
    }
}
