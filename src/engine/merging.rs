//! Merges of an open index: rounds of choosing, merging outside the writer, publishing.

use std::collections::HashSet;

use crate::{
    engine::{Index, MergeOptions},
    error::{Error, ErrorKind, Result},
    ids::SegmentId,
    index::{
        MergeReport, OnProgress, Phase, Progress,
        merge::{Candidate, MergeLimits, TieredPolicy, merge_reordered, merge_segments, reorder_needed_bytes},
        no_progress,
    },
    platform::{Cancel, now_millis},
    schema::Schema,
    storage::Storage,
};

/// What a round merges.
enum Goal {
    /// Towards `count` segments without deletions, among those that were there at the start and what they
    /// became (`made`): commits meanwhile must not make a merge endless.
    Force { count: usize, among: HashSet<SegmentId>, made: HashSet<SegmentId>, reorder: bool },
    /// What the tiered policy finds due.
    Policy,
}

impl<S: Storage> Index<S> {
    /// Commits and merges; see [`Index::merge`].
    pub(super) async fn run_merges(
        &self,
        options: MergeOptions,
        progress: &dyn OnProgress,
        cancel: &Cancel,
    ) -> Result<MergeReport> {
        let started = now_millis();
        let _turn = self.0.merge_turn.lock().await;
        cancel.check()?;
        if let Some(codec) = options.codec {
            self.0.writer().await?.get().set_codec(codec);
        }
        self.commit_only().await?;
        let mut goal = match options.max_segments {
            Some(count) => {
                let candidates = self.0.writer().await?.get().merge_candidates();
                let among = candidates.into_iter().map(|(id, ..)| id).collect();
                let (count, made) = (count.max(1) as usize, HashSet::new());
                Goal::Force { count, among, made, reorder: options.reorder }
            }
            None => Goal::Policy,
        };
        let mut report = MergeReport::default();
        while self.merge_round(&mut goal, options, progress, cancel, &mut report).await? {}
        report.num_segments = self.0.snapshot().segments().len() as u32;
        report.took = now_millis() - started;
        Ok(report)
    }

    /// What a commit does afterwards: merges that are due, unless a merge is under way.
    pub(super) async fn auto_merge(&self) -> Result<()> {
        let Some(_turn) = self.0.merge_turn.try_lock() else { return Ok(()) };
        let options = MergeOptions { memory_bytes: self.0.options.memory_bytes, ..MergeOptions::default() };
        let mut report = MergeReport::default();
        while self.merge_round(&mut Goal::Policy, options, &no_progress, &Cancel::new(), &mut report).await? {}
        Ok(())
    }

    /// One merge; false if none is due.
    async fn merge_round(
        &self,
        goal: &mut Goal,
        options: MergeOptions,
        progress: &dyn OnProgress,
        cancel: &Cancel,
        report: &mut MergeReport,
    ) -> Result<bool> {
        let memory_bytes = options.memory_bytes;
        let mut writer = self.0.writer().await?;
        let candidates = writer.get().merge_candidates();
        let picked = pick(goal, &candidates, writer.get().snapshot().schema(), memory_bytes)?;
        if picked.is_empty() {
            return Ok(false);
        }
        let task = writer.get().begin_merge(&picked)?;
        drop(writer);
        let sources = task.open_sources().await?;
        let limits = MergeLimits { memory_bytes, codec: task.codec };
        let own = &self.0.opener.own;
        let merged = if options.reorder {
            merge_reordered(own, task.id, &task.schema, sources, limits, progress, cancel).await?
        } else {
            merge_segments(own, task.id, &task.schema, sources, limits, progress, cancel).await?
        };
        let (num_sources, dropped, total) = (task.num_sources(), task.dropped_docs(), merged.toc.file_len);
        progress.report(Progress { phase: Phase::Commit, done: 0, total });
        let mut writer = match self.0.writer().await {
            Ok(writer) => writer,
            Err(error) => {
                let _ = own.delete(&task.id.file_name()).await;
                return Err(error);
            }
        };
        if let Goal::Force { made, .. } = goal {
            made.insert(task.id);
        }
        let finished = writer.get().finish_merge(task, &merged).await;
        writer.show();
        finished?;
        writer.get().collect_garbage().await;
        progress.report(Progress { phase: Phase::Commit, done: total, total });
        report.merged_segments += num_sources as u32;
        report.new_segments += 1;
        report.docs += u64::from(merged.docs.num_docs());
        report.dropped_docs += dropped;
        report.bytes_read += merged.bytes_read;
        report.bytes_written += merged.toc.file_len;
        report.peak_memory_bytes = report.peak_memory_bytes.max(merged.peak_memory_bytes);
        Ok(true)
    }
}

/// The segments to merge next that fit the budget together; empty if nothing is due.
///
/// # Errors
/// `over_budget` if a forced merge cannot be done even with the two smallest of them.
fn pick(
    goal: &Goal,
    candidates: &[(SegmentId, Candidate, u64)],
    schema: &Schema,
    memory_bytes: u64,
) -> Result<Vec<SegmentId>> {
    let is_meant = |id: &SegmentId| match goal {
        Goal::Force { among, made, .. } => among.contains(id) || made.contains(id),
        Goal::Policy => true,
    };
    let candidates: Vec<_> = candidates.iter().filter(|(id, ..)| is_meant(id)).copied().collect();
    let segments: Vec<Candidate> = candidates.iter().map(|(_, candidate, _)| *candidate).collect();
    let mut picked = match goal {
        Goal::Force { count, .. } => TieredPolicy::pick_forced(&segments, *count, segments.len()),
        Goal::Policy => TieredPolicy::default().pick(&segments),
    };
    if let (Goal::Force { made, .. }, [one]) = (goal, picked.as_slice())
        && made.contains(&candidates[*one].0)
    {
        // It is alone for its deletions, which came while it was made: they wait for another merge.
        let is_due = |ix: &usize| !made.contains(&candidates[*ix].0) && segments[*ix].num_docs < segments[*ix].max_doc;
        picked = (0..segments.len()).find(is_due).map(|ix| vec![ix]).unwrap_or_default();
    }
    let mut is_reordered = false;
    if let Goal::Force { made, reorder: true, .. } = goal {
        is_reordered = true;
        if picked.is_empty() {
            // What was there alone is put in order too.
            picked = (0..segments.len())
                .find(|&ix| !made.contains(&candidates[ix].0))
                .map(|ix| vec![ix])
                .unwrap_or_default();
        }
    }
    let needed = |picked: &[usize]| {
        let docs = picked.iter().map(|&ix| u64::from(candidates[ix].1.max_doc)).sum();
        let order = if is_reordered { reorder_needed_bytes(docs) } else { 0 };
        let sizes: Vec<_> = picked.iter().map(|&ix| (candidates[ix].1.max_doc, candidates[ix].2)).collect();
        MergeLimits::needed_bytes(schema, &sizes) + order
    };
    // More rounds, never a larger allocation: the largest sources wait.
    let least = picked.len().min(2);
    while picked.len() > least && needed(&picked) > memory_bytes {
        let largest = (0..picked.len()).max_by_key(|&at| candidates[picked[at]].1.bytes).unwrap_or(0);
        picked.remove(largest);
    }
    if needed(&picked) > memory_bytes && !picked.is_empty() {
        if matches!(goal, Goal::Policy) {
            return Ok(Vec::new());
        }
        let what =
            format!("the smallest merge needs {} bytes of memory, the budget is {memory_bytes}", needed(&picked));
        return Err(Error::new(ErrorKind::OverBudget, what));
    }
    Ok(picked.into_iter().map(|ix| candidates[ix].0).collect())
}
