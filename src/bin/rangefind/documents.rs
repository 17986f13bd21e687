//! Documents from a file or standard input, in batches, with the vectors that belong to them.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use flate2::read::MultiGzDecoder;
use rangefind::{
    error::{Error, ErrorKind, Result},
    schema::{DocumentBatch, FieldVectors},
};

use super::npy::NpyReader;

/// Batch of documents handed to the engine at a time: long enough for the per-batch work to vanish, short enough for a
/// lively progress bar.
const BATCH_DOCS: usize = 1000;
/// The same for long documents.
const BATCH_BYTES: usize = 4 << 20;

/// Opens a file for reading.
///
/// # Errors
/// `not_found`, `io`, with the path.
pub fn open_file(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| {
        let kind = if error.kind() == std::io::ErrorKind::NotFound { ErrorKind::NotFound } else { ErrorKind::Io };
        Error::with_source(kind, path.display().to_string(), error)
    })
}

/// Counts the bytes that pass.
struct Counting<R> {
    source: R,
    done: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.done.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Vectors beside the documents.
pub struct Vectors {
    /// The rows.
    pub reader: NpyReader<BufReader<File>>,
    /// Their field.
    pub field: String,
}

/// Yields batches of documents until the input ends or fails.
pub struct Batches {
    source: Box<dyn BufRead>,
    vectors: Option<Vectors>,
    is_array: bool,
    rows: u64,
    ended: bool,
}

impl Batches {
    /// Documents of `path`, or of standard input for `-`; gzip is told by its first bytes. Returns them with the
    /// length of the input where it is known and a counter of the bytes read.
    ///
    /// # Errors
    /// `not_found`, `io`.
    pub fn open(path: &Path, vectors: Option<Vectors>) -> Result<(Self, Option<u64>, Arc<AtomicU64>)> {
        let done = Arc::new(AtomicU64::new(0));
        let (input, len): (Box<dyn Read>, _) = if path == Path::new("-") {
            (Box::new(std::io::stdin()), None)
        } else {
            let file = open_file(path)?;
            let len = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len());
            (Box::new(file), len)
        };
        let mut raw = BufReader::with_capacity(1 << 18, Counting { source: input, done: Arc::clone(&done) });
        let is_gzip = raw.fill_buf().map_err(reading)?.starts_with(&[0x1f, 0x8b]);
        let mut source: Box<dyn BufRead> =
            if is_gzip { Box::new(BufReader::new(MultiGzDecoder::new(raw))) } else { Box::new(raw) };
        let start = source.fill_buf().map_err(reading)?;
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let is_array = start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        Ok((Self { source, vectors, is_array, rows: 0, ended: false }, len, done))
    }

    fn read_batch(&mut self) -> Result<Option<DocumentBatch>> {
        let mut text = Vec::new();
        let batch = if self.is_array {
            self.source.read_to_end(&mut text).map_err(reading)?;
            self.ended = true;
            DocumentBatch::from_bytes(text)?
        } else {
            let mut docs = 0;
            while docs < BATCH_DOCS && text.len() < BATCH_BYTES {
                let before = text.len();
                if self.source.read_until(b'\n', &mut text).map_err(reading)? == 0 {
                    self.ended = true;
                    break;
                }
                docs += usize::from(!text[before..].trim_ascii().is_empty());
            }
            DocumentBatch::from_bytes(text)?
        };
        if batch.is_empty() {
            return self.finish().map(|()| None);
        }
        let first_row = self.rows;
        self.rows += batch.len() as u64;
        let Some(vectors) = &mut self.vectors else { return Ok(Some(batch)) };
        if self.rows > vectors.reader.rows() {
            let rows = vectors.reader.rows();
            return Err(Error::invalid(format!("there are {rows} vectors and more documents than that")));
        }
        let mut values = Vec::new();
        vectors
            .reader
            .read_rows(batch.len(), &mut values)
            .map_err(|error| error.at(format!("vectors from row {first_row} on")))?;
        Ok(Some(batch.with_vectors(FieldVectors { field: vectors.field.clone(), values, counts: None })))
    }

    /// Documents and vectors must come out even.
    fn finish(&self) -> Result<()> {
        match &self.vectors {
            Some(vectors) if vectors.reader.rows() != self.rows => {
                let (rows, docs) = (vectors.reader.rows(), self.rows);
                Err(Error::invalid(format!("there are {rows} vectors for {docs} documents")))
            }
            _ => Ok(()),
        }
    }
}

fn reading(error: std::io::Error) -> Error {
    Error::with_source(ErrorKind::Io, "reading documents", error)
}

impl Iterator for Batches {
    type Item = Result<DocumentBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return self.finish().err().map(|error| {
                self.vectors = None;
                Err(error)
            });
        }
        let batch = self.read_batch().transpose();
        self.ended |= !matches!(batch, Some(Ok(_)));
        if let Some(Err(_)) = batch {
            self.vectors = None;
        }
        batch
    }
}
