//! MCP resources: an entry, a briefing and the list of entries, each under a URI.

use rmcp::model::{Resource as Listed, ResourceTemplate};

/// The prefix of every URI.
const SCHEME: &str = "ken://";
/// Maximum characters of the last segment of a URI.
const NAME_CHARS_MAX: usize = 64;
/// The media type of every resource.
pub(crate) const MARKDOWN_MIME: &str = "text/markdown";

/// A parsed resource URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResourceUri {
    Entry(String),
    Briefing { workspace: Option<String> },
    Index,
}

impl ResourceUri {
    /// Parses a URI. Names are limited to letters, digits, `-` and `_`, which excludes path
    /// traversal.
    pub(crate) fn of(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix(SCHEME)?;
        match path.split_once('/') {
            None if path == "index" => Some(Self::Index),
            None if path == "briefing" => Some(Self::Briefing { workspace: None }),
            None => None,
            // The id is not validated further here: the backend reports an unknown one with a hint.
            Some(("entry", id)) if is_name(id) => Some(Self::Entry(id.to_owned())),
            Some(("briefing", workspace)) if is_name(workspace) => Some(Self::Briefing {
                workspace: Some(workspace.to_owned()),
            }),
            Some(_) => None,
        }
    }
}

fn is_name(text: &str) -> bool {
    // No `.`, `/` or `%`: neither `..` nor an encoded slash can pass.
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=NAME_CHARS_MAX).contains(&text.len()) && text.chars().all(plain)
}

/// Returns the resources with a fixed URI.
pub(crate) fn fixed_resources() -> Vec<Listed> {
    vec![
        Listed::new("ken://briefing", "briefing")
            .with_title("Briefing")
            .with_description("Norms and entries for the uncommitted work")
            .with_mime_type(MARKDOWN_MIME),
        Listed::new("ken://index", "index")
            .with_title("Entries")
            .with_description("Live entries, one line each, newest first")
            .with_mime_type(MARKDOWN_MIME),
    ]
}

/// Returns the templates of resources with a variable URI.
pub(crate) fn resource_templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("ken://entry/{id}", "entry")
            .with_title("Entry")
            .with_description("One entry in full")
            .with_mime_type(MARKDOWN_MIME),
        ResourceTemplate::new("ken://briefing/{workspace}", "workspace briefing")
            .with_title("Briefing of a workspace")
            .with_description("The briefing, if this server serves the workspace")
            .with_mime_type(MARKDOWN_MIME),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_a_resource_or_nothing() {
        let briefing = |it: &str| ResourceUri::Briefing {
            workspace: Some(it.to_owned()),
        };
        for (uri, expected) in [
            ("ken://index", Some(ResourceUri::Index)),
            (
                "ken://briefing",
                Some(ResourceUri::Briefing { workspace: None }),
            ),
            ("ken://briefing/p-0a1b", Some(briefing("p-0a1b"))),
            (
                "ken://entry/L-7k2f5qm3",
                Some(ResourceUri::Entry("L-7k2f5qm3".to_owned())),
            ),
            ("ken://entry/", None),
            ("ken://entry/../x", None),
            ("ken://entry/..%2Fx", None),
            ("ken://entry/L-7k2f5qm3/../../etc/passwd", None),
            ("ken://entry/a\0b", None),
            ("ken://briefing/", None),
            ("ken://briefing/..", None),
            ("ken://index/", None),
            ("ken://", None),
            ("file:///etc/passwd", None),
            ("KEN://index", None),
            ("", None),
        ] {
            assert_eq!(ResourceUri::of(uri), expected, "{uri:?}");
        }
        let long = format!("ken://entry/{}", "a".repeat(NAME_CHARS_MAX + 1));
        assert_eq!(ResourceUri::of(&long), None);
    }
}
