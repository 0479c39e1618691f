//! File format of a backup: a gzip stream of lines.
//!
//! The first line is a header. Each table follows as a line with its name and columns, its rows in
//! PostgreSQL's text format for `COPY`, a line `\.`, and a line with their number and checksum. The
//! last line has the digests of all workspaces; without it the file is incomplete.

use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::{BackupError, WorkspaceDigest};

/// Value of `schema` in the header.
const SCHEMA: &str = "ken.hub.backup.v1";

/// Line after the rows of a table. No row equals it, because `COPY` doubles a backslash.
const END_OF_ROWS: &[u8] = b"\\.\n";

/// Maximum bytes of a row: PostgreSQL's limit of a field.
const ROW_BYTES_MAX: u64 = 1 << 30;

/// Maximum bytes of a line with metadata.
const LINE_BYTES_MAX: u64 = 1 << 30;

/// A line with metadata.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
enum ArchiveLine {
    Header(ArchiveHeader),
    Table(TableHeader),
    Rows(TableChecksum),
    End(ArchiveEnd),
}

/// First line of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ArchiveHeader {
    pub(super) schema: String,
    /// When the snapshot was taken.
    pub(super) at: String,
    /// Version of the program that wrote it.
    pub(super) program: String,
    /// Names of the executed migrations, oldest first.
    pub(super) migrations: Vec<String>,
}

/// Line before the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableHeader {
    pub(super) table: String,
    pub(super) columns: Vec<String>,
}

/// Line after the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableChecksum {
    pub(super) rows: u64,
    pub(super) blake3: String,
}

/// Last line of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ArchiveEnd {
    pub(super) workspaces: Vec<WorkspaceDigest>,
}

impl ArchiveHeader {
    pub(super) fn new(at: String, migrations: Vec<String>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            at,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            migrations,
        }
    }
}

/// Writes a backup.
pub(super) struct ArchiveWriter<W: Write> {
    out: GzEncoder<W>,
    hasher: blake3::Hasher,
    rows: u64,
}

impl<W: Write> ArchiveWriter<W> {
    pub(super) fn begin(out: W, header: ArchiveHeader) -> io::Result<Self> {
        let mut writer = Self {
            // Fast: a backup holds a snapshot open.
            out: GzEncoder::new(out, Compression::fast()),
            hasher: blake3::Hasher::new(),
            rows: 0,
        };
        writer.line(&ArchiveLine::Header(header))?;
        Ok(writer)
    }

    fn line(&mut self, line: &ArchiveLine) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }

    pub(super) fn begin_table(&mut self, table: TableHeader) -> io::Result<()> {
        self.hasher.reset();
        self.rows = 0;
        self.line(&ArchiveLine::Table(table))
    }

    /// Writes one row as `COPY` sent it, with its newline.
    pub(super) fn row(&mut self, row: &[u8]) -> io::Result<()> {
        self.hasher.update(row);
        self.rows += 1;
        self.out.write_all(row)
    }

    /// Ends the rows of a table and returns their number.
    pub(super) fn end_table(&mut self) -> io::Result<u64> {
        self.out.write_all(END_OF_ROWS)?;
        let blake3 = self.hasher.finalize().to_hex().to_string();
        let rows = self.rows;
        self.line(&ArchiveLine::Rows(TableChecksum { rows, blake3 }))?;
        Ok(rows)
    }

    pub(super) fn finish(mut self, end: ArchiveEnd) -> io::Result<W> {
        self.line(&ArchiveLine::End(end))?;
        self.out.finish()
    }
}

/// Next part of a backup.
#[derive(Debug)]
pub(super) enum ArchivePart {
    Table(TableHeader),
    End(ArchiveEnd),
}

/// Reads a backup.
pub(super) struct ArchiveReader<R: Read> {
    input: BufReader<GzDecoder<R>>,
    hasher: blake3::Hasher,
    rows: u64,
    buffer: Vec<u8>,
}

impl<R: Read> ArchiveReader<R> {
    pub(super) fn open(input: R) -> Result<(Self, ArchiveHeader), BackupError> {
        let mut reader = Self {
            input: BufReader::new(GzDecoder::new(input)),
            hasher: blake3::Hasher::new(),
            rows: 0,
            buffer: Vec::new(),
        };
        match reader.line()? {
            ArchiveLine::Header(header) if header.schema == SCHEMA => Ok((reader, header)),
            ArchiveLine::Header(header) => Err(BackupError::Damaged(format!(
                "its format is `{}`, and this version of Ken reads `{SCHEMA}`",
                header.schema
            ))),
            ArchiveLine::Table(_) | ArchiveLine::Rows(_) | ArchiveLine::End(_) => {
                Err(damaged("it has no header"))
            }
        }
    }

    /// Returns the next table, or the end.
    pub(super) fn next_part(&mut self) -> Result<ArchivePart, BackupError> {
        self.hasher.reset();
        self.rows = 0;
        match self.line()? {
            ArchiveLine::Table(table) => Ok(ArchivePart::Table(table)),
            ArchiveLine::End(end) => {
                self.check_end()?;
                Ok(ArchivePart::End(end))
            }
            ArchiveLine::Header(_) | ArchiveLine::Rows(_) => Err(damaged("a table is missing")),
        }
    }

    /// Returns the next row of the table; `None` after the last one, whose checksum is verified.
    pub(super) fn next_row(&mut self) -> Result<Option<&[u8]>, BackupError> {
        self.read_line(ROW_BYTES_MAX)?;
        if self.buffer == END_OF_ROWS {
            self.check_rows()?;
            return Ok(None);
        }
        self.hasher.update(&self.buffer);
        self.rows += 1;
        Ok(Some(&self.buffer))
    }

    /// Reads the checksum of the gzip stream, and refuses anything after the last line.
    fn check_end(&mut self) -> Result<(), BackupError> {
        match self.input.fill_buf() {
            Ok([]) => Ok(()),
            Ok(_) => Err(damaged("it goes on after its end")),
            Err(error) if is_format_error(&error) => Err(damaged("it ends early")),
            Err(error) => Err(error.into()),
        }
    }

    fn check_rows(&mut self) -> Result<(), BackupError> {
        let found = (self.rows, self.hasher.finalize().to_hex().to_string());
        let ArchiveLine::Rows(expected) = self.line()? else {
            return Err(damaged("a checksum is missing"));
        };
        if found != (expected.rows, expected.blake3) {
            return Err(damaged("a checksum does not match"));
        }
        Ok(())
    }

    fn line(&mut self) -> Result<ArchiveLine, BackupError> {
        self.read_line(LINE_BYTES_MAX)?;
        serde_json::from_slice(&self.buffer).map_err(|_| damaged("a line cannot be read"))
    }

    fn read_line(&mut self, max: u64) -> Result<(), BackupError> {
        self.buffer.clear();
        let mut limited = (&mut self.input).take(max);
        let read = limited.read_until(b'\n', &mut self.buffer);
        match read {
            Ok(_) if self.buffer.ends_with(b"\n") => Ok(()),
            Ok(_) => Err(damaged("it ends early")),
            Err(error) if is_format_error(&error) => {
                Err(damaged("it is not a gzip file, or it ends early"))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns whether an error is about the content of the file, not about reading it.
fn is_format_error(error: &io::Error) -> bool {
    let kinds = [
        io::ErrorKind::InvalidData,
        io::ErrorKind::InvalidInput,
        io::ErrorKind::UnexpectedEof,
    ];
    kinds.contains(&error.kind())
}

fn damaged(what: &str) -> BackupError {
    BackupError::Damaged(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let header = ArchiveHeader::new("now".to_owned(), vec!["0001_x".to_owned()]);
        let mut writer = ArchiveWriter::begin(Vec::new(), header).expect("memory");
        let table = TableHeader {
            table: "events".to_owned(),
            columns: vec!["id".to_owned()],
        };
        writer.begin_table(table).expect("memory");
        writer.row(b"one\t\\\\.\n").expect("memory");
        writer.row(b"\\\\.\n").expect("memory");
        assert_eq!(writer.end_table().expect("memory"), 2);
        let end = ArchiveEnd {
            workspaces: Vec::new(),
        };
        writer.finish(end).expect("memory")
    }

    /// Reads everything; returns the rows.
    fn read(bytes: &[u8]) -> Result<Vec<Vec<u8>>, BackupError> {
        let (mut reader, _) = ArchiveReader::open(bytes)?;
        let mut rows = Vec::new();
        while let ArchivePart::Table(_) = reader.next_part()? {
            while let Some(row) = reader.next_row()? {
                rows.push(row.to_vec());
            }
        }
        Ok(rows)
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let rows = read(&archive()).expect("a valid archive");
        assert_eq!(rows, [b"one\t\\\\.\n".to_vec(), b"\\\\.\n".to_vec()]);
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_refused() {
        let whole = archive();
        for end in 0..whole.len() {
            let refused = read(&whole[..end]).expect_err("a part");
            assert!(
                matches!(refused, BackupError::Damaged(_)),
                "cut at {end}: {refused:?}"
            );
        }
    }

    #[test]
    fn a_changed_row_does_not_match_its_checksum() {
        let mut text = Vec::new();
        GzDecoder::new(&archive()[..])
            .read_to_end(&mut text)
            .expect("text");
        let at = text
            .windows(3)
            .position(|it| it == b"one")
            .expect("the row");
        text[at] = b'O';
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&text).expect("memory");
        let refused = read(&packed.finish().expect("memory"));
        let said = refused.expect_err("a changed row").to_string();
        assert!(said.ends_with("a checksum does not match"), "{said}");
    }
}
