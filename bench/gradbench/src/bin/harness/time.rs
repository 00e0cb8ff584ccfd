//! How long primals and derivatives take, beside other tools if there are some.
//!
//! All tools get the same inputs, in turns. A time is the median of all runs: the shortest would be that of a run for
//! which everything happened to be in place. What the first run of a process takes, which finds no memory ready, is told
//! beside it. Outputs are compared with ours, so that nobody is fast with a wrong answer.

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
const ROUNDS: usize = 5;

/// One tool on one workload: milliseconds of the primal, if there is one, and of the derivative, as medians.
pub struct Time {
    pub tool: String,
    pub primal: Option<f64>,
    pub derivative: f64,
    /// Of the derivative's first run in a process.
    pub first: f64,
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

/// A row as text: primal and derivative of each tool in milliseconds, the ratio of the two, and the derivative's first
/// run.
fn line(row: &Row) -> String {
    let mut line = format!("{:<7} {:<15}", row.eval, row.size);
    for Time { tool, primal, derivative, first, difference } in &row.times {
        let differs = if *difference <= 1e-9 { String::new() } else { format!(" differs by {difference:.0e}") };
        let note = format!(" first {first:.2}{differs}");
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
    let mut found: Vec<Option<Runs>> = (0..=peers.len()).map(|_| None).collect();
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
            let runs = found.get_or_insert_default();
            runs.first.extend(answer.runs().next());
            runs.derivative.extend(answer.runs());
            if let Some(primal) = primal.map(evaluate).transpose()?.flatten() {
                runs.primal.extend(primal.runs());
            }
            if tool == 0 {
                ours = answer.output.clone();
            }
            runs.difference = runs.difference.max(relative_error(&answer.output, &ours).unwrap_or(f64::INFINITY));
        }
    }
    let times = found.into_iter().enumerate().filter_map(|(tool, runs)| {
        let Runs { primal, derivative, first, difference } = runs?;
        let tool = tool.checked_sub(1).map_or("pullback", |peer| &peers[peer].name).to_owned();
        let milliseconds = |runs| median(runs).map(|time| time * 1e-6);
        let (derivative, first) = (milliseconds(derivative)?, milliseconds(first)?);
        Some(Time { tool, primal: milliseconds(primal), derivative, first, difference })
    });
    Ok(Row { eval, size, times: times.collect() })
}

/// What all runs of a tool took, in nanoseconds.
#[derive(Default)]
struct Runs {
    primal: Vec<f64>,
    derivative: Vec<f64>,
    /// Of the derivative, the first in each process.
    first: Vec<f64>,
    difference: f64,
}

/// The one in the middle; nothing if there are none.
fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}
