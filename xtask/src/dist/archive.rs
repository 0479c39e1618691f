//! Archives with reproducible bytes: tar, gzip, zip and ar.
//!
//! Every file has the same date and owner, and files are sorted by the caller. No program of the
//! system is used, because tar and zip differ between systems.

use std::io::Write as _;

pub(super) use flate2::Compression;
use flate2::Crc;
use flate2::write::{DeflateEncoder, GzEncoder};

/// Date of every file: 1980-01-01, the earliest that zip can express.
const EPOCH_SECONDS: u64 = 315_532_800;
const ZIP_DATE: u16 = 0x21;

const TAR_BLOCK_BYTES: usize = 512;
const TAR_NAME_BYTES_MAX: usize = 100;

/// Mode of a program and of any other file.
pub(super) const PROGRAM_MODE: u32 = 0o755;
pub(super) const FILE_MODE: u32 = 0o644;

/// A file of an archive. A path that ends in `/` is a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchiveFile {
    pub(super) path: String,
    pub(super) mode: u32,
    pub(super) bytes: Vec<u8>,
}

impl ArchiveFile {
    pub(super) fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            mode: FILE_MODE,
            bytes: bytes.into(),
        }
    }

    pub(super) fn with_mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    /// Returns the file below `folder`, which ends in `/`.
    pub(super) fn below(&self, folder: &str) -> Self {
        Self {
            path: format!("{folder}{}", self.path),
            ..self.clone()
        }
    }
}

/// Writes a tar archive in the ustar format.
pub(super) fn tar(files: &[ArchiveFile]) -> Result<Vec<u8>, String> {
    let mut archive = Vec::new();
    for file in files {
        archive.extend(tar_header(file)?);
        archive.extend(&file.bytes);
        let rest = file.bytes.len().next_multiple_of(TAR_BLOCK_BYTES) - file.bytes.len();
        archive.resize(archive.len() + rest, 0);
    }
    archive.resize(archive.len() + 2 * TAR_BLOCK_BYTES, 0);
    Ok(archive)
}

fn tar_header(file: &ArchiveFile) -> Result<[u8; TAR_BLOCK_BYTES], String> {
    if file.path.len() > TAR_NAME_BYTES_MAX {
        return Err(format!("`{}` is too long for a tar archive", file.path));
    }
    let mut header = [0; TAR_BLOCK_BYTES];
    let mut put = |at: usize, text: &str| {
        header[at..at + text.len()].copy_from_slice(text.as_bytes());
    };
    put(0, &file.path);
    put(100, &format!("{:07o}", file.mode));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{:011o}", file.bytes.len()));
    put(136, &format!("{EPOCH_SECONDS:011o}"));
    // The checksum is computed with spaces in its own place.
    put(148, "        ");
    put(156, if file.path.ends_with('/') { "5" } else { "0" });
    put(257, "ustar");
    put(263, "00");
    put(265, "root");
    put(297, "root");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

/// Compresses with gzip, without name and date.
pub(super) fn gzip(bytes: &[u8], level: Compression) -> Result<Vec<u8>, String> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    packed.map_err(|error| format!("cannot compress: {error}"))
}

/// Writes an ar archive, the container of `.deb`.
pub(super) fn ar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let size = bytes.len();
        let header = format!(
            "{name:<16}{EPOCH_SECONDS:<12}{0:<6}{0:<6}{1:<8}{size:<10}`\n",
            0, 100_644
        );
        archive.extend(header.as_bytes());
        archive.extend(bytes);
        if size % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

/// Writes a zip archive with Unix modes.
pub(super) fn zip(files: &[ArchiveFile], level: Compression) -> Result<Vec<u8>, String> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for file in files {
        let offset = zip_size(archive.len())?;
        let mut checksum = Crc::new();
        checksum.update(&file.bytes);
        let mut encoder = DeflateEncoder::new(Vec::new(), level);
        let packed = encoder
            .write_all(&file.bytes)
            .and_then(|()| encoder.finish());
        let packed = packed.map_err(|error| format!("cannot compress: {error}"))?;
        let common = zip_fields(file, checksum.sum(), zip_size(packed.len())?)?;
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(file.path.as_bytes());
        archive.extend(&packed);
        // 3 << 8: made on Unix, so that the upper half of the attributes is the mode.
        directory.extend(b"PK\x01\x02");
        directory.extend(0x0314_u16.to_le_bytes());
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend(((0o100_000 | file.mode) << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(file.path.as_bytes());
    }
    let count = u16::try_from(files.len()).map_err(|_| "too many files for zip".to_owned())?;
    let start = zip_size(archive.len())?;
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend(count.to_le_bytes());
    archive.extend(count.to_le_bytes());
    archive.extend(zip_size(directory.len())?.to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0; 2]);
    Ok(archive)
}

/// Fields that the local header and the directory share, from the version to the extra length.
fn zip_fields(file: &ArchiveFile, checksum: u32, packed: u32) -> Result<Vec<u8>, String> {
    let name = u16::try_from(file.path.len()).map_err(|_| "a path is too long".to_owned())?;
    let mut fields = Vec::new();
    // Version 2.0, flag for UTF-8 names, method deflate, time 0.
    for field in [20_u16, 0x0800, 8, 0, ZIP_DATE] {
        fields.extend(field.to_le_bytes());
    }
    for field in [checksum, packed, zip_size(file.bytes.len())?] {
        fields.extend(field.to_le_bytes());
    }
    fields.extend(name.to_le_bytes());
    fields.extend([0; 2]);
    Ok(fields)
}

fn zip_size(bytes: usize) -> Result<u32, String> {
    u32::try_from(bytes).map_err(|_| "a zip archive is limited to 4 GB".to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_tar_header_has_the_checksum_that_readers_compute() {
        let file = ArchiveFile::new("bin/ken", *b"x").with_mode(PROGRAM_MODE);
        let archive = tar(&[file]).unwrap();
        assert_eq!(archive.len(), 4 * TAR_BLOCK_BYTES);
        let header = &archive[..TAR_BLOCK_BYTES];
        let stored = std::str::from_utf8(&header[148..154]).unwrap();
        let computed: u32 = header
            .iter()
            .enumerate()
            .map(|(at, byte)| {
                if (148..156).contains(&at) {
                    32
                } else {
                    u32::from(*byte)
                }
            })
            .sum();
        assert_eq!(u32::from_str_radix(stored, 8), Ok(computed));
        assert_eq!(archive[TAR_BLOCK_BYTES], b'x');
    }

    #[test]
    fn gzip_gives_the_bytes_back() {
        let mut read = Vec::new();
        let packed = gzip(b"knowledge", Compression::best()).unwrap();
        flate2::read::GzDecoder::new(packed.as_slice())
            .read_to_end(&mut read)
            .unwrap();
        assert_eq!(read, b"knowledge");
    }

    #[test]
    fn members_of_ar_start_at_even_offsets() {
        let archive = ar(&[("a", b"odd".to_vec()), ("b", b"x".to_vec())]);
        assert_eq!(&archive[8 + 60 + 4..][..1], b"b");
    }

    #[test]
    fn a_path_that_tar_cannot_store_is_an_error() {
        let file = ArchiveFile::new("x".repeat(TAR_NAME_BYTES_MAX + 1), []);
        assert!(tar(&[file]).is_err());
    }
}
