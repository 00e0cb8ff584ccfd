//! How long primals and derivatives take, beside other tools if there are some.
//!
//! All tools get the same inputs, in turns. Of all runs the shortest counts: what else the machine does makes runs longer, and that
//! by chance. Outputs are compared with ours, so that nobody is fast with a wrong answer.

use crate::Outcome;
use crate::chart;
use crate::compare::relative_error;
use crate::tools::{Answer, Ours, Peer, peers};
use crate::workloads::{self, Workload};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

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
    let (mut installation, mut out, mut evals) = (None, None, Vec::new());
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "--peers" => installation = Some(PathBuf::from(options.next().ok_or("--peers needs a directory")?)),
            "--out" => out = Some(PathBuf::from(options.next().ok_or("--out needs a directory")?)),
            eval => evals.push(eval),
        }
    }
    let peers = installation.map_or(Ok(Vec::new()), |directory| peers(&directory))?;
    let directory = out.unwrap_or_else(std::env::temp_dir);
    fs::create_dir_all(&directory).map_err(|error| format!("`{}`: {error}", directory.display()))?;
    let mut rows = Vec::new();
    for mut workload in workloads::all() {
        if !evals.is_empty() && !evals.contains(&workload.eval) {
            continue;
        }
        workload.input["min_runs"] = json!(3);
        workload.input["min_seconds"] = json!(0.3);
        let row = time(&workload, &peers, &directory.join("input.json"))?;
        println!("{}", line(&row));
        rows.push(row);
    }
    let save = |name: &str, text: String| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|error| format!("`{}`: {error}", path.display()))?;
        println!("{}", path.display());
        Ok(())
    };
    let table: Vec<String> = rows.iter().map(line).collect();
    save("table.txt", table.join("\n") + "\n")?;
    save("chart.svg", chart::draw(&rows))
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
            let Some(Answer { output, runs }) = evaluate(derivative)? else { continue };
            let primal = primal.map(evaluate).transpose()?.flatten().map(|answer| shortest(&answer.runs));
            if tool == 0 {
                ours = output.clone();
            }
            let name = tool.checked_sub(1).map_or("pullback", |peer| &peers[peer].name);
            let difference = relative_error(&output, &ours).unwrap_or(f64::INFINITY);
            let new = Time { tool: name.to_owned(), primal, derivative: shortest(&runs), difference };
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

/// The shortest of some runs, in milliseconds.
fn shortest(runs: &[u64]) -> f64 {
    runs.iter().min().map_or(f64::INFINITY, |run| *run as f64 * 1e-6)
}
