//! What plans ask for on two million documents: waves, requests as HTTP storage makes them, bytes, beside whole lists.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use bytes::Bytes;

use super::*;
use crate::{
    ids::FieldOrd,
    platform::Cancel,
    postings::{PostingsWriter, TextStream, norms},
    storage::{
        ReadProfile,
        plan::{PlanLimits, ReadPlan},
    },
    terms::{FieldOptions, FieldTotals, TermIndex, TermsWriter},
};

const BODY: FieldOrd = FieldOrd(0);
const DOCS: u32 = 2_000_000;
/// In half and a quarter of the documents, in forty, and in a twentieth.
const WORDS: [(&str, u32); 4] = [("half", 2), ("quarter", 4), ("rare", DOCS / 40), ("some", 20)];

fn hash(doc: u32, salt: u32) -> u32 {
    let mixed = (u64::from(doc) << 8 | u64::from(salt)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) as u32 >> 8
}

/// Words come once in a document, and up to eight times in one stretch of a thousand documents of twenty.
fn freq(doc: u32, word: u32) -> u32 {
    let is_about = hash(doc / 1_000, word).is_multiple_of(20);
    if is_about && hash(doc, word + 100).is_multiple_of(4) { 1 + hash(doc, word + 200) % 8 } else { 1 }
}

struct Big {
    text: Arc<SegmentText>,
    streams: [Bytes; 3],
}

fn big() -> Big {
    let norms: Vec<u8> = (0..DOCS).map(|doc| norms::encode(20 + hash(doc, 9) % 300)).collect();
    let options = FieldOptions::FREQS;
    let (mut writer, mut dictionary) = (PostingsWriter::new(options), TermsWriter::new(options));
    let (mut postings, mut terms) = (Vec::new(), Vec::new());
    for (word, (name, every)) in WORDS.iter().enumerate() {
        for doc in (0..DOCS).filter(|&doc| hash(doc, word as u32).is_multiple_of(*every)) {
            writer.add_doc(doc, freq(doc, word as u32), norms[doc as usize]);
        }
        dictionary.push(name.as_bytes(), &writer.finish_term(&mut postings).unwrap(), &mut terms).unwrap();
    }
    let totals =
        FieldTotals { doc_count: DOCS.into(), sum_total_term_freq: u64::from(DOCS) * 170, ..FieldTotals::default() };
    let index = TermIndex::parse(&dictionary.finish(totals, postings.len() as u64, &mut terms)).unwrap();
    let text = FieldText { index: Arc::new(index), terms: None, postings: None, norms: None, has_norms: true };
    let fields = BTreeMap::from([(BODY, text)]);
    let text = SegmentText { max_doc: DOCS, fields, is_near: false };
    Big { text: Arc::new(text), streams: [terms.into(), postings.into(), norms.into()] }
}

#[derive(Debug, Default)]
struct Cost {
    waves: usize,
    requests: usize,
    kib: u64,
}

impl Big {
    fn run(&self, query: &Query, purpose: Purpose) -> (Plan, Cost) {
        let options = PlanOptions { purpose, ..Default::default() };
        let mut plan = Plan::with_options(query, vec![self.text.clone()], options).unwrap();
        let mut cost = Cost::default();
        while !plan.is_ready() {
            if plan.wanted().is_empty() {
                plan.choose(&[SegmentFilter::default()], &Cancel::new()).unwrap();
                continue;
            }
            cost.waves += 1;
            for stream in [TextStream::Terms, TextStream::Postings, TextStream::Norms] {
                let block = u64::from(ReadProfile::HTTP.block_bytes);
                let wanted = plan.wanted().iter().filter(|want| want.stream == stream);
                let blocks = |range: &Range<u64>| range.start / block * block..range.end.next_multiple_of(block);
                let ranges: Vec<_> = wanted.map(|want| blocks(&want.range)).collect();
                let reads = ReadPlan::new(&ranges, PlanLimits::from(&ReadProfile::HTTP));
                cost.requests += reads.requests().len();
                cost.kib += reads.request_bytes() >> 10;
            }
            let bytes = plan.wanted().iter().map(|want| {
                self.streams[want.stream as usize].slice(want.range.start as usize..want.range.end as usize)
            });
            let bytes = bytes.collect();
            plan.feed(bytes).unwrap();
        }
        (plan, cost)
    }
}

#[test]
fn two_million_documents_cost_what_can_still_win() {
    let big = big();
    let term = |word: &&str| Query::Term { field: BODY, term: word.as_bytes().to_vec() };
    let any = |words: &[&str]| {
        Query::Boolean(BooleanQuery { should: words.iter().map(term).collect(), ..Default::default() })
    };
    let all =
        |words: &[&str]| Query::Boolean(BooleanQuery { must: words.iter().map(term).collect(), ..Default::default() });
    for (what, query, waves, requests, kib) in [
        ("half", term(&"half"), 3, 16, 400),
        ("half or quarter", any(&["half", "quarter"]), 4, 35, 1_550),
        ("half or quarter or some", any(&["half", "quarter", "some"]), 4, 33, 1_500),
        ("half and quarter", all(&["half", "quarter"]), 4, 34, 1_950),
        ("half or rare", any(&["half", "rare"]), 4, 36, 1_300),
        ("half and rare", all(&["half", "rare"]), 4, 38, 1_000),
    ] {
        let (filters, cancel) = ([SegmentFilter::default()], Cancel::new());
        let (plan, cost) = big.run(&query, Purpose::Top(10));
        let (whole, whole_cost) = big.run(&query, Purpose::Anything);
        println!("{what}: {cost:?}, whole lists {whole_cost:?}");
        let found = plan.top_k(10, &filters, &cancel).unwrap();
        assert_eq!(found, whole.top_k(10, &filters, &cancel).unwrap(), "{what}");
        assert!(cost.waves <= waves && cost.requests <= requests && cost.kib <= kib, "{what}: {cost:?}");
    }
}
