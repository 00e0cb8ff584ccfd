//! What the transforms know of a program before they change it.
//!
//! | module | answers |
//! |---|---|
//! | [`scope`] | which blocks and functions does the derivative look at? |
//! | [`points_to`] | which memory is there, what lies in it, which pointer reaches which? |
//! | [`types`] | is an integer a number, the bits of a float, or a pointer? |
//! | [`activity`] | which values and objects depend on the inputs? |
//! | `follow` | where do values go? |
//! | [`effects`] | what does a function without derivative do to memory? |
//! | [`owners`] | may owners that have no shadow come or go? |
//! | [`renews`] | may values come to be in arguments where there were none? |
//! | [`yields`] | may others change pointers in cells of arguments meanwhile? |
//! | [`writes`] | which memory is written, and what does the derivative have to do about it? |

pub mod activity;
pub mod effects;
mod follow;
pub mod owners;
pub mod points_to;
pub mod renews;
pub mod scope;
pub mod types;
pub mod writes;
pub mod yields;
