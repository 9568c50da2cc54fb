//! Which kind of document a file is, by its first bytes: for telling who named the wrong one.
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Bytes looked at.
const START: u64 = 4096;

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A rank manifest or a microbatch manifest.
    Manifest,
    /// A receipt.
    Receipt,
}

/// The kind of a regular file; absent where its start does not say.
pub(crate) fn of(path: &Path) -> Option<Kind> {
    // Opening a pipe would take away what is to be read later.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut start = Vec::new();
    File::open(path).ok()?.take(START).read_to_end(&mut start).ok()?;
    of_start(&String::from_utf8_lossy(&start))
}

/// A canonical receipt's first key is `carried`; a manifest names its schema.
fn of_start(start: &str) -> Option<Kind> {
    let first_key = start.trim_start().strip_prefix('{')?.trim_start();
    if first_key.starts_with("\"carried\"") {
        return Some(Kind::Receipt);
    }
    let names = |schema: &str| start.contains(&format!("\"accumulation/{schema}/"));
    (names("microbatch-manifest") || names("rank-manifest")).then_some(Kind::Manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_known_by_its_start() {
        assert_eq!(of_start("{\"carried\":null,"), Some(Kind::Receipt));
        assert_eq!(of_start(" {\"schema\": \"accumulation/rank-manifest/1\""), Some(Kind::Manifest));
        assert_eq!(of_start("{\"schema\":\"accumulation/microbatch-manifest/1\"}\n{"), Some(Kind::Manifest));
        assert_eq!(of_start("{\"schema\":\"other\"}"), None);
        assert_eq!(of_start("\"accumulation/rank-manifest/1\""), None);
    }
}
