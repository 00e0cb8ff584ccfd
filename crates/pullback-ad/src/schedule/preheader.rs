//! The trip counts of counted loops, as values of the program.
//!
//! On the way into each counted loop goes a block that computes how often it will run. From then on the count is a
//! value like any other: the forward sweep makes arrays of that length, and the reverse sweep, which starts with the
//! last iteration, gets it as the plan says.

use pullback_ir::counted::{self, Counted};
use pullback_ir::loops::LoopData;
use pullback_ir::{Block, BlockCall, Builder, ControlFlow, Function, Irreducible, Loop, Value};
use std::collections::HashMap;

/// Compute the counts of all counted loops that the function may return from; they are handed back by the loops'
/// headers.
pub fn count_loops(func: &mut Function) -> Result<HashMap<Block, Value>, Irreducible> {
    let ControlFlow { cfg, doms, loops } = ControlFlow::new(func)?;
    let counted = Counted::new(func, &cfg, &doms, &loops);
    let trips = |(id, data): (Loop, &LoopData)| {
        let trips = counted.trip_count(id, |b| cfg.can_return(b))?;
        let (entry, _) = counted::ways(func, &cfg, &loops, id)?;
        Some((data.header, entry, trips))
    };
    let found: Vec<_> = loops.iter().filter(|(_, data)| cfg.can_return(data.header)).filter_map(trips).collect();
    let mut counts = HashMap::new();
    for (header, entry, trips) in found {
        let block = func.add_block();
        let into = func.redirect(entry, BlockCall::new(block, vec![]));
        let mut b = Builder::new(func, block);
        counts.insert(header, trips.emit(&mut b));
        b.jump(header, into.args);
    }
    Ok(counts)
}
