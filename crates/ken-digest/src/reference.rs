//! References of a document: every block that names files, symbols or commands, claim or not.
//!
//! A list of file names claims nothing, but its names can be dead all the same.

use crate::block::{BlockKind, parse_blocks};
use crate::claim::extract_claims;
use crate::mention::{Mention, MentionKind, is_command};
use crate::own::blank_own_blocks;
use crate::source::SourceKind;

/// Block of a document and what it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentReference {
    pub text: String,
    /// Heading and lead sentence, which may say that the named files need not exist.
    pub context: String,
    /// Counted from 1.
    pub line: usize,
    pub last_line: usize,
    pub mentions: Vec<Mention>,
}

/// Returns the references of a document, in order.
pub fn find_references(source: SourceKind, text: &str) -> Vec<DocumentReference> {
    match source {
        // These documents have a form of their own; only their claims speak of the present.
        SourceKind::Decision
        | SourceKind::Reviewer
        | SourceKind::Lesson
        | SourceKind::Records
        | SourceKind::Owners => extract_claims(source, text)
            .into_iter()
            .map(|claim| DocumentReference {
                text: claim.text,
                context: claim.headings.last().cloned().unwrap_or_default(),
                line: claim.line,
                last_line: claim.last_line,
                mentions: claim.mentions,
            })
            .filter(|it| !it.mentions.is_empty())
            .collect(),
        SourceKind::Instructions
        | SourceKind::Memory
        | SourceKind::Contributing
        | SourceKind::Template => references_from_blocks(text),
    }
}

fn references_from_blocks(text: &str) -> Vec<DocumentReference> {
    let text = &*blank_own_blocks(text);
    let mut found = Vec::new();
    for block in parse_blocks(text) {
        let mentions = match block.kind {
            BlockKind::Shell => {
                let line = block.text.split(" #").next().unwrap_or_default().trim();
                let command = Mention {
                    kind: MentionKind::Command,
                    text: line.to_owned(),
                };
                Some(command)
                    .filter(|_| is_command(line))
                    .into_iter()
                    .collect()
            }
            BlockKind::Paragraph | BlockKind::Item | BlockKind::Row => {
                block.find_mentions(&block.text, &block.links)
            }
        };
        if !mentions.is_empty() {
            let heading = block.headings.last().map_or("", String::as_str);
            let lead = block.lead.as_deref().unwrap_or_default();
            found.push(DocumentReference {
                context: format!("{heading} {lead}"),
                text: block.text,
                line: block.line,
                last_line: block.last_line,
                mentions,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_repositories_and_mail_addresses_are_no_references() {
        let text = "See [`docs/drive/`](https://example.org/other) and <ada@example.edu>, not `src/a.rs`.\n";
        let found = find_references(SourceKind::Instructions, text);
        let named: Vec<_> = found[0].mentions.iter().map(|it| &it.text).collect();
        assert_eq!(named, ["src/a.rs"]);
    }

    #[test]
    fn a_list_of_files_is_a_reference_though_it_claims_nothing() {
        let text =
            "These files matter:\n\n- `src/protocol/v2.rs`\n\n```sh\nnode src/a.ts # now\n```\n";
        let found = find_references(SourceKind::Instructions, text);
        let named: Vec<_> = found
            .iter()
            .map(|it| (it.line, it.mentions[0].text.as_str()))
            .collect();
        assert_eq!(named, [(3, "src/protocol/v2.rs"), (6, "node src/a.ts")]);
    }
}
