//! `pnpm-lock.yaml`, versions 5 to 9: the keys of `packages` contain name and version.

use serde_json::Value;

use super::listing::LockfileListing;
use crate::condition::value;

pub(super) fn parse(text: &str) -> Result<LockfileListing, String> {
    let mut packages = Vec::new();
    for document in value::parse_yaml(text)? {
        let Some(Value::Object(all)) = document.get("packages") else {
            continue;
        };
        for (key, package) in all {
            let field = |name| package.get(name).and_then(Value::as_str).map(str::to_owned);
            // Packages from git or a URL have a key without a version, but explicit fields.
            match field("name").zip(field("version")) {
                Some((name, version)) => packages.push((name, Some(version))),
                None => packages.extend(split_key(key)),
            }
        }
    }
    Ok(LockfileListing::whole(packages))
}

/// Splits `/@scope/name@1.2.3(peer@4)`, or `/name/1.2.3_peer@4` of version 5, into name and
/// version.
fn split_key(key: &str) -> Option<(String, Option<String>)> {
    let unrooted = key.strip_prefix('/').unwrap_or(key);
    let key = unrooted.split('(').next().unwrap_or(unrooted);
    // The `@` and `/` of a scope are part of the name.
    let scope = key
        .starts_with('@')
        .then(|| key.find('/'))
        .flatten()
        .map_or(0, |at| at + 1);
    let end = scope + key.get(scope..)?.find(['@', '/'])?;
    let version = key.get(end + 1..)?;
    let version = version.split('_').next().unwrap_or(version);
    Some((key.get(..end)?.to_owned(), Some(version.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_9_keys_are_name_at_version() {
        let text = "lockfileVersion: '9.0'
settings:
  autoInstallPeers: true
importers:
  .:
    dependencies:
      react:
        specifier: ^18.2.0
        version: 18.2.0
packages:
  '@types/node@20.11.5':
    resolution: {integrity: sha512-abc==}
  react@18.2.0:
    resolution: {integrity: sha512-def==}
    engines: {node: '>=0.10.0'}
snapshots:
  '@types/node@20.11.5': {}
  react@18.2.0: {}
";
        assert_eq!(
            parse(text).unwrap().lines(),
            ["@types/node 20.11.5", "react 18.2.0"]
        );
    }

    #[test]
    fn versions_6_and_5_begin_with_a_slash() {
        let text = "lockfileVersion: '6.0'
packages:
  /@babel/core@7.23.0(supports-color@8.1.1):
    resolution: {integrity: sha512-abc==}
    dev: true
  /ms@2.1.3:
    resolution: {integrity: sha512-abc==}
";
        assert_eq!(
            parse(text).unwrap().lines(),
            ["@babel/core 7.23.0", "ms 2.1.3"]
        );
        let text = "lockfileVersion: 5.4
packages:
  /@babel/core/7.23.0_supports-color@8.1.1:
    resolution: {integrity: sha512-abc==}
  /ms/2.1.3:
    resolution: {integrity: sha512-abc==}
  github.com/a/b/0123:
    name: b
    version: 1.0.0
";
        assert_eq!(
            parse(text).unwrap().lines(),
            ["@babel/core 7.23.0", "b 1.0.0", "ms 2.1.3"]
        );
        assert!(parse("a: [").is_err());
    }
}
