//! Response bodies: read with limits, and decompressed as they are read.

use std::io::{self, BufReader, ErrorKind, Read};

use flate2::bufread::GzDecoder;

use crate::refusal::FetchRefusal;

/// Maximum size on the wire.
pub(crate) const PACKED_BYTES_MAX: u64 = 1 << 20;
/// Maximum size after decompression.
pub(crate) const BODY_BYTES_MAX: u64 = 2 << 20;
/// Maximum expansion, checked from [`RATIO_FROM_BYTES`] on: text compresses by less.
const RATIO_MAX: u64 = 100;
const RATIO_FROM_BYTES: u64 = 64 << 10;
const PIECE_BYTES: usize = 16 << 10;
/// Compressed bytes read ahead. Small, because what is read ahead makes a bomb look harmless.
const AHEAD_BYTES: usize = 1 << 10;

/// Content encoding of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentEncoding {
    Identity,
    Gzip,
}

impl ContentEncoding {
    /// Parses the header. Only one layer is allowed: nested compression multiplies the expansion.
    pub(crate) fn parse(header: Option<&str>) -> Result<Self, FetchRefusal> {
        match header.map(|it| it.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "identity") => Ok(Self::Identity),
            Some("gzip" | "x-gzip") => Ok(Self::Gzip),
            Some(_) => Err(FetchRefusal::Encoding),
        }
    }
}

/// A reader that counts what it reads and stops at a limit.
struct CountedReader<R> {
    inner: R,
    read: u64,
    max: u64,
    is_over: bool,
    failed: Option<io::Error>,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.inner.read(buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            Err(error) => {
                // Kept, because the decoder may replace it with an error of its own.
                self.failed = Some(error);
                return Err(ErrorKind::ConnectionAborted.into());
            }
        };
        self.read += count as u64;
        if self.read > self.max {
            self.is_over = true;
            return Err(ErrorKind::FileTooLarge.into());
        }
        Ok(count)
    }
}

/// Reads a body of at most `max` bytes, packed and unpacked.
pub(crate) fn read_body(
    body: impl Read,
    encoding: ContentEncoding,
    max: u64,
    describe: impl Fn(io::Error) -> &'static str,
) -> Result<Vec<u8>, FetchRefusal> {
    // The smaller limit is for bytes that expand; without compression, `max` is enough.
    let packed_max = match encoding {
        ContentEncoding::Identity => max,
        ContentEncoding::Gzip => max.min(PACKED_BYTES_MAX),
    };
    let mut packed = CountedReader {
        inner: body,
        read: 0,
        max: packed_max,
        is_over: false,
        failed: None,
    };
    let outcome = match encoding {
        ContentEncoding::Identity => read_pieces(&mut packed, max, |_| None),
        ContentEncoding::Gzip => {
            let ahead = BufReader::with_capacity(AHEAD_BYTES, &mut packed);
            let mut decoder = GzDecoder::new(ahead);
            read_pieces(&mut decoder, max, |decoder| {
                Some(decoder.get_ref().get_ref().read)
            })
        }
    };
    if packed.is_over {
        return Err(FetchRefusal::TooLarge(packed_max));
    }
    if let Some(error) = packed.failed {
        return Err(FetchRefusal::Unreachable(describe(error)));
    }
    outcome
}

/// Reads to the end; `packed` returns the compressed bytes read so far.
fn read_pieces<R: Read>(
    reader: &mut R,
    max: u64,
    packed: impl Fn(&R) -> Option<u64>,
) -> Result<Vec<u8>, FetchRefusal> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count = match reader.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return Err(FetchRefusal::Damaged),
        };
        bytes.extend_from_slice(&piece[..count]);
        let unpacked = bytes.len() as u64;
        let ratio = packed(reader).map_or(0, |packed| unpacked / packed.max(1));
        // Small bodies are exempt: their ratio says little, and they do no harm.
        if unpacked > RATIO_FROM_BYTES && ratio > RATIO_MAX {
            return Err(FetchRefusal::Bomb);
        }
        if unpacked > max {
            return Err(FetchRefusal::TooLarge(max));
        }
    }
}
