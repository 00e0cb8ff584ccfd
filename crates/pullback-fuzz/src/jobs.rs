//! Work that several threads share.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Let so many workers do all of this work. Each is told its number, and takes the next piece whenever it is through
/// with one.
pub fn side_by_side<T: Sync>(
    jobs: usize,
    work: &[T],
    worker: impl Fn(usize, &mut dyn Iterator<Item = &T>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let one = |job| worker(job, &mut std::iter::from_fn(|| work.get(next.fetch_add(1, Ordering::Relaxed))));
    std::thread::scope(|scope| {
        let one = &one;
        let jobs = jobs.clamp(1, work.len().max(1));
        let workers: Vec<_> = (0..jobs).map(|job| scope.spawn(move || one(job))).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| Err(io::Error::other("a worker has panicked"))))
    })
}

#[cfg(test)]
mod tests {
    use super::side_by_side;
    use std::sync::Mutex;

    #[test]
    fn all_is_done_once() {
        let done = Mutex::new(Vec::new());
        let work: Vec<u32> = (0..100).collect();
        let worker = |_, pieces: &mut dyn Iterator<Item = &u32>| {
            pieces.for_each(|piece| done.lock().expect("nobody panics").push(*piece));
            Ok(())
        };
        side_by_side(3, &work, worker).expect("nothing fails");
        let mut done = done.into_inner().expect("nobody panics");
        done.sort_unstable();
        assert_eq!(done, work);
    }
}
