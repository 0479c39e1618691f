//! Reader for `safetensors` files: a JSON header with the location of each tensor, then the data.
//!
//! The file is untrusted: every offset and shape is checked before use. Tensors are read one by
//! one, and table rows on demand.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use ndarray::{Array1, Array2, ArrayViewMut1};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::folder::FolderOpenError;

/// Maximum size of the header; that of a large model has a few hundred kilobytes.
const HEADER_BYTES_MAX: usize = 16 << 20;

/// Size of the length prefix of the header.
const LENGTH_BYTES: usize = 8;

/// Header entry that is not a tensor.
const METADATA: &str = "__metadata__";

/// Prefix of all tensor names in some models.
const PREFIX: &str = "bert.";

/// A file of tensors.
pub(super) struct WeightsFile<R> {
    tensors: HashMap<String, TensorEntry>,
    file: R,
    /// Offset and length of the data.
    start: u64,
    length: u64,
    /// Buffer reused for all tensors; allocating costs more than reading.
    bytes: Vec<u8>,
}

/// A table whose rows are read on demand, because a text uses few of many words.
pub(super) struct LazyRows<R> {
    file: Mutex<R>,
    start: u64,
    format: NumberFormat,
    width: usize,
}

/// Header entry of a tensor.
#[derive(Debug, Deserialize)]
struct TensorEntry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

/// Number format of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberFormat {
    Single,
    Half,
    Brain,
}

impl<R: Read + Seek> WeightsFile<R> {
    pub(super) fn parse(mut file: R) -> Result<Self, FolderOpenError> {
        let bad = || FolderOpenError::Weights {
            why: "its header cannot be read".to_owned(),
        };
        // The actual length bounds every offset in the header.
        let all = file.seek(SeekFrom::End(0)).map_err(|_| bad())?;
        let mut bytes = Vec::new();
        read_at(&mut file, 0, LENGTH_BYTES, &mut bytes).map_err(|_| bad())?;
        let length = bytes.first_chunk().ok_or_else(bad)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| bad())?;
        if length > HEADER_BYTES_MAX {
            return Err(bad());
        }
        let read = read_at(&mut file, LENGTH_BYTES as u64, length, &mut bytes);
        read.map_err(|_| bad())?;
        // Raw values, because the metadata entry has another form than the tensors.
        let entries: HashMap<String, &RawValue> =
            serde_json::from_slice(&bytes).map_err(|_| bad())?;
        let mut tensors = HashMap::with_capacity(entries.len());
        for (name, entry) in entries {
            if name != METADATA {
                let tensor = serde_json::from_str(entry.get()).map_err(|_| bad())?;
                let name = name.strip_prefix(PREFIX).unwrap_or(&name).to_owned();
                tensors.insert(name, tensor);
            }
        }
        let start = (LENGTH_BYTES + length) as u64;
        Ok(Self {
            tensors,
            file,
            start,
            length: all.saturating_sub(start),
            bytes: Vec::new(),
        })
    }

    /// Returns a table that stays in its file; `file` is another handle to it.
    pub(super) fn rows<F: Read + Seek>(
        &self,
        name: &str,
        shape: (usize, usize),
        file: F,
    ) -> Result<LazyRows<F>, FolderOpenError> {
        let (start, _, format) = self.span(name, &[shape.0, shape.1])?;
        Ok(LazyRows {
            file: Mutex::new(file),
            start,
            format,
            width: shape.1,
        })
    }

    pub(super) fn matrix(
        &mut self,
        name: &str,
        shape: (usize, usize),
    ) -> Result<Array2<f32>, FolderOpenError> {
        let floats = self.floats(name, &[shape.0, shape.1])?;
        Array2::from_shape_vec(shape, floats).map_err(|_| tensor_error(name, "has the wrong shape"))
    }

    pub(super) fn row(
        &mut self,
        name: &str,
        length: usize,
    ) -> Result<Array1<f32>, FolderOpenError> {
        Ok(Array1::from_vec(self.floats(name, &[length])?))
    }

    fn floats(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, FolderOpenError> {
        let (start, size, format) = self.span(name, shape)?;
        let read = read_at(&mut self.file, start, size, &mut self.bytes);
        read.map_err(|_| tensor_error(name, "cannot be read"))?;
        Ok(format.decode(&self.bytes))
    }

    /// Returns offset, size and format of a tensor after checking them against its shape.
    fn span(
        &self,
        name: &str,
        shape: &[usize],
    ) -> Result<(u64, usize, NumberFormat), FolderOpenError> {
        let tensor = self.tensors.get(name);
        let tensor = tensor.ok_or_else(|| tensor_error(name, "is missing"))?;
        if tensor.shape != shape {
            return Err(tensor_error(name, "does not have the configured shape"));
        }
        let format = NumberFormat::parse(&tensor.dtype);
        let format =
            format.ok_or_else(|| tensor_error(name, "has an unsupported number format"))?;
        let (start, end) = tensor.data_offsets;
        let size = end.checked_sub(start).filter(|_| end <= self.length);
        let size = size.and_then(|size| usize::try_from(size).ok());
        let size = size.ok_or_else(|| tensor_error(name, "is outside the file"))?;
        // Checked multiplication: a hostile shape must not overflow.
        let wanted = shape
            .iter()
            .try_fold(format.bytes(), |all, one| all.checked_mul(*one));
        if wanted != Some(size) {
            return Err(tensor_error(name, "is truncated"));
        }
        Ok((self.start + start, size, format))
    }
}

impl<R: Read + Seek> LazyRows<R> {
    /// Returns the number of components per row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Adds row `index` to `into`, which has the same width.
    pub(super) fn add_to(&self, index: usize, into: &mut ArrayViewMut1<'_, f32>) -> io::Result<()> {
        let size = self.width * self.format.bytes();
        let start = self.start + (index * size) as u64;
        let mut bytes = Vec::with_capacity(size);
        // A panicked thread leaves the file usable: every read seeks first.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        read_at(&mut *file, start, size, &mut bytes)?;
        for (to, from) in into.iter_mut().zip(self.format.decode(&bytes)) {
            *to += from;
        }
        Ok(())
    }
}

impl NumberFormat {
    fn parse(dtype: &str) -> Option<Self> {
        match dtype {
            "F32" => Some(Self::Single),
            "F16" => Some(Self::Half),
            "BF16" => Some(Self::Brain),
            _ => None,
        }
    }

    /// Returns the size of a number in bytes.
    fn bytes(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Half | Self::Brain => 2,
        }
    }

    fn decode(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Self::Single => chunks(bytes).map(f32::from_le_bytes).collect(),
            Self::Half => chunks(bytes)
                .map(|it| half_to_f32(u16::from_le_bytes(it)))
                .collect(),
            // A bfloat16 is the upper half of an `f32`.
            Self::Brain => chunks(bytes)
                .map(|it| f32::from_bits(u32::from(u16::from_le_bytes(it)) << 16))
                .collect(),
        }
    }
}

/// Reads `length` bytes from `start`; fails if there are fewer.
fn read_at(
    file: &mut (impl Read + Seek),
    start: u64,
    length: usize,
    into: &mut Vec<u8>,
) -> io::Result<()> {
    file.seek(SeekFrom::Start(start))?;
    into.clear();
    into.reserve(length);
    if file.take(length as u64).read_to_end(into)? == length {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn tensor_error(name: &str, problem: &str) -> FolderOpenError {
    FolderOpenError::Weights {
        why: format!("`{name}` {problem}"),
    }
}

fn chunks<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().copied()
}

/// Converts a 16-bit float: sign, five exponent bits, ten fraction bits.
fn half_to_f32(bits: u16) -> f32 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f32::from(bits & 0x3ff) / 1024.0;
    match exponent {
        // Subnormal numbers have no implicit leading one.
        0 => sign * fraction * 2.0_f32.powi(-14),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction) * 2.0_f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn file(header: &str, numbers: &[u8]) -> Vec<u8> {
        let length = (header.len() as u64).to_le_bytes();
        [&length, header.as_bytes(), numbers].concat()
    }

    fn why<T>(result: Result<T, FolderOpenError>) -> String {
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
        let mut weights = WeightsFile::parse(Cursor::new(&file)).unwrap();
        assert_eq!(
            weights.matrix("a", (1, 2)).unwrap().row(0).to_vec(),
            [1.5, -2.0]
        );
        let halves = weights.row("b", 3).unwrap().to_vec();
        assert_eq!(halves, [1.0, -2.5, 2.0_f32.powi(-24)]);
        assert_eq!(weights.row("c", 1).unwrap().to_vec(), [-1.0]);
    }

    #[test]
    fn a_row_is_read_when_it_is_asked_for() {
        let header = r#"{"a":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}}"#;
        let numbers = [0x3f80_u16, 0x4000, 0xbf80, 0x3f00].map(u16::to_le_bytes);
        let file = file(header, &numbers.concat());
        let weights = WeightsFile::parse(Cursor::new(&file)).unwrap();
        let rows = weights.rows("a", (2, 2), Cursor::new(&file)).unwrap();
        let mut sum = Array1::from_vec(vec![10.0, 10.0]);
        rows.add_to(1, &mut sum.view_mut()).unwrap();
        assert_eq!((sum.to_vec(), rows.width()), (vec![9.0, 10.5], 2));
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let header = r#"{"short":{"dtype":"F32","shape":[2],"data_offsets":[0,4]},
            "outside":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},
            "back":{"dtype":"F32","shape":[2],"data_offsets":[8,0]},
            "odd":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}"#;
        let file = file(header, &[0; 8]);
        let mut weights = WeightsFile::parse(Cursor::new(&file)).unwrap();
        for (name, length, part) in [
            ("short", 2, "truncated"),
            ("short", 3, "configured shape"),
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
            assert!(why(WeightsFile::parse(Cursor::new(bytes))).contains("header"));
        }
    }
}
