//! References may name nothing but what lies below the rank manifest's folder.

/// Refuses a path that could lead elsewhere on some system; symbolic links are the opener's to follow.
///
/// # Errors
///
/// Why it is refused, to be read after the path.
pub fn check(path: &str) -> Result<(), &'static str> {
    let bytes = path.as_bytes();
    if path.is_empty() {
        Err("is empty")
    } else if bytes.contains(&0) {
        Err("contains a NUL")
    } else if bytes.contains(&b'\\') {
        Err("contains a backslash")
    } else if path.starts_with('/') {
        Err("is absolute")
    } else if bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' {
        Err("begins with a drive letter")
    } else if path.split('/').any(|component| component == "..") {
        Err("leaves the folder with `..`")
    } else if path.split('/').any(|component| component.is_empty() || component == ".") {
        Err("has an empty component or `.`")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn only_what_lies_below() {
        for good in ["rank-0.jsonl", "a/b/c.jsonl.zst", "..a", "a..", "ä/ö", "a b", "-"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let bad =
            ["", "/", "/etc/passwd", "..", "../a", "a/../b", "a/..", ".", "./a", "a//b", "a/", "a\\b", "C:a", "a\0"];
        for bad in bad {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
