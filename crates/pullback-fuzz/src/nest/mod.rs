//! A derivative as a program: what is differentiated again, and checked like any other.
//!
//! ```text
//! primal(a, out)  ─▶  inner(tape, a, a', out, out')  ─▶  outer(a, a', out, out'):  tape = alloca
//!                                                                                  call inner(tape, a, a', out, out')
//!                                                                                  call __pullback_tape_drop(tape)
//! ```
//! As with the driver, the engine is told that the inner derivative is to be differentiated, and what that calls of the
//! run-time support besides its tape is replaced by plain code. The arguments of `outer` are those of the primal and
//! their shadows, which are memory like any other to the derivative of `outer`.

mod support;

use crate::generate::Program;
use crate::image::{Blob, Image};
use crate::rng::Rng;
use pullback_ad::{Activity, Argument, Error, ErrorKind, Mode, Request};
use pullback_ir::{Builder, FuncAttrs, FuncId, Function, MemoryEffects, Module, Type, Value};
use std::fmt;

/// A derivative that is differentiated again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inner {
    /// Its mode.
    pub mode: Mode,
    /// Its width.
    pub width: usize,
}

impl fmt::Display for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.width {
            1 => write!(f, "{:?}", self.mode),
            width => write!(f, "{:?} of width {width}", self.mode),
        }
    }
}

/// The derivatives that the program of a seed is checked through, the first one first: one, sometimes two.
pub fn inner_derivatives(seed: u64) -> Vec<Inner> {
    let mut rng = Rng::new(seed ^ 0x2e57);
    let count = if rng.chance(12) { 2 } else { 1 };
    (0..count)
        .map(|_| {
            let mode = if rng.chance(50) { Mode::Forward } else { Mode::Reverse };
            Inner { mode, width: if rng.chance(15) { 2 } else { 1 } }
        })
        .collect()
}

/// The request for an inner derivative of a program.
pub fn request(program: &Program, inner: Inner) -> Request {
    Request { mode: inner.mode, width: inner.width, nested: true, ..program.request.clone() }
}

/// Make an inner derivative. Words that may be floats or pointers cannot be differentiated twice.
pub fn differentiate(
    module: &mut Module,
    primal: FuncId,
    request: &Request,
    name: &str,
) -> pullback_ad::Result<FuncId> {
    let id = pullback_ad::differentiate(module, primal, request, name)?;
    match support::replace(module, id) {
        Ok(()) => Ok(id),
        Err(function) => Err(Error::new(ErrorKind::UnknownType, format!("the derivative calls {function}"))),
    }
}

/// The program that calls an inner derivative of `program`.
pub fn nest(program: &Program, inner: Inner) -> pullback_ad::Result<Program> {
    let depth = program.depth;
    let mut rng = Rng::new(program.seed ^ 0x0b57 ^ (depth as u64) << 32);
    let mut module = program.module.clone();
    let request = request(program, inner);
    let id = differentiate(&mut module, program.primal, &request, &format!("inner{depth}"))?;
    let (args, image) = arguments(program, inner, &mut rng);
    let calls = if rng.chance(20) { 2 } else { 1 };
    let outer = wrapper(&mut module, id, inner, args.len(), calls, &format!("outer{depth}"));
    let primal = module.add_function(outer);
    let request = Request { args, ..program.request.clone() };
    Ok(Program { module, primal, request, image, depth: depth + 1, ..program.clone() })
}

/// The arguments of the outer function, and their memory: for each argument of the program itself, and its shadows.
fn arguments(program: &Program, inner: Inner, rng: &mut Rng) -> (Vec<Argument>, Image) {
    let old = &program.image;
    let mut image = Image { blobs: old.blobs.clone(), args: Vec::new() };
    let mut args = Vec::new();
    let shadows: Vec<Vec<usize>> = (0..inner.width).map(|_| shadow(old, &mut image, rng)).collect();
    for (argument, blob) in program.request.args.iter().zip(&old.args) {
        let mut add = |image: &mut Image, name: String, root: usize, activity: Activity| {
            // What the inner derivative has no shadow of may have one in the outer, and the other way round.
            let other = rng.chance(if activity.has_shadow() { 2 } else { 50 });
            let activity = if activity.has_shadow() != other { Activity::Duplicated } else { Activity::Const };
            set_active(image, root, activity.has_shadow());
            image.args.push(root);
            args.push(Argument::new(name, activity, argument.layout));
        };
        let name = if argument.is_result { "out" } else { &argument.name };
        add(&mut image, name.to_owned(), *blob, argument.activity);
        if argument.activity.has_shadow() {
            for (i, shadow) in shadows.iter().enumerate() {
                add(&mut image, format!("{name}'{i}"), shadow[*blob], argument.activity);
            }
        }
    }
    (args, image)
}

/// Add a shadow of all blobs that have one, with random floats; for each blob its shadow, or itself.
fn shadow(of: &Image, image: &mut Image, rng: &mut Rng) -> Vec<usize> {
    let values: Vec<f64> = of.lanes().iter().map(|_| rng.float(-1.0, 1.0)).collect();
    let filled = of.with_lanes(&values);
    let mut next = image.blobs.len();
    let mut place = |(i, blob): (usize, &Blob)| {
        if !blob.active {
            return i;
        }
        next += 1;
        next - 1
    };
    let places: Vec<usize> = of.blobs.iter().enumerate().map(&mut place).collect();
    for mut blob in filled.blobs.into_iter().filter(|blob| blob.active) {
        blob.pointers.iter_mut().for_each(|(_, target)| *target = places[*target]);
        image.add(blob);
    }
    places
}

/// Say of a blob, and of all it points to, whether the derivative has a shadow of it.
fn set_active(image: &mut Image, root: usize, active: bool) {
    let mut open = vec![root];
    while let Some(blob) = open.pop() {
        image.blobs[blob].active = active;
        open.extend(image.blobs[blob].pointers.iter().map(|(_, target)| *target));
    }
}

/// The function that has a tape, and calls the derivative so many times.
fn wrapper(module: &mut Module, id: FuncId, inner: Inner, params: usize, calls: usize, name: &str) -> Function {
    let drop = module.declare("__pullback_tape_drop", || {
        let mut drop = Function::new("__pullback_tape_drop", vec![Type::Ptr], None);
        drop.attrs = FuncAttrs { memory: MemoryEffects::Read, noreturn: false, inactive: true };
        drop
    });
    let (mut func, params, entry) = support::function(name, vec![Type::Ptr; params], None);
    let mut b = Builder::new(&mut func, entry);
    let tape: Option<Value> = (inner.mode == Mode::Reverse).then(|| b.alloca(64, 16));
    for _ in 0..calls {
        if let Some(tape) = tape {
            let zero = b.func.i64(0);
            b.store(tape, zero);
        }
        b.call_void(id, tape.into_iter().chain(params.iter().copied()).collect());
        if let Some(tape) = tape {
            b.call_void(drop, vec![tape]);
        }
    }
    b.ret(None);
    func
}
