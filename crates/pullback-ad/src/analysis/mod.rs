//! What the transforms know of a program before they change it.
//!
//! | module | answers |
//! |---|---|
//! | [`scope`] | which blocks and functions does the derivative look at? |
//! | [`points_to`] | which memory is there, what lies in it, which pointer reaches which? |
//! | [`types`] | is an integer a number, the bits of a float, or a pointer? |
//! | [`activity`] | which values and objects depend on the inputs? |
//! | [`counted`] | how often does a loop run? |
//! | [`effects`] | what does a function without derivative do to memory? |
//! | [`owners`] | may owners that have no shadow come or go? |

pub mod activity;
pub mod counted;
pub mod effects;
pub mod owners;
pub mod points_to;
pub mod renews;
pub mod scope;
pub mod types;
