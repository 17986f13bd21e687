//! A query in the forms that centers and codes are compared with.

use super::{
    format::CellsMeta,
    shape::{CodeKind, square},
    writer::normalized,
};
use crate::{
    distance::{
        blocks::{self, BlockQuery},
        packed::{self, StripeQuery},
    },
    quant::{
        osq::{Bits, Interval, assign_levels},
        pq::PqTable,
    },
    schema::Metric,
};

/// Weight of a center's squared norm in its rank for dot products: half of it would be the nearest center, none the
/// one with the largest product; in between finds most neighbours (measured on sentence vectors).
const NORM_WEIGHT: f32 = 0.25;

/// Components that are looked at together.
const LANES: usize = 8;

/// Columns of terms: lower, step, level sum.
pub(super) struct Terms<'a> {
    columns: &'a [[u8; 4]],
    len: usize,
}

impl<'a> Terms<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let columns = bytes.as_chunks::<4>().0;
        Self { columns, len: columns.len() / 3 }
    }

    #[inline]
    pub(super) fn get(&self, ix: usize) -> (f32, f32, f32) {
        let float = |at: usize| f32::from_le_bytes(self.columns[at]);
        (float(ix), float(self.len + ix), u32::from_le_bytes(self.columns[2 * self.len + ix]) as f32)
    }
}

/// A query on equidistant levels: component ≈ lower + level * step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Levels {
    lower: f32,
    step: f32,
    /// Of the components.
    sum: f32,
}

/// One query in every form that is compared with.
#[derive(Debug)]
pub(super) struct Query {
    /// Of unit length for cosine.
    pub(super) vector: Vec<f32>,
    /// The same as codes see it, where that is not the same.
    turned: Option<Vec<f32>>,
    pub(super) metric: Metric,
    pub(super) square: f32,
    /// 8 bits, in the order of 4-bit rows: against centers.
    pub(super) nibbles: Vec<u8>,
    pub(super) fine: Levels,
    pub(super) code: CodeQuery,
}

/// A query in the form that codes are compared with.
#[derive(Debug)]
pub(super) struct CodeQuery {
    code: Code,
    levels: Levels,
}

#[derive(Debug)]
enum Code {
    /// Against rows of so many bits.
    Stripes(Bits, StripeQuery),
    /// The same in blocks.
    Blocks(Bits, BlockQuery),
    /// In the order of 4-bit rows.
    Nibbles(Vec<u8>),
    Bytes(Vec<u8>),
    Table(PqTable),
}

impl Query {
    pub(super) fn new(query: &[f32], meta: &CellsMeta) -> Self {
        let shape = meta.shape;
        let mut vector = Vec::new();
        normalized(query, shape.metric, &mut vector);
        let mut levels = Vec::new();
        let fine = quantize(&vector, Bits::Eight, &mut levels);
        let nibbles = in_nibbles(&levels, shape.center_row_len());
        let turned = meta.rotation.is_some().then(|| {
            let mut turned = vector.clone();
            meta.rotate(&mut turned);
            turned
        });
        let code = CodeQuery::new(turned.as_deref().unwrap_or(&vector), meta);
        let square = square(&vector) as f32;
        Self { vector, turned, metric: shape.metric, square, nibbles, fine, code }
    }

    /// The query less the center of a group, for centered codes.
    pub(super) fn less_center(&self, group: usize, meta: &CellsMeta) -> CodeQuery {
        let own = self.turned.as_deref().unwrap_or(&self.vector);
        let less: Vec<f32> = own.iter().zip(meta.code_center(group)).map(|(q, g)| q - g).collect();
        CodeQuery::new(&less, meta)
    }

    /// Rank of a center by its product with the query and its squared norm; larger is better.
    pub(super) fn rank(&self, dot: f32, norm: f32) -> f32 {
        match self.metric {
            Metric::L2 => dot - 0.5 * norm,
            Metric::Cosine => dot - NORM_WEIGHT * norm,
            Metric::Dot => dot,
        }
    }

    /// A center's rank in the unit of estimates.
    pub(super) fn in_estimates(&self, rank: f32) -> f32 {
        if self.metric == Metric::L2 { 2.0 * rank - self.square } else { rank }
    }

    /// Products with as many centers as `out` takes, each added to `base`; `terms` and `rows` are theirs.
    pub(super) fn center_dots(&self, base: f32, terms: &[u8], rows: &[u8], products: &mut Vec<u32>, out: &mut [f32]) {
        products.resize(out.len(), 0);
        packed::nibble_dots(&self.nibbles, rows, products);
        self.fine.add_terms(terms, products, out);
        out.iter_mut().for_each(|dot| *dot += base);
    }
}

impl CodeQuery {
    /// Of a vector as codes see it.
    fn new(vector: &[f32], meta: &CellsMeta) -> Self {
        let (shape, mut levels) = (meta.shape, Vec::new());
        let CodeKind::Scalar(bits) = shape.code else {
            let model = meta.pq.as_ref().expect("codes of a product quantizer come with it");
            return Self { code: Code::Table(PqTable::new(model, vector)), levels: Levels::default() };
        };
        let of_query = if matches!(bits, Bits::One | Bits::Two) { Bits::Four } else { Bits::Eight };
        let of_levels = quantize(vector, of_query, &mut levels);
        let code = match bits {
            Bits::One | Bits::Two if meta.rotation.is_some() => Code::Blocks(bits, BlockQuery::new(&levels)),
            Bits::One | Bits::Two => Code::Stripes(bits, StripeQuery::new(&levels)),
            Bits::Four => Code::Nibbles(in_nibbles(&levels, shape.row_len())),
            Bits::Eight => {
                levels.resize(shape.row_len(), 0);
                Code::Bytes(levels)
            }
        };
        Self { code, levels: of_levels }
    }

    /// Products with the `len` vectors that `rows` stand for, relative to their center.
    pub(super) fn dots(&self, terms: &[u8], rows: &[u8], len: usize, products: &mut Vec<u32>, out: &mut Vec<f32>) {
        products.resize(len, 0);
        out.resize(len, 0.0);
        if let Code::Table(table) = &self.code {
            return table.dots(rows, out);
        }
        self.products(rows, products);
        self.levels.add_terms(terms, products, out);
    }

    /// The product with the vector at `ix` among those that `terms` and `rows`, of `row_len` bytes each, stand for.
    pub(super) fn one_dot(&self, terms: &[u8], rows: &[u8], row_len: usize, ix: usize) -> f32 {
        let mut gathered = Vec::new();
        let row = match &self.code {
            Code::Blocks(..) => {
                blocks::append_row(rows, row_len, ix, &mut gathered);
                &gathered
            }
            _ => &rows[ix * row_len..][..row_len],
        };
        if let Code::Table(table) = &self.code {
            let mut dot = [0.0];
            table.dots(row, &mut dot);
            return dot[0];
        }
        let mut product = [0];
        self.products(row, &mut product);
        self.levels.product(Terms::new(terms).get(ix), product[0])
    }

    /// Products with levels.
    fn products(&self, rows: &[u8], products: &mut [u32]) {
        match &self.code {
            Code::Blocks(Bits::One, query) => blocks::block_dots::<1>(query, rows, products),
            Code::Blocks(_, query) => blocks::block_dots::<2>(query, rows, products),
            Code::Stripes(Bits::One, query) => packed::stripe_dots::<1>(query, rows, products),
            Code::Stripes(_, query) => packed::stripe_dots::<2>(query, rows, products),
            Code::Nibbles(query) => packed::nibble_dots(query, rows, products),
            Code::Bytes(query) => packed::byte_dots(query, rows, products),
            Code::Table(_) => {}
        }
    }
}

impl Levels {
    /// Makes products with levels products with what they stand for; `terms` are columns.
    fn add_terms(&self, terms: &[u8], products: &[u32], out: &mut [f32]) {
        let (lower, rest) = terms.as_chunks::<4>().0.split_at(out.len());
        let (step, sums) = rest.split_at(out.len());
        for ((((out, &product), lower), step), sum) in out.iter_mut().zip(products).zip(lower).zip(step).zip(sums) {
            let (lower, step) = (f32::from_le_bytes(*lower), f32::from_le_bytes(*step));
            *out = self.product((lower, step, u32::from_le_bytes(*sum) as f32), product);
        }
    }

    /// Product of the query with lower + level * step: lower * sum(q) + step * (q.lower * sum(level) + q.step * product).
    #[inline]
    pub(super) fn product(&self, (lower, step, level_sum): (f32, f32, f32), product: u32) -> f32 {
        lower * self.sum + step * (self.lower * level_sum + self.step * product as f32)
    }
}

/// Levels in the order of 4-bit rows of `row_len` bytes: those of the low halves, then those of the high ones.
fn in_nibbles(levels: &[u8], row_len: usize) -> Vec<u8> {
    let mut nibbles = vec![0; row_len * 2];
    let (low, high) = levels.split_at(levels.len().div_ceil(2));
    nibbles[..low.len()].copy_from_slice(low);
    nibbles[row_len..row_len + high.len()].copy_from_slice(high);
    nibbles
}

/// Levels over the whole range of the components: a query is used once, so nothing is fitted.
fn quantize(vector: &[f32], bits: Bits, levels: &mut Vec<u8>) -> Levels {
    // In lanes, and compared by hand: in wasm `f32::min` is a call.
    let (mut least, mut most, mut sums) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES], [0.0f64; LANES]);
    for chunk in vector.chunks(LANES) {
        for (((&value, least), most), sum) in chunk.iter().zip(&mut least).zip(&mut most).zip(&mut sums) {
            *least = if value < *least { value } else { *least };
            *most = if value > *most { value } else { *most };
            *sum += f64::from(value);
        }
    }
    let min = least.into_iter().fold(f32::INFINITY, f32::min);
    let max = most.into_iter().fold(f32::NEG_INFINITY, f32::max);
    let interval = Interval { lower: min, upper: max };
    assign_levels(vector, interval, bits, levels);
    Levels { lower: min, step: interval.step(bits), sum: sums.into_iter().sum::<f64>() as f32 }
}
