//! Native side of [`super`]: threads, blocking waits.

use std::{
    cell::RefCell,
    future::Future,
    sync::{Mutex, OnceLock, mpsc},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use std::pin::Pin;

/// `Send` on native; nothing on wasm32, where futures hold JavaScript values.
pub trait MaybeSend: Send {}
impl<T: Send + ?Sized> MaybeSend for T {}

/// `Sync` on native; nothing on wasm32.
pub trait MaybeSync: Sync {}
impl<T: Sync + ?Sized> MaybeSync for T {}

/// Runs a future to its end on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    pollster::block_on(future)
}

/// Milliseconds of a monotonic clock; only differences mean something.
pub fn now_millis() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64() * 1e3
}

/// Milliseconds since 1970-01-01 UTC.
pub fn unix_millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_millis() as u64)
}

/// Waits; natively it blocks the calling thread.
pub async fn sleep_millis(millis: u32) {
    thread::sleep(Duration::from_millis(u64::from(millis)));
}

/// Gives way to the event loop; natively there is none, so it returns at once.
pub async fn yield_now() {}

/// A background task.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

thread_local! {
    static CAPTURED: RefCell<Option<Vec<Task>>> = const { RefCell::new(None) };
}

/// Runs `work` and returns, beside its result, what it spawned on this thread: the caller polls those tasks itself.
/// So a test or a benchmark runs everything on one thread, in an order that is the same every time.
pub fn capture_spawned<T>(work: impl FnOnce() -> T) -> (T, Vec<Task>) {
    let before = CAPTURED.replace(Some(Vec::new()));
    // Also after a panic: the next spawn must not vanish into a list nobody reads.
    struct Restore(Option<Vec<Task>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CAPTURED.set(self.0.take());
        }
    }
    let restore = Restore(before);
    let output = work();
    let tasks = CAPTURED.take().unwrap_or_default();
    drop(restore);
    (output, tasks)
}

/// Threads that run background loads: as many as an HTTP backend keeps requests in flight, and a few for disks.
const SPAWN_THREADS: usize = 8;

/// Runs `task` in the background. Natively: on one of [`SPAWN_THREADS`] threads shared by the process, where
/// it may block; tasks beyond them queue. A task must not wait for another spawned task. Under
/// [`capture_spawned`] the task goes to its caller.
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    let task: Task = Box::pin(task);
    let uncaptured = CAPTURED.with_borrow_mut(|captured| match captured {
        Some(tasks) => {
            tasks.push(task);
            None
        }
        None => Some(task),
    });
    let Some(task) = uncaptured else { return };
    static QUEUE: OnceLock<mpsc::Sender<Task>> = OnceLock::new();
    let queue = QUEUE.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Task>();
        let receiver: &'static Mutex<mpsc::Receiver<Task>> = Box::leak(Box::new(Mutex::new(receiver)));
        for number in 0..SPAWN_THREADS {
            thread::Builder::new()
                .name(format!("rangefind-io-{number}"))
                .spawn(move || {
                    loop {
                        let next = receiver.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).recv();
                        let Ok(task) = next else { return };
                        // A panic in one load must not take the thread from the others.
                        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pollster::block_on(task)));
                    }
                })
                .expect("the operating system gives a thread");
        }
        sender
    });
    queue.send(task).expect("receivers live as long as the process");
}
