//! `package-lock.json` and `npm-shrinkwrap.json`, versions 1 to 3.

use serde_json::{Map, Value};

use super::listing::LockfileListing;

pub(super) fn parse(text: &str) -> Result<LockfileListing, String> {
    let file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut packages = Vec::new();
    match (file.get("packages"), file.get("dependencies")) {
        (Some(Value::Object(tree)), _) => {
            for (place, package) in tree {
                packages.extend(parse_installed(place, package));
            }
        }
        (_, Some(Value::Object(tree))) => collect_nested(tree, &mut packages),
        (_, _) => {}
    }
    Ok(LockfileListing::whole(packages))
}

/// Parses one package of versions 2 and 3, whose key is its installation path.
fn parse_installed(place: &str, package: &Value) -> Option<(String, Option<String>)> {
    // Paths without `node_modules/` are the project and its workspaces, not packages.
    let (_, folder) = place.rsplit_once("node_modules/")?;
    // An aliased package is installed under another name.
    let name = package
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or(folder);
    let version = package.get("version")?.as_str()?;
    Some((name.to_owned(), Some(version.to_owned())))
}

/// Collects the packages of version 1, where they nest. The JSON parser limits the depth.
fn collect_nested(tree: &Map<String, Value>, packages: &mut Vec<(String, Option<String>)>) {
    let mut open = vec![tree];
    while let Some(tree) = open.pop() {
        for (name, package) in tree {
            if let Some(version) = package.get("version").and_then(Value::as_str) {
                packages.push(resolve_alias(name, version));
            }
            if let Some(Value::Object(below)) = package.get("dependencies") {
                open.push(below);
            }
        }
    }
}

/// Resolves an alias: `npm:real-name@1.2.3` in place of a version.
fn resolve_alias(name: &str, version: &str) -> (String, Option<String>) {
    let real = version
        .strip_prefix("npm:")
        .and_then(|real| real.rsplit_once('@'));
    let (name, version) = real.unwrap_or((name, version));
    (name.to_owned(), Some(version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_3_names_packages_by_where_they_are_put() {
        let text = r#"{
  "name": "app", "version": "1.0.0", "lockfileVersion": 3,
  "packages": {
    "": {"name": "app", "version": "1.0.0", "dependencies": {"react": "^18"}},
    "node_modules/react": {"version": "18.2.0", "resolved": "https://registry.example/x"},
    "node_modules/@types/node": {"version": "20.11.5", "dev": true},
    "node_modules/a/node_modules/react": {"version": "17.0.2"},
    "node_modules/old-react": {"name": "react", "version": "16.0.0"},
    "node_modules/ui": {"resolved": "packages/ui", "link": true},
    "packages/ui": {"version": "0.0.1"}
  }
}"#;
        let lines = parse(text).unwrap().lines();
        assert_eq!(
            lines,
            [
                "@types/node 20.11.5",
                "react 16.0.0",
                "react 17.0.2",
                "react 18.2.0"
            ]
        );
    }

    #[test]
    fn version_1_nests_packages() {
        let text = r#"{
  "name": "app", "lockfileVersion": 1,
  "dependencies": {
    "ms": {"version": "2.1.3"},
    "debug": {"version": "4.3.4", "requires": {"ms": "2.1.2"},
              "dependencies": {"ms": {"version": "2.1.2"}}},
    "old": {"version": "npm:@a/b@1.0.0"}
  }
}"#;
        let lines = parse(text).unwrap().lines();
        assert_eq!(lines, ["@a/b 1.0.0", "debug 4.3.4", "ms 2.1.2", "ms 2.1.3"]);
        assert!(parse("{").is_err());
    }
}
