//! Vectors: directions in a model's space with 8 bits per component.
//!
//! Only the direction counts, so a vector is scaled until its largest component is 127, and the
//! scale is discarded: `cosine(a, b) = dot(a, b) / (|a| |b|)` needs only the components, and all
//! its sums are integers.
//!
//! Invariant of [`Vector::quantize`]: either all components are zero (the model knows no word of
//! the text) or the largest has magnitude 127.

/// Quantized embedding of a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Vector(Box<[i8]>);

impl Vector {
    /// Magnitude of the largest component.
    const PEAK: f64 = 127.0;

    /// Quantizes the direction of `components`. Without one (zero, or not finite) the result is
    /// zero.
    #[must_use]
    pub fn quantize(components: &[f64]) -> Self {
        let largest = components
            .iter()
            .fold(0.0, |most: f64, c| most.max(c.abs()));
        let is_usable = largest > 0.0 && components.iter().all(|c| c.is_finite());
        // Ties to even, so that the rounding has no bias.
        let step = |c: &f64| (c / largest * Self::PEAK).round_ties_even() as i8;
        Self(if is_usable {
            components.iter().map(step).collect()
        } else {
            components.iter().map(|_| 0).collect()
        })
    }

    /// Creates a vector from stored [`Vector::components`].
    #[must_use]
    pub fn from_components(components: Box<[i8]>) -> Self {
        Self(components)
    }

    #[must_use]
    pub fn components(&self) -> &[i8] {
        &self.0
    }

    /// Returns whether the vector is zero: the model knows no word of the text. Its cosine to any
    /// vector is 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|c| *c == 0)
    }

    /// Returns the Euclidean norm of the components.
    #[must_use]
    pub fn norm(&self) -> f64 {
        f64::from(dot(&self.0, &self.0)).sqrt()
    }

    /// Returns the cosine of two vectors of one model, from -1 to 1; 0 if either is zero.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f64 {
        debug_assert_eq!(self.0.len(), other.0.len(), "vectors of two models");
        let norms = self.norm() * other.norm();
        // The cosine of a zero vector is undefined; 0 makes it similar to none.
        if norms == 0.0 {
            return 0.0;
        }
        f64::from(dot(&self.0, &other.0)) / norms
    }
}

/// Vectors of one model, widened for comparing many pairs of them.
///
/// A product of 16-bit numbers has an instruction of its own on every processor we build for, one
/// of 8-bit numbers does not: this takes twice the memory and half the time.
#[derive(Clone, Debug)]
pub struct VectorTable {
    dimension: usize,
    components: Vec<i16>,
    norms: Vec<f64>,
}

impl VectorTable {
    /// Copies the vectors, which have the same dimension.
    #[must_use]
    pub fn new(vectors: &[Vector]) -> Self {
        let components = vectors.iter().flat_map(Vector::components);
        Self {
            dimension: vectors.first().map_or(0, |it| it.components().len()),
            components: components.copied().map(i16::from).collect(),
            norms: vectors.iter().map(Vector::norm).collect(),
        }
    }

    /// Returns the [`Vector::cosine`] of two vectors by position.
    #[must_use]
    pub fn cosine(&self, one: usize, other: usize) -> f64 {
        let norms = self.norms[one] * self.norms[other];
        if norms == 0.0 {
            return 0.0;
        }
        let row = |at: usize| &self.components[at * self.dimension..][..self.dimension];
        let products = row(one).iter().zip(row(other));
        let dot: i32 = products.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        f64::from(dot) / norms
    }
}

/// Returns the dot product; cannot overflow below a dimension of 133,000.
fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| i32::from(*a) * i32::from(*b))
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn exact_cosine(a: &[f64], b: &[f64]) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    #[test]
    fn the_largest_component_becomes_127() {
        assert_eq!(
            Vector::quantize(&[0.5, -2.0, 1.0]).components(),
            [32, -127, 64]
        );
    }

    #[test]
    fn what_has_no_direction_is_zero() {
        for components in [[0.0, 0.0], [f64::NAN, 1.0], [f64::INFINITY, 1.0]] {
            let vector = Vector::quantize(&components);
            assert!(vector.is_zero(), "{components:?}");
            assert_eq!(vector.cosine(&Vector::quantize(&[1.0, 1.0])), 0.0);
        }
    }

    #[test]
    fn a_table_gives_the_cosines_of_its_vectors() {
        let parts = [[0.5, -2.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 0.25, 3.0]];
        let vectors: Vec<Vector> = parts.iter().map(|it| Vector::quantize(it)).collect();
        let table = VectorTable::new(&vectors);
        for (one, a) in vectors.iter().enumerate() {
            for (other, b) in vectors.iter().enumerate() {
                assert_eq!(table.cosine(one, other), a.cosine(b));
            }
        }
    }

    #[test]
    fn length_does_not_count() {
        assert_eq!(
            Vector::quantize(&[1.0, 2.0]),
            Vector::quantize(&[1e-9, 2e-9])
        );
    }

    proptest! {
        /// Eight bits suffice for the cosine of any two directions.
        #[test]
        fn cosines_survive_eight_bits(
            a in vec(-1.0..1.0f64, 256),
            b in vec(-1.0..1.0f64, 256),
        ) {
            let kept = Vector::quantize(&a).cosine(&Vector::quantize(&b));
            prop_assert!((kept - exact_cosine(&a, &b)).abs() < 2e-3);
        }
    }
}
