//! The clause for documents like another one.

use serde_json::Value;

use crate::{
    error::Result,
    ids::DocId,
    query::{Like, MoreLikeQuery, Query},
};

use super::{
    MinShould, TreeReader, boosted,
    path::{At, Object},
};

const DEFAULT_TERMS: u32 = 25;
const DEFAULT_MIN_DOC_FREQ: u32 = 2;
/// Share of the terms that must match, as in Elasticsearch.
const DEFAULT_MIN_SHOULD: MinShould = MinShould::Share(30);

impl TreeReader<'_> {
    pub(super) fn more_like_this(&mut self, body: &Value, at: &At<'_>) -> Result<Query> {
        let keys = [
            "like",
            "text",
            "field",
            "fields",
            "maxQueryTerms",
            "minTermFreq",
            "minDocFreq",
            "maxDocFreq",
            "minShouldMatch",
            "boost",
        ];
        let object = Object::new(body, at, &keys)?;
        let like = match (object.get("like"), object.text("text")?) {
            (Some(Value::String(id)), None) if !id.is_empty() => Like::Id(DocId::Str(id.clone())),
            (Some(Value::Number(id)), None) if id.is_i64() => Like::Id(DocId::Int(id.as_i64().unwrap_or(0))),
            (None, Some(text)) => Like::Text(text.to_owned()),
            (Some(found), None) => return object.expected("like", "an id", found),
            _ => return Err(at.bad("either \"like\", an id, or \"text\" is needed")),
        };
        let query = MoreLikeQuery {
            fields: self.text_fields(&object)?,
            like,
            max_query_terms: object.count("maxQueryTerms", 1..=1024)?.unwrap_or(DEFAULT_TERMS),
            min_term_freq: object.count("minTermFreq", 0..=u32::MAX)?.unwrap_or(1),
            min_doc_freq: u64::from(object.count("minDocFreq", 0..=u32::MAX)?.unwrap_or(DEFAULT_MIN_DOC_FREQ)),
            max_doc_freq: object.count("maxDocFreq", 0..=u32::MAX)?.map(u64::from),
            min_should: MinShould::read(&object)?.unwrap_or(DEFAULT_MIN_SHOULD),
        };
        boosted(Query::MoreLike(Box::new(query)), &object)
    }
}
