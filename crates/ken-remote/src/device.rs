//! Sign-in of a device at a hub (RFC 8628): a person confirms a code in a browser, and the device
//! gets a token.

use std::time::Duration;

use ken_core::values::text::{escape_invisible, truncate};
use ken_http::{EndpointError, EndpointOrigin, build_agent, describe_error};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::Agent;

use crate::address::HubAddress;
use crate::token::HubToken;

/// Time limit for one request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum bytes of a response.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// Maximum characters shown of a hub's text.
const TEXT_CHARS_MAX: usize = 200;

/// Bounds of the time between two questions.
const INTERVAL_S: (u64, u64) = (1, 60);

/// Type of the grant.
const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A code that a person confirms, and the secret that the device keeps.
#[derive(Clone, Deserialize)]
pub struct DeviceCode {
    device_code: String,
    /// The code to show.
    pub user_code: String,
    /// The page where the person types it.
    pub verification_uri: String,
    /// The same page with the code.
    pub verification_uri_complete: Option<String>,
    /// Seconds for which it is valid.
    pub expires_in: u64,
    interval: u64,
}

impl std::fmt::Debug for DeviceCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceCode({})", self.user_code)
    }
}

/// A token that a person granted to this device.
#[derive(Clone, Debug)]
pub struct DeviceToken {
    pub token: HubToken,
    /// The actor and the role it has.
    pub actor: String,
    pub role: String,
}

/// The hub's answer to a question for the token.
#[derive(Clone, Debug)]
pub enum DevicePoll {
    /// Nobody decided yet; ask again after this time.
    Pending(Duration),
    Granted(Box<DeviceToken>),
}

/// Error of a sign-in.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error("the hub does not answer: {0}")]
    Unreachable(String),
    #[error("this hub has no sign-in for devices (status {0})")]
    Unsupported(u16),
    #[error("the answer of the hub is not valid")]
    InvalidAnswer,
    #[error("the code expired before it was confirmed")]
    Expired,
    #[error("the sign-in was refused in the browser")]
    Refused,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    #[serde(default)]
    actor: String,
    #[serde(default)]
    role: String,
}

#[derive(Default, Deserialize)]
struct ErrorAnswer {
    #[serde(default)]
    error: String,
}

/// Signs this device in at a hub.
#[derive(Debug)]
pub struct DeviceSignIn {
    agent: Agent,
    base: String,
}

impl DeviceSignIn {
    /// Prepares a sign-in; does not connect yet.
    pub fn open(address: &HubAddress) -> Result<Self, DeviceError> {
        let base = address.base();
        let origin = EndpointOrigin::of(&format!("{base}/"))?;
        Ok(Self {
            agent: build_agent(&origin, Some(TIMEOUT))?,
            base,
        })
    }

    /// Asks for a code. `name` tells the person which device asks.
    pub fn request_code(&self, name: &str) -> Result<DeviceCode, DeviceError> {
        let form = [("client_id", "ken"), ("device_name", name)];
        let (status, body) = self.post("/oauth/device_authorization", &form)?;
        if status != 200 {
            return Err(DeviceError::Unsupported(status));
        }
        let mut code: DeviceCode = parse(&body)?;
        // Text of a server is shown in a terminal.
        for text in [&mut code.user_code, &mut code.verification_uri] {
            *text = truncate(&escape_invisible(text), TEXT_CHARS_MAX);
        }
        if let Some(text) = &mut code.verification_uri_complete {
            *text = truncate(&escape_invisible(text), TEXT_CHARS_MAX);
        }
        Ok(code)
    }

    /// Asks for the token.
    pub fn poll(&self, code: &DeviceCode) -> Result<DevicePoll, DeviceError> {
        let form = [
            ("grant_type", GRANT_TYPE),
            ("device_code", &code.device_code),
            ("client_id", "ken"),
        ];
        let (status, body) = self.post("/oauth/token", &form)?;
        let (min, max) = INTERVAL_S;
        let pause = Duration::from_secs(code.interval.clamp(min, max));
        if status == 200 {
            let answer: TokenAnswer = parse(&body)?;
            let token = HubToken::parse(&answer.access_token);
            let clean = |text: &str| truncate(&escape_invisible(text), TEXT_CHARS_MAX);
            return Ok(DevicePoll::Granted(Box::new(DeviceToken {
                token: token.map_err(|_| DeviceError::InvalidAnswer)?,
                actor: clean(&answer.actor),
                role: clean(&answer.role),
            })));
        }
        let answer: ErrorAnswer = serde_json::from_slice(&body).unwrap_or_default();
        match answer.error.as_str() {
            "authorization_pending" => Ok(DevicePoll::Pending(pause)),
            // RFC 8628: five seconds more from then on; one longer pause has the same effect here.
            "slow_down" => Ok(DevicePoll::Pending(pause + Duration::from_secs(5))),
            "access_denied" => Err(DeviceError::Refused),
            "expired_token" => Err(DeviceError::Expired),
            _ => Err(DeviceError::Unsupported(status)),
        }
    }

    fn post(&self, path: &str, form: &[(&str, &str)]) -> Result<(u16, Vec<u8>), DeviceError> {
        let address = format!("{}{path}", self.base);
        let away = |error: &ureq::Error| DeviceError::Unreachable(describe_error(error).to_owned());
        let sent = self.agent.post(&address).send_form(form.iter().copied());
        let answer = sent.map_err(|error| away(&error))?;
        let status = answer.status().as_u16();
        let body = answer.into_body().into_with_config();
        let body = body.limit(ANSWER_BYTES_MAX).read_to_vec();
        Ok((status, body.map_err(|error| away(&error))?))
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, DeviceError> {
    serde_json::from_slice(body).map_err(|_| DeviceError::InvalidAnswer)
}
