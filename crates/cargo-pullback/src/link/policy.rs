//! Which functions are differentiated with their bodies, which are left alone, and which carry no derivative by their
//! nature.
//!
//! The decision is by the demangled name. A function is only called inactive here if nothing that comes out of it can
//! depend on a float's derivative: printing and formatting, panics, clocks, the environment. What runs a closure of the
//! user's (a thread, say) is never in the list, since a derivative would be lost without a word.

use pullback_llvm::Policy;

/// Paths whose functions carry no derivative. A path that ends in `::` stands for all that is below it.
const INACTIVE: &[&str] = &[
    // Formatting and printing.
    "core::fmt::",
    "alloc::fmt::",
    "std::io::",
    "core::num::flt2dec::",
    "core::num::dec2flt::",
    "core::num::imp::flt2dec::",
    "core::num::imp::dec2flt::",
    "core::unicode::",
    "alloc::str::",
    // Panics.
    "core::panicking::",
    "core::panic::panic_info::",
    "std::panicking::",
    "std::process::",
    "std::backtrace::",
    "std::backtrace_rs::",
    "std::alloc::",
    "alloc::alloc::handle_alloc_error",
    "alloc::raw_vec::handle_error",
    "alloc::raw_vec::capacity_overflow",
    "core::result::unwrap_failed",
    "core::option::expect_failed",
    "core::option::unwrap_failed",
    "core::cell::panic_already_borrowed",
    "core::cell::panic_already_mutably_borrowed",
    "core::str::slice_error_fail",
    "core::slice::copy_from_slice_impl::len_mismatch_fail",
    // The world outside.
    "std::env::",
    "std::time::",
    "std::fs::",
    "std::net::",
    "std::os::",
    "std::path::",
    "std::sys::pal::",
    "std::sys::random::",
    "std::sys::stdio::",
    "std::sys::sync::",
    "std::sys::thread_local::",
    "std::sys::time::",
    "std::thread::current::",
    "std::thread::id::",
    "std::thread::functions::sleep",
    "std::thread::functions::yield_now",
];

/// What the wrapper of a derivative does besides calling it.
const BOOKKEEPING: &[&str] = &[
    "pullback::__private::walk",
    "pullback::__private::own_cells",
    // The two ways in which rustc names a method.
    "pullback::differentiable::aside::Aside::reaches",
    "pullback::differentiable::aside::Aside>::reaches",
    "pullback::differentiable::aside::Aside::put_aside",
    "pullback::differentiable::aside::Aside>::put_aside",
    "pullback::differentiable::aside::Aside::compare_owners",
    "pullback::differentiable::aside::Aside>::compare_owners",
    "pullback::differentiable::aside::Aside::finish",
    "pullback::differentiable::aside::Aside>::finish",
    "pullback::differentiable::congruence::Congruence::compare",
    "pullback::differentiable::congruence::Congruence>::compare",
    "pullback::differentiable::congruence::Congruence::compare_owners",
    "pullback::differentiable::congruence::Congruence>::compare_owners",
    "pullback::differentiable::congruence::Congruence::finish",
    "pullback::differentiable::congruence::Congruence>::finish",
    "pullback::differentiable::constants::examine::parts",
    "pullback::differentiable::constants::examine::types",
    "pullback::differentiable::constants::Constants::take_parts",
    "pullback::differentiable::constants::Constants>::take_parts",
    "pullback::differentiable::constants::Constants::complete_parts",
    "pullback::differentiable::constants::Constants>::complete_parts",
    "pullback::differentiable::constants::Constants::finish",
    "pullback::differentiable::constants::Constants>::finish",
    "pullback::rt::saved::note",
    "pullback::rt::Tape::give_back",
    "pullback::rt::Tape>::give_back",
    "pullback::rt::Tape::mark",
    "pullback::rt::Tape>::mark",
    "pullback::rt::Tape::rewind",
    "pullback::rt::Tape>::rewind",
];

/// Parts of a path, below those of [`INACTIVE`], whose functions run a closure of the user's.
const RUNS_CLOSURES: &[&str] =
    &["std::panicking::catch_unwind", "std::panicking::try", "::once::", "::try_with", "::with"];

/// Paths below those of [`INACTIVE`] whose functions move values of any type.
const MOVES: &[&str] = &["std::io::cursor::"];

/// Functions whose bodies are not to be looked into: the importer knows what they do.
const KNOWN: &[&str] = &[
    "__rust_alloc",
    "__rust_alloc_zeroed",
    "__rust_realloc",
    "__rust_dealloc",
    "__rust_no_alloc_shim_is_unstable",
    "__rust_no_alloc_shim_is_unstable_v2",
    "rust_eh_personality",
];

/// What becomes of a function of the program.
pub fn policy(symbol: &str) -> Policy {
    if symbol.starts_with("llvm.") {
        return Policy::Import;
    }
    if is_support(symbol) {
        return Policy::Declare;
    }
    let path = demangled(symbol);
    if KNOWN.iter().any(|name| path == *name || path.ends_with(&format!("::{name}"))) {
        return Policy::Declare;
    }
    if is_inactive(&path) { Policy::Inactive } else { Policy::Import }
}

/// Whether this is a function of Pullback's run-time support, which derivatives call. (Those for derivatives that are
/// differentiated are plain code.)
pub fn is_support(symbol: &str) -> bool {
    symbol.starts_with("__pullback_") && !symbol.starts_with("__pullback_nested_")
}

/// Whether this is what the wrapper of a derivative does besides calling it: it checks shadows and drops the tape.
pub fn is_bookkeeping(symbol: &str) -> bool {
    let path = demangled(symbol);
    BOOKKEEPING.iter().any(|entry| is_below(path.trim_start_matches(['<', '&']), entry))
}

/// A symbol's path in the source, without hash.
pub fn demangled(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}

fn is_inactive(path: &str) -> bool {
    // The implementation of a formatting trait, wherever it is: `<app::Point as core::fmt::Debug>::fmt`.
    if path.contains(" as core::fmt::") {
        return true;
    }
    // `core::slice::index::slice_index_fail` and its relations.
    if path.starts_with("core::slice::index::") && path.ends_with("_fail") {
        return true;
    }
    // An inherent method's path begins with its type: `<core::fmt::Formatter>::pad`, `<&str as std::io::Write>::write`.
    let start = path.trim_start_matches(['<', '&']);
    if RUNS_CLOSURES.iter().any(|part| start.contains(part)) || MOVES.iter().any(|entry| start.starts_with(entry)) {
        return false;
    }
    INACTIVE.iter().chain(BOOKKEEPING).any(|entry| is_below(start, entry))
}

/// Whether a path is that of an entry, or below it.
fn is_below(path: &str, entry: &str) -> bool {
    match entry.strip_suffix("::") {
        Some(_) => path.starts_with(entry),
        None => path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with(['<', ':', '>'])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_and_panics_carry_no_derivative() {
        for path in [
            "core::fmt::write",
            "<core::fmt::Formatter>::pad",
            "<f64 as core::fmt::Display>::fmt",
            "<app::Point as core::fmt::Debug>::fmt",
            "core::panicking::panic_bounds_check",
            "core::slice::index::slice_end_index_len_fail",
            "alloc::raw_vec::handle_error",
            "std::io::stdio::_print",
            "std::time::Instant::now",
        ] {
            assert!(is_inactive(path), "{path}");
        }
    }

    #[test]
    fn what_moves_or_computes_is_differentiated() {
        for path in [
            "alloc::raw_vec::RawVecInner<A>::finish_grow",
            "<alloc::raw_vec::RawVecInner>::grow_amortized",
            "std::thread::spawn",
            "std::panicking::catch_unwind::do_call",
            "std::sys::sync::once::futex::Once::call",
            "app::loss",
            "core::slice::sort::stable::driftsort_main",
            "<std::io::cursor::Cursor<[f64; 2]>>::new",
            "core::slice::index::range",
        ] {
            assert!(!is_inactive(path), "{path}");
        }
    }

    #[test]
    fn the_allocator_is_known_under_any_mangling() {
        assert_eq!(policy("_RNvCs7CeidQFm3AF_7___rustc12___rust_alloc"), Policy::Declare);
        assert_eq!(policy("__rust_dealloc"), Policy::Declare);
        assert_eq!(policy("sin"), Policy::Import);
    }
}
