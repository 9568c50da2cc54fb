//! The data of one forward and backward pass: rows of tokens with a target for each position.

use std::sync::Arc;

use crate::autograd::rows::Rows;

/// Token that fills a row on the right; its positions have no target.
pub const PAD: u32 = 256;
/// Token that begins every row.
pub const BEGIN: u32 = 257;

/// What a microbatch is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partition {
    /// Its gradient may change the parameters.
    #[default]
    Training,
    /// It only measures.
    Evaluation,
}

/// Rows of token ids, each position with the token that follows or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Microbatch {
    pub(super) ids: Arc<[u32]>,
    pub(super) targets: Arc<[Option<u32>]>,
    pub(super) rows: Arc<Rows>,
    partition: Partition,
}

/// Ids and targets that do not belong together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{ids} ids and {targets} targets in rows of {positions} positions")]
pub struct Mismatched {
    /// Number of ids.
    pub ids: usize,
    /// Number of targets.
    pub targets: usize,
    /// Positions in all rows.
    pub positions: usize,
}

impl Microbatch {
    /// Positions in rows of any lengths, each with its id and target; `None` is the ignore index.
    ///
    /// # Errors
    /// [`Mismatched`] where the numbers differ.
    pub fn new(ids: Vec<u32>, targets: Vec<Option<u32>>, rows: Rows) -> Result<Self, Mismatched> {
        let positions = rows.positions();
        if ids.len() != positions || targets.len() != positions {
            return Err(Mismatched { ids: ids.len(), targets: targets.len(), positions });
        }
        let (ids, targets, rows) = (ids.into(), targets.into(), Arc::new(rows));
        Ok(Self { ids, targets, rows, partition: Partition::Training })
    }

    /// Texts as a grid: [`BEGIN`] and then each text's bytes, inputs all but the last token, targets all but the
    /// first, padded on the right to the longest. A text of p bytes has p targets.
    #[must_use]
    pub fn of_texts(texts: &[impl AsRef<[u8]>]) -> Self {
        let longest = texts.iter().map(|text| text.as_ref().len()).max().unwrap_or(0);
        let (mut ids, mut targets) = (Vec::new(), Vec::new());
        for text in texts {
            let bytes = text.as_ref().iter().map(|&byte| u32::from(byte));
            let inputs = std::iter::once(BEGIN).chain(bytes.clone()).take(bytes.len());
            ids.extend(inputs.chain(std::iter::repeat(PAD)).take(longest));
            targets.extend(bytes.map(Some).chain(std::iter::repeat(None)).take(longest));
        }
        let (ids, targets, rows) = (ids.into(), targets.into(), Arc::new(Rows::grid(texts.len(), longest)));
        Self { ids, targets, rows, partition: Partition::Training }
    }

    /// Rows that hold several documents each, one after the other: every document is [`BEGIN`] and its bytes. Of a row's
    /// tokens all but the last are inputs, and a position's target is the next token of the *same* document: the last of a
    /// document has none, and none is [`BEGIN`]. Attention and rotary positions begin anew with each document (a
    /// block-diagonal causal mask), so that the context limits documents, not rows. Rows are padded on the right to the
    /// longest. A document of p bytes has p targets, as in [`Self::of_texts`], and the same gradient.
    #[must_use]
    pub fn of_packed<T: AsRef<[u8]>>(rows: &[Vec<T>]) -> Self {
        let tokens = |row: &Vec<T>| row.iter().map(|document| document.as_ref().len() + 1).sum::<usize>();
        let longest = rows.iter().map(|row| tokens(row).saturating_sub(1)).max().unwrap_or(0);
        let (mut ids, mut targets, mut lengths) = (vec![], vec![], vec![]);
        for row in rows {
            let start = ids.len();
            for (index, document) in row.iter().enumerate() {
                let bytes = document.as_ref().iter().map(|&byte| u32::from(byte));
                // The row's last token is nobody's input.
                let inputs = bytes.len() + usize::from(index + 1 < row.len());
                ids.extend(std::iter::once(BEGIN).chain(bytes.clone()).take(inputs));
                targets.extend(bytes.map(Some).chain(std::iter::once(None)).take(inputs));
                lengths.push(inputs);
            }
            let padding = start + longest - ids.len();
            lengths.extend(std::iter::repeat_n(1, padding));
            ids.resize(start + longest, PAD);
            targets.resize(start + longest, None);
        }
        let (ids, targets, rows) = (ids.into(), targets.into(), Arc::new(Rows::packed(&lengths)));
        Self { ids, targets, rows, partition: Partition::Training }
    }

    /// The same for another purpose.
    #[must_use]
    pub fn in_partition(self, partition: Partition) -> Self {
        Self { partition, ..self }
    }

    /// What it is for.
    #[must_use]
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// Token ids, row after row.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The target of each position.
    #[must_use]
    pub fn targets(&self) -> &[Option<u32>] {
        &self.targets
    }

    /// How the positions are divided.
    #[must_use]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Positions that have a target: n.
    #[must_use]
    pub fn valid_targets(&self) -> u64 {
        self.targets.iter().flatten().count() as u64
    }

    /// `[rows, length of the longest]`.
    #[must_use]
    pub fn grid(&self) -> [usize; 2] {
        [self.rows.count(), self.rows.longest()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shifted_and_padded() {
        let microbatch = Microbatch::of_texts(&["hi", "loss"]);
        assert_eq!(microbatch.ids(), [257, 104, 256, 256, 257, 108, 111, 115]);
        let targets = [Some(104), Some(105), None, None, Some(108), Some(111), Some(115), Some(115)];
        assert_eq!(microbatch.targets(), targets);
        assert_eq!((microbatch.grid(), microbatch.valid_targets()), ([2, 4], 6));
    }

    #[test]
    fn packed_documents_are_kept_apart() {
        let microbatch = Microbatch::of_packed(&[vec!["hi", "a"], vec!["b"]]);
        assert_eq!(microbatch.ids(), [257, 104, 105, 257, 257, 256, 256, 256]);
        let targets = [Some(104), Some(105), None, Some(97), Some(98), None, None, None];
        assert_eq!(microbatch.targets(), targets);
        assert_eq!(microbatch.rows().iter().collect::<Vec<_>>(), [0..3, 3..4, 4..5, 5..6, 6..7, 7..8]);
        assert_eq!(microbatch.valid_targets(), 4);
        assert_eq!(Microbatch::of_packed::<&str>(&[vec![]]).valid_targets(), 0);
    }

    #[test]
    fn numbers_must_agree() {
        let wrong = Microbatch::new(vec![1, 2], vec![None], Rows::grid(1, 2));
        assert_eq!(wrong, Err(Mismatched { ids: 2, targets: 1, positions: 2 }));
    }
}
