//! The second wave: postings of all terms, and norms.

use crate::{
    error::Result,
    postings::TextStream,
    query::bind::{PatternLeaf, TermLeaf},
};

use super::{Plan, machine::Slot};

/// Ranges of dictionary blocks and of postings of a pattern that are this near to each other are read as one.
pub(in crate::query) const PATTERN_GAP: u64 = 4096;

impl Plan {
    pub(super) fn request_postings(&mut self) -> Result<()> {
        for segment in 0..self.segments.len() {
            let data = &mut self.data[segment];
            data.can_match =
                self.root.can_match(&|leaf| data.terms[leaf].info.is_some(), &|leaf| !data.patterns[leaf].is_empty());
            if !data.can_match {
                continue;
            }
            // Norms are read whole, unless all terms of the field are singletons here.
            let mut whole_norms = Vec::new();
            for leaf in 0..self.terms.len() {
                let Some(info) = self.data[segment].terms[leaf].info else { continue };
                let TermLeaf { field, scored, positions, .. } = self.terms[leaf];
                self.request(segment, field, TextStream::Postings, info.docs_range(), Slot::Docs { leaf })?;
                if positions {
                    let range = info.positions_range();
                    self.request(segment, field, TextStream::Postings, range, Slot::Positions { leaf })?;
                }
                if scored && info.singleton.is_none() && !whole_norms.contains(&field) {
                    whole_norms.push(field);
                }
            }
            for leaf in 0..self.patterns.len() {
                self.request_pattern(segment, leaf)?;
                let PatternLeaf { field, scored, .. } = self.patterns[leaf];
                let is_scored = scored && self.pattern_weights[leaf].flat.is_none();
                if is_scored && !self.data[segment].patterns[leaf].is_empty() && !whole_norms.contains(&field) {
                    whole_norms.push(field);
                }
            }
            for &field in &whole_norms {
                if self.segments[segment].fields.get(&field).is_some_and(|text| text.has_norms) {
                    let range = 0..u64::from(self.segments[segment].max_doc);
                    self.request(segment, field, TextStream::Norms, range, Slot::Norms { first_doc: 0 })?;
                }
            }
            for leaf in 0..self.terms.len() {
                let field = self.terms[leaf].field;
                let doc = self.data[segment].terms[leaf].info.and_then(|info| info.singleton);
                let text = self.segments[segment].fields.get(&field);
                if let Some(doc) = doc
                    && self.terms[leaf].scored
                    && !whole_norms.contains(&field)
                    && text.is_some_and(|text| text.has_norms)
                    && doc < self.segments[segment].max_doc
                {
                    let (range, slot) = (u64::from(doc)..u64::from(doc) + 1, Slot::TermNorm { leaf, first_doc: doc });
                    self.request(segment, field, TextStream::Norms, range, slot)?;
                }
            }
        }
        Ok(())
    }
}
