//! The way of one search through a snapshot.
//!
//! ```text
//! wave 1   term blocks, dictionary blocks of filter keywords, ids; columns of number filters; small columns of sort,
//!          facets and collapsing
//! wave 2   postings and norms; columns of keyword filters; vectors of a "like" document
//!          (of long lists that are far away skip data alone; then, in up to three waves, what can still win)
//! vectors  cells: centers where they are not pinned, codes, then rows of the shortlist, a wave each; a flat scan
//!          reads its windows in rounds of its own
//! facets   of large columns, the blocks with matching documents
//! sort     of large columns, the blocks that can still win, in growing rounds; with keyword keys over several segments:
//!          the keywords of the candidates
//! collapse of large columns, the blocks of the candidates, in growing rounds
//! wave 3   stored documents of the hits, keywords of the facets
//! ```

#![forbid(unsafe_code)]

use std::{collections::BTreeMap, sync::Arc};

use super::{
    ask::{Ask, VectorAsk},
    batch::{Batch, Fetched},
    column_ask::{Counted, FacetAsk},
    columns::SegmentColumns,
    cursor::fingerprint,
    facets::{Countable, FacetWork, Listed},
    fusion::{Fused, Fusion},
    gather::Gathered,
    hits,
    nearest::VectorLeg,
    pace::Pace,
    page::Rankings,
    words::Words,
};
use crate::{
    bitset::BitSet,
    columns::ValueRanges,
    error::Result,
    gpu::{GpuHost, OwnerStreams, SegmentRows},
    ids::{DocAddress, DocOrd, FieldOrd, SegmentOrd},
    index::{Snapshot, SnapshotSegment},
    platform::{self, Cancel},
    query::{
        Plan, ScoredDoc, SegmentFilter, Total,
        request::{
            Explanation, FacetResult, SearchRequest, SearchResponse, SearchStats, TotalMode, TotalRelation,
            VectorAnswer,
        },
    },
    schema::{FieldKind, Schema},
    segment::{SearchFile, SectionKind},
    storage::{File, IoTrace},
    topk::order,
};

/// One document on its way into the answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ranked {
    pub address: DocAddress,
    pub score: f64,
    pub text: Option<f32>,
    pub vector: Option<f32>,
    pub fused: Option<Fused>,
}

/// Score of a document of a search without query and vector: as a query for all documents gives.
pub(super) const MATCH_ALL_SCORE: f64 = 1.0;

/// Answers `request` over `snapshot`.
///
/// Waves of requests: three for text, filters, sort and facets where nothing is resident; lists of frequent words that
/// are far away add up to three more, a vector search its scan, a keyword sort over several segments one.
///
/// # Errors
/// `invalid_argument` naming the field or option; `not_found` for a `like` document; `no_gpu`; `aborted`;
/// `corrupt`, and storage's own.
pub async fn search<F: File>(
    snapshot: &Snapshot<SearchFile<F>>,
    gpu: &GpuHost,
    request: &SearchRequest,
    cancel: &Cancel,
) -> Result<SearchResponse> {
    let started = platform::now_millis();
    let schema = Arc::clone(snapshot.schema());
    let mut ask = Ask::new(request, &schema)?;
    let trace = Arc::new(IoTrace::new());
    let snapshot = snapshot.traced(&trace);
    let segments = snapshot.segments();
    let parts: Vec<[u8; 24]> = segments.iter().map(identity).collect();
    let fingerprint = fingerprint(parts.iter().map(<[u8; 24]>::as_slice));
    let search = Search { ask: &ask, schema: &schema, segments, fingerprint, trace: &trace, cancel };
    if let Some(query) = search.replace_more_like().await? {
        ask.query = Some(query);
    }
    let search = Search { ask: &ask, schema: &schema, segments, fingerprint, trace: &trace, cancel };
    let mut response = search.run(gpu, request).await?;
    note_unknown_names(request, &schema, &mut response);
    let counts = trace.counts();
    response.stats.requests = counts.requests;
    response.stats.bytes = counts.bytes;
    response.stats.waves = counts.waves as u32;
    response.stats.cache_hits = counts.cache_hits;
    response.stats.cache_misses = counts.cache_misses;
    response.took = platform::now_millis() - started;
    Ok(response)
}

/// Notes selected names that nothing has: neither a hit nor, but for vectors, which are not stored, the schema.
fn note_unknown_names(request: &SearchRequest, schema: &Schema, response: &mut SearchResponse) {
    let hits = || response.hits.iter().chain(response.answers.iter().flat_map(|answer| &answer.hits));
    if hits().next().is_none() {
        return;
    }
    let is_unknown = |name: &&String| {
        let in_schema = schema.find(name).is_some_and(|(_, field)| !matches!(field.kind, FieldKind::Vector(_)));
        !in_schema && !hits().any(|hit| hit.doc.contains_key(*name))
    };
    let unknown: Vec<&String> = request.select.iter().flatten().filter(is_unknown).collect();
    if !unknown.is_empty() {
        response.ignored.push(format!("select: no document has a stored field {unknown:?}"));
    }
}

/// What tells a segment and its deletions from others.
fn identity<F: File>(segment: &SnapshotSegment<F>) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[..16].copy_from_slice(&segment.segment.id().0);
    bytes[16..].copy_from_slice(&segment.overlay.to_le_bytes());
    bytes
}

pub(super) struct Search<'a, F: File> {
    pub ask: &'a Ask,
    pub schema: &'a Schema,
    pub segments: &'a [SnapshotSegment<SearchFile<F>>],
    /// Tells commits apart.
    pub fingerprint: u64,
    pub trace: &'a IoTrace,
    pub cancel: &'a Cancel,
}

impl<F: File> Search<'_, F> {
    async fn run(&self, gpu: &GpuHost, request: &SearchRequest) -> Result<SearchResponse> {
        let mut pace = Pace::new(self.cancel);
        if let Some(total) = self.count_range(&mut pace).await? {
            let stats = SearchStats { segments: self.segments.len() as u32, ..SearchStats::default() };
            let ignored = self.ask.ignored.clone();
            return Ok(SearchResponse { total, ignored, stats, ..SearchResponse::default() });
        }
        let Gathered { plan, mut columns, filters, vectors, without, facet_ords, behind } =
            self.gather(&mut pace).await?;
        let plan = plan.as_ref();
        let leg = match &self.ask.vector {
            Some(vector) => self.nearest(gpu, vector, &vectors, &filters, request.gpu).await?,
            None => VectorLeg::default(),
        };
        if self.ask.vector.as_ref().is_some_and(VectorAsk::is_batch) {
            return self.answer_each(request, leg).await;
        }
        let counts_too = !self.ask.legs.vector && self.ask.sort.is_empty() && self.ask.total != TotalMode::AtLeast;
        let lists = match plan {
            Some(plan) if counts_too && without.is_empty() => self.matching_lists(plan, &filters)?,
            _ => None,
        };
        let sets = match &lists {
            Some(_) => None,
            None => self.matching_sets(plan, &filters, &leg, &mut pace).await?,
        };
        let (ranking, fusion, total) = match plan.filter(|_| counts_too && sets.is_none()) {
            Some(plan) => {
                let (ranking, total) = plan.top_k_and_total(self.ask.depth(), &filters, self.cancel)?;
                (ranking.into_iter().map(by_text).collect(), None, total)
            }
            None => {
                let (ranking, fusion) = self.rank(plan, &filters, &leg, self.ask.depth())?;
                pace.step().await?;
                let total = self.total(plan, &filters, sets.as_deref(), &leg, fusion.as_ref())?;
                (ranking, fusion, total)
            }
        };
        let total = Total { count: total.count.max(ranking.len() as u64), ..total };
        let mut own_sets = BTreeMap::new();
        for (field, accepted) in without {
            let filters: Vec<SegmentFilter> = accepted
                .into_iter()
                .zip(&filters)
                .map(|(set, filter)| SegmentFilter { live: Some(Arc::new(set)), ..filter.clone() })
                .collect();
            own_sets.insert(field, self.matching_sets(plan, &filters, &leg, &mut pace).await?.unwrap_or_default());
        }
        let facet_sets = |facet: &FacetAsk| match own_sets.get(&facet.field).filter(|_| facet.exclude_own) {
            Some(sets) => sets.as_slice(),
            None => sets.as_deref().unwrap_or_default(),
        };
        let facets = match &lists {
            Some(lists) => self.count_listed_facets(lists, &facet_ords, &mut columns, &mut pace).await?,
            None => self.count_facets(facet_sets, &facet_ords, &mut columns, &mut pace).await?,
        };
        let mut ranked = Rankings::new(self, plan, &filters, ranking, sets.as_deref(), behind.as_deref());
        let mut page = self.page(&mut ranked, total.count, &mut columns, &mut pace).await?;
        self.fill_text_scores(&mut page.hits, plan, &filters)?;

        let mut facets = facets;
        let mut words = Words::default();
        let mut batch = Batch::default();
        facets.iter_mut().for_each(|facet| facet.want_words(&mut words, &mut batch));
        page.want_cursor_words(self, &mut words, &mut batch);
        let stored = hits::want_documents(self, request, &page.hits, &mut batch)?;
        let fetched = self.read(&batch).await?;
        words.take(&fetched)?;
        let facets: Vec<FacetResult> =
            facets.into_iter().map(|facet| facet.finish(&mut words)).collect::<Result<_>>()?;
        let facets = self.ask.facet_places.iter().map(|&place| facets[place].clone()).collect();
        let explain = |one: &Ranked| self.explain(one, plan, &filters, fusion.as_ref());
        let cursor = page.cursor(self, &mut words)?;
        let hits = hits::build(self, request, &page.hits, &stored, &fetched, explain)?;
        let hits = page.arrange(self, hits);
        let mut ignored = self.ask.ignored.clone();
        ignored.extend(plan.iter().flat_map(|plan| plan.notes().iter().cloned()));
        let stats = self.stats(leg);
        let total_relation = if total.is_exact { TotalRelation::Exact } else { TotalRelation::AtLeast };
        let (total, answers) = (total.count, Vec::new());
        Ok(SearchResponse { hits, total, total_relation, facets, answers, cursor, took: 0.0, ignored, stats })
    }

    fn stats(&self, leg: VectorLeg) -> SearchStats {
        SearchStats {
            segments: self.segments.len() as u32,
            vectors_scored: leg.num_scored,
            cells_probed: leg.cells_probed,
            codes_scored: leg.codes_scored,
            vectors_expanded: leg.vectors_expanded,
            compute: leg.compute,
            ..SearchStats::default()
        }
    }

    /// Several query vectors: a page of each one's ranking, their documents read in one wave.
    async fn answer_each(&self, request: &SearchRequest, mut leg: VectorLeg) -> Result<SearchResponse> {
        let rankings = std::mem::take(&mut leg.rankings);
        let page = |ranking: &Vec<(DocAddress, f32)>| {
            let page = ranking.iter().skip(self.ask.offset).take(self.ask.limit);
            page.map(by_vector).collect::<Vec<Ranked>>()
        };
        let pages: Vec<Vec<Ranked>> = rankings.iter().map(page).collect();
        let all = pages.concat();
        let mut batch = Batch::default();
        let stored = hits::want_documents(self, request, &all, &mut batch)?;
        let fetched = if batch.is_empty() { Fetched::default() } else { self.read(&batch).await? };
        let explain = |one: &Ranked| self.explain(one, None, &[], None);
        let mut hits = hits::build(self, request, &all, &stored, &fetched, explain)?.into_iter();
        let has_bar = self.has_bar();
        let answer = |(page, ranking): (&Vec<Ranked>, &Vec<_>)| VectorAnswer {
            hits: hits.by_ref().take(page.len()).collect(),
            total: if has_bar { ranking.len() as u64 } else { leg.num_matched },
        };
        let answers = pages.iter().zip(&rankings).map(answer).collect();
        let is_exact = !has_bar || leg.is_exact && rankings.iter().all(|ranking| !self.is_full(ranking));
        let total_relation = if is_exact { TotalRelation::Exact } else { TotalRelation::AtLeast };
        let (total, stats) = (leg.num_matched, self.stats(leg));
        Ok(SearchResponse { total, total_relation, answers, stats, ..SearchResponse::default() })
    }

    /// Whether neighbours below a score are left out.
    fn has_bar(&self) -> bool {
        self.ask.vector.as_ref().is_some_and(|vector| vector.min_score.is_some())
    }

    /// Whether a ranking of the vector leg has as many documents as it may have.
    fn is_full(&self, ranking: &[(DocAddress, f32)]) -> bool {
        self.ask.vector.as_ref().is_some_and(|vector| ranking.len() >= vector.k)
    }

    /// Counts all facets, each over its own sets of documents.
    async fn count_facets<'s>(
        &self,
        sets_of: impl Fn(&FacetAsk) -> &'s [BitSet],
        ords: &[Vec<Option<ValueRanges>>],
        columns: &mut [SegmentColumns],
        pace: &mut Pace<'_>,
    ) -> Result<Vec<FacetWork>> {
        let mut works: Vec<FacetWork> = self.ask.facets.iter().cloned().map(FacetWork::new).collect();
        let countable = |work: &FacetWork, facet: usize, segment: usize| {
            let column = self.segments[segment].segment.column(work.ask().field)?;
            let matching = sets_of(work.ask()).get(segment)?;
            Some(Countable { segment, column, matching, accept: ords[facet][segment].as_ref() })
        };
        let mut batch = Batch::default();
        for (facet, work) in works.iter().enumerate() {
            for (segment, columns) in columns.iter_mut().enumerate() {
                if let Some(of) = countable(work, facet, segment) {
                    work.want(of, columns, &mut batch);
                }
            }
        }
        if !batch.is_empty() {
            self.read_columns(columns, &batch).await?;
        }
        for (facet, work) in works.iter_mut().enumerate() {
            for (segment, columns) in columns.iter().enumerate() {
                if let Some(of) = countable(work, facet, segment) {
                    work.count(of, columns, pace).await?;
                }
            }
        }
        Ok(works)
    }

    /// The documents that facets count, where in each segment they are few and nothing but values is counted.
    fn matching_lists(&self, plan: &Plan, filters: &[SegmentFilter]) -> Result<Option<Vec<Vec<u32>>>> {
        let facets = &self.ask.facets;
        if facets.is_empty() || !facets.iter().all(|facet| matches!(facet.counted, Counted::Values { .. })) {
            return Ok(None);
        }
        filters.iter().enumerate().map(|(ix, filter)| plan.matching_list(ix, filter)).collect()
    }

    /// Counts all facets over the same few documents.
    async fn count_listed_facets(
        &self,
        lists: &[Vec<u32>],
        ords: &[Vec<Option<ValueRanges>>],
        columns: &mut [SegmentColumns],
        pace: &mut Pace<'_>,
    ) -> Result<Vec<FacetWork>> {
        let mut works: Vec<FacetWork> = self.ask.facets.iter().cloned().map(FacetWork::new).collect();
        let listed = |work: &FacetWork, facet: usize, segment: usize| {
            let column = self.segments[segment].segment.column(work.ask().field)?;
            let docs = lists.get(segment)?;
            Some(Listed { segment, column, docs, accept: ords[facet][segment].as_ref() })
        };
        let mut batch = Batch::default();
        for (facet, work) in works.iter().enumerate() {
            for (segment, columns) in columns.iter_mut().enumerate() {
                if let Some(of) = listed(work, facet, segment) {
                    work.want_listed(of, columns, &mut batch);
                }
            }
        }
        if !batch.is_empty() {
            self.read_columns(columns, &batch).await?;
        }
        for (facet, work) in works.iter_mut().enumerate() {
            for (segment, columns) in columns.iter().enumerate() {
                if let Some(of) = listed(work, facet, segment) {
                    work.count_listed(of, columns, pace).await?;
                }
            }
        }
        Ok(works)
    }

    /// One wave.
    pub(super) async fn read(&self, batch: &Batch) -> Result<Fetched> {
        self.cancel.check()?;
        let fetched = self.trace.wave(batch.read(self.segments)).await?;
        self.cancel.check()?;
        Ok(fetched)
    }

    /// The vectors of a segment, of which documents in `accept` may be returned; `None` if the segment has none.
    pub(super) fn segment_rows<'s>(
        &'s self,
        ix: usize,
        field: FieldOrd,
        accept: Option<&'s BitSet>,
    ) -> Option<SegmentRows<'s, SearchFile<F>>> {
        let segment = &self.segments[ix].segment;
        let section = |kind| segment.reader().section(kind, field).map(|section| section.offset);
        let owners = section(SectionKind::VectorDocs).zip(section(SectionKind::VectorOrds));
        Some(SegmentRows {
            segment: SegmentOrd(ix as u32),
            reader: segment.vectors(field)?,
            file: segment.reader().file(),
            offset: section(SectionKind::Vectors)?,
            owners: owners.map(|(docs, ords)| OwnerStreams { docs, ords }),
            accept,
            trace: Some(self.trace),
        })
    }

    /// Per segment, the documents that facets and sorting look at; `None` where nothing needs them.
    async fn matching_sets(
        &self,
        plan: Option<&Plan>,
        filters: &[SegmentFilter],
        leg: &VectorLeg,
        pace: &mut Pace<'_>,
    ) -> Result<Option<Vec<BitSet>>> {
        let legs = self.ask.legs;
        let is_sorted = !self.ask.sort.is_empty() && !legs.vector;
        if self.ask.facets.is_empty() && !is_sorted && (legs.text || legs.vector) {
            return Ok(None);
        }
        let mut sets = Vec::with_capacity(self.segments.len());
        for (ix, (segment, filter)) in self.segments.iter().zip(filters).enumerate() {
            let max_doc = segment.segment.max_doc();
            let accepted = || filter.live.as_deref().cloned().unwrap_or_else(|| BitSet::full(max_doc));
            let set = match plan {
                Some(plan) => {
                    let mut set = plan.matches(ix, filter)?;
                    let hits = leg.ranking.iter().filter(|(address, _)| address.segment.0 as usize == ix);
                    hits.for_each(|(address, _)| {
                        set.insert(address.doc.0);
                    });
                    set
                }
                None if legs.vector && self.has_bar() => {
                    let mut found = BitSet::new(max_doc);
                    let here = leg.ranking.iter().filter(|(address, _)| address.segment.0 as usize == ix);
                    here.for_each(|(address, _)| {
                        found.insert(address.doc.0);
                    });
                    found
                }
                None if legs.vector => {
                    let mut with_vector = BitSet::new(max_doc);
                    let reader = self.ask.vector.as_ref().and_then(|vector| segment.segment.vectors(vector.field));
                    if let Some(reader) = reader {
                        with_vector = reader.docs_with_vector();
                    }
                    with_vector.and(&accepted());
                    with_vector
                }
                None => accepted(),
            };
            sets.push(set);
            pace.step().await?;
        }
        Ok(Some(sets))
    }

    /// The ranking that hits are taken from: as deep as the page for one leg, complete where it is fused or sorted
    /// by score among other keys. Empty where only sets count.
    fn rank(
        &self,
        plan: Option<&Plan>,
        filters: &[SegmentFilter],
        leg: &VectorLeg,
        depth: usize,
    ) -> Result<(Vec<Ranked>, Option<Fusion>)> {
        let Some(plan) = plan else { return Ok((leg.ranking.iter().map(by_vector).collect(), None)) };
        let is_fused = self.ask.legs.vector;
        let is_sorted_by_score = self.ask.sort.iter().any(|key| key.column.is_none());
        let depth = if is_fused || is_sorted_by_score {
            usize::try_from(plan.count(filters, self.cancel)?).unwrap_or(usize::MAX)
        } else if self.ask.sort.is_empty() {
            depth
        } else {
            return Ok((Vec::new(), None));
        };
        if !is_fused {
            return Ok((self.by_text(plan, filters, depth)?, None));
        }
        let text: Vec<(DocAddress, f32)> =
            self.by_text(plan, filters, depth)?.iter().filter_map(|one| Some((one.address, one.text?))).collect();
        let fusion = Fusion::new(self.ask.fuse, &text, &leg.ranking);
        let ranking = fusion.ranking.iter().map(|one| Ranked {
            address: one.address,
            score: one.score,
            text: one.text.map(|place| place.score),
            vector: one.vector.map(|place| place.score),
            fused: Some(*one),
        });
        Ok((ranking.collect(), Some(fusion)))
    }

    /// The best `depth` documents of the text leg.
    pub(super) fn by_text(&self, plan: &Plan, filters: &[SegmentFilter], depth: usize) -> Result<Vec<Ranked>> {
        Ok(plan.top_k(depth, filters, self.cancel)?.into_iter().map(by_text).collect())
    }

    fn total(
        &self,
        plan: Option<&Plan>,
        filters: &[SegmentFilter],
        sets: Option<&[BitSet]>,
        leg: &VectorLeg,
        fusion: Option<&Fusion>,
    ) -> Result<Total> {
        let count = match (fusion, sets, plan) {
            (Some(fusion), ..) => fusion.ranking.len() as u64,
            (None, ..) if self.ask.legs.vector && self.has_bar() => {
                let is_exact = leg.is_exact && !self.is_full(&leg.ranking);
                return Ok(Total { count: leg.ranking.len() as u64, is_exact });
            }
            (None, ..) if self.ask.legs.vector => leg.num_matched,
            (None, Some(_), Some(plan)) if let Some(known) = plan.known_count(filters)? => known,
            (None, Some(sets), _) => sets.iter().map(|set| u64::from(set.count())).sum(),
            (None, None, Some(plan)) if self.ask.total == TotalMode::AtLeast => return plan.total_at_least(filters),
            (None, None, Some(plan)) => return plan.total(filters, self.cancel),
            (None, None, None) => 0,
        };
        Ok(Total { count, is_exact: true })
    }

    /// Text scores of hits that were found by sorting.
    fn fill_text_scores(&self, page: &mut [Ranked], plan: Option<&Plan>, filters: &[SegmentFilter]) -> Result<()> {
        let Some(plan) = plan.filter(|_| !self.ask.sort.is_empty()) else { return Ok(()) };
        for (ix, filter) in filters.iter().enumerate() {
            let mut docs: Vec<DocOrd> = page
                .iter()
                .filter(|one| one.address.segment.0 as usize == ix && one.text.is_none() && one.fused.is_none())
                .map(|one| one.address.doc)
                .collect();
            if docs.is_empty() {
                continue;
            }
            order::by_key(&mut docs, |doc: &DocOrd| doc.0.into());
            let scores = plan.scores(ix, &docs, filter)?;
            for one in page.iter_mut().filter(|one| one.address.segment.0 as usize == ix) {
                let Ok(at) = docs.binary_search(&one.address.doc) else { continue };
                if let Some(&Some(score)) = scores.get(at) {
                    one.text = Some(score);
                    one.score = f64::from(score);
                }
            }
        }
        Ok(())
    }

    fn explain(
        &self,
        one: &Ranked,
        plan: Option<&Plan>,
        filters: &[SegmentFilter],
        fusion: Option<&Fusion>,
    ) -> Result<Explanation> {
        let ix = one.address.segment.0 as usize;
        let text = match plan.filter(|_| one.text.is_some()) {
            Some(plan) => {
                let name = |ord| self.schema.field(ord).map_or_else(String::new, |field| field.name.clone());
                plan.explain(ix, one.address.doc, &filters[ix], &name)?
            }
            None => None,
        };
        let vector = one.vector.zip(self.ask.vector.as_ref()).map(|(score, vector)| Explanation {
            value: f64::from(score),
            description: format!(
                "{} of the nearest vector in field {:?}",
                hits::metric_words(vector.options.metric),
                vector.name
            ),
            details: Vec::new(),
        });
        Ok(match (fusion, one.fused) {
            (Some(fusion), Some(fused)) => fusion.explain(&fused, text, vector),
            _ => text.or(vector).unwrap_or_else(|| Explanation {
                value: one.score,
                description: "every document matches".to_owned(),
                details: Vec::new(),
            }),
        })
    }
}

fn by_vector(&(address, score): &(DocAddress, f32)) -> Ranked {
    Ranked { address, score: f64::from(score), text: None, vector: Some(score), fused: None }
}

fn by_text(hit: ScoredDoc) -> Ranked {
    let address = DocAddress { segment: SegmentOrd(hit.segment), doc: hit.doc };
    Ranked { address, score: f64::from(hit.score), text: Some(hit.score), vector: None, fused: None }
}

/// A document of a search that scores nothing.
pub(super) fn matched(address: DocAddress) -> Ranked {
    Ranked { address, score: MATCH_ALL_SCORE, text: None, vector: None, fused: None }
}
