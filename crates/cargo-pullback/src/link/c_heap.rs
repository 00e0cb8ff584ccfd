//! C's allocator, where a function that is differentiated calls it.
//!
//! The engine knows memory of C's heap in the shape of Rust's (`pullback::rt::heap`). In a working copy calls of C's
//! functions become calls of plain code there, which is differentiated like any: `realloc` is a new block, a copy and the
//! old block given back. In the program itself they stay what they are, and a block may come from the one and be given
//! back by the other.

use super::policy::is_support;
use super::program::Program;
use super::resolve::{Callees, is_differentiated, link_part, resolve};
use anyhow::Result;
use pullback_llvm::Module;
use std::collections::HashSet;

/// C's functions, and the code that stands in for them.
const REPLACED: [(&str, &str); 7] = [
    ("malloc", "__pullback_c_malloc"),
    ("calloc", "__pullback_c_calloc"),
    ("realloc", "__pullback_c_realloc"),
    ("reallocarray", "__pullback_c_reallocarray"),
    ("aligned_alloc", "__pullback_c_aligned_alloc"),
    ("posix_memalign", "__pullback_c_posix_memalign"),
    ("free", "__pullback_c_free"),
];

/// Put that code in the place of C's functions, where a working copy has all other bodies. What the program defines itself,
/// or declares with other types than C's, is not replaced.
pub fn replace(program: &mut Program, w: &mut Module) -> Result<()> {
    let declared: HashSet<String> = w.functions().into_iter().map(|f| f.name).collect();
    for (function, code) in REPLACED {
        if w.find_symbol(function).is_none_or(|symbol| !symbol.is_declaration) || program.find(function)?.is_some() {
            continue;
        }
        let Some(home) = program.find(code)? else { continue };
        let part = program.part(home, &[code])?;
        if !part.have_one_type(code, w, function)? {
            continue;
        }
        link_part(w, part, &[code], Callees::Declarations)?;
        w.redirect(function, code, |_| false)?;
    }
    resolve(program, w, Callees::Bodies, |name| is_differentiated(name) && !declared.contains(name))?;
    // What the engine knows has come along with the code that calls it.
    for known in w.functions().into_iter().filter(|f| !f.is_declaration && is_support(&f.name)) {
        w.make_declaration(&known.name)?;
    }
    Ok(())
}
