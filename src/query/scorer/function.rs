//! Scores made of another scorer's and a column's value.

use std::sync::Arc;

use crate::{
    columns::{BLOCK_DOCS, PackedBlock},
    query::{
        ColumnBytes,
        function::BoundFunction,
        scorer::{BoxScorer, Scorer, column::ColumnDamage},
    },
};

/// The documents of another scorer, scored by a function of a column as well.
pub(in crate::query) struct FunctionScorer {
    inner: BoxScorer,
    values: FunctionValues,
}

/// A function's results by document.
#[derive(Debug)]
pub(in crate::query) struct FunctionValues {
    pub function: BoundFunction,
    /// `None`: no document has a value.
    column: Option<Arc<ColumnBytes>>,
    opened: Option<(u32, Option<PackedBlock>)>,
    damage: ColumnDamage,
}

impl FunctionValues {
    pub fn new(function: BoundFunction, column: Option<Arc<ColumnBytes>>, damage: ColumnDamage) -> Self {
        Self { function, column, opened: None, damage }
    }

    /// The result for a document. Documents of one block are best asked for one after another.
    pub fn of(&mut self, doc: u32) -> f64 {
        let Some(column) = &self.column else { return self.function.missing };
        let block = doc / BLOCK_DOCS;
        if self.opened.as_ref().is_none_or(|(known, _)| *known != block) {
            let has_values = column.meta.blocks().get(block as usize).is_some_and(|meta| meta.num_docs_with > 0);
            let opened = has_values.then(|| column.open(block)).transpose();
            let opened = opened.unwrap_or_else(|error| {
                self.damage.note(error);
                None
            });
            self.opened = Some((block, opened));
        }
        match &self.opened {
            Some((_, Some(block))) => self.function.of(block.values(doc)),
            _ => self.function.missing,
        }
    }

    /// No document of `from..to` has a higher result.
    fn bound(&self, from: u32, to: u32) -> f64 {
        let Some(column) = &self.column else { return self.function.missing };
        let blocks = (from / BLOCK_DOCS)..=(to.max(1) - 1) / BLOCK_DOCS;
        let known = column.meta.blocks();
        let mut bound = f64::NEG_INFINITY;
        for block in blocks {
            let docs = column.meta.block_docs(block);
            let Some(meta) = known.get(block as usize) else {
                bound = bound.max(self.function.missing);
                break;
            };
            if meta.num_docs_with < docs.end - docs.start {
                bound = bound.max(self.function.missing);
            }
            if meta.num_docs_with > 0 {
                bound = bound.max(self.function.bound(meta.min, meta.max));
            }
        }
        bound
    }
}

impl FunctionScorer {
    pub fn new(inner: BoxScorer, values: FunctionValues) -> Self {
        Self { inner, values }
    }
}

impl Scorer for FunctionScorer {
    fn doc(&self) -> u32 {
        self.inner.doc()
    }

    fn next(&mut self) -> u32 {
        self.inner.next()
    }

    fn advance(&mut self, target: u32) -> u32 {
        self.inner.advance(target)
    }

    fn advance_candidate(&mut self, target: u32) -> u32 {
        self.inner.advance_candidate(target)
    }

    fn confirm(&mut self) -> bool {
        self.inner.confirm()
    }

    fn confirm_cost(&self) -> u32 {
        self.inner.confirm_cost()
    }

    fn score(&mut self) -> f32 {
        let result = self.values.of(self.inner.doc());
        self.values.function.combine(self.inner.score(), result)
    }

    fn cost(&self) -> u64 {
        self.inner.cost()
    }

    fn bound(&mut self, from: u32, to: u32) -> f32 {
        let score = self.inner.bound(from, to);
        let result = self.values.bound(from, to);
        if !score.is_finite() { score } else { self.values.function.combine(score, result) }
    }

    fn max_score(&mut self) -> f32 {
        let score = self.inner.max_score();
        let result = self.values.bound(0, crate::postings::END);
        if !score.is_finite() { score } else { self.values.function.combine(score, result) }
    }

    fn window_end(&mut self, target: u32) -> u32 {
        // Blocks of the column are what the function's bound is known for.
        self.inner.window_end(target).min((target / BLOCK_DOCS + 1).saturating_mul(BLOCK_DOCS))
    }
}
