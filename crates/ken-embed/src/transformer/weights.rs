//! Reads a `safetensors` file: a header in JSON that says where each tensor lies, then the numbers.
//!
//! The file comes from outside: every offset and shape is checked before it is used.

use std::collections::HashMap;

use ndarray::{Array1, Array2};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::folder::OpenError;

/// Bytes the header may have; that of a large model has some hundred kilobytes.
const HEADER_BYTES_MAX: usize = 16 << 20;

/// Bytes of the number that says how long the header is.
const LENGTH_BYTES: usize = 8;

/// An entry of the header that is no tensor.
const METADATA: &str = "__metadata__";

/// Some models have this before all their names.
const PREFIX: &str = "bert.";

/// A file of tensors.
pub(super) struct Weights<'a> {
    tensors: HashMap<String, Tensor>,
    numbers: &'a [u8],
}

#[derive(Debug, Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl<'a> Weights<'a> {
    pub(super) fn parse(file: &'a [u8]) -> Result<Self, OpenError> {
        let bad = || OpenError::Weights {
            why: "its header cannot be read".to_owned(),
        };
        let (length, rest) = file.split_first_chunk::<LENGTH_BYTES>().ok_or_else(bad)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| bad())?;
        if HEADER_BYTES_MAX < length {
            return Err(bad());
        }
        let (header, numbers) = rest.split_at_checked(length).ok_or_else(bad)?;
        let entries: HashMap<String, &RawValue> =
            serde_json::from_slice(header).map_err(|_| bad())?;
        let mut tensors = HashMap::with_capacity(entries.len());
        for (name, entry) in entries {
            if name != METADATA {
                let tensor = serde_json::from_str(entry.get()).map_err(|_| bad())?;
                let name = name.strip_prefix(PREFIX).unwrap_or(&name).to_owned();
                tensors.insert(name, tensor);
            }
        }
        Ok(Self { tensors, numbers })
    }

    pub(super) fn matrix(
        &self,
        name: &str,
        shape: (usize, usize),
    ) -> Result<Array2<f32>, OpenError> {
        let floats = self.floats(name, &[shape.0, shape.1])?;
        Array2::from_shape_vec(shape, floats).map_err(|_| wrong(name, "has another shape"))
    }

    pub(super) fn row(&self, name: &str, length: usize) -> Result<Array1<f32>, OpenError> {
        Ok(Array1::from_vec(self.floats(name, &[length])?))
    }

    fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, OpenError> {
        let tensor = self.tensors.get(name);
        let tensor = tensor.ok_or_else(|| wrong(name, "is missing"))?;
        if tensor.shape != shape {
            return Err(wrong(name, "has another shape than the configuration says"));
        }
        let (start, end) = tensor.data_offsets;
        let bytes = self.numbers.get(start..end);
        let bytes = bytes.ok_or_else(|| wrong(name, "lies outside the file"))?;
        let floats = decode(&tensor.dtype, bytes);
        let floats = floats.ok_or_else(|| wrong(name, "is of a number format not supported"))?;
        let count = shape
            .iter()
            .try_fold(1_usize, |all, one| all.checked_mul(*one));
        if count != Some(floats.len()) {
            return Err(wrong(name, "is cut off"));
        }
        Ok(floats)
    }
}

fn wrong(name: &str, what: &str) -> OpenError {
    OpenError::Weights {
        why: format!("`{name}` {what}"),
    }
}

fn decode(dtype: &str, bytes: &[u8]) -> Option<Vec<f32>> {
    Some(match dtype {
        "F32" => chunks(bytes).map(f32::from_le_bytes).collect(),
        "F16" => chunks(bytes)
            .map(|it| half(u16::from_le_bytes(it)))
            .collect(),
        "BF16" => chunks(bytes)
            .map(|it| f32::from_bits(u32::from(u16::from_le_bytes(it)) << 16))
            .collect(),
        _ => return None,
    })
}

fn chunks<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().copied()
}

/// Widens a 16-bit float: sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f32::from(bits & 0x3ff) / 1024.0;
    match exponent {
        0 => sign * fraction * 2.0_f32.powi(-14),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction) * 2.0_f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, numbers: &[u8]) -> Vec<u8> {
        let length = (header.len() as u64).to_le_bytes();
        [&length, header.as_bytes(), numbers].concat()
    }

    fn why<T>(result: Result<T, OpenError>) -> String {
        result.err().unwrap().to_string()
    }

    #[test]
    fn tensors_are_found_by_name_with_or_without_prefix() {
        let header = r#"{"__metadata__":{"format":"pt"},
            "bert.a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},
            "b":{"dtype":"F16","shape":[3],"data_offsets":[8,14]},
            "c":{"dtype":"BF16","shape":[1],"data_offsets":[14,16]}}"#;
        let mut numbers = [1.5_f32, -2.0].map(f32::to_le_bytes).concat();
        numbers.extend([0x3c00_u16, 0xc100, 0x0001].map(u16::to_le_bytes).concat());
        numbers.extend(0xbf80_u16.to_le_bytes());
        let file = file(header, &numbers);
        let weights = Weights::parse(&file).unwrap();
        assert_eq!(
            weights.matrix("a", (1, 2)).unwrap().row(0).to_vec(),
            [1.5, -2.0]
        );
        let halves = weights.row("b", 3).unwrap().to_vec();
        assert_eq!(halves, [1.0, -2.5, 2.0_f32.powi(-24)]);
        assert_eq!(weights.row("c", 1).unwrap().to_vec(), [-1.0]);
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let header = r#"{"short":{"dtype":"F32","shape":[2],"data_offsets":[0,4]},
            "outside":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},
            "back":{"dtype":"F32","shape":[2],"data_offsets":[8,0]},
            "odd":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}"#;
        let file = file(header, &[0; 8]);
        let weights = Weights::parse(&file).unwrap();
        for (name, length, part) in [
            ("short", 2, "cut off"),
            ("short", 3, "another shape"),
            ("outside", 2, "outside"),
            ("back", 2, "outside"),
            ("odd", 1, "number format"),
            ("none", 1, "missing"),
        ] {
            let why = why(weights.row(name, length));
            assert!(why.contains(part) && why.contains(name), "{why}");
        }
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        let huge = [u64::MAX.to_le_bytes().as_slice(), b"{}"].concat();
        for bytes in [
            &b""[..],
            b"1234567",
            b"\x09\0\0\0\0\0\0\0{}",
            &huge,
            &file("[]", b""),
        ] {
            assert!(why(Weights::parse(bytes)).contains("header"));
        }
    }
}
