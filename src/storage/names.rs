//! Names of files: one flat set of characters that every backend can hold.

#![forbid(unsafe_code)]

use crate::error::{Error, Result};

/// Longest name, bytes.
pub const MAX_NAME_LEN: usize = 128;

/// Accepts `[A-Za-z0-9._-]{1,128}` that does not begin with a dot, so that no name leaves its directory and
/// none is hidden.
///
/// # Errors
/// `invalid_argument` for any other name.
pub fn check_name(name: &str) -> Result<()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if name.is_empty() || name.len() > MAX_NAME_LEN || name.starts_with('.') || !name.bytes().all(allowed) {
        return Err(Error::invalid(format!(
            "file name {name:?}: expected 1 to {MAX_NAME_LEN} of A-Z a-z 0-9 . _ - without a leading dot"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_flat_names_only() {
        for good in ["a", "commit-a.rf", "3f_0.seg", &"x".repeat(MAX_NAME_LEN)] {
            check_name(good).expect(good);
        }
        for bad in ["", ".", "..", ".hidden", "a/b", "a\\b", "ä", "a b", "a\0", &"x".repeat(MAX_NAME_LEN + 1)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }
}
