//! In-memory segments, as the working tree of a branch would hold them.

use std::collections::BTreeMap;

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::{EventSet, LedgerState};
use ken_core::ledger::store::DerivedStore;
use ken_core::values::id::EventId;
use ken_index::{Index, ListedSegment, RefreshError, RefreshReport};

/// Files by name; every change gets a new modification time.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryBranch {
    pub(crate) files: BTreeMap<String, MemorySegment>,
    pub(crate) blanked: Vec<EventId>,
    ticks: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct MemorySegment {
    pub(crate) text: Vec<u8>,
    /// The complete lines of the text.
    copies: Vec<RecordedEvent>,
    pub(crate) modified_ns: u64,
    pub(crate) inode: u64,
}

/// Error of a read that a test makes fail.
#[derive(Debug)]
pub(crate) struct ReadFailure;

impl MemoryBranch {
    pub(crate) fn put(&mut self, name: &str, copies: &[RecordedEvent]) {
        let lines = copies.iter().flat_map(|copy| [copy.line(), "\n"]);
        let text = lines.collect::<String>().into_bytes();
        self.insert(name, text, copies.to_vec());
    }

    pub(crate) fn put_text(&mut self, name: &str, text: &[u8]) {
        let lines = text.split(|byte| *byte == b'\n');
        let copies = lines.filter_map(|line| RecordedEvent::parse(line).ok());
        self.insert(name, text.to_vec(), copies.collect());
    }

    fn insert(&mut self, name: &str, text: Vec<u8>, copies: Vec<RecordedEvent>) {
        self.ticks += 1;
        let file = MemorySegment {
            text,
            copies,
            modified_ns: self.ticks,
            inode: self.ticks,
        };
        self.files.insert(name.to_owned(), file);
    }

    pub(crate) fn append(&mut self, name: &str, copies: &[RecordedEvent]) {
        self.ticks += 1;
        let file = self.files.get_mut(name).unwrap();
        file.modified_ns = self.ticks;
        file.copies.extend_from_slice(copies);
        for copy in copies {
            file.text.extend_from_slice(copy.line().as_bytes());
            file.text.push(b'\n');
        }
    }

    /// Changes only the file's metadata.
    pub(crate) fn touch(&mut self, name: &str) {
        self.ticks += 1;
        let file = self.files.get_mut(name).unwrap();
        (file.modified_ns, file.inode) = (self.ticks, self.ticks);
    }

    pub(crate) fn listing(&self) -> Vec<ListedSegment> {
        let stat = |(name, file): (&String, &MemorySegment)| ListedSegment {
            name: name.clone(),
            len: file.text.len() as u64,
            modified_ns: file.modified_ns,
            inode: file.inode,
        };
        self.files.iter().map(stat).collect()
    }

    pub(crate) fn refresh(
        &self,
        index: &mut Index,
    ) -> Result<RefreshReport, RefreshError<ReadFailure>> {
        index.refresh(&self.listing(), &self.blanked, |name| {
            let file = self.files.get(name).ok_or(ReadFailure)?;
            Ok(file.text.clone())
        })
    }

    /// Returns the state that the fold derives from every complete line.
    pub(crate) fn folded(&self) -> LedgerState {
        let mut set = EventSet::with_redacted(self.blanked.iter().copied());
        for copy in self.files.values().flat_map(|file| &file.copies) {
            set.add(copy.clone());
        }
        set.fold()
    }

    /// Compares an index with the fold and with a new index, which it returns.
    pub(crate) fn check(&self, index: &Index) -> Index {
        let bytes = index.state().unwrap().to_canonical_json();
        assert_eq!(bytes, self.folded().to_canonical_json());
        let mut fresh = Index::open_in_memory().unwrap();
        self.refresh(&mut fresh).unwrap();
        assert_eq!(bytes, fresh.state().unwrap().to_canonical_json());
        fresh
    }
}
