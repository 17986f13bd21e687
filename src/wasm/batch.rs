//! Documents on their way in.

use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    error::{Error, ErrorKind, Result},
    schema::{DocumentBatch, FieldVectors},
};

/// Documents as the UTF-8 of a JSON array, with vectors beside them.
#[wasm_bindgen]
pub struct WasmBatch {
    json: Vec<u8>,
    vectors: Vec<FieldVectors>,
}

#[wasm_bindgen]
impl WasmBatch {
    /// Documents without vectors.
    #[wasm_bindgen(constructor)]
    pub fn new(json: Vec<u8>) -> Self {
        Self { json, vectors: Vec::new() }
    }

    /// The vectors of one field: `counts` says how many each document has.
    #[wasm_bindgen(js_name = addVectors)]
    pub fn add_vectors(&mut self, field: String, counts: Vec<u32>, data: Vec<f32>) {
        self.vectors.push(FieldVectors { field, values: data, counts: Some(counts) });
    }
}

impl WasmBatch {
    /// The engine's batch.
    ///
    /// # Errors
    /// `invalid_argument` if the text is no JSON array.
    pub(super) fn into_documents(self) -> Result<DocumentBatch> {
        let text = String::from_utf8(self.json)
            .map_err(|error| Error::with_source(ErrorKind::InvalidArgument, "documents as UTF-8", error))?;
        let batch = DocumentBatch::from_text(text)?;
        Ok(self.vectors.into_iter().fold(batch, DocumentBatch::with_vectors))
    }
}
