//! `rangefind build`.

use std::io::Read;

use futures_util::stream;
use rangefind::{
    engine::{self, BuildOptions, Cancel},
    error::{Error, ErrorKind, Result},
    schema::{DEFAULT_DEGREE, DocumentBatch, Field, FieldKind, Schema, VectorOptions},
};

use super::{
    Outcome, Verdict,
    args::BuildArgs,
    as_usage,
    documents::{Batches, Vectors, open_file},
    leftovers::Before,
    npy::NpyReader,
    output::{Bar, Output, bytes, count, millis, plural},
    place,
};

/// Refusals shown in words; all of them are in the JSON.
const SHOWN_REFUSALS: usize = 5;

/// Builds a new index.
pub async fn run(args: BuildArgs, output: Output) -> Outcome {
    let storage = place::new_storage(&args.out).map_err(as_usage)?;
    let vectors = match &args.vectors {
        Some(path) => Some(Vectors { reader: NpyReader::open(path)?, field: args.vector_field.clone() }),
        None => None,
    };
    let vector_field = vectors.as_ref().map(|vectors| {
        let dims = u32::try_from(vectors.reader.dims()).unwrap_or(u32::MAX);
        let graph = args.graph.then_some(DEFAULT_DEGREE);
        let kind = FieldKind::Vector(VectorOptions { graph, ..VectorOptions::new(dims, args.metric.into()) });
        Field { name: vectors.field.clone(), kind }
    });
    let (mut batches, input_len, input) = Batches::open(&args.documents, vectors)?;
    let first = batches.next().transpose()?;
    let schema = match &args.schema {
        Some(path) => with_field(read_schema(path)?, vector_field, false)?,
        None => {
            let empty = || Error::invalid("there are no documents to infer a schema from");
            with_field(Schema::infer(first.as_ref().ok_or_else(empty)?)?, vector_field, true)?
        }
    };

    let before = Before::look(&args.out);
    let options = BuildOptions {
        schema: Some(schema),
        codec: args.codec.into(),
        memory_bytes: args.memory,
        max_segments: Some(args.max_segments).filter(|&segments| segments > 0),
        ..BuildOptions::default()
    };
    let bar = Bar::new(output, Some(input), input_len);
    let all = first.map(Ok).into_iter().chain(batches);
    let cancel = Cancel::new();
    let built = if args.strict {
        let checked = stream::iter(strict(all, options.schema.clone().unwrap_or_default()));
        engine::build(storage, checked, options, &|progress| bar.report(progress), &cancel).await
    } else {
        engine::build(storage, stream::iter(all), options, &|progress| bar.report(progress), &cancel).await
    };
    bar.finish();
    let report = match built {
        Ok(report) => report,
        Err(error) => {
            before.restore(output).await;
            return Err(error.into());
        }
    };
    // An index of nothing made of something is no success that a script should go on from.
    let nothing_fits = report.num_docs == 0 && !report.refused.is_empty();
    if nothing_fits {
        before.restore(output).await;
    }
    for refusal in report.refused.iter().take(SHOWN_REFUSALS) {
        let field = refusal.field.as_ref().map_or(String::new(), |field| format!(", field {field}"));
        output.remark(format_args!("document {} left out{field}: {}", refusal.row + 1, refusal.reason));
    }
    if report.refused.len() > SHOWN_REFUSALS {
        output.remark(format_args!("… and {} more", count((report.refused.len() - SHOWN_REFUSALS) as u64)));
    }
    output.result(&report, |out| {
        let (docs, segments) = (plural(report.num_docs, "document"), plural(u64::from(report.num_segments), "segment"));
        writeln!(out, "{docs} in {segments}, {}, {}", bytes(report.bytes), millis(report.took))?;
        if report.refused.is_empty() {
            Ok(())
        } else {
            writeln!(out, "{} left out", count(report.refused.len() as u64))
        }
    })?;
    Ok(if nothing_fits { Verdict::Problems } else { Verdict::Fine })
}

/// Turns the first refusal into a failure before the engine sees the batch.
fn strict(
    batches: impl Iterator<Item = Result<DocumentBatch>>,
    schema: Schema,
) -> impl Iterator<Item = Result<DocumentBatch>> {
    let mut rows = 0;
    batches.map(move |batch| {
        let batch = batch?;
        for document in batch.clone().into_documents(&schema)? {
            if let Err(refusal) = document {
                let field = refusal.field.map_or(String::new(), |field| format!(", field {field}"));
                let context = format!("document {}{field}: {}", rows + refusal.row + 1, refusal.reason);
                return Err(Error::new(ErrorKind::InvalidDocument, context));
            }
        }
        rows += batch.len() as u64;
        Ok(batch)
    })
}

fn read_schema(path: &std::path::Path) -> Result<Schema> {
    let mut text = String::new();
    let failed = |error: std::io::Error| Error::with_source(ErrorKind::Io, path.display().to_string(), error);
    open_file(path)?.read_to_string(&mut text).map_err(failed)?;
    let bad = |error| Error::with_source(ErrorKind::InvalidArgument, path.display().to_string(), error);
    Schema::from_json(&serde_json::from_str(&text).map_err(bad)?).map_err(|error| error.at(path.display()))
}

/// The schema with the field of the vectors: added if missing, replaced if it was inferred.
fn with_field(schema: Schema, field: Option<Field>, inferred: bool) -> Result<Schema> {
    let Some(field) = field else { return Ok(schema) };
    let known = schema.find(&field.name).map(|(_, known)| known.kind.clone());
    match known {
        Some(FieldKind::Vector(VectorOptions { dims, .. })) if !inferred => {
            let wanted = match field.kind {
                FieldKind::Vector(ref vector) => vector.dims,
                _ => dims,
            };
            if dims != wanted {
                let name = &field.name;
                return Err(Error::invalid(format!("field {name:?} has {dims} dimensions, its vectors {wanted}")));
            }
            Ok(schema)
        }
        Some(kind) if !inferred => {
            Err(Error::invalid(format!("field {:?} is {} in the schema, not a vector", field.name, kind.name())))
        }
        _ => {
            let others = schema.fields().skip(1).map(|(_, other)| other).filter(|other| other.name != field.name);
            Ok(Schema::new(others.cloned().collect::<Vec<_>>().into_iter().chain([field])))
        }
    }
}

#[cfg(test)]
mod tests {
    use rangefind::schema::Metric;

    use super::*;

    fn vectors(dims: u32) -> Option<Field> {
        let kind = FieldKind::Vector(VectorOptions::new(dims, Metric::Dot));
        Some(Field { name: "embedding".to_owned(), kind })
    }

    #[test]
    fn the_vector_field_is_added_or_must_agree() {
        let read = |text: &str| Schema::from_json(&serde_json::from_str(text).unwrap()).unwrap();
        let plain = with_field(read(r#"{"title":"text"}"#), vectors(3), false).unwrap();
        assert!(matches!(plain.find("embedding").unwrap().1.kind, FieldKind::Vector(_)));
        let same = read(r#"{"embedding":{"type":"vector","dims":3}}"#);
        assert_eq!(with_field(same.clone(), vectors(3), false).unwrap(), same);
        assert!(with_field(same, vectors(4), false).is_err());
        assert!(with_field(read(r#"{"embedding":"text"}"#), vectors(3), false).is_err());
    }
}
