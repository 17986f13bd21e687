//! Vectors of NumPy files: the demo's, and those of the data sets.

use std::{fs, path::Path, path::PathBuf};

/// Where data sets are: `$RANGEFIND_DATA`.
pub fn data() -> PathBuf {
    std::env::var_os("RANGEFIND_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from)
}

/// Rows of a file of half-precision floats or of bytes.
pub fn rows(path: &Path) -> Vec<Vec<f32>> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (header, body) = bytes.split_at(10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]])));
    let header = String::from_utf8_lossy(header);
    let dims =
        header.split_once("'shape': (").and_then(|(_, shape)| shape.split([',', ')']).nth(1)?.trim().parse().ok());
    let values: Vec<f32> = match header.contains("'|u1'") {
        true => body.iter().map(|&byte| byte.into()).collect(),
        false => {
            assert!(header.contains("'<f2'"), "{header}");
            body.as_chunks::<2>().0.iter().map(|&half| from_half(u16::from_le_bytes(half))).collect()
        }
    };
    values.chunks_exact(dims.expect("two dimensions")).map(<[f32]>::to_vec).collect()
}

fn from_half(bits: u16) -> f32 {
    let (exponent, mantissa) = (bits >> 10 & 31, f32::from(bits & 1023));
    let value = match exponent {
        0 => mantissa * 2f32.powi(-24),
        _ => (1.0 + mantissa / 1024.0) * 2f32.powi(i32::from(exponent) - 15),
    };
    if bits >> 15 == 1 { -value } else { value }
}
