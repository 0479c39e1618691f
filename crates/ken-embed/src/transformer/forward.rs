//! Forward pass of a BERT encoder on the CPU in 32-bit floats.
//!
//! The texts of a batch are stacked in one matrix without padding. Operations on single tokens
//! process all rows at once; attention is computed per text. So a text's neighbors do not change
//! its vector.
//!
//! Matrix products use `ndarray` (the crate `matrixmultiply`), which selects its kernel by CPU
//! features: two machines agree up to rounding, not to the last bit.

use std::fs::File;
use std::io;
use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, Slice};

use super::functions::{gelu, softmax};
use super::weights::LazyRows;

/// Reduction of token states to one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PoolingMode {
    /// The mean of all tokens, including start and end tokens.
    Mean,
    /// The first token.
    First,
}

/// An encoder with its weights.
pub(super) struct BertEncoder {
    pub(super) words: LazyRows<File>,
    /// One row per position, with the row of the only segment added.
    pub(super) positions: Array2<f32>,
    pub(super) norm: LayerNorm,
    pub(super) layers: Vec<EncoderLayer>,
    pub(super) heads: usize,
    pub(super) pooling: PoolingMode,
}

/// One encoder layer.
pub(super) struct EncoderLayer {
    /// Query, key and value, concatenated.
    pub(super) attention: LinearLayer,
    pub(super) mixed: LinearLayer,
    pub(super) attention_norm: LayerNorm,
    pub(super) inner: LinearLayer,
    pub(super) outer: LinearLayer,
    pub(super) output_norm: LayerNorm,
}

/// A linear transformation.
pub(super) struct LinearLayer {
    /// One row per output, as in the file.
    pub(super) weight: Array2<f32>,
    pub(super) bias: Array1<f32>,
}

/// Layer normalization.
pub(super) struct LayerNorm {
    pub(super) weight: Array1<f32>,
    pub(super) bias: Array1<f32>,
    pub(super) epsilon: f32,
}

impl BertEncoder {
    /// Returns the number of components per vector.
    pub(super) fn dimension(&self) -> usize {
        self.words.width()
    }

    /// Encodes texts given as token ids; returns one vector of norm 1 per text.
    pub(super) fn encode(&self, texts: &[Vec<u32>]) -> io::Result<Vec<Vec<f32>>> {
        let spans = row_spans(texts);
        let mut states = self.embeddings(texts)?;
        for layer in &self.layers {
            states = layer.forward(&states, &spans, self.heads);
        }
        Ok(spans
            .into_iter()
            .map(|span| self.pool(&states.slice_axis(Axis(0), Slice::from(span))))
            .collect())
    }

    fn embeddings(&self, texts: &[Vec<u32>]) -> io::Result<Array2<f32>> {
        let rows = texts.iter().map(Vec::len).sum();
        let mut states = Array2::zeros((rows, self.words.width()));
        let tokens = texts.iter().flat_map(|ids| ids.iter().zip(0..));
        for (mut row, (id, position)) in states.rows_mut().into_iter().zip(tokens) {
            self.words.add_to(*id as usize, &mut row)?;
            row += &self.positions.row(position);
        }
        self.norm.apply(&mut states);
        Ok(states)
    }

    fn pool(&self, states: &ArrayView2<'_, f32>) -> Vec<f32> {
        let pooled = match self.pooling {
            PoolingMode::Mean => states.sum_axis(Axis(0)),
            PoolingMode::First => states.row(0).to_owned(),
        };
        // The sum suffices for the mean, because the result is normalized. The minimum prevents a
        // division by zero.
        let length = pooled.dot(&pooled).sqrt().max(f32::MIN_POSITIVE);
        pooled.iter().map(|component| component / length).collect()
    }
}

impl EncoderLayer {
    fn forward(&self, states: &Array2<f32>, spans: &[Range<usize>], heads: usize) -> Array2<f32> {
        let attended = apply_attention(&self.attention.apply(states), spans, heads);
        let mut middle = self.mixed.apply(&attended);
        // Residual connection.
        middle += states;
        self.attention_norm.apply(&mut middle);
        let mut inner = self.inner.apply(&middle);
        inner.mapv_inplace(gelu);
        let mut outer = self.outer.apply(&inner);
        // Residual connection.
        outer += &middle;
        self.output_norm.apply(&mut outer);
        outer
    }
}

impl LinearLayer {
    fn apply(&self, states: &Array2<f32>) -> Array2<f32> {
        let mut result = Array2::zeros((states.nrows(), self.bias.len()));
        // Starting from the bias saves a pass: the product is added to it.
        result += &self.bias;
        general_mat_mul(1.0, states, &self.weight.t(), 1.0, &mut result);
        result
    }
}

impl LayerNorm {
    fn apply(&self, states: &mut Array2<f32>) {
        let count = states.ncols() as f32;
        for mut row in states.rows_mut() {
            let mean = row.sum() / count;
            row -= mean;
            let variance = row.dot(&row) / count;
            row *= 1.0 / (variance + self.epsilon).sqrt();
            row *= &self.weight;
            row += &self.bias;
        }
    }
}

/// Returns the row range of each text in the matrix of a batch.
fn row_spans(texts: &[Vec<u32>]) -> Vec<Range<usize>> {
    let mut end = 0;
    texts
        .iter()
        .map(|ids| {
            let start = end;
            end += ids.len();
            start..end
        })
        .collect()
}

/// Query, key and value of one head for one text.
struct AttentionHead<'a> {
    query: ArrayView2<'a, f32>,
    key: ArrayView2<'a, f32>,
    value: ArrayView2<'a, f32>,
}

/// Applies attention to the rows of each text. `projected` contains query, key and value side by
/// side.
fn apply_attention(projected: &Array2<f32>, spans: &[Range<usize>], heads: usize) -> Array2<f32> {
    let width = projected.ncols() / 3;
    let size = width / heads;
    let mut mixed = Array2::zeros((projected.nrows(), width));
    for span in spans {
        let rows = Slice::from(span.clone());
        for first in (0..width).step_by(size) {
            // Views instead of copies: the three projections share one matrix.
            let part = |at: usize| {
                let mut part = projected.slice_axis(Axis(0), rows);
                part.slice_axis_inplace(Axis(1), Slice::from(at..at + size));
                part
            };
            let head = AttentionHead {
                query: part(first),
                key: part(width + first),
                value: part(2 * width + first),
            };
            let mut into = mixed.slice_axis_mut(Axis(0), rows);
            into.slice_axis_inplace(Axis(1), Slice::from(first..first + size));
            head.attend(&mut into);
        }
    }
    mixed
}

impl AttentionHead<'_> {
    fn attend(&self, into: &mut ArrayViewMut2<'_, f32>) {
        let scale = 1.0 / (self.query.ncols() as f32).sqrt();
        let mut scores = Array2::zeros((self.query.nrows(), self.key.nrows()));
        general_mat_mul(scale, &self.query, &self.key.t(), 0.0, &mut scores);
        for mut row in scores.rows_mut() {
            // Rows of a new matrix are contiguous, so the slice always exists.
            if let Some(row) = row.as_slice_mut() {
                softmax(row);
            }
        }
        general_mat_mul(1.0, &scores, &self.value, 0.0, into);
    }
}
