//! Downloads of public files: bounded, complete, and over redirects as secure as the host.
//!
//! Sends no key, so a redirect cannot leak one. Callers verify the bytes.

use std::io::{self, Read as _, Write};
use std::time::Duration;

use ureq::Agent;
use ureq::http::Response;

use crate::agent::{build_agent, describe_error};
use crate::origin::{EndpointError, EndpointOrigin};

/// Maximum number of redirects.
const REDIRECTS_MAX: usize = 5;

/// Size of the read buffer.
const BUFFER_BYTES: usize = 1 << 18;

/// Failure of a download.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("cannot reach `{host}`: {why}")]
    Unreachable { host: String, why: &'static str },
    #[error("`{host}` refused the request with status {status}")]
    Refused { host: String, status: u16 },
    #[error("`{host}` redirects to a URL that Ken does not follow")]
    Redirected { host: String },
    #[error("the file has more than {most} bytes")]
    TooLarge { most: u64 },
    #[error("the file is incomplete: {found} of {wanted} bytes")]
    CutOff { found: u64, wanted: u64 },
    #[error("cannot write the file")]
    Write(#[source] io::Error),
}

/// A host with files, which may store them elsewhere and redirect.
#[derive(Debug)]
pub struct FileHost {
    origin: EndpointOrigin,
    agent: Agent,
}

impl FileHost {
    /// Checks the host of `url`, without any network access. Another machine needs `https`.
    pub fn open(url: &str, timeout: Duration) -> Result<Self, EndpointError> {
        let origin = EndpointOrigin::of(url)?;
        if !origin.is_encrypted && !origin.is_loopback {
            let host = origin.host;
            return Err(EndpointError::Plain { host });
        }
        let agent = build_agent(&origin, Some(timeout))?;
        Ok(Self { origin, agent })
    }

    /// Writes the file at `url` to `to`; returns false if the host does not have it.
    ///
    /// `progress` receives the bytes read and the total.
    pub fn download(
        &self,
        url: &str,
        bytes_max: u64,
        to: &mut dyn Write,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<bool, DownloadError> {
        let mut response = self.get(url)?;
        match response.status().as_u16() {
            200 => {}
            // The caller knows whether the file is required.
            404 => return Ok(false),
            status => {
                let host = self.origin.host.clone();
                return Err(DownloadError::Refused { host, status });
            }
        }
        let header = response.headers().get("content-length");
        let length: Option<u64> = header.and_then(|value| value.to_str().ok()?.parse().ok());
        if length.is_some_and(|length| length > bytes_max) {
            return Err(DownloadError::TooLarge { most: bytes_max });
        }
        let body = response.body_mut().with_config().limit(u64::MAX);
        // The header may be missing or wrong, so the body is limited as well.
        let mut body = body.reader().take(bytes_max.saturating_add(1));
        let mut piece = vec![0; BUFFER_BYTES];
        let mut found = 0;
        loop {
            let read = body.read(&mut piece);
            let count = read.map_err(|error| self.unreachable(&error.into()))?;
            if count == 0 {
                break;
            }
            to.write_all(&piece[..count])
                .map_err(DownloadError::Write)?;
            found += count as u64;
            progress(found, length.unwrap_or(found));
        }
        match length {
            _ if found > bytes_max => Err(DownloadError::TooLarge { most: bytes_max }),
            Some(wanted) if wanted != found => Err(DownloadError::CutOff { found, wanted }),
            _ => Ok(true),
        }
    }

    /// Requests a URL and follows redirects, because hosts store large files elsewhere.
    fn get(&self, url: &str) -> Result<Response<ureq::Body>, DownloadError> {
        let mut url = url.to_owned();
        for _ in 0..=REDIRECTS_MAX {
            let response = self.agent.get(&url).call();
            let response = response.map_err(|error| self.unreachable(&error))?;
            if !response.status().is_redirection() {
                return Ok(response);
            }
            let location = response.headers().get("location");
            let target = location.and_then(|value| value.to_str().ok());
            let next = target.and_then(|target| redirect_target(&self.origin, &url, target));
            url = next.ok_or_else(|| self.redirect_error())?;
        }
        Err(self.redirect_error())
    }

    fn redirect_error(&self) -> DownloadError {
        let host = self.origin.host.clone();
        DownloadError::Redirected { host }
    }

    fn unreachable(&self, error: &ureq::Error) -> DownloadError {
        DownloadError::Unreachable {
            host: self.origin.host.clone(),
            why: describe_error(error),
        }
    }
}

/// Returns the target of a redirect if it is as secure as the host that was opened.
fn redirect_target(opened: &EndpointOrigin, from: &str, to: &str) -> Option<String> {
    // `//host/path` keeps the scheme but names another host, so it is not a relative path.
    let url = if to.starts_with('/') && !to.starts_with("//") {
        let from = EndpointOrigin::of(from).ok()?;
        let scheme = if from.is_encrypted { "https" } else { "http" };
        format!("{scheme}://{}{to}", from.authority)
    } else {
        to.to_owned()
    };
    let target = EndpointOrigin::of(&url).ok()?;
    // The client of a plaintext host has no TLS configuration, so it must stay on plaintext.
    let is_as_safe = if opened.is_encrypted {
        target.is_encrypted
    } else {
        target.is_loopback && !target.is_encrypted
    };
    is_as_safe.then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_as_safe_as_the_host() {
        let safe = EndpointOrigin::of("https://hub.example").unwrap();
        let from = "https://hub.example:8/a/b";
        assert_eq!(
            redirect_target(&safe, from, "/c?d=e").unwrap(),
            "https://hub.example:8/c?d=e"
        );
        assert!(redirect_target(&safe, from, "https://cdn.example/x?sig=1").is_some());
        for to in [
            "http://cdn.example/x",
            "http://localhost/x",
            "//cdn.example/x",
            "file:///x",
            "x",
        ] {
            assert!(redirect_target(&safe, from, to).is_none(), "{to}");
        }
        let near = EndpointOrigin::of("http://127.0.0.1:9").unwrap();
        let from = "http://127.0.0.1:9/a";
        assert!(redirect_target(&near, from, "/b").is_some());
        for to in ["http://cdn.example/x", "https://cdn.example/x"] {
            assert!(redirect_target(&near, from, to).is_none(), "{to}");
        }
    }
}
