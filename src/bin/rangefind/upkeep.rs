//! `rangefind merge`, `check` and `info`.

use rangefind::{
    engine::{self, Cancel, Index, MergeOptions, OpenMode, OpenOptions},
    error::{Error, Result},
    storage::AnyStorage,
};

use super::{
    Failure, Outcome, Verdict,
    args::{MergeArgs, PlaceArgs},
    as_usage,
    leftovers::Before,
    output::{Bar, Output, bytes, count, millis, plural},
    place,
};

/// Merges in place, or several indexes into a new one.
pub async fn merge(args: MergeArgs, output: Output) -> Outcome {
    let options = MergeOptions {
        max_segments: Some(args.max_segments),
        memory_bytes: args.memory,
        codec: args.codec.map(Into::into),
        reorder: args.reorder,
    };
    let cancel = Cancel::new();
    let bar = Bar::new(output, None, None);
    let report = match (&args.out, &args.places[..]) {
        (None, [place]) if place::is_url(place) => {
            let error = Error::new(rangefind::ErrorKind::ReadOnly, "an index behind a URL is merged into --out DIR");
            return Err(Failure::Usage(error));
        }
        (None, [place]) => {
            let open =
                OpenOptions { mode: OpenMode::Open, auto_merge: false, grace_millis: 0, ..OpenOptions::default() };
            let index = Index::open(place::storage(place)?, open).await?;
            let merged = index.merge(options, &|progress| bar.report(progress), &cancel).await;
            let closed = index.close().await;
            bar.finish();
            let report = merged?;
            closed?;
            report
        }
        (None, _) => return Err(Failure::Usage(Error::invalid("merging several indexes needs --out DIR"))),
        (Some(out), places) => {
            let sources: Vec<AnyStorage> = places.iter().map(|place| place::storage(place)).collect::<Result<_>>()?;
            let target = place::new_storage(out).map_err(as_usage)?;
            let before = Before::look(out);
            let merged = engine::merge(&sources, target, options, &|progress| bar.report(progress), &cancel).await;
            bar.finish();
            match merged {
                Ok(report) => report,
                Err(error) => {
                    before.restore(output).await;
                    return Err(error.into());
                }
            }
        }
    };
    output.result(&report, |out| {
        if report.merged_segments == 0 {
            return writeln!(out, "nothing to merge: {}", plural(u64::from(report.num_segments), "segment"));
        }
        let segments = plural(u64::from(report.merged_segments), "segment");
        writeln!(out, "{segments} merged, {} now, {}", count(u64::from(report.num_segments)), millis(report.took))?;
        let (kept, dropped) = (plural(report.docs, "document"), count(report.dropped_docs));
        writeln!(out, "{kept} kept, {dropped} deleted ones dropped, {} written", bytes(report.bytes_written))
    })?;
    Ok(Verdict::Fine)
}

/// Verifies every byte.
pub async fn check(args: PlaceArgs, output: Output) -> Outcome {
    let storage = place::storage(&args.place)?;
    let bar = Bar::new(output, None, None);
    // Not by opening it: an index that does not open is what a check is for.
    let checked = engine::check(storage, &|progress| bar.report(progress), &Cancel::new()).await;
    bar.finish();
    let report = checked?;
    output.result(&report, |out| {
        for problem in &report.problems {
            let section = problem.section.as_ref().map_or(String::new(), |section| format!(", {section}"));
            let offset = problem.offset.map_or(String::new(), |offset| format!(", byte {offset}"));
            writeln!(out, "{}{section}{offset}: {} [{}]", problem.file, problem.message, problem.code)?;
        }
        if !report.leftovers.is_empty() {
            writeln!(out, "leftovers, harmless: {}", report.leftovers.join(" "))?;
        }
        let segments = plural(u64::from(report.segments), "segment");
        let verdict = if report.ok { "sound".to_owned() } else { plural(report.problems.len() as u64, "problem") };
        writeln!(out, "{verdict}: {} in {segments}, {} read", plural(report.docs, "document"), bytes(report.bytes))
    })?;
    Ok(if report.ok { Verdict::Fine } else { Verdict::Problems })
}

/// Describes an index.
pub async fn info(args: PlaceArgs, output: Output) -> Outcome {
    let index = place::open(&args.place).await?;
    let info = index.info()?;
    index.close().await?;
    output.result(&info, |out| {
        writeln!(out, "{}", info.storage)?;
        let (docs, deleted) = (plural(info.num_docs, "document"), count(info.num_deleted));
        let (size, codec) = (bytes(info.bytes), info.codec.name());
        writeln!(out, "{docs}, {deleted} deleted, {size}, generation {}, codec {codec}", info.generation)?;
        writeln!(out, "{} of metadata in memory while it is open", bytes(info.pinned_bytes))?;
        writeln!(out, "\n{:<24} {:<8} {:>10}", "field", "kind", "bytes")?;
        for field in &info.fields {
            writeln!(out, "{:<24} {:<8} {:>10}", field.name, field.kind, bytes(field.bytes))?;
        }
        writeln!(out, "\n{:<32} {:>12} {:>10} {:>10}", "segment", "documents", "deleted", "bytes")?;
        for segment in &info.segments {
            let (docs, deleted) = (count(u64::from(segment.num_docs)), count(u64::from(segment.num_deleted)));
            writeln!(out, "{:<32} {docs:>12} {deleted:>10} {:>10}", segment.id, bytes(segment.bytes))?;
        }
        Ok(())
    })?;
    Ok(Verdict::Fine)
}
