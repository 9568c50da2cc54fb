//! A few threads that decode; what they are given comes back in the order in which the asker wants it.
//!
//! Invariant: results depend on the work alone, not on how many threads there are or which of them did it.
use std::num::NonZero;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::sync::mpsc;
use std::thread;
use std::thread::JoinHandle;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that are started when there is first something to do, and end with the pool.
#[derive(Default)]
pub(crate) struct Pool {
    workers: OnceLock<Workers>,
}

struct Workers {
    jobs: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

/// A result that is there already or will be.
pub(crate) enum Pending<T> {
    /// Is there.
    Ready(T),
    /// Will be.
    Running(mpsc::Receiver<T>),
}

impl<T> Pending<T> {
    /// The result if it is there, else itself again.
    pub(crate) fn poll(self) -> Result<T, Self> {
        match self {
            Pending::Ready(result) => Ok(result),
            Pending::Running(receiver) => match receiver.try_recv() {
                Ok(result) => Ok(result),
                Err(mpsc::TryRecvError::Empty) => Err(Pending::Running(receiver)),
                Err(mpsc::TryRecvError::Disconnected) => panic!("bug: a decoding thread died"),
            },
        }
    }

    /// Waits for it.
    pub(crate) fn wait(self) -> T {
        match self {
            Pending::Ready(result) => result,
            Pending::Running(receiver) => receiver.recv().expect("bug: a decoding thread died"),
        }
    }
}

/// How many threads can usefully decode at once.
pub(crate) fn width() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

impl Pool {
    /// Has some thread do the work; where none can be started, does it at once.
    pub(crate) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Pending<T> {
        let workers = self.workers.get_or_init(Workers::start);
        let Some(jobs) = workers.jobs.as_ref().filter(|_| !workers.threads.is_empty()) else {
            return Pending::Ready(work());
        };
        let (sender, receiver) = mpsc::sync_channel(1);
        // Nobody waits any more where the stream was dropped.
        let job: Job = Box::new(move || drop(sender.send(work())));
        jobs.send(job).expect("bug: every decoding thread died");
        Pending::Running(receiver)
    }
}

impl Workers {
    fn start() -> Self {
        let (jobs, receiver) = mpsc::channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        let threads = (0..width()).map_while(|index| {
            let receiver = Arc::clone(&receiver);
            thread::Builder::new().name(format!("decode-{index}")).spawn(move || work(&receiver)).ok()
        });
        Workers { threads: threads.collect(), jobs: Some(jobs) }
    }
}

fn work(jobs: &Mutex<mpsc::Receiver<Job>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => job(),
            Err(mpsc::RecvError) => return,
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A panic has been reported by whoever waited for its result.
            drop(thread.join());
        }
    }
}
