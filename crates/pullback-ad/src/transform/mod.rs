//! From a function to its derivative.
//!
//! | module | does |
//! |---|---|
//! | [`unselect`] | selections between computed values become branches again |
//! | [`separate`] | accesses by way of selected pointers become branches, where objects could not be told apart else |
//! | [`extremum`] | the largest of a loop's values is looked up after the loop |
//! | [`unpack`] | aggregates with pointers are read and written field by field |
//! | [`rejoin`] | a pointer that is stored in two halves is stored as a pointer |
//! | [`halve`] | wide integers that carry several floats or pointers are taken apart |
//! | [`retype`] | integers that only carry a float's or pointer's bits become floats and pointers |
//! | [`words`] | floats and pointers that may be either become plain words |
//! | [`hoist`] | loops that compute the same in each iteration of the loop around them go in front of it |
//! | [`linear`] | the linear operations on tangents, and their forward emission |
//! | [`session`] | what all functions of one derivative share |
//! | [`augment`] | the primal with shadow pointers beside its pointers, and a linear operation at each active instruction |
//! | `cleanup` | what calls of the augmented primal do when they panic |
//! | [`one_go`] | calls that compute the value and add to the gradient in one go |
//! | `useful` | linear operations whose transposes have nothing to pass on are dropped |
//! | `preheader` | the trip counts of counted loops, as values |
//! | `stable` | loads that may be done again |
//! | `max_flow` | the smallest cut of a network |
//! | [`plan`] | what the reverse sweep needs, and how it gets it |
//! | `at_once` | loops that only add things up: each iteration is reversed as soon as it is through |
//! | `refill` | places that get back at once what the reverse sweep takes out of them |
//! | `unrecorded` | counted loops, for where there is no memory for their arrays |
//! | [`reverse`] | the forward sweep that keeps what is needed, and the reverse sweep |
//! | `gates` | how the reverse sweep gets into loops that are left at several places |
//! | `slots` | what crosses from one sweep to the other, and how loops save and restore it |
//! | `again` | values of the forward sweep in the reverse sweep |
//! | `transpose` | the transposes of the linear operations |
//! | [`release`] | what rules keep is dropped while what it refers to is there |
//! | [`alias`] | which memory the loads and stores of the derivative touch |

mod again;
pub mod alias;
mod at_once;
pub mod augment;
mod augment_memory;
mod change_types;
mod cleanup;
pub mod extremum;
mod forward;
mod gates;
pub mod halve;
pub mod hoist;
mod inner_tape;
pub mod linear;
mod max_flow;
pub mod memory;
pub mod one_go;
pub mod plan;
mod preheader;
mod refill;
pub mod rejoin;
pub mod release;
pub mod retype;
pub mod reverse;
pub mod rule_call;
pub mod separate;
pub mod session;
mod slots;
mod stable;
#[cfg(test)]
mod testing;
mod transpose;
pub mod unpack;
mod unrecorded;
pub mod unselect;
mod useful;
pub mod words;
