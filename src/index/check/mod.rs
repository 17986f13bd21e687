//! Verification of a whole index: every byte against its checksum ([`file`]), every structure against its
//! invariants ([`structures`]), and the documents of all segments against each other.

mod cells;
mod file;
mod postings;
mod structures;

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{
    gc,
    opener::{Opener, parse_schema, read_whole},
    report::{CheckReport, OnProgress, Phase, Problem, Progress},
    slot::{Commit, SegmentEntry, SegmentHome, tombstones_file_name},
    tombstones,
};
use crate::{
    bitset::BitSet,
    error::{Error, ErrorKind, Result},
    ids::{FieldOrd, SegmentId},
    platform::{Cancel, now_millis, yield_now},
    schema::Schema,
    segment::{OpenSegment, SectionKind, live_file_len, live_file_name, parse_live},
    storage::{Access, OpenOptions, Storage},
};

/// How long the walk computes before it gives way to the event loop and looks at the cancel flag.
const TURN_MILLIS: f64 = 8.0;

/// Walks the newest commit of an index, base included.
///
/// # Errors
/// `aborted` alone: whatever else goes wrong is in the report.
pub async fn check<S: Storage>(opener: &Opener<S>, progress: &dyn OnProgress, cancel: &Cancel) -> Result<CheckReport> {
    let mut walk = Walk::new(progress, cancel);
    match opener.read_slots().await {
        Ok(found) => {
            if let Some(error) = &found.own.damaged {
                walk.report.leftovers.push(format!("interrupted commit: {error}"));
            }
            let commit = found.own.newest.unwrap_or_else(|| Commit::before_the_first([0; 16]));
            walk.index(opener, &commit, found.base.as_ref(), found.own.previous.as_ref()).await?;
        }
        Err(error) => walk.problem("commit-a.rf, commit-b.rf", None, None, &error),
    }
    let mut report = walk.report;
    report.ok = report.problems.is_empty();
    Ok(report)
}

/// Hash of an id term: two that agree are taken for equal.
fn hash(term: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    term.hash(&mut hasher);
    hasher.finish()
}

/// A verification under way.
struct Walk<'a> {
    progress: &'a dyn OnProgress,
    cancel: &'a Cancel,
    last_turn: f64,
    total: u64,
    report: CheckReport,
    /// Names of the fields, for messages.
    schema: Schema,
    /// Sections of the current segment whose checksums are wrong: what else is wrong in them is no news.
    damaged: HashSet<(SectionKind, FieldOrd)>,
    /// Live ids of the index, by hash, and the segment that has them.
    ids: HashMap<u64, SegmentId>,
    /// Ids hidden in the base, by hash.
    hidden: HashSet<u64>,
    /// Whether the current segment is one that the base got since: no overlay hides anything in it yet.
    hides_by_id: bool,
}

impl<'a> Walk<'a> {
    fn new(progress: &'a dyn OnProgress, cancel: &'a Cancel) -> Self {
        Self {
            progress,
            cancel,
            last_turn: now_millis(),
            total: 0,
            report: CheckReport::default(),
            schema: Schema::default(),
            damaged: HashSet::new(),
            ids: HashMap::new(),
            hidden: HashSet::new(),
            hides_by_id: false,
        }
    }

    fn problem(&mut self, file: &str, section: Option<String>, offset: Option<u64>, error: &Error) {
        if self.report.problems.len() < CheckReport::MAX_PROBLEMS {
            let (code, message) = (error.kind().code().to_owned(), error.to_string());
            self.report.problems.push(Problem { file: file.to_owned(), section, offset, code, message });
        }
    }

    /// Notes that a structure is wrong, unless its checksums are too.
    fn structure_problem(&mut self, segment: SegmentId, kind: SectionKind, field: FieldOrd, error: &Error) {
        if error.kind() != ErrorKind::Corrupt || !self.damaged.contains(&(kind, field)) {
            let section = self.section_name(kind, field);
            self.problem(&segment.file_name(), Some(section), None, error);
        }
    }

    fn section_name(&self, kind: SectionKind, field: FieldOrd) -> String {
        match self.schema.field(field) {
            Some(known) if kind.is_per_field() => format!("{kind} of {}", known.name),
            _ if kind.is_per_field() => format!("{kind} of field {}", field.0),
            _ => kind.to_string(),
        }
    }

    /// Counts bytes, gives way, and stops if asked to.
    async fn turn(&mut self, bytes: u64) -> Result<()> {
        self.report.bytes += bytes;
        self.cancel.check()?;
        if now_millis() - self.last_turn >= TURN_MILLIS {
            let (done, total) = (self.report.bytes.min(self.total), self.total);
            self.progress.report(Progress { phase: Phase::Check, done, total });
            yield_now().await;
            self.last_turn = now_millis();
        }
        self.cancel.check()
    }

    async fn index<S: Storage>(
        &mut self,
        opener: &Opener<S>,
        commit: &Commit,
        base: Option<&Commit>,
        previous: Option<&Commit>,
    ) -> Result<()> {
        self.report.generation = commit.generation;
        match parse_schema(if commit.schema.is_empty() { base.map_or("", |base| &base.schema) } else { &commit.schema })
        {
            Ok(schema) => self.schema = schema.unwrap_or_default(),
            Err(error) => self.problem(commit.slot().file_name(), None, None, &error),
        }
        let own = commit.segments.iter().filter(|entry| entry.home == SegmentHome::Own);
        let of_base = base.iter().flat_map(|base| &base.segments);
        let all: Vec<(&SegmentEntry, bool)> =
            of_base.map(|entry| (entry, true)).chain(own.map(|entry| (entry, false))).collect();
        // Everything is read twice: once for checksums, once for structures.
        self.total = all.iter().filter_map(|(entry, _)| entry.toc.as_ref()).map(|toc| 2 * toc.file_len).sum();
        if let Some(reference) = commit.base.as_ref().filter(|base| base.tombstones != 0) {
            let name = tombstones_file_name(reference.tombstones);
            let read = read_whole(&opener.own, &name, reference.tombstones_len).await;
            match read.and_then(|bytes| tombstones::parse(&bytes, &name)) {
                Ok(terms) => self.hidden.extend(terms.iter().map(|term| hash(term))),
                Err(error) => self.problem(&name, None, None, &error),
            }
        }
        for (entry, is_base) in all {
            self.hides_by_id = false;
            let storage = if is_base { opener.base.as_ref().unwrap_or(&opener.own) } else { &opener.own };
            let mut live = self.overlay(storage, entry, entry.overlay).await?;
            if is_base {
                let mine = commit.segments.iter().find(|mine| mine.id == entry.id);
                self.hides_by_id = mine.is_none();
                let hidden = self.overlay(&opener.own, entry, mine.map_or(0, |mine| mine.overlay)).await?;
                live = match (live, hidden) {
                    (Some(mut live), Some(hidden)) => {
                        live.and(&hidden);
                        Some(live)
                    }
                    (live, hidden) => live.or(hidden),
                };
            } else {
                let num_docs = live.as_ref().map_or(entry.max_doc, BitSet::count);
                if num_docs != entry.num_docs {
                    let what = format!("{num_docs} live documents, the commit says {}", entry.num_docs);
                    self.problem(&entry.id.file_name(), None, None, &Error::new(ErrorKind::Corrupt, what));
                }
            }
            self.segment(storage, entry, live).await?;
        }
        // A storage that cannot list has no leftovers to speak of.
        if let Ok(entries) = opener.own.list().await {
            let names: Vec<String> = entries.into_iter().map(|entry| entry.name).collect();
            let known: Vec<&Commit> = std::iter::once(commit).chain(previous).collect();
            self.report.leftovers.extend(gc::leftovers(&names, &known));
        }
        Ok(())
    }

    async fn overlay<S: Storage>(&mut self, storage: &S, entry: &SegmentEntry, number: u64) -> Result<Option<BitSet>> {
        if number == 0 {
            return Ok(None);
        }
        let (name, len) = (live_file_name(entry.id, number), live_file_len(entry.max_doc));
        let read = read_whole(storage, &name, len).await;
        match read.and_then(|bytes| parse_live(&bytes, entry.id, number, entry.max_doc)) {
            Ok(live) => {
                self.turn(len).await?;
                Ok(Some(live))
            }
            Err(error) => {
                self.problem(&name, None, None, &error);
                Ok(None)
            }
        }
    }

    async fn segment<S: Storage>(&mut self, storage: &S, entry: &SegmentEntry, live: Option<BitSet>) -> Result<()> {
        self.report.segments += 1;
        self.report.docs += u64::from(live.as_ref().map_or(entry.max_doc, BitSet::count));
        self.damaged.clear();
        let name = entry.id.file_name();
        let Some(toc) = entry.toc.clone() else { return Ok(()) };
        let options = OpenOptions { access: Access::CHECK, len: Some(toc.file_len) };
        let file = match storage.open(&name, options).await {
            Ok(file) => file,
            Err(error) => {
                self.problem(&name, None, None, &error);
                return Ok(());
            }
        };
        self.file(&file, &toc).await?;
        match OpenSegment::open_raw(file, toc).await {
            Ok(segment) => self.structures(&segment, live.as_ref()).await,
            Err(error) => {
                // A damaged pinned section is on the list already.
                if !self.damaged.iter().any(|(kind, _)| kind.is_pinned()) {
                    self.problem(&name, None, None, &error);
                }
                Ok(())
            }
        }
    }
}
