//! A smaller program with the same fault.
//!
//! Lines are taken out, one statement at a time (a line, or as many as its brackets span), or the first and the last
//! line of a block, whose content stays. What does not compile then is no candidate. All candidates of a round are one
//! batch.

use super::build::{Finding, Workshop};
use super::program::Program;
use std::collections::BTreeSet;
use std::io;

/// How many rounds at most.
const ROUNDS: usize = 10;

/// Lines that are left out, by number.
type Edit = BTreeSet<usize>;

/// Make the program smaller as long as the finding stays; returns it, and what is seen of it then.
pub fn shrink(workshop: &Workshop, program: &Program, finding: &Finding) -> io::Result<(Program, String)> {
    let mut best = (program.clone(), finding.said.clone());
    for _ in 0..ROUNDS {
        let edits = edits(&best.0);
        let bad = still_bad(workshop, &best.0, &edits, finding)?;
        let Some((first, said)) = bad.first() else { break };
        // What can be left out alone can often be left out together.
        let mut next = (edits[*first].clone(), said.clone());
        let mut all = Edit::new();
        let unions: Vec<Edit> = bad
            .iter()
            .map(|(i, _)| {
                all.extend(&edits[*i]);
                all.clone()
            })
            .collect();
        for (i, said) in still_bad(workshop, &best.0, &unions[1..], finding)? {
            if unions[i + 1].len() > next.0.len() {
                next = (unions[i + 1].clone(), said);
            }
        }
        best = (without(&best.0, &next.0), next.1);
    }
    Ok(best)
}

/// Which of the edits leave the finding as it is, with what is seen then.
fn still_bad(workshop: &Workshop, of: &Program, edits: &[Edit], finding: &Finding) -> io::Result<Vec<(usize, String)>> {
    let Some(profile) = finding.profile else { return Ok(Vec::new()) };
    let candidates: Vec<Program> = edits.iter().map(|edit| without(of, edit)).collect();
    let outcome = workshop.check(&candidates, &[profile])?;
    let mut bad: Vec<(usize, String)> = outcome
        .findings
        .into_iter()
        .filter(|seen| seen.kind == finding.kind && headline(&seen.said) == headline(&finding.said))
        .map(|seen| (seen.program, seen.said))
        .collect();
    bad.sort();
    Ok(bad)
}

/// What a message is about, without the numbers and names of one program.
pub fn headline(said: &str) -> String {
    let Some((_, rest)) = said.split_once("cannot differentiate ") else { return String::new() };
    let line = rest.lines().next().unwrap_or("");
    let line = line.split_once(": ").map_or(line, |(_, rest)| rest);
    // The names of functions and arguments are in backquotes.
    line.split('`').enumerate().map(|(i, part)| if i % 2 == 0 { part } else { "`…`" }).collect()
}

fn lines(program: &Program) -> Vec<&str> {
    program.body.lines().chain(program.helpers.lines()).collect()
}

fn without(program: &Program, edit: &Edit) -> Program {
    let body = program.body.lines().count();
    let text = |from: usize, text: &str| {
        let kept = text.lines().enumerate().filter(|(i, _)| !edit.contains(&(from + i)));
        kept.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    Program { body: text(0, &program.body), helpers: text(body, &program.helpers), ..program.clone() }
}

/// What can be tried.
fn edits(program: &Program) -> Vec<Edit> {
    let lines = lines(program);
    let mut edits = Vec::new();
    for first in 0..lines.len() {
        let Some(last) = end(&lines, first) else { continue };
        let whole: Edit = (first..=last).collect();
        if is_unused(&lines, &whole) {
            edits.push(whole);
        }
        if last > first && lines[first].trim_end().ends_with('{') && !lines[first].starts_with("fn ") {
            let frame = Edit::from([first, last]);
            if is_unused(&lines, &frame) {
                edits.push(frame);
            }
        }
    }
    edits
}

/// The line in which the brackets that a line opens are closed.
fn end(lines: &[&str], first: usize) -> Option<usize> {
    let mut depth = 0i64;
    for (i, line) in lines.iter().enumerate().skip(first) {
        let mut lowest = depth;
        for c in line.chars() {
            depth += match c {
                '{' | '(' | '[' => 1,
                '}' | ')' | ']' => -1,
                _ => 0,
            };
            lowest = lowest.min(depth);
        }
        // A line between two blocks, as `} else {`, is no place to begin or to end.
        if lowest < 0 || (i == first && lines[first].trim().is_empty()) {
            return None;
        }
        if depth == 0 {
            return Some(i);
        }
    }
    None
}

/// Whether no line that stays has a name that one which goes has brought in.
fn is_unused(lines: &[&str], edit: &Edit) -> bool {
    let names = |line: &str| -> Vec<String> {
        let words = line.split(|c: char| !c.is_ascii_alphanumeric());
        let is_name = |word: &&str| {
            word.len() > 1
                && word.ends_with(|c: char| c.is_ascii_digit())
                && word.starts_with(|c: char| c.is_ascii_lowercase())
        };
        words.filter(is_name).map(str::to_owned).collect()
    };
    let mut brought: BTreeSet<String> = edit.iter().flat_map(|i| names(lines[*i])).collect();
    let first = edit.first().copied().unwrap_or(0);
    for name in lines[..first].iter().flat_map(|line| names(line)) {
        brought.remove(&name);
    }
    brought.retain(|name| !name.starts_with('a'));
    let stays = |i: &usize| !edit.contains(i);
    !(first..lines.len()).filter(stays).flat_map(|i| names(lines[i])).any(|name| brought.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_nothing_depends_on_can_go() {
        let mut program = Program::new(1);
        program.body = "    let x1 = a0;\n    if x1 > a0 {\n        let x2 = x1;\n    }\n    x1\n".into();
        program.helpers = String::new();
        let edits = edits(&program);
        let expected = [vec![1, 2, 3], vec![1, 3], vec![2], vec![4]];
        assert_eq!(edits, expected.map(|lines| lines.into_iter().collect::<Edit>()));
        assert_eq!(without(&program, &edits[0]).body, "    let x1 = a0;\n    x1\n");
    }

    #[test]
    fn a_headline_has_no_names() {
        let said = "error: cannot differentiate `f7`: a pointer may reach `a0`, or not\n --> p7.rs";
        assert_eq!(headline(said), "a pointer may reach `…`, or not");
    }
}
