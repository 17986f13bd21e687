//! Plans against an evaluator that knows nothing but the documents.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    rc::Rc,
    sync::Arc,
};

use bytes::Bytes;

use super::*;
use crate::{
    analysis::Analyzer,
    bitset::BitSet,
    ids::{DocOrd, FieldOrd},
    platform::Cancel,
    postings::{Inverter, TextStream, norms},
    terms::{FieldOptions, FuzzyPattern, TermIndex, TermMatcher, TermPattern},
};

pub(super) const TITLE: FieldOrd = FieldOrd(1);
pub(super) const BODY: FieldOrd = FieldOrd(2);
const TAG: FieldOrd = FieldOrd(3);
const FIELDS: [FieldOrd; 3] = [TITLE, BODY, TAG];

/// Words per field.
type Doc = BTreeMap<FieldOrd, Vec<String>>;

pub(super) struct Corpus {
    segments: Vec<Vec<Doc>>,
    pub(super) texts: Vec<Arc<SegmentText>>,
    /// Streams per segment and field, for plans that have to ask.
    streams: Vec<BTreeMap<FieldOrd, [Bytes; 3]>>,
}

pub(super) fn word(random: &mut fastrand::Rng) -> String {
    // Zipf-like: w0 is in most documents, w300 in few.
    let top = random.u32(1..400);
    format!("w{}", random.u32(0..top))
}

pub(super) fn corpus(random: &mut fastrand::Rng, sizes: &[usize], max_len: usize) -> Corpus {
    let mut corpus = Corpus { segments: Vec::new(), texts: Vec::new(), streams: Vec::new() };
    let analyzer = Analyzer::find("standard").unwrap();
    for &size in sizes {
        let docs: Vec<Doc> = (0..size)
            .map(|_| {
                let mut words =
                    |max: usize| -> Vec<String> { (0..random.usize(0..max)).map(|_| word(random)).collect() };
                [(TITLE, words(5)), (BODY, words(max_len)), (TAG, words(3))].into()
            })
            .collect();
        let mut text = SegmentText { max_doc: size as u32, ..SegmentText::default() };
        let mut streams = BTreeMap::new();
        for field in FIELDS {
            let options = if field == TAG { FieldOptions::KEYWORD } else { FieldOptions::TEXT };
            let mut inverter = Inverter::new(options);
            for (ord, doc) in docs.iter().enumerate() {
                let ord = DocOrd(ord as u32);
                if field == TAG {
                    doc[&field].iter().for_each(|word| inverter.add_term(ord, word.as_bytes()).unwrap());
                } else {
                    inverter.add_text(ord, &analyzer, &[doc[&field].join(" ")]).unwrap();
                }
            }
            let (mut terms, mut postings) = (Vec::new(), Vec::new());
            let mut written = inverter.finish(size as u32);
            while written.step(&mut terms, &mut postings).unwrap() {}
            let parts = written.finish(&mut terms);
            let norms = parts.norms.unwrap_or_default();
            let index = Arc::new(TermIndex::parse(&parts.term_index).unwrap());
            streams.insert(field, [Bytes::from(terms), Bytes::from(postings), Bytes::from(norms)]);
            let has_norms = field != TAG;
            text.fields.insert(field, FieldText { index, terms: None, postings: None, norms: None, has_norms });
        }
        corpus.segments.push(docs);
        corpus.texts.push(Arc::new(text));
        corpus.streams.push(streams);
    }
    corpus
}

impl Corpus {
    /// The plan of `query`, and how many waves it took.
    pub(super) fn plan(&self, query: &Query) -> (Plan, usize) {
        let mut plan = Plan::new(query, self.texts.clone()).unwrap();
        let mut waves = 0;
        while !plan.is_ready() {
            plan.feed(self.read(&plan)).unwrap();
            waves += 1;
        }
        (plan, waves)
    }

    /// What a plan wants.
    pub(super) fn read(&self, plan: &Plan) -> Vec<Bytes> {
        let bytes = plan.wanted().iter().map(|want| {
            let stream = match want.stream {
                TextStream::Terms => 0,
                TextStream::Postings => 1,
                TextStream::Norms => 2,
            };
            assert!(!want.range.is_empty());
            let range = want.range.start as usize..want.range.end as usize;
            self.streams[want.segment][&want.field][stream].slice(range)
        });
        bytes.collect()
    }

    /// The same with everything resident.
    pub(super) fn resident(&self) -> Vec<Arc<SegmentText>> {
        let texts = self.texts.iter().zip(&self.streams).map(|(text, streams)| {
            let mut text = SegmentText::clone(text);
            for (field, [terms, postings, norms]) in streams {
                let resident = text.fields.get_mut(field).unwrap();
                (resident.terms, resident.postings) = (Some(terms.clone()), Some(postings.clone()));
                resident.norms = Some(norms.clone());
            }
            Arc::new(text)
        });
        texts.collect()
    }

    fn docs_with(&self, field: FieldOrd, has: impl Fn(&[String]) -> bool) -> u64 {
        self.segments.iter().flatten().filter(|doc| has(&doc[&field])).count() as u64
    }
}

/// What a pattern in a field stands for.
type KnownPattern = ((FieldOrd, TermPattern), Rc<Vec<(String, f64)>>);

/// Scores as the definitions say, in double precision.
struct Slow<'a> {
    corpus: &'a Corpus,
    sets: &'a [Vec<Arc<BitSet>>],
    patterns: RefCell<Vec<KnownPattern>>,
    idfs: RefCell<BTreeMap<(FieldOrd, String), f64>>,
    totals: RefCell<BTreeMap<FieldOrd, (f64, usize)>>,
}

impl Slow<'_> {
    fn idf(&self, field: FieldOrd, term: &str) -> f64 {
        *self.idfs.borrow_mut().entry((field, term.to_owned())).or_insert_with(|| {
            let found = self.corpus.docs_with(field, |words| words.iter().any(|word| word == term)) as f64;
            let all = self.corpus.docs_with(field, |words| !words.is_empty()) as f64;
            (1.0 + (all - found + 0.5) / (found + 0.5)).ln()
        })
    }

    fn bm25(&self, field: FieldOrd, weight: f64, freq: f64, len: usize) -> f64 {
        let (docs, total) = *self.totals.borrow_mut().entry(field).or_insert_with(|| {
            let docs = self.corpus.docs_with(field, |words| !words.is_empty()) as f64;
            (docs, self.corpus.segments.iter().flatten().map(|doc| doc[&field].len()).sum())
        });
        let len = f64::from(norms::decode(norms::encode(len as u32)));
        let share = if field == TAG { 1.0 } else { len / (total as f64 / docs) };
        weight - weight / (1.0 + freq / (1.2 * (0.25 + 0.75 * share)))
    }

    /// Terms that a pattern stands for, and how much each counts. All words are w0 to w398.
    fn terms_of(&self, field: FieldOrd, pattern: &TermPattern) -> Rc<Vec<(String, f64)>> {
        if let Some((_, known)) = self.patterns.borrow().iter().find(|((f, p), _)| (*f, p) == (field, pattern)) {
            return known.clone();
        }
        let mut doc_freqs = BTreeMap::<String, usize>::new();
        for doc in self.corpus.segments.iter().flatten() {
            let words: BTreeSet<&String> = doc[&field].iter().collect();
            words.into_iter().for_each(|word| *doc_freqs.entry(word.clone()).or_default() += 1);
        }
        let mut matcher = TermMatcher::new(pattern).unwrap();
        let mut found: Vec<(f64, usize, String)> = Vec::new();
        for (term, doc_freq) in doc_freqs {
            let Some(edits) = matcher.matches(term.as_bytes()) else { continue };
            let share = match pattern {
                TermPattern::Fuzzy(fuzzy) => 1.0 - f64::from(edits) / term.len().min(fuzzy.term.len()) as f64,
                _ => 1.0,
            };
            found.push((share, doc_freq, term));
        }
        if let TermPattern::Fuzzy(fuzzy) = pattern {
            found.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2)));
            found.truncate(fuzzy.max_expansions as usize);
        }
        let found = Rc::new(found.into_iter().map(|(share, _, term)| (term, share)).collect());
        self.patterns.borrow_mut().push(((field, pattern.clone()), Rc::clone(&found)));
        found
    }

    /// The score, if it matches.
    fn score(&self, query: &Query, segment: usize, ord: usize) -> Option<f64> {
        let doc = &self.corpus.segments[segment][ord];
        match query {
            Query::All => Some(1.0),
            Query::None => None,
            Query::Term { field, term } => {
                let term = std::str::from_utf8(term).unwrap();
                let freq = doc[field].iter().filter(|word| *word == term).count();
                let freq = if *field == TAG { freq.min(1) } else { freq };
                (freq > 0).then(|| self.bm25(*field, self.idf(*field, term), freq as f64, doc[field].len()))
            }
            Query::Phrase(phrase) => {
                let words = &doc[&phrase.field];
                let terms: Vec<(usize, &str)> = phrase
                    .terms
                    .iter()
                    .map(|(place, term)| (*place as usize, std::str::from_utf8(term).unwrap()))
                    .collect();
                let fits = |start: usize| {
                    terms.iter().all(|(place, term)| words.get(start + place).is_some_and(|word| word == term))
                };
                let freq = (0..words.len()).filter(|&start| fits(start)).count();
                let weight = terms.iter().map(|(_, term)| self.idf(phrase.field, term)).sum();
                (freq > 0).then(|| self.bm25(phrase.field, weight, freq as f64, words.len()))
            }
            Query::Pattern { field, pattern, scoring } => {
                let terms = self.terms_of(*field, pattern);
                // The rarest idf is that of the most frequent term.
                let idf = || terms.iter().map(|(term, _)| self.idf(*field, term)).fold(f64::INFINITY, f64::min);
                let freqs = terms.iter().map(|(term, share)| {
                    let freq = doc[field].iter().filter(|word| *word == term).count();
                    (if *field == TAG { freq.min(1) } else { freq } as f64, share)
                });
                let freqs: Vec<_> = freqs.filter(|(freq, _)| *freq > 0.0).collect();
                if freqs.is_empty() || *scoring == PatternScoring::Constant {
                    return (!freqs.is_empty()).then_some(1.0);
                }
                let score = |weight, freq| self.bm25(*field, weight, freq, doc[field].len());
                Some(match pattern {
                    TermPattern::Fuzzy(fuzzy) => freqs
                        .iter()
                        .map(|(freq, share)| match **share {
                            1.0 => score(self.idf(*field, &fuzzy.term), *freq),
                            share => score(idf() * share, *freq),
                        })
                        .sum(),
                    _ => score(idf(), freqs.iter().map(|(freq, _)| freq).sum()),
                })
            }
            Query::Boolean(boolean) => {
                let all =
                    |queries: &[Query]| queries.iter().map(|query| self.score(query, segment, ord)).collect::<Vec<_>>();
                let (must, should) = (all(&boolean.must), all(&boolean.should));
                let (must_not, filter) = (all(&boolean.must_not), all(&boolean.filter));
                let matching = should.iter().flatten().count();
                let positive = !must.is_empty() || !filter.is_empty();
                let needed = match boolean.min_should_match {
                    0 if positive => 0,
                    0 if should.is_empty() && !must_not.is_empty() => 0,
                    0 => 1,
                    needed => needed as usize,
                };
                let ok = must.iter().chain(&filter).all(Option::is_some)
                    && must_not.iter().all(Option::is_none)
                    && matching >= needed;
                ok.then(|| must.iter().chain(&should).flatten().sum())
            }
            Query::DisMax { queries, tie_breaker } => {
                let scores: Vec<_> = queries.iter().filter_map(|query| self.score(query, segment, ord)).collect();
                let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let rest = scores.iter().sum::<f64>() - best;
                (!scores.is_empty()).then(|| best + f64::from(*tie_breaker) * rest)
            }
            Query::Boost(query, factor) => self.score(query, segment, ord).map(|score| score * f64::from(*factor)),
            Query::Constant(query, score) => self.score(query, segment, ord).map(|_| f64::from(*score)),
            Query::PhrasePrefix(query) => {
                let (words, field) = (&doc[&query.phrase.field], query.phrase.field);
                let begun = std::str::from_utf8(&query.last.1).unwrap();
                let last = query.last.0 as usize;
                let fits = |start: usize| {
                    let is = |place: usize, term: &[u8]| {
                        words.get(start + place).is_some_and(|word| word.as_bytes() == term)
                    };
                    query.phrase.terms.iter().all(|(place, term)| is(*place as usize, term))
                        && words.get(start + last).is_some_and(|word| word.starts_with(begun))
                };
                let freq = (0..words.len()).filter(|&start| fits(start)).count();
                let terms = self.terms_of(field, &TermPattern::Prefix(query.last.1.clone()));
                let last = terms.iter().map(|(term, _)| self.idf(field, term)).fold(f64::INFINITY, f64::min);
                let idf = |term: &Vec<u8>| self.idf(field, std::str::from_utf8(term).unwrap());
                let weight = query.phrase.terms.iter().map(|(_, term)| idf(term)).sum::<f64>() + last;
                (freq > 0).then(|| self.bm25(field, weight, freq as f64, words.len()))
            }
            Query::Column(_) | Query::Function(_) | Query::MoreLike(_) => panic!("{query:?}"),
            Query::Filter(set) => self.sets[segment][*set as usize].contains(ord as u32).then_some(0.0),
        }
    }
}

pub(super) fn random_term(random: &mut fastrand::Rng) -> Query {
    let field = if random.u8(0..6) == 0 { TAG } else { [TITLE, BODY][random.usize(0..2)] };
    let term = if random.u8(0..10) == 0 { "missing".to_owned() } else { word(random) };
    Query::Term { field, term: term.into_bytes() }
}

fn random_pattern(random: &mut fastrand::Rng) -> TermPattern {
    let word = word(random);
    match random.u8(0..6) {
        0 => TermPattern::Prefix(word.into_bytes()),
        1 => TermPattern::Wildcard(word.replace(['1', '3'], "?").replace('2', "*")),
        2 => TermPattern::Regex(word.replace('1', "[0-4]").replace('2', "(2|3.)*")),
        3 => {
            let (mut from, mut to) = (word.into_bytes(), self::word(random).into_bytes());
            if from > to {
                std::mem::swap(&mut from, &mut to);
            }
            TermPattern::Range { from: Bound::Included(from), to: Bound::Excluded(to) }
        }
        _ => TermPattern::Fuzzy(FuzzyPattern {
            prefix_len: random.u32(0..3),
            max_expansions: random.u32(1..60),
            ..FuzzyPattern::new(word, random.u8(0..3))
        }),
    }
}

pub(super) fn random_query(random: &mut fastrand::Rng, depth: usize) -> Query {
    let kind = if depth == 0 { random.u8(0..5) } else { random.u8(0..16) };
    let list = |max: usize, random: &mut fastrand::Rng| -> Vec<Query> {
        (0..random.usize(0..=max)).map(|_| random_query(random, depth.saturating_sub(1))).collect()
    };
    match kind {
        0..=2 => random_term(random),
        3 if random.bool() => {
            let len = random.u32(1..3);
            let terms = (0..len).map(|place| (place, format!("w{}", random.u32(0..6)).into_bytes())).collect();
            let phrase = PhraseQuery { field: BODY, terms, slop: 0 };
            let last = (len, format!("w{}", random.u32(0..5)).into_bytes());
            Query::PhrasePrefix(PhrasePrefixQuery { phrase, last, max_expansions: 1000 })
        }
        3 => {
            let len = random.usize(2..4);
            let terms = (0..len).map(|place| (place as u32, format!("w{}", random.u32(0..6)).into_bytes())).collect();
            Query::Phrase(PhraseQuery { field: BODY, terms, slop: 0 })
        }
        4 => {
            let scoring = if random.bool() { PatternScoring::Blended } else { PatternScoring::Constant };
            Query::Pattern { field: FIELDS[random.usize(0..3)], pattern: random_pattern(random), scoring }
        }
        5 => Query::Filter(random.u32(0..2)),
        6 => Query::Boost(Box::new(random_query(random, depth - 1)), random.f32() * 3.0),
        7 => Query::Constant(Box::new(random_query(random, depth - 1)), random.f32()),
        8 => Query::DisMax { queries: list(3, random), tie_breaker: random.f32() },
        9 => Query::All,
        10 | 11 => Query::Boolean(BooleanQuery {
            should: (0..random.usize(1..7)).map(|_| random_term(random)).collect(),
            ..Default::default()
        }),
        12 => Query::Boolean(BooleanQuery {
            must: (0..random.usize(1..4)).map(|_| random_term(random)).collect(),
            ..Default::default()
        }),
        _ => Query::Boolean(BooleanQuery {
            must: list(2, random),
            should: list(3, random),
            must_not: list(1, random),
            filter: list(1, random),
            min_should_match: random.u32(0..3),
        }),
    }
}

pub(super) fn filters(random: &mut fastrand::Rng, corpus: &Corpus) -> (Vec<SegmentFilter>, Vec<Vec<Arc<BitSet>>>) {
    let some = |random: &mut fastrand::Rng, len: usize, share: u32| {
        let mut set = BitSet::new(len as u32);
        (0..len as u32).filter(|_| random.u32(0..100) < share).for_each(|doc| {
            set.insert(doc);
        });
        Arc::new(set)
    };
    let filters: Vec<_> = corpus
        .segments
        .iter()
        .map(|docs| SegmentFilter {
            live: random.bool().then(|| some(random, docs.len(), 90)),
            filter: (random.u8(0..3) == 0).then(|| some(random, docs.len(), 40)),
            sets: vec![some(random, docs.len(), 50), some(random, docs.len(), 5)],
            columns: Vec::new(),
        })
        .collect();
    let sets = filters.iter().map(|filter| filter.sets.clone()).collect();
    (filters, sets)
}

/// Everything that a plan answers is what the definitions say.
pub(super) fn check(corpus: &Corpus, query: &Query, filters: &[SegmentFilter], sets: &[Vec<Arc<BitSet>>]) {
    let slow =
        Slow { corpus, sets, idfs: RefCell::default(), patterns: RefCell::default(), totals: RefCell::default() };
    let (plan, waves) = corpus.plan(query);
    assert!(waves <= 2, "{waves} waves");
    let cancel = Cancel::new();
    // Statistics are over all documents of the snapshot; a slow look at each one.
    let mut expected: Vec<(f64, usize, usize)> = Vec::new();
    for (segment, docs) in corpus.segments.iter().enumerate() {
        let mut matching = BitSet::new(docs.len() as u32);
        for ord in 0..docs.len() {
            let filter = &filters[segment];
            let accepted = [&filter.live, &filter.filter].into_iter().flatten().all(|set| set.contains(ord as u32));
            if let Some(score) = slow.score(query, segment, ord).filter(|_| accepted) {
                expected.push((score, segment, ord));
                matching.insert(ord as u32);
            }
        }
        assert_eq!(plan.matches(segment, &filters[segment]).unwrap(), matching, "matches in {segment} of {query:?}");
    }
    assert_eq!(plan.count(filters, &cancel).unwrap(), expected.len() as u64, "count of {query:?}");
    for k in [1, 10, 100_000] {
        let exhaustive = plan.top_k_exhaustive(k, filters, &cancel).unwrap();
        assert_eq!(plan.top_k(k, filters, &cancel).unwrap(), exhaustive, "top {k} of {query:?}");
        assert_eq!(exhaustive.len(), expected.len().min(k));
        if k == 100_000 {
            let by_doc: BTreeMap<_, _> =
                exhaustive.iter().map(|hit| ((hit.segment as usize, hit.doc.0 as usize), hit.score)).collect();
            for (score, segment, ord) in &expected {
                let found = f64::from(by_doc[&(*segment, *ord)]);
                // Single precision of scores up to about 100.
                assert!((found - score).abs() < 1e-4 * (1.0 + score), "{found} for {score} of {query:?}");
            }
            assert!(exhaustive.is_sorted_by(|a, b| {
                (-a.score, a.segment, a.doc.0).partial_cmp(&(-b.score, b.segment, b.doc.0)).unwrap().is_lt()
            }));
        } else {
            for hit in exhaustive.iter().take(3) {
                let (segment, filter) = (hit.segment as usize, &filters[hit.segment as usize]);
                let why = plan.explain(segment, hit.doc, filter, &|field| format!("f{}", field.0)).unwrap().unwrap();
                assert_eq!(why.value, f64::from(hit.score), "{why:?}");
                let scores = plan.scores(segment, &[hit.doc], filter).unwrap();
                assert_eq!(scores, [Some(hit.score)]);
            }
        }
    }
    let resident = Plan::new(query, corpus.resident()).unwrap();
    assert!(resident.is_ready(), "nothing to ask for");
    assert_eq!(resident.top_k(10, filters, &cancel).unwrap(), plan.top_k(10, filters, &cancel).unwrap());
}

#[test]
fn agrees_with_the_definitions() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..2 {
        let corpus = corpus(&mut random, &[40, 0, 500, 1], 40);
        for _ in 0..50 {
            let query = random_query(&mut random, 2);
            let (filters, sets) = filters(&mut random, &corpus);
            check(&corpus, &query, &filters, &sets);
        }
    }
}

/// Most words are in no more than one of many small segments, so that parts of a tree have nothing to find in each.
#[test]
fn what_segments_lack_changes_nothing() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..4 {
        let corpus = corpus(&mut random, &[1, 2, 0, 3, 1, 7, 2, 12, 1], 8);
        for round in 0..120 {
            let query = random_query(&mut random, 1 + round % 3);
            let (filters, sets) = filters(&mut random, &corpus);
            check(&corpus, &query, &filters, &sets);
        }
    }
}

#[test]
fn patterns_agree_with_the_definitions() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let corpus = corpus(&mut random, &[60, 300, 1], 30);
    for _ in 0..60 {
        let scoring = if random.u8(0..4) == 0 { PatternScoring::Constant } else { PatternScoring::Blended };
        let leaf = |random: &mut fastrand::Rng| Query::Pattern {
            field: FIELDS[random.usize(0..3)],
            pattern: random_pattern(random),
            scoring,
        };
        let query = match random.u8(0..3) {
            0 => leaf(&mut random),
            1 => Query::Boolean(BooleanQuery {
                should: vec![leaf(&mut random), random_term(&mut random), leaf(&mut random)],
                ..Default::default()
            }),
            _ => Query::DisMax { queries: vec![leaf(&mut random), leaf(&mut random)], tie_breaker: 0.3 },
        };
        let (filters, sets) = filters(&mut random, &corpus);
        check(&corpus, &query, &filters, &sets);
    }
}

#[test]
fn patterns_that_are_too_broad_are_cut_and_say_so() {
    let mut inverter = Inverter::new(FieldOptions::KEYWORD);
    let num_docs = MAX_PATTERN_TERMS as u32 + 500;
    for doc in 0..num_docs {
        inverter.add_term(DocOrd(doc), format!("t{doc:05}").as_bytes()).unwrap();
        if doc % 100 == 0 {
            inverter.add_term(DocOrd(doc), b"tzzzz").unwrap();
        }
    }
    let (mut terms, mut postings) = (Vec::new(), Vec::new());
    let mut field = inverter.finish(num_docs);
    while field.step(&mut terms, &mut postings).unwrap() {}
    let parts = field.finish(&mut terms);
    let text = FieldText {
        index: Arc::new(TermIndex::parse(&parts.term_index).unwrap()),
        terms: Some(terms.into()),
        postings: Some(postings.into()),
        norms: None,
        has_norms: false,
    };
    let text = Arc::new(SegmentText { max_doc: num_docs, fields: [(TAG, text)].into(), is_near: false });
    let ask = |pattern| {
        let query = Query::Pattern { field: TAG, pattern, scoring: PatternScoring::Constant };
        let plan = Plan::new(&query, vec![text.clone()]).unwrap();
        let count = plan.count(&[SegmentFilter::default()], &Cancel::new()).unwrap();
        (count, plan.notes().join("; "))
    };
    // The most frequent term stays, and so do those in front of what is equally frequent.
    let (count, note) = ask(TermPattern::Prefix(b"t".to_vec()));
    assert_eq!(note, "`t*`: only its 16384 most frequent terms were searched");
    assert_eq!(count, MAX_PATTERN_TERMS as u64 - 1 + 5);
    let (count, note) = ask(TermPattern::Fuzzy(FuzzyPattern::new("t10000", 2)));
    assert_eq!(count, 50);
    assert!(note.starts_with("`t10000~2`: only the nearest 50 of "), "{note}");
    assert_eq!(ask(TermPattern::Regex("t0000[0-4]".to_owned())), (5, String::new()));
    let bad =
        Query::Pattern { field: TAG, pattern: TermPattern::Regex("t(".to_owned()), scoring: PatternScoring::Constant };
    assert_eq!(Plan::new(&bad, vec![text]).unwrap_err().kind().code(), "invalid_argument");
}

/// The best `ks` documents and the count are those of looking at every document.
fn assert_skipping_changes_nothing(plan: &Plan, filters: &[SegmentFilter], ks: [usize; 3], label: &str) {
    let cancel = Cancel::new();
    let all = plan.top_k_exhaustive(1_000_000, filters, &cancel).unwrap();
    assert_eq!(plan.count(filters, &cancel).unwrap(), all.len() as u64, "count, {label}");
    for k in ks {
        assert_eq!(plan.top_k(k, filters, &cancel).unwrap(), all[..k.min(all.len())], "top {k}, {label}");
    }
}

#[test]
fn skipping_changes_nothing_on_long_lists() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let corpus = corpus(&mut random, &[9_000, 2_000], 20);
    for round in 0..120 {
        let terms = (0..random.usize(1..6)).map(|_| random_term(&mut random)).collect();
        let best_of = |random: &mut fastrand::Rng| Query::DisMax {
            queries: (0..random.usize(1..4)).map(|_| random_term(random)).collect(),
            tie_breaker: [0.0, 0.3, 1.0][random.usize(0..3)],
        };
        let words = |random: &mut fastrand::Rng, num: usize, ranks: std::ops::Range<u32>| -> Vec<Query> {
            let term = |rank| Query::Term { field: BODY, term: format!("w{rank}").into() };
            (0..num).map(|_| term(random.u32(ranks.clone()))).collect()
        };
        let boolean = match round % 4 {
            0 => BooleanQuery { should: terms, ..Default::default() },
            1 => BooleanQuery {
                should: (0..random.usize(1..5)).map(|_| best_of(&mut random)).collect(),
                ..Default::default()
            },
            2 => BooleanQuery { must: terms, ..Default::default() },
            _ => {
                let (num, required) = (random.usize(2..5), random.usize(1..3));
                let union = BooleanQuery { should: words(&mut random, num, 100..390), ..Default::default() };
                let mut must = words(&mut random, required, 0..5);
                must.insert(random.usize(0..=required), Query::Boolean(union));
                BooleanQuery { must, ..Default::default() }
            }
        };
        let query = Query::Boolean(boolean);
        let (filters, _) = filters(&mut random, &corpus);
        let (plan, _) = corpus.plan(&query);
        assert_skipping_changes_nothing(&plan, &filters, [1, 10, 300], &format!("seed {seed}: {query:?}"));
    }
}

/// Trees whose parts are long lists, so that bounds have something to skip.
fn dense_tree(random: &mut fastrand::Rng, depth: usize) -> Query {
    let some = |random: &mut fastrand::Rng, from: usize, to: usize| -> Vec<Query> {
        (0..random.usize(from..=to)).map(|_| dense_tree(random, depth.saturating_sub(1))).collect()
    };
    match if depth == 0 { random.u8(0..5) } else { random.u8(3..16) } {
        0..=3 => {
            let rank = random.u32(1..60);
            Query::Term { field: [TITLE, BODY][random.usize(0..2)], term: format!("w{}", random.u32(0..rank)).into() }
        }
        4 => {
            let terms = (0..2).map(|place| (place, format!("w{}", random.u32(0..4)).into_bytes())).collect();
            Query::Phrase(PhraseQuery { field: BODY, terms, slop: random.u32(0..3) })
        }
        5 => Query::Boost(Box::new(dense_tree(random, depth - 1)), random.f32() * 3.0),
        6 => Query::Constant(Box::new(dense_tree(random, depth - 1)), random.f32()),
        7 | 8 => Query::DisMax { queries: some(random, 1, 4), tie_breaker: [0.0, 0.3, 1.0][random.usize(0..3)] },
        9 | 10 => Query::Boolean(BooleanQuery {
            should: some(random, 2, 6),
            min_should_match: random.u32(0..4),
            ..Default::default()
        }),
        11 => {
            Query::Boolean(BooleanQuery { must: some(random, 1, 3), should: some(random, 1, 3), ..Default::default() })
        }
        12 => Query::Boolean(BooleanQuery {
            should: some(random, 1, 4),
            must_not: some(random, 1, 2),
            ..Default::default()
        }),
        13 => {
            Query::Boolean(BooleanQuery { must: some(random, 1, 3), filter: some(random, 1, 2), ..Default::default() })
        }
        _ => Query::Boolean(BooleanQuery {
            must: some(random, 0, 2),
            should: some(random, 0, 4),
            must_not: some(random, 0, 1),
            filter: some(random, 0, 1),
            min_should_match: random.u32(0..3),
        }),
    }
}

#[test]
fn nested_trees_skip_and_stay_the_same() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let corpus = corpus(&mut random, &[6_000, 1_500], 20);
    for round in 0..160 {
        let query = dense_tree(&mut random, 1 + round % 3);
        let (filters, _) = filters(&mut random, &corpus);
        let (plan, _) = corpus.plan(&query);
        assert_skipping_changes_nothing(&plan, &filters, [1, 10, 200], &format!("seed {seed}: {query:?}"));
    }
}

#[test]
fn sloppy_phrases_find_words_near_each_other() {
    let mut corpus = corpus(&mut fastrand::Rng::with_seed(1), &[0], 1);
    let texts = ["a b", "b a", "a x b", "a x x b", "b x a", "a", "a a"];
    let mut inverter = Inverter::new(FieldOptions::TEXT);
    for (ord, text) in texts.iter().enumerate() {
        inverter.add_text(DocOrd(ord as u32), &Analyzer::find("standard").unwrap(), &[text]).unwrap();
    }
    let (mut terms, mut postings) = (Vec::new(), Vec::new());
    let mut field = inverter.finish(7);
    while field.step(&mut terms, &mut postings).unwrap() {}
    let parts = field.finish(&mut terms);
    let text = FieldText {
        index: Arc::new(TermIndex::parse(&parts.term_index).unwrap()),
        terms: Some(terms.into()),
        postings: Some(postings.into()),
        norms: parts.norms.map(Bytes::from),
        has_norms: true,
    };
    corpus.texts = vec![Arc::new(SegmentText { max_doc: 7, fields: [(BODY, text)].into(), is_near: false })];
    for (words, slop, expected) in [
        ("a b", 0, vec![0]),
        ("a b", 1, vec![0, 2]),
        ("a b", 2, vec![0, 1, 2, 3]),
        ("a b", 3, vec![0, 1, 2, 3, 4]),
        ("a a", 0, vec![6]),
        ("a a", 5, vec![6]),
    ] {
        let terms = words.split(' ').enumerate().map(|(place, word)| (place as u32, word.into())).collect();
        let query = Query::Phrase(PhraseQuery { field: BODY, terms, slop });
        let plan = Plan::new(&query, corpus.texts.clone()).unwrap();
        let set = plan.matches(0, &SegmentFilter::default()).unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), expected, "{words:?} ~{slop}");
    }
}

#[test]
fn damaged_postings_are_corrupt_and_never_panic() {
    let mut random = fastrand::Rng::with_seed(77);
    let corpus = corpus(&mut random, &[900, 300], 30);
    let (cancel, mut errors) = (Cancel::new(), 0);
    for _ in 0..150 {
        let mut texts = corpus.resident();
        let text = Arc::make_mut(&mut texts[0]);
        let field = text.fields.get_mut(&BODY).unwrap();
        for stream in [&mut field.terms, &mut field.postings] {
            let mut bytes = stream.take().unwrap().to_vec();
            for _ in 0..random.usize(0..20) {
                let at = random.usize(0..bytes.len());
                bytes[at] = random.u8(..);
            }
            *stream = Some(bytes.into());
        }
        let query = random_query(&mut random, 2);
        let (filters, _) = filters(&mut random, &corpus);
        match Plan::new(&query, texts) {
            Err(error) => {
                assert_eq!(error.kind().code(), "corrupt");
                errors += 1;
            }
            Ok(plan) => {
                for result in [plan.top_k(10, &filters, &cancel).map(drop), plan.count(&filters, &cancel).map(drop)] {
                    if let Err(error) = result {
                        assert_eq!(error.kind().code(), "corrupt");
                        errors += 1;
                    }
                }
                let _ = plan.matches(0, &filters[0]);
            }
        }
    }
    assert!(errors > 0, "damage was seen somewhere");
}

#[test]
fn refuses_to_run_without_its_bytes_and_when_cancelled() {
    let mut random = fastrand::Rng::with_seed(5);
    let corpus = corpus(&mut random, &[300], 30);
    let query = Query::Term { field: BODY, term: b"w1".to_vec() };
    let mut plan = Plan::new(&query, corpus.texts.clone()).unwrap();
    let filters = [SegmentFilter::default()];
    assert!(plan.top_k(1, &filters, &Cancel::new()).is_err());
    assert!(plan.feed(Vec::new()).is_err());
    assert!(plan.feed(vec![Bytes::new()]).is_err());
    let (plan, _) = corpus.plan(&query);
    assert!(plan.top_k(1, &[], &Cancel::new()).is_err());
    let cancel = Cancel::new();
    cancel.cancel();
    let (union, _) = corpus.plan(&Query::Boolean(BooleanQuery {
        should: vec![query.clone(), Query::Term { field: BODY, term: b"w2".to_vec() }],
        ..Default::default()
    }));
    assert_eq!(union.top_k(1, &filters, &cancel).unwrap_err().kind().code(), "aborted");
}
