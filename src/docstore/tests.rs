//! Round trips against a plain list, merges against rebuilds, damage.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    bitset::{BitSet, DocMap},
    docstore::{
        DocIdsIndex, DocStoreError, DocStoreIndex, DocStoreMerger, DocStoreParts, DocStoreWriter, StoredDocument,
    },
    ids::{DocId, DocOrd},
};

type Docs = Vec<(DocId, String)>;

fn random_docs(rng: &mut fastrand::Rng, count: usize) -> Docs {
    (0..count)
        .map(|number| {
            let len = if rng.u8(0..50) == 0 { rng.usize(0..90_000) } else { rng.usize(0..400) };
            let text: String = (0..len).map(|_| if rng.bool() { 'a' } else { rng.char('a'..='ü') }).collect();
            let id = if rng.bool() { DocId::Int(number as i64) } else { DocId::Str(format!("doc {number}")) };
            (id, format!("{{\"t\":\"{text}\"}}"))
        })
        .collect()
}

fn write(docs: &Docs) -> (Vec<u8>, Vec<u8>) {
    let (data, parts, _) = write_all(docs);
    (data, parts.index)
}

/// The `docs` stream, the other sections, and all of the `doc_ids` stream.
fn write_all(docs: &Docs) -> (Vec<u8>, DocStoreParts, Vec<u8>) {
    let (mut writer, mut data, mut ids) = (DocStoreWriter::new(), Vec::new(), Vec::new());
    for (at, (id, json)) in docs.iter().enumerate() {
        writer.push(&id.to_term(), json, &mut data);
        if at % 100 == 99 {
            writer.take_ids(&mut ids);
        }
    }
    let parts = writer.finish(&mut data);
    ids.extend_from_slice(&parts.ids);
    (data, parts, ids)
}

fn read_ids(index: &DocIdsIndex, data: &[u8], docs: &[DocOrd]) -> Result<Vec<DocId>, DocStoreError> {
    let plan = index.plan(docs)?;
    let ranges = plan.ranges(index).into_iter();
    let buffers: Vec<Bytes> =
        ranges.map(|range| Bytes::copy_from_slice(&data[range.start as usize..range.end as usize])).collect();
    plan.decode(index, &buffers)
}

/// Ids of one shape: small integers, all integers, texts with much or nothing in common, or a mixture.
fn random_id(rng: &mut fastrand::Rng, shape: u8, number: usize) -> DocId {
    match shape {
        0 => DocId::Int(number as i64 - 50),
        1 => DocId::Int(rng.i64(..)),
        2 => DocId::Str(format!("https://example.org/page/{number}")),
        3 => DocId::Str((0..rng.usize(1..300)).map(|_| rng.char('a'..='ü')).collect()),
        _ => {
            let shape = rng.u8(0..4);
            random_id(rng, shape, number)
        }
    }
}

#[test]
fn ids_come_back_without_their_documents() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    for count in [0, 1, 127, 128, 129, 700] {
        for shape in 0..5 {
            let docs: Docs = (0..count).map(|number| (random_id(&mut rng, shape, number), "{}".to_owned())).collect();
            let (_, parts, data) = write_all(&docs);
            let index = DocIdsIndex::parse(&parts.ids_index).expect("just written");
            assert_eq!((index.num_docs() as usize, index.data_len()), (count, data.len() as u64), "seed {seed}");
            let asked: Vec<DocOrd> = (0..count).map(|_| DocOrd(rng.u32(0..count as u32))).collect();
            let expected: Vec<DocId> = asked.iter().map(|doc| docs[doc.0 as usize].0.clone()).collect();
            assert_eq!(read_ids(&index, &data, &asked).as_ref(), Ok(&expected), "seed {seed}, shape {shape}");
            assert!(index.plan(&[DocOrd(count as u32)]).is_err());
            if shape == 0 && count == 700 {
                assert!(data.len() < count * 2, "{} bytes for {count} small integers", data.len());
            }
        }
    }
}

#[test]
fn damaged_ids_are_found_and_never_panic() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    for shape in 0..5 {
        let docs: Docs = (0..300).map(|number| (random_id(&mut rng, shape, number), "{}".to_owned())).collect();
        let (_, parts, data) = write_all(&docs);
        let index = DocIdsIndex::parse(&parts.ids_index).expect("just written");
        for _ in 0..300 {
            let block = rng.u32(0..index.num_blocks());
            let range = index.block_range(block);
            let mut bytes = data[range.start as usize..range.end as usize].to_vec();
            let at = rng.usize(0..bytes.len());
            bytes[at] ^= 1 << rng.u8(0..8);
            assert!(index.block(block, &bytes).is_err(), "seed {seed}: bit flip at {at} of block {block}");
            // The same damage under a right checksum, and bytes cut off, must not panic.
            bytes.truncate(rng.usize(4..=bytes.len()).max(4));
            let crc = crc32c::crc32c(&bytes[4..]).to_le_bytes();
            bytes[..4].copy_from_slice(&crc);
            if let Ok(ids) = index.block(block, &bytes) {
                (0..=ids.num_ids()).for_each(|ix| drop(ids.id(ix)));
            }
            let mut meta = parts.ids_index.clone();
            let at = rng.usize(0..meta.len());
            meta[at] = rng.u8(..);
            meta.truncate(rng.usize(at..=meta.len()));
            if let Ok(index) = DocIdsIndex::parse(&meta) {
                let _ = index.block(index.num_blocks().saturating_sub(1), &bytes).map(|ids| ids.id(0));
            }
        }
    }
}

fn read(index: &DocStoreIndex, data: &[u8], docs: &[DocOrd]) -> Vec<StoredDocument> {
    let plan = index.plan(docs).expect("documents exist");
    let buffers: Vec<Bytes> = plan
        .ranges(index)
        .into_iter()
        .map(|range| Bytes::copy_from_slice(&data[range.start as usize..range.end as usize]))
        .collect();
    plan.decode(index, &buffers).expect("nothing is damaged")
}

#[test]
fn documents_come_back_in_the_order_asked_for() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    for count in [0, 1, 2, 300] {
        let docs = random_docs(&mut rng, count);
        let (data, index) = write(&docs);
        let index = DocStoreIndex::parse(&index).expect("just written");
        assert_eq!((index.num_docs() as usize, index.data_len()), (count, data.len() as u64), "seed {seed}");
        let asked: Vec<DocOrd> = (0..count.min(20)).map(|_| DocOrd(rng.u32(0..count as u32))).collect();
        let found = read(&index, &data, &asked);
        for (doc, stored) in asked.iter().zip(found) {
            let (id, json) = docs[doc.0 as usize].clone();
            assert_eq!(stored, StoredDocument { doc: *doc, id, json }, "seed {seed}");
        }
        assert!(index.plan(&[DocOrd(count as u32)]).is_err());
    }
}

#[test]
fn a_merge_equals_a_rebuild_of_the_live_documents() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..12 {
        let sources: Vec<Docs> = (0..rng.usize(0..4))
            .map(|_| {
                let count = rng.usize(0..250);
                random_docs(&mut rng, count)
            })
            .collect();
        let lives: Vec<Option<Arc<BitSet>>> = sources
            .iter()
            .map(|docs| {
                let keep = rng.u8(0..=100);
                rng.bool().then(|| {
                    let mut live = BitSet::new(docs.len() as u32);
                    (0..docs.len() as u32).filter(|_| rng.u8(0..100) < keep).for_each(|doc| {
                        live.insert(doc);
                    });
                    Arc::new(live)
                })
            })
            .collect();
        let map = sources.iter().zip(&lives).map(|(docs, live)| (docs.len() as u32, live.clone()));
        let map = Arc::new(DocMap::new(map).expect("small"));
        let written: Vec<_> = sources.iter().map(write).collect();
        let indexes =
            written.iter().map(|(_, index)| Arc::new(DocStoreIndex::parse(index).expect("written"))).collect();
        let (mut merger, mut merged) = (DocStoreMerger::new(indexes, map.clone()), Vec::new());
        let mut merged_ids = Vec::new();
        loop {
            let wanted = merger.wanted();
            if wanted.is_empty() {
                break;
            }
            let buffers: Vec<Bytes> = wanted
                .into_iter()
                .map(|(source, range)| {
                    Bytes::copy_from_slice(&written[source].0[range.start as usize..range.end as usize])
                })
                .collect();
            merger.feed(&buffers, &mut merged).expect("nothing is damaged");
            merger.take_ids(&mut merged_ids);
        }
        let parts = merger.finish(&mut merged).expect("all was fed");
        merged_ids.extend_from_slice(&parts.ids);
        let index = DocStoreIndex::parse(&parts.index).expect("just written");
        let expected: Docs = sources
            .iter()
            .enumerate()
            .flat_map(|(source, docs)| {
                let map = map.clone();
                docs.iter()
                    .enumerate()
                    .filter(move |(doc, _)| map.is_live(source, DocOrd(*doc as u32)))
                    .map(|(_, doc)| doc.clone())
            })
            .collect();
        let all: Vec<DocOrd> = (0..index.num_docs()).map(DocOrd).collect();
        let found: Docs = read(&index, &merged, &all).into_iter().map(|doc| (doc.id, doc.json)).collect();
        assert_eq!(found, expected, "seed {seed}");
        let ids_index = DocIdsIndex::parse(&parts.ids_index).expect("just written");
        let ids = read_ids(&ids_index, &merged_ids, &all).expect("nothing is damaged");
        assert!(ids.iter().eq(expected.iter().map(|(id, _)| id)), "seed {seed}");
    }
}

#[test]
fn damage_is_found_and_never_panics() {
    let mut rng = fastrand::Rng::with_seed(11);
    let docs = random_docs(&mut rng, 60);
    let (data, meta) = write(&docs);
    let index = DocStoreIndex::parse(&meta).expect("just written");
    for _ in 0..300 {
        let block = rng.u32(0..index.num_blocks());
        let range = index.block_range(block);
        let mut bytes = data[range.start as usize..range.end as usize].to_vec();
        let at = rng.usize(0..bytes.len());
        bytes[at] ^= 1 << rng.u8(0..8);
        assert!(index.decode_block(block, &bytes).is_err(), "bit flip at {at} of block {block}");
        bytes.truncate(at);
        assert!(index.decode_block(block, &bytes).is_err());
    }
    for _ in 0..3000 {
        let mut bytes = meta.clone();
        let at = rng.usize(0..bytes.len());
        bytes[at] = rng.u8(..);
        if rng.bool() {
            bytes.truncate(rng.usize(0..=bytes.len()));
        }
        if let Ok(index) = DocStoreIndex::parse(&bytes) {
            (0..index.num_blocks()).for_each(|block| assert!(!index.block_docs(block).is_empty()));
        }
        // A payload with a right checksum and wrong content must be refused too.
        let mut forged: Vec<u8> = (0..rng.usize(4..60)).map(|_| rng.u8(..)).collect();
        let crc = crc32c::crc32c(&forged).to_le_bytes();
        forged.splice(0..0, crc);
        let _ = index.decode_block(0, &forged);
    }
}
