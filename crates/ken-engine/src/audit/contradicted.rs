//! Claims the repository contradicts: undefined commands and unused package managers.

use std::collections::{BTreeMap, BTreeSet};

use ken_digest::MentionKind;

use super::file_lookup::FileLookup;
use super::{AuditFinding, AuditedClaim, AuditedReference, FindingKind};

/// Lockfiles with their package manager and language.
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

/// Subcommands of package managers that change the installed packages.
const INSTALL_SUBCOMMANDS: [&str; 6] = ["install", "ci", "add", "remove", "sync", "lock"];

/// Maximum number of manifests read per kind.
const MANIFESTS_MAX: usize = 1000;

/// Returns findings for claims with commands or package managers that do not exist here.
pub(super) fn check(
    files: &FileLookup,
    references: &[AuditedReference],
    claims: &[AuditedClaim],
) -> Vec<AuditFinding> {
    let ours = ProjectDefinitions::read(files);
    let mut findings = Vec::new();
    let elsewhere = documents_about_other_clones(files, references);
    for (at, claim) in claims.iter().enumerate() {
        if elsewhere.contains(claim.document.as_str()) {
            continue;
        }
        let mut messages: Vec<String> = Vec::new();
        for mention in &claim.found.mentions {
            match mention.kind {
                MentionKind::Command => {
                    for line in mention.text.split("&&").map(str::trim) {
                        messages.extend(ours.explain_failure(line));
                    }
                }
                MentionKind::Path | MentionKind::Link | MentionKind::Symbol => {}
            }
        }
        messages.extend(ours.explain_wrong_manager(claim, claims));
        messages.dedup();
        findings.extend(
            messages
                .into_iter()
                .map(|it| AuditFinding::for_claim(FindingKind::BrokenRule, claims, at, it)),
        );
    }
    findings
}

/// Returns the documents whose commands run in a clone of another repository.
fn documents_about_other_clones<'r>(
    files: &FileLookup,
    references: &'r [AuditedReference],
) -> BTreeSet<&'r str> {
    let own = own_names(files);
    let clones_other = |reference: &&AuditedReference| {
        let mut commands = reference.found.mentions.iter();
        commands.any(|it| {
            it.kind == MentionKind::Command
                && cloned_name(&it.text).is_some_and(|name| !own.contains(&name))
        })
    };
    let about = references.iter().filter(clones_other);
    about.map(|it| it.document.as_str()).collect()
}

/// Returns the name of the repository that a `git clone` command fetches.
fn cloned_name(command: &str) -> Option<String> {
    let (_, rest) = command.split_once("git clone ")?;
    let url = rest.split_whitespace().find(|it| it.contains('/'))?;
    let name = url.trim_end_matches('/').trim_end_matches(".git");
    let name = name.rsplit(['/', ':']).next()?;
    // `<your-fork>` may be this repository.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name = !name.is_empty() && name.chars().all(is_plain);
    is_name.then(|| name.to_lowercase())
}

/// Returns the names of this repository: of its folder, and those that its manifest gives.
fn own_names(files: &FileLookup) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = files.folder_name().into_iter().collect();
    let manifest = files.read_text("package.json").unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap_or_default();
    let repository = &manifest["repository"];
    let url = repository.as_str().or(repository["url"].as_str());
    for value in [manifest["name"].as_str(), url].into_iter().flatten() {
        let value = value.trim_end_matches('/').trim_end_matches(".git");
        names.extend(value.rsplit(['/', ':']).next().map(str::to_lowercase));
    }
    names
}

/// Scripts, targets, packages and package managers that a repository defines.
struct ProjectDefinitions {
    /// Scripts of every `parse_package_name.json`; `None` if there is no file or one cannot be
    /// parsed.
    scripts: Option<BTreeSet<String>>,
    /// Targets of every makefile; `None` if there is no file or one computes its targets.
    targets: Option<BTreeSet<String>>,
    /// Recipes of the justfiles.
    recipes: Option<BTreeSet<String>>,
    /// Package names of the Cargo workspace.
    packages: BTreeSet<String>,
    /// Package managers with a lockfile, by language.
    managers: BTreeMap<&'static str, BTreeSet<&'static str>>,
    /// Package managers with a lockfile anywhere.
    nested: BTreeSet<&'static str>,
}

impl ProjectDefinitions {
    /// Reads the manifests and lockfiles of a repository.
    fn read(files: &FileLookup) -> Self {
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
                // One more, so that too many are noticed: an incomplete set would refute names.
                .take(MANIFESTS_MAX + 1)
                .collect()
        };
        let mut managers: BTreeMap<&'static str, BTreeSet<&'static str>> = BTreeMap::new();
        // Only lockfiles at the root: one in a subfolder may belong to an example or a test.
        for (file, manager, language) in LOCKFILES {
            if files.is_file(file) {
                managers.entry(language).or_default().insert(manager);
            }
        }
        // A package below the root with a lockfile of its own may use another manager.
        let nested = LOCKFILES
            .iter()
            .filter(|(file, ..)| !named(&[*file]).is_empty())
            .map(|(_, manager, _)| *manager)
            .collect();
        let makefiles = named(&["Makefile", "makefile", "GNUmakefile"]);
        let justfiles = named(&["justfile", "Justfile", ".justfile"]);
        Self {
            scripts: collect_names(files, &named(&["package.json"]), parse_scripts),
            targets: collect_names(files, &makefiles, parse_targets),
            recipes: collect_names(files, &justfiles, parse_recipes),
            packages: named(&["Cargo.toml"])
                .iter()
                .filter_map(|it| parse_package_name(&files.read_text(it)?))
                .collect(),
            managers,
            nested,
        }
    }

    /// Returns the reason why a shell command cannot work here, or `None`.
    fn explain_failure(&self, line: &str) -> Option<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Placeholders such as `<name>` and options are not names that could be missing.
        let plain = |word: &&&str| {
            word.chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_:.".contains(c))
                && !word.starts_with('-')
                // `npm run X`, `make TARGET`: a capital name stands for another.
                && word.chars().any(|c| c.is_ascii_lowercase())
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
                (!known).then(|| format!("no `package.json` has a script `{script}`"))
            }
            ["make", target, ..] => {
                let target = Some(target).filter(plain)?;
                // A name with a dot may be a file that make builds with an implicit rule.
                let known = self.targets.as_ref()?.contains(*target) || target.contains('.');
                (!known).then(|| format!("no makefile has a target `{target}`"))
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
                (!known).then(|| format!("no package has the name `{name}`"))
            }
            _ => None,
        }
    }

    /// Returns a message if a claim requires a package manager without a lockfile.
    fn explain_wrong_manager(
        &self,
        claim: &AuditedClaim,
        claims: &[AuditedClaim],
    ) -> Option<String> {
        let stated = required_manager(claim)?;
        let (_, _, language) = LOCKFILES.iter().find(|(_, it, _)| *it == stated)?;
        // Without a lockfile for the language, nothing contradicts the claim.
        let used = self.managers.get(language)?;
        let (file, other, _) = LOCKFILES.iter().find(|(_, it, _)| used.contains(it))?;
        // A document that mentions both managers offers a choice.
        let mut same_document = claims.iter().filter(|it| it.document == claim.document);
        let mut offered = || same_document.any(|it| mentions_manager(it, other));
        let broken = !used.contains(stated) && !self.nested.contains(stated) && !offered();
        broken.then(|| format!("it requires {stated}, but `{file}` belongs to {other}"))
    }
}

/// Returns true if a claim mentions a package manager.
fn mentions_manager(claim: &AuditedClaim, manager: &str) -> bool {
    let text = claim.found.text.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word == manager)
}

/// Returns the package manager that a claim requires, if it is the only one mentioned.
fn required_manager(claim: &AuditedClaim) -> Option<&'static str> {
    let found = &claim.found;
    if !found.modality.asks()
        || found.modality.polarity() == Some(ken_core::values::content::Polarity::Negative)
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
                    && words
                        .next()
                        .is_some_and(|word| INSTALL_SUBCOMMANDS.contains(&word))
            });
        // Spaces around the text and single spaces inside let the patterns match whole words.
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
        // A second manager in the same claim may be the one not to use.
        [(manager, true)] => Some(manager),
        _ => None,
    }
}

/// Returns true for a plain file name or path with a short extension.
fn is_file_name(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.rsplit_once('.')
        .is_some_and(|(stem, ending)| !stem.is_empty() && (1..=4).contains(&ending.len()))
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
}

/// Unites the names `read` finds in each file; `None` if there is no file, one is ambiguous or
/// there are too many.
fn collect_names(
    files: &FileLookup,
    paths: &[&String],
    read: fn(&str) -> Option<BTreeSet<String>>,
) -> Option<BTreeSet<String>> {
    if paths.is_empty() || paths.len() > MANIFESTS_MAX {
        return None;
    }
    // One unreadable file makes the set incomplete, and an incomplete set would refute valid names.
    let mut all = BTreeSet::new();
    for path in paths {
        all.extend(read(&files.read_text(path)?)?);
    }
    Some(all)
}

/// Parses the script names of a `parse_package_name.json`.
fn parse_scripts(text: &str) -> Option<BTreeSet<String>> {
    let manifest: serde_json::Value = serde_json::from_str(text).ok()?;
    let scripts = manifest.get("scripts").and_then(|it| it.as_object());
    Some(
        scripts
            .map(|it| it.keys().cloned().collect())
            .unwrap_or_default(),
    )
}

/// Parses the targets of a makefile; `None` if it includes other files or computes targets.
fn parse_targets(text: &str) -> Option<BTreeSet<String>> {
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
        // A pattern or variable can match any name.
        if names.contains(['%', '$']) {
            return None;
        }
        found.extend(names.split_whitespace().map(str::to_owned));
        // Targets of `.PHONY: a b` may be defined in a loop.
        if names.trim() == ".PHONY" {
            found.extend(rest.split_whitespace().map(str::to_owned));
        }
    }
    Some(found)
}

/// Parses the recipes of a justfile; `None` if it imports others.
fn parse_recipes(text: &str) -> Option<BTreeSet<String>> {
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

/// Parses the package name of a `Cargo.toml`.
fn parse_package_name(text: &str) -> Option<String> {
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
    fn a_clone_command_names_its_repository() {
        for (command, name) in [
            ("git clone https://example.org/a/Pay.git", Some("pay")),
            ("git clone --depth 1 git@example.org:a/pay", Some("pay")),
            ("git clone https://example.org/<you>/<fork>", None),
            ("git pull", None),
        ] {
            assert_eq!(cloned_name(command).as_deref(), name, "{command}");
        }
    }

    #[test]
    fn targets_of_a_makefile_are_told_or_nothing_is() {
        assert_eq!(
            parse_targets("CC := gcc\nall: a b\n\tcc\nlint test:\n# x: y\n"),
            set(&["all", "lint", "test"])
        );
        assert_eq!(parse_targets("%.o: %.c\n"), None);
        assert_eq!(parse_targets("include x.mk\n"), None);
    }

    #[test]
    fn recipes_and_scripts_are_told() {
        assert_eq!(
            parse_recipes(
                "set shell := [\"x\"]\nalias t := test\n@test a='1': build\n  x\nbuild:\n"
            ),
            set(&["build", "t", "test"])
        );
        assert_eq!(parse_scripts("{\"scripts\":{\"a\":\"b\"}}"), set(&["a"]));
        assert_eq!(parse_scripts("{}"), set(&[]));
        assert_eq!(parse_scripts("{"), None);
    }
}
