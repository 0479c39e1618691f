//! Exports of the audit log, from a TOML file of the operator.
//!
//! Only the operator's file names an address, so no tenant can make the hub call one. A webhook
//! must be encrypted or on this machine, and its redirects are not followed.

use std::fmt;
use std::path::{Path, PathBuf};

use ken_http::{EndpointError, EndpointOrigin};
use ken_remote::name::HubName;
use serde::Deserialize;

/// Maximum number of exports of a hub.
const EXPORTS_MAX: usize = 64;

/// Minimum length of a webhook's secret in bytes.
const SECRET_BYTES_MIN: usize = 24;

/// Format of exported records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditExportFormat {
    /// One JSON object per line.
    #[default]
    JsonLines,
    /// CloudEvents 1.0 in JSON.
    Cloudevents,
}

/// Selects records of an export; an export without a selection has all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExportSelection {
    /// Something was quarantined, released or discarded.
    Quarantine,
    /// A token, author or origin was revoked, or an event redacted.
    Revocation,
    /// A push or a verification failed at a gate.
    GateFailure,
}

/// Where records are delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportTarget {
    /// Lines are added to a file.
    File(PathBuf),
    /// Datagrams of RFC 5424 to `HOST:PORT`.
    SyslogUdp(String),
    /// Frames of RFC 6587 (octet counting) to `HOST:PORT`.
    SyslogTcp(String),
    /// Signed requests.
    Webhook { url: String, secret: WebhookSecret },
}

/// Key with which requests of a webhook are signed.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(String);

impl WebhookSecret {
    /// Returns the bytes of the key.
    pub(crate) fn reveal(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret")
    }
}

/// An export of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportSettings {
    /// Name of its state in the database.
    pub name: HubName,
    pub organization: HubName,
    pub target: ExportTarget,
    pub format: AuditExportFormat,
    /// Empty for all records.
    pub select: Vec<ExportSelection>,
}

/// Why a file of exports is refused.
#[derive(Debug, thiserror::Error)]
pub enum ExportSettingsError {
    #[error("the file of exports is not valid: {0}")]
    Toml(#[from] toml::de::Error),
    #[error("a hub has at most {EXPORTS_MAX} exports")]
    TooMany,
    #[error("two exports of `{organization}` have the name `{name}`")]
    Duplicate {
        organization: HubName,
        name: HubName,
    },
    #[error("the export `{0}` must have exactly one of `file`, `syslog` and `webhook`")]
    Target(HubName),
    #[error(
        "the export `{0}` needs a syslog address such as `udp://HOST:PORT` or `tcp://HOST:PORT`"
    )]
    Syslog(HubName),
    #[error("the export `{name}` has an invalid webhook: {source}")]
    Webhook {
        name: HubName,
        source: EndpointError,
    },
    #[error("the export `{0}` needs `secret_file`, a file with at least {SECRET_BYTES_MIN} bytes")]
    Secret(HubName),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportFile {
    #[serde(default)]
    export: Vec<ExportTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportTable {
    name: String,
    organization: String,
    file: Option<PathBuf>,
    syslog: Option<String>,
    webhook: Option<String>,
    secret_file: Option<PathBuf>,
    #[serde(default)]
    format: AuditExportFormat,
    #[serde(default)]
    select: Vec<ExportSelection>,
}

impl ExportSettings {
    /// Parses a file of exports in `folder`; `read` returns the content of a secret's file.
    pub fn parse(
        text: &str,
        folder: &Path,
        read: impl Fn(&Path) -> Option<String>,
    ) -> Result<Vec<Self>, ExportSettingsError> {
        let file: ExportFile = toml::from_str(text)?;
        if file.export.len() > EXPORTS_MAX {
            return Err(ExportSettingsError::TooMany);
        }
        let mut exports: Vec<Self> = Vec::new();
        for table in file.export {
            let export = table.into_settings(folder, &read)?;
            let is_known =
                |it: &Self| (&it.name, &it.organization) == (&export.name, &export.organization);
            if exports.iter().any(is_known) {
                let Self {
                    name, organization, ..
                } = export;
                return Err(ExportSettingsError::Duplicate { organization, name });
            }
            exports.push(export);
        }
        Ok(exports)
    }
}

impl ExportTable {
    fn into_settings(
        self,
        folder: &Path,
        read: impl Fn(&Path) -> Option<String>,
    ) -> Result<ExportSettings, ExportSettingsError> {
        let parse = |text: &str| {
            let wrong = |error| <toml::de::Error as serde::de::Error>::custom(error);
            text.parse::<HubName>().map_err(wrong)
        };
        let (name, organization) = (parse(&self.name)?, parse(&self.organization)?);
        let target = match (self.file, self.syslog, self.webhook) {
            (Some(path), None, None) => ExportTarget::File(folder.join(path)),
            (None, Some(address), None) => {
                parse_syslog(&address).ok_or_else(|| ExportSettingsError::Syslog(name.clone()))?
            }
            (None, None, Some(url)) => {
                check_webhook(&url).map_err(|source| ExportSettingsError::Webhook {
                    name: name.clone(),
                    source,
                })?;
                let secret = self.secret_file.and_then(|it| read(&folder.join(it)));
                let secret = secret.map(|it| it.trim().to_owned());
                let secret = secret.filter(|it| it.len() >= SECRET_BYTES_MIN);
                let secret = secret.ok_or_else(|| ExportSettingsError::Secret(name.clone()))?;
                let secret = WebhookSecret(secret);
                ExportTarget::Webhook { url, secret }
            }
            (_, _, _) => return Err(ExportSettingsError::Target(name)),
        };
        Ok(ExportSettings {
            name,
            organization,
            target,
            format: self.format,
            select: self.select,
        })
    }
}

fn parse_syslog(address: &str) -> Option<ExportTarget> {
    let (scheme, place) = address.split_once("://")?;
    let (host, port) = place.rsplit_once(':')?;
    if host.is_empty() || port.parse::<u16>().is_err() {
        return None;
    }
    match scheme {
        "udp" => Some(ExportTarget::SyslogUdp(place.to_owned())),
        "tcp" => Some(ExportTarget::SyslogTcp(place.to_owned())),
        _ => None,
    }
}

fn check_webhook(url: &str) -> Result<(), EndpointError> {
    let origin = EndpointOrigin::of(url)?;
    if origin.is_encrypted || origin.is_loopback {
        return Ok(());
    }
    Err(EndpointError::Plain { host: origin.host })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(rest: &str) -> Result<Vec<ExportSettings>, ExportSettingsError> {
        let text = format!("[[export]]\nname = \"siem\"\norganization = \"acme\"\n{rest}");
        ExportSettings::parse(&text, Path::new("/etc/ken"), |path| {
            let is_there = path == Path::new("/etc/ken/key");
            is_there.then(|| "a secret of thirty-two characters\n".to_owned())
        })
    }

    #[test]
    fn each_target_is_read_and_what_could_leak_or_mislead_is_refused() {
        let file = parse("file = \"/var/log/ken.jsonl\"").expect("a file");
        assert_eq!(
            file[0].target,
            ExportTarget::File("/var/log/ken.jsonl".into())
        );
        let beside = parse("file = \"ken.jsonl\"").expect("a file");
        assert_eq!(
            beside[0].target,
            ExportTarget::File("/etc/ken/ken.jsonl".into())
        );
        let syslog = parse("syslog = \"udp://log:514\"\nformat = \"cloudevents\"").expect("syslog");
        assert_eq!(syslog[0].format, AuditExportFormat::Cloudevents);
        let hook = "webhook = \"https://siem.example.org/ken\"\nsecret_file = \"key\"\nselect = [\"gate-failure\"]";
        let hook = parse(hook).expect("a webhook");
        assert_eq!(hook[0].select, [ExportSelection::GateFailure]);
        assert!(!format!("{hook:?}").contains("thirty-two"), "{hook:?}");
        for (wrong, said) in [
            ("", "exactly one"),
            ("file = \"a\"\nsyslog = \"udp://log:514\"", "exactly one"),
            ("syslog = \"log:514\"", "syslog address"),
            ("syslog = \"udp://log\"", "syslog address"),
            ("webhook = \"https://siem.example.org\"", "secret_file"),
            (
                "webhook = \"https://siem.example.org\"\nsecret_file = \"/none\"",
                "secret_file",
            ),
            (
                "webhook = \"http://siem.example.org\"\nsecret_file = \"key\"",
                "unencrypted",
            ),
            (
                "webhook = \"https://ada:pass@siem.example.org\"\nsecret_file = \"key\"",
                "password",
            ),
            (
                "webhook = \"file:///etc/passwd\"\nsecret_file = \"key\"",
                "form",
            ),
            ("file = \"a\"\nselect = [\"reads\"]", "reads"),
            ("file = \"a\"\nurl = \"b\"", "url"),
            (
                "file = \"a\"\n[[export]]\nname = \"siem\"\norganization = \"acme\"\nfile = \"b\"",
                "two exports",
            ),
        ] {
            let error = parse(wrong).expect_err(wrong).to_string();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
