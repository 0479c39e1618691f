//! The five things a text is scanned for (SEC-08), and that it says what only this project knows.

use serde::Deserialize;

/// What a rule protects against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Something that has the format of a credential.
    #[default]
    Credential,
    /// Something a text calls a credential: a password in prose, a key beside the word key.
    CredentialLeakage,
    /// Text that speaks to the reader's model rather than to the reader.
    Injection,
    /// Advice that sends what it should not to somebody else.
    Exfiltration,
    /// Advice that weakens or destroys where it is followed.
    UnsafeCode,
    /// What belongs to one organisation: hosts, people's folders, names, facts about one line of code.
    Sanitisation,
    /// Characters no reader sees.
    Hidden,
    /// Too long to look into.
    Unscanned,
}

impl Axis {
    /// Returns the word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Credential => "credential",
            Self::CredentialLeakage => "credential-leakage",
            Self::Injection => "injection",
            Self::Exfiltration => "exfiltration",
            Self::UnsafeCode => "unsafe-code",
            Self::Sanitisation => "sanitisation",
            Self::Hidden => "hidden",
            Self::Unscanned => "unscanned",
        }
    }

    /// Returns whether what was found must be replaced where text is kept or shown.
    pub(crate) fn is_secret(self) -> bool {
        matches!(self, Self::Credential | Self::CredentialLeakage)
    }

    /// Returns whether a finding that is not refused keeps the text from agents until a person has looked.
    pub(crate) fn is_quarantined(self) -> bool {
        match self {
            Self::Injection | Self::Exfiltration | Self::Hidden => true,
            Self::Credential
            | Self::CredentialLeakage
            | Self::UnsafeCode
            | Self::Sanitisation
            | Self::Unscanned => false,
        }
    }
}
