//! Points-to analysis: what memory there is, what lies in it, and which pointer reaches which.
//!
//! | module | answers |
//! |---|---|
//! | [`flow`] | which pointer reaches which object, and at which offsets? |
//! | [`facts`] | … as what is handed on |
//! | [`objects`] | what memory is there, and what lies in it? |
//! | `places` | … at which places, and what do layouts say of them? |
//! | `seed` | what do the layouts of arguments say of that? |
//! | `shape` | what can be read off one function before anything is known of memory? |
//! | [`offsets`] | which byte offsets may an address have? |
//! | [`strided`] | … as a strided interval? |
//! | [`numbers`] | what comes out of integer arithmetic? |
//! | [`ranges`] | between which numbers does an index lie? |
//! | [`lanes`] | where are the floats and pointers of a copied region? |
//! | [`regions`] | which objects may be the same memory by other names? |

pub mod facts;
pub mod flow;
pub mod lanes;
pub mod numbers;
pub mod objects;
pub mod offsets;
mod places;
pub mod ranges;
pub mod regions;
mod seed;
mod shape;
pub mod strided;
