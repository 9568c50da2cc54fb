//! Showing what was found, and what may have been meant.

/// Characters of a quotation.
const QUOTED: usize = 64;

/// A text between backticks, cut where it is long.
pub(crate) fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        None => format!("`{text}`"),
        Some((end, _)) => format!("`{}…`", &text[..end]),
    }
}

/// `; did you mean …?` where one of the words is near.
pub(super) fn suggestion<'w>(found: &str, words: impl Iterator<Item = &'w str>) -> String {
    let near = words.map(|word| (distance(found, word), word)).filter(|(distance, word)| distance * 3 <= word.len());
    match near.min() {
        Some((_, word)) => format!("; did you mean `{word}`?"),
        None => String::new(),
    }
}

/// The word that is near, or else all that are possible.
pub(super) fn suggestion_or_all<'w>(found: &str, words: impl Iterator<Item = &'w str> + Clone) -> String {
    let near = suggestion(found, words.clone());
    if !near.is_empty() {
        return near;
    }
    let all: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    format!(", where one of {} is expected", all.join(", "))
}

/// The number of characters to insert, delete or replace (Levenshtein), of texts that are short.
fn distance(a: &str, b: &str) -> usize {
    if a.len().abs_diff(b.len()) > QUOTED {
        return usize::MAX / 4;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_words_are_suggested() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(suggestion("windw", ["window", "microbatch"].into_iter()), "; did you mean `window`?");
        assert_eq!(suggestion("prompt", ["window", "rank"].into_iter()), "");
        assert_eq!(quote(&"é".repeat(65)), format!("`{}…`", "é".repeat(64)));
    }
}
