//! The way of one search through a snapshot.
//!
//! ```text
//! wave 1   term blocks, dictionary blocks of filter keywords, ids; columns of number filters, sort and facets
//! wave 2   postings and norms; columns of keyword filters; vectors of a "like" document
//!          (prefixes may take further ones)
//! vectors  the flat scan reads its windows in rounds of its own
//! sort     with keyword keys over several segments: the keywords of the candidates
//! wave 3   stored documents of the hits, keywords of the facets
//! ```

#![forbid(unsafe_code)]

use std::{collections::HashMap, sync::Arc};

use super::{
    ask::{Ask, VectorAsk},
    batch::{Batch, Fetched},
    columns::SegmentColumns,
    facets::FacetWork,
    fusion::{Fused, Fusion},
    gather::Gathered,
    hits,
    pace::Pace,
    sort::{self, SortedDoc},
    words::Words,
};
use crate::{
    bitset::BitSet,
    columns::{ColumnKind, ColumnMeta},
    error::Result,
    gpu::{self, FlatRequest, GpuHost, OwnerStreams, SegmentRows},
    ids::{DocAddress, DocOrd, FieldOrd, SegmentOrd},
    index::{Snapshot, SnapshotSegment},
    platform::{self, Cancel},
    query::{
        Plan, SegmentFilter,
        request::{Explanation, GpuMode, SearchRequest, SearchResponse, SearchStats},
    },
    schema::Schema,
    segment::{SearchFile, SectionKind},
    storage::{File, IoTrace},
    topk::{Scored, TopK},
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
const MATCH_ALL_SCORE: f64 = 1.0;

/// Answers `request` over `snapshot`.
///
/// Waves of requests: three for text, filters, sort and facets where nothing is resident; a vector search adds its
/// scan, a prefix or a keyword sort over several segments one more.
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
    let ask = Ask::new(request, &schema)?;
    let trace = Arc::new(IoTrace::new());
    let snapshot = snapshot.traced(&trace);
    let search = Search { ask: &ask, schema: &schema, segments: snapshot.segments(), trace: &trace, cancel };
    let mut response = search.run(gpu, request).await?;
    let counts = trace.counts();
    response.stats.requests = counts.requests;
    response.stats.bytes = counts.bytes;
    response.stats.waves = counts.waves as u32;
    response.stats.cache_hits = counts.cache_hits;
    response.stats.cache_misses = counts.cache_misses;
    response.took = platform::now_millis() - started;
    Ok(response)
}

pub(super) struct Search<'a, F: File> {
    pub ask: &'a Ask,
    pub schema: &'a Schema,
    pub segments: &'a [SnapshotSegment<SearchFile<F>>],
    pub trace: &'a IoTrace,
    pub cancel: &'a Cancel,
}

/// The ranking of a vector leg.
#[derive(Default)]
struct VectorLeg {
    ranking: Vec<(DocAddress, f32)>,
    num_matched: u64,
    num_scored: u64,
    compute: String,
}

impl<F: File> Search<'_, F> {
    async fn run(&self, gpu: &GpuHost, request: &SearchRequest) -> Result<SearchResponse> {
        let mut pace = Pace::new(self.cancel);
        let gathered = self.gather(&mut pace).await?;
        let Gathered { plan, columns, filters, vectors } = &gathered;
        let leg = match &self.ask.vector {
            Some(vector) => self.nearest(gpu, vector, vectors, filters, request.gpu).await?,
            None => VectorLeg::default(),
        };
        let sets = self.matching_sets(plan.as_ref(), filters, &leg, &mut pace).await?;
        let (ranking, fusion) = self.rank(plan.as_ref(), filters, &leg)?;
        pace.step().await?;
        let total = self.total(plan.as_ref(), filters, sets.as_deref(), &leg, fusion.as_ref())?;
        let mut page = if self.ask.sort.is_empty() {
            self.page(ranking, sets.as_deref())
        } else {
            self.sorted_page(ranking, sets.as_deref(), columns, &mut pace).await?
        };
        self.fill_text_scores(&mut page, plan.as_ref(), filters)?;
        let mut facets = Vec::new();
        for ask in &self.ask.facets {
            let mut facet = FacetWork::new(ask.clone());
            for (ix, segment) in self.segments.iter().enumerate() {
                if let (Some(column), Some(sets)) = (segment.segment.column(ask.field), &sets) {
                    facet.count(ix, column, &columns[ix], &sets[ix], &mut pace).await?;
                }
            }
            facets.push(facet);
        }
        let mut words = Words::default();
        let mut batch = Batch::default();
        facets.iter_mut().for_each(|facet| facet.want_words(&mut words, &mut batch));
        let stored = hits::want_documents(self, &page, &mut batch)?;
        let fetched = self.read(&batch).await?;
        let facets = facets.into_iter().map(|facet| facet.finish(&mut words, &fetched)).collect::<Result<_>>()?;
        let explain = |one: &Ranked| self.explain(one, plan.as_ref(), filters, fusion.as_ref());
        let hits = hits::build(self, request, &page, &stored, &fetched, explain)?;
        let mut ignored = self.ask.ignored.clone();
        ignored.extend(plan.iter().flat_map(|plan| plan.notes().iter().cloned()));
        let stats = SearchStats {
            segments: self.segments.len() as u32,
            vectors_scored: leg.num_scored,
            compute: leg.compute,
            ..SearchStats::default()
        };
        Ok(SearchResponse { hits, total, facets, took: 0.0, ignored, stats })
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

    /// The vector leg: the best `k` documents, by the best pair where document or query have several vectors.
    async fn nearest(
        &self,
        gpu: &GpuHost,
        vector: &VectorAsk,
        queries: &[Vec<f32>],
        filters: &[SegmentFilter],
        mode: GpuMode,
    ) -> Result<VectorLeg> {
        let filters = filters.iter().enumerate();
        let rows = filters.filter_map(|(ix, filter)| self.segment_rows(ix, vector.field, filter.live.as_deref()));
        let rows: Vec<_> = rows.collect();
        let mode = match mode {
            GpuMode::Auto => gpu::Mode::Auto,
            GpuMode::Off => gpu::Mode::Off,
            GpuMode::Required => gpu::Mode::Required,
        };
        let request = FlatRequest { queries: queries.to_vec(), k: vector.k, mode };
        let answer = gpu::search_flat(gpu, &rows, &request, self.cancel).await?;
        let mut best: HashMap<DocAddress, f32> = HashMap::new();
        let several = answer.hits.len() > 1;
        let mut ranking: Vec<Scored<DocAddress>> = Vec::new();
        for hits in answer.hits {
            if !several {
                ranking = hits;
                break;
            }
            for hit in hits {
                let score = best.entry(hit.ord).or_insert(hit.score);
                *score = score.max(hit.score);
            }
        }
        if several {
            let mut top = TopK::new(vector.k);
            best.into_iter().for_each(|(address, score)| {
                top.push(score, address);
            });
            ranking = top.into_sorted_vec();
        }
        Ok(VectorLeg {
            ranking: ranking.into_iter().map(|hit| (hit.ord, hit.score)).collect(),
            num_matched: answer.num_matched,
            num_scored: answer.num_scored,
            compute: answer.compute,
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
    ) -> Result<(Vec<Ranked>, Option<Fusion>)> {
        let by_vector = |&(address, score): &(DocAddress, f32)| {
            let vector = Some(score);
            Ranked { address, score: f64::from(score), text: None, vector, fused: None }
        };
        let Some(plan) = plan else { return Ok((leg.ranking.iter().map(by_vector).collect(), None)) };
        let is_fused = self.ask.legs.vector;
        let is_sorted_by_score = self.ask.sort.iter().any(|key| key.column.is_none());
        let depth = if is_fused || is_sorted_by_score {
            usize::try_from(plan.count(filters, self.cancel)?).unwrap_or(usize::MAX)
        } else if self.ask.sort.is_empty() {
            self.ask.depth()
        } else {
            return Ok((Vec::new(), None));
        };
        let top = plan.top_k(depth, filters, self.cancel)?.into_iter();
        let address = |segment, doc| DocAddress { segment: SegmentOrd(segment), doc };
        let text: Vec<(DocAddress, f32)> = top.map(|hit| (address(hit.segment, hit.doc), hit.score)).collect();
        if !is_fused {
            let by_text = |(address, score)| {
                let text = Some(score);
                Ranked { address, score: f64::from(score), text, vector: None, fused: None }
            };
            return Ok((text.into_iter().map(by_text).collect(), None));
        }
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

    fn total(
        &self,
        plan: Option<&Plan>,
        filters: &[SegmentFilter],
        sets: Option<&[BitSet]>,
        leg: &VectorLeg,
        fusion: Option<&Fusion>,
    ) -> Result<u64> {
        Ok(match (fusion, sets, plan) {
            (Some(fusion), ..) => fusion.ranking.len() as u64,
            (None, ..) if self.ask.legs.vector => leg.num_matched,
            (None, Some(sets), _) => sets.iter().map(|set| u64::from(set.count())).sum(),
            (None, None, Some(plan)) => plan.count(filters, self.cancel)?,
            (None, None, None) => 0,
        })
    }

    /// The hits of the page in order of score; of a search without legs, in index order.
    fn page(&self, ranking: Vec<Ranked>, sets: Option<&[BitSet]>) -> Vec<Ranked> {
        let legs = self.ask.legs;
        if legs.text || legs.vector {
            return ranking.into_iter().skip(self.ask.offset).take(self.ask.limit).collect();
        }
        let (mut skip, mut page) = (self.ask.offset as u64, Vec::new());
        for (ix, set) in sets.unwrap_or_default().iter().enumerate() {
            let count = u64::from(set.count());
            if count <= skip {
                skip -= count;
                continue;
            }
            let docs = set.iter().skip(skip as usize).take(self.ask.limit - page.len());
            page.extend(docs.map(|doc| matched(ix, doc)));
            skip = 0;
            if page.len() >= self.ask.limit {
                break;
            }
        }
        page
    }

    /// The hits of the page in order of the sort keys.
    async fn sorted_page(
        &self,
        ranking: Vec<Ranked>,
        sets: Option<&[BitSet]>,
        columns: &[SegmentColumns],
        pace: &mut Pace<'_>,
    ) -> Result<Vec<Ranked>> {
        let keys = &self.ask.sort;
        let ranked: HashMap<DocAddress, Ranked> = ranking.iter().map(|one| (one.address, *one)).collect();
        let mut of_segment: Vec<Vec<(u32, f64)>> = vec![Vec::new(); self.segments.len()];
        for one in &ranking {
            of_segment[one.address.segment.0 as usize].push((one.address.doc.0, one.score));
        }
        let by_set = ranking.is_empty() && !self.ask.legs.vector;
        let mut best: Vec<SortedDoc> = Vec::new();
        for (ix, segment) in self.segments.iter().enumerate() {
            let metas: Vec<Option<Arc<ColumnMeta>>> = keys
                .iter()
                .map(|key| key.column.and_then(|(field, _)| segment.segment.column(field).cloned()))
                .collect();
            let count = self.ask.depth();
            best.extend(match sets.filter(|_| by_set) {
                Some(sets) => {
                    let docs = sets[ix].iter().map(|doc| (doc, MATCH_ALL_SCORE));
                    sort::best_of_segment(ix, docs, keys, &metas, &columns[ix], count, pace).await?
                }
                None => {
                    let mut docs = std::mem::take(&mut of_segment[ix]);
                    docs.sort_unstable_by_key(|&(doc, _)| doc);
                    sort::best_of_segment(ix, docs.into_iter(), keys, &metas, &columns[ix], count, pace).await?
                }
            });
        }
        if self.segments.len() > 1 {
            self.find_words(&mut best).await?;
        }
        best.sort_by(|a, b| sort::compare(a, b, keys));
        let page = best.into_iter().skip(self.ask.offset).take(self.ask.limit).map(|one| {
            let address = one.address;
            ranked.get(&address).copied().unwrap_or_else(|| matched(address.segment.0 as usize, address.doc.0))
        });
        Ok(page.collect())
    }

    /// Fills in the keywords of keyword sort keys.
    async fn find_words(&self, docs: &mut [SortedDoc]) -> Result<()> {
        let keys = &self.ask.sort;
        let is_keyword = |column: Option<(FieldOrd, ColumnKind)>| {
            column.filter(|&(_, kind)| kind == ColumnKind::Keyword).map(|(field, _)| field)
        };
        let mut uses = Vec::new();
        for (at, doc) in docs.iter().enumerate() {
            let segment = doc.address.segment.0 as usize;
            for (key, resolved) in keys.iter().enumerate() {
                let Some(field) = is_keyword(resolved.column) else { continue };
                let (Some(ord), Some(column)) =
                    (doc.keyword_ord(keys, key), self.segments[segment].segment.column(field))
                else {
                    continue;
                };
                uses.push((at, key, segment, field, column.clone(), ord));
            }
        }
        let (mut words, mut batch) = (Words::default(), Batch::default());
        for (_, _, segment, field, column, ord) in &uses {
            words.want(&mut batch, *segment, *field, column, *ord);
        }
        let fetched = self.read(&batch).await?;
        for (at, key, segment, field, column, ord) in uses {
            docs[at].set_word(key, words.get(&fetched, segment, field, &column, ord)?);
        }
        Ok(())
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
            docs.sort_unstable();
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

fn matched(segment: usize, doc: u32) -> Ranked {
    let address = DocAddress { segment: SegmentOrd(segment as u32), doc: DocOrd(doc) };
    Ranked { address, score: MATCH_ALL_SCORE, text: None, vector: None, fused: None }
}
