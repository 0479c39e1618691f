//! Claims the repository itself does not keep: a command nothing defines, a package manager nobody uses.

use std::collections::{BTreeMap, BTreeSet};

use ken_digest::MentionKind;

use super::tree::{Files, folder_of, joined};
use super::{AuditFinding, Claim, FindingKind};

/// Lockfiles, the manager each belongs to and the language they serve.
const LOCKFILES: [(&str, &str, &str); 10] = [
    ("package-lock.json", "npm", "node"),
    ("npm-shrinkwrap.json", "npm", "node"),
    ("pnpm-lock.yaml", "pnpm", "node"),
    ("yarn.lock", "yarn", "node"),
    ("bun.lock", "bun", "node"),
    ("bun.lockb", "bun", "node"),
    ("uv.lock", "uv", "python"),
    ("poetry.lock", "poetry", "python"),
    ("pdm.lock", "pdm", "python"),
    ("Pipfile.lock", "pipenv", "python"),
];

/// Words behind a manager's name that change what is installed.
const INSTALLING: [&str; 6] = ["install", "ci", "add", "remove", "sync", "lock"];

/// Manifests looked at for scripts.
const MANIFESTS_MAX: usize = 300;

/// Programs that run a script given by its path.
const RUNNERS: [&str; 8] = [
    "python", "python3", "node", "bash", "sh", "ruby", "tsx", "deno",
];

/// Returns the claims whose commands or managers are not this repository's.
pub(super) fn check(files: &Files, claims: &[Claim]) -> Vec<AuditFinding> {
    let ours = Ours::read(files);
    let mut findings = Vec::new();
    for (at, claim) in claims.iter().enumerate() {
        let mut told: Vec<String> = Vec::new();
        for mention in &claim.found.mentions {
            match mention.kind {
                MentionKind::Command => {
                    for line in mention.text.split("&&").map(str::trim) {
                        told.extend(ours.refutes(files, line, folder_of(&claim.document)));
                    }
                }
                MentionKind::Path | MentionKind::Link | MentionKind::Symbol => {}
            }
        }
        told.extend(ours.other_manager(claim, claims));
        told.dedup();
        findings.extend(
            told.into_iter()
                .map(|it| AuditFinding::about(FindingKind::BrokenRule, claims, at, it)),
        );
    }
    findings
}

/// What the repository defines.
struct Ours {
    /// Scripts of every `package.json`; `None` if there is none, or one cannot be read.
    scripts: Option<BTreeSet<String>>,
    /// Targets of every makefile; `None` if there is none, or one makes its targets up.
    targets: Option<BTreeSet<String>>,
    /// Recipes of the justfile.
    recipes: Option<BTreeSet<String>>,
    /// Names of the packages of a Cargo workspace.
    packages: BTreeSet<String>,
    /// Managers with a lockfile, by language.
    managers: BTreeMap<&'static str, BTreeSet<&'static str>>,
}

impl Ours {
    fn read(files: &Files) -> Self {
        let named = |names: &[&str]| -> Vec<&String> {
            let is_one = |path: &&String| {
                names
                    .iter()
                    .any(|name| path.rsplit('/').next() == Some(name))
            };
            files
                .all()
                .iter()
                .filter(is_one)
                .take(MANIFESTS_MAX)
                .collect()
        };
        let mut managers: BTreeMap<&'static str, BTreeSet<&'static str>> = BTreeMap::new();
        for (file, manager, language) in LOCKFILES {
            if files.is_file(file) {
                managers.entry(language).or_default().insert(manager);
            }
        }
        let makefiles = named(&["Makefile", "makefile", "GNUmakefile"]);
        let justfiles = named(&["justfile", "Justfile", ".justfile"]);
        Self {
            scripts: all_of(files, &named(&["package.json"]), scripts),
            targets: all_of(files, &makefiles, targets),
            recipes: all_of(files, &justfiles, recipes),
            packages: named(&["Cargo.toml"])
                .iter()
                .filter_map(|it| package(&files.text(it)?))
                .collect(),
            managers,
        }
    }

    /// Returns why a line for a shell cannot work here.
    fn refutes(&self, files: &Files, line: &str, folder: &str) -> Option<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let plain = |word: &&&str| {
            word.chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_:.".contains(c))
                && !word.starts_with('-')
        };
        match words.as_slice() {
            [
                "npm" | "pnpm" | "yarn" | "bun",
                "run" | "run-script",
                script,
                ..,
            ] => {
                let scripts = self.scripts.as_ref()?;
                let known = scripts.contains(*script) || !plain(&script) || is_file_name(script);
                (!known).then(|| format!("no `package.json` here has a script `{script}`"))
            }
            ["make", target, ..] => {
                let target = Some(target).filter(plain)?;
                let known = self.targets.as_ref()?.contains(*target) || target.contains('.');
                (!known).then(|| format!("no makefile here has a target `{target}`"))
            }
            ["just", recipe, ..] => {
                let recipe = Some(recipe).filter(plain)?;
                let known = self.recipes.as_ref()?.contains(*recipe);
                (!known).then(|| format!("the justfile has no recipe `{recipe}`"))
            }
            ["cargo", rest @ ..] => {
                let at = rest
                    .iter()
                    .position(|it| matches!(*it, "-p" | "--package"))?;
                let name = rest.get(at + 1).filter(plain)?;
                let known = self.packages.is_empty() || self.packages.contains(*name);
                (!known).then(|| format!("no package here is called `{name}`"))
            }
            [runner, script, ..]
                if RUNNERS.contains(runner) && is_file_name(script) && script.contains('/') =>
            {
                let gone =
                    files.meant(script, folder).is_none() && has_its_folder(files, script, folder);
                gone.then(|| format!("`{script}` is not here"))
            }
            [script, ..] if script.starts_with("./") && is_file_name(script) => {
                let gone =
                    files.meant(script, folder).is_none() && has_its_folder(files, script, folder);
                gone.then(|| format!("`{script}` is not here"))
            }
            _ => None,
        }
    }

    /// Returns why a claim names another package manager than the one that is locked.
    fn other_manager(&self, claim: &Claim, claims: &[Claim]) -> Option<String> {
        let stated = stated_manager(claim)?;
        let (_, _, language) = LOCKFILES.iter().find(|(_, it, _)| *it == stated)?;
        let used = self.managers.get(language)?;
        let (file, other, _) = LOCKFILES.iter().find(|(_, it, _)| used.contains(it))?;
        // A document that names both offers a choice.
        let mut beside = claims.iter().filter(|it| it.document == claim.document);
        let mut offered = || beside.any(|it| mentions_manager(it, other));
        let broken = !used.contains(stated) && !offered();
        broken.then(|| format!("it asks for {stated}, but `{file}` says {other}"))
    }
}

/// Returns whether a claim speaks of a package manager at all.
fn mentions_manager(claim: &Claim, manager: &str) -> bool {
    let text = claim.found.text.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word == manager)
}

/// Returns the package manager a claim asks for, if it asks for exactly one.
fn stated_manager(claim: &Claim) -> Option<&'static str> {
    let found = &claim.found;
    if !found.modality.asks()
        || found.modality.polarity() == Some(ken_core::content::Polarity::Negative)
    {
        return None;
    }
    let mut stated = BTreeSet::new();
    for (_, manager, _) in LOCKFILES {
        let installs = found
            .mentions
            .iter()
            .filter(|it| it.kind == MentionKind::Command)
            .any(|it| {
                let mut words = it.text.split_whitespace();
                words.next() == Some(manager)
                    && words.next().is_some_and(|word| INSTALLING.contains(&word))
            });
        let text = format!(
            " {} ",
            found
                .text
                .to_lowercase()
                .replace(['`', '*', ',', '.', ':'], " ")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        );
        let says = [
            format!(" use {manager} "),
            format!(" with {manager} "),
            format!(" {manager} is the package manager "),
        ];
        let mentions = text.contains(&format!(" {manager} "));
        if installs || says.iter().any(|it| text.contains(it.as_str())) && text.contains(" package")
        {
            stated.insert((manager, true));
        } else if mentions {
            stated.insert((manager, false));
        }
    }
    match stated.into_iter().collect::<Vec<_>>()[..] {
        // A second one beside it may be what not to use.
        [(manager, true)] => Some(manager),
        _ => None,
    }
}

fn is_file_name(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.rsplit_once('.')
        .is_some_and(|(stem, ending)| !stem.is_empty() && (1..=4).contains(&ending.len()))
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
}

/// Returns whether the folder a script would lie in is here.
fn has_its_folder(files: &Files, script: &str, folder: &str) -> bool {
    let script = script.trim_start_matches("./");
    let Some((within, _)) = script.rsplit_once('/') else {
        return false;
    };
    files.is_folder(within) || joined(folder, within).is_some_and(|path| files.is_folder(&path))
}

/// Unites what `read` finds in each file; `None` if there is no file, or one cannot be told.
fn all_of(
    files: &Files,
    paths: &[&String],
    read: fn(&str) -> Option<BTreeSet<String>>,
) -> Option<BTreeSet<String>> {
    if paths.is_empty() {
        return None;
    }
    let mut all = BTreeSet::new();
    for path in paths {
        all.extend(read(&files.text(path)?)?);
    }
    Some(all)
}

fn scripts(text: &str) -> Option<BTreeSet<String>> {
    let manifest: serde_json::Value = serde_json::from_str(text).ok()?;
    let scripts = manifest.get("scripts").and_then(|it| it.as_object());
    Some(
        scripts
            .map(|it| it.keys().cloned().collect())
            .unwrap_or_default(),
    )
}

/// Returns the targets of a makefile that makes none of them up and takes none from elsewhere.
fn targets(text: &str) -> Option<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let including = ["include ", "-include ", "sinclude "];
        if including.iter().any(|it| line.starts_with(it)) || line.contains("$(eval") {
            return None;
        }
        if line.starts_with(['\t', '#', ' ']) {
            continue;
        }
        let Some((names, rest)) = line.split_once(':') else {
            continue;
        };
        if rest.starts_with('=') || names.contains('=') {
            continue;
        }
        if names.contains(['%', '$']) {
            return None;
        }
        found.extend(names.split_whitespace().map(str::to_owned));
        // `.PHONY: a b` names targets that may be defined in a loop.
        if names.trim() == ".PHONY" {
            found.extend(rest.split_whitespace().map(str::to_owned));
        }
    }
    Some(found)
}

fn recipes(text: &str) -> Option<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with("import ") || line.starts_with("mod ") {
            return None;
        }
        if let Some(alias) = line.strip_prefix("alias ") {
            found.extend(alias.split_whitespace().next().map(str::to_owned));
            continue;
        }
        if line.starts_with([' ', '\t', '#', '[']) || line.contains(":=") {
            continue;
        }
        if let Some((head, _)) = line.split_once(':') {
            let name = head.split_whitespace().next().unwrap_or_default();
            found.insert(name.trim_start_matches('@').to_owned());
        }
    }
    Some(found)
}

fn package(text: &str) -> Option<String> {
    let manifest: toml::Table = toml::from_str(text).ok()?;
    manifest
        .get("package")?
        .get("name")?
        .as_str()
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> Option<BTreeSet<String>> {
        Some(names.iter().map(|it| (*it).to_owned()).collect())
    }

    #[test]
    fn targets_of_a_makefile_are_told_or_nothing_is() {
        assert_eq!(
            targets("CC := gcc\nall: a b\n\tcc\nlint test:\n# x: y\n"),
            set(&["all", "lint", "test"])
        );
        assert_eq!(targets("%.o: %.c\n"), None);
        assert_eq!(targets("include x.mk\n"), None);
    }

    #[test]
    fn recipes_and_scripts_are_told() {
        assert_eq!(
            recipes("set shell := [\"x\"]\nalias t := test\n@test a='1': build\n  x\nbuild:\n"),
            set(&["build", "t", "test"])
        );
        assert_eq!(scripts("{\"scripts\":{\"a\":\"b\"}}"), set(&["a"]));
        assert_eq!(scripts("{}"), set(&[]));
        assert_eq!(scripts("{"), None);
    }
}
