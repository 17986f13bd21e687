//! The demo's corpus: real sentences, and questions in the words of people.

use std::{fs, path::Path};

use rangefind::{engine::Index, platform::block_on};
use serde::Deserialize;
use serde_json::json;

use super::{
    npy,
    set::{Set, add, id_of, merge, options, search, single, store},
};

const DIMS: usize = 384;

#[derive(Deserialize)]
struct Question {
    text: String,
    vector: Vec<f32>,
}

fn corpus() -> (Vec<Vec<f32>>, Vec<Question>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("www/corpus");
    let questions = serde_json::from_slice(&fs::read(folder.join("queries.json")).unwrap()).unwrap();
    (npy::rows(&folder.join("vectors.npy")), questions)
}

/// Questions lie far from all documents: calibrations with vectors of the segment alone promised too much for them.
#[test]
#[cfg_attr(debug_assertions, ignore = "minutes without optimisations")]
fn questions_in_words_keep_their_ten_nearest() {
    block_on(async {
        let (vectors, questions) = corpus();
        let count = vectors.len();
        let set = Set::new("cosine", single(&vectors), questions.iter().map(|one| one.vector.clone()).collect());
        let index = Index::open(store(), options(DIMS, "cosine")).await.unwrap();
        add(&index, 0, &set.docs[..count / 2]).await;
        add(&index, count / 2, &set.docs[count / 2..]).await;
        merge(&index, 64 << 20).await;

        let (mut hits, mut worst) = (0, 10);
        for (query, question) in questions.iter().enumerate() {
            let expected = set.expected(query, |_| true);
            let clause = json!({ "field": "embedding", "value": question.vector });
            let response = search(&index, json!({ "vector": clause, "limit": 10, "select": [] })).await;
            assert!(response.stats.cells_probed > 0);
            let found = set.found(query, &expected, &response.hits, 10);
            (hits, worst) = (hits + found, worst.min(found));
            if question.text == "read comic books" {
                assert!(found >= 9, "{found} of the ten nearest to {:?}", question.text);
                assert_eq!(id_of(&response.hits[3].id), expected[3].0, "the fourth was lost once");
            }
        }
        let recall = hits as f64 / (10 * questions.len()) as f64;
        assert!(recall >= 0.95 && worst >= 6, "{recall}, {worst} of ten at worst");
    });
}
