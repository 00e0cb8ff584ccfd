//! Face 4: the link driver.
//!
//! Called by rustc as the linker. Finds the modules that ask for derivatives, makes the derivatives, and calls the real
//! linker with the changed modules and the derivatives' objects in their places. A link without requests is handed over at
//! once.
//!
//! | module | what it does |
//! |---|---|
//! | [`line`] | reads and changes the linker's command line |
//! | [`inputs`] | finds bitcode in objects and archives, writes archives |
//! | [`std_bodies`] | finds the bodies of the standard library's functions |

pub mod inputs;
pub mod line;
pub mod std_bodies;

use crate::{env, process};
use anyhow::Result;
use inputs::Input;
use line::LinkLine;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

/// Run as rustc's linker.
pub fn run(args: Vec<OsString>) -> Result<ExitCode> {
    let line = LinkLine::new(args.clone())?;
    let mut linker = Command::new(env::var(env::INNER_LINKER).unwrap_or_else(|| "cc".into()));
    let inputs = read_inputs(&line)?;
    let asks = inputs.iter().any(|input| input.members.iter().any(|member| member.may_have_requests()));
    if !asks && line.uses_lld() {
        linker.args(args);
        return process::hand_over(linker);
    }
    anyhow::bail!("not there yet")
}

/// The files on the line that may hold bitcode: all but the standard library's.
fn read_inputs(line: &LinkLine) -> Result<Vec<Input>> {
    let own = |path: &std::path::Path| !path.parent().is_some_and(line::is_standard_library);
    line.inputs().into_iter().filter(|(_, path)| own(path)).map(|(at, path)| Input::read(at, path)).collect()
}
