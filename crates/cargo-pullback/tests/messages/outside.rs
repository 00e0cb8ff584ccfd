//! What talks to the world outside may read what depends on the inputs, and neither overwrite nor keep it.

use pullback::{grad, non_differentiable};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::time::{Duration, SystemTime};

fn overwritten(x: &[f64; 2]) -> f64 {
    let mut bytes = (x[0] * x[1]).to_ne_bytes();
    File::open("/dev/zero").unwrap().read_exact(&mut bytes).unwrap();
    f64::from_ne_bytes(bytes) + x[0]
}

fn overwritten_in_the_end(x: &[f64; 2]) -> f64 {
    let mut bytes = (x[0] * x[1]).to_ne_bytes();
    BufReader::new(File::open("/dev/zero").unwrap()).read_exact(&mut bytes).unwrap();
    f64::from_ne_bytes(bytes) + x[0]
}

#[non_differentiable]
fn fill(bytes: &mut [u8]) {
    File::open("/dev/zero").unwrap().read_exact(bytes).unwrap();
}

fn overwritten_by_the_program(x: &[f64; 2]) -> f64 {
    let mut bytes = (x[0] * x[1]).to_ne_bytes();
    fill(&mut bytes);
    f64::from_ne_bytes(bytes) + x[0]
}

fn kept(x: &[f64; 2]) -> f64 {
    let bytes = (x[0] * x[1] + 0.1).to_ne_bytes();
    let mut command = Command::new("echo");
    command.arg(OsStr::from_bytes(&bytes));
    f64::from_ne_bytes(command.get_args().next().unwrap().as_bytes().try_into().unwrap())
}

fn counted(x: &[f64; 2]) -> f64 {
    let then = SystemTime::UNIX_EPOCH + Duration::new(x[0].to_bits(), 0);
    f64::from_bits(then.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()) * x[1]
}

fn main() {
    let x = [2.0, 3.0];
    println!("{:?} {:?}", grad(overwritten, &x), grad(overwritten_in_the_end, &x));
    println!("{:?} {:?} {:?}", grad(overwritten_by_the_program, &x), grad(kept, &x), grad(counted, &x));
}
