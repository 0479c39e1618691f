//! `pom.xml`: the direct dependencies of a Maven module.
//!
//! This is not a lockfile: transitive dependencies are not listed, and a version may come from a
//! parent in another repository. Both are reported as unknown instead of guessed.

use std::collections::BTreeMap;

use roxmltree::{Document, Node, ParsingOptions};

use super::listing::{ListingCoverage, LockfileListing};

/// Maximum number of XML nodes read.
const NODES_MAX: u32 = 1_000_000;
/// Maximum number of property references followed.
const PROPERTY_STEPS_MAX: usize = 8;

pub(super) fn parse(text: &str) -> Result<LockfileListing, String> {
    let options = ParsingOptions {
        // A DTD could define entities that expand exponentially.
        allow_dtd: false,
        nodes_limit: NODES_MAX,
        ..Default::default()
    };
    let document =
        Document::parse_with_options(text, options).map_err(|error| error.to_string())?;
    let project = document.root_element();
    let properties = collect_properties(project);
    let resolve =
        |node: Node<'_, '_>, name: &str| resolve_property(&properties, child_text(node, name)?);
    let key = |node| {
        Some(format!(
            "{}/{}",
            resolve(node, "groupId")?,
            resolve(node, "artifactId")?
        ))
    };
    // Dependency management supplies versions for dependencies without one.
    let managed: BTreeMap<String, String> = find_child(project, "dependencyManagement")
        .into_iter()
        .flat_map(dependencies)
        .filter_map(|node| Some((key(node)?, resolve(node, "version")?)))
        .collect();
    let packages = dependencies(project)
        .filter_map(|node| {
            let name = key(node)?;
            let version = resolve(node, "version").or_else(|| managed.get(&name).cloned());
            // A range such as [1,2) does not pin a version.
            let version = version.filter(|version| !version.contains(['[', '(', ',']));
            Some((name, version))
        })
        .collect();
    Ok(LockfileListing {
        packages,
        coverage: ListingCoverage::Part,
    })
}

fn find_child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children()
        .find(|child| child.tag_name().name() == name)
}

fn child_text<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    find_child(node, name)?.text().map(str::trim)
}

fn dependencies<'a, 'i: 'a>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    let all = find_child(node, "dependencies")
        .into_iter()
        .flat_map(|all| all.children());
    all.filter(|it| it.tag_name().name() == "dependency")
}

/// Returns the values of `${…}` references.
fn collect_properties(project: Node<'_, '_>) -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    for (prefix, node) in [
        ("project.parent", find_child(project, "parent")),
        ("project", Some(project)),
    ] {
        for name in ["groupId", "artifactId", "version"] {
            let Some(text) = node.and_then(|node| child_text(node, name)) else {
                continue;
            };
            known.insert(format!("{prefix}.{name}"), text.to_owned());
            // A module inherits these from its parent unless it sets them; its own come second and
            // overwrite.
            if prefix == "project.parent" && name != "artifactId" {
                known.insert(format!("project.{name}"), text.to_owned());
            }
        }
    }
    let declared = find_child(project, "properties")
        .into_iter()
        .flat_map(|all| all.children());
    for property in declared.filter(Node::is_element) {
        let value = property.text().unwrap_or_default().trim();
        known.insert(property.tag_name().name().to_owned(), value.to_owned());
    }
    known
}

/// Follows `${name}` if it is the whole text. Returns `None` if the value is unknown.
fn resolve_property(properties: &BTreeMap<String, String>, text: &str) -> Option<String> {
    let mut text = text;
    // Properties can refer to each other in a cycle.
    for _ in 0..PROPERTY_STEPS_MAX {
        let Some(name) = text
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'))
        else {
            return (!text.contains("${")).then(|| text.to_owned());
        };
        text = properties.get(name)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_the_dependency_a_property_or_the_management() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <parent><groupId>org.acme</groupId><artifactId>root</artifactId><version>2.0.0</version></parent>
  <artifactId>app</artifactId>
  <properties>
    <slf4j.version>2.0.9</slf4j.version>
    <a>${b}</a><b>${a}</b>
  </properties>
  <dependencyManagement><dependencies>
    <dependency><groupId>g</groupId><artifactId>managed</artifactId><version>1.1</version></dependency>
  </dependencies></dependencyManagement>
  <dependencies>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-api</artifactId>
      <version>${slf4j.version}</version></dependency>
    <dependency><groupId>${project.groupId}</groupId><artifactId>core</artifactId>
      <version>${project.version}</version><scope>test</scope></dependency>
    <dependency><groupId>g</groupId><artifactId>managed</artifactId></dependency>
    <dependency><groupId>g</groupId><artifactId>range</artifactId><version>[1,2)</version></dependency>
    <dependency><groupId>g</groupId><artifactId>loop</artifactId><version>${a}</version></dependency>
    <dependency><groupId>g</groupId><artifactId>elsewhere</artifactId><version>${x}</version></dependency>
  </dependencies>
</project>"#;
        let listing = parse(text).unwrap();
        assert_eq!(
            listing.lines(),
            [
                "g/elsewhere ?",
                "g/loop ?",
                "g/managed 1.1",
                "g/range ?",
                "org.acme/core 2.0.0",
                "org.slf4j/slf4j-api 2.0.9"
            ]
        );
        assert_eq!(listing.coverage, ListingCoverage::Part);
    }

    #[test]
    fn hostile_files_are_refused() {
        assert!(parse("<project>").is_err());
        assert!(parse(&"<a>".repeat(200_000)).is_err());
        assert!(parse("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>").is_err());
    }
}
