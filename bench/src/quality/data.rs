//! A judged collection: documents, queries, judgments and vectors of both.

use std::{
    collections::HashMap,
    env,
    error::Error,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use serde::Deserialize;

pub(super) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A document or query.
pub struct Text {
    pub id: String,
    pub text: String,
}

/// What a set's files hold.
pub struct Judged {
    pub docs: Vec<Text>,
    /// `[docs x dims]`
    pub doc_vectors: Vec<f32>,
    /// Queries with at least one relevant document.
    pub queries: Vec<Text>,
    /// `[queries x dims]`
    pub query_vectors: Vec<f32>,
    pub dims: u32,
    /// Relevance by document, by query.
    pub relevant: HashMap<String, HashMap<String, f64>>,
}

#[derive(Deserialize)]
struct Line {
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

impl Judged {
    /// Reads the set called `name`.
    pub fn load(name: &str) -> Result<Self> {
        let folder = folder().join(name);
        let mut docs = String::new();
        GzDecoder::new(fs::File::open(folder.join("docs.jsonl.gz"))?).read_to_string(&mut docs)?;
        let docs = texts(&docs)?;
        let (doc_vectors, dims) = f16_rows(&folder.join("docs.minilm.npy"), docs.len())?;
        let all = texts(&fs::read_to_string(folder.join("queries.jsonl"))?)?;
        let (all_vectors, query_dims) = f16_rows(&folder.join("queries.minilm.npy"), all.len())?;
        if dims != query_dims {
            return Err(format!("documents have {dims} dimensions, queries {query_dims}").into());
        }
        let relevant = judgments(&fs::read_to_string(folder.join("qrels.tsv"))?)?;
        let (mut queries, mut query_vectors) = (Vec::new(), Vec::new());
        for (query, vector) in all.into_iter().zip(all_vectors.chunks_exact(dims)) {
            if relevant.contains_key(&query.id) {
                queries.push(query);
                query_vectors.extend_from_slice(vector);
            }
        }
        if queries.is_empty() {
            return Err("no query is judged: a mean of nothing proves nothing".into());
        }
        Ok(Self { docs, doc_vectors, queries, query_vectors, dims: dims as u32, relevant })
    }
}

pub(crate) fn folder() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    env::var_os("RANGEFIND_DATA").map_or_else(beside, PathBuf::from)
}

pub(super) fn texts(lines: &str) -> Result<Vec<Text>> {
    lines
        .lines()
        .map(|line| {
            let Line { id, title, text } = serde_json::from_str(line)?;
            Ok(Text { id, text: format!("{title} {text}").trim().to_owned() })
        })
        .collect()
}

/// Lines of query, document and relevance behind a heading.
pub(super) fn judgments(text: &str) -> Result<HashMap<String, HashMap<String, f64>>> {
    let mut relevant: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for line in text.lines().skip(1) {
        let mut cells = line.split('\t');
        let (Some(query), Some(doc), Some(relevance)) = (cells.next(), cells.next(), cells.next()) else {
            return Err(format!("no judgment: {line:?}").into());
        };
        let relevance: f64 = relevance.trim().parse()?;
        if relevance > 0.0 {
            relevant.entry(query.to_owned()).or_default().insert(doc.to_owned(), relevance);
        }
    }
    Ok(relevant)
}

/// Rows of a two-dimensional NumPy 1.0 file of little-endian half floats, and how wide they are.
fn f16_rows(path: &Path, count: usize) -> Result<(Vec<f32>, usize)> {
    let bytes = fs::read(path)?;
    let header_len = match bytes.get(..10) {
        Some([b'\x93', b'N', b'U', b'M', b'P', b'Y', 1, 0, low, high]) => {
            usize::from(u16::from_le_bytes([*low, *high]))
        }
        _ => return Err(format!("{}: no NumPy 1.0 file", path.display()).into()),
    };
    let header = bytes.get(10..10 + header_len).ok_or("the header ends early")?;
    let header = std::str::from_utf8(header)?;
    if !header.contains("'<f2'") || !header.contains("'fortran_order': False") {
        return Err(format!("{}: not row-major half floats: {header}", path.display()).into());
    }
    let values: Vec<f32> =
        bytes[10 + header_len..].as_chunks::<2>().0.iter().map(|&half| from_half(u16::from_le_bytes(half))).collect();
    if count == 0 || !values.len().is_multiple_of(count) {
        return Err(format!("{}: {} values for {count} rows", path.display(), values.len()).into());
    }
    let dims = values.len() / count;
    Ok((values, dims))
}

/// IEEE 754 half to single precision, exact.
pub(crate) fn from_half(half: u16) -> f32 {
    let sign = u32::from(half >> 15) << 31;
    let (exponent, fraction) = (u32::from(half >> 10 & 31), u32::from(half & 1023));
    match exponent {
        0 => f32::from_bits(sign | (fraction as f32 / 16_777_216.0).to_bits()),
        31 => f32::from_bits(sign | 0x7F80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_exact() {
        let known = [
            (0x0000, 0.0),
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65_504.0),
            (0x0001, 5.960_464_5e-8),
            (0x3555, 0.333_251_95),
        ];
        for (half, value) in known {
            assert_eq!(from_half(half), value);
        }
        assert_eq!(from_half(0x8000).to_bits(), (-0.0f32).to_bits());
        assert!(from_half(0x7C00).is_infinite() && from_half(0x7E00).is_nan());
    }

    #[test]
    fn judgments_keep_what_is_relevant() {
        let found = judgments("query_id\tdoc_id\trelevance\n1\ta\t1\n1\tb\t0\n2\tc\t2\n").unwrap();
        assert_eq!(found["1"].len(), 1);
        assert_eq!(found["2"]["c"], 2.0);
        assert!(judgments("head\n1\ta\n").is_err());
    }
}
