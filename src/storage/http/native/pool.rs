//! Threads that make requests: as many as may be in flight.

#![forbid(unsafe_code)]

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

pub(super) type Job = Box<dyn FnOnce() + Send>;

/// A thread without work ends after this.
const IDLE: Duration = Duration::from_secs(20);

/// Runs jobs on at most so many threads; searches go before merges and checks. Dropped, it runs what is queued and
/// ends its threads.
pub(super) struct Pool {
    shared: Arc<Shared>,
    max_threads: usize,
}

#[derive(Default)]
struct Shared {
    queues: Mutex<Queues>,
    work: Condvar,
}

#[derive(Default)]
struct Queues {
    searches: VecDeque<Job>,
    others: VecDeque<Job>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl Pool {
    pub(super) fn new(max_threads: usize) -> Self {
        Self { shared: Arc::default(), max_threads }
    }

    pub(super) fn run(&self, is_search: bool, job: Job) {
        let mut queues = self.shared.queues();
        let queue = if is_search { &mut queues.searches } else { &mut queues.others };
        queue.push_back(job);
        let waiting = queues.searches.len() + queues.others.len();
        if waiting > queues.idle && queues.threads < self.max_threads {
            let shared = self.shared.clone();
            let thread = thread::Builder::new().name("rangefind-http".to_owned());
            match thread.spawn(move || shared.work()) {
                Ok(_) => queues.threads += 1,
                // With one thread or more the job waits its turn.
                Err(error) => assert!(queues.threads > 0, "no thread for requests: {error}"),
            }
        }
        self.shared.work.notify_one();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.queues().closed = true;
        self.shared.work.notify_all();
    }
}

impl Shared {
    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut queues = self.queues();
        loop {
            if let Some(job) = queues.searches.pop_front().or_else(|| queues.others.pop_front()) {
                drop(queues);
                // A panic in one request must not take the thread from the others.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
                queues = self.queues();
                continue;
            }
            if queues.closed {
                break;
            }
            queues.idle += 1;
            let (woken, timeout) = self.work.wait_timeout(queues, IDLE).unwrap_or_else(PoisonError::into_inner);
            queues = woken;
            queues.idle -= 1;
            if timeout.timed_out() && queues.searches.is_empty() && queues.others.is_empty() {
                break;
            }
        }
        queues.threads -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn runs_everything_on_few_threads_searches_first() {
        let (sender, receiver) = mpsc::channel();
        let (open, gate) = mpsc::channel::<()>();
        let pool = Pool::new(1);
        pool.run(false, Box::new(move || gate.recv().expect("opened")));
        for (number, is_search) in [(1, false), (2, true), (3, false), (4, true)] {
            let sender = sender.clone();
            pool.run(is_search, Box::new(move || sender.send(number).expect("received")));
        }
        drop(sender);
        open.send(()).expect("waiting");
        // The first job may still be queued when the others come, but it is not a search.
        let order: Vec<i32> = receiver.iter().collect();
        assert_eq!(order, [2, 4, 1, 3]);
    }

    #[test]
    fn a_panic_takes_no_thread_away() {
        let (sender, receiver) = mpsc::channel();
        let pool = Pool::new(1);
        pool.run(true, Box::new(|| panic!("on purpose")));
        pool.run(true, Box::new(move || sender.send(()).expect("received")));
        receiver.recv().expect("the second job ran");
    }
}
