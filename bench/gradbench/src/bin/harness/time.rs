//! How long primals and derivatives take, beside other tools if there are some.
//!
//! All tools get the same inputs, in turns. Of all runs the shortest counts: what else the machine does makes runs
//! longer, and that by chance. Outputs are compared with ours, so that nobody is fast with a wrong answer.

use crate::Outcome;
use crate::chart;
use crate::compare::relative_error;
use crate::results::Results;
use crate::tools::{Answer, Ours, Peer, peers};
use crate::workloads::{self, Workload};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// How often the tools take turns.
const ROUNDS: usize = 3;

/// One tool on one workload: milliseconds of the primal, if there is one, and of the derivative.
pub struct Time {
    pub tool: String,
    pub primal: Option<f64>,
    pub derivative: f64,
    /// How far its derivative is from ours.
    pub difference: f64,
}

/// The tools on one workload, ours first.
pub struct Row {
    pub eval: &'static str,
    pub size: &'static str,
    pub times: Vec<Time>,
}

pub fn run(options: &[&str]) -> Outcome<()> {
    let mut results = Results::new(options)?;
    let peers = results.peers.as_deref().map_or(Ok(Vec::new()), peers)?;
    let mut rows = Vec::new();
    for mut workload in workloads::all() {
        if !results.is_wanted(workload.eval) {
            continue;
        }
        workload.input["min_runs"] = json!(3);
        workload.input["min_seconds"] = json!(0.3);
        let row = time(&workload, &peers, &results.directory.join("input.json"))?;
        results.line(line(&row));
        rows.push(row);
    }
    results.save("table.txt", "chart.svg", &chart::bars(&rows))
}

/// A row as text: primal and derivative of each tool in milliseconds, and the ratio of the two.
fn line(row: &Row) -> String {
    let mut line = format!("{:<7} {:<15}", row.eval, row.size);
    for Time { tool, primal, derivative, difference } in &row.times {
        let note = if *difference <= 1e-9 { String::new() } else { format!(" differs by {difference:.0e}") };
        line += &match primal {
            Some(primal) => format!("  {tool} {primal:.2} / {derivative:.2} ({:.1}×){note}", derivative / primal),
            None => format!("  {tool} {derivative:.2}{note}"),
        };
    }
    line
}

fn time(workload: &Workload, peers: &[Peer], file: &Path) -> Outcome<Row> {
    fs::write(file, workload.input.to_string()).map_err(|error| format!("`{}`: {error}", file.display()))?;
    let Workload { eval, size, primal, derivative, input } = workload;
    let mut found: Vec<Option<Time>> = (0..=peers.len()).map(|_| None).collect();
    let mut ours = Value::Null;
    for _ in 0..ROUNDS {
        for (tool, found) in found.iter_mut().enumerate() {
            let evaluate = |function: &str| -> Outcome<Option<Answer>> {
                match tool.checked_sub(1) {
                    None => Ours::start()?.evaluate(eval, function, input).map(Some),
                    Some(peer) => peers[peer].evaluate(eval, function, file).transpose(),
                }
            };
            let Some(answer) = evaluate(derivative)? else { continue };
            let (derivative, output) = (answer.shortest() * 1e-6, answer.output);
            let primal = primal.map(evaluate).transpose()?.flatten().map(|answer| answer.shortest() * 1e-6);
            if tool == 0 {
                ours = output.clone();
            }
            let name = tool.checked_sub(1).map_or("pullback", |peer| &peers[peer].name);
            let difference = relative_error(&output, &ours).unwrap_or(f64::INFINITY);
            let new = Time { tool: name.to_owned(), primal, derivative, difference };
            *found = Some(match found.take() {
                Some(old) => Time {
                    primal: old.primal.into_iter().chain(new.primal).reduce(f64::min),
                    derivative: old.derivative.min(new.derivative),
                    ..new
                },
                None => new,
            });
        }
    }
    Ok(Row { eval, size, times: found.into_iter().flatten().collect() })
}
