//! Both codecs of postings answer alike; a merge encodes again, and what comes out is what a build would have written.
#![cfg(not(target_arch = "wasm32"))]

use rangefind::{
    codec::PostingsCodec,
    engine::{Cancel, DocumentBatch, Index, MergeOptions, OpenOptions, SearchRequest, no_progress},
    platform::block_on,
    schema::Schema,
    segment::{HEADER_LEN, SectionKind},
    storage::{MemoryStorage, Storage},
};
use serde_json::{Value, json};

/// Enough for groups of blocks, bit sets, packed blocks and tails.
const DOCS: i64 = 6_000;

fn seed() -> u64 {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    seed
}

/// Word 0 is in most texts, word 1 in half as many, and so on.
fn word(random: &mut fastrand::Rng) -> String {
    format!("w{}", random.u64(..).trailing_zeros().min(11) * 3 + random.u32(..3))
}

fn docs(random: &mut fastrand::Rng) -> Vec<Value> {
    let text = |random: &mut fastrand::Rng| {
        let count = if random.u8(..9) == 0 { 150 } else { random.usize(1..12) };
        (0..count).map(|_| word(random)).collect::<Vec<_>>().join(" ")
    };
    let one = |id| json!({ "id": id, "title": text(random), "tag": [word(random), "all"], "year": id % 40 });
    (0..DOCS).map(one).collect()
}

async fn open(storage: &MemoryStorage, codec: Option<PostingsCodec>) -> Index<MemoryStorage> {
    let schema = json!({ "title": "text", "tag": "keyword", "year": "integer" });
    let schema = Some(Schema::from_json(&schema).unwrap());
    let options = OpenOptions { schema, codec, auto_merge: false, grace_millis: 0, ..OpenOptions::default() };
    Index::open(storage.clone(), options).await.unwrap()
}

/// An index of three segments with some documents deleted.
async fn build(docs: &[Value], codec: Option<PostingsCodec>) -> (MemoryStorage, Index<MemoryStorage>) {
    let storage = MemoryStorage::new();
    let index = open(&storage, codec).await;
    for part in [&docs[..4_500], &docs[4_500..5_990], &docs[5_990..]] {
        index.add(DocumentBatch::from_values(part.to_vec())).await.unwrap();
        index.commit().await.unwrap();
    }
    let ids: Vec<_> = (0..DOCS).filter(|id| id % 97 == 3).map(Into::into).collect();
    index.delete(&ids).await.unwrap();
    index.commit().await.unwrap();
    (storage, index)
}

fn request(random: &mut fastrand::Rng) -> Value {
    let (one, two, three) = (word(random), word(random), word(random));
    let mut request = match random.u8(..9) {
        0 => json!({ "query": one }),
        1 => json!({ "query": format!("{one} {two} {three}") }),
        2 | 3 => json!({ "query": format!("{one} {two}"), "match": "all" }),
        4 => json!({ "query": format!("{one} {two} {three}"), "match": "all", "facets": ["tag"] }),
        5 => json!({ "query": format!("\"{one} {two}\"") }),
        6 => json!({ "query": format!("+{one} -{two} ({two} {three})"), "syntax": "lucene" }),
        7 => json!({ "query": format!("{one} {two}"), "filter": { "tag": three, "year": { "lt": 30 } } }),
        _ => json!({ "query": format!("{one} {two}"), "match": "all", "filter": { "tag": "all" },
            "sort": [{ "field": "year" }] }),
    };
    request["limit"] = json!([1, 10, 100, 3_000][random.usize(..4)]);
    request["select"] = json!([]);
    request
}

/// Hits with their scores and all counts, or what the search failed with.
async fn answer(index: &Index<MemoryStorage>, request: &Value) -> Value {
    let request: SearchRequest = serde_json::from_value(request.clone()).unwrap();
    let response = index.search(&request, &Cancel::new()).await.unwrap();
    let hits: Vec<_> = response.hits.iter().map(|hit| json!([hit.id, hit.score])).collect();
    json!({ "hits": hits, "total": response.total, "facets": response.facets })
}

async fn merge(index: &Index<MemoryStorage>, codec: Option<PostingsCodec>) -> u32 {
    let options = MergeOptions { codec, ..MergeOptions::default() };
    index.merge(options, &no_progress, &Cancel::new()).await.unwrap().merged_segments
}

fn codecs(index: &Index<MemoryStorage>) -> (PostingsCodec, Vec<PostingsCodec>) {
    let info = index.info().unwrap();
    (info.codec, info.segments.iter().map(|segment| segment.codec).collect())
}

/// Everything between the header, which has the segment's name, and the metadata.
async fn sections(storage: &MemoryStorage, index: &Index<MemoryStorage>) -> Vec<u8> {
    let id = index.info().unwrap().segments[0].id.clone();
    let entries = storage.list().await.unwrap();
    let name = entries.into_iter().map(|entry| entry.name).find(|name| *name == format!("{id}.seg")).unwrap();
    let bytes = storage.get(&name).unwrap();
    let index_at = u64::from_le_bytes(bytes[bytes.len() - 16..bytes.len() - 8].try_into().unwrap()) as usize;
    let toc = rangefind::segment::Toc::parse(&bytes[index_at..bytes.len() - 16]).unwrap();
    let checksums = toc.sections.iter().find(|section| section.kind == SectionKind::Checksums).unwrap();
    bytes[HEADER_LEN as usize..checksums.offset as usize].to_vec()
}

#[test]
fn both_codecs_answer_alike() {
    let mut random = fastrand::Rng::with_seed(seed());
    let docs = docs(&mut random);
    block_on(async {
        let (_, fast) = build(&docs, None).await;
        let (_, compact) = build(&docs, Some(PostingsCodec::Compact)).await;
        assert_eq!(codecs(&fast), (PostingsCodec::Fast, vec![PostingsCodec::Fast; 3]));
        assert_eq!(codecs(&compact), (PostingsCodec::Compact, vec![PostingsCodec::Compact; 3]));
        for merged in [false, true] {
            if merged {
                merge(&fast, None).await;
                merge(&compact, None).await;
            }
            for _ in 0..150 {
                let request = request(&mut random);
                assert_eq!(answer(&fast, &request).await, answer(&compact, &request).await, "{request}");
            }
        }
        for index in [fast, compact] {
            let report = index.check(&no_progress, &Cancel::new()).await.unwrap();
            assert!(report.ok, "{report:#?}");
        }
    });
}

#[test]
fn a_merge_there_and_back_equals_the_build() {
    let mut random = fastrand::Rng::with_seed(seed());
    let docs = docs(&mut random);
    block_on(async {
        let (storage, index) = build(&docs, None).await;
        merge(&index, None).await;
        let direct = sections(&storage, &index).await;
        assert_eq!(merge(&index, None).await, 0, "one segment of the right codec is left alone");
        assert_eq!(merge(&index, Some(PostingsCodec::Compact)).await, 1);
        assert_eq!(codecs(&index), (PostingsCodec::Compact, vec![PostingsCodec::Compact]));
        let compact = sections(&storage, &index).await;
        assert!(compact != direct);
        assert_eq!(merge(&index, Some(PostingsCodec::Fast)).await, 1);
        assert!(sections(&storage, &index).await == direct);
    });
}

#[test]
fn the_codec_is_the_indexes_until_another_is_given() {
    use PostingsCodec::{Compact, Fast};
    let doc = |id: i64| DocumentBatch::from_values(vec![json!({ "id": id, "title": "a word" })]);
    block_on(async {
        let storage = MemoryStorage::new();
        for (given, expected) in [(Some(Compact), Compact), (None, Compact), (Some(Fast), Fast), (None, Fast)] {
            let index = open(&storage, given).await;
            let num_segments = index.info().unwrap().segments.len();
            index.add(doc(num_segments as i64)).await.unwrap();
            index.commit().await.unwrap();
            let (of_index, of_segments) = codecs(&index);
            assert_eq!((of_index, of_segments[num_segments]), (expected, expected));
            // What was forgotten is asked for again.
            index.rollback().await.unwrap();
            index.close().await.unwrap();
        }
        let index = open(&storage, None).await;
        assert_eq!(codecs(&index).1, [Compact, Compact, Fast, Fast]);
        merge(&index, None).await;
        assert_eq!(codecs(&index), (Fast, vec![Fast]));
    });
}
