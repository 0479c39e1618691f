//! Packs: many lines in one compressed file whose bytes resemble no other file.
//!
//! Git pairs similar deleted and added files as renames and then merges edits into the wrong one.
//! Therefore the compressed lines are XORed with a keystream derived from a random salt: two packs
//! share no content, even with the same events.
//!
//! Layout: [`MAGIC`], 16 bytes of salt, then, XORed with the keystream, the lines (each with its
//! newline) as raw deflate and the BLAKE3 hash of the deflated bytes and the lines. The hash covers
//! both because deflate ignores a few padding bits, and every flipped bit must be detected.

use std::borrow::Cow;
use std::io::{self, Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::layout::SegmentForm;

/// Magic number at the start of every pack.
pub const MAGIC: &[u8; 8] = b"KENPACK1";
/// Maximum bytes of lines per pack; protects against decompression bombs.
pub const TEXT_BYTES_MAX: usize = 64 * 1024 * 1024;

const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;
// Distinct prefixes keep the keystream and the hash independent of each other.
const KEY_CONTEXT: &[u8] = b"ken.pack.v1.key\n";
const HASH_CONTEXT: &[u8] = b"ken.pack.v1.hash\n";

/// Failure to decode a pack.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error("the file does not start with {}", String::from_utf8_lossy(MAGIC))]
    Magic,
    #[error("the file is too short for a pack")]
    Short,
    #[error("the pack contains more than {TEXT_BYTES_MAX} bytes of lines")]
    TooLong,
    #[error("the pack cannot be decompressed")]
    Inflate { source: io::Error },
    #[error("the pack's hash does not match its content")]
    Hash,
}

/// Encodes lines, each with its newline, as a pack.
///
/// # Panics
/// If `text` is longer than [`TEXT_BYTES_MAX`]; callers split.
pub fn encode(text: &str, salt: u128) -> Vec<u8> {
    assert!(
        text.len() <= TEXT_BYTES_MAX,
        "callers split what is too long for one pack"
    );
    let salt = salt.to_be_bytes();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(text.as_bytes())
        .expect("a vector takes every byte");
    let mut payload = encoder.finish().expect("a vector takes every byte");
    let hash = hash(&payload, text.as_bytes());
    payload.extend_from_slice(&hash);
    apply_keystream(&salt, &mut payload);
    [MAGIC.as_slice(), &salt, &payload].concat()
}

/// Returns the lines of a segment's bytes, decompressing a pack.
pub fn decode_lines(form: SegmentForm, bytes: &[u8]) -> Result<Cow<'_, [u8]>, PackError> {
    match form {
        SegmentForm::Lines => Ok(Cow::Borrowed(bytes)),
        SegmentForm::Pack => decode(bytes).map(Cow::Owned),
    }
}

/// Decodes a pack and verifies every byte of it.
pub fn decode(bytes: &[u8]) -> Result<Vec<u8>, PackError> {
    let rest = bytes
        .strip_prefix(MAGIC.as_slice())
        .ok_or(PackError::Magic)?;
    let (salt, payload) = rest
        .split_first_chunk::<SALT_BYTES>()
        .ok_or(PackError::Short)?;
    let mut payload = payload.to_owned();
    apply_keystream(salt, &mut payload);
    let (deflated, stored) = payload
        .split_last_chunk::<HASH_BYTES>()
        .ok_or(PackError::Short)?;
    let text = inflate(deflated)?;
    if hash(deflated, &text) != *stored {
        return Err(PackError::Hash);
    }
    Ok(text)
}

fn inflate(deflated: &[u8]) -> Result<Vec<u8>, PackError> {
    let mut text = Vec::new();
    // One byte more than allowed, so that a text that is too long is distinguishable from one of
    // exactly the maximum.
    let limit = TEXT_BYTES_MAX as u64 + 1;
    DeflateDecoder::new(deflated)
        .take(limit)
        .read_to_end(&mut text)
        .map_err(|source| PackError::Inflate { source })?;
    if text.len() > TEXT_BYTES_MAX {
        Err(PackError::TooLong)
    } else {
        Ok(text)
    }
}

fn hash(deflated: &[u8], text: &[u8]) -> [u8; HASH_BYTES] {
    *blake3::Hasher::new()
        .update(HASH_CONTEXT)
        .update(deflated)
        .update(text)
        .finalize()
        .as_bytes()
}

/// XORs `bytes` with the keystream of `salt`; applying it twice restores them.
fn apply_keystream(salt: &[u8; SALT_BYTES], bytes: &mut [u8]) {
    const CHUNK: usize = 4096;
    let mut stream = blake3::Hasher::new()
        .update(KEY_CONTEXT)
        .update(salt)
        .finalize_xof();
    let mut key = [0; CHUNK];
    for chunk in bytes.chunks_mut(CHUNK) {
        stream.fill(&mut key);
        for (byte, key) in chunk.iter_mut().zip(&key) {
            *byte ^= key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_back() {
        for text in ["", "a\n", &"line of a segment\n".repeat(5000)] {
            assert_eq!(decode(&encode(text, 7)).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_seen() {
        let pack = encode(&"some line of a segment\n".repeat(20), 7);
        for at in 0..pack.len() {
            assert!(decode(&pack[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut bad = pack.clone();
                bad[at] ^= 1 << bit;
                assert!(decode(&bad).is_err(), "bit {bit} of byte {at}");
            }
        }
        assert!(decode(&[pack.as_slice(), b"x"].concat()).is_err());
    }

    #[test]
    fn two_packs_of_the_same_lines_share_nothing_but_the_magic() {
        let text = "some line of a segment\n".repeat(200);
        let (a, b) = (encode(&text, 1), encode(&text, 2));
        let same = a.iter().zip(&b).skip(24).filter(|(a, b)| a == b).count();
        assert!(same < a.len() / 16, "{same} of {} bytes are equal", a.len());
    }

    #[test]
    fn a_pack_that_explodes_is_refused() {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&vec![b'a'; TEXT_BYTES_MAX + 1]).unwrap();
        let mut payload = encoder.finish().unwrap();
        payload.extend_from_slice(&[0; HASH_BYTES]);
        apply_keystream(&[0; SALT_BYTES], &mut payload);
        let bomb = [MAGIC.as_slice(), &[0; SALT_BYTES], &payload].concat();
        assert!(matches!(decode(&bomb), Err(PackError::TooLong)));
    }
}
