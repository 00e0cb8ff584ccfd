//! What the transforms know of a program before they change it.
//!
//! | module | answers |
//! |---|---|
//! | [`residue`] | which byte offsets may an address have? |
//! | [`offsets`] | … or, at a few places? |
//! | [`objects`] | what memory is there, and what lies in it? |
//! | [`computed`] | which integers are numbers, not bits? |
//! | [`plain`] | … for sure? |
//! | [`flow`] | which pointer reaches which object? |
//! | [`shared`] | … and what other pointers may write there? |
//! | [`unseen`] | what may lie in an enum that is moved unseen? |
//! | [`pieces`] | which pointers come in halves, and which floats in pointers? |
//! | `repacked` | which floats are put together of others' bits? |
//! | [`lanes`] | where are the floats and pointers of a copied region? |
//! | [`numbers`] | what comes out of integer arithmetic? |
//! | [`ranges`] | between which numbers does an index lie? |
//! | [`counted`] | how often does a loop run? |
//! | [`scope`] | which blocks and functions does the derivative look at? |
//! | [`effects`] | what does a function without derivative do to memory? |
//! | [`activity`] | which values and objects depend on the inputs? |
//! | [`owners`] | may owners that have no shadow come or go? |

pub mod activity;
mod carried;
pub mod computed;
pub mod counted;
pub mod effects;
mod evidence;
pub mod flow;
pub mod lanes;
pub mod numbers;
pub mod objects;
pub mod offsets;
pub mod owners;
pub mod pieces;
pub mod plain;
pub mod ranges;
mod repacked;
pub mod residue;
pub mod scope;
mod seed;
mod shape;
pub mod shared;
pub mod unseen;
