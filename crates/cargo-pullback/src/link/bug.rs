//! Panics of our own, made into errors: the user sees which function was at work, and not a linker that has died.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{Arc, Mutex};

/// What a user is told.
pub const HEADLINE: &str = "the engine has failed; this is a bug in Pullback";

/// Do some work; if it panics, return what the panic said, and where.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let said = Arc::new(Mutex::new(String::new()));
    let heard = said.clone();
    let hook = take_hook();
    set_hook(Box::new(move |panic| {
        let mut text = panic.to_string();
        let backtrace = std::backtrace::Backtrace::capture();
        if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
            text.push_str(&format!("\n{backtrace}"));
        }
        if let Ok(mut said) = heard.lock() {
            *said = text;
        }
    }));
    let result = catch_unwind(AssertUnwindSafe(work));
    set_hook(hook);
    result.map_err(|_| said.lock().map(|text| text.clone()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(guarded(|| 1), Ok(1));
        assert!(guarded(|| -> u32 { panic!("no {}", "way") }).unwrap_err().contains("no way"));
    }
}
