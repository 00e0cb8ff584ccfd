//! Processor time, so that what else runs on the machine does not count.

/// Seconds of this thread since some moment.
#[cfg(target_os = "linux")]
pub fn seconds() -> f64 {
    /// The clock that runs while the calling thread does.
    const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    let mut time = [0_i64; 2];
    // SAFETY: on 64-bit Linux a `timespec` is two 64-bit numbers, seconds and nanoseconds, and `time` has room for
    // them.
    let failed = unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "no clock of processor time");
    time[0] as f64 + time[1] as f64 * 1e-9
}

/// Seconds that processes took which this one has started and waited for, and those that they have.
#[cfg(target_os = "linux")]
pub fn seconds_of_children() -> f64 {
    /// The children that have ended.
    const RUSAGE_CHILDREN: i32 = -1;
    unsafe extern "C" {
        fn getrusage(who: i32, usage: *mut [i64; 18]) -> i32;
    }
    let mut usage = [0_i64; 18];
    // SAFETY: on 64-bit Linux a `rusage` is eighteen 64-bit numbers, and `usage` has room for them.
    let failed = unsafe { getrusage(RUSAGE_CHILDREN, &mut usage) };
    assert_eq!(failed, 0, "no clock of other processes");
    // In the program and in the system, seconds and microseconds.
    let [a, b, c, d, ..] = usage;
    (a + c) as f64 + (b + d) as f64 * 1e-6
}

/// Where there is no better clock, all time counts.
#[cfg(not(target_os = "linux"))]
pub fn seconds_of_children() -> f64 {
    seconds()
}

/// Seconds since some moment; of the wall, where there is no better clock.
#[cfg(not(target_os = "linux"))]
pub fn seconds() -> f64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed().as_secs_f64()
}
