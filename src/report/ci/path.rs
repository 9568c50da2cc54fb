//! Paths as a CI system wants them: relative to the repository, whatever was typed.
use crate::manifest::source::SourceName;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

/// Where paths start; both absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// What relative paths on the command line are relative to.
    pub current: PathBuf,
    /// What paths in a report are relative to: the repository's.
    pub root: PathBuf,
}

impl Folders {
    /// A source's path from the root, `/` between its parts; absolute where it lies elsewhere. Absent for standard input.
    pub(super) fn relative(&self, source: &SourceName) -> Option<String> {
        let path = without_dots(&self.current.join(source.path()?));
        let path = path.strip_prefix(without_dots(&self.root)).map(Path::to_owned).unwrap_or(path);
        let parts = path.components().filter_map(|component| match component {
            Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
            _ => None,
        });
        let joined = parts.collect::<Vec<_>>().join("/");
        Some(if path.is_absolute() { format!("/{joined}") } else { joined })
    }
}

/// The path without `.` and `..`, as it is written: the file system is not asked.
fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut done, component| {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(done.pop()),
            other => done.push(other),
        }
        done
    })
}

/// A path as a URI reference: relative, or with the scheme `file` where it is absolute.
pub(super) fn uri(path: &str) -> String {
    let mut out = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relative(path: &str) -> Option<String> {
        let folders = Folders { current: "/repo/sub".into(), root: "/repo".into() };
        folders.relative(&SourceName::Path(path.into()))
    }

    #[test]
    fn paths_start_at_the_root() {
        assert_eq!(relative("run.jsonl").as_deref(), Some("sub/run.jsonl"));
        assert_eq!(relative("./a/../run.jsonl").as_deref(), Some("sub/run.jsonl"));
        assert_eq!(relative("../run.jsonl").as_deref(), Some("run.jsonl"));
        assert_eq!(relative("/repo/x/run.jsonl").as_deref(), Some("x/run.jsonl"));
        assert_eq!(relative("/elsewhere/run.jsonl").as_deref(), Some("/elsewhere/run.jsonl"));
        assert_eq!(relative("/repository/run.jsonl").as_deref(), Some("/repository/run.jsonl"), "no part of a name");
        let folders = Folders { current: "/repo".into(), root: "/repo".into() };
        assert_eq!(folders.relative(&SourceName::StandardInput), None);
    }

    #[test]
    fn a_uri_holds_no_other_characters() {
        assert_eq!(uri("a b/ä%:.jsonl"), "a%20b/%C3%A4%25%3A.jsonl");
        assert_eq!(uri("/x/run.jsonl"), "file:///x/run.jsonl");
    }
}
