//! Vector storage in blocks, and cosine similarity over all of them.
//!
//! A block has [`SLOTS_PER_BLOCK`] slots, one per row key. A slot is the vector's norm followed by
//! its components. A slot of zeros means that the entry has no vector.

use ken_embed::Vector;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::IndexError;

/// Slots per block: small enough to rewrite for one entry, large enough to read sequentially.
const SLOTS_PER_BLOCK: i64 = 64;

/// Bytes of the norm before the components.
const NORM_BYTES: usize = size_of::<f32>();

/// Returns the block of an entry's vector, with the first and last row key of that block.
pub(crate) fn block_range(key: i64) -> (i64, i64, i64) {
    let block = key.div_euclid(SLOTS_PER_BLOCK);
    let first = block * SLOTS_PER_BLOCK;
    (block, first, first + SLOTS_PER_BLOCK - 1)
}

/// Writes vectors; each block is written once if keys arrive in order.
pub(crate) struct VectorWriter<'a> {
    db: &'a Connection,
    dimension: usize,
    /// The current block.
    open: Option<(i64, Vec<u8>)>,
}

impl<'a> VectorWriter<'a> {
    pub(crate) fn new(db: &'a Connection, dimension: usize) -> Self {
        Self {
            db,
            dimension,
            open: None,
        }
    }

    /// Sets or clears the vector of the entry under `key`.
    pub(crate) fn put(&mut self, key: i64, vector: Option<&Vector>) -> Result<(), IndexError> {
        // Consecutive keys share a block, so the open block is kept until a key needs another one.
        let (number, first, _) = block_range(key);
        if self.open.as_ref().is_none_or(|(open, _)| *open != number) {
            self.flush()?;
            self.open = Some((number, self.read(number)?));
        }
        let size = NORM_BYTES + self.dimension;
        let (_, block) = self.open.as_mut().expect("opened above");
        let slot = &mut block[(key - first) as usize * size..][..size];
        slot.fill(0);
        if let Some(vector) = vector {
            let (norm, components) = slot.split_at_mut(NORM_BYTES);
            norm.copy_from_slice(&(vector.norm() as f32).to_le_bytes());
            for (to, from) in components.iter_mut().zip(vector.components()) {
                *to = from.cast_unsigned();
            }
        }
        Ok(())
    }

    /// Writes the current block.
    pub(crate) fn flush(&mut self) -> Result<(), IndexError> {
        if let Some((number, block)) = self.open.take() {
            self.db
                .prepare_cached("INSERT OR REPLACE INTO vectors VALUES (?1, ?2)")?
                .execute(params![number, block])?;
        }
        Ok(())
    }

    fn read(&self, number: i64) -> Result<Vec<u8>, IndexError> {
        let bytes = SLOTS_PER_BLOCK as usize * (NORM_BYTES + self.dimension);
        let block: Option<Vec<u8>> = self
            .db
            .prepare_cached("SELECT slots FROM vectors WHERE block = ?1")?
            .query_row([number], |row| row.get(0))
            .optional()?;
        // A block of another size belongs to a model with another dimension and is discarded.
        Ok(block
            .filter(|block| block.len() == bytes)
            .unwrap_or_else(|| vec![0; bytes]))
    }
}

/// Cosine similarity of every stored vector to one vector.
#[derive(Debug, Default)]
pub(crate) struct CosineScores {
    /// Row keys and cosines of entries with a vector, ordered by key.
    pub(crate) cosines: Vec<(i64, f64)>,
}

impl CosineScores {
    /// Compares every stored vector with `to`.
    pub(crate) fn of(db: &Connection, to: &Vector) -> Result<Self, IndexError> {
        let mut cosines = Vec::new();
        let norm = to.norm();
        // The cosine to a zero vector is undefined.
        if norm == 0.0 {
            return Ok(Self { cosines });
        }
        let wide = WideVector::of(to);
        let size = NORM_BYTES + to.components().len();
        let mut statement = db.prepare_cached("SELECT block, slots FROM vectors ORDER BY block")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let first = row.get::<_, i64>(0)? * SLOTS_PER_BLOCK;
            let slots = row.get_ref(1)?.as_blob().map_err(IndexError::damaged)?;
            for (key, slot) in (first..).zip(slots.chunks_exact(size)) {
                let Some((length, components)) = slot.split_first_chunk::<NORM_BYTES>() else {
                    continue;
                };
                let length = f64::from(f32::from_le_bytes(*length));
                if length > 0.0 {
                    let dot = f64::from(wide.dot(components));
                    cosines.push((key, dot / (length * norm)));
                }
            }
        }
        Ok(Self { cosines })
    }

    /// Returns the cosine of the entry under `key`.
    pub(crate) fn get(&self, key: i64) -> Option<f64> {
        let found = self.cosines.binary_search_by_key(&key, |(key, _)| *key);
        found.ok().map(|at| self.cosines[at].1)
    }

    /// Keeps only the row keys that `wanted` accepts.
    pub(crate) fn retain(&mut self, wanted: impl Fn(i64) -> bool) {
        self.cosines.retain(|(key, _)| wanted(*key));
    }

    /// Returns the smallest and the largest cosine.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        let mut values = self.cosines.iter().map(|(_, cosine)| *cosine);
        let first = values.next()?;
        Some(values.fold((first, first), |(low, high), value| {
            (low.min(value), high.max(value))
        }))
    }

    /// Returns the keys of the `count` most similar entries, unordered.
    pub(crate) fn nearest(&self, count: usize) -> Vec<i64> {
        let mut all: Vec<&(i64, f64)> = self.cosines.iter().collect();
        if count < all.len() {
            // Selection is linear; the caller sorts only the few that remain.
            all.select_nth_unstable_by(count, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            all.truncate(count);
        }
        all.into_iter().map(|(key, _)| *key).collect()
    }
}

/// Number of partial sums computed in parallel.
const LANES: usize = 16;

/// A vector widened to 16 bits and padded to whole chunks, for the dot product.
struct WideVector(Vec<i16>);

impl WideVector {
    fn of(vector: &Vector) -> Self {
        let mut wide: Vec<i16> = vector.components().iter().copied().map(i16::from).collect();
        wide.resize(wide.len().next_multiple_of(2 * LANES), 0);
        Self(wide)
    }

    /// Returns the dot product with stored components; integer sums do not depend on their order.
    ///
    /// The sum of two products of components within ±127 fits in 16 bits. A SIMD register holds
    /// twice as many 16-bit as 32-bit lanes, including on the oldest processors we build for.
    fn dot(&self, stored: &[u8]) -> i32 {
        let (chunks, rest) = stored.as_chunks::<{ 2 * LANES }>();
        let (with, _) = self.0.as_chunks::<{ 2 * LANES }>();
        let mut sum = 0;
        for (stored, with) in chunks.iter().zip(with) {
            sum += dot_chunk(stored, with);
        }
        // The remainder is padded with zeros, which add nothing to the sum.
        let mut last = [0; 2 * LANES];
        last[..rest.len()].copy_from_slice(rest);
        let with = with.get(chunks.len());
        sum + with.map_or(0, |with| dot_chunk(&last, with))
    }
}

#[inline]
fn dot_chunk(stored: &[u8; 2 * LANES], with: &[i16; 2 * LANES]) -> i32 {
    let product = |at: usize| i16::from(stored[at].cast_signed()).wrapping_mul(with[at]);
    let pairs: [i16; LANES] =
        std::array::from_fn(|at| product(at).wrapping_add(product(at + LANES)));
    pairs.iter().copied().map(i32::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_exact_at_every_length_and_at_the_ends_of_the_range() {
        for length in [1, 15, 16, 31, 32, 33, 256, 384] {
            for (low, high) in [(-127_i8, 127_i8), (127, 127), (-127, -127), (3, -5)] {
                let parts: Vec<f64> = (0..length)
                    .map(|at| f64::from(if at % 3 == 0 { low } else { high }))
                    .collect();
                let vector = Vector::quantize(&parts);
                let stored: Vec<u8> = vector
                    .components()
                    .iter()
                    .map(|c| c.cast_unsigned())
                    .collect();
                let exact: i32 = vector
                    .components()
                    .iter()
                    .map(|c| i32::from(*c).pow(2))
                    .sum();
                assert_eq!(
                    WideVector::of(&vector).dot(&stored),
                    exact,
                    "{length} of {low}, {high}"
                );
            }
        }
    }
}
