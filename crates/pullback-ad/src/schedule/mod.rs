//! Where the transpose of each linear operation runs.
//!
//! Split reversal is the default: all transposes run in the reverse sweep. Joint reversal runs them earlier, where the
//! cotangent is known before the reverse sweep begins.
//!
//! | module | does |
//! |---|---|
//! | `preheader` | on the way into a counted loop, how often it will run is computed: a value that a plan can use |
//! | `useful` | linear operations whose transposes have nothing to pass on are dropped |
//! | `borrows` | pullbacks that refer to memory which is written before they run are found |
//! | [`known`] | cotangents that are known before the reverse sweep, as expressions |
//! | [`joint_calls`] | calls that compute the value and add to the gradient in one function |
//! | `joint_loops` | loops that only add things up: each iteration is reversed as soon as it is through |
//! | [`recomputable`] | which loads give the same value in the reverse sweep |
//! | `renewed` | memory that each iteration of a loop makes anew |
//! | [`walk`] | header parameters that are such loads |
//! | `refill` | places that get back at once what the reverse sweep takes out of them |

use crate::error::{Error, ErrorKind, Result};
use crate::linearise::augment::Augmented;
use crate::schedule::borrows::check_borrows;
use crate::schedule::joint_loops::JointLoops;
use crate::schedule::preheader::count_loops;
use crate::schedule::useful::drop_useless;
use crate::session::{Form, Session};
use pullback_ir::{ControlFlow, Loop, Value};
use std::collections::HashMap;

mod borrows;
pub mod joint_calls;
pub mod joint_loops;
pub mod known;
mod preheader;
pub mod recomputable;
pub(crate) mod refill;
pub mod renewed;
mod useful;
pub mod walk;

/// A linear program, and where the transposes of its operations run.
pub struct Scheduled {
    /// The program. Trip counts of counted loops are values of it.
    pub aug: Augmented,
    /// Where its reverse sweep stands.
    pub form: Form,
    /// Its blocks and loops.
    pub flow: ControlFlow,
    /// How often the counted loops run that the reverse sweep goes through.
    pub trips: HashMap<Loop, Value>,
    /// The loops whose iterations are reversed as soon as they are through. All else is reversed in the reverse sweep.
    pub joint_loops: JointLoops,
}

/// Decide where transposes run.
pub fn schedule(session: &Session, aug: Augmented, form: Form) -> Result<Scheduled> {
    let mut scheduled = split(aug, form)?;
    check_borrows(session, &mut scheduled.aug, &scheduled.flow.cfg, form)?;
    scheduled.joint_loops = joint_loops::find(session, &scheduled);
    let joint = &scheduled.joint_loops.loops;
    scheduled.trips.retain(|id, _| !joint.contains_key(id));
    Ok(scheduled)
}

/// Split reversal: all transposes run in the reverse sweep.
pub fn split(mut aug: Augmented, form: Form) -> Result<Scheduled> {
    let counts = count_loops(&mut aug.func).map_err(|edge| {
        Error::new(ErrorKind::Unsupported, "a loop that is entered in its middle")
            .at(aug.func.block(edge.from).term_loc)
            .note("the optimiser made control flow here that has no structured form")
    })?;
    let flow = ControlFlow::new(&aug.func).expect("a block on the way into a loop keeps its form");
    drop_useless(&mut aug, &flow.cfg);
    let trips = flow.loops.iter().filter_map(|(id, data)| Some((id, *counts.get(&data.header)?))).collect();
    Ok(Scheduled { aug, form, flow, trips, joint_loops: JointLoops::default() })
}
