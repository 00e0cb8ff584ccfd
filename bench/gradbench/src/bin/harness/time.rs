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

/// One tool on one workload: milliseconds of the primal and of the derivative.
pub struct Time {
    pub tool: String,
    pub primal: f64,
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
        line += &format!("  {tool} {primal:.2} / {derivative:.2} ({:.1}×){note}", derivative / primal);
    }
    line
}

fn time(workload: &Workload, peers: &[Peer], file: &Path) -> Outcome<Row> {
    fs::write(file, workload.input.to_string()).map_err(|error| format!("`{}`: {error}", file.display()))?;
    let Workload { eval, size, functions, input } = workload;
    // For each tool the shortest run of each function, and its derivative.
    let mut found: Vec<Option<([f64; 2], Value)>> = (0..=peers.len()).map(|_| None).collect();
    for _ in 0..ROUNDS {
        for (tool, found) in found.iter_mut().enumerate() {
            for (which, function) in functions.iter().enumerate() {
                let answer = match tool.checked_sub(1) {
                    None => Some(Ours::start()?.evaluate(eval, function, input)),
                    Some(peer) => peers[peer].evaluate(eval, function, file),
                };
                let Some(answer) = answer else { continue };
                let Answer { output, runs } = answer?;
                let shortest = runs.iter().min().map_or(f64::INFINITY, |run| *run as f64 * 1e-6);
                let (times, derivative) = found.get_or_insert(([f64::INFINITY; 2], Value::Null));
                times[which] = times[which].min(shortest);
                *derivative = output;
            }
        }
    }
    let ours = found[0].as_ref().map(|(_, derivative)| derivative.clone()).unwrap_or_default();
    let names = std::iter::once("pullback").chain(peers.iter().map(|peer| peer.name.as_str()));
    let times = names.zip(found).filter_map(|(tool, found)| {
        let ([primal, derivative], output) = found?;
        let difference = relative_error(&output, &ours).unwrap_or(f64::INFINITY);
        Some(Time { tool: tool.to_owned(), primal, derivative, difference })
    });
    Ok(Row { eval, size, times: times.collect() })
}
