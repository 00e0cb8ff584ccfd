//! Where the transpose of each linear operation runs.
//!
//! Split reversal is the default: all transposes run in the reverse sweep. Joint reversal runs them earlier, where the cotangent is known
//! before the reverse sweep begins.
//!
//! | module | does |
//! |---|---|
//! | `useful` | linear operations whose transposes have nothing to pass on are dropped |
//! | [`joint_calls`] | calls that compute the value and add to the gradient in one function |
//! | `joint_loops` | loops that only add things up: each iteration is reversed as soon as it is through |
//! | `refill` | places that get back at once what the reverse sweep takes out of them |

pub mod joint_calls;
pub(crate) mod joint_loops;
pub(crate) mod refill;
pub(crate) mod useful;
