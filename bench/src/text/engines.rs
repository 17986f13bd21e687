//! Both engines over the same tokens: one segment each, in memory, one thread.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use rangefind::{
    analysis::Analyzer,
    codec::PostingsCodec,
    ids::{DocOrd, FieldOrd},
    platform::Cancel,
    postings::Inverter,
    query::{FieldText, Plan, Query, SegmentFilter, SegmentText},
    terms::{FieldOptions, TermCursor, TermIndex},
};
use tantivy::{
    DocAddress, Index, Searcher, TantivyDocument,
    collector::{Count, TopDocs},
    directory::RamDirectory,
    query::Query as PeerQuery,
    schema::{FAST, Field, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions},
    tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer},
};

use super::{
    ask::{ID, PART, PeerFields, TEXT, part_name},
    corpus::{ANALYZER, Corpus},
};

/// Parts that documents are spread over; each holds about a twentieth.
pub const PARTS: u32 = 20;
/// Memory of the peer's writer: enough for one segment of the whole corpus.
const WRITER_BYTES: usize = 1 << 30;

/// The part of a document.
pub fn part_of(doc: usize) -> u32 {
    // Multiplicative hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4).
    ((doc as u32).wrapping_mul(2_654_435_769) >> 8) % PARTS
}

/// Seconds of a day: values of a column of numbers.
pub const DAY_SECONDS: u64 = 86_400;
/// Values of a column of keywords.
pub const MONTHS: u32 = 12;

/// An even spread over `0..range`.
fn spread(doc: usize, salt: u32, range: u64) -> u64 {
    let mixed = (doc as u32).wrapping_add(salt).wrapping_mul(2_246_822_519);
    u64::from((mixed ^ mixed >> 15).wrapping_mul(3_266_489_917) >> 4) % range
}

/// A number without order.
pub fn seconds_of(doc: usize) -> u64 {
    spread(doc, 1, DAY_SECONDS)
}

/// A number that rises with the documents, about, as times of change do.
pub fn stamp_of(doc: usize) -> u64 {
    doc as u64 * 1000 + spread(doc, 2, 10_000_000)
}

/// One of twelve keywords.
pub fn month_of(doc: usize) -> String {
    format!("m{:02}", spread(doc, 3, u64::from(MONTHS)))
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The best so many.
    Top(usize),
    /// How many there are.
    Count,
    /// The ten best, and how many there are.
    TopAndCount,
}

impl Mode {
    /// As keys name it.
    pub fn name(self) -> String {
        match self {
            Self::Top(k) => format!("top{k}"),
            Self::Count => "count".to_owned(),
            Self::TopAndCount => "top10count".to_owned(),
        }
    }
}

/// An answer, or the part of it that was asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Score and document, best first.
    pub top: Vec<(f32, u32)>,
    pub count: Option<u64>,
}

/// Our side.
pub struct Ours {
    segments: Vec<Arc<SegmentText>>,
    filters: Vec<SegmentFilter>,
    cancel: Cancel,
    /// Time of the text field alone.
    pub text_time: Duration,
    /// Bytes of the text field: dictionary, its index, postings, norms.
    pub bytes: [u64; 4],
    /// Bytes of the parts of its postings, as [`STREAMS`] names them.
    pub stream_bytes: [u64; 3],
}

/// Parts of postings.
pub const STREAMS: [&str; 3] = ["positions", "skip data", "documents and frequencies"];

impl Ours {
    /// Inverts the corpus.
    pub fn build(corpus: &Corpus) -> Self {
        Self::build_with(corpus, PostingsCodec::default())
    }

    /// The same with a codec.
    pub fn build_with(corpus: &Corpus, codec: PostingsCodec) -> Self {
        let analyzer = Analyzer::find(ANALYZER).expect("built in");
        let max_doc = corpus.len() as u32;
        let started = Instant::now();
        let mut inverter = Inverter::new(FieldOptions::TEXT.with_codec(codec));
        for (doc, text) in corpus.texts.iter().enumerate() {
            inverter.add_text(DocOrd(doc as u32), &analyzer, &[text]).expect("documents ascend");
        }
        let (text, bytes) = finish(inverter, max_doc, codec);
        let text_time = started.elapsed();
        let stream_bytes = stream_bytes(&text);
        let keyword = FieldOptions::KEYWORD.with_codec(codec);
        let (mut part, mut id) = (Inverter::new(keyword), Inverter::new(keyword));
        for doc in 0..corpus.len() {
            part.add_term(DocOrd(doc as u32), part_name(part_of(doc)).as_bytes()).expect("a short term");
            id.add_term(DocOrd(doc as u32), id_of(doc).as_bytes()).expect("a short term");
        }
        let (id, part) = (finish(id, max_doc, codec).0, finish(part, max_doc, codec).0);
        let fields: BTreeMap<FieldOrd, FieldText> = BTreeMap::from([(ID, id), (TEXT, text), (PART, part)]);
        Self {
            segments: vec![Arc::new(SegmentText { max_doc, fields, is_near: true })],
            filters: vec![SegmentFilter::default()],
            cancel: Cancel::new(),
            text_time,
            bytes,
            stream_bytes,
        }
    }

    /// The ten best without skipping anything.
    pub fn exhaustive(&self, query: &Query) -> Vec<(f32, u32)> {
        let plan = Plan::new(query, self.segments.clone()).expect("the index is sound");
        let top = plan.top_k_exhaustive(10, &self.filters, &self.cancel).expect("the index is sound");
        top.into_iter().map(|hit| (hit.score, hit.doc.0)).collect()
    }

    /// Answers `query`, from its tree to the hits.
    pub fn run(&self, query: &Query, mode: Mode) -> Answer {
        let plan = Plan::new(query, self.segments.clone()).expect("the index is sound");
        assert!(plan.is_ready(), "everything is resident");
        let top = |k| {
            let top = plan.top_k(k, &self.filters, &self.cancel).expect("the index is sound");
            top.into_iter().map(|hit| (hit.score, hit.doc.0)).collect()
        };
        let count = || Some(plan.count(&self.filters, &self.cancel).expect("the index is sound"));
        match mode {
            Mode::Top(k) => Answer { top: top(k), count: None },
            Mode::Count => Answer { top: Vec::new(), count: count() },
            Mode::TopAndCount => {
                let both = plan.top_k_and_count(10, &self.filters, &self.cancel);
                let (top, count) = both.expect("the index is sound");
                Answer { top: top.into_iter().map(|hit| (hit.score, hit.doc.0)).collect(), count: Some(count) }
            }
        }
    }
}

/// Writes a field and opens it; bytes of dictionary, its index, postings and norms.
fn finish(inverter: Inverter, max_doc: u32, codec: PostingsCodec) -> (FieldText, [u64; 4]) {
    let (mut terms, mut postings) = (Vec::new(), Vec::new());
    let mut field = inverter.finish(max_doc);
    while field.step(&mut terms, &mut postings).expect("room in memory") {}
    let parts = field.finish(&mut terms);
    let norms = parts.norms.map(Bytes::from);
    let lens = [terms.len(), parts.term_index.len(), postings.len(), norms.as_ref().map_or(0, Bytes::len)];
    let text = FieldText {
        index: Arc::new(TermIndex::parse(&parts.term_index).expect("just written").with_codec(codec)),
        terms: Some(terms.into()),
        postings: Some(postings.into()),
        has_norms: norms.is_some(),
        norms,
    };
    (text, lens.map(|len| len as u64))
}

/// Bytes of each of [`STREAMS`].
fn stream_bytes(text: &FieldText) -> [u64; 3] {
    let mut cursor = TermCursor::new(text.index.options(), text.terms.clone().unwrap_or_default());
    let mut bytes = [0; 3];
    while cursor.advance().expect("just written") {
        let info = cursor.info();
        let of_term = [info.positions_len, info.skip_len.into(), info.docs_len.into()];
        bytes.iter_mut().zip(of_term).for_each(|(sum, len)| *sum += len);
    }
    bytes
}

/// The id of a document.
pub fn id_of(doc: usize) -> String {
    format!("d{doc:07}")
}

/// The peer.
pub struct Peer {
    searcher: Searcher,
    pub fields: PeerFields,
    /// The column of [`seconds_of`].
    pub seconds: Field,
    /// Time of the text field alone.
    pub text_time: Duration,
    /// Bytes of the text field.
    pub bytes: u64,
}

impl Peer {
    /// Indexes the corpus with our tokens.
    pub fn build(corpus: &Corpus) -> Self {
        let (text_time, bytes) = text_alone(corpus);
        let mut schema = Schema::builder();
        let (id, part) = (schema.add_text_field("id", STRING), schema.add_text_field("part", STRING));
        let text = schema.add_text_field("text", text_options());
        let (seconds, stamp) = (schema.add_u64_field("seconds", FAST), schema.add_u64_field("stamp", FAST));
        let month = schema.add_text_field("month", STRING | FAST);
        let mut writer = writer(schema.build());
        for (doc, body) in corpus.texts.iter().enumerate() {
            let mut document = TantivyDocument::default();
            document.add_text(id, id_of(doc));
            document.add_text(part, part_name(part_of(doc)));
            document.add_text(text, body);
            document.add_u64(seconds, seconds_of(doc));
            document.add_u64(stamp, stamp_of(doc));
            document.add_text(month, month_of(doc));
            writer.add_document(document).expect("room in memory");
        }
        let index = writer.finalize().expect("room in memory");
        let searcher = index.reader().expect("just written").searcher();
        assert_eq!(searcher.segment_readers().len(), 1, "one segment each");
        Self { searcher, fields: PeerFields { text, part, id }, seconds, text_time, bytes }
    }

    /// What answers.
    pub fn searcher(&self) -> &Searcher {
        &self.searcher
    }

    /// Answers `query`, from its tree to the hits.
    pub fn run(&self, query: &dyn PeerQuery, mode: Mode) -> Answer {
        let hits = |hits: Vec<(f32, DocAddress)>| hits.into_iter().map(|(score, at)| (score, at.doc_id)).collect();
        match mode {
            Mode::Top(k) => {
                let top = self.searcher.search(query, &TopDocs::with_limit(k).order_by_score());
                Answer { top: hits(top.expect("the index is sound")), count: None }
            }
            Mode::Count => {
                let count = query.count(&self.searcher).expect("the index is sound");
                Answer { top: Vec::new(), count: Some(count as u64) }
            }
            Mode::TopAndCount => {
                let both = (TopDocs::with_limit(10).order_by_score(), Count);
                let (top, count) = self.searcher.search(query, &both).expect("the index is sound");
                Answer { top: hits(top), count: Some(count as u64) }
            }
        }
    }
}

fn text_options() -> TextOptions {
    let indexing = TextFieldIndexing::default().set_tokenizer(ANALYZER);
    TextOptions::default().set_indexing_options(indexing.set_index_option(IndexRecordOption::WithFreqsAndPositions))
}

fn writer(schema: Schema) -> tantivy::SingleSegmentIndexWriter<TantivyDocument> {
    let builder = Index::builder().schema(schema);
    let tokenizers = tantivy::tokenizer::TokenizerManager::default();
    tokenizers.register(ANALYZER, TextAnalyzer::from(SameTokens::default()));
    let builder = builder.tokenizers(tokenizers);
    builder.single_segment_index_writer(RamDirectory::create(), WRITER_BYTES).expect("a new index")
}

/// An index of the text field and nothing else: time and bytes.
fn text_alone(corpus: &Corpus) -> (Duration, u64) {
    let mut schema = Schema::builder();
    let text = schema.add_text_field("text", text_options());
    let started = Instant::now();
    let mut writer = writer(schema.build());
    for body in &corpus.texts {
        let mut document = TantivyDocument::default();
        document.add_text(text, body);
        writer.add_document(document).expect("room in memory");
    }
    let index = writer.finalize().expect("room in memory");
    let time = started.elapsed();
    let searcher = index.reader().expect("just written").searcher();
    let usage = searcher.space_usage().expect("just written");
    let segment = &usage.segments()[0];
    let parts = [segment.termdict(), segment.postings(), segment.positions(), segment.fieldnorms()];
    (time, parts.iter().map(|part| part.total().get_bytes()).sum())
}

/// Our analyzer as a tokenizer of the peer.
#[derive(Clone, Default)]
struct SameTokens {
    terms: String,
    /// Position and end in `terms` of each token.
    tokens: Vec<(u32, u32)>,
    token: Token,
}

struct Tokens<'a> {
    of: &'a mut SameTokens,
    next: usize,
}

impl Tokenizer for SameTokens {
    type TokenStream<'a> = Tokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Tokens<'a> {
        self.terms.clear();
        self.tokens.clear();
        Analyzer::find(ANALYZER).expect("built in").analyze(text, |token| {
            self.terms.push_str(token.term);
            self.tokens.push((token.position, self.terms.len() as u32));
        });
        Tokens { of: self, next: 0 }
    }
}

impl TokenStream for Tokens<'_> {
    fn advance(&mut self) -> bool {
        let Some(&(position, end)) = self.of.tokens.get(self.next) else { return false };
        let start = self.next.checked_sub(1).map_or(0, |before| self.of.tokens[before].1);
        self.next += 1;
        let token = &mut self.of.token;
        token.text.clear();
        token.text.push_str(&self.of.terms[start as usize..end as usize]);
        token.position = position as usize;
        true
    }

    fn token(&self) -> &Token {
        &self.of.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.of.token
    }
}
