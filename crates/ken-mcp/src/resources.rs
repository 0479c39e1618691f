//! What can be read under a URI: an entry, a briefing, the list of entries.

use rmcp::model::{Resource as Listed, ResourceTemplate};

/// What all URIs begin with.
const SCHEME: &str = "ken://";
/// Characters the last part of a URI may have.
const NAME_CHARS_MAX: usize = 64;
/// What every resource is written in.
pub(crate) const MARKDOWN: &str = "text/markdown";

/// What a URI names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Entry(String),
    Briefing { workspace: Option<String> },
    Index,
}

impl Resource {
    /// Reads a URI. A name is letters, digits, `-` and `_`: nothing in it leads anywhere.
    pub(crate) fn of(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix(SCHEME)?;
        match path.split_once('/') {
            None if path == "index" => Some(Self::Index),
            None if path == "briefing" => Some(Self::Briefing { workspace: None }),
            None => None,
            Some(("entry", id)) if is_name(id) => Some(Self::Entry(id.to_owned())),
            Some(("briefing", workspace)) if is_name(workspace) => Some(Self::Briefing {
                workspace: Some(workspace.to_owned()),
            }),
            Some(_) => None,
        }
    }
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=NAME_CHARS_MAX).contains(&text.len()) && text.chars().all(plain)
}

/// Returns the resources there always are.
pub(crate) fn listed() -> Vec<Listed> {
    vec![
        Listed::new("ken://briefing", "briefing")
            .with_title("Briefing")
            .with_description("Norms and knowledge for what is in hand: the uncommitted work")
            .with_mime_type(MARKDOWN),
        Listed::new("ken://index", "index")
            .with_title("Entries")
            .with_description("Entries in use, a line each, newest first")
            .with_mime_type(MARKDOWN),
    ]
}

/// Returns the resources that are one of many.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("ken://entry/{id}", "entry")
            .with_title("Entry")
            .with_description("All of one entry")
            .with_mime_type(MARKDOWN),
        ResourceTemplate::new("ken://briefing/{workspace}", "workspace briefing")
            .with_title("Briefing of a workspace")
            .with_description("The briefing, if the workspace is this one")
            .with_mime_type(MARKDOWN),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_a_resource_or_nothing() {
        let briefing = |it: &str| Resource::Briefing {
            workspace: Some(it.to_owned()),
        };
        for (uri, named) in [
            ("ken://index", Some(Resource::Index)),
            (
                "ken://briefing",
                Some(Resource::Briefing { workspace: None }),
            ),
            ("ken://briefing/p-0a1b", Some(briefing("p-0a1b"))),
            (
                "ken://entry/L-7k2f5qm3",
                Some(Resource::Entry("L-7k2f5qm3".to_owned())),
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
            assert_eq!(Resource::of(uri), named, "{uri:?}");
        }
        let long = format!("ken://entry/{}", "a".repeat(NAME_CHARS_MAX + 1));
        assert_eq!(Resource::of(&long), None);
    }
}
