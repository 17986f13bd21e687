//! Rows of levels.

use super::{
    curve::{Curve, MAX_GROWTH},
    fit::fit,
};

/// Bytes of a part's interval and growth.
const PART_BYTES: usize = 9;
/// From these dimensions on, a row has two parts.
const TWO_PARTS_DIMS: usize = 32;

/// Bits of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NvqBits {
    /// 16 levels.
    Four,
    /// 256 levels.
    Eight,
}

impl NvqBits {
    fn max_level(self) -> f32 {
        match self {
            Self::Four => 15.0,
            Self::Eight => 255.0,
        }
    }
}

/// Where the parts of a row end.
fn ends(dims: usize) -> ([usize; 2], usize) {
    if dims < TWO_PARTS_DIMS { ([dims, dims], 1) } else { ([dims.div_ceil(2), dims], 2) }
}

/// Bytes of a row of `dims` components.
pub const fn row_len(dims: usize, bits: NvqBits) -> usize {
    let parts = if dims < TWO_PARTS_DIMS { 1 } else { 2 };
    let levels = match bits {
        NvqBits::Four => dims.div_ceil(2),
        NvqBits::Eight => dims,
    };
    parts * PART_BYTES + levels
}

/// Appends the row of a vector with finite components. Cost: some twenty passes over it.
pub fn append_row(vector: &[f32], bits: NvqBits, out: &mut Vec<u8>) {
    let max_level = bits.max_level();
    let (ends, parts) = ends(vector.len());
    let mut curves = [Curve::new(0.0, 0.0, 0); 2];
    let mut from = 0;
    for (curve, &end) in curves.iter_mut().zip(&ends).take(parts) {
        let part = &vector[from..end];
        let (lower, upper) =
            part.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(least, most), &x| (least.min(x), most.max(x)));
        let (lower, upper) = if part.is_empty() { (0.0, 0.0) } else { (lower, upper) };
        let growth = fit(part, lower, upper, max_level);
        *curve = Curve::new(lower, upper, growth);
        out.extend_from_slice(&lower.to_le_bytes());
        out.extend_from_slice(&upper.to_le_bytes());
        out.push(growth);
        from = end;
    }
    let level = |ix: usize| {
        let curve = &curves[usize::from(ix >= ends[0])];
        (curve.place(vector[ix]) * max_level + 0.5) as u8
    };
    match bits {
        NvqBits::Eight => out.extend((0..vector.len()).map(level)),
        NvqBits::Four => out.extend((0..vector.len()).step_by(2).map(|ix| {
            let high = if ix + 1 < vector.len() { level(ix + 1).min(15) } else { 0 };
            level(ix).min(15) | high << 4
        })),
    }
}

/// Reads a row into `out`, whose length is its number of components. Any bytes give finite numbers, or `None` where no
/// writer can have written them.
///
/// # Panics
/// If the row has another length.
pub fn read_row(row: &[u8], bits: NvqBits, out: &mut [f32]) -> Option<()> {
    assert_eq!(row.len(), row_len(out.len(), bits), "a row of {} components", out.len());
    let (ends, parts) = ends(out.len());
    let (heads, levels) = row.split_at(parts * PART_BYTES);
    let inverse = 1.0 / bits.max_level();
    let mut from = 0;
    for (head, &end) in heads.as_chunks::<PART_BYTES>().0.iter().zip(&ends) {
        let [a, b, c, d, e, f, g, h, growth] = *head;
        let (lower, upper) = (f32::from_le_bytes([a, b, c, d]), f32::from_le_bytes([e, f, g, h]));
        if !(lower.is_finite() && upper.is_finite() && lower <= upper && growth <= MAX_GROWTH) {
            return None;
        }
        let curve = Curve::new(lower, upper, growth);
        match bits {
            NvqBits::Eight => {
                let levels = &levels[from..end];
                out[from..end].iter_mut().zip(levels).for_each(|(out, &level)| {
                    *out = curve.component(f32::from(level) * inverse);
                });
            }
            NvqBits::Four => {
                // No more values than levels: looked up.
                let values: [f32; 16] = std::array::from_fn(|level| curve.component(level as f32 * inverse));
                for (ix, out) in (from..end).zip(&mut out[from..end]) {
                    *out = values[usize::from(levels[ix / 2] >> (ix % 2 * 4) & 15)];
                }
            }
        }
        from = end;
    }
    Some(())
}
