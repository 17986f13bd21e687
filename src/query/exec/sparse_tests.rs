//! Conjunctions under rare conditions against the definitions, and against looking at every document.

use crate::{
    platform::Cancel,
    query::{
        BooleanQuery, PhraseQuery, Query,
        collect::Accept,
        tests::{BODY, TITLE, check, corpus, filters, random_term, word},
    },
};

/// A term that is in few documents, or in none.
fn rare_term(random: &mut fastrand::Rng) -> Query {
    Query::Term { field: [TITLE, BODY][random.usize(0..2)], term: format!("w{}", random.u32(25..250)).into() }
}

/// A term that is in many documents.
fn frequent_term(random: &mut fastrand::Rng) -> Query {
    Query::Term { field: BODY, term: format!("w{}", random.u32(0..12)).into() }
}

/// A condition, most of them on few documents.
fn condition(random: &mut fastrand::Rng) -> Query {
    let some = |random: &mut fastrand::Rng| (0..random.usize(1..4)).map(|_| rare_term(random)).collect();
    match random.u8(0..9) {
        0..=2 => rare_term(random),
        3 => Query::Boolean(BooleanQuery { should: some(random), ..Default::default() }),
        4 => Query::DisMax { queries: some(random), tie_breaker: 0.0 },
        5 => {
            let terms = vec![(0, word(random).into_bytes()), (1, word(random).into_bytes())];
            Query::Phrase(PhraseQuery { field: BODY, terms, slop: 0 })
        }
        6 => Query::Filter(random.u32(0..2)),
        7 => Query::Boolean(BooleanQuery {
            must: vec![frequent_term(random)],
            must_not: vec![frequent_term(random)],
            ..Default::default()
        }),
        _ => frequent_term(random),
    }
}

/// Terms that score, under conditions that do not.
fn conjunction(random: &mut fastrand::Rng) -> Query {
    let term =
        |random: &mut fastrand::Rng| if random.u8(0..5) > 0 { frequent_term(random) } else { random_term(random) };
    let mut must: Vec<Query> = (0..random.usize(1..4)).map(|_| term(random)).collect();
    if random.u8(0..3) == 0 {
        must = vec![Query::Boolean(BooleanQuery { must, ..Default::default() })];
    }
    let mut filter = vec![rare_term(random)];
    filter.extend((0..random.usize(0..3)).map(|_| condition(random)));
    random.shuffle(&mut filter);
    Query::Boolean(BooleanQuery { must, filter, ..Default::default() })
}

#[test]
fn agrees_with_the_definitions() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let corpus = corpus(&mut random, &[900, 0, 250, 1, 64], 30);
    let (cancel, mut taken, mut found) = (Cancel::new(), 0, 0);
    // As many as it takes to see the way that is tested here taken, and lead somewhere.
    for round in 0..2_000 {
        if round >= 100 && taken > 100 && found > 30 {
            return;
        }
        let query = conjunction(&mut random);
        let (filters, sets) = filters(&mut random, &corpus);
        check(&corpus, &query, &filters, &sets);
        let (plan, _) = corpus.plan(&query);
        for (segment, filter) in filters.iter().enumerate() {
            let Some(run) = plan.run(segment, filter).unwrap() else { continue };
            for scored in [false, true] {
                let sparse = run.sparse(&plan.root, &Accept::new(filter), scored, &cancel).unwrap();
                taken += u32::from(sparse.is_some());
                found += sparse.map_or(0, |sparse| sparse.count());
            }
        }
    }
    panic!("{taken} conjunctions with {found} documents");
}

#[test]
fn short_lists_have_what_sets_have() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let corpus = corpus(&mut random, &[900, 0, 250], 30);
    let mut found = 0;
    for _ in 0..100 {
        let query = Query::Constant(Box::new(rare_term(&mut random)), 1.0);
        let (filters, _) = filters(&mut random, &corpus);
        let (plan, _) = corpus.plan(&query);
        for (segment, filter) in filters.iter().enumerate() {
            let Some(list) = plan.matching_list(segment, filter).unwrap() else { continue };
            let set: Vec<u32> = plan.matches(segment, filter).unwrap().iter().collect();
            assert_eq!(list, set, "seed {seed}: {query:?}");
            found += list.len();
        }
    }
    assert!(found > 30, "{found} documents");
}

#[test]
fn agrees_with_every_document_on_long_lists() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let corpus = corpus(&mut random, &[7_000, 700], 16);
    let cancel = Cancel::new();
    for _ in 0..100 {
        let query = conjunction(&mut random);
        let (filters, _) = filters(&mut random, &corpus);
        let (plan, _) = corpus.plan(&query);
        let all = plan.top_k_exhaustive(10_000, &filters, &cancel).unwrap();
        assert_eq!(plan.count(&filters, &cancel).unwrap(), all.len() as u64, "seed {seed}: {query:?}");
        for k in [1, 7, 10_000] {
            let (top, count) = plan.top_k_and_count(k, &filters, &cancel).unwrap();
            assert_eq!(top, all[..k.min(all.len())], "top {k}, seed {seed}: {query:?}");
            assert_eq!(count, all.len() as u64, "seed {seed}: {query:?}");
        }
    }
}
