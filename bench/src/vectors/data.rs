//! A set of vectors with queries and their true neighbours.

use std::{error::Error, fs, path::Path};

use crate::quality::data::{folder, from_half};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What a set's files hold.
pub struct Set {
    pub dims: usize,
    pub metric: &'static str,
    /// `[base x dims]`
    pub base: Vec<f32>,
    /// `[queries x dims]`
    pub queries: Vec<f32>,
    /// `[queries x truth_len]`: rows of the base, nearest first.
    pub truth: Vec<i32>,
    pub truth_len: usize,
}

impl Set {
    /// Reads the set called `name`.
    pub fn load(name: &str) -> Result<Self> {
        let folder = folder().join(name);
        let (base, dims) = rows(&folder.join("base.npy"))?;
        let (queries, _) = rows(&folder.join("queries.npy"))?;
        let cosine = folder.join("meta.json");
        let is_unit = fs::read_to_string(cosine)?.contains("\"normalised\": true");
        let (metric, truth) = if is_unit { ("cosine", "gt_cos.ids.npy") } else { ("l2", "gt_l2.ids.npy") };
        let (header, bytes) = parts(&folder.join(truth))?;
        if !header.contains("'<i4'") {
            return Err(format!("{truth}: {header}").into());
        }
        let truth = bytes.as_chunks::<4>().0.iter().map(|&id| i32::from_le_bytes(id)).collect();
        Ok(Self { dims, metric, base, queries, truth, truth_len: width(&header)? })
    }
}

fn parts(path: &Path) -> Result<(String, Vec<u8>)> {
    let bytes = fs::read(path)?;
    let len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..10 + len])?.to_owned();
    Ok((header, bytes[10 + len..].to_vec()))
}

/// Columns of an array whose header this is.
fn width(header: &str) -> Result<usize> {
    let shape = header.split("'shape': (").nth(1).and_then(|rest| rest.split(')').next()).ok_or("no shape")?;
    Ok(shape.split(',').nth(1).ok_or("one dimension")?.trim().parse()?)
}

fn rows(path: &Path) -> Result<(Vec<f32>, usize)> {
    let (header, bytes) = parts(path)?;
    let values = match () {
        () if header.contains("'<f2'") => {
            bytes.as_chunks::<2>().0.iter().map(|&half| from_half(u16::from_le_bytes(half))).collect()
        }
        () if header.contains("'<f4'") => {
            bytes.as_chunks::<4>().0.iter().map(|&value| f32::from_le_bytes(value)).collect()
        }
        () if header.contains("'|u1'") => bytes.iter().map(|&value| f32::from(value)).collect(),
        () => return Err(format!("{}: {header}", path.display()).into()),
    };
    Ok((values, width(&header)?))
}
