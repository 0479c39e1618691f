//! Ledgers to measure, written once and kept beside the build output.
//!
//! Each is a git repository of its own, so that nothing looks for the ledger of this checkout.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ken_core::values::id::IdSource as _;
use ken_core::values::kind::Memory;
use ken_engine::{Engine, GitEnv, init, runtime::SystemRuntime};
use ken_ledger::layout::{KEN_DIR, SegmentForm, SegmentName};
use ken_ledger::pack;
use serde::{Deserialize, Serialize};

use super::story::{CLONES, Dice, Story, actor};

/// Part of every cached folder's name: another story needs another number.
const EDITION: u32 = 1;
const SEED: u64 = 20_260_102;
/// Of so many segments one is written into a pack.
const SEGMENTS_PER_PACKED: usize = 4;
/// Bytes of lines in one pack.
const PACK_BYTES: usize = 16 << 20;
/// Ids kept for lookups.
const IDS_KEPT: usize = 1000;
const STAMP_FILE: &str = "fixture.json";

/// A ledger on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fixture {
    pub(crate) events: u64,
    pub(crate) entries: u64,
    /// Bytes of lines, unpacked.
    pub(crate) bytes: u64,
    pub(crate) segments: BTreeSet<String>,
    pub(crate) packs: usize,
    /// Some of its entries.
    pub(crate) ids: Vec<String>,
    /// Questions some of them answer.
    #[serde(default)]
    pub(crate) queries: Vec<String>,
    #[serde(skip)]
    pub(crate) root: PathBuf,
}

/// How segments are cut.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    /// As many bytes as a writer puts into one; some are packed.
    Full,
    /// So many events each, none packed.
    Events(usize),
    /// Like [`Cut::Full`], and every event is a lesson.
    Lessons,
}

/// Returns the ledger of `events` events, written now unless it is there.
pub(crate) fn ledger(cache: &Path, events: u64, cut: Cut) -> Result<Fixture, String> {
    let kind = match cut {
        Cut::Full => "full".to_owned(),
        Cut::Events(count) => format!("by-{count}"),
        Cut::Lessons => "lessons".to_owned(),
    };
    let folder = cache.join(format!("ledger-{EDITION}-{events}-{kind}"));
    let root = folder.join("tree");
    let stamp = folder.join(STAMP_FILE);
    if let Ok(text) = fs::read_to_string(&stamp) {
        let kept: Fixture = serde_json::from_str(&text).map_err(said("cannot read the stamp"))?;
        let fixture = Fixture { root, ..kept };
        fixture.restore()?;
        return Ok(fixture);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(said("cannot remove half a ledger"))?;
    }
    repository(&root)?;
    let fixture = write(&root, events, cut)?;
    let text = serde_json::to_string(&fixture).map_err(said("cannot write the stamp"))?;
    fs::write(&stamp, text).map_err(said("cannot write the stamp"))?;
    Ok(fixture)
}

/// Makes an empty git repository with a ledger.
pub(crate) fn repository(root: &Path) -> Result<(), String> {
    fs::create_dir_all(root).map_err(said("cannot create a folder"))?;
    git(root, &["-c", "init.defaultBranch=main", "init", "--quiet"])?;
    for (key, value) in [("user.name", "bench"), ("user.email", "bench@example.org")] {
        git(root, &["config", key, value])?;
    }
    init::init(root, &GitEnv::default()).map_err(said("cannot make a ledger"))?;
    Ok(())
}

/// Opens the ledger at `root`.
pub(crate) fn open(root: &Path) -> Result<Engine, String> {
    let by = Some(actor("agent:bench"));
    Engine::open(root, &GitEnv::default(), by, Box::new(SystemRuntime))
        .map_err(said("cannot open the ledger"))
}

/// Runs git in `folder`.
pub(crate) fn git(folder: &Path, args: &[&str]) -> Result<(), String> {
    super::measure::run_quietly(Path::new("git"), args, folder)
}

/// Returns a function that puts what was tried before why it failed.
pub(crate) fn said<E: std::error::Error>(what: &str) -> impl FnOnce(E) -> String {
    move |error| {
        let mut text = format!("{what}: {error}");
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        text
    }
}

impl Fixture {
    /// Takes away what an earlier run added to the ledger.
    fn restore(&self) -> Result<(), String> {
        for memory in Memory::ALL {
            let dir = self.root.join(KEN_DIR).join(memory.name()).join("v1");
            let Ok(files) = fs::read_dir(&dir) else {
                continue;
            };
            for file in files.flatten() {
                let name = format!("{memory}/v1/{}", file.file_name().to_string_lossy());
                if !self.segments.contains(&name) {
                    fs::remove_file(file.path()).map_err(said("cannot remove a segment"))?;
                }
            }
        }
        let state = self.root.join(".git").join("ken");
        if state.exists() {
            fs::remove_dir_all(state).map_err(said("cannot remove old state"))?;
        }
        Ok(())
    }
}

fn write(root: &Path, events: u64, cut: Cut) -> Result<Fixture, String> {
    let mut story = match cut {
        Cut::Full | Cut::Events(_) => Story::new(SEED),
        Cut::Lessons => Story::lessons(SEED),
    };
    let mut files = Files::new(root, cut);
    for _ in 0..events {
        let (clone, event) = story.tell();
        files.take(clone, event.event.memory(), event.line())?;
    }
    files.finish()?;
    let step = (story.entries().len() / IDS_KEPT).max(1);
    Ok(Fixture {
        events,
        entries: story.entries().len() as u64,
        bytes: files.bytes,
        segments: files.written,
        packs: files.packs,
        ids: story
            .entries()
            .step_by(step)
            .map(|id| id.to_string())
            .collect(),
        queries: story.queries().to_vec(),
        root: root.to_owned(),
    })
}

/// Segments being filled.
struct Files {
    ken: PathBuf,
    cut: Cut,
    dice: Dice,
    /// One for each clone and memory: text and events.
    open: Vec<(String, usize)>,
    to_pack: [String; Memory::ALL.len()],
    filled: usize,
    written: BTreeSet<String>,
    packs: usize,
    bytes: u64,
}

impl Files {
    fn new(root: &Path, cut: Cut) -> Self {
        Self {
            ken: root.join(KEN_DIR),
            cut,
            dice: Dice::new(SEED + 1),
            open: vec![(String::new(), 0); CLONES * Memory::ALL.len()],
            to_pack: Default::default(),
            filled: 0,
            written: BTreeSet::new(),
            packs: 0,
            bytes: 0,
        }
    }

    fn take(&mut self, clone: usize, memory: Memory, line: &str) -> Result<(), String> {
        let slot = clone * Memory::ALL.len() + memory as usize;
        let (text, events) = &mut self.open[slot];
        text.push_str(line);
        text.push('\n');
        *events += 1;
        self.bytes += line.len() as u64 + 1;
        let full = match self.cut {
            Cut::Full | Cut::Lessons => {
                ken_ledger::SEGMENT_BYTES_MAX <= (text.len() + line.len()) as u64
            }
            Cut::Events(count) => count <= *events,
        };
        if full { self.close(slot) } else { Ok(()) }
    }

    fn close(&mut self, slot: usize) -> Result<(), String> {
        let (text, _) = std::mem::take(&mut self.open[slot]);
        if text.is_empty() {
            return Ok(());
        }
        let memory = Memory::ALL[slot % Memory::ALL.len()];
        self.filled += 1;
        let packed = matches!(self.cut, Cut::Full | Cut::Lessons)
            && self.filled.is_multiple_of(SEGMENTS_PER_PACKED);
        if !packed {
            return self.put(memory, SegmentForm::Lines, text.as_bytes());
        }
        self.to_pack[memory as usize].push_str(&text);
        if self.to_pack[memory as usize].len() >= PACK_BYTES {
            self.pack(memory)?;
        }
        Ok(())
    }

    fn pack(&mut self, memory: Memory) -> Result<(), String> {
        let text = std::mem::take(&mut self.to_pack[memory as usize]);
        if text.is_empty() {
            return Ok(());
        }
        self.packs += 1;
        let bytes = pack::encode(&text, self.dice.random());
        self.put(memory, SegmentForm::Pack, &bytes)
    }

    fn finish(&mut self) -> Result<(), String> {
        for slot in 0..self.open.len() {
            self.close(slot)?;
        }
        for memory in Memory::ALL {
            self.pack(memory)?;
        }
        Ok(())
    }

    fn put(&mut self, memory: Memory, form: SegmentForm, bytes: &[u8]) -> Result<(), String> {
        let now = "2026-01-02T03:04:05Z".parse().expect("a time");
        let name = SegmentName::new(memory, form, now, self.dice.random()).path();
        fs::write(self.ken.join(&name), bytes).map_err(said("cannot write a segment"))?;
        self.written.insert(name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_holds_what_it_says_and_forgets_what_was_added() {
        let cache = tempfile::tempdir().unwrap();
        let made = ledger(cache.path(), 200, Cut::Events(20)).unwrap();
        let engine = open(&made.root).unwrap();
        assert_eq!(engine.check_ledger().unwrap().events, 200);
        assert_eq!(engine.state().unwrap().entries.len(), 20);
        assert!(engine.find(&made.ids[7]).is_ok());
        let strange = made
            .root
            .join(".ken/semantic/v1/2026-01-02t03-04-abcdef.jsonl");
        fs::write(&strange, "").unwrap();
        let again = ledger(cache.path(), 200, Cut::Events(20)).unwrap();
        assert!(!strange.exists());
        assert_eq!(again.segments, made.segments);
    }
}
