//! Arrays of a data set.

use std::{error::Error, fs};

use crate::quality::data::{folder, from_half};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Rows of a NumPy file of set `name`, and how long they are.
pub fn rows(name: &str, file: &str) -> Result<(Vec<f32>, usize)> {
    let bytes = fs::read(folder().join(name).join(file))?;
    let len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let (header, values) = (std::str::from_utf8(&bytes[10..10 + len])?, &bytes[10 + len..]);
    let values = match () {
        () if header.contains("'<f2'") => {
            values.as_chunks::<2>().0.iter().map(|&half| from_half(u16::from_le_bytes(half))).collect()
        }
        () if header.contains("'<f4'") => {
            values.as_chunks::<4>().0.iter().map(|&value| f32::from_le_bytes(value)).collect()
        }
        () => return Err(format!("{file}: {header}").into()),
    };
    let shape = header.split("'shape': (").nth(1).and_then(|rest| rest.split(')').next()).ok_or("no shape")?;
    Ok((values, shape.split(',').nth(1).ok_or("one dimension")?.trim().parse()?))
}
