//! From a function to its derivative.
//!
//! | module | does |
//! |---|---|
//! | [`unselect`] | selections between computed values become branches again |
//! | [`halve`] | wide integers that carry several floats or pointers are taken apart |
//! | [`retype`] | integers that only carry a float's or pointer's bits become floats and pointers |
//! | [`linear`] | the linear operations on tangents, and their forward emission |
//! | [`session`] | what all functions of one derivative share |
//! | [`augment`] | the primal with shadow pointers beside its pointers, and a linear operation at each active instruction |
//! | `cleanup` | what calls of the augmented primal do when they panic |
//! | [`plan`] | what the reverse sweep needs, and how it gets it |
//! | `refill` | places that get back at once what the reverse sweep takes out of them |
//! | [`reverse`] | the forward sweep that keeps what is needed, and the reverse sweep |
//! | [`alias`] | which memory the loads and stores of the derivative touch |

pub mod alias;
pub mod augment;
mod augment_memory;
mod cleanup;
mod forward;
pub mod halve;
pub mod linear;
pub mod memory;
pub mod plan;
mod refill;
pub mod retype;
pub mod reverse;
pub mod session;
mod transpose;
pub mod unselect;
