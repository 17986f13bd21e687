//! The second wave: postings of all terms and norms whole, or skip data of what will be read in part.

use crate::{
    error::Result,
    ids::FieldOrd,
    postings::{Runs, TextStream},
    query::bind::{Node, PatternLeaf, TermLeaf},
    terms::TermPattern,
};

use super::{
    Plan,
    blocks::LEAD_BYTES,
    data::{Partial, SegmentTerm, SegmentText},
    machine::Slot,
};

/// Ranges of dictionary blocks and of postings of a pattern that are this near to each other are read as one.
pub(in crate::query) const PATTERN_GAP: u64 = 4096;
/// Lists of up to so many bytes are read whole with their skip data: a read costs as much at least.
const RARE_BYTES: u64 = 4096;
/// Segments of which the query needs no more are read whole.
const SMALL_SEGMENT_BYTES: u64 = 16 << 10;
/// A list leads where all others together have so many times its bytes.
const LEAD_RATIO: u64 = 8;

impl Plan {
    pub(super) fn request_postings(&mut self) -> Result<()> {
        for data in &mut self.data {
            data.can_match =
                self.root.can_match(&|leaf| data.terms[leaf].info.is_some(), &|leaf| !data.patterns[leaf].is_empty());
        }
        let leads = self.plan_parts();
        for segment in 0..self.segments.len() {
            match &leads {
                _ if !self.data[segment].can_match => {}
                Some(leads) if self.segment_bytes(segment) > self.small_segment() => {
                    self.request_skips(segment, leads)?;
                }
                _ => self.request_whole(segment)?,
            }
        }
        Ok(())
    }

    fn small_segment(&self) -> u64 {
        SMALL_SEGMENT_BYTES.min(self.whole_bytes)
    }

    /// Bytes of norms that the query scores with and that are not resident.
    fn norm_bytes(&self, segment: usize) -> u64 {
        let fields = self.scored_fields(segment);
        let absent = fields.iter().filter(|field| self.segments[segment].fields[field].norms.is_none());
        absent.count() as u64 * u64::from(self.segments[segment].max_doc)
    }

    /// Bytes of a list, with positions where those are needed; 0 where it is resident.
    fn list_bytes(&self, segment: usize, leaf: usize) -> u64 {
        let TermLeaf { field, positions, .. } = self.terms[leaf];
        let is_resident = self.segments[segment].fields.get(&field).is_none_or(|text| text.postings.is_some());
        match self.data[segment].terms[leaf].info.filter(|_| !is_resident) {
            None => 0,
            Some(info) if positions => info.len_bytes(),
            Some(info) => info.docs_range().end - info.docs_range().start,
        }
    }

    /// Bytes that parts of a segment are read of.
    fn segment_bytes(&self, segment: usize) -> u64 {
        if !self.data[segment].can_match || self.segments[segment].is_near {
            return 0;
        }
        let lists: u64 = (0..self.terms.len()).map(|leaf| self.list_bytes(segment, leaf)).sum();
        self.norm_bytes(segment) + if self.purpose.counts() { 0 } else { lists }
    }

    /// Whether to read parts of lists, and which lists to read whole though they are long, because the others are only
    /// needed around their documents.
    fn plan_parts(&mut self) -> Option<Vec<usize>> {
        // Fuzzy patterns are terms by now.
        let is_list = |leaf: &PatternLeaf| !matches!(leaf.pattern, TermPattern::Fuzzy(_));
        if self.purpose.depth().is_none_or(|k| k == 0) || self.patterns.iter().any(is_list) {
            return None;
        }
        let bytes: u64 = (0..self.segments.len()).map(|segment| self.segment_bytes(segment)).sum();
        if bytes <= self.whole_bytes {
            return None;
        }
        let (mut leads, mut groups) = (Vec::new(), Vec::new());
        required_together(&self.root, &mut groups);
        for (leaves, is_phrase) in groups {
            let cost =
                |leaf: usize| (0..self.segments.len()).map(|segment| self.list_bytes(segment, leaf)).sum::<u64>();
            let costs: Vec<u64> = leaves.iter().map(|&leaf| cost(leaf)).collect();
            let Some((place, &least)) = costs.iter().enumerate().min_by_key(|(_, cost)| **cost) else { continue };
            if costs.iter().sum::<u64>() - least >= least.saturating_mul(LEAD_RATIO) {
                leads.push(leaves[place]);
            } else if is_phrase && !self.purpose.counts() {
                // Frequent words meet in most blocks, and how often they do is not known from skip data.
                return None;
            }
        }
        self.selection.compiled = Some(self.compile()?);
        Some(leads)
    }

    /// Asks for skip data and short lists.
    fn request_skips(&mut self, segment: usize, leads: &[usize]) -> Result<()> {
        let has_lists = self.purpose.counts();
        self.data[segment].partial = Some(Partial { has_lists, ..Partial::default() });
        for leaf in 0..self.terms.len() {
            let SegmentTerm { info: Some(info), .. } = self.data[segment].terms[leaf] else { continue };
            let TermLeaf { field, positions, .. } = self.terms[leaf];
            let range = info.docs_range();
            let is_lead = leads.contains(&leaf) && info.docs_len <= LEAD_BYTES;
            if has_lists || info.skip_len == 0 || is_lead || range.end - range.start <= RARE_BYTES {
                self.request(segment, field, TextStream::Postings, range, Slot::Docs { leaf })?;
            } else {
                let skips = range.start..range.start + u64::from(info.skip_len);
                self.request(segment, field, TextStream::Postings, skips, Slot::Skips { leaf })?;
            }
            if positions && (has_lists || info.positions_len <= RARE_BYTES) {
                let range = info.positions_range();
                self.request(segment, field, TextStream::Postings, range, Slot::Positions { leaf })?;
            } else if positions {
                self.data[segment].terms[leaf].bytes.positions = Some(Runs::default());
            }
        }
        Ok(())
    }

    /// Whether a field has norms that are not resident.
    fn needs_norms(&self, segment: usize, field: FieldOrd) -> Result<bool> {
        let SegmentText { max_doc, fields, .. } = self.segments[segment].as_ref();
        let has_norms = fields.get(&field).is_some_and(|text| text.has_norms);
        Ok(has_norms && self.resident(segment, field, TextStream::Norms, &(0..u64::from(*max_doc)))?.is_none())
    }

    fn request_whole(&mut self, segment: usize) -> Result<()> {
        // Norms that are not resident are read whole, unless all terms of the field are singletons here.
        let mut whole_norms = Vec::new();
        for leaf in 0..self.terms.len() {
            let Some(info) = self.data[segment].terms[leaf].info else { continue };
            let TermLeaf { field, scored, positions, .. } = self.terms[leaf];
            self.request_absent(segment, field, TextStream::Postings, info.docs_range(), Slot::Docs { leaf })?;
            if positions {
                let range = info.positions_range();
                self.request_absent(segment, field, TextStream::Postings, range, Slot::Positions { leaf })?;
            }
            if scored && info.singleton.is_none() && self.needs_norms(segment, field)? && !whole_norms.contains(&field)
            {
                whole_norms.push(field);
            }
        }
        for leaf in 0..self.patterns.len() {
            self.request_pattern(segment, leaf)?;
            let PatternLeaf { field, scored, .. } = self.patterns[leaf];
            let is_scored = scored && self.pattern_weights[leaf].flat.is_none();
            let is_scored = is_scored && !self.data[segment].patterns[leaf].is_empty();
            if is_scored && self.needs_norms(segment, field)? && !whole_norms.contains(&field) {
                whole_norms.push(field);
            }
        }
        let is_scored = self.purpose.depth() != Some(0);
        for &field in whole_norms.iter().filter(|_| is_scored) {
            let range = 0..u64::from(self.segments[segment].max_doc);
            self.request(segment, field, TextStream::Norms, range, Slot::Norms { first_doc: 0 })?;
        }
        for leaf in 0..self.terms.len() {
            let field = self.terms[leaf].field;
            let doc = self.data[segment].terms[leaf].info.and_then(|info| info.singleton);
            let text = self.segments[segment].fields.get(&field);
            if let Some(doc) = doc.filter(|_| is_scored)
                && self.terms[leaf].scored
                && !whole_norms.contains(&field)
                && text.is_some_and(|text| text.has_norms)
                && doc < self.segments[segment].max_doc
            {
                let (range, slot) = (u64::from(doc)..u64::from(doc) + 1, Slot::TermNorm { leaf, first_doc: doc });
                self.request_absent(segment, field, TextStream::Norms, range, slot)?;
            }
        }
        Ok(())
    }
}

/// Groups of terms that a match has all of, and whether they are a phrase.
fn required_together(node: &Node, groups: &mut Vec<(Vec<usize>, bool)>) {
    match node {
        Node::Phrase { leaves, .. } => groups.push((leaves.iter().map(|&(_, leaf)| leaf).collect(), true)),
        Node::Boolean { must, should, must_not, filter, .. } => {
            let terms = must.iter().chain(filter).filter_map(|node| match node {
                Node::Term { leaf, .. } => Some(*leaf),
                _ => None,
            });
            let terms: Vec<usize> = terms.collect();
            if terms.len() > 1 {
                groups.push((terms, false));
            }
            [must, should, must_not, filter].into_iter().flatten().for_each(|node| required_together(node, groups));
        }
        Node::DisMax { nodes, .. } => nodes.iter().for_each(|node| required_together(node, groups)),
        Node::Constant { node, .. } => required_together(node, groups),
        _ => {}
    }
}
