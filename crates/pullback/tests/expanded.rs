//! What the attributes and the functions of derivatives expand to, under Miri: `cargo xtask miri`.
//!
//! There is no driver, so functions written by hand stand in for the derivatives. They are called as the engine's are,
//! with places, and do what the engine's do with them: they run the primal, keep values on the tape, write floats of
//! shadows through pointers, move pointers of shadows, and panic in between. Miri then looks at each access of what is
//! around them: whether it is in bounds, of memory that is still there and initialised, and allowed by the rules of
//! references that rustc's optimiser relies on.
#![cfg(miri)]

mod expanded {
    mod forward;
    mod functional;
    mod masked;
    mod names;
    mod reverse;
    mod saved;
    mod stand_ins;
}
