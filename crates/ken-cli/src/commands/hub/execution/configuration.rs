//! `ken hub config`: execution.

use std::fmt::Write as _;
use std::path::Path;

use ken_hub::database::{DatabaseSettings, HubDatabase};
use ken_hub::server;
use serde::Serialize;
use tokio::runtime::Builder;

use crate::commands::Session;
use crate::commands::hub::secrets::is_world_readable;
use crate::commands::hub::{CheckArgs, ConfigurationCommand, DatabaseArgs, failed, hinted};
use crate::commands::serve::{
    EffectiveSetting, SettingDefinition, SettingSource, check_configuration,
};
use crate::failure::{CommandExit, CommandFailure};

/// JSON view of a setting in effect.
#[derive(Serialize)]
struct SettingObject<'a> {
    schema: &'static str,
    key: &'a str,
    values: &'a [String],
    source: &'static str,
}

pub(in crate::commands::hub) fn run(
    session: &mut Session<'_>,
    command: &ConfigurationCommand,
    database: &DatabaseArgs,
) -> Result<CommandExit, CommandFailure> {
    match command {
        ConfigurationCommand::Check(args) => check(session, args, database)?,
        ConfigurationCommand::Reference => session.printer.text(reference())?,
    }
    Ok(CommandExit::Fine)
}

fn check(
    session: &mut Session<'_>,
    args: &CheckArgs,
    database: &DatabaseArgs,
) -> Result<(), CommandFailure> {
    let (settings, effective) = check_configuration(args.file.as_deref(), database)?;
    server::check_settings(&settings).map_err(|error| failed(&error))?;
    for setting in &effective {
        print_setting(session, setting)?;
    }
    if args.connect {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| CommandFailure::io("cannot start", &e))?;
        let url = DatabaseSettings::new(&settings.database);
        let connected = runtime.block_on(HubDatabase::connect(&url));
        connected.map_err(|error| hinted(failed(&error), &error))?;
    }
    session.printer.talk(if args.connect {
        "the configuration is valid, and the database is ready"
    } else {
        "the configuration is valid"
    })
}

fn print_setting(
    session: &mut Session<'_>,
    setting: &EffectiveSetting,
) -> Result<(), CommandFailure> {
    // The URL contains a password.
    let hidden = ["(set)".to_owned()];
    let is_secret = setting.key == "database";
    let values = if is_secret && !setting.values.is_empty() {
        &hidden[..]
    } else {
        &setting.values[..]
    };
    let source = setting.source.name();
    if session.is_json() {
        return session.printer.json(&SettingObject {
            schema: "ken.hub.setting.v1",
            key: &setting.key,
            values,
            source,
        });
    }
    if setting.source == SettingSource::Default {
        return Ok(());
    }
    let (key, shown) = (&setting.key, values.join(", "));
    session
        .printer
        .line(format_args!("{key} = {shown}  ({source})"))?;
    // The file of exports only names files with secrets.
    let has_secret = key.ends_with("_file") && key != "exports_file";
    for path in setting.values.iter().filter(|_| has_secret) {
        if is_world_readable(Path::new(path)) {
            session.printer.note(&format!(
                "every user of this machine can read `{path}`; run `chmod 600 {path}`"
            ))?;
        }
    }
    Ok(())
}

/// Returns the reference of all settings as Markdown.
fn reference() -> String {
    let mut page = REFERENCE_HEAD.to_owned();
    for setting in SettingDefinition::all() {
        let key = match (setting.is_secret(), setting.is_list()) {
            (true, _) => "none: it contains a password".to_owned(),
            (false, true) => format!("`{}`, a list", setting.key()),
            (false, false) => format!("`{}`", setting.key()),
        };
        let default = match setting.default_value() {
            Some(value) => format!("`{value}`"),
            None => "none".to_owned(),
        };
        let _ = writeln!(
            page,
            "| {key} | `{}` | `{}` | {default} | {} |",
            setting.variable(),
            setting.flag().replace('|', "\\|"),
            setting.meaning().replace('|', "\\|"),
        );
    }
    page
}

/// Beginning of the reference.
const REFERENCE_HEAD: &str = "\
# Settings of a hub

<!-- generated -->

Every setting of `ken serve` is an option, an environment variable and a key of a TOML file. An option
takes precedence over the variable, the variable over the file, the file over the default. A list is
replaced as a whole. Name the file with `--config` or `KEN_SERVE_CONFIG`; `ken hub config check FILE`
checks it and shows the settings in effect.

```toml
schema = \"ken.hub.config.v1\"
bind = \"127.0.0.1:8750\"
metrics = \"127.0.0.1:9750\"
database_file = \"database-url\"
public_url = \"https://hub.example.org\"
trusted_proxy = [\"10.0.0.0/8\"]

[oidc]
issuer = \"https://id.example.org\"
audience = \"ken\"
organization = \"acme\"
person_claim = \"email\"
role = [\"ken-admins=admin\", \"engineers=member\"]
```

- An unknown key, an unknown variable that starts with `KEN_SERVE_`, and a value that the option would
  not accept are errors.
- The file contains no secret. A key that ends in `_file` names another file, such as one with a secret;
  a relative path starts at the folder of the configuration file.
- In a variable, the elements of a list are separated by commas; a switch is `true` or `false`.
- Other `ken hub` commands read `KEN_DATABASE_URL` and `KEN_DATABASE_URL_FILE` too, and no other setting.

This page is generated by `ken hub config reference`. To rewrite it, run `KEN_BLESS=1 cargo nextest run
-p ken-cli hub_settings_reference`.

| key | variable | option | default | meaning |
|---|---|---|---|---|
";
