//! Data of code pages: files with entries beside their lines, folders, changes, documents.

use ken_core::values::anchor::CodeLocation;
use ken_core::values::condition::TruthValue;
use ken_core::values::id::EntryId;

use super::entries::EntryRow;
use crate::address::{LineSpan, RepoPath};

/// The verdict on one anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorState {
    pub location: CodeLocation,
    pub kind: AnchorStateKind,
    /// The lines where the code is now.
    pub lines: Option<LineSpan>,
    /// The current location, if the code moved.
    pub moved_to: Option<CodeLocation>,
    /// Reason for the verdict; empty if intact.
    pub reason: String,
    /// The lines that changed, as a unified diff.
    pub diff: Option<String>,
}

/// Verdicts on an anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnchorStateKind {
    Intact,
    Moved,
    Unverifiable,
    Changed,
    Gone,
}

/// The evaluation of one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionState {
    pub condition: String,
    pub truth: TruthValue,
    pub reason: String,
}

/// A file or a folder.
#[derive(Clone, Debug)]
pub enum PathView {
    File(Box<FileView>),
    Folder(FolderView),
}

/// A file with the entries about it.
#[derive(Clone, Debug)]
pub struct FileView {
    pub path: RepoPath,
    /// The commit whose code is shown; the work tree if absent.
    pub revision: Option<String>,
    /// Other revisions to look at: the last commit and the base of this branch.
    pub revisions: Vec<String>,
    pub lines: Vec<CodeLine>,
    /// Set if the file is not shown, such as a binary file, with the reason.
    pub omitted: Option<String>,
    /// Entries anchored to lines of the file, in the order of lines.
    pub notes: Vec<CodeNote>,
    /// Entries about the whole file or a folder that contains it.
    pub about: Vec<EntryRow>,
    pub norms: Vec<EntryRow>,
    pub symbols: Vec<CodeSymbol>,
    /// Set if the work tree differs from the last commit.
    pub is_modified: bool,
    /// A citation that suits a decision about the code.
    pub suggested_citation: Option<String>,
}

/// One line of code as parts with a syntax class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeLine {
    pub parts: Vec<(CodeClass, String)>,
}

/// Syntax classes with a color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeClass {
    #[default]
    Plain,
    Keyword,
    Function,
    Type,
    Text,
    Number,
    Comment,
    Attribute,
}

/// An entry beside the code it is anchored to.
#[derive(Clone, Debug)]
pub struct CodeNote {
    pub row: EntryRow,
    pub anchor: AnchorState,
}

/// A symbol of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSymbol {
    pub name: String,
    pub lines: LineSpan,
}

/// A folder with the number of entries below each child.
#[derive(Clone, Debug, Default)]
pub struct FolderView {
    pub path: RepoPath,
    pub children: Vec<FolderChild>,
    pub about: Vec<EntryRow>,
}

/// A file or folder in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderChild {
    pub path: RepoPath,
    pub is_folder: bool,
    /// Entries anchored to it or below it.
    pub entries: u64,
    /// Those whose code changed or is gone; `None` before the first check of all entries.
    pub invalid: Option<u64>,
}

/// The effect of a branch on knowledge.
#[derive(Clone, Debug, Default)]
pub struct ChangeView {
    pub base: String,
    pub passes: bool,
    /// The verdict of each gate.
    pub gates: Vec<(String, bool, String)>,
    pub notes: Vec<CodeNote>,
    /// Files of the change, with their number of affected entries.
    pub files: Vec<(RepoPath, u64)>,
    /// Entries that the branch adds or changes, with the effect.
    pub ledger: Vec<(EntryId, String, String)>,
    /// The report for a pull request.
    pub markdown: String,
    pub suggested_citation: Option<String>,
}

/// Audited documents.
#[derive(Clone, Debug, Default)]
pub struct DocumentsView {
    pub documents: Vec<DocumentView>,
    /// Number of claims that can be imported.
    pub claims: u64,
}

/// One audited document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentView {
    pub path: String,
    pub claims: u64,
    pub findings: Vec<DocumentFinding>,
}

/// A problem in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFinding {
    pub line: Option<u32>,
    /// The text of the document that the finding is about.
    pub text: String,
    pub message: String,
}
