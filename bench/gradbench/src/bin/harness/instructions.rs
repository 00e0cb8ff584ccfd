//! How many instructions primals and derivatives take, at the smallest of the growing sizes.

use crate::Outcome;
use crate::tools::Ours;
use crate::workloads::{self, Growing};
use pullback_measure::Noise;
use pullback_measure::instructions::{self, Callgrind};
use serde_json::json;

pub fn run(evals: &[&str]) -> Outcome<()> {
    for growing in workloads::growing() {
        if evals.is_empty() || evals.contains(&growing.eval) {
            println!("{}", count(&growing).map_err(|error| format!("{}: {error}", growing.eval))?);
        }
    }
    Ok(())
}

fn count(growing: &Growing) -> Outcome<String> {
    let callgrind = Callgrind::new().map_err(|error| error.to_string())?;
    let mut tool = Ours::start_as(|program| callgrind.command(program))?;
    let mut input = (growing.input)(&mut Noise::new(), growing.sizes[0]);
    // The first run allocates what the second one finds.
    input["min_runs"] = json!(2);
    input["min_seconds"] = json!(0.0);
    let mut evaluate = |function: &str| -> Outcome<u64> {
        tool.evaluate(growing.eval, function, &input)?;
        let counts = callgrind.counts().map_err(|error| error.to_string())?;
        counts.last().copied().ok_or_else(|| format!("`{function}` is not counted"))
    };
    let primal = growing.primal.map(&mut evaluate).transpose()?;
    let name = format!("gradbench {} {}", growing.eval, growing.derivative);
    Ok(instructions::line(&name, primal, evaluate(growing.derivative)?))
}
