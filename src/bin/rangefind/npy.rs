//! Rows of a NumPy file: float16 or float32, little-endian, C order, one or two dimensions.
//!
//! Format: Robert Kern, "NEP 1: a simple file format for NumPy arrays", 2007. The header is a Python literal; what is
//! read of it is what NumPy writes.

use std::{
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use rangefind::error::{Error, ErrorKind, Result};

/// The file starts with this, then two bytes of version.
const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Longest header accepted: NumPy's own limit for headers it calls safe.
const MAX_HEADER_BYTES: usize = 10_000;

/// A type of number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scalar {
    F16,
    F32,
}

/// An open file, read row after row.
pub struct NpyReader<R> {
    source: R,
    scalar: Scalar,
    dims: usize,
    rows: u64,
    body: u64,
}

impl NpyReader<BufReader<File>> {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// `not_found`, `io`; `invalid_argument` for a file of another type or shape.
    pub fn open(path: &Path) -> Result<Self> {
        let file = super::documents::open_file(path)?;
        Self::parse(BufReader::new(file)).map_err(|error| error.at(path.display()))
    }
}

impl<R: Read + Seek> NpyReader<R> {
    /// Reads the header and stands at the first row.
    pub fn parse(mut source: R) -> Result<Self> {
        let mut start = [0; 8];
        read(&mut source, &mut start)?;
        if &start[..6] != MAGIC {
            return Err(Error::invalid("this is no NumPy file"));
        }
        let header_len = match start[6] {
            1 => {
                let mut len = [0; 2];
                read(&mut source, &mut len)?;
                usize::from(u16::from_le_bytes(len))
            }
            2 | 3 => {
                let mut len = [0; 4];
                read(&mut source, &mut len)?;
                u32::from_le_bytes(len) as usize
            }
            version => return Err(Error::invalid(format!("version {version} of NumPy's format is not known"))),
        };
        if header_len > MAX_HEADER_BYTES {
            return Err(Error::invalid(format!("a header of {header_len} bytes")));
        }
        let mut header = vec![0; header_len];
        read(&mut source, &mut header)?;
        let (scalar, rows, dims) = parse_header(&String::from_utf8_lossy(&header))?;
        let body = source.stream_position().map_err(io)?;
        Ok(Self { source, scalar, dims, rows, body })
    }

    /// Components of a row.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Rows in all.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Stands at `row`.
    ///
    /// # Errors
    /// `invalid_argument` if there is no such row.
    pub fn seek(&mut self, row: u64) -> Result<()> {
        if row >= self.rows {
            return Err(Error::invalid(format!("row {row} of {}", self.rows)));
        }
        let stride = self.stride() as u64;
        let too_far = || Error::new(ErrorKind::Corrupt, format!("no file has a row {row}"));
        let offset = row.checked_mul(stride).and_then(|at| at.checked_add(self.body)).ok_or_else(too_far)?;
        self.source.seek(SeekFrom::Start(offset)).map_err(io)?;
        Ok(())
    }

    /// Appends the next `count` rows to `values`.
    ///
    /// # Errors
    /// `corrupt` if the file ends before that.
    pub fn read_rows(&mut self, count: usize, values: &mut Vec<f32>) -> Result<()> {
        let mut row = vec![0; self.stride()];
        values.reserve(count * self.dims);
        for _ in 0..count {
            read(&mut self.source, &mut row)?;
            match self.scalar {
                Scalar::F32 => {
                    values.extend(row.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
                }
                Scalar::F16 => {
                    values.extend(row.as_chunks::<2>().0.iter().map(|bytes| f16_to_f32(u16::from_le_bytes(*bytes))));
                }
            }
        }
        Ok(())
    }

    fn stride(&self) -> usize {
        self.dims * if self.scalar == Scalar::F16 { 2 } else { 4 }
    }
}

fn io(error: std::io::Error) -> Error {
    Error::with_source(ErrorKind::Io, "reading vectors", error)
}

fn read(source: &mut impl Read, buffer: &mut [u8]) -> Result<()> {
    source.read_exact(buffer).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::new(ErrorKind::Corrupt, "the file ends too early"),
        _ => io(error),
    })
}

/// Value of `'key':` up to where `end` says.
fn entry<'h>(header: &'h str, key: &str, end: char) -> Result<&'h str> {
    let missing = || Error::invalid(format!("the header has no {key}"));
    let (_, rest) = header.split_once(&format!("'{key}':")).ok_or_else(missing)?;
    rest.split_once(end).map(|(value, _)| value.trim()).ok_or_else(missing)
}

fn parse_header(header: &str) -> Result<(Scalar, u64, usize)> {
    let scalar = match entry(header, "descr", ',')?.trim_matches('\'') {
        "<f2" => Scalar::F16,
        "<f4" => Scalar::F32,
        other => return Err(Error::invalid(format!("numbers of type {other:?}; '<f2' and '<f4' can be read"))),
    };
    if entry(header, "fortran_order", ',')? != "False" {
        return Err(Error::invalid("columns come first (Fortran order); save it in C order"));
    }
    let shape = entry(header, "shape", ')')?.trim_start_matches('(');
    let shape: Vec<u64> = shape
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().map_err(|_| Error::invalid(format!("a shape with {part:?}"))))
        .collect::<Result<_>>()?;
    let (rows, dims) = match shape[..] {
        [dims] => (1, dims),
        [rows, dims] => (rows, dims),
        _ => return Err(Error::invalid(format!("an array of {} dimensions; one or two can be read", shape.len()))),
    };
    match usize::try_from(dims) {
        Ok(dims) if dims > 0 && dims < 1 << 20 => Ok((scalar, rows, dims)),
        _ => Err(Error::invalid(format!("rows of {dims} numbers"))),
    }
}

/// The value of a half-precision number, exact. IEEE 754-2019, binary16.
fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = u32::from(bits >> 10) & 31;
    let fraction = u32::from(bits & 1023);
    match exponent {
        // Subnormal: the fraction counts steps of 2^-24.
        0 => f32::from_bits(sign | (fraction as f32 * f32::from_bits(0x3380_0000)).to_bits()),
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn file(descr: &str, shape: &str, body: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn reads_both_types_and_seeks() {
        let body: Vec<u8> = [1.0f32, -2.5, 3.0, 4.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut reader = NpyReader::parse(Cursor::new(file("<f4", "(2, 2)", &body))).unwrap();
        let mut values = Vec::new();
        reader.read_rows(2, &mut values).unwrap();
        assert_eq!(values, [1.0, -2.5, 3.0, 4.0]);
        reader.seek(1).unwrap();
        values.clear();
        reader.read_rows(1, &mut values).unwrap();
        assert_eq!(values, [3.0, 4.0]);

        let body: Vec<u8> = [0x3c00u16, 0xc100, 0x0001, 0x7bff].iter().flat_map(|bits| bits.to_le_bytes()).collect();
        let mut reader = NpyReader::parse(Cursor::new(file("<f2", "(4,)", &body))).unwrap();
        assert_eq!((reader.rows(), reader.dims()), (1, 4));
        values.clear();
        reader.read_rows(1, &mut values).unwrap();
        assert_eq!(values, [1.0, -2.5, 2f32.powi(-24), 65504.0]);
    }

    #[test]
    fn half_precision_is_exact_for_every_value() {
        for bits in 0..=u16::MAX {
            let (exponent, fraction) = ((bits >> 10) & 31, f64::from(bits & 1023));
            let size = match exponent {
                0 => fraction * 2f64.powi(-24),
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1.0 + fraction / 1024.0) * 2f64.powi(i32::from(exponent) - 15),
            };
            let wanted = if bits & 0x8000 == 0 { size } else { -size } as f32;
            let found = f16_to_f32(bits);
            assert!(found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(), "{bits:#06x}: {found}");
        }
    }

    #[test]
    fn refuses_what_it_cannot_read() {
        for (descr, shape) in [("<f8", "(1, 2)"), ("<f4", "(1, 2, 3)"), ("<f4", "(1, x)"), ("<f4", "(3, 0)")] {
            assert!(NpyReader::parse(Cursor::new(file(descr, shape, &[]))).is_err(), "{descr} {shape}");
        }
        assert!(NpyReader::parse(Cursor::new(b"PK\x03\x04 something else".to_vec())).is_err());
        let mut endless = NpyReader::parse(Cursor::new(file("<f4", "(18446744073709551615, 2)", &[0; 8]))).unwrap();
        assert_eq!(endless.seek(u64::MAX - 1).unwrap_err().kind(), ErrorKind::Corrupt);
        let mut short = NpyReader::parse(Cursor::new(file("<f4", "(2, 2)", &[0; 12]))).unwrap();
        assert_eq!(short.read_rows(2, &mut Vec::new()).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn random_bytes_never_panic() {
        let seed = 0x5eed;
        let mut random = fastrand::Rng::with_seed(seed);
        let good = file("<f4", "(2, 2)", &[0; 16]);
        for _ in 0..2000 {
            let mut bytes = good.clone();
            for _ in 0..random.usize(1..8) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            bytes.truncate(random.usize(..=bytes.len()));
            if let Ok(mut reader) = NpyReader::parse(Cursor::new(bytes)) {
                let _ = reader.read_rows(2, &mut Vec::new());
            }
        }
    }
}
