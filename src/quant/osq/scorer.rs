//! Estimated similarities of one query to many rows.

use super::{
    model::{OsqModel, Scratch, TERMS_LEN, Terms, in_range},
    pack::Bits,
};
use crate::{
    distance::packed::{self, StripeQuery},
    schema::Metric,
};

/// A query in the form the kernels want.
#[derive(Debug, Clone)]
pub struct OsqQuery {
    terms: Terms,
    code: Code,
}

#[derive(Debug, Clone)]
enum Code {
    /// Against rows of 1 and 2 bits.
    Stripes(StripeQuery),
    /// One byte per component in the order of a row's bytes: against rows of 4 and 8 bits.
    Bytes(Vec<u8>),
}

impl OsqQuery {
    /// Quantizes `query`, `[dims]`, for rows of `model`.
    ///
    /// # Panics
    /// If it has other dimensions.
    pub fn new(model: &OsqModel, query: &[f32]) -> Self {
        let mut scratch = Scratch::default();
        let bits = model.bits().of_query();
        let terms = model.levels(query, bits, &mut scratch);
        let levels = &scratch.levels;
        let code = match model.bits() {
            Bits::One | Bits::Two => Code::Stripes(StripeQuery::new(levels)),
            Bits::Four => {
                let mut bytes = vec![0; model.row_len() * 2];
                let (low, high) = levels.split_at(levels.len().div_ceil(2));
                bytes[..low.len()].copy_from_slice(low);
                bytes[model.row_len()..][..high.len()].copy_from_slice(high);
                Code::Bytes(bytes)
            }
            Bits::Eight => {
                let mut bytes = levels.clone();
                bytes.resize(model.row_len(), 0);
                Code::Bytes(bytes)
            }
        };
        Self { terms, code }
    }
}

/// Scores batches of rows of one model.
#[derive(Debug, Clone)]
pub struct OsqScorer<'a> {
    model: &'a OsqModel,
    query: OsqQuery,
    products: Vec<u32>,
}

impl<'a> OsqScorer<'a> {
    /// A scorer of `query` against rows of `model`.
    pub fn new(model: &'a OsqModel, query: &[f32]) -> Self {
        Self { model, query: OsqQuery::new(model, query), products: Vec::new() }
    }

    /// Estimates one similarity per row, larger is better: the dot product (of normalized vectors for cosine), or
    /// the negated squared distance. `rows` are packed, one after another; `terms` is their column in the same order.
    ///
    /// # Panics
    /// If `rows`, `terms` and `out` disagree on the number of rows.
    pub fn similarities(&mut self, rows: &[u8], terms: &[u8], out: &mut [f32]) {
        let (terms, rest) = terms.as_chunks::<TERMS_LEN>();
        assert!(terms.len() == out.len() && rest.is_empty(), "one set of terms per row");
        self.products.resize(out.len(), 0);
        match (&self.query.code, self.model.bits()) {
            (Code::Stripes(query), Bits::One) => packed::stripe_dots::<1>(query, rows, &mut self.products),
            (Code::Stripes(query), _) => packed::stripe_dots::<2>(query, rows, &mut self.products),
            (Code::Bytes(query), Bits::Four) => packed::nibble_dots(query, rows, &mut self.products),
            (Code::Bytes(query), _) => packed::byte_dots(query, rows, &mut self.products),
        }
        for ((terms, &product), out) in terms.iter().zip(&self.products).zip(out) {
            let row = Terms::read(terms);
            *out = self.estimate(&row, product as f32);
            if !out.is_finite() {
                *out = in_range(self.estimate_wide(&row, product));
            }
        }
    }

    #[inline]
    fn estimate(&self, row: &Terms, product: f32) -> f32 {
        let own = &self.query.terms;
        let raw = row.lower * own.lower * self.model.dims() as f32
            + own.lower * row.step * row.level_sum as f32
            + row.lower * own.step * own.level_sum as f32
            + row.step * own.step * product;
        match self.model.metric() {
            Metric::L2 => -(own.correction + row.correction - 2.0 * raw).max(0.0),
            Metric::Cosine | Metric::Dot => own.correction - self.model.centroid_square() + row.correction + raw,
        }
    }

    /// The same in double precision, for vectors whose products leave the range of `f32`.
    #[cold]
    fn estimate_wide(&self, row: &Terms, product: u32) -> f64 {
        let own = &self.query.terms;
        let wide = f64::from;
        let raw = wide(row.lower) * wide(own.lower) * self.model.dims() as f64
            + wide(own.lower) * wide(row.step) * f64::from(row.level_sum)
            + wide(row.lower) * wide(own.step) * f64::from(own.level_sum)
            + wide(row.step) * wide(own.step) * f64::from(product);
        let corrections = wide(own.correction) + wide(row.correction);
        match self.model.metric() {
            Metric::L2 => -(corrections - 2.0 * raw).max(0.0),
            Metric::Cosine | Metric::Dot => corrections - wide(self.model.centroid_square()) + raw,
        }
    }
}
