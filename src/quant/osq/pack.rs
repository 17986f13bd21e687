//! Rows of codes: from one level per byte to packed bits and back.

use serde::{Deserialize, Serialize};

/// Bits kept per component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Bits {
    /// 1 bit; queries have 4.
    One,
    /// 2 bits; queries have 4.
    Two,
    /// 4 bits; queries have 4.
    Four,
    /// 8 bits; queries have 8.
    Eight,
}

impl Bits {
    /// All widths.
    pub const ALL: [Self; 4] = [Self::One, Self::Two, Self::Four, Self::Eight];

    /// Bits per component.
    pub const fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// Highest level, 2^bits - 1.
    pub const fn max_level(self) -> u32 {
        (1 << self.count()) - 1
    }

    /// Bits of a query that is compared with codes of this width.
    pub const fn of_query(self) -> Self {
        match self {
            Self::Eight => Self::Eight,
            _ => Self::Four,
        }
    }
}

impl From<Bits> for u8 {
    fn from(bits: Bits) -> Self {
        bits.count() as Self
    }
}

impl TryFrom<u8> for Bits {
    type Error = String;

    fn try_from(count: u8) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|bits| bits.count() == u32::from(count))
            .ok_or_else(|| format!("{count} bits per component; 1, 2, 4 and 8 exist"))
    }
}

/// Words of one stripe, a bit per component.
pub(super) const fn stripe_words(dims: usize) -> usize {
    dims.div_ceil(64)
}

/// Bytes of one packed row of `dims` components, a multiple of 8.
pub const fn row_len(dims: usize, bits: Bits) -> usize {
    match bits {
        Bits::One => stripe_words(dims) * 8,
        Bits::Two => stripe_words(dims) * 16,
        Bits::Four => dims.div_ceil(2).next_multiple_of(8),
        Bits::Eight => dims.next_multiple_of(8),
    }
}

/// Appends bit `bit` of every level as one stripe.
pub fn push_stripe(levels: &[u8], bit: u32, out: &mut Vec<u8>) {
    for chunk in levels.chunks(64) {
        let word = chunk.iter().rev().fold(0u64, |word, &level| word << 1 | u64::from(level >> bit & 1));
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// Appends one packed row.
pub fn pack_levels(levels: &[u8], bits: Bits, out: &mut Vec<u8>) {
    let start = out.len();
    match bits {
        Bits::One => push_stripe(levels, 0, out),
        Bits::Two => (0..2).for_each(|bit| push_stripe(levels, bit, out)),
        Bits::Four => {
            let (low, high) = levels.split_at(levels.len().div_ceil(2));
            let high = high.iter().copied().chain(std::iter::once(0));
            out.extend(low.iter().zip(high).map(|(&low, high)| low | high << 4));
        }
        Bits::Eight => out.extend_from_slice(levels),
    }
    out.resize(start + row_len(levels.len(), bits), 0);
}

/// Levels of a packed row: the inverse of [`pack_levels`].
pub(super) fn unpack(row: &[u8], dims: usize, bits: Bits, levels: &mut Vec<u8>) {
    let bit = |stripe: &[u8], ix: usize| stripe[ix / 8] >> (ix % 8) & 1;
    levels.clear();
    match bits {
        Bits::One => levels.extend((0..dims).map(|ix| bit(row, ix))),
        Bits::Two => {
            let (low, high) = row.split_at(row.len() / 2);
            levels.extend((0..dims).map(|ix| bit(low, ix) | bit(high, ix) << 1));
        }
        Bits::Four => {
            let half = dims.div_ceil(2);
            levels.extend(row[..half].iter().map(|byte| byte & 15));
            levels.extend(row[..dims - half].iter().map(|byte| byte >> 4));
        }
        Bits::Eight => levels.extend_from_slice(&row[..dims]),
    }
}
