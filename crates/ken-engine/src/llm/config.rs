//! Configuration of the llm: `llm.toml` in the user's own folder.
//!
//! A repository must not choose a program to run or an address to send text to. Therefore nothing
//! below a repository is read here, and the command does not run in one either.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ken_ledger::restrict_to_owner;
use serde::{Deserialize, Serialize};

use super::command::LlmProgram;
use super::{LlmClient, LlmError};
use crate::guard::Guard;

/// Name of the configuration file.
const LLM_FILE: &str = "llm.toml";

/// Default timeout of a call, in seconds.
pub const TIMEOUT_SECONDS: u64 = 120;
/// Maximum timeout of a call, in seconds.
pub const TIMEOUT_SECONDS_MAX: u64 = 600;

/// Environment variables that every command gets if they are set; others must be named.
#[cfg(not(windows))]
pub const PASSED_VARIABLES: &[&str] = &["PATH", "HOME"];
/// Most programs do not start on Windows without `SYSTEMROOT`.
#[cfg(windows)]
pub const PASSED_VARIABLES: &[&str] = &["PATH", "HOME", "USERPROFILE", "SYSTEMROOT"];

/// Folder of the judge's configuration, and the lookup of environment variables.
#[derive(Clone, Debug)]
pub struct LlmHome {
    pub folder: PathBuf,
    pub variable: fn(&str) -> Option<OsString>,
}

/// Configured llm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LlmChoice {
    /// No llm: people decide.
    #[default]
    None,
    /// Program that reads a question on stdin and prints JSON.
    Command {
        /// Program and arguments, not interpreted by a shell.
        program: Vec<String>,
        /// Environment variables to pass on, besides `PATH` and `HOME`.
        pass: Vec<String>,
        timeout_seconds: u64,
    },
    /// Endpoint that implements `/v1/chat/completions`.
    OpenAi(LlmEndpoint),
    /// Endpoint that implements `/v1/messages`.
    Anthropic(LlmEndpoint),
}

/// HTTP endpoint. The key itself is never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmEndpoint {
    /// Base URL without the path of the request.
    pub url: String,
    pub model: String,
    /// Name of the environment variable that holds the key.
    pub key_variable: Option<String>,
    /// Allows unencrypted requests to other machines.
    pub plain: bool,
    pub timeout_seconds: u64,
}

/// Contents of the configuration file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LlmFile {
    kind: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    program: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pass: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_variable: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    plain: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_seconds: Option<u64>,
}

impl LlmChoice {
    /// Returns the name used in the configuration.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Command { .. } => "command",
            Self::OpenAi(_) => "openai",
            Self::Anthropic(_) => "anthropic",
        }
    }

    /// Validates the settings.
    fn validate(self) -> Result<Self, LlmError> {
        let wrong = |why: &str| Err(LlmError::InvalidSetting(why.to_owned()));
        let seconds = match &self {
            Self::None => return Ok(self),
            Self::Command {
                timeout_seconds, ..
            } => *timeout_seconds,
            Self::OpenAi(it) | Self::Anthropic(it) => it.timeout_seconds,
        };
        if seconds == 0 || seconds > TIMEOUT_SECONDS_MAX {
            return wrong("the timeout must be 1 to 600 seconds");
        }
        match &self {
            Self::Command { program, pass, .. } => {
                let Some(name) = program.first().filter(|it| !it.is_empty()) else {
                    return wrong("the program is missing");
                };
                let is_path = name.contains(['/', '\\']);
                // A relative path would depend on the directory that `ken` is called from.
                if is_path && !Path::new(name).is_absolute() {
                    return wrong("the program must be a name on PATH or an absolute path");
                }
                // `NAME=value` would put a secret into the configuration file.
                let is_name = |it: &String| !it.is_empty() && !it.contains(['=', '\0']);
                if pass.iter().all(is_name) {
                    Ok(self)
                } else {
                    wrong("pass environment variables by name, without a value")
                }
            }
            Self::OpenAi(it) | Self::Anthropic(it) if it.model.trim().is_empty() => {
                wrong("the model name is missing")
            }
            Self::None | Self::OpenAi(_) | Self::Anthropic(_) => Ok(self),
        }
    }
}

impl LlmHome {
    /// Loads the configuration; no llm if there is no file.
    pub fn load(&self) -> Result<LlmChoice, LlmError> {
        let unreadable = |why: String| LlmError::File {
            file: LLM_FILE,
            why,
        };
        let file: LlmFile = match fs::read_to_string(self.folder.join(LLM_FILE)) {
            Ok(text) => toml::from_str(&text).map_err(|e| unreadable(e.message().to_owned()))?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(LlmChoice::None),
            Err(e) => return Err(unreadable(e.to_string())),
        };
        // The file can be edited by hand, so it is validated like a new setting.
        file.into_choice()?.validate()
    }

    /// Validates and stores the configuration.
    pub fn store(&self, choice: LlmChoice) -> Result<LlmChoice, LlmError> {
        let choice = choice.validate()?;
        let failed = |why: String| LlmError::File {
            file: LLM_FILE,
            why,
        };
        let text =
            toml::to_string(&LlmFile::from_choice(&choice)).map_err(|e| failed(e.to_string()))?;
        // A crash during the write leaves the old file: the new one is complete before the rename.
        let new = self.folder.join(format!("{LLM_FILE}.new"));
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(true);
                restrict_to_owner(&mut options).open(&new)
            })
            .and_then(|mut file| {
                file.write_all(text.as_bytes())
                    .and_then(|()| file.sync_all())
            })
            .and_then(|()| fs::rename(&new, self.folder.join(LLM_FILE)));
        written.map_err(|e| failed(e.to_string()))?;
        Ok(choice)
    }

    /// Returns the configured llm. Makes no request yet.
    pub fn open(&self, guard: &Guard) -> Result<LlmClient, LlmError> {
        match self.load()? {
            LlmChoice::None => Err(LlmError::NotConfigured),
            LlmChoice::Command {
                program,
                pass,
                timeout_seconds,
            } => {
                let program = LlmProgram {
                    variables: self.variables(&pass),
                    command_line: program,
                    // Not the current directory: a repository could contain files the program
                    // loads.
                    folder: self.folder.clone(),
                    timeout: Duration::from_secs(timeout_seconds),
                };
                Ok(LlmClient::new(program.name(), Box::new(program), guard))
            }
            LlmChoice::OpenAi(endpoint) => {
                endpoint_judge(EndpointProtocol::OpenAi, &endpoint, guard)
            }
            LlmChoice::Anthropic(endpoint) => {
                endpoint_judge(EndpointProtocol::Anthropic, &endpoint, guard)
            }
        }
    }

    /// Returns the environment of a command.
    fn variables(&self, pass: &[String]) -> Vec<(String, OsString)> {
        let names = PASSED_VARIABLES
            .iter()
            .copied()
            .chain(pass.iter().map(String::as_str));
        let set = names.filter_map(|name| Some((name.to_owned(), (self.variable)(name)?)));
        set.collect()
    }
}

/// Protocol of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndpointProtocol {
    OpenAi,
    Anthropic,
}

/// Creates a llm for an endpoint.
#[cfg(feature = "http")]
fn endpoint_judge(
    spoken: EndpointProtocol,
    endpoint: &LlmEndpoint,
    guard: &Guard,
) -> Result<LlmClient, LlmError> {
    let port = super::http::HttpLlm::open(spoken, endpoint)?;
    Ok(LlmClient::new(
        endpoint.model.clone(),
        Box::new(port),
        guard,
    ))
}

/// Returns an error, because this build has no HTTP client.
#[cfg(not(feature = "http"))]
fn endpoint_judge(_: EndpointProtocol, _: &LlmEndpoint, _: &Guard) -> Result<LlmClient, LlmError> {
    Err(LlmError::NotInBuild)
}

impl LlmFile {
    /// Converts the settings to file contents.
    fn from_choice(choice: &LlmChoice) -> Self {
        let mut file = Self {
            kind: choice.kind().to_owned(),
            program: Vec::new(),
            pass: Vec::new(),
            url: None,
            model: None,
            key_variable: None,
            plain: false,
            timeout_seconds: None,
        };
        match choice {
            LlmChoice::None => {}
            LlmChoice::Command {
                program,
                pass,
                timeout_seconds,
            } => {
                (file.program, file.pass) = (program.clone(), pass.clone());
                file.timeout_seconds = Some(*timeout_seconds);
            }
            LlmChoice::OpenAi(it) | LlmChoice::Anthropic(it) => {
                file.url = Some(it.url.clone());
                file.model = Some(it.model.clone());
                file.key_variable.clone_from(&it.key_variable);
                file.plain = it.plain;
                file.timeout_seconds = Some(it.timeout_seconds);
            }
        }
        file
    }

    /// Converts file contents to settings.
    fn into_choice(self) -> Result<LlmChoice, LlmError> {
        let timeout_seconds = self.timeout_seconds.unwrap_or(TIMEOUT_SECONDS);
        let missing = |member: &str| LlmError::File {
            file: LLM_FILE,
            why: format!("`{member}` is missing"),
        };
        let endpoint = |file: Self| {
            Ok(LlmEndpoint {
                url: file.url.ok_or_else(|| missing("url"))?,
                model: file.model.ok_or_else(|| missing("model"))?,
                key_variable: file.key_variable,
                plain: file.plain,
                timeout_seconds,
            })
        };
        match self.kind.as_str() {
            "none" => Ok(LlmChoice::None),
            "command" => Ok(LlmChoice::Command {
                program: self.program,
                pass: self.pass,
                timeout_seconds,
            }),
            "openai" => endpoint(self).map(LlmChoice::OpenAi),
            "anthropic" => endpoint(self).map(LlmChoice::Anthropic),
            other => Err(LlmError::File {
                file: LLM_FILE,
                why: format!("`{other}` is not a valid kind"),
            }),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
fn is_false(value: &bool) -> bool {
    !*value
}
