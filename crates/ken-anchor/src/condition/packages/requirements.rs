//! `requirements*.txt`: what pip installs. Only `==` pins a version.

use super::listing::{Coverage, Listing};

pub(super) fn read(text: &str) -> Listing {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let packages: Vec<_> = joined.lines().filter_map(requirement).collect();
    // What pip-compile and pip freeze write is pinned throughout, and is all there is.
    let pinned = packages.iter().all(|(_, version)| version.is_some());
    let coverage = if pinned {
        Coverage::Whole
    } else {
        Coverage::Part
    };
    Listing { packages, coverage }
}

fn requirement(line: &str) -> Option<(String, Option<String>)> {
    let line = line.split(" #").next().unwrap_or(line);
    let line = line
        .split(';')
        .next()
        .unwrap_or(line)
        .split(" --")
        .next()
        .unwrap_or(line)
        .trim();
    if line.starts_with(['-', '#', '.', '/']) || line.contains("://") {
        return None;
    }
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c));
    let name = &line[..end.unwrap_or(line.len())];
    (!name.is_empty()).then(|| (name.to_owned(), pin(&line.replace(' ', ""))))
}

/// Returns the version behind the only `==`.
fn pin(requirement: &str) -> Option<String> {
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
        let listing = read(text);
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
        assert_eq!(listing.coverage, Coverage::Part);
        assert_eq!(read("a==1\n").coverage, Coverage::Whole);
    }
}
