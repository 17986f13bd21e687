//! Plans that read parts of lists against plans that read them whole.

use super::{
    tests::{BODY, Corpus, TITLE, corpus, filters, random_query, random_term},
    *,
};
use crate::{
    ids::FieldOrd,
    platform::Cancel,
    terms::{FuzzyPattern, TermPattern},
};

/// A plan that was fed, its waves and the bytes it wanted.
fn run(corpus: &Corpus, query: &Query, options: PlanOptions, filters: &[SegmentFilter]) -> (Plan, usize, u64) {
    let mut plan = Plan::with_options(query, corpus.texts.clone(), options).unwrap();
    let (mut waves, mut bytes) = (0, 0);
    while !plan.is_ready() {
        if plan.wanted().is_empty() {
            plan.choose(filters, &Cancel::new()).unwrap();
            continue;
        }
        waves += 1;
        let read = corpus.read(&plan);
        bytes += read.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
        plan.feed(read).unwrap();
    }
    (plan, waves, bytes)
}

fn term(field: FieldOrd, word: u32) -> Query {
    Query::Term { field, term: format!("w{word}").into_bytes() }
}

/// Shapes that random trees seldom have: unions and conjunctions of frequent terms, alone and with a rare one, phrases
/// with a rare word, the same words in two fields.
fn query(random: &mut fastrand::Rng) -> Query {
    let frequent = |random: &mut fastrand::Rng| term(BODY, random.u32(0..6));
    let rare = |random: &mut fastrand::Rng| term(BODY, random.u32(150..400));
    let some = |random: &mut fastrand::Rng| (0..random.usize(2..5)).map(|_| frequent(random)).collect::<Vec<_>>();
    match random.u8(0..12) {
        0 => frequent(random),
        1 => Query::Boolean(BooleanQuery { should: some(random), ..Default::default() }),
        2 => Query::Boolean(BooleanQuery { must: some(random), ..Default::default() }),
        3 => Query::Boolean(BooleanQuery { should: vec![rare(random), frequent(random)], ..Default::default() }),
        4 => Query::Boolean(BooleanQuery { must: vec![rare(random), frequent(random)], ..Default::default() }),
        5 | 6 => {
            let words = [random.u32(0..4), random.u32(100..400)];
            let terms = words.iter().enumerate().map(|(at, word)| (at as u32, format!("w{word}").into_bytes()));
            Query::Phrase(PhraseQuery { field: BODY, terms: terms.collect(), slop: random.u32(0..3) })
        }
        7 => {
            let groups = (0..random.u32(1..4)).map(|word| Query::DisMax {
                queries: vec![term(BODY, word), Query::Boost(Box::new(term(TITLE, word)), 1.5)],
                tie_breaker: 0.3,
            });
            Query::Boolean(BooleanQuery { should: groups.collect(), ..Default::default() })
        }
        8 => Query::Boolean(BooleanQuery {
            must: some(random),
            filter: vec![Query::Filter(random.u32(0..2))],
            must_not: vec![random_term(random)],
            ..Default::default()
        }),
        9 => {
            let near = |word: u32| Query::Pattern {
                field: BODY,
                pattern: TermPattern::Fuzzy(FuzzyPattern::new(format!("w{word}"), 1)),
                scoring: PatternScoring::Blended,
            };
            let should = vec![near(random.u32(0..400)), frequent(random)];
            Query::Boolean(BooleanQuery { should, ..Default::default() })
        }
        _ => random_query(random, 2),
    }
}

#[test]
fn parts_give_what_whole_lists_do() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut in_parts, mut fewer) = (0, 0);
    // Small corpora have little to leave out: as many of them as it takes to see it happen.
    for round in 0..12 {
        if round >= 3 && in_parts > 300 && fewer > 30 {
            break;
        }
        let sizes = [random.usize(1..6_000), random.usize(1..300), random.usize(1..2_500)];
        let corpus = corpus(&mut random, &sizes, 12 + 20 * (round % 2));
        for nth in 0..120 {
            let query = query(&mut random);
            let (mut filters, _) = filters(&mut random, &corpus);
            if nth % 2 == 0 {
                filters.iter_mut().for_each(|filter| (filter.live, filter.filter) = (None, None));
            }
            let k = [1, 3, 10, 40, 3_000][random.usize(0..5)];
            let (whole, _, all_bytes) = run(&corpus, &query, PlanOptions::default(), &filters);
            let cancel = Cancel::new();
            let expected = whole.top_k(k, &filters, &cancel).unwrap();
            let count = whole.count(&filters, &cancel).unwrap();
            for purpose in [Purpose::Top(k), Purpose::TopAndCount(k), Purpose::TopAndCount(0)] {
                let (whole_bytes, round_bytes) = ([0, 512, 8 << 10][nth % 3], [0, 3_000, 40_000][random.usize(0..3)]);
                let options = PlanOptions { purpose, whole_bytes, round_bytes, ..Default::default() };
                let (plan, waves, bytes) = run(&corpus, &query, options, &filters);
                assert!(waves <= 5, "{waves} waves");
                let is_partial = waves > 2;
                in_parts += usize::from(is_partial);
                fewer += usize::from(is_partial && bytes < all_bytes / 2);
                if purpose != Purpose::Top(k) {
                    assert_eq!(plan.count(&filters, &cancel).unwrap(), count, "{query:?}");
                    assert_eq!(plan.matches(0, &filters[0]).unwrap(), whole.matches(0, &filters[0]).unwrap());
                }
                let total = plan.total(&filters, &cancel).unwrap();
                assert!(if total.is_exact { total.count == count } else { total.count <= count }, "{total:?} {count}");
                if purpose == Purpose::TopAndCount(0) {
                    assert!(plan.top_k(1, &filters, &cancel).is_err());
                    continue;
                }
                assert_eq!(plan.top_k(k, &filters, &cancel).unwrap(), expected, "top {k} for {purpose:?} of {query:?}");
                for hit in expected.iter().take(3) {
                    let (segment, filter) = (hit.segment as usize, &filters[hit.segment as usize]);
                    let why = |plan: &Plan| plan.explain(segment, hit.doc, filter, &|field| format!("f{}", field.0));
                    assert_eq!(why(&plan).unwrap(), why(&whole).unwrap());
                }
            }
        }
    }
    assert!(in_parts > 300 && fewer > 30, "{in_parts} plans read parts, {fewer} of them less than half");
}

#[test]
fn a_plan_for_the_best_refuses_what_it_has_not_read() {
    let mut random = fastrand::Rng::with_seed(3);
    let corpus = corpus(&mut random, &[4_000], 20);
    let options = PlanOptions { purpose: Purpose::Top(5), whole_bytes: 0, ..Default::default() };
    let filters = vec![SegmentFilter::default()];
    let query = Query::Boolean(BooleanQuery { should: vec![term(BODY, 0), term(BODY, 1)], ..Default::default() });
    let (plan, ..) = run(&corpus, &query, options, &filters);
    let cancel = Cancel::new();
    assert_eq!(plan.top_k(5, &filters, &cancel).unwrap().len(), 5);
    assert!(plan.top_k(6, &filters, &cancel).is_err());
    assert!(plan.count(&filters, &cancel).is_err());
    assert!(plan.matches(0, &filters[0]).is_err());
    let mut unfed = Plan::with_options(&query, corpus.texts.clone(), options).unwrap();
    assert!(unfed.top_k(5, &filters, &cancel).is_err());
    let read = corpus.read(&unfed);
    unfed.feed(read).unwrap();
    let read = corpus.read(&unfed);
    unfed.feed(read).unwrap();
    assert!(unfed.wanted().is_empty() && !unfed.is_ready());
    assert!(unfed.feed(Vec::new()).is_err(), "what next is not known yet");
    cancel.cancel();
    assert!(unfed.choose(&filters, &cancel).is_err());
}

#[test]
fn lookups_in_one_block_are_one_range_and_misses_none() {
    let mut random = fastrand::Rng::with_seed(5);
    let corpus = corpus(&mut random, &[900, 700], 20);
    let words = |words: &[&str]| {
        let term = |word: &&str| Query::Term { field: BODY, term: word.as_bytes().to_vec() };
        Query::Boolean(BooleanQuery { should: words.iter().map(term).collect(), ..Default::default() })
    };
    // A dictionary of some hundred short terms is a block or a few per segment.
    let one = Plan::new(&words(&["w1"]), corpus.texts.clone()).unwrap();
    assert_eq!(one.wanted().len(), 2, "a block of each segment");
    let several = Plan::new(&words(&["w1", "w10", "w100", "w101"]), corpus.texts.clone()).unwrap();
    assert_eq!(several.wanted(), one.wanted());
    let miss = Plan::new(&words(&["a", "zebra", "x"]), corpus.texts.clone()).unwrap();
    assert!(miss.is_ready() && miss.wanted().is_empty());
    assert_eq!(miss.count(&vec![SegmentFilter::default(); 2], &Cancel::new()).unwrap(), 0);
    // The documents of all terms that a prefix stands for, in few ranges.
    let prefix =
        Query::Pattern { field: BODY, pattern: TermPattern::Prefix(b"w1".to_vec()), scoring: PatternScoring::Constant };
    let mut plan = Plan::new(&prefix, corpus.texts.clone()).unwrap();
    let read = corpus.read(&plan);
    plan.feed(read).unwrap();
    let terms: usize = plan.data.iter().map(|data| data.patterns[0].len()).sum();
    assert!(terms > 100 && plan.wanted().len() <= 8, "{} ranges for {terms} terms", plan.wanted().len());
}
