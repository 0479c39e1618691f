//! `go.mod`: required modules, after replacements.

use std::collections::BTreeMap;

use super::listing::{ListingCoverage, LockfileListing};

/// Minor version of Go from which on `go.mod` also lists indirect modules.
const GO_MINOR_WHOLE: u32 = 17;

pub(super) fn parse(text: &str) -> LockfileListing {
    let mut block = "";
    let mut go_minor = 0;
    let mut required = Vec::new();
    let mut replaced = BTreeMap::new();
    for line in text.lines() {
        // Strips comments such as `// indirect`.
        let line = line.split("//").next().unwrap_or(line);
        let mut words: Vec<&str> = line
            .split_whitespace()
            .map(|it| it.trim_matches('"'))
            .collect();
        if block.is_empty() {
            match words.as_slice() {
                [verb, "("] => {
                    block = verb;
                    continue;
                }
                [] => continue,
                _ => {}
            }
        } else if words == [")"] {
            block = "";
            continue;
        } else {
            // Lines of a block omit the verb; adding it lets one `match` handle both forms.
            words.insert(0, block);
        }
        match words.as_slice() {
            ["go", version] => go_minor = parse_minor(version),
            ["require", module, version] => required.push((*module, Some(*version))),
            ["replace", old, "=>", new @ ..] => drop(replaced.insert((*old, None), new.to_vec())),
            ["replace", old, version, "=>", new @ ..] => {
                replaced.insert((*old, Some(*version)), new.to_vec());
            }
            _ => {}
        }
    }
    for module in &mut required {
        // A replacement for one version takes precedence over one for all versions.
        let by_version = replaced.get(&(module.0, module.1));
        if let Some(new) = by_version.or_else(|| replaced.get(&(module.0, None))) {
            *module = match new.as_slice() {
                [name, version] => (*name, Some(*version)),
                // A replacement by a local directory has no version.
                _ => (module.0, None),
            };
        }
    }
    let coverage = if go_minor < GO_MINOR_WHOLE {
        ListingCoverage::Part
    } else {
        ListingCoverage::Whole
    };
    let own = |(name, version): (&str, Option<&str>)| (name.to_owned(), version.map(str::to_owned));
    LockfileListing {
        packages: required.into_iter().map(own).collect(),
        coverage,
    }
}

/// Returns the minor number: 21 for `1.21.3`.
fn parse_minor(version: &str) -> u32 {
    version
        .split('.')
        .nth(1)
        .and_then(|minor| minor.parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read_after_replacement() {
        let text = "module example.com/app

go 1.21

require github.com/gorilla/mux v1.8.0

require (
\tgithub.com/pkg/errors v0.9.1 // indirect
\tgolang.org/x/sys v0.0.0-20220715151400-c0bba94af5f8
\tgithub.com/old/fork v1.0.0
\tgithub.com/local/dep v1.0.0
)

replace github.com/old/fork => github.com/new/fork v1.2.0

replace (
\tgithub.com/local/dep v1.0.0 => ../dep
)

exclude github.com/pkg/errors v0.9.0
";
        let listing = parse(text);
        assert_eq!(
            listing.lines(),
            [
                "github.com/gorilla/mux v1.8.0",
                "github.com/local/dep ?",
                "github.com/new/fork v1.2.0",
                "github.com/pkg/errors v0.9.1",
                "golang.org/x/sys v0.0.0-20220715151400-c0bba94af5f8",
            ]
        );
        assert_eq!(listing.coverage, ListingCoverage::Whole);
        assert_eq!(parse("module a\ngo 1.16\n").coverage, ListingCoverage::Part);
    }
}
