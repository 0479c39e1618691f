//! The packages that are measured: two releases each, fetched by the ordinary clients and kept
//! outside the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::packages::{create, fetch_crates, fetch_npm, only_file, run, said, write};

/// Bytes a line has, on average, in files that a program wrote.
const LINE_BYTES_MAX: usize = 200;

/// Bytes of the largest file that is read.
const FILE_BYTES_MAX: u64 = 400_000;

/// The compiler that reads JavaScript and TypeScript, and the formatters.
const TYPESCRIPT: &str = "typescript@5.6.3";
const PRETTIER: &str = "prettier@3.3.3";
const BLACK: &str = "black==24.10.0";

/// A row of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tongue {
    Rust,
    Python,
    TypeScript,
    JavaScript,
}

/// What a package is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Its symbols are anchored in one release and verified in another.
    Edits { newer: &'static str },
    /// Only formatters are run over it: its failures were never looked at.
    HeldOut,
}

/// A package and its releases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Package {
    pub(super) tongue: Tongue,
    pub(super) name: &'static str,
    pub(super) older: &'static str,
    pub(super) used: Use,
    /// The folder its sources are in.
    within: &'static str,
}

/// The sources of one release.
#[derive(Debug)]
pub(super) struct Release {
    pub(super) root: PathBuf,
    pub(super) files: BTreeMap<String, Vec<u8>>,
}

/// Where everything that was fetched lies.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) dir: PathBuf,
    pub(super) scripts: PathBuf,
    pub(super) python: PathBuf,
    pub(super) typescript: PathBuf,
    pub(super) prettier: PathBuf,
}

const fn edits(
    tongue: Tongue,
    name: &'static str,
    (older, newer): (&'static str, &'static str),
    within: &'static str,
) -> Package {
    Package {
        tongue,
        name,
        older,
        used: Use::Edits { newer },
        within,
    }
}

const fn held_out(
    tongue: Tongue,
    name: &'static str,
    older: &'static str,
    within: &'static str,
) -> Package {
    Package {
        tongue,
        name,
        older,
        used: Use::HeldOut,
        within,
    }
}

pub(super) const PACKAGES: &[Package] = &[
    edits(Tongue::Rust, "tokio", ("1.25.0", "1.43.0"), "src"),
    edits(Tongue::Rust, "hyper", ("0.14.20", "1.4.0"), "src"),
    edits(Tongue::Rust, "clap_builder", ("4.2.0", "4.5.0"), "src"),
    edits(Tongue::Rust, "serde_json", ("1.0.80", "1.0.130"), "src"),
    edits(Tongue::Python, "flask", ("2.1.0", "3.0.0"), "flask"),
    edits(Tongue::Python, "rich", ("12.0.0", "13.7.0"), "rich"),
    edits(Tongue::Python, "requests", ("2.25.0", "2.32.0"), "requests"),
    edits(Tongue::Python, "click", ("7.1.2", "8.1.7"), "click"),
    edits(Tongue::TypeScript, "rxjs", ("6.6.7", "7.8.1"), "src"),
    edits(Tongue::TypeScript, "zod", ("4.0.0", "4.1.0"), "src"),
    edits(
        Tongue::TypeScript,
        "@reduxjs/toolkit",
        ("1.9.0", "2.2.0"),
        "src",
    ),
    edits(Tongue::JavaScript, "eslint", ("8.0.0", "9.0.0"), "lib"),
    edits(Tongue::JavaScript, "three", ("0.150.0", "0.160.0"), "src"),
    edits(Tongue::JavaScript, "express", ("4.17.0", "5.0.0"), "lib"),
    edits(Tongue::JavaScript, "commander", ("8.0.0", "12.0.0"), "lib"),
    held_out(Tongue::Rust, "itertools", "0.13.0", "src"),
    held_out(Tongue::Rust, "regex-automata", "0.4.7", "src"),
    held_out(Tongue::Python, "httpx", "0.27.0", "httpx"),
    held_out(Tongue::Python, "jinja2", "3.1.4", "jinja2"),
    held_out(Tongue::TypeScript, "@tanstack/react-query", "5.0.0", "src"),
    held_out(Tongue::TypeScript, "immer", "10.0.0", "src"),
    held_out(Tongue::JavaScript, "preact", "10.19.0", "."),
    held_out(Tongue::JavaScript, "lodash-es", "4.17.21", "."),
];

impl Tongue {
    pub(super) const ALL: [Self; 4] =
        [Self::Rust, Self::Python, Self::TypeScript, Self::JavaScript];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::TypeScript => "TypeScript",
            Self::JavaScript => "JavaScript",
        }
    }

    fn reads(self, path: &str) -> bool {
        let ends = |all: &[&str]| all.iter().any(|end| path.ends_with(end));
        match self {
            Self::Rust => ends(&[".rs"]),
            Self::Python => ends(&[".py"]),
            Self::TypeScript => ends(&[".ts", ".tsx"]) && !ends(&[".d.ts"]),
            Self::JavaScript => ends(&[".js", ".jsx", ".mjs", ".cjs"]) && !path.contains(".min."),
        }
    }
}

impl Package {
    /// Returns its releases, the older first.
    pub(super) fn versions(self) -> Vec<&'static str> {
        match self.used {
            Use::Edits { newer } => vec![self.older, newer],
            Use::HeldOut => vec![self.older],
        }
    }

    /// Reads the sources of a release that was fetched.
    pub(super) fn read(self, tools: &Tools, version: &str) -> Result<Release, String> {
        let root = self.root(&tools.dir, version);
        let release = Release::read(self.tongue, root, self.within)?;
        if release.files.is_empty() {
            Err(format!("{} {version} has no sources", self.name))
        } else {
            Ok(release)
        }
    }

    fn root(self, dir: &Path, version: &str) -> PathBuf {
        let plain = self.name.replace(['@', '/'], "_");
        match self.tongue {
            Tongue::Rust => dir.join(format!("crates/{plain}-{version}")),
            Tongue::Python => dir.join(format!("wheels/{plain}-{version}")),
            Tongue::TypeScript | Tongue::JavaScript => {
                dir.join(format!("npm/{plain}-{version}/package"))
            }
        }
    }
}

impl Release {
    /// Reads the sources below a folder of `root`; paths are relative to `root`.
    pub(super) fn read(tongue: Tongue, root: PathBuf, within: &str) -> Result<Self, String> {
        let mut files = BTreeMap::new();
        let mut open = vec![root.join(within)];
        while let Some(dir) = open.pop() {
            let listed = fs::read_dir(&dir).map_err(|error| said(&dir, &error))?;
            for entry in listed {
                let path = entry.map_err(|error| said(&dir, &error))?.path();
                if path.is_dir() {
                    open.push(path);
                    continue;
                }
                let relative = path.strip_prefix(&root).unwrap_or(&path);
                let relative = relative.to_string_lossy();
                let relative = relative.trim_start_matches("./").to_owned();
                let bytes = fs::metadata(&path).map_or(0, |it| it.len());
                if !tongue.reads(&relative) || is_built(&relative) || bytes > FILE_BYTES_MAX {
                    continue;
                }
                let bytes = fs::read(&path).map_err(|error| said(&path, &error))?;
                let lines = bytes.iter().filter(|b| **b == b'\n').count() + 1;
                if bytes.len() / lines < LINE_BYTES_MAX {
                    files.insert(relative, bytes);
                }
            }
        }
        Ok(Self { root, files })
    }
}

/// Whether a file of a package is what a build wrote.
fn is_built(path: &str) -> bool {
    path.split('/')
        .any(|part| matches!(part, "dist" | "build" | "node_modules" | "vendor"))
}

impl Tools {
    /// Fetches what is not there yet.
    pub(super) fn fetch(dir: &Path, scripts: PathBuf) -> Result<Self, String> {
        let dir = std::path::absolute(dir).map_err(|error| said(dir, &error))?;
        let tools = Self {
            python: dir.join("python/bin/python"),
            typescript: dir.join("node/node_modules/typescript"),
            prettier: dir.join("node/node_modules/prettier/bin/prettier.cjs"),
            scripts,
            dir,
        };
        tools.fetch_tools()?;
        tools.fetch_crates()?;
        for package in PACKAGES {
            for version in package.versions() {
                let root = package.root(&tools.dir, version);
                match package.tongue {
                    Tongue::Rust => {}
                    Tongue::Python => tools.fetch_wheel(package.name, version, &root)?,
                    Tongue::TypeScript | Tongue::JavaScript => {
                        fetch_npm(package.name, version, &root)?;
                    }
                }
            }
        }
        Ok(tools)
    }

    fn fetch_tools(&self) -> Result<(), String> {
        let node = self.dir.join("node");
        if !self.prettier.exists() || !self.typescript.exists() {
            create(&node)?;
            write(&node.join("package.json"), "{ \"private\": true }\n")?;
            let options = ["install", "--no-audit", "--no-fund", "--ignore-scripts"];
            let wanted = [TYPESCRIPT, PRETTIER];
            run(Command::new("npm")
                .args(options)
                .args(wanted)
                .current_dir(&node))?;
        }
        if !self.python.exists() {
            let python = self.dir.join("python");
            run(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
            run(Command::new(&self.python).args(["-m", "pip", "install", "--quiet", BLACK]))?;
        }
        Ok(())
    }

    /// One graph of packages holds one release of each, so there is a project for the older and one
    /// for the newer.
    fn fetch_crates(&self) -> Result<(), String> {
        for (name, at) in [("older", 0), ("newer", 1)] {
            let crates = PACKAGES.iter().filter(|it| it.tongue == Tongue::Rust);
            let wanted: Vec<(&str, &str)> = crates
                .filter_map(|it| Some((it.name, *it.versions().get(at)?)))
                .collect();
            fetch_crates(&self.dir.join("crates"), &self.dir.join(name), &wanted)?;
        }
        Ok(())
    }

    fn fetch_wheel(&self, name: &str, version: &str, root: &Path) -> Result<(), String> {
        if root.exists() {
            return Ok(());
        }
        let parts = root.with_extension("parts");
        create(&parts)?;
        let options = [
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
        ];
        let wanted = format!("{name}=={version}");
        run(Command::new(&self.python)
            .args(options)
            .arg("--dest")
            .arg(&parts)
            .arg(wanted))?;
        let wheel = only_file(&parts)?;
        run(Command::new(&self.python)
            .args(["-m", "zipfile", "-e"])
            .arg(wheel)
            .arg(root))?;
        fs::remove_dir_all(&parts).map_err(|error| said(&parts, &error))
    }
}
