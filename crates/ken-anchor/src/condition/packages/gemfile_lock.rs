//! `Gemfile.lock`: bundler's list of specs, indented by four spaces.

use super::listing::LockfileListing;

pub(super) fn parse(text: &str) -> LockfileListing {
    let mut packages = Vec::new();
    let mut in_specs = false;
    for line in text.lines() {
        if !line.starts_with("    ") {
            in_specs = line == "  specs:";
            continue;
        }
        // Six spaces indent the requirements of a gem, which are ranges and not locked versions.
        let spec = line
            .strip_prefix("    ")
            .filter(|spec| !spec.starts_with(' '));
        if let Some(spec) = spec.filter(|_| in_specs) {
            packages.extend(parse_spec(spec));
        }
    }
    LockfileListing::whole(packages)
}

/// Parses `nokogiri (1.15.0-x86_64-linux)`; the platform is not part of the version.
fn parse_spec(spec: &str) -> Option<(String, Option<String>)> {
    let (name, version) = spec.strip_suffix(')')?.split_once(" (")?;
    let version = version.split('-').next().unwrap_or(version);
    Some((name.to_owned(), Some(version.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_read_and_what_they_ask_for_is_not() {
        let text = "PATH
  remote: .
  specs:
    app (0.1.0)
      rails (>= 7)

GEM
  remote: https://registry.example/
  specs:
    nokogiri (1.15.0-x86_64-linux)
      racc (~> 1.4)
    racc (1.7.1)
    rails (7.0.8.1)

PLATFORMS
  x86_64-linux

DEPENDENCIES
  rails (>= 7)

BUNDLED WITH
   2.4.10
";
        let lines = parse(text).lines();
        assert_eq!(
            lines,
            [
                "app 0.1.0",
                "nokogiri 1.15.0",
                "racc 1.7.1",
                "rails 7.0.8.1"
            ]
        );
    }
}
