//! `requirements*.txt`: requirements of pip. Only `==` pins a version.

use super::listing::{ListingCoverage, LockfileListing};

pub(super) fn parse(text: &str) -> LockfileListing {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let packages: Vec<_> = joined.lines().filter_map(parse_requirement).collect();
    // A file with only pins comes from pip-compile or pip freeze, which also list indirect
    // packages.
    let pinned = packages.iter().all(|(_, version)| version.is_some());
    let coverage = if pinned {
        ListingCoverage::Whole
    } else {
        ListingCoverage::Part
    };
    LockfileListing { packages, coverage }
}

fn parse_requirement(line: &str) -> Option<(String, Option<String>)> {
    let line = line.split(" #").next().unwrap_or(line);
    let line = line
        .split(';')
        .next()
        .unwrap_or(line)
        .split(" --")
        .next()
        .unwrap_or(line)
        .trim();
    // Options, comments, local paths and URLs name no package of the index.
    if line.starts_with(['-', '#', '.', '/']) || line.contains("://") {
        return None;
    }
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c));
    let name = &line[..end.unwrap_or(line.len())];
    (!name.is_empty()).then(|| (name.to_owned(), pinned_version(&line.replace(' ', ""))))
}

/// Returns the version after `==`, if it is the only constraint.
fn pinned_version(requirement: &str) -> Option<String> {
    let (before, version) = requirement.split_once("==")?;
    let version = version.trim_start_matches('=');
    let end = version.find(|c: char| !c.is_ascii_alphanumeric() && !"._+!-".contains(c));
    let open = before.contains(['<', '>', '~', '!', ',']) || end.is_some();
    (!open && !version.is_empty()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_versions_are_pinned() {
        let text = "# base
-r common.txt
--index-url https://registry.example/simple
Django==4.2.11 \\
    --hash=sha256:abc \\
    --hash=sha256:def
requests[security] == 2.31.0 ; python_version >= \"3.8\"  # http
urllib3===2.0.7
numpy>=1.20
scipy==1.*
both>=1,==1.2
flask
./local
https://example.com/x.whl
";
        let listing = parse(text);
        assert_eq!(
            listing.lines(),
            [
                "Django 4.2.11",
                "both ?",
                "flask ?",
                "numpy ?",
                "requests 2.31.0",
                "scipy ?",
                "urllib3 2.0.7"
            ]
        );
        assert_eq!(listing.coverage, ListingCoverage::Part);
        assert_eq!(parse("a==1\n").coverage, ListingCoverage::Whole);
    }
}
