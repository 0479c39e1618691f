//! Quotas of organizations and workspaces.

use std::fmt;

/// Part of a workspace's bytes that run notes and quarantined events may take: one in this many.
///
/// The SQL function `ken.take_places` relies on it.
const WAITING_SHARE: u64 = 2;

/// Quotas of an organization whose row sets none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultQuotas {
    /// Workspaces per organization.
    pub workspaces: u64,
    /// Events per workspace.
    pub events: u64,
    /// Bytes of events, run notes and quarantined events per workspace.
    pub bytes: u64,
    /// Tokens per organization that are neither expired nor revoked.
    pub tokens: u64,
}

/// Quotas of an organization; `None` means the hub's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrganizationQuotas {
    pub workspaces_max: Option<u64>,
    /// Events per workspace.
    pub events_max: Option<u64>,
    /// Bytes of events per workspace.
    pub bytes_max: Option<u64>,
    pub requests_per_minute: Option<u64>,
}

/// Formats quotas for the audit log.
impl fmt::Display for OrganizationQuotas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("workspaces", self.workspaces_max),
            ("events", self.events_max),
            ("bytes", self.bytes_max),
            ("requests-per-minute", self.requests_per_minute),
        ];
        let texts = all.map(|(name, max)| match max {
            Some(max) => format!("{name} {max}"),
            None => format!("{name} default"),
        });
        f.write_str(&texts.join(", "))
    }
}

/// Usage of a workspace and the limits of its organization's own row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkspaceUsage {
    pub events: u64,
    /// Size of the events' lines in bytes.
    pub bytes: u64,
    /// Size of what may become events: notes of runs and quarantined events.
    pub waiting_bytes: u64,
    pub events_max: Option<u64>,
    pub bytes_max: Option<u64>,
}

impl Default for DefaultQuotas {
    fn default() -> Self {
        Self {
            workspaces: 10_000,
            events: 1_000_000,
            bytes: 4 << 30,
            tokens: 10_000,
        }
    }
}

impl DefaultQuotas {
    /// Checks the size of a workspace. Quotas of the organization's row take precedence.
    pub fn check(&self, usage: &WorkspaceUsage) -> Result<(), QuotaExceeded> {
        let events_max = usage.events_max.unwrap_or(self.events);
        QuotaExceeded::check("events in this workspace", usage.events, events_max)?;
        let stored = usage.bytes.saturating_add(usage.waiting_bytes);
        let bytes_max = usage.bytes_max.unwrap_or(self.bytes);
        QuotaExceeded::check("bytes stored in this workspace", stored, bytes_max)
    }

    /// Checks what waits in a workspace: it may take half of the bytes, and not more than the
    /// events leave.
    pub fn check_waiting(&self, usage: &WorkspaceUsage) -> Result<(), QuotaExceeded> {
        let bytes_max = usage.bytes_max.unwrap_or(self.bytes);
        let what = "bytes of run notes and quarantined events in this workspace";
        QuotaExceeded::check(what, usage.waiting_bytes, bytes_max / WAITING_SHARE)?;
        self.check(usage)
    }
}

/// An exceeded quota.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} {what} exceed the limit of {max}; the operator of the hub can raise the quota")]
pub struct QuotaExceeded {
    pub what: &'static str,
    pub wanted: u64,
    pub max: u64,
}

impl QuotaExceeded {
    /// Returns an error if `wanted` is more than `max`.
    pub fn check(what: &'static str, wanted: u64, max: u64) -> Result<(), Self> {
        if wanted > max {
            return Err(Self { what, wanted, max });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_counts_and_takes_at_most_half() {
        let quotas = DefaultQuotas {
            bytes: 100,
            ..DefaultQuotas::default()
        };
        for (bytes, waiting_bytes, fits, may_wait) in [
            (0, 50, true, true),
            (0, 51, true, false),
            (60, 40, true, true),
            (60, 41, false, false),
        ] {
            let usage = WorkspaceUsage {
                events: 1,
                bytes,
                waiting_bytes,
                events_max: None,
                bytes_max: None,
            };
            assert_eq!(quotas.check(&usage).is_ok(), fits, "{usage:?}");
            assert_eq!(quotas.check_waiting(&usage).is_ok(), may_wait, "{usage:?}");
        }
    }
}
