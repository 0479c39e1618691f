//! Layers of the settings of `ken serve`: command line, environment, configuration file, defaults.
//!
//! Every option is also a key of the file and an environment variable, named after it, so a new
//! option needs no second definition. The values of all layers pass the same argument parser.
//!
//! The file contains no secret: it names files that do. It may therefore be readable by everyone
//! and stored in a repository.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches as _};

use super::ServeArgs;
use crate::commands::hub::read_limited;
use crate::failure::CommandFailure;
use crate::world;

/// Value of the key `schema` of a configuration file. In two parts, because no command prints it.
const SCHEMA: &str = concat!("ken.hub.config", ".v1");

/// Maximum size of a configuration file in bytes.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// Prefix of the options that are keys of a table of the file.
const TABLE_PREFIX: &str = "oidc_";

/// The option that names the file.
const CONFIG: &str = "config";

/// The options that name the database; the first contains a password.
const DATABASE: [&str; 2] = ["database", "database_file"];

/// Layer that a value comes from, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingSource {
    CommandLine,
    Environment,
    File,
    Default,
}

impl SettingSource {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CommandLine => "command line",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Default => "default",
        }
    }
}

/// An option of `ken serve` as a setting.
#[derive(Debug)]
pub(crate) struct SettingDefinition {
    arg: Arg,
}

/// A setting in effect.
#[derive(Debug)]
pub(crate) struct EffectiveSetting {
    pub(crate) key: String,
    /// Its values; none if it is not set.
    pub(crate) values: Vec<String>,
    pub(crate) source: SettingSource,
}

/// Values of one layer by option. A switch has the value `true` or `false`.
pub(super) type LayerValues = BTreeMap<String, Vec<OsString>>;

impl SettingDefinition {
    /// Returns every setting, in the order of the options.
    pub(crate) fn all() -> Vec<Self> {
        let command = ServeArgs::augment_args(Command::new("serve"));
        let all = command.get_arguments().cloned().map(|arg| Self { arg });
        all.filter(|it| it.id() != CONFIG).collect()
    }

    fn id(&self) -> &str {
        self.arg.get_id().as_str()
    }

    /// Returns the name of the option without dashes.
    fn option(&self) -> &str {
        self.arg.get_long().unwrap_or_default()
    }

    /// Returns the option as it is typed.
    pub(crate) fn flag(&self) -> String {
        let names = self.arg.get_value_names().unwrap_or_default();
        match names.first() {
            Some(name) if !self.is_switch() => format!("--{} {name}", self.option()),
            Some(_) | None => format!("--{}", self.option()),
        }
    }

    /// Returns the key in the file, with its table.
    pub(crate) fn key(&self) -> String {
        match self.id().strip_prefix(TABLE_PREFIX) {
            Some(rest) => format!("{}.{rest}", TABLE_PREFIX.trim_end_matches('_')),
            None => self.id().to_owned(),
        }
    }

    /// Returns the environment variable.
    pub(crate) fn variable(&self) -> String {
        if self.id() == DATABASE[0] {
            return "KEN_DATABASE_URL".to_owned();
        }
        if self.id() == DATABASE[1] {
            return "KEN_DATABASE_URL_FILE".to_owned();
        }
        format!("{}{}", world::SERVE_PREFIX, self.id().to_uppercase())
    }

    /// Returns whether the value is a secret, which a file must not contain.
    pub(crate) fn is_secret(&self) -> bool {
        self.id() == DATABASE[0]
    }

    pub(crate) fn is_switch(&self) -> bool {
        matches!(self.arg.get_action(), ArgAction::SetTrue)
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.arg.get_action(), ArgAction::Append)
    }

    /// Returns the default value, if there is one.
    pub(crate) fn default_value(&self) -> Option<String> {
        if self.is_switch() {
            return Some("false".to_owned());
        }
        let value = self.arg.get_default_values().first()?;
        Some(value.to_string_lossy().into_owned())
    }

    /// Returns the help text without its remark about the default.
    pub(crate) fn meaning(&self) -> String {
        let help = self.arg.get_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        help.split(" [default:")
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    /// Returns the words of the command line for values of a layer.
    fn words(&self, values: &[OsString]) -> Vec<OsString> {
        if self.is_switch() {
            let is_on = values.iter().any(|it| it == "true");
            return Vec::from_iter(is_on.then(|| format!("--{}", self.option()).into()));
        }
        let word = |value: &OsString| {
            let mut word = OsString::from(format!("--{}=", self.option()));
            word.push(value);
            word
        };
        values.iter().map(word).collect()
    }

    /// Checks values of a layer, to name the layer in the message.
    fn check(&self, values: &[OsString], place: &str) -> Result<(), CommandFailure> {
        if self.is_switch() && !values.iter().all(|it| it == "true" || it == "false") {
            return Err(CommandFailure::usage("expected true or false").at(place));
        }
        let command = Command::new("serve").no_binary_name(true);
        let command = command.disable_help_flag(true).arg(self.arg.clone());
        let parsed = command.try_get_matches_from(self.words(values));
        parsed.map(drop).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            CommandFailure::usage(first.trim_start_matches("error: ")).at(place)
        })
    }
}

/// Returns the settings that were typed.
pub(super) fn typed_values(matches: &ArgMatches) -> LayerValues {
    let mut typed = LayerValues::new();
    for setting in SettingDefinition::all() {
        let id = setting.id();
        if matches.value_source(id) != Some(clap::parser::ValueSource::CommandLine) {
            continue;
        }
        let values = if setting.is_switch() {
            vec!["true".into()]
        } else {
            let raw = matches.get_raw(id).into_iter().flatten();
            raw.map(ToOwned::to_owned).collect()
        };
        typed.insert(id.to_owned(), values);
    }
    typed
}

/// Combines the layers. Returns the arguments in effect and where each comes from.
pub(super) fn combine(
    typed: &LayerValues,
    file: Option<&Path>,
) -> Result<(ServeArgs, Vec<EffectiveSetting>), CommandFailure> {
    let settings = SettingDefinition::all();
    let layers = [
        (SettingSource::CommandLine, typed.clone()),
        (SettingSource::Environment, environment(&settings)?),
        (
            SettingSource::File,
            file.map_or_else(|| Ok(LayerValues::new()), |path| read(path, &settings))?,
        ),
    ];
    let database = layers.iter().find(|(_, values)| {
        let mut names = DATABASE.iter();
        names.any(|name| values.contains_key(*name))
    });
    let database = database.map(|(source, _)| *source);
    let (mut words, mut effective) = (Vec::new(), Vec::new());
    for setting in &settings {
        let is_database = DATABASE.contains(&setting.id());
        let mut allowed = layers
            .iter()
            // The URL and the file with the URL are one setting: a stronger layer replaces both.
            .filter(|(source, _)| !is_database || Some(*source) == database);
        let found = allowed.find_map(|(source, values)| Some((source, values.get(setting.id())?)));
        let (source, values) = match found {
            Some((source, values)) => {
                words.extend(setting.words(values));
                let shown = values.iter().map(|it| it.to_string_lossy().into_owned());
                (*source, shown.collect())
            }
            None => (
                SettingSource::Default,
                setting.default_value().into_iter().collect(),
            ),
        };
        effective.push(EffectiveSetting {
            key: setting.key(),
            values,
            source,
        });
    }
    let command = ServeArgs::augment_args(Command::new("serve").no_binary_name(true));
    let parsed = command.try_get_matches_from(words);
    let parsed = parsed.and_then(|it| ServeArgs::from_arg_matches(&it));
    let args = parsed.map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        CommandFailure::usage(first.trim_start_matches("error: "))
    })?;
    Ok((args, effective))
}

/// Reads the layer of environment variables.
fn environment(settings: &[SettingDefinition]) -> Result<LayerValues, CommandFailure> {
    let mut layer = LayerValues::new();
    let mut variables = world::serve_variables();
    variables.remove(&format!("{}CONFIG", world::SERVE_PREFIX));
    for setting in settings {
        let name = setting.variable();
        let Some(value) = variables.remove(&name) else {
            continue;
        };
        let values = if setting.is_list() {
            let all = value.to_string_lossy().into_owned();
            let each = all.split(',').map(str::trim).filter(|it| !it.is_empty());
            each.map(OsString::from).collect()
        } else {
            vec![value]
        };
        setting.check(&values, &name)?;
        layer.insert(setting.id().to_owned(), values);
    }
    if let Some(name) = variables.keys().next() {
        let message = format!("the variable `{name}` is not a setting of `ken serve`");
        return Err(CommandFailure::usage(message)
            .with_hint("`ken hub config reference` lists every setting"));
    }
    Ok(layer)
}

/// Reads the layer of a configuration file.
fn read(path: &Path, settings: &[SettingDefinition]) -> Result<LayerValues, CommandFailure> {
    let shown = path.display();
    let text = read_limited(path, FILE_BYTES_MAX)?;
    parse(&text, settings, path).map_err(|failure| failure.at(shown))
}

fn parse(
    text: &str,
    settings: &[SettingDefinition],
    path: &Path,
) -> Result<LayerValues, CommandFailure> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        // Without the line itself, which may contain a secret.
        let before = error.span().map(|it| &text[..it.start.min(text.len())]);
        let line = before.map_or(1, |it| it.lines().count().max(1));
        CommandFailure::usage(format!("line {line}: {}", error.message()))
    })?;
    let mut layer = LayerValues::new();
    for (key, value) in flatten(table)? {
        let setting = settings.iter().find(|it| it.key() == key);
        let Some(setting) = setting else {
            return Err(unknown_key(&key));
        };
        if setting.is_secret() {
            let message = format!("`{key}` contains a password");
            return Err(CommandFailure::usage(message).with_hint(
                "put the URL into a file and name it with `database_file`, or set KEN_DATABASE_URL",
            ));
        }
        let mut values = scalars(&value)
            .filter(|all| setting.is_list() || all.len() == 1)
            .ok_or_else(|| CommandFailure::usage(format!("`{key}` has the wrong type")))?;
        if key.ends_with("_file") {
            // The process may run in any folder.
            let folder = path.parent().unwrap_or(Path::new("."));
            for value in &mut values {
                *value = folder.join(&*value).into_os_string();
            }
        }
        setting.check(&values, &format!("`{key}`"))?;
        layer.insert(setting.id().to_owned(), values);
    }
    Ok(layer)
}

/// Returns the keys of the file with their tables, and checks `schema`.
fn flatten(table: toml::Table) -> Result<Vec<(String, toml::Value)>, CommandFailure> {
    let mut keys = Vec::new();
    for (key, value) in table {
        match value {
            toml::Value::String(schema) if key == "schema" => {
                if schema != SCHEMA {
                    let message = format!("the schema `{schema}` is not supported");
                    return Err(CommandFailure::usage(message)
                        .with_hint(format!("this version of Ken reads `{SCHEMA}`")));
                }
            }
            toml::Value::Table(inner) => {
                let inner = inner.into_iter();
                keys.extend(inner.map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            value @ (toml::Value::String(_)
            | toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_)) => keys.push((key, value)),
        }
    }
    Ok(keys)
}

fn unknown_key(key: &str) -> CommandFailure {
    let message = format!("unknown key `{key}`");
    CommandFailure::usage(message).with_hint("`ken hub config reference` lists every setting")
}

/// Returns the values of a key as text; `None` for a table or a date.
fn scalars(value: &toml::Value) -> Option<Vec<OsString>> {
    let scalar = |value: &toml::Value| -> Option<OsString> {
        match value {
            toml::Value::String(text) => Some(text.into()),
            toml::Value::Integer(number) => Some(number.to_string().into()),
            toml::Value::Boolean(flag) => Some(flag.to_string().into()),
            toml::Value::Float(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_)
            | toml::Value::Table(_) => None,
        }
    };
    if let toml::Value::Array(all) = value {
        return all.iter().map(scalar).collect();
    }
    Some(vec![scalar(value)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<LayerValues, String> {
        let settings = SettingDefinition::all();
        parse(text, &settings, Path::new("/etc/ken/hub.toml")).map_err(|it| it.message)
    }

    #[test]
    fn every_option_is_a_key_and_a_variable_of_its_own() {
        let settings = SettingDefinition::all();
        let keys: std::collections::BTreeSet<_> = settings.iter().map(|it| it.key()).collect();
        let names: std::collections::BTreeSet<_> =
            settings.iter().map(|it| it.variable()).collect();
        assert_eq!((keys.len(), names.len()), (settings.len(), settings.len()));
        assert!(settings.iter().all(|it| !it.meaning().is_empty()));
    }

    #[test]
    fn a_file_is_read_and_its_mistakes_are_named() {
        let text = "schema = \"ken.hub.config.v1\"\nbind = \"0.0.0.0:1\"\nno_ui = true\n\
            connections = 9\ndatabase_file = \"url\"\ntrusted_proxy = [\"10.0.0.0/8\"]\n\
            [oidc]\nrole = [\"a=admin\", \"b=member\"]\n";
        let layer = parsed(text).expect("a valid file");
        assert_eq!(layer["database_file"], ["/etc/ken/url"]);
        assert_eq!(layer["oidc_role"].len(), 2);
        assert_eq!(layer["no_ui"], ["true"]);
        for (text, said) in [
            ("bind = \"x\"", "`bind`: invalid value 'x'"),
            ("connections = 0", "`connections`: invalid value '0'"),
            ("log = \"loud\"", "`log`: invalid value 'loud'"),
            ("no_ui = 1", "`no_ui`: expected true or false"),
            ("bindd = \"x\"", "unknown key `bindd`"),
            ("[oidc]\nissuers = \"x\"", "unknown key `oidc.issuers`"),
            ("[other]\nbind = \"x\"", "unknown key `other.bind`"),
            ("oidc_issuer = \"x\"", "unknown key `oidc_issuer`"),
            ("config = \"x\"", "unknown key `config`"),
            (
                "database = \"postgres://a:b@c/d\"",
                "`database` contains a password",
            ),
            ("bind = [\"a\", \"b\"]", "`bind` has the wrong type"),
            ("bind = 1.5", "`bind` has the wrong type"),
            ("schema = \"v2\"", "the schema `v2` is not supported"),
            ("\nbind = ", "line 2: "),
        ] {
            let failed = parsed(text).expect_err(text);
            assert!(failed.starts_with(said), "{text}: {failed}");
        }
    }
}
