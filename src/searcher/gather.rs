//! The first waves of a search: everything up to the scoring is read.

#![forbid(unsafe_code)]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures_util::future::{try_join, try_join_all};

use super::{
    ask::{VectorAsk, VectorSource},
    batch::{Batch, Fetched, Slot},
    columns::{SegmentColumns, SegmentFilterWork},
    filter::{Filter, Leaf, among},
    flow::Search,
    pace::Pace,
    sort::Behind,
    tree_columns::TreeColumns,
};
use crate::{
    bitset::BitSet,
    columns::ValueRanges,
    error::{Error, ErrorKind, Result},
    ids::{DocAddress, DocId, DocOrd, FieldOrd, SegmentOrd},
    index::lookup,
    postings::TextStream,
    query::{ColumnLeaf, ColumnTest, FieldText, Plan, PlanOptions, SegmentFilter, SegmentText},
    schema::FieldKind,
    segment::SectionKind,
    storage::{File, ReadProfile},
    topk::order,
    vectors::{RowWindow, VectorOrd},
};

/// Storage is far from here on: a round trip takes longer than to read a list of a million documents from a disk.
const FAR_MICROS: u32 = ReadProfile::FAR_MICROS;
/// Lists of up to so many gaps that a storage reads across are read whole. A gap is what one request less is worth; parts
/// take at least one wave and about as many requests more than whole lists do: 256 KiB over HTTP by default.
const WHOLE_GAPS: u64 = 8;

/// What the first waves brought.
pub(super) struct Gathered {
    pub plan: Option<Plan>,
    pub columns: Vec<SegmentColumns>,
    /// Per segment: which documents may be returned.
    pub filters: Vec<SegmentFilter>,
    /// Query vectors.
    pub vectors: Vec<Vec<f32>>,
    /// Per field of a facet that leaves out the filter's conditions on it, and segment: what may then be counted.
    pub without: BTreeMap<FieldOrd, Vec<BitSet>>,
    /// Per facet and segment: ordinals that count, where not all do.
    pub facet_ords: Vec<Vec<Option<ValueRanges>>>,
    /// Per segment, what hits have to be behind.
    pub behind: Option<Vec<Behind>>,
}

impl<F: File> Search<'_, F> {
    fn text_plan(&self) -> Result<Option<Plan>> {
        let Some(query) = self.ask.query.as_ref().filter(|_| self.ask.legs.text) else { return Ok(None) };
        let segments = self.segments.iter().map(|segment| {
            let fields = self.schema.fields().filter_map(|(ord, field)| {
                let has_norms = matches!(field.kind, FieldKind::Text(_));
                let is_searched = has_norms || field.kind == FieldKind::Keyword;
                let index = segment.segment.terms(ord).filter(|_| is_searched)?.clone();
                Some((ord, FieldText { index, terms: None, postings: None, norms: None, has_norms }))
            });
            let (fields, is_near) = (fields.collect(), segment.segment.profile().latency_micros < FAR_MICROS);
            Arc::new(SegmentText { max_doc: segment.segment.max_doc(), fields, is_near })
        });
        let is_like = matches!(&self.ask.vector, Some(VectorAsk { source: VectorSource::Like(_), .. }));
        let accepts_all =
            self.ask.filter.is_none() && !is_like && self.segments.iter().all(|segment| segment.live.is_none());
        let gap_bytes = self.segments.iter().map(|segment| segment.segment.profile().gap_bytes).max().unwrap_or(0);
        let whole_bytes = gap_bytes.saturating_mul(WHOLE_GAPS);
        let options = PlanOptions { purpose: self.ask.purpose(), accepts_all, whole_bytes, ..PlanOptions::default() };
        Plan::with_options(query, segments.collect(), options).map(Some)
    }

    /// Everything up to the scoring: text plan fed, columns read, filters evaluated, query vectors at hand.
    pub(super) async fn gather(&self, pace: &mut Pace<'_>) -> Result<Gathered> {
        let mut plan = self.text_plan()?;
        let mut columns: Vec<SegmentColumns> = self.segments.iter().map(|_| SegmentColumns::default()).collect();
        let mut batch = Batch::default();
        let text = want_text(plan.as_ref(), &mut batch);
        let mut works = Vec::new();
        if let Some(filter) = &self.ask.filter {
            for (ix, segment) in self.segments.iter().enumerate() {
                works.push(SegmentFilterWork::new(filter, segment, ix, &mut columns[ix], &mut batch));
            }
        }
        let sorted = self.ask.sort.iter().filter_map(|key| key.column).map(|(field, _)| field);
        let collapsed = self.ask.collapse.iter().map(|collapse| collapse.field);
        for field in sorted.chain(self.ask.facets.iter().map(|facet| facet.field)).chain(collapsed) {
            for (ix, segment) in self.segments.iter().enumerate() {
                if let Some(column) = segment.segment.column(field) {
                    columns[ix].want_small(&mut batch, ix, field, column);
                }
            }
        }
        let leaves = plan.as_ref().map_or(Vec::new(), |plan| plan.columns().to_vec());
        let mut trees: Vec<TreeColumns> = Vec::new();
        for (ix, segment) in self.segments.iter().enumerate() {
            trees.push(TreeColumns::new(&leaves, segment, ix, &mut columns[ix], &mut batch));
        }
        let facet_reads = self.want_facet_words(&mut batch);
        let cursor_reads = self.want_cursor_words(&mut batch)?;
        let ids = self.wanted_ids(&leaves);
        self.cancel.check()?;
        let wave = try_join(batch.read(self.segments), self.find_ids(&ids));
        let (fetched, found) = self.trace.wave(wave).await?;
        self.cancel.check()?;

        // Second wave.
        for one in &mut columns {
            one.take(&fetched)?;
        }
        let facet_ords = self.facet_ords(&facet_reads, &fetched)?;
        let behind = self.behind(&cursor_reads, &fetched)?;
        feed_text(plan.as_mut(), &text, &fetched)?;
        let mut batch = Batch::default();
        let mut text = want_text(plan.as_ref(), &mut batch);
        if let Some(filter) = &self.ask.filter {
            for (ix, work) in works.iter_mut().enumerate() {
                work.resolve(filter, ix, &fetched, &mut columns[ix], &mut batch)?;
                set_ids(work, filter, &ids, &found[ix]);
            }
        }
        for (ix, tree) in trees.iter_mut().enumerate() {
            tree.resolve(&leaves, (&ids, &found[ix]), &fetched, &mut columns[ix], &mut batch)?;
        }
        let like = self.like_document(&ids, &found)?;
        let like_rows = match (&self.ask.vector, like) {
            (Some(vector), Some(address)) => Some(self.want_vectors(vector, address, &mut batch).await?),
            _ => None,
        };
        let mut fetched = if batch.is_empty() { Fetched::default() } else { self.read(&batch).await? };
        for one in &mut columns {
            one.take(&fetched)?;
        }
        let vectors = match (&self.ask.vector, like_rows) {
            (Some(VectorAsk { source: VectorSource::Value(value), .. }), _) => vec![value.clone()],
            (Some(VectorAsk { source: VectorSource::Values(values), .. }), _) => values.clone(),
            (Some(vector), Some(rows)) => self.like_vectors(vector, &rows, &fetched)?,
            _ => Vec::new(),
        };
        loop {
            feed_text(plan.as_mut(), &text, &fetched)?;
            let mut batch = Batch::default();
            text = want_text(plan.as_ref(), &mut batch);
            if batch.is_empty() {
                break;
            }
            fetched = self.read(&batch).await?;
        }

        let own: BTreeSet<FieldOrd> =
            self.ask.facets.iter().filter(|facet| facet.exclude_own).map(|facet| facet.field).collect();
        let own: Vec<FieldOrd> = own.into_iter().filter(|_| self.ask.filter.is_some()).collect();
        let mut without: BTreeMap<FieldOrd, Vec<BitSet>> = own.iter().map(|&field| (field, Vec::new())).collect();
        let mut filters = Vec::with_capacity(self.segments.len());
        let (mut works, mut trees) = (works.into_iter(), trees.into_iter());
        for (ix, segment) in self.segments.iter().enumerate() {
            let max_doc = segment.segment.max_doc();
            let (mut accept, mut others) = match (&self.ask.filter, works.next()) {
                (Some(filter), Some(work)) => {
                    let (accept, others) = work.finish(filter, &own, max_doc, &columns[ix], pace).await?;
                    (Some(accept), others)
                }
                _ => (None, Vec::new()),
            };
            if let Some(live) = &segment.live {
                accept.iter_mut().chain(&mut others).for_each(|set| set.and(live));
            }
            if let Some(address) = like.filter(|address| address.segment.0 as usize == ix) {
                let live = segment.live.as_deref();
                let set = accept.get_or_insert_with(|| live.cloned().unwrap_or_else(|| BitSet::full(max_doc)));
                std::iter::once(set).chain(&mut others).for_each(|set| {
                    set.remove(address.doc.0);
                });
            }
            for (field, set) in own.iter().zip(others) {
                without.entry(*field).or_default().push(set);
            }
            let live = accept.map(Arc::new).or_else(|| segment.live.clone());
            let inputs = trees.next().map_or(Ok(Vec::new()), |tree| tree.finish(&columns[ix]))?;
            filters.push(SegmentFilter { live, filter: None, sets: Vec::new(), columns: inputs });
        }
        self.read_parts(plan.as_mut(), &filters).await?;
        Ok(Gathered { plan, columns, filters, vectors, without, facet_ords, behind })
    }

    /// Reads what can still win of long lists: at most three waves.
    async fn read_parts(&self, plan: Option<&mut Plan>, filters: &[SegmentFilter]) -> Result<()> {
        let Some(plan) = plan else { return Ok(()) };
        while !plan.is_ready() {
            plan.choose(filters, self.cancel)?;
            let mut batch = Batch::default();
            let text = want_text(Some(plan), &mut batch);
            if !batch.is_empty() {
                feed_text(Some(plan), &text, &self.read(&batch).await?)?;
            }
        }
        Ok(())
    }

    /// Ids that the filter, the query and a `like` clause name, ascending by term, each once.
    fn wanted_ids(&self, tree: &[ColumnLeaf]) -> Vec<DocId> {
        let leaves = self.ask.filter.iter().flat_map(|filter| filter.leaves());
        let mut ids: Vec<DocId> = leaves
            .filter_map(|leaf| if let Leaf::Ids(ids) = leaf { Some(ids.clone()) } else { None })
            .flatten()
            .collect();
        for leaf in tree {
            if let ColumnTest::Ids(of_leaf) = &leaf.query.test {
                ids.extend(of_leaf.iter().cloned());
            }
        }
        if let Some(VectorAsk { source: VectorSource::Like(id), .. }) = &self.ask.vector {
            ids.push(id.clone());
        }
        order::by(&mut ids, DocId::cmp);
        ids.dedup();
        ids
    }

    /// Per segment: positions in `ids` and documents that carry them, live ones.
    async fn find_ids(&self, ids: &[DocId]) -> Result<Vec<Vec<(usize, DocOrd)>>> {
        let terms: Vec<Vec<u8>> = ids.iter().map(DocId::to_term).collect();
        let terms = &terms;
        try_join_all(self.segments.iter().map(|segment| async move {
            if terms.is_empty() {
                return Ok(Vec::new());
            }
            let mut found = lookup::find_docs(&segment.segment, terms).await?;
            found.retain(|(_, doc)| segment.live.as_ref().is_none_or(|live| live.contains(doc.0)));
            Ok(found)
        }))
        .await
    }

    fn like_document(&self, ids: &[DocId], found: &[Vec<(usize, DocOrd)>]) -> Result<Option<DocAddress>> {
        let Some(VectorAsk { source: VectorSource::Like(id), .. }) = &self.ask.vector else { return Ok(None) };
        let at = ids.iter().position(|one| one == id);
        let address = found.iter().enumerate().find_map(|(segment, docs)| {
            let &(_, doc) = docs.iter().find(|(ix, _)| Some(*ix) == at)?;
            Some(DocAddress { segment: SegmentOrd(segment as u32), doc })
        });
        address.map(Some).ok_or_else(|| Error::new(ErrorKind::NotFound, format!("vector like {id}: no such document")))
    }

    /// Asks for the vectors of a document. Where rows lie in cell order, their places are read first.
    async fn want_vectors(&self, vector: &VectorAsk, address: DocAddress, batch: &mut Batch) -> Result<LikeRows> {
        let ix = address.segment.0 as usize;
        let mut rows = Vec::new();
        if let Some(segment) = self.segment_rows(ix, vector.field, None) {
            for (ord, _) in self.trace.wave(segment.rows_of_docs([address.doc.0])).await? {
                let row = segment.reader.row_of(ord);
                let window = segment.reader.window(row..row + 1);
                let slot = batch.push(ix, SectionKind::Vectors, vector.field, window.bytes.clone());
                rows.push((window, slot));
            }
        }
        if rows.is_empty() {
            let what = format!("vector field {:?}: the document to be like has no vector", vector.name);
            return Err(Error::new(ErrorKind::NotFound, what));
        }
        Ok(LikeRows { segment: ix, rows })
    }

    fn like_vectors(&self, vector: &VectorAsk, like: &LikeRows, fetched: &Fetched) -> Result<Vec<Vec<f32>>> {
        let segment = &self.segments[like.segment].segment;
        let Some(reader) = segment.vectors(vector.field) else { return Ok(Vec::new()) };
        let what = || format!("vectors of field {:?} in segment {}", vector.name, segment.id());
        let rows = like.rows.iter().map(|(window, slot)| {
            let row = reader.vector(window, fetched.get(*slot)?, VectorOrd(window.ords.start));
            row.map_err(|error| Error::corrupt(what(), error))
        });
        rows.collect()
    }
}

/// The rows of the document to be like, on their way.
struct LikeRows {
    segment: usize,
    rows: Vec<(RowWindow, Slot)>,
}

fn want_text(plan: Option<&Plan>, batch: &mut Batch) -> Vec<Slot> {
    let Some(plan) = plan.filter(|plan| !plan.is_ready()) else { return Vec::new() };
    let wants = plan.wanted().iter().map(|want| {
        let kind = match want.stream {
            TextStream::Terms => SectionKind::Terms,
            TextStream::Postings => SectionKind::Postings,
            TextStream::Norms => SectionKind::Norms,
        };
        batch.push(want.segment, kind, want.field, want.range.clone())
    });
    wants.collect()
}

fn feed_text(plan: Option<&mut Plan>, slots: &[Slot], fetched: &Fetched) -> Result<()> {
    let Some(plan) = plan.filter(|plan| !plan.is_ready() && !slots.is_empty()) else { return Ok(()) };
    plan.feed(slots.iter().map(|&slot| fetched.get(slot).cloned()).collect::<Result<_>>()?)
}

/// Hands the documents found by id to the id conditions of a filter.
fn set_ids(work: &mut SegmentFilterWork, filter: &Filter, ids: &[DocId], found: &[(usize, DocOrd)]) {
    for (leaf_ix, leaf) in filter.leaves().iter().enumerate() {
        if let Leaf::Ids(wanted) = leaf {
            let is_wanted = among(ids, wanted);
            work.set_ids(leaf_ix, found.iter().filter(|(ix, _)| is_wanted[*ix]).map(|&(_, doc)| doc));
        }
    }
}
