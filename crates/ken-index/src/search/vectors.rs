//! The vectors of entries, in blocks that are read one after the other.
//!
//! A block holds [`PER_BLOCK`] slots, one for each row key; a slot is the vector's length as a
//! number and its components. A slot of zeros stands for an entry without a vector.

use ken_embed::Vector;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::IndexError;

/// Small enough to be written again for one entry, large enough to be read quickly.
const PER_BLOCK: i64 = 64;

/// Bytes in front of the components.
const NORM_BYTES: usize = size_of::<f32>();

/// Returns the block an entry's vector is in, with the first and last key of that block.
pub(crate) fn block_of(key: i64) -> (i64, i64, i64) {
    let block = key.div_euclid(PER_BLOCK);
    let first = block * PER_BLOCK;
    (block, first, first + PER_BLOCK - 1)
}

/// Writes vectors, each block once if keys come in order.
pub(crate) struct Writer<'a> {
    db: &'a Connection,
    dimension: usize,
    /// The block at hand.
    open: Option<(i64, Vec<u8>)>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(db: &'a Connection, dimension: usize) -> Self {
        Self {
            db,
            dimension,
            open: None,
        }
    }

    /// Puts the vector of the entry under `key` in its place, or takes it away.
    pub(crate) fn put(&mut self, key: i64, vector: Option<&Vector>) -> Result<(), IndexError> {
        let (number, first, _) = block_of(key);
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

    /// Writes the block at hand.
    pub(crate) fn flush(&mut self) -> Result<(), IndexError> {
        if let Some((number, block)) = self.open.take() {
            self.db
                .prepare_cached("INSERT OR REPLACE INTO vectors VALUES (?1, ?2)")?
                .execute(params![number, block])?;
        }
        Ok(())
    }

    fn read(&self, number: i64) -> Result<Vec<u8>, IndexError> {
        let bytes = PER_BLOCK as usize * (NORM_BYTES + self.dimension);
        let block: Option<Vec<u8>> = self
            .db
            .prepare_cached("SELECT slots FROM vectors WHERE block = ?1")?
            .query_row([number], |row| row.get(0))
            .optional()?;
        Ok(block
            .filter(|block| block.len() == bytes)
            .unwrap_or_else(|| vec![0; bytes]))
    }
}

/// How near every entry's vector is to one vector.
#[derive(Debug, Default)]
pub(crate) struct Nearness {
    /// Row keys and cosines of entries that have a vector, in order of key.
    pub(crate) cosines: Vec<(i64, f64)>,
}

impl Nearness {
    /// Compares every stored vector with `to`.
    pub(crate) fn of(db: &Connection, to: &Vector) -> Result<Self, IndexError> {
        let mut cosines = Vec::new();
        let norm = to.norm();
        if norm == 0.0 {
            return Ok(Self { cosines });
        }
        let wide = Wide::of(to);
        let size = NORM_BYTES + to.components().len();
        let mut statement = db.prepare_cached("SELECT block, slots FROM vectors ORDER BY block")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let first = row.get::<_, i64>(0)? * PER_BLOCK;
            let slots = row.get_ref(1)?.as_blob().map_err(IndexError::damaged)?;
            for (key, slot) in (first..).zip(slots.chunks_exact(size)) {
                let Some((length, components)) = slot.split_first_chunk::<NORM_BYTES>() else {
                    continue;
                };
                let length = f64::from(f32::from_le_bytes(*length));
                if 0.0 < length {
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

    /// Keeps only entries `wanted` asks for.
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

    /// Returns the keys of the `count` nearest entries, in no order.
    pub(crate) fn nearest(&self, count: usize) -> Vec<i64> {
        let mut all: Vec<&(i64, f64)> = self.cosines.iter().collect();
        if count < all.len() {
            all.select_nth_unstable_by(count, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            all.truncate(count);
        }
        all.into_iter().map(|(key, _)| *key).collect()
    }
}

/// Components whose products are added up at a time.
const LANES: usize = 16;

/// A vector as it is compared with stored ones.
struct Wide(Vec<i16>);

impl Wide {
    fn of(vector: &Vector) -> Self {
        let mut wide: Vec<i16> = vector.components().iter().copied().map(i16::from).collect();
        wide.resize(wide.len().next_multiple_of(2 * LANES), 0);
        Self(wide)
    }

    /// Multiplies stored components with these; whole numbers, so no order of sums shows.
    ///
    /// Two products of components, at most 127 each way, fit 16 bits: half as many as 32 would, which
    /// is what the oldest processors we build for add at once.
    fn dot(&self, stored: &[u8]) -> i32 {
        let (chunks, rest) = stored.as_chunks::<{ 2 * LANES }>();
        let (with, _) = self.0.as_chunks::<{ 2 * LANES }>();
        let mut sum = 0;
        for (stored, with) in chunks.iter().zip(with) {
            sum += dot_chunk(stored, with);
        }
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
                let vector = Vector::quantise(&parts);
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
                    Wide::of(&vector).dot(&stored),
                    exact,
                    "{length} of {low}, {high}"
                );
            }
        }
    }
}
