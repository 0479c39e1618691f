//! The axes of a scan (SEC-08): the threats and defects the rules look for.

use serde::Deserialize;

/// The threat a rule protects against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScanAxis {
    /// A string in the format of a credential.
    #[default]
    Credential,
    /// A string that the text calls a credential: a password in prose, a value next to the word
    /// key.
    CredentialLeakage,
    /// Text addressed to the reader's model instead of the reader.
    Injection,
    /// Advice that sends data to third parties.
    Exfiltration,
    /// Advice that weakens or destroys the system it is applied to.
    UnsafeCode,
    /// Content specific to one organization: hosts, home directories, names, facts about one line
    /// of code.
    Sanitization,
    /// Invisible characters.
    Hidden,
    /// Text too long to scan.
    Unscanned,
}

impl ScanAxis {
    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Credential => "credential",
            Self::CredentialLeakage => "credential-leakage",
            Self::Injection => "injection",
            Self::Exfiltration => "exfiltration",
            Self::UnsafeCode => "unsafe-code",
            Self::Sanitization => "sanitization",
            Self::Hidden => "hidden",
            Self::Unscanned => "unscanned",
        }
    }

    /// Returns whether a match must be replaced in stored or displayed text.
    pub(crate) fn is_secret(self) -> bool {
        matches!(self, Self::Credential | Self::CredentialLeakage)
    }

    /// Returns whether a finding below the rejection threshold quarantines the text.
    pub(crate) fn is_quarantined(self) -> bool {
        match self {
            Self::Injection | Self::Exfiltration | Self::Hidden => true,
            Self::Credential
            | Self::CredentialLeakage
            | Self::UnsafeCode
            | Self::Sanitization
            | Self::Unscanned => false,
        }
    }
}
