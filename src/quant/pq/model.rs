//! Centroids of all subspaces, and what a code stands for.
//!
//! ```text
//! offset  size  field
//!      0     1  version    1
//!      1     1  zero
//!      2     2  dims       1..=4096
//!      4     2  subspaces  1..=dims; the first dims mod subspaces of them have one component more
//!      6     2  zero
//!      8  1024 x dims  centroids f32: subspace after subspace, in each component after component, 256 values each
//! ```

use std::ops::Range;

use crate::{
    codec::Reader,
    distance::codebook::CENTROIDS,
    error::{Error, Result},
};

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 8;
/// Most components of a vector.
const MAX_DIMS: usize = 4096;

/// Centroids of one segment's codes.
///
/// Invariant: 1–4096 dimensions in 1 to as many subspaces, all centroids finite.
#[derive(Debug, Clone, PartialEq)]
pub struct PqModel {
    dims: usize,
    subspaces: usize,
    codebook: Vec<f32>,
}

impl PqModel {
    /// A model of centroids at zero, `subspaces` of them; [`super::PqTrainer`] moves them.
    ///
    /// # Errors
    /// `invalid_argument` for dimensions out of 1–4096 or subspaces out of 1–`dims`.
    pub fn new(dims: usize, subspaces: usize) -> Result<Self> {
        if !(1..=MAX_DIMS).contains(&dims) || !(1..=dims).contains(&subspaces) {
            return Err(Error::invalid(format!("product quantizer of {dims} dimensions in {subspaces} subspaces")));
        }
        Ok(Self { dims, subspaces, codebook: vec![0.0; dims * CENTROIDS] })
    }

    /// Components per vector.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Bytes of a code.
    pub fn subspaces(&self) -> usize {
        self.subspaces
    }

    /// Components of a subspace.
    ///
    /// # Panics
    /// If there is no such subspace.
    pub fn components(&self, subspace: usize) -> Range<usize> {
        assert!(subspace < self.subspaces, "subspace {subspace} of {}", self.subspaces);
        let (width, wider) = (self.dims / self.subspaces, self.dims % self.subspaces);
        let start = subspace * width + subspace.min(wider);
        start..start + width + usize::from(subspace < wider)
    }

    /// Centroids of a subspace, `[components x 256]`.
    pub(super) fn centroids(&self, subspace: usize) -> &[f32] {
        let components = self.components(subspace);
        &self.codebook[components.start * CENTROIDS..components.end * CENTROIDS]
    }

    pub(super) fn centroids_mut(&mut self, subspace: usize) -> &mut [f32] {
        let components = self.components(subspace);
        &mut self.codebook[components.start * CENTROIDS..components.end * CENTROIDS]
    }

    /// Appends the vector that a code stands for.
    ///
    /// # Panics
    /// If it is no code of this model.
    pub fn decode(&self, code: &[u8], out: &mut Vec<f32>) {
        assert_eq!(code.len(), self.subspaces, "a byte per subspace");
        for (subspace, &centroid) in code.iter().enumerate() {
            out.extend(
                self.centroids(subspace).as_chunks::<CENTROIDS>().0.iter().map(|row| row[usize::from(centroid)]),
            );
        }
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        self.codebook.capacity() * 4
    }

    /// Appends the model.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[VERSION, 0]);
        out.extend_from_slice(&(self.dims as u16).to_le_bytes());
        out.extend_from_slice(&(self.subspaces as u16).to_le_bytes());
        out.extend_from_slice(&[0, 0]);
        self.codebook.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    }

    /// Bytes that [`Self::write`] appends for vectors of `dims` components.
    pub fn written_len(dims: usize) -> usize {
        HEADER_BYTES + dims * CENTROIDS * 4
    }

    /// Reads what [`Self::write`] wrote, off the front of `reader`.
    ///
    /// # Errors
    /// `corrupt`.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (version, reserved) = (reader.u8()?, reader.u8()?);
        if version != VERSION || reserved != 0 {
            return Err(reader.invalid("version of a product quantizer").into());
        }
        let (dims, subspaces, zero) = (usize::from(reader.u16()?), usize::from(reader.u16()?), reader.u16()?);
        if !(1..=MAX_DIMS).contains(&dims) || !(1..=dims).contains(&subspaces) || zero != 0 {
            return Err(reader.invalid("shape of a product quantizer").into());
        }
        let values = reader.bytes(dims * CENTROIDS * 4)?.as_chunks::<4>().0;
        let codebook: Vec<f32> = values.iter().map(|&value| f32::from_le_bytes(value)).collect();
        if codebook.iter().any(|value| !value.is_finite()) {
            return Err(Error::corrupt("product quantizer", "a centroid is not finite"));
        }
        Ok(Self { dims, subspaces, codebook })
    }
}
