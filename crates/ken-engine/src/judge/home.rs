//! Which judge a user has: `judge.toml` in the user's own folder.
//!
//! A program to run and a place to send text to are never named by a repository: nothing below a
//! repository is read here, and the command does not run in one either.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::command::Program;
use super::{Judge, JudgeError};
use crate::guard::Guard;

const FILE: &str = "judge.toml";

/// Seconds a call may take where nobody says otherwise.
pub const TIMEOUT_SECONDS: u64 = 120;
/// Seconds a call may be given.
pub const TIMEOUT_SECONDS_MAX: u64 = 600;

/// Variables every command gets, as far as they are set; others by name only.
const PASSED: [&str; 2] = ["PATH", "HOME"];

/// Where a user's judge is configured, and how to look a variable up.
#[derive(Clone, Debug)]
pub struct JudgeHome {
    pub folder: PathBuf,
    pub variable: fn(&str) -> Option<OsString>,
}

/// Which judge there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// People decide.
    #[default]
    None,
    /// A program that reads a question on stdin and prints JSON.
    Command {
        /// The program and its arguments; no shell reads them.
        program: Vec<String>,
        /// Variables it gets beside `PATH` and `HOME`.
        pass: Vec<String>,
        timeout_seconds: u64,
    },
    /// An endpoint that speaks `/v1/chat/completions`.
    OpenAi(Endpoint),
    /// An endpoint that speaks `/v1/messages`.
    Anthropic(Endpoint),
}

/// An endpoint. The key itself is never kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Without the path of the request.
    pub url: String,
    pub model: String,
    /// The environment variable that holds the key.
    pub key_variable: Option<String>,
    /// Whether text may travel unencrypted to another machine.
    pub plain: bool,
    pub timeout_seconds: u64,
}

/// What the file may say.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JudgeFile {
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

impl Choice {
    /// Returns the word it is configured by.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Command { .. } => "command",
            Self::OpenAi(_) => "openai",
            Self::Anthropic(_) => "anthropic",
        }
    }

    /// Returns it if it can be used, before it is written down.
    fn checked(self) -> Result<Self, JudgeError> {
        let wrong = |why: &str| Err(JudgeError::Setting(why.to_owned()));
        let seconds = match &self {
            Self::None => return Ok(self),
            Self::Command {
                timeout_seconds, ..
            } => *timeout_seconds,
            Self::OpenAi(it) | Self::Anthropic(it) => it.timeout_seconds,
        };
        if seconds == 0 || TIMEOUT_SECONDS_MAX < seconds {
            return wrong("its timeout is from 1 to 600 seconds");
        }
        match &self {
            Self::Command { program, pass, .. } => {
                let Some(name) = program.first().filter(|it| !it.is_empty()) else {
                    return wrong("no program is named");
                };
                let is_path = name.contains(['/', '\\']);
                if is_path && !Path::new(name).is_absolute() {
                    return wrong("its program is a name that PATH knows, or an absolute path");
                }
                let is_name = |it: &String| !it.is_empty() && !it.contains(['=', '\0']);
                match pass.iter().all(is_name) {
                    true => Ok(self),
                    false => wrong("a variable to pass on has a name, not a value"),
                }
            }
            Self::OpenAi(it) | Self::Anthropic(it) if it.model.trim().is_empty() => {
                wrong("no model is named")
            }
            Self::None | Self::OpenAi(_) | Self::Anthropic(_) => Ok(self),
        }
    }
}

impl JudgeHome {
    /// Reads which judge there is; a user without a file has none.
    pub fn load(&self) -> Result<Choice, JudgeError> {
        let unreadable = |why: String| JudgeError::File { file: FILE, why };
        let file: JudgeFile = match fs::read_to_string(self.folder.join(FILE)) {
            Ok(text) => toml::from_str(&text).map_err(|e| unreadable(e.message().to_owned()))?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Choice::None),
            Err(e) => return Err(unreadable(e.to_string())),
        };
        file.choice()?.checked()
    }

    /// Writes down which judge there is from now on.
    pub fn store(&self, choice: Choice) -> Result<Choice, JudgeError> {
        let choice = choice.checked()?;
        let failed = |why: String| JudgeError::File { file: FILE, why };
        let text = toml::to_string(&JudgeFile::of(&choice)).map_err(|e| failed(e.to_string()))?;
        let new = self.folder.join(format!("{FILE}.new"));
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| private().open(&new))
            .and_then(|mut file| {
                file.write_all(text.as_bytes())
                    .and_then(|()| file.sync_all())
            })
            .and_then(|()| fs::rename(&new, self.folder.join(FILE)));
        written.map_err(|e| failed(e.to_string()))?;
        Ok(choice)
    }

    /// Returns the judge, ready to be asked; talks to nobody yet.
    pub fn open(&self, guard: &Guard) -> Result<Judge, JudgeError> {
        match self.load()? {
            Choice::None => Err(JudgeError::NotConfigured),
            Choice::Command {
                program,
                pass,
                timeout_seconds,
            } => {
                let program = Program {
                    variables: self.variables(&pass),
                    words: program,
                    folder: self.folder.clone(),
                    timeout: Duration::from_secs(timeout_seconds),
                };
                Ok(Judge::new(program.name(), Box::new(program), guard))
            }
            Choice::OpenAi(endpoint) => endpoint_judge(Spoken::OpenAi, &endpoint, guard),
            Choice::Anthropic(endpoint) => endpoint_judge(Spoken::Anthropic, &endpoint, guard),
        }
    }

    fn variables(&self, pass: &[String]) -> Vec<(String, OsString)> {
        let names = PASSED.into_iter().chain(pass.iter().map(String::as_str));
        let set = names.filter_map(|name| Some((name.to_owned(), (self.variable)(name)?)));
        set.collect()
    }
}

/// The language of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    OpenAi,
    Anthropic,
}

#[cfg(feature = "http")]
fn endpoint_judge(spoken: Spoken, endpoint: &Endpoint, guard: &Guard) -> Result<Judge, JudgeError> {
    let port = super::wire::Remote::open(spoken, endpoint)?;
    Ok(Judge::new(endpoint.model.clone(), Box::new(port), guard))
}

#[cfg(not(feature = "http"))]
fn endpoint_judge(_: Spoken, _: &Endpoint, _: &Guard) -> Result<Judge, JudgeError> {
    Err(JudgeError::NotInBuild)
}

impl JudgeFile {
    fn of(choice: &Choice) -> Self {
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
            Choice::None => {}
            Choice::Command {
                program,
                pass,
                timeout_seconds,
            } => {
                (file.program, file.pass) = (program.clone(), pass.clone());
                file.timeout_seconds = Some(*timeout_seconds);
            }
            Choice::OpenAi(it) | Choice::Anthropic(it) => {
                file.url = Some(it.url.clone());
                file.model = Some(it.model.clone());
                file.key_variable.clone_from(&it.key_variable);
                file.plain = it.plain;
                file.timeout_seconds = Some(it.timeout_seconds);
            }
        }
        file
    }

    fn choice(self) -> Result<Choice, JudgeError> {
        let timeout_seconds = self.timeout_seconds.unwrap_or(TIMEOUT_SECONDS);
        let missing = |what: &str| JudgeError::File {
            file: FILE,
            why: format!("it names no {what}"),
        };
        let endpoint = |file: Self| {
            Ok(Endpoint {
                url: file.url.ok_or_else(|| missing("url"))?,
                model: file.model.ok_or_else(|| missing("model"))?,
                key_variable: file.key_variable,
                plain: file.plain,
                timeout_seconds,
            })
        };
        match self.kind.as_str() {
            "none" => Ok(Choice::None),
            "command" => Ok(Choice::Command {
                program: self.program,
                pass: self.pass,
                timeout_seconds,
            }),
            "openai" => endpoint(self).map(Choice::OpenAi),
            "anthropic" => endpoint(self).map(Choice::Anthropic),
            other => Err(JudgeError::File {
                file: FILE,
                why: format!("there is no kind `{other}`"),
            }),
        }
    }
}

/// Nobody else on this machine may write what is opened.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
fn is_false(it: &bool) -> bool {
    !*it
}
