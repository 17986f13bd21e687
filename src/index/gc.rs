//! Garbage collection: which files may go, and when.
//!
//! A file is kept while the newest commit references it, while a snapshot of this program or a running merge
//! does, and, for readers in other tabs and processes, until `grace_millis` have passed since the commit that
//! dropped it and a newer commit than that has been made. Files that no commit ever referenced are leftovers of
//! an interrupted writer: no reader can know them, and the next writer removes them at once.

use std::collections::HashSet;

use super::slot::{Commit, DroppedFile};
use crate::{error::Result, storage::Storage};

/// Length of a segment id in a file name.
const ID_LEN: usize = 32;

/// Whether a name is one that the index gives to its files. Only such files are ever removed.
pub fn is_index_file(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(number) = name.strip_prefix("base-").and_then(|rest| rest.strip_suffix(".ids")) {
        return is_number(number);
    }
    let Some((id, rest)) = name.split_at_checked(ID_LEN) else { return false };
    let is_id = id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let numbered = rest.strip_prefix('-').and_then(|rest| rest.split_once('.'));
    is_id
        && (rest == ".seg"
            || numbered.is_some_and(|(number, kind)| is_number(number) && (kind == "live" || kind == "spill")))
}

/// Number in the name of an overlay or tombstone file.
pub fn overlay_number(name: &str) -> Option<u64> {
    let (_, rest) = name.rsplit_once('-')?;
    let (number, kind) = rest.split_once('.')?;
    if kind == "live" || kind == "ids" { number.parse().ok() } else { None }
}

/// Files of an interrupted writer: those that no commit references and none dropped. For the holder of the
/// writer lock.
pub fn leftovers(names: &[String], commits: &[&Commit]) -> Vec<String> {
    let known: HashSet<String> = commits
        .iter()
        .flat_map(|commit| commit.files().chain(commit.dropped.iter().map(|file| file.name.clone())))
        .collect();
    names.iter().filter(|name| is_index_file(name) && !known.contains(*name)).cloned().collect()
}

/// What the next commit has to list as dropped: what this one does, and what it references and the next does not.
pub fn dropped_by(next: &Commit, last: &Commit, still_dropped: &[DroppedFile]) -> Vec<DroppedFile> {
    let kept: HashSet<String> = next.files().collect();
    let now = last.files().filter(|name| !kept.contains(name));
    let now = now.map(|name| DroppedFile { name, unix_millis: next.unix_millis });
    still_dropped.iter().cloned().chain(now).collect()
}

/// Removes what may go of `dropped` and returns the rest.
///
/// `previous` is the commit before the newest, whose files stay unless `grace_millis` is 0; `in_use` are names
/// that snapshots and merges of this program need. A file that cannot be removed now is tried again next time.
pub async fn collect<S: Storage>(
    storage: &S,
    dropped: Vec<DroppedFile>,
    previous: Option<&Commit>,
    in_use: &HashSet<String>,
    now_millis: u64,
    grace_millis: u64,
) -> Vec<DroppedFile> {
    let previous: HashSet<String> =
        previous.iter().filter(|_| grace_millis > 0).flat_map(|commit| commit.files()).collect();
    let mut rest = Vec::new();
    for file in dropped {
        let in_grace = now_millis < file.unix_millis.saturating_add(grace_millis);
        let stays = in_grace || in_use.contains(&file.name) || previous.contains(&file.name);
        // One at a time: removals are rare, and a backend may be busy with reads of a search.
        if stays || storage.delete(&file.name).await.is_err() {
            rest.push(file);
        }
    }
    rest
}

/// Removes `names`, all of them even if one fails.
///
/// # Errors
/// The first error.
pub async fn remove_all<S: Storage>(storage: &S, names: &[String]) -> Result<()> {
    let mut first = Ok(());
    for name in names {
        let removed = storage.delete(name).await;
        first = first.and(removed);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_index_are_its_files() {
        let id = "0123456789abcdef0123456789abcdef";
        for name in [format!("{id}.seg"), format!("{id}-7.live"), format!("{id}-0.spill"), "base-3.ids".to_owned()] {
            assert!(is_index_file(&name), "{name}");
        }
        for name in ["commit-a.rf", "notes.seg", "base-x.ids", ".writer.lock", "é123456789abcdef0123456789abcdef.seg"]
        {
            assert!(!is_index_file(name), "{name}");
        }
        assert!(!is_index_file(&format!("{id}-.live")));
        assert!(!is_index_file(&format!("{id}.live")));
        assert_eq!(overlay_number(&format!("{id}-7.live")), Some(7));
        assert_eq!(overlay_number("base-3.ids"), Some(3));
        assert_eq!(overlay_number(&format!("{id}.seg")), None);
    }
}
