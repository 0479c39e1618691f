//! Rules on source files that rustfmt, clippy and rustdoc do not check.
//!
//! Works line by line on text, so it can be fooled on purpose; it is there for slips.
//! The needles are spelled in two halves, or this file would find itself.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::language::COMMENT_COLUMNS_MAX;
use xtask::repository::{Finding, Repository};

/// Past this, a file holds a second concept (STYLE: one concept per file).
const LINES_MAX: usize = 800;

/// Files that may be longer for now. This list only ever shrinks.
const LONG_FILES: &[&str] = &[];

/// Directories of the machines Ken is built on. Homes of made-up people may stand in tests.
const MACHINE_PATHS: &[&str] = &[concat!("/ro", "ot/"), concat!("/wo", "rk/")];

/// Hosts packages come from. Where packages come from is the reader's own configuration.
const REGISTRY_HOSTS: &[&str] = &[
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("//crates", ".io"),
    concat!("registry.npmjs", ".org"),
    concat!("//pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("rubygems", ".org"),
];

/// Code that may not be written, and what to write in its place.
const BANNED_CODE: &[(&str, &str)] = &[
    (
        concat!("#[ign", "ore"),
        "an ignored test tests nothing: put long ones behind KEN_LONG=1",
    ),
    (
        concat!("#[should", "_panic"),
        "assert on the error instead of expecting a panic",
    ),
    (
        concat!("to", "do!("),
        "finish it, or return an error that names the issue",
    ),
];

static PUBLIC_TYPE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^pub (?:struct|enum|trait|union|type) (\w+)").expect("the pattern is a constant")
});

/// A constant or number on the left of `<`: reads backwards.
static REVERSED_COMPARISON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:if|while|&&|\|\||=|\(|return|\|) *!?\(?(?:Self::)?(?:[A-Z][A-Z0-9_]+|[0-9][0-9_.]*) <=? [a-z(&*]")
        .expect("the pattern is a constant")
});

/// A function named after requirement rows, such as `ent_22_…`.
static REQUIREMENT_IN_NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\bfn (?:[a-z]{2,4}_[0-9]{2}|c[0-9]+)_").expect("the pattern is a constant")
});

/// Checks every file git tracks or would track.
pub(crate) fn check(repository: &Repository) -> Result<Vec<Finding>, String> {
    let files = repository.files()?;
    let mut findings = Vec::new();
    let mut types = BTreeMap::new();
    for path in &files {
        if let Some(text) = repository.text(path)? {
            findings.extend(check_file(path, &text, LONG_FILES));
            findings.extend(check_type_names(path, &text, &mut types));
        }
        findings.extend(check_module_style(path, &files));
    }
    for path in LONG_FILES {
        if !files.iter().any(|file| file == path) {
            findings.push(Finding::new(
                path,
                1,
                "is gone: take it off the list of long files",
            ));
        }
    }
    Ok(findings)
}

fn check_file(path: &str, text: &str, long_files: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if is_our_rust(path) {
        check_rust(path, text, long_files, &mut findings);
    }
    for (index, line) in text.lines().enumerate() {
        if MACHINE_PATHS
            .iter()
            .any(|needle| names_directory(line, needle))
        {
            findings.push(Finding::new(
                path,
                index + 1,
                "names a directory of one machine",
            ));
        }
        // The lock file is cargo's own and has to name its source.
        let names_host = REGISTRY_HOSTS.iter().any(|host| line.contains(host));
        if names_host && path != "Cargo.lock" {
            findings.push(Finding::new(
                path,
                index + 1,
                "names the host of a package registry",
            ));
        }
    }
    findings
}

/// Finds public types whose name an earlier file gave to another type; `types` maps names to paths.
fn check_type_names(path: &str, text: &str, types: &mut BTreeMap<String, String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !path.starts_with("crates/") || !path.contains("/src/") || !path.ends_with(".rs") {
        return findings;
    }
    for (index, line) in text.lines().enumerate() {
        let Some(found) = PUBLIC_TYPE.captures(line) else {
            continue;
        };
        let name = &found[1];
        match types.get(name) {
            Some(other) => {
                let message = format!("`{name}` is also a public type of `{other}`: rename one");
                findings.push(Finding::new(path, index + 1, message));
            }
            None => {
                types.insert(name.to_owned(), path.to_owned());
            }
        }
    }
    findings
}

/// Finds a module written as `name.rs` beside the folder `name`; ours are `name/mod.rs`.
fn check_module_style(path: &str, files: &[String]) -> Option<Finding> {
    let folder = path.strip_suffix(".rs")?;
    if !is_our_rust(path) || !path.contains("/src/") {
        return None;
    }
    let inside = format!("{folder}/");
    let has_folder = files.iter().any(|file| file.starts_with(&inside));
    has_folder.then(|| {
        Finding::new(
            path,
            1,
            format!("has a folder: move it to `{inside}mod.rs`"),
        )
    })
}

/// Fixtures are copies of other projects' code by design.
fn is_our_rust(path: &str) -> bool {
    ["bench/", "crates/", "fuzz/", "xtask/"]
        .iter()
        .any(|it| path.starts_with(it))
        && path.ends_with(".rs")
        && !path.contains("/fixtures/")
}

fn check_rust(path: &str, text: &str, long_files: &[&str], findings: &mut Vec<Finding>) {
    if !text.starts_with("//!") {
        findings.push(Finding::new(
            path,
            1,
            "starts without `//!`: say what it answers for",
        ));
    }
    let lines = text.lines().count();
    let is_listed = long_files.contains(&path);
    if lines > LINES_MAX && !is_listed {
        let message =
            format!("has {lines} lines, more than {LINES_MAX}: look for a second concept");
        findings.push(Finding::new(path, LINES_MAX + 1, message));
    }
    if lines <= LINES_MAX && is_listed {
        findings.push(Finding::new(
            path,
            1,
            "is short now: take it off the list of long files",
        ));
    }
    for (index, line) in text.lines().enumerate() {
        let code = line.trim_start();
        if code.starts_with("//") {
            if line.chars().count() > COMMENT_COLUMNS_MAX {
                let message = format!("comment is wider than {COMMENT_COLUMNS_MAX} columns");
                findings.push(Finding::new(path, index + 1, message));
            }
            continue;
        }
        if REVERSED_COMPARISON.is_match(code) {
            let message = "compares backwards: write the variable first, `len > MAX`";
            findings.push(Finding::new(path, index + 1, message));
        }
        if REQUIREMENT_IN_NAME.is_match(code) {
            let message = "is named after a requirement: name the behavior, list the test in docs/conformance.toml";
            findings.push(Finding::new(path, index + 1, message));
        }
        for (needle, message) in BANNED_CODE {
            if code.contains(needle) {
                findings.push(Finding::new(path, index + 1, *message));
            }
        }
        if is_allow_attribute(code) {
            let message = "use `expect` with a reason, which tells us when it is no longer needed";
            findings.push(Finding::new(path, index + 1, message));
        }
    }
}

fn is_allow_attribute(code: &str) -> bool {
    (code.starts_with("#[") || code.starts_with("#![")) && code.contains(concat!("all", "ow("))
}

/// Whether `line` names `directory` from the root, and not as the tail of a relative path.
fn names_directory(line: &str, directory: &str) -> bool {
    line.match_indices(directory).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.~}*)".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENING: &str = "//! Says what it is.\n";

    fn messages(path: &str, text: &str) -> Vec<String> {
        check_file(path, text, &[])
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn this_repository_is_tidy() {
        let findings = check(&Repository::of_this_build()).unwrap();
        assert!(findings.is_empty(), "{findings:#?}");
    }

    #[test]
    fn a_file_that_keeps_the_rules_has_no_findings() {
        let text = format!("{OPENING}#[expect(dead_code, reason = \"later\")]\nfn f() {{}}\n");
        assert_eq!(messages("crates/a/src/lib.rs", &text), Vec::<String>::new());
    }

    #[test]
    fn a_file_without_an_opening_is_found() {
        assert_eq!(messages("crates/a/src/lib.rs", "fn f() {}\n").len(), 1);
        assert_eq!(messages("crates/a/src/lib.rs", "").len(), 1);
    }

    #[test]
    fn fixtures_and_foreign_files_need_no_opening() {
        assert!(messages("crates/a/fixtures/b.rs", "fn f() {}\n").is_empty());
        assert!(messages("docs/example.rs", "fn f() {}\n").is_empty());
    }

    #[test]
    fn a_file_may_have_800_lines_and_not_one_more() {
        let full = OPENING.to_owned() + &"\n".repeat(LINES_MAX - 1);
        assert!(messages("xtask/src/a.rs", &full).is_empty());
        let found = messages("xtask/src/a.rs", &(full + "\n"));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("xtask/src/a.rs:801: has 801 lines"),
            "{found:?}"
        );
    }

    #[test]
    fn a_listed_file_must_still_need_its_exception() {
        let path = "crates/a/src/long.rs";
        let long = OPENING.to_owned() + &"\n".repeat(LINES_MAX);
        assert!(check_file(path, &long, &[path]).is_empty());
        assert_eq!(check_file(path, OPENING, &[path]).len(), 1);
    }

    #[test]
    fn a_public_type_name_is_given_once() {
        let mut types = BTreeMap::new();
        let mut found = |path, text| check_type_names(path, text, &mut types).len();
        assert_eq!(
            found("crates/a/src/lib.rs", "pub struct One;\nstruct Two;\n"),
            0
        );
        assert_eq!(
            found(
                "crates/b/src/lib.rs",
                "pub enum Two {}\n    pub struct One;\n"
            ),
            0
        );
        assert_eq!(
            found(
                "crates/c/src/lib.rs",
                "pub trait One {}\npub type Two = u8;\n"
            ),
            2
        );
    }

    #[test]
    fn a_module_with_a_folder_is_written_as_mod_rs() {
        let files = [
            "crates/a/src/b.rs",
            "crates/a/src/b/c.rs",
            "crates/a/src/d/mod.rs",
        ];
        let files = files.map(str::to_owned);
        let found = files
            .iter()
            .filter(|path| check_module_style(path, &files).is_some());
        assert_eq!(found.collect::<Vec<_>>(), ["crates/a/src/b.rs"]);
    }

    #[test]
    fn a_comment_may_have_100_columns_and_not_one_more() {
        let comment = format!("{OPENING}// {}\n", "x".repeat(COMMENT_COLUMNS_MAX - 3));
        assert!(messages("crates/a/src/lib.rs", &comment).is_empty());
        let wide = comment.replace("// ", "//  ");
        assert_eq!(messages("crates/a/src/lib.rs", &wide).len(), 1);
    }

    #[test]
    fn a_test_named_after_a_requirement_is_found() {
        let named = |name: &str| format!("{OPENING}fn {name}() {{}}\n");
        let found = |name| messages("crates/a/tests/a.rs", &named(name)).len();
        assert_eq!(found(concat!("ent", "_22_kinds_have_schemas")), 1);
        assert_eq!(found("kinds_have_schemas"), 0);
    }

    #[test]
    fn a_constant_on_the_left_of_a_comparison_is_found() {
        for (code, count) in [
            (concat!("if 0 ", "< n {"), 1),
            (concat!("if Self::BYTES_MAX ", "< text.len() {"), 1),
            (concat!("let is_old = DAYS_MAX ", "<= age;"), 1),
            (concat!("a && 3 ", "<= b"), 1),
            ("if n > 0 && n <= MAX {", 0),
            ("Vec<u8> = f(1 << n)", 0),
        ] {
            let found = messages("crates/a/src/lib.rs", &format!("{OPENING}{code}\n"));
            assert_eq!(found.len(), count, "{code}");
        }
    }

    #[test]
    fn banned_code_is_found_with_its_line() {
        for (needle, _) in BANNED_CODE {
            let found = messages("crates/a/src/lib.rs", &format!("{OPENING}    {needle}\n"));
            assert_eq!(found.len(), 1, "{needle}");
            assert!(found[0].starts_with("crates/a/src/lib.rs:2: "), "{found:?}");
            let comment = format!("{OPENING}// {needle}\n");
            assert!(
                messages("crates/a/src/lib.rs", &comment).is_empty(),
                "{needle}"
            );
        }
    }

    #[test]
    fn an_attribute_may_expect_but_not_allow() {
        let word = concat!("all", "ow");
        for code in [
            format!("#[{word}(dead_code)]"),
            format!("#![{word}(dead_code)]"),
            format!("    #[cfg_attr(windows, {word}(dead_code))]"),
        ] {
            assert_eq!(
                messages("xtask/a.rs", &format!("{OPENING}{code}\n")).len(),
                1,
                "{code}"
            );
        }
        let call = format!("{OPENING}policy.{word}(entry);\n");
        assert!(messages("xtask/a.rs", &call).is_empty());
    }

    #[test]
    fn a_machine_path_is_found_in_any_text_file() {
        for directory in MACHINE_PATHS {
            for line in [format!("{directory}x"), format!("see `{directory}x`")] {
                assert_eq!(messages("docs/a.md", &line).len(), 1, "{line}");
            }
            for line in [format!("a{directory}x"), format!("..{directory}x")] {
                assert!(messages("docs/a.md", &line).is_empty(), "{line}");
            }
        }
    }

    #[test]
    fn a_registry_host_is_found_everywhere_but_in_the_lock_file() {
        for host in REGISTRY_HOSTS {
            assert_eq!(messages("docs/a.md", host).len(), 1, "{host}");
            assert!(messages("Cargo.lock", host).is_empty(), "{host}");
        }
    }
}
