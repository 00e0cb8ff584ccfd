//! Which functions are differentiated with their bodies, which are left alone, and which carry no derivative by their
//! nature.
//!
//! The decision is by the demangled name. A function is only called inactive here if nothing that comes out of it can
//! depend on a float's derivative: printing and formatting, panics, clocks, the environment. What runs a closure of the
//! user's (a thread, say) is never in the list, since a derivative would be lost without a word.

use pullback_abi::markers::BOOKKEEPING;
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
/// Such functions of `pullback` have a [mark](BOOKKEEPING) in their names.
pub fn is_bookkeeping(symbol: &str) -> bool {
    is_marked(&demangled(symbol))
}

/// Whether a path is that of a function of `pullback` that is marked, or of something inside of one. The types that a
/// function is instantiated with do not matter.
fn is_marked(path: &str) -> bool {
    path.trim_start_matches(['<', '&']).starts_with("pullback::")
        && path.match_indices(BOOKKEEPING).any(|(at, mark)| {
            let (before, after) = (&path[..at], &path[at + mark.len()..]);
            let closed = before.matches('>').count() - before.matches("->").count();
            let ends_a_name = !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            ends_a_name && before.matches('<').count() == closed
        })
}

/// A symbol's path in the source, without hash.
pub fn demangled(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}

fn is_inactive(path: &str) -> bool {
    if is_marked(path) {
        return true;
    }
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
    INACTIVE.iter().any(|entry| is_below(start, entry))
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

    #[test]
    fn bookkeeping_is_known_by_its_mark() {
        for symbol in [
            // A method, an instance of a generic function, one of a generic method, and a closure in it.
            "_RNvMs3_NtCsaqyhErTKQiF_8pullback2rtNtB5_4Tape21give_back_bookkeeping",
            "_RINvNtCsaqyhErTKQiF_8pullback9___private16walk_bookkeepingRSdECs3tW4aqgaewU_12second_order",
            "_RINvNtCsaqyhErTKQiF_8pullback9___private16walk_bookkeepingRSdECs3tW4aqgaewU_12second_order.1495",
            "_RINvMs_NtNtCsaqyhErTKQiF_8pullback14differentiable9constantsNtB5_9Constants22take_parts_bookkeeping\
             NtCscVbeJws33pu_8tangents5NamedEB1B_",
            "_RNCINvMs_NtNtCsaqyhErTKQiF_8pullback14differentiable9constantsNtB7_9Constants26complete_parts_bookkeeping\
             INtNtCslNYArtu3iFV_5alloc3vec3VecdEE0Cs3tW4aqgaewU_12second_order",
            // The other mangling.
            "_ZN8pullback2rt4Tape21give_back_bookkeeping17h0123456789abcdefE",
            "_ZN8pullback9__private16walk_bookkeeping28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
        ] {
            let path = demangled(symbol);
            assert!(path.contains("pullback::"), "{path}");
            assert!(is_bookkeeping(symbol) && policy(symbol) == Policy::Inactive, "{path}");
        }
        // Whatever the types are called.
        assert!(is_inactive("pullback::__private::walk_bookkeeping::<app::with::Weights>"));
    }

    #[test]
    fn the_mark_is_one_of_functions_of_our_own() {
        for path in [
            "pullback::rt::saved::note",
            "app::close_bookkeeping",
            "<app::pullback::Books>::close_bookkeeping",
            // It is differentiated, whatever it is given.
            "<core::iter::Map<_, <pullback::rt::Tape>::mark_bookkeeping::{closure#0}> as core::iter::Iterator>::next",
            "pullback::functional::shim::<f64, fn(f64) -> f64, app::close_bookkeeping::{closure#0}>",
            "<pullback::LayoutOf<app::close_bookkeeping::Book>>::name",
            "pullback::rules::undo_bookkeepings",
        ] {
            assert!(!is_marked(path), "{path}");
        }
    }
}
