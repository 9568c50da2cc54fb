//! A few threads that decode; what they are given comes back in the order in which the asker wants it.
//!
//! Who waits for a result works as well, so that there is one thread for each processor and none is idle while there is
//! anything to do.
//!
//! Invariant: results depend on the work alone, not on how many threads there are or which of them did it.
use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
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
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

/// Work that nobody has begun.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// No more will come.
    is_closed: bool,
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
            Pending::Running(receiver) => try_recv(&receiver).ok_or(Pending::Running(receiver)),
        }
    }
}

fn try_recv<T>(receiver: &mpsc::Receiver<T>) -> Option<T> {
    match receiver.try_recv() {
        Ok(result) => Some(result),
        Err(mpsc::TryRecvError::Empty) => None,
        Err(mpsc::TryRecvError::Disconnected) => panic!("bug: a decoding thread died"),
    }
}

/// How many threads can usefully decode at once.
pub(crate) fn width() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

impl Pool {
    /// Has some thread do the work; where there is only the asker's own, it is done at once.
    pub(crate) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Pending<T> {
        let workers = self.workers.get_or_init(|| Workers::start(width() - 1));
        if workers.threads.is_empty() {
            return Pending::Ready(work());
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        // Nobody waits any more where the stream was dropped.
        workers.queue.push(Box::new(move || drop(sender.send(work()))));
        Pending::Running(receiver)
    }

    /// The result, once it is there; until then this thread does what nobody has begun.
    pub(crate) fn wait<T>(&self, pending: Pending<T>) -> T {
        let receiver = match pending {
            Pending::Ready(result) => return result,
            Pending::Running(receiver) => receiver,
        };
        loop {
            if let Some(result) = try_recv(&receiver) {
                return result;
            }
            match self.workers.get().and_then(|workers| workers.queue.try_pop()) {
                Some(job) => job(),
                None => return receiver.recv().expect("bug: a decoding thread died"),
            }
        }
    }
}

impl Workers {
    fn start(count: usize) -> Self {
        let queue = Arc::new(Queue::default());
        let threads = (0..count).map_while(|index| {
            let queue = Arc::clone(&queue);
            let work = move || {
                while let Some(job) = queue.pop() {
                    job();
                }
            };
            thread::Builder::new().name(format!("decode-{index}")).spawn(work).ok()
        });
        Workers { threads: threads.collect(), queue }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: Job) {
        self.lock().jobs.push_back(job);
        self.changed.notify_one();
    }

    /// The oldest job, if there is one now.
    fn try_pop(&self) -> Option<Job> {
        self.lock().jobs.pop_front()
    }

    /// The oldest job, once there is one; `None` when no more will come.
    fn pop(&self) -> Option<Job> {
        let has_to_wait = |waiting: &mut Waiting| waiting.jobs.is_empty() && !waiting.is_closed;
        let waiting = self.changed.wait_while(self.lock(), has_to_wait);
        waiting.unwrap_or_else(PoisonError::into_inner).jobs.pop_front()
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            // A panic has been reported by whoever waited for its result.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    fn pool(threads: usize) -> Pool {
        let workers = OnceLock::new();
        assert!(workers.set(Workers::start(threads)).is_ok());
        Pool { workers }
    }

    #[test]
    fn results_come_in_the_order_in_which_they_are_asked_for() {
        for threads in [0, 1, 3] {
            let pool = pool(threads);
            let pending: Vec<_> = (0..100).map(|n| pool.run(move || n * n)).collect();
            let results: Vec<_> = pending.into_iter().rev().map(|pending| pool.wait(pending)).collect();
            assert!(results.into_iter().eq((0..100).rev().map(|n| n * n)), "{threads} threads");
        }
    }

    /// The only other thread is held up by its first job until the last result is there: who waits does the rest.
    #[test]
    fn who_waits_works() {
        let pool = pool(1);
        let (release, held) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel::<()>();
        let first = pool.run(move || {
            begun.send(()).expect("somebody waits");
            held.recv().expect("is released")
        });
        has_begun.recv().expect("the first job runs");
        let own = thread::current().id();
        let done = Arc::new(AtomicUsize::new(0));
        let others: Vec<_> = (0..10)
            .map(|_| {
                let done = Arc::clone(&done);
                pool.run(move || {
                    done.fetch_add(1, Relaxed);
                    thread::current().id()
                })
            })
            .collect();
        assert_eq!(done.load(Relaxed), 0);
        for other in others {
            assert_eq!(pool.wait(other), own);
        }
        release.send(()).expect("it still waits");
        pool.wait(first);
    }

    #[test]
    fn jobs_that_nobody_waits_for_end_with_the_pool() {
        let done = Arc::new(AtomicUsize::new(0));
        let pool = pool(2);
        for _ in 0..50 {
            let done = Arc::clone(&done);
            drop(pool.run(move || done.fetch_add(1, Relaxed)));
        }
        drop(pool);
        assert_eq!(done.load(Relaxed), 50);
    }
}
