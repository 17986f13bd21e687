//! What a segment knows of its vectors, and what it keeps of each.

use super::{
    interval::{assign_levels, fit_interval, lane_sum},
    pack::{Bits, pack_levels, row_len, unpack},
};
use crate::{
    error::{Error, Result},
    schema::Metric,
};

/// Bytes of [`Terms`] in their column.
pub const TERMS_LEN: usize = 16;

/// Corrective terms of one vector: what turns an integer product into an estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Value of level 0.
    pub lower: f32,
    /// Distance of two levels.
    pub step: f32,
    /// L2: |x - c|². Cosine and dot: x · c.
    pub correction: f32,
    /// Sum of the levels.
    pub level_sum: u32,
}

impl Terms {
    /// Appends lower, step, correction, level sum; 4 bytes each.
    pub fn write(&self, out: &mut Vec<u8>) {
        for word in [self.lower.to_bits(), self.step.to_bits(), self.correction.to_bits(), self.level_sum] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads what [`Self::write`] wrote.
    pub fn read(bytes: &[u8; TERMS_LEN]) -> Self {
        let word = |ix: usize| u32::from_le_bytes([bytes[ix], bytes[ix + 1], bytes[ix + 2], bytes[ix + 3]]);
        let float = |ix| f32::from_bits(word(ix));
        Self { lower: float(0), step: float(4), correction: float(8), level_sum: word(12) }
    }
}

/// Centroid and shape of one segment's codes.
///
/// Invariant: 1–4096 dimensions, all components finite.
#[derive(Debug, Clone, PartialEq)]
pub struct OsqModel {
    bits: Bits,
    metric: Metric,
    centroid: Vec<f32>,
    /// c · c.
    centroid_square: f32,
}

/// Most components of a vector.
const MAX_DIMS: usize = 4096;

impl OsqModel {
    /// A model around `centroid`, `[dims]`.
    ///
    /// # Errors
    /// `invalid_argument` for no or more than 4096 dimensions, or a component that is not finite.
    pub fn new(bits: Bits, metric: Metric, centroid: Vec<f32>) -> Result<Self> {
        if !(1..=MAX_DIMS).contains(&centroid.len()) {
            return Err(Error::invalid(format!(
                "quantizer of {} dimensions, 1..={MAX_DIMS} are served",
                centroid.len()
            )));
        }
        if centroid.iter().any(|value| !value.is_finite()) {
            return Err(Error::invalid("quantizer: the centroid is not finite"));
        }
        let centroid_square = in_range(lane_sum(&centroid, |v| f64::from(v) * f64::from(v)));
        Ok(Self { bits, metric, centroid, centroid_square })
    }

    /// A model around the mean of `vectors`, `[count x dims]` row-major; around zero if there are none. For cosine
    /// it is the mean of the normalized vectors.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn train<'a>(
        bits: Bits,
        metric: Metric,
        dims: usize,
        vectors: impl IntoIterator<Item = &'a [f32]>,
    ) -> Result<Self> {
        let (mut sums, mut count) = (vec![0.0f64; dims], 0u64);
        for vector in vectors {
            let scale = if metric == Metric::Cosine { inverse_norm(vector) } else { 1.0 };
            sums.iter_mut().zip(vector).for_each(|(sum, &value)| *sum += f64::from(value) * scale);
            count += 1;
        }
        let mean = sums.into_iter().map(|sum| if count == 0 { 0.0 } else { (sum / count as f64) as f32 }).collect();
        Self::new(bits, metric, mean)
    }

    /// Bits per component.
    pub fn bits(&self) -> Bits {
        self.bits
    }

    /// Components per vector.
    pub fn dims(&self) -> usize {
        self.centroid.len()
    }

    /// How vectors are compared.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// c · c.
    pub fn centroid_square(&self) -> f32 {
        self.centroid_square
    }

    /// Bytes of one packed row.
    pub fn row_len(&self) -> usize {
        row_len(self.dims(), self.bits)
    }

    /// Appends the packed row of `vector` to `rows` and returns its corrective terms.
    ///
    /// # Panics
    /// If `vector` has other dimensions.
    pub fn encode(&self, vector: &[f32], scratch: &mut Scratch, rows: &mut Vec<u8>) -> Terms {
        let terms = self.levels(vector, self.bits, scratch);
        pack_levels(&scratch.levels, self.bits, rows);
        terms
    }

    /// Levels of `vector` on `bits` bits, into `scratch`.
    pub(super) fn levels(&self, vector: &[f32], bits: Bits, scratch: &mut Scratch) -> Terms {
        assert_eq!(vector.len(), self.dims(), "vectors of one field have one dimension");
        let Scratch { centred, levels } = scratch;
        centred.clear();
        let scale = if self.metric == Metric::Cosine { inverse_norm(vector) } else { 1.0 };
        let mut with_centroid = 0.0f64;
        for (&value, &center) in vector.iter().zip(&self.centroid) {
            let value = (f64::from(value) * scale) as f32;
            with_centroid += f64::from(value) * f64::from(center);
            centred.push(value - center);
        }
        let interval = fit_interval(centred, bits);
        let level_sum = assign_levels(centred, interval, bits, levels);
        let correction = match self.metric {
            Metric::L2 => lane_sum(centred, |v| f64::from(v) * f64::from(v)),
            Metric::Cosine | Metric::Dot => with_centroid,
        };
        Terms { lower: interval.lower, step: interval.step(bits), correction: in_range(correction), level_sum }
    }

    /// The vector that a row stands for, normalized for cosine; appended to `out`.
    pub fn decode(&self, row: &[u8], terms: &Terms, scratch: &mut Scratch, out: &mut Vec<f32>) {
        unpack(row, self.dims(), self.bits, &mut scratch.levels);
        let values = scratch.levels.iter().zip(&self.centroid);
        out.extend(values.map(|(&level, &center)| terms.lower + f32::from(level) * terms.step + center));
    }

    /// Appends the model: bits u8, metric u8, dims u16, then the centroid.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.bits.count() as u8, self.metric.code()]);
        out.extend_from_slice(&(self.dims() as u16).to_le_bytes());
        self.centroid.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    }

    /// Reads what [`Self::write`] wrote; `bytes` are exactly that.
    ///
    /// # Errors
    /// `corrupt`.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let bad = |what: String| Error::corrupt("quantizer model", what);
        let Some((&[bits, metric, dims_low, dims_high], centroid)) = bytes.split_first_chunk::<4>() else {
            return Err(bad(format!("{} bytes", bytes.len())));
        };
        let bits = Bits::try_from(bits).map_err(bad)?;
        let metric = Metric::from_code(metric).ok_or_else(|| bad(format!("metric {metric}")))?;
        let dims = usize::from(u16::from_le_bytes([dims_low, dims_high]));
        let (components, rest) = centroid.as_chunks::<4>();
        if components.len() != dims || !rest.is_empty() {
            return Err(bad(format!("{} bytes of centroid for {dims} dimensions", centroid.len())));
        }
        let centroid = components.iter().map(|&component| f32::from_le_bytes(component)).collect();
        Self::new(bits, metric, centroid).map_err(|error| bad(error.to_string()))
    }
}

/// Buffers of one encoding thread.
#[derive(Debug, Default, Clone)]
pub struct Scratch {
    centred: Vec<f32>,
    pub(super) levels: Vec<u8>,
}

/// `value` clamped to the finite range of `f32`.
pub(super) fn in_range(value: f64) -> f32 {
    value.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}

/// 1 / |v|, or 0 for the zero vector, whose similarity to everything is 0.
fn inverse_norm(vector: &[f32]) -> f64 {
    let square = lane_sum(vector, |v| f64::from(v) * f64::from(v));
    if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 }
}
