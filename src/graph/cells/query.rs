//! A query in the forms that centers and codes are compared with.

use super::{
    format::{CellsMeta, CodeKind, square},
    writer::normalized,
};
use crate::{
    distance::packed::{self, StripeQuery},
    quant::{
        osq::{Bits, Interval, assign_levels},
        pq::PqTable,
    },
    schema::Metric,
};

/// Weight of a center's squared norm in its rank for dot products: half of it would be the nearest center, none the
/// one with the largest product; in between finds most neighbours (measured on sentence vectors).
const NORM_WEIGHT: f32 = 0.25;

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
#[derive(Debug, Clone, Copy)]
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
    pub(super) metric: Metric,
    pub(super) square: f32,
    /// 8 bits, in the order of 4-bit rows: against centers and 4-bit codes.
    pub(super) nibbles: Vec<u8>,
    pub(super) fine: Levels,
    /// Against codes.
    code: Code,
    coarse: Levels,
}

#[derive(Debug)]
enum Code {
    /// Against rows of so many bits.
    Stripes(Bits, StripeQuery),
    /// 4-bit codes use [`Query::nibbles`].
    Nibbles,
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
        let half = shape.center_row_len();
        let mut nibbles = vec![0; half * 2];
        let (low, high) = levels.split_at(levels.len().div_ceil(2));
        nibbles[..low.len()].copy_from_slice(low);
        nibbles[half..half + high.len()].copy_from_slice(high);
        let turned = meta.rotation.as_ref().map(|rotation| {
            let mut turned = vector.clone();
            rotation.apply(&mut turned);
            turned
        });
        let (code, coarse) = match shape.code {
            CodeKind::Scalar(bits @ (Bits::One | Bits::Two)) => {
                let coarse = quantize(turned.as_deref().unwrap_or(&vector), Bits::Four, &mut levels);
                (Code::Stripes(bits, StripeQuery::new(&levels)), coarse)
            }
            CodeKind::Scalar(Bits::Four) => (Code::Nibbles, fine),
            CodeKind::Scalar(Bits::Eight) => {
                levels.resize(shape.row_len(), 0);
                (Code::Bytes(levels), fine)
            }
            CodeKind::Product(_) => {
                let model = meta.pq.as_ref().expect("codes of a product quantizer come with it");
                (Code::Table(PqTable::new(model, &vector)), fine)
            }
        };
        let square = square(&vector) as f32;
        Self { vector, metric: shape.metric, square, nibbles, fine, code, coarse }
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
        self.add_terms(&self.fine, terms, products, out);
        out.iter_mut().for_each(|dot| *dot += base);
    }

    /// Products with the `len` vectors that `rows` stand for, relative to their center.
    pub(super) fn dots(&self, terms: &[u8], rows: &[u8], len: usize, products: &mut Vec<u32>, out: &mut Vec<f32>) {
        products.resize(len, 0);
        out.resize(len, 0.0);
        if let Code::Table(table) = &self.code {
            return table.dots(rows, out);
        }
        self.products(rows, products);
        self.add_terms(&self.coarse, terms, products, out);
    }

    /// Makes products with levels products with what they stand for; `terms` are columns.
    fn add_terms(&self, levels: &Levels, terms: &[u8], products: &[u32], out: &mut [f32]) {
        let (lower, rest) = terms.as_chunks::<4>().0.split_at(out.len());
        let (step, sums) = rest.split_at(out.len());
        for ((((out, &product), lower), step), sum) in out.iter_mut().zip(products).zip(lower).zip(step).zip(sums) {
            let (lower, step) = (f32::from_le_bytes(*lower), f32::from_le_bytes(*step));
            *out = self.product((lower, step, u32::from_le_bytes(*sum) as f32), product, levels);
        }
    }

    /// The product with one of them: `row` is its code, `ix` its place among the terms.
    pub(super) fn one_dot(&self, terms: &[u8], row: &[u8], ix: usize) -> f32 {
        if let Code::Table(table) = &self.code {
            let mut dot = [0.0];
            table.dots(row, &mut dot);
            return dot[0];
        }
        let mut product = [0];
        self.products(row, &mut product);
        self.product(Terms::new(terms).get(ix), product[0], &self.coarse)
    }

    /// Products with levels.
    fn products(&self, rows: &[u8], products: &mut [u32]) {
        match &self.code {
            Code::Stripes(Bits::One, query) => packed::stripe_dots::<1>(query, rows, products),
            Code::Stripes(_, query) => packed::stripe_dots::<2>(query, rows, products),
            Code::Nibbles => packed::nibble_dots(&self.nibbles, rows, products),
            Code::Bytes(query) => packed::byte_dots(query, rows, products),
            Code::Table(_) => {}
        }
    }

    /// Product of the query with lower + level * step: lower * sum(q) + step * (q.lower * sum(level) + q.step * product).
    #[inline]
    pub(super) fn product(&self, (lower, step, level_sum): (f32, f32, f32), product: u32, levels: &Levels) -> f32 {
        lower * levels.sum + step * (levels.lower * level_sum + levels.step * product as f32)
    }
}

/// Levels over the whole range of the components: a query is used once, so nothing is fitted.
fn quantize(vector: &[f32], bits: Bits, levels: &mut Vec<u8>) -> Levels {
    let (min, max) = vector.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(min, max), &v| (min.min(v), max.max(v)));
    let interval = Interval { lower: min, upper: max };
    assign_levels(vector, interval, bits, levels);
    let sum = vector.iter().map(|&v| f64::from(v)).sum::<f64>() as f32;
    Levels { lower: min, step: interval.step(bits), sum }
}
