//! A source's text in pieces that end where lines end.
//!
//! Invariant: memory holds one piece, and never more of a line than the limit on lines allows.
use crate::manifest::limits::LINE_BYTES;
use crate::manifest::source::stored::Broken;
use crate::manifest::source::stored::Stored;
use memchr::memchr;
use memchr::memrchr;

/// How much is read at once where a line is long.
const CHUNK: usize = 1 << 16;

/// How much is kept of a line that is too long.
const START: usize = 128;

/// Reads lines.
pub(crate) struct Lines {
    stored: Stored,
    /// Read and not yet given out.
    pending: Vec<u8>,
    /// Nothing more comes from the source.
    ended: bool,
    broken: Option<Broken>,
}

/// Some lines.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece {
    /// Whole lines with their newlines; only the last line of a source may lack it.
    Lines(Vec<u8>),
    /// A line beyond the limit, which was skipped.
    Overlong {
        /// How it begins.
        start: Vec<u8>,
        /// How long it is, its newline included.
        length: u64,
    },
}

impl Lines {
    /// Reads a source from where it stands.
    pub(crate) fn new(stored: Stored) -> Self {
        Lines { stored, pending: Vec::new(), ended: false, broken: None }
    }

    /// The next lines, about `size` bytes of them; `None` at the end.
    pub(crate) fn next(&mut self, size: usize) -> Result<Option<Piece>, Broken> {
        let mut text = std::mem::take(&mut self.pending);
        let mut want = size.saturating_sub(text.len());
        let mut searched = 0;
        loop {
            self.fill(&mut text, want);
            if let Some(newline) = memrchr(b'\n', &text[searched..]) {
                self.pending = text.split_off(searched + newline + 1);
                return Ok(Some(Piece::Lines(text)));
            }
            if self.ended {
                return self.last(text);
            }
            if text.len() > LINE_BYTES {
                return Ok(Some(self.overlong(text)));
            }
            (searched, want) = (text.len(), CHUNK.max(text.len()).min(LINE_BYTES + 1));
        }
    }

    /// The first line without its newline, looked at but not taken; cut off one past the limit on lines.
    pub(crate) fn peek_line(&mut self) -> &[u8] {
        let mut searched = 0;
        loop {
            if let Some(newline) = memchr(b'\n', &self.pending[searched..]) {
                return &self.pending[..searched + newline];
            }
            if self.ended || self.pending.len() > LINE_BYTES {
                return &self.pending[..self.pending.len().min(LINE_BYTES + 1)];
            }
            searched = self.pending.len();
            let mut text = std::mem::take(&mut self.pending);
            self.fill(&mut text, CHUNK.max(searched));
            self.pending = text;
        }
    }

    /// So much of what has been read and not taken, or all of it.
    pub(crate) fn peek(&self, limit: usize) -> &[u8] {
        &self.pending[..self.pending.len().min(limit)]
    }

    /// Whether more has been read than a first line of this length, and its newline.
    pub(crate) fn has_more_than(&self, line: usize) -> bool {
        self.pending.len() > line + 1
    }

    /// Takes the first line and its newline away; how many bytes that are.
    pub(crate) fn skip_line(&mut self) -> u64 {
        let mut text = std::mem::take(&mut self.pending);
        let mut length = 0;
        loop {
            if let Some(newline) = memchr(b'\n', &text) {
                self.pending = text.split_off(newline + 1);
                return length + text.len() as u64;
            }
            length += text.len() as u64;
            text.clear();
            if self.ended {
                return length;
            }
            self.fill(&mut text, CHUNK);
        }
    }

    /// Goes over a line of which so much has been read.
    fn overlong(&mut self, text: Vec<u8>) -> Piece {
        let start = text[..START].to_vec();
        self.pending = text;
        Piece::Overlong { start, length: self.skip_line() }
    }

    /// All that is left, as long as it is no more than `limit` bytes; `None` if it is more.
    pub(crate) fn rest(&mut self, limit: u64) -> Result<Option<Vec<u8>>, Broken> {
        let mut text = std::mem::take(&mut self.pending);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        while !self.ended && text.len() <= limit {
            let want = CHUNK.max(text.len()).min(limit + 1 - text.len());
            self.fill(&mut text, want);
        }
        match self.broken.take() {
            Some(broken) => Err(broken),
            None => Ok((text.len() <= limit).then_some(text)),
        }
    }

    /// Whether the source has ended and all of it was given out.
    pub(crate) fn is_drained(&self) -> bool {
        self.ended && self.pending.is_empty() && self.broken.is_none()
    }

    /// The source, when its text has been read.
    pub(crate) fn into_stored(self) -> Stored {
        self.stored
    }

    fn fill(&mut self, text: &mut Vec<u8>, want: usize) {
        if self.ended || want == 0 {
            return;
        }
        match self.stored.fill(text, want) {
            Ok(length) => self.ended = length < want,
            Err(broken) => (self.ended, self.broken) = (true, Some(broken)),
        }
    }

    /// What stands after the last newline. Where the source broke off it is no line.
    fn last(&mut self, text: Vec<u8>) -> Result<Option<Piece>, Broken> {
        match self.broken.take() {
            Some(broken) => Err(broken),
            None if text.is_empty() => Ok(None),
            None if text.len() > LINE_BYTES => Ok(Some(self.overlong(text))),
            None => Ok(Some(Piece::Lines(text))),
        }
    }
}
