//! Formatters run over the older releases: what they change in bytes must not change in
//! fingerprints.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ken_anchor::{ResolvedAnchor, outline, resolve_symbol};

use super::corpus::{Package, Release, Tongue, Tools, Use};
use crate::packages::said;

/// A formatter with settings unlike the packages' own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) tool: Tool,
    pub(super) options: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Rustfmt,
    Black,
    Prettier,
}

/// What one formatter did to one package.
#[derive(Debug)]
pub(super) struct Formatted {
    pub(super) style: Style,
    pub(super) package: Package,
    /// Symbols whose bytes changed.
    pub(super) changed: usize,
    /// Those of them that no longer say the same, as `path#name`.
    pub(super) tripped: Vec<String>,
}

pub(super) const STYLES: &[Style] = &[
    Style {
        tool: Tool::Rustfmt,
        options: &[
            "max_width=60",
            "hard_tabs=true",
            "match_block_trailing_comma=true",
        ],
    },
    Style {
        tool: Tool::Rustfmt,
        options: &[
            "max_width=140",
            "use_small_heuristics=Max",
            "fn_params_layout=Compressed",
            "match_arm_leading_pipes=Always",
        ],
    },
    Style {
        tool: Tool::Black,
        options: &["--line-length=60"],
    },
    Style {
        tool: Tool::Black,
        options: &["--line-length=140", "--skip-magic-trailing-comma"],
    },
    Style {
        tool: Tool::Prettier,
        options: &[
            "--print-width=60",
            "--single-quote",
            "--no-semi",
            "--trailing-comma=none",
        ],
    },
    Style {
        tool: Tool::Prettier,
        options: &[
            "--print-width=140",
            "--trailing-comma=all",
            "--arrow-parens=avoid",
            "--use-tabs",
            "--quote-props=consistent",
        ],
    },
];

impl Tool {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rustfmt => "rustfmt",
            Self::Black => "black",
            Self::Prettier => "prettier",
        }
    }

    fn reads(self, tongue: Tongue) -> bool {
        match tongue {
            Tongue::Rust => self == Self::Rustfmt,
            Tongue::Python => self == Self::Black,
            Tongue::TypeScript | Tongue::JavaScript => self == Self::Prettier,
        }
    }
}

impl Formatted {
    pub(super) fn is_held_out(&self) -> bool {
        self.package.used == Use::HeldOut
    }
}

/// Runs all formatters over the older release of a package.
pub(super) fn measure(tools: &Tools, package: Package) -> Result<Vec<Formatted>, String> {
    let release = package.read(tools, package.older)?;
    let mut all = Vec::new();
    for (number, style) in STYLES.iter().enumerate() {
        if !style.tool.reads(package.tongue) {
            continue;
        }
        // Formatting takes most of the time and gives the same each time: it is kept.
        let kept = tools
            .dir
            .join(format!("formatted/{}", style.key(package, number)));
        if !kept.exists() {
            let parts = kept.with_extension("parts");
            write(&release, &parts)?;
            style.run(tools, &release, &parts)?;
            fs::rename(&parts, &kept).map_err(|error| said(&kept, &error))?;
        }
        let formatted = Release::read(package.tongue, kept, ".")?;
        let mut result = Formatted {
            style: *style,
            package,
            changed: 0,
            tripped: Vec::new(),
        };
        for (path, after) in &formatted.files {
            if let Some(before) = release.files.get(path) {
                result.compare(path, before, after);
            }
        }
        if result.changed == 0 {
            let (tool, name) = (style.tool.name(), package.name);
            return Err(format!("{tool} did nothing to {name}"));
        }
        all.push(result);
    }
    Ok(all)
}

impl Formatted {
    fn compare(&mut self, path: &str, before: &[u8], after: &[u8]) {
        let (was, now) = (outline(path, before), outline(path, after));
        let names: BTreeSet<&str> = was.symbols().iter().map(|it| it.name.as_str()).collect();
        for name in names {
            let Ok(one) = resolve_symbol(path, &was, name) else {
                continue;
            };
            let other = resolve_symbol(path, &now, name).ok();
            let text = |it: &ResolvedAnchor, source: &[u8]| it.text(source);
            if other.as_ref().map(|it| text(it, after)) == Some(text(&one, before)) {
                continue;
            }
            self.changed += 1;
            if other.is_none_or(|it| it.fingerprint != one.fingerprint) {
                self.tripped.push(format!("{path}#{name}"));
            }
        }
    }
}

impl Style {
    /// Returns what a package formatted this way is kept under.
    fn key(self, package: Package, number: usize) -> String {
        let name = package.name.replace(['@', '/'], "_");
        let said = format!("{} {}", package.older, self.options.join(" "));
        let hash = blake3::hash(said.as_bytes()).to_hex();
        format!("{name}-{number}-{}", &hash[..8])
    }

    fn run(self, tools: &Tools, release: &Release, dir: &Path) -> Result<(), String> {
        let mut command = match self.tool {
            Tool::Rustfmt => return self.rustfmt(release, dir),
            // Not run in that folder: black would take a package that lies there for its own.
            Tool::Black => {
                let mut command = Command::new(&tools.python);
                command
                    .args(["-m", "black", "--quiet"])
                    .args(self.options)
                    .arg(dir);
                command
            }
            Tool::Prettier => {
                let mut command = Command::new("node");
                command
                    .current_dir(dir)
                    .arg(&tools.prettier)
                    .args(["--write", "--log-level=silent"]);
                command.args(["--no-config", "--no-editorconfig", "--ignore-path=none"]);
                command.args(self.options).args(release.files.keys());
                command
            }
        };
        // A file that a formatter cannot read stays as it was and is not counted.
        let output = command.output();
        output
            .map(drop)
            .map_err(|error| format!("{command:?}: {error}"))
    }

    /// Reads from standard input, or rustfmt would go through the modules of a file as well.
    fn rustfmt(self, release: &Release, dir: &Path) -> Result<(), String> {
        let config = self.options.join(",");
        for (path, bytes) in &release.files {
            let mut command = Command::new("rustfmt");
            command.args(["--edition=2021", "--config", &config]);
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            let mut child = command.spawn().map_err(|error| error.to_string())?;
            let mut stdin = child.stdin.take().ok_or("no standard input")?;
            let bytes = bytes.clone();
            let writer = std::thread::spawn(move || stdin.write_all(&bytes));
            let output = child
                .wait_with_output()
                .map_err(|error| error.to_string())?;
            let is_written = writer.join().is_ok_and(|it| it.is_ok());
            if is_written && output.status.success() {
                let path = dir.join(path);
                fs::write(&path, &output.stdout).map_err(|error| said(&path, &error))?;
            }
        }
        Ok(())
    }
}

fn write(release: &Release, dir: &Path) -> Result<(), String> {
    for (path, bytes) in &release.files {
        let path: PathBuf = dir.join(path);
        let around = path.parent().unwrap_or(dir);
        fs::create_dir_all(around).map_err(|error| said(around, &error))?;
        fs::write(&path, bytes).map_err(|error| said(&path, &error))?;
    }
    Ok(())
}
