//! The first wave: blocks of the dictionary, and what the terms found there weigh.

use bytes::Bytes;

use crate::{
    codec::DecodeError,
    error::{Error, Result},
    ids::FieldOrd,
    postings::{Runs, TermBytes, TextStream},
    query::{
        bm25,
        scorer::term::{Norms, TermWeight},
    },
    terms::{FieldTotals, find},
};

use super::{
    Plan,
    data::{FieldStats, TermStats},
    machine::Slot,
};

impl Plan {
    pub(super) fn request_terms(&mut self) -> Result<()> {
        for segment in 0..self.segments.len() {
            for leaf in 0..self.terms.len() {
                let (field, term) = (self.terms[leaf].field, &self.terms[leaf].term);
                let Some(text) = self.segments[segment].fields.get(&field) else { continue };
                let Some(range) = text.index.locate(term) else { continue };
                match self.resident(segment, field, TextStream::Terms, &range)? {
                    // Looked up where it lies.
                    Some((bytes, range)) => {
                        let found = find(text.index.options(), &bytes[range], term);
                        self.data[segment].terms[leaf].info = found.map_err(|error| in_terms(segment, field, error))?;
                    }
                    None => self.request(segment, field, TextStream::Terms, range, Slot::TermBlock { leaf })?,
                }
            }
            self.request_pattern_blocks(segment)?;
        }
        Ok(())
    }

    /// Takes the bytes of one range.
    pub(super) fn deliver(&mut self, segment: usize, field: FieldOrd, slot: Slot, bytes: Bytes) -> Result<()> {
        let at = |error| in_terms(segment, field, error);
        let options = self.segments[segment].fields.get(&field).map(|text| text.index.options()).unwrap_or_default();
        let data = &mut self.data[segment];
        match slot {
            Slot::TermBlock { leaf } => {
                data.terms[leaf].info = find(options, &bytes, &self.terms[leaf].term).map_err(at)?;
            }
            Slot::PatternBlocks { leaf } => self.collect_pattern_terms(segment, leaf, bytes).map_err(at)?,
            Slot::Docs { leaf } => {
                let term = &mut data.terms[leaf];
                let positions = term.bytes.positions.take();
                let info = term.info.unwrap_or_default();
                term.bytes = TermBytes { positions, ..TermBytes::whole(&info, bytes, None) };
            }
            Slot::Positions { leaf } => data.terms[leaf].bytes.positions = Some(Runs::whole(bytes)),
            Slot::Skips { leaf } => data.terms[leaf].bytes.skips = bytes,
            Slot::DocsPart { leaf, start } => data.terms[leaf].bytes.docs.insert(start, bytes),
            Slot::PositionsPart { leaf, start } => {
                data.terms[leaf].bytes.positions.get_or_insert_default().insert(start, bytes);
            }
            Slot::NormsPart { start } => {
                data.partial.get_or_insert_default().norms.entry(field).or_default().insert(start, bytes);
            }
            Slot::PatternDocs { leaf, start, terms } => {
                for term in &mut data.patterns[leaf][terms] {
                    let range = term.info.docs_range();
                    let (from, to) = ((range.start - start) as usize, (range.end - start) as usize);
                    term.docs = bytes.slice(from.min(bytes.len())..to.min(bytes.len()));
                }
            }
            Slot::Norms { first_doc } => {
                data.norms.insert(field, Norms { first_doc, bytes });
            }
            Slot::TermNorm { leaf, first_doc } => data.terms[leaf].norms = Some(Norms { first_doc, bytes }),
        }
        Ok(())
    }

    /// The weight of a term in a place with a boost.
    pub(in crate::query) fn term_weight(&self, leaf: usize, boost: f32) -> TermWeight {
        let weight = &self.term_stats[leaf].weight;
        TermWeight { weight: weight.weight * boost, lengths: weight.lengths.clone() }
    }

    /// The weight of a phrase: that of its terms together.
    pub(in crate::query) fn phrase_weight(&self, leaves: &[(u32, usize)], boost: f32) -> TermWeight {
        let idfs = leaves.iter().map(|&(_, leaf)| f64::from(self.term_stats[leaf].weight.weight)).sum::<f64>();
        let first = leaves.first().map_or(0, |&(_, leaf)| leaf);
        TermWeight { weight: idfs as f32 * boost, lengths: self.term_stats[first].weight.lengths.clone() }
    }

    /// What is known of a field of the query.
    pub(in crate::query) fn field_stats(&self, field: FieldOrd) -> Option<&FieldStats> {
        self.fields.iter().find(|(known, _)| *known == field).map(|(_, stats)| stats)
    }

    /// The weight of a term of a field with so many documents.
    pub(in crate::query) fn weight_of(&self, field: FieldOrd, doc_freq: u64) -> TermWeight {
        let stats = self.field_stats(field).expect("every field of the query was weighed first");
        TermWeight { weight: bm25::idf(doc_freq, stats.totals.doc_count), lengths: stats.lengths.clone() }
    }

    /// Computes index-wide statistics and weights, now that all terms are known.
    pub(super) fn weigh(&mut self) {
        for field in self.terms.iter().map(|leaf| leaf.field).chain(self.patterns.iter().map(|leaf| leaf.field)) {
            if self.field_stats(field).is_some() {
                continue;
            }
            let (mut totals, mut has_norms) = (FieldTotals::default(), false);
            for text in self.segments.iter().filter_map(|segment| segment.fields.get(&field)) {
                totals.add(text.index.totals());
                has_norms |= text.has_norms;
            }
            let lengths = bm25::length_table(self.params, &totals, has_norms);
            self.fields.push((field, FieldStats { lengths, totals }));
        }
        self.term_stats.reserve_exact(self.terms.len());
        for (ix, leaf) in self.terms.iter().enumerate() {
            let infos = self.data.iter().filter_map(|data| data.terms[ix].info.as_ref());
            let doc_freq = infos.map(|info| u64::from(info.doc_freq)).sum();
            let weight = self.weight_of(leaf.field, doc_freq);
            self.term_stats.push(TermStats { weight, doc_freq });
        }
        self.weigh_patterns();
    }
}

#[cold]
fn in_terms(segment: usize, field: FieldOrd, error: DecodeError) -> Error {
    Error::corrupt(format!("terms of field {} in segment {segment}", field.0), error)
}
