//! What whoever operates a hub decides.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use super::limits::Limits;
use super::log::Log;
use crate::database::{self, Room};
use crate::identity::Role;

/// What whoever operates a hub decides. Nothing of it comes from a tenant.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the hub answers.
    pub bind: SocketAddr,
    /// Where it tells its metrics; nowhere without. They need no token, so this is never the public address.
    pub metrics: Option<SocketAddr>,
    /// How the database is reached.
    pub database: String,
    /// Connections to the database this process may have.
    pub connections: u32,
    /// The address people and agents call the hub by, such as `https://ken.example.org`, without a slash at its end.
    pub public_url: Option<String>,
    pub limits: Limits,
    pub quotas: Quotas,
    /// What is told to whoever operates it.
    pub log: Log,
    /// Whose access tokens are taken beside the hub's own; nobody's without.
    pub oidc: Option<Oidc>,
}

/// What an organisation may have, where its own row says nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Workspaces of an organisation.
    pub workspaces: u64,
    /// Events of a workspace.
    pub events: u64,
    /// Bytes of a workspace's events.
    pub bytes: u64,
    /// Tokens of an organisation that are neither expired nor revoked.
    pub tokens: u64,
}

/// An issuer of access tokens, and what its claims mean here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oidc {
    /// Exactly as it stands in `iss`.
    pub issuer: String,
    /// What must stand in `aud`.
    pub audience: String,
    /// Where its keys are; asked of the issuer without.
    pub keys: Option<String>,
    /// Which organisation a token is for.
    pub organisation: ClaimedOrganisation,
    /// The claim that names somebody, the same in every token of theirs; `sub` where nothing better is known. Whoever has
    /// none is refused: under two names one person could approve their own words.
    pub subject_claim: String,
    /// The claim only people have, such as `email`. Curators and admins who have it are people here and may approve; all
    /// others, and everybody where no such claim is named, are programs, and a program is at most an agent.
    pub person_claim: Option<String>,
    /// The claim that holds the roles, a text or a list of them; dots lead into objects, as in `realm_access.roles`.
    pub roles_claim: String,
    /// What a claimed role is here; who claims none of them is refused, who claims several has the largest.
    pub roles: BTreeMap<String, Role>,
}

/// Which organisation an access token is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimedOrganisation {
    /// This one, whatever it claims.
    Always(String),
    /// The one this claim names.
    Claim(String),
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            workspaces: 10_000,
            events: 1_000_000,
            bytes: 4 << 30,
            tokens: 10_000,
        }
    }
}

impl Quotas {
    /// Refuses a workspace that holds more than it may; what its organisation's own row says comes first.
    pub fn check(&self, room: &Room) -> Result<(), Beyond> {
        let max = room.events_max.unwrap_or(self.events);
        Beyond::check("events in this workspace", room.events, max)?;
        let max = room.bytes_max.unwrap_or(self.bytes);
        Beyond::check("bytes of events in this workspace", room.bytes, max)
    }
}

/// More than an organisation may have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "that would be {wanted} {what} and {max} are allowed; whoever operates the hub can raise the quota"
)]
pub struct Beyond {
    pub what: &'static str,
    pub wanted: u64,
    pub max: u64,
}

impl Beyond {
    /// Refuses `wanted` where only `max` are allowed.
    pub fn check(what: &'static str, wanted: u64, max: u64) -> Result<(), Self> {
        match wanted <= max {
            true => Ok(()),
            false => Err(Self { what, wanted, max }),
        }
    }
}

impl Settings {
    /// Connections to the database where nothing else is said.
    pub const CONNECTIONS: u32 = database::Settings::CONNECTIONS;

    /// The port where nothing else is said.
    pub const PORT: u16 = 8750;

    /// This machine only, no metrics, no issuer.
    #[must_use]
    pub fn new(database: String) -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, Self::PORT)),
            metrics: None,
            database,
            connections: Self::CONNECTIONS,
            public_url: None,
            limits: Limits::default(),
            quotas: Quotas::default(),
            log: Log::default(),
            oidc: None,
        }
    }
}
