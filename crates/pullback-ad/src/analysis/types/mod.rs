//! Is an integer a number, the bits of a float, or a pointer?
//!
//! The optimiser moves floats and pointers as integers, and the payload of an enum is one of the three by its variant.
//! Each module answers for one side:
//!
//! | module | answers |
//! |---|---|
//! | [`computed`] | which integers are computed as numbers, and so are no bits of a float? |
//! | [`plain`] | which integers are numbers for sure, so that forward mode may copy them to a shadow? |
//! | [`as_floats`] | which constant floats are such numbers, moved as floats? |
//! | `evidence` | in which memory do numbers lie, where floats lie too? |
//! | `exponents` | which operations on a float's bits leave its mantissa alone? |
//! | `carried` | which integers are passed on as what they carry, and which only computed with? |
//! | [`mistyped`] | which floats are pointers at times, and which pointers floats? |
//! | [`pieces`] | which pointers are moved in halves, and which floats as part of a pointer? |
//! | `repacked` | which floats are put together from the bits of others? |
//! | `rounded` | which floats are rounded by an addition, and so have no derivative? |
//! | `tricks` | which floats are computed from the bits of others, where numbers lie too? |
//! | [`unseen`] | what may lie in an enum that is moved without a look at its variant? |

pub mod as_floats;
pub(crate) mod carried;
pub mod computed;
pub(crate) mod evidence;
pub(crate) mod exponents;
pub mod mistyped;
pub mod pieces;
pub mod plain;
pub(crate) mod repacked;
pub(crate) mod rounded;
pub(crate) mod tricks;
pub mod unseen;
