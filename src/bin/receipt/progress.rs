//! How far a long piece of work is, drawn on standard error where that is a terminal.
//!
//! Invariant: nothing is drawn before a second has passed, and nothing that was drawn is left when the work is done.
//! Readers only add to counters; a thread that does nothing else looks at them and draws.
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Work that ends sooner shows nothing.
const DELAY: Duration = Duration::from_secs(1);

/// Between two pictures.
const EVERY: Duration = Duration::from_millis(100);

/// Counts what is done, and shows it during work that takes long.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<Counts>);

#[derive(Default)]
struct Counts {
    /// Bytes as stored, and how many there are in what was opened with a known size.
    bytes: AtomicU64,
    bytes_total: AtomicU64,
    /// Sources being read whose size nobody knows.
    endless: AtomicU64,
    targets: AtomicU64,
    /// 0 until something is executed.
    targets_total: AtomicU64,
}

impl Progress {
    /// Does the work, counting from nothing.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.reset();
        let is_drawn = is_drawn(io::stderr().is_terminal(), std::env::var_os("TERM").as_deref());
        let _drawing = is_drawn.then(|| Drawing::start(Arc::clone(&self.0)));
        work()
    }

    /// Counts what is read from a source of this size.
    pub(crate) fn reading<R: Read>(&self, source: R, size: u64) -> Counted<R> {
        self.0.bytes_total.fetch_add(size, Relaxed);
        Counted { source, progress: self.clone() }
    }

    /// Counts what `copy` reads from a source without a size, which will be read again from where it was copied to.
    pub(crate) fn spooling<R: Read, T>(&self, source: R, copy: impl FnOnce(&mut Counted<R>) -> T) -> T {
        let before = self.0.bytes.load(Relaxed);
        self.0.endless.fetch_add(1, Relaxed);
        let copied = copy(&mut Counted { source, progress: self.clone() });
        self.0.endless.fetch_sub(1, Relaxed);
        self.0.bytes.store(before, Relaxed);
        copied
    }

    /// What a replay tells how many of how many targets it has executed.
    pub(crate) fn executing(&self) -> Arc<dyn Fn(u64, u64) + Send + Sync> {
        let Progress(counts) = self.clone();
        Arc::new(move |done, total| {
            counts.targets.store(done, Relaxed);
            counts.targets_total.store(total, Relaxed);
        })
    }
}

/// A reader whose bytes are counted.
pub(crate) struct Counted<R> {
    source: R,
    progress: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(out)?;
        self.progress.0.bytes.fetch_add(length as u64, Relaxed);
        Ok(length)
    }
}

impl Counts {
    fn reset(&self) {
        let Counts { bytes, bytes_total, endless, targets, targets_total } = self;
        [bytes, bytes_total, endless, targets, targets_total].iter().for_each(|count| count.store(0, Relaxed));
    }

    /// What a picture says.
    fn shown(&self) -> String {
        let [targets, targets_total] = [&self.targets, &self.targets_total].map(|count| count.load(Relaxed));
        let [bytes, bytes_total] = [&self.bytes, &self.bytes_total].map(|count| count.load(Relaxed));
        let [read, size] = [bytes, bytes_total].map(|bytes| bytes as f64 / 1e6);
        if targets_total > 0 && targets < targets_total {
            format!("executing {} {targets} of {targets_total} targets", bar(targets, targets_total))
        } else if targets_total > 0 {
            format!("{targets} targets executed")
        } else if self.endless.load(Relaxed) > 0 {
            format!("reading {read:.1} MB")
        } else if bytes < bytes_total {
            format!("reading {} {read:.1} of {size:.1} MB", bar(bytes, bytes_total))
        } else {
            format!("{read:.1} MB read")
        }
    }
}

/// A part of a whole as a bar.
fn bar(part: u64, whole: u64) -> String {
    const LENGTH: usize = 24;
    let full = (part as f64 / whole as f64 * LENGTH as f64) as usize;
    format!("{}{}", "█".repeat(full), "░".repeat(LENGTH - full))
}

/// Whether anything may be drawn at all: a terminal that cannot go back over its line is none.
fn is_drawn(is_terminal: bool, term: Option<&OsStr>) -> bool {
    is_terminal && term != Some(OsStr::new("dumb"))
}

/// A thread that draws until it is dropped.
struct Drawing {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drawing {
    fn start(counts: Arc<Counts>) -> Self {
        let (end, ended) = channel();
        let draw = move || draw(&counts, &ended, DELAY, &mut Line::default());
        // Where no thread can be started, nothing is shown.
        Drawing { end: Some(end), thread: thread::Builder::new().name("progress".to_owned()).spawn(draw).ok() }
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        self.end = None;
        // What was drawn has to be gone before anything else is written.
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has been reported, and the work does not depend on it.
            drop(thread.join());
        }
    }
}

/// Where pictures go.
trait Canvas {
    fn draw(&mut self, picture: String);
    fn clear(&mut self);
}

/// Draws from `delay` on until the work has ended, which is when the other end of `ended` is gone.
fn draw(counts: &Counts, ended: &Receiver<()>, delay: Duration, canvas: &mut impl Canvas) {
    let goes_on_after = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    if !goes_on_after(delay) {
        return;
    }
    canvas.draw(counts.shown());
    while goes_on_after(EVERY) {
        canvas.draw(counts.shown());
    }
    canvas.clear();
}

/// One line of standard error.
#[derive(Default)]
struct Line(Option<ProgressBar>);

impl Canvas for Line {
    fn draw(&mut self, picture: String) {
        let line = self.0.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{spinner} {wide_msg}").expect("bug: a template that is none");
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style)
        });
        line.set_message(picture);
        line.tick();
    }

    fn clear(&mut self) {
        self.0.iter().for_each(ProgressBar::finish_and_clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps what was drawn, and ends the work after some pictures.
    struct Kept {
        end: Option<Sender<()>>,
        pictures: Vec<String>,
    }

    impl Canvas for Kept {
        fn draw(&mut self, picture: String) {
            self.pictures.push(picture);
            if self.pictures.len() == 3 {
                self.end = None;
            }
        }

        fn clear(&mut self) {
            self.pictures.push("cleared".to_owned());
        }
    }

    #[test]
    fn long_work_is_drawn_and_cleared() {
        let (end, ended) = channel();
        let mut kept = Kept { end: Some(end), pictures: vec![] };
        draw(&Counts::default(), &ended, Duration::ZERO, &mut kept);
        assert_eq!(kept.pictures, ["0.0 MB read", "0.0 MB read", "0.0 MB read", "cleared"]);
    }

    #[test]
    fn short_work_draws_nothing_and_clears_nothing() {
        let (end, ended) = channel();
        drop(end);
        let mut kept = Kept { end: None, pictures: vec![] };
        draw(&Counts::default(), &ended, Duration::from_secs(3600), &mut kept);
        assert!(kept.pictures.is_empty(), "{:?}", kept.pictures);
    }

    #[test]
    fn only_a_terminal_that_can_go_back_is_drawn_on() {
        let [xterm, dumb] = ["xterm", "dumb"].map(|term| Some(OsStr::new(term)));
        assert!(is_drawn(true, xterm) && is_drawn(true, None));
        assert!(!is_drawn(true, dumb) && !is_drawn(false, xterm) && !is_drawn(false, None));
    }

    #[test]
    fn a_picture_says_what_was_counted() {
        let progress = Progress::default();
        let shown = || progress.0.shown();
        let mut bytes = vec![];
        let mut source = progress.reading(&[b' '; 3_000_000][..], 3_000_000).take(1_000_000);
        source.read_to_end(&mut bytes).expect("bytes");
        assert_eq!(shown(), "reading ████████░░░░░░░░░░░░░░░░ 1.0 of 3.0 MB");
        progress.spooling(&[b' '; 500_000][..], |source| {
            source.read_to_end(&mut bytes).expect("bytes");
            assert_eq!(shown(), "reading 1.5 MB");
        });
        source.set_limit(2_000_000);
        source.read_to_end(&mut bytes).expect("bytes");
        assert_eq!(shown(), "3.0 MB read");
        let executing = progress.executing();
        executing(0, 40);
        assert_eq!(shown(), "executing ░░░░░░░░░░░░░░░░░░░░░░░░ 0 of 40 targets");
        executing(39, 40);
        assert_eq!(shown(), "executing ███████████████████████░ 39 of 40 targets");
        executing(40, 40);
        assert_eq!(shown(), "40 targets executed");
        progress.during(|| assert_eq!(shown(), "0.0 MB read"));
    }
}
