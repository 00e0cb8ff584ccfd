//! Runs a program or its derivative in the IR's interpreter.

use crate::image::{Image, read};
use pullback_ad::{Argument, Mode};
use pullback_ir::interp::{Interp, Kind, Options, Trap, Uninitialised, Val};
use pullback_ir::{FuncId, Module};

/// What a run leaves behind.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// All floats of the arguments' memory, in the order of [`Image::all_lanes`].
    pub memory: Vec<f64>,
    /// For each shadow its floats, in the order of [`Image::active_lanes`].
    pub shadows: Vec<Vec<f64>>,
    /// Pieces of memory that were not given back, to the heap or to a tape.
    pub leaked: usize,
    /// How many instructions were executed.
    pub executed: u64,
}

/// Run the primal.
pub fn primal(module: &Module, func: FuncId, image: &Image, uninitialised: Uninitialised) -> Result<Outcome, String> {
    let options = Options { uninitialised, ..limits() };
    let mut interp = Interp::with_options(module, options);
    let addresses = lay(&mut interp, image, None).map_err(|t| t.to_string())?;
    let args: Vec<Val> = image.args.iter().map(|blob| Val::Ptr(addresses[*blob])).collect();
    interp.call(func, &args).map_err(|e| e.to_string())?;
    collect(&interp, image, &addresses, &[]).map_err(|t| t.to_string())
}

/// Run a derivative, with a shadow for each batch direction.
pub fn derivative(
    module: &Module,
    func: FuncId,
    mode: Mode,
    arguments: &[Argument],
    image: &Image,
    shadows: &[Vec<f64>],
) -> Result<Outcome, String> {
    let mut interp = Interp::with_options(module, limits());
    let addresses = lay(&mut interp, image, None).map_err(|t| t.to_string())?;
    let mut shadow_addresses = Vec::new();
    for shadow in shadows {
        let laid = lay(&mut interp, &image.with_lanes(shadow), Some(&addresses)).map_err(|t| t.to_string())?;
        shadow_addresses.push(laid);
    }
    let tape = (mode == Mode::Reverse).then(|| interp.new_tape());
    let mut args: Vec<Val> = tape.into_iter().map(Val::Ptr).collect();
    for (argument, blob) in arguments.iter().zip(&image.args) {
        args.push(Val::Ptr(addresses[*blob]));
        if argument.activity.has_shadow() {
            args.extend(shadow_addresses.iter().map(|s| Val::Ptr(s[*blob])));
        }
    }
    interp.call(func, &args).map_err(|e| e.to_string())?;
    if let Some(tape) = tape {
        if let Some(bytes @ 1..) = interp.tape_bytes(tape) {
            return Err(format!("{bytes} bytes are left on the tape"));
        }
        interp.drop_tape(tape).map_err(|t| t.to_string())?;
    }
    collect(&interp, image, &addresses, &shadow_addresses).map_err(|t| t.to_string())
}

fn limits() -> Options {
    Options { step_limit: 20_000_000, depth_limit: 1000, memory_limit: 1 << 28, ..Options::default() }
}

/// Lay the image into memory; the address of each blob. A shadow has blobs of its own where there is a shadow, and
/// points into the primal where there is none.
fn lay(interp: &mut Interp, image: &Image, primal: Option<&[u64]>) -> Result<Vec<u64>, Trap> {
    let mut addresses = Vec::new();
    for (i, blob) in image.blobs.iter().enumerate() {
        addresses.push(match primal {
            Some(primal) if !blob.active => primal[i],
            _ => interp.alloc_bytes(&blob.bytes)?,
        });
    }
    for (blob, address) in image.blobs.iter().zip(&addresses) {
        if primal.is_some() && !blob.active {
            continue;
        }
        for (offset, target) in &blob.pointers {
            interp.memory_mut().write(address + offset, &addresses[*target].to_le_bytes())?;
        }
    }
    Ok(addresses)
}

fn collect(interp: &Interp, image: &Image, addresses: &[u64], shadows: &[Vec<u64>]) -> Result<Outcome, Trap> {
    let floats = |addresses: &[u64], lanes: Vec<(usize, crate::image::Lane)>| {
        let one = |(blob, lane): (usize, _)| {
            let bytes = interp.memory().read(addresses[blob], image.blobs[blob].bytes.len() as u64)?;
            Ok(read(&bytes, lane))
        };
        lanes.into_iter().map(one).collect::<Result<Vec<f64>, Trap>>()
    };
    Ok(Outcome {
        memory: floats(addresses, image.all_lanes())?,
        shadows: shadows.iter().map(|s| floats(s, image.active_lanes())).collect::<Result<_, _>>()?,
        leaked: [Kind::Heap, Kind::Tape, Kind::Shadow].map(|kind| interp.memory().live(kind).len()).iter().sum(),
        executed: interp.executed(),
    })
}
