//! Limits on everything that comes from outside (MANIFEST.md §10). Each is tested at the limit and one past it.

/// Nesting of arrays and objects in one document or line.
pub const NESTING: usize = 64;
/// Bytes of one line of a microbatch manifest, its newline not counted.
pub const LINE_BYTES: usize = 16 << 20;
/// Bytes of a rank manifest.
pub const DOCUMENT_BYTES: u64 = 4 << 30;
/// Elements of a vector, and the largest basis dimension.
pub const VECTOR: usize = 1 << 20;
/// Ranks of a run.
pub const RANKS: u64 = 65_536;
/// Files open at once.
pub const OPEN_FILES: usize = 1_024;
/// Microbatches of one window on one rank.
pub const MICROBATCHES: usize = 1 << 16;
/// Events of any kind in one window on one rank: they are held until the window is judged.
pub const WINDOW_EVENTS: usize = 1 << 20;
/// Decimals to which a logged number may be said to be rounded.
pub const DECIMALS: u64 = 17;
/// Windows that a restore may reach back.
pub const RESTORE: u64 = 1_024;
/// Characters of an identifier or opaque string.
pub const IDENTIFIER: usize = 128;
/// Windows over which a logged loss may be averaged.
pub const LOGGED_WINDOWS: u64 = 65_536;
/// The largest count: every integer up to it is exact in binary64.
pub const COUNT: u64 = 1 << 53;
