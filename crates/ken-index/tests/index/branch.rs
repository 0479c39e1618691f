//! Segments in memory, as a branch might hold them.

use std::collections::BTreeMap;

use ken_core::event::Recorded;
use ken_core::id::EventId;
use ken_core::state::{EventSet, State};
use ken_core::store::Store;
use ken_index::{Index, RefreshError, Refreshed, SegmentStat};

/// Files by name; every change gets a new time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branch {
    pub(crate) files: BTreeMap<String, File>,
    pub(crate) blanked: Vec<EventId>,
    ticks: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) text: Vec<u8>,
    /// The whole lines of the text.
    copies: Vec<Recorded>,
    pub(crate) modified_ns: u64,
    pub(crate) inode: u64,
}

/// A read that fails only where a test wants it to.
#[derive(Debug)]
pub(crate) struct Unreadable;

impl Branch {
    pub(crate) fn put(&mut self, name: &str, copies: &[Recorded]) {
        let lines = copies.iter().flat_map(|copy| [copy.line(), "\n"]);
        let text = lines.collect::<String>().into_bytes();
        self.insert(name, text, copies.to_vec());
    }

    pub(crate) fn put_text(&mut self, name: &str, text: &[u8]) {
        let lines = text.split(|byte| *byte == b'\n');
        let copies = lines.filter_map(|line| Recorded::parse(line).ok());
        self.insert(name, text.to_vec(), copies.collect());
    }

    fn insert(&mut self, name: &str, text: Vec<u8>, copies: Vec<Recorded>) {
        self.ticks += 1;
        let file = File {
            text,
            copies,
            modified_ns: self.ticks,
            inode: self.ticks,
        };
        self.files.insert(name.to_owned(), file);
    }

    pub(crate) fn append(&mut self, name: &str, copies: &[Recorded]) {
        self.ticks += 1;
        let file = self.files.get_mut(name).unwrap();
        file.modified_ns = self.ticks;
        file.copies.extend_from_slice(copies);
        for copy in copies {
            file.text.extend_from_slice(copy.line().as_bytes());
            file.text.push(b'\n');
        }
    }

    /// Changes only what the file looks like from outside.
    pub(crate) fn touch(&mut self, name: &str) {
        self.ticks += 1;
        let file = self.files.get_mut(name).unwrap();
        (file.modified_ns, file.inode) = (self.ticks, self.ticks);
    }

    pub(crate) fn listing(&self) -> Vec<SegmentStat> {
        let stat = |(name, file): (&String, &File)| SegmentStat {
            name: name.clone(),
            len: file.text.len() as u64,
            modified_ns: file.modified_ns,
            inode: file.inode,
        };
        self.files.iter().map(stat).collect()
    }

    pub(crate) fn refresh(&self, index: &mut Index) -> Result<Refreshed, RefreshError<Unreadable>> {
        index.refresh(&self.listing(), &self.blanked, |name| {
            let file = self.files.get(name).ok_or(Unreadable)?;
            Ok(file.text.clone())
        })
    }

    /// Returns what follows from every whole line, by the fold alone.
    pub(crate) fn folded(&self) -> State {
        let mut set = EventSet::remembering(self.blanked.iter().copied());
        for copy in self.files.values().flat_map(|file| &file.copies) {
            set.add(copy.clone());
        }
        set.fold()
    }

    /// Compares an index with the fold and with one made from nothing, which is returned.
    pub(crate) fn check(&self, index: &Index) -> Index {
        let bytes = index.state().unwrap().to_bytes();
        assert_eq!(bytes, self.folded().to_bytes());
        let mut fresh = Index::open_in_memory().unwrap();
        self.refresh(&mut fresh).unwrap();
        assert_eq!(bytes, fresh.state().unwrap().to_bytes());
        fresh
    }
}
