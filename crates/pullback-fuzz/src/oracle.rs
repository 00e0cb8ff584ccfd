//! Runs a program on the dual-number evaluator: what its derivative has to be.

use crate::dual::{Machine, Scalar, Trap, Val};
use crate::generate::Program;
use crate::image::{Blob, Image, read, write};

/// What a run of a program leaves behind.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The active floats of the arguments' memory, in the order of [`Image::active_lanes`].
    pub values: Vec<f64>,
    /// Their tangents.
    pub tangents: Vec<f64>,
    /// All floats of the arguments' memory, in the order of [`Image::all_lanes`].
    pub memory: Vec<f64>,
    /// The largest magnitude of a value or tangent on the way.
    pub magnitude: f64,
    /// Whether every float and every tangent on the way was finite.
    pub finite: bool,
    /// Objects that were not given back.
    pub leaked: usize,
}

/// Run the program on `image`, with these tangents of its active floats.
pub fn run(program: &Program, image: &Image, tangents: &[f64]) -> Result<Outcome, Trap> {
    let mut machine = Machine::new(&program.module);
    let duals = image.with_lanes(tangents);
    let addresses: Vec<u64> = image.blobs.iter().map(|b| machine.memory.allocate(b.bytes.len() as u64)).collect();
    for ((blob, dual), address) in image.blobs.iter().zip(&duals.blobs).zip(&addresses) {
        let dual = if blob.active { tangent_bytes(dual) } else { vec![0; blob.bytes.len()] };
        machine.memory.write(*address, &blob.bytes, &dual)?;
        for (offset, target) in &blob.pointers {
            let target = Scalar::int(addresses[*target].into());
            machine.memory.store(address + offset, 8, target)?;
        }
    }
    let args = image.args.iter().map(|blob| Val::Scalar(Scalar::int(addresses[*blob].into()))).collect();
    machine.call(program.primal, args)?;
    let mut outcome = Outcome {
        values: Vec::new(),
        tangents: Vec::new(),
        memory: Vec::new(),
        finite: machine.finite,
        magnitude: machine.magnitude,
        leaked: machine.memory.live() - machine.global_count() - addresses.len(),
    };
    for (blob, lane) in image.all_lanes() {
        let (bytes, dual) = machine.memory.read(addresses[blob], image.blobs[blob].bytes.len() as u64)?;
        outcome.memory.push(read(&bytes, lane));
        if image.blobs[blob].active {
            outcome.values.push(read(&bytes, lane));
            outcome.tangents.push(read(&dual, lane));
        }
    }
    Ok(outcome)
}

/// Only the floats: the dual of an integer or pointer is zero.
fn tangent_bytes(blob: &Blob) -> Vec<u8> {
    let mut bytes = vec![0; blob.bytes.len()];
    for lane in &blob.lanes {
        write(&mut bytes, *lane, blob.get(*lane));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Feature, Features, generate, generate_with};
    use crate::rng::Rng;

    #[test]
    fn programs_are_well_formed_and_run() {
        let mut trapped = 0;
        for seed in 0..400 {
            let program = generate(seed);
            if let Err(violations) = pullback_ir::verify_module(&program.module) {
                panic!("seed {seed}: {violations:?}\n{}", program.module);
            }
            let lanes = program.image.active_lanes().len();
            match run(&program, &program.image, &vec![0.0; lanes]) {
                Ok(outcome) => assert_eq!(outcome.leaked, 0, "seed {seed} leaks"),
                Err(Trap::Steps) => trapped += 1,
                Err(trap) => panic!("seed {seed}: {trap}\n{}", program.module),
            }
        }
        assert!(trapped < 20, "{trapped} programs run too long");
    }

    #[test]
    fn every_feature_alone_and_all_together() {
        for feature in Feature::ALL {
            for base in [Features::NONE.with(Feature::Memory), Features::ALL] {
                let features = if base == Features::ALL { base.without(*feature) } else { base.with(*feature) };
                let program = generate_with(7, features);
                assert!(pullback_ir::verify_module(&program.module).is_ok(), "{features:?}\n{}", program.module);
            }
        }
    }

    /// Tangents agree with central differences. A difference across a jump is no derivative, so a program counts as
    /// wrong only if the disagreement stays for several step sizes, and few may be left over.
    #[test]
    fn tangents_agree_with_differences() {
        let (mut good, mut bad) = (0, Vec::new());
        for seed in 0..300 {
            let mut rng = Rng::new(seed ^ 0xd1ff);
            let features = Features::random(&mut rng).without(Feature::Single);
            let program = generate_with(seed, features);
            let x = program.image.lanes();
            let t: Vec<f64> = x.iter().map(|_| rng.float(-1.0, 1.0)).collect();
            let Ok(outcome) = run(&program, &program.image, &t) else { continue };
            if !outcome.values.iter().chain(&outcome.tangents).all(|v| v.is_finite()) {
                continue;
            }
            let at = |h: f64| {
                let moved: Vec<f64> = x.iter().zip(&t).map(|(x, t)| x + h * t).collect();
                run(&program, &program.image.with_lanes(&moved), &t).map(|o| o.values)
            };
            let agrees = [1e-6, 1e-7, 1e-5].into_iter().any(|h| {
                let (Ok(above), Ok(below)) = (at(h), at(-h)) else { return false };
                let slopes = above.iter().zip(&below).map(|(a, b)| (a - b) / (2.0 * h));
                let scale = 1.0 + outcome.tangents.iter().fold(0.0f64, |m, t| m.max(t.abs()));
                slopes.zip(&outcome.tangents).all(|(s, t)| (s - t).abs() < 1e-4 * scale)
            });
            if agrees { good += 1 } else { bad.push(seed) }
        }
        assert!(good > 200, "only {good} programs were compared");
        assert!(bad.len() * 20 < good, "{bad:?} of {good} disagree");
    }
}
