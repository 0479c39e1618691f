//! The forward pass of a BERT encoder, on the processor, in 32-bit floats.
//!
//! Texts of one batch stand below each other in one matrix, each as long as it is: what concerns one
//! token alone is done for all rows at once, attention for each text by itself. So nothing is padded,
//! and a text's neighbours do not change its vector.
//!
//! Matrix products are `ndarray`'s (the crate `matrixmultiply`), which chooses its kernel by what the
//! processor can do: two machines agree to rounding, not to the last bit.

use std::fs::File;
use std::io;
use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, Slice};

use super::functions::{gelu, softmax};
use super::weights::Rows;

/// What a text's tokens become a vector by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The mean of all tokens, the marks of beginning and end among them.
    Mean,
    /// The first token.
    First,
}

/// An encoder with its weights.
pub(super) struct Encoder {
    pub(super) words: Rows<File>,
    /// One row a position, the row of the only segment already added.
    pub(super) positions: Array2<f32>,
    pub(super) norm: Norm,
    pub(super) layers: Vec<Layer>,
    pub(super) heads: usize,
    pub(super) pooling: Pooling,
}

pub(super) struct Layer {
    /// Query, key and value, side by side.
    pub(super) attention: Linear,
    pub(super) mixed: Linear,
    pub(super) mixed_norm: Norm,
    pub(super) inner: Linear,
    pub(super) outer: Linear,
    pub(super) outer_norm: Norm,
}

pub(super) struct Linear {
    /// One row an output, as the file has it.
    pub(super) weight: Array2<f32>,
    pub(super) bias: Array1<f32>,
}

pub(super) struct Norm {
    pub(super) weight: Array1<f32>,
    pub(super) bias: Array1<f32>,
    pub(super) epsilon: f32,
}

impl Encoder {
    /// Components of a vector.
    pub(super) fn dimension(&self) -> usize {
        self.words.width()
    }

    /// Encodes texts given as token ids; one vector of length 1 a text.
    pub(super) fn encode(&self, texts: &[Vec<u32>]) -> io::Result<Vec<Vec<f32>>> {
        let spans = spans(texts);
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
            Pooling::Mean => states.sum_axis(Axis(0)),
            Pooling::First => states.row(0).to_owned(),
        };
        let length = pooled.dot(&pooled).sqrt().max(f32::MIN_POSITIVE);
        pooled.iter().map(|component| component / length).collect()
    }
}

impl Layer {
    fn forward(&self, states: &Array2<f32>, spans: &[Range<usize>], heads: usize) -> Array2<f32> {
        let attended = attend(&self.attention.apply(states), spans, heads);
        let mut middle = self.mixed.apply(&attended);
        middle += states;
        self.mixed_norm.apply(&mut middle);
        let mut inner = self.inner.apply(&middle);
        inner.mapv_inplace(gelu);
        let mut outer = self.outer.apply(&inner);
        outer += &middle;
        self.outer_norm.apply(&mut outer);
        outer
    }
}

impl Linear {
    fn apply(&self, states: &Array2<f32>) -> Array2<f32> {
        let mut result = Array2::zeros((states.nrows(), self.bias.len()));
        result += &self.bias;
        general_mat_mul(1.0, states, &self.weight.t(), 1.0, &mut result);
        result
    }
}

impl Norm {
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

/// Rows of each text in the matrix of a batch.
fn spans(texts: &[Vec<u32>]) -> Vec<Range<usize>> {
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

/// Query, key and value of one head over one text.
struct Head<'a> {
    query: ArrayView2<'a, f32>,
    key: ArrayView2<'a, f32>,
    value: ArrayView2<'a, f32>,
}

/// Mixes the rows of each text by attention. `projected` has query, key and value side by side.
fn attend(projected: &Array2<f32>, spans: &[Range<usize>], heads: usize) -> Array2<f32> {
    let width = projected.ncols() / 3;
    let size = width / heads;
    let mut mixed = Array2::zeros((projected.nrows(), width));
    for span in spans {
        let rows = Slice::from(span.clone());
        for first in (0..width).step_by(size) {
            let part = |at: usize| {
                let mut part = projected.slice_axis(Axis(0), rows);
                part.slice_axis_inplace(Axis(1), Slice::from(at..at + size));
                part
            };
            let head = Head {
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

impl Head<'_> {
    fn attend(&self, into: &mut ArrayViewMut2<'_, f32>) {
        let scale = 1.0 / (self.query.ncols() as f32).sqrt();
        let mut scores = Array2::zeros((self.query.nrows(), self.key.nrows()));
        general_mat_mul(scale, &self.query, &self.key.t(), 0.0, &mut scores);
        for mut row in scores.rows_mut() {
            if let Some(row) = row.as_slice_mut() {
                softmax(row);
            }
        }
        general_mat_mul(1.0, &scores, &self.value, 0.0, into);
    }
}
