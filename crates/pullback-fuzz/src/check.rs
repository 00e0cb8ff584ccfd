//! The checks of one program.
//!
//! The program is well formed; the interpreter and the oracle agree on it. Then, for forward and reverse mode and
//! several widths: the derivative is well formed, runs without a memory error, leaves nothing allocated and nothing on
//! the tape, and computes the primal to the last bit. Forward tangents `ẏ` are those of the oracle, and reverse
//! cotangents satisfy `⟨ȳ, ẏ⟩ = ⟨x̄, ẋ⟩`, where `x` and `y` are all floats of the arguments' memory before and after.
//!
//! With [`Order::Higher`] a derivative of the program is checked so, and then it takes the program's place ([`nest`]).

use crate::dual::Trap;
use crate::execution;
use crate::generate::{Feature, Features, Program, generate, generate_with};
use crate::nest::{self, Inner};
use crate::oracle;
use crate::rng::Rng;
use pullback_ad::{ErrorKind, Mode, Request};
use pullback_ir::interp::Uninitialised;
use pullback_ir::{FuncId, Module};
use std::cell::RefCell;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a program fared.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// Everything holds.
    Good,
    /// Nothing is wrong, but not everything could be compared.
    Skipped(Skip),
    /// Something is wrong.
    Bad(Failure),
}

/// Why something could not be compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Skip {
    /// It runs too long.
    TooLong,
    /// A value or tangent is not finite.
    NotFinite,
    /// The engine says that activity would have to be decided at run time.
    RuntimeActivity,
    /// The engine says that active data may reach constant memory.
    ActiveInConst,
    /// The engine says that integer arithmetic is done on a float's bits.
    BitTrick,
    /// The engine cannot tell whether bytes are floats.
    UnknownType,
}

impl Skip {
    /// What it means that the engine refuses a program with an error of this kind: a refusal for want of information is
    /// never wrong, only a pity; any other is a fault.
    fn of(kind: ErrorKind) -> Option<Skip> {
        match kind {
            ErrorKind::RuntimeActivity => Some(Skip::RuntimeActivity),
            ErrorKind::ActiveInConst => Some(Skip::ActiveInConst),
            ErrorKind::BitTrick => Some(Skip::BitTrick),
            ErrorKind::UnknownType => Some(Skip::UnknownType),
            ErrorKind::NoBody | ErrorKind::Unsupported | ErrorKind::IndirectCall | ErrorKind::Internal => None,
        }
    }
}

/// What is asked of the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standard {
    /// It may refuse a program for want of information.
    MayRefuse,
    /// It has to differentiate every program.
    NoRefusal,
}

/// Which derivatives are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Those of programs.
    First,
    /// Those of derivatives of programs.
    Higher,
}

/// What is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checks {
    /// What is asked of the engine.
    pub standard: Standard,
    /// Which derivatives.
    pub order: Order,
}

impl Checks {
    /// The program of a seed. Derivatives of what may be a float or a pointer cannot be differentiated.
    pub fn program(self, seed: u64) -> Program {
        match self.order {
            Order::First => generate(seed),
            Order::Higher => {
                let features = Features::random(&mut Rng::new(seed));
                generate_with(seed, features.without(Feature::Variants))
            }
        }
    }
}

/// Which check failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Check {
    /// The program itself is not well formed.
    Program,
    /// The interpreter and the oracle disagree on the primal.
    Primal,
    /// The engine refuses the program.
    Refused,
    /// The engine panics.
    Panic,
    /// The derivative is not well formed.
    IllFormed,
    /// The derivative runs into an error.
    Run,
    /// The derivative does not give memory back.
    Leak,
    /// The derivative computes another primal.
    PrimalChanged,
    /// Tangents are wrong.
    Tangent,
    /// Cotangents are wrong.
    Cotangent,
}

/// What is wrong.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// Which check failed.
    pub check: Check,
    /// For which mode, if for one.
    pub mode: Option<Mode>,
    /// The derivatives that were made before, the last one first.
    pub inner: Vec<Inner>,
    /// What was seen.
    pub detail: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = self.mode.iter().map(|mode| format!("{mode:?}"));
        let modes: Vec<String> = mode.chain(self.inner.iter().map(Inner::to_string)).collect();
        match modes.as_slice() {
            [] => write!(f, "{:?}: {}", self.check, self.detail),
            _ => write!(f, "{:?} ({}): {}", self.check, modes.join(" over "), self.detail),
        }
    }
}

impl Failure {
    fn new(check: Check, mode: Option<Mode>, detail: impl Into<String>) -> Self {
        Failure { check, mode, inner: Vec::new(), detail: detail.into() }
    }

    /// Whether this is the same failure, of another program perhaps.
    pub fn is_like(&self, other: &Failure) -> bool {
        (self.check, self.mode, &self.inner) == (other.check, other.mode, &other.inner)
    }
}

/// What makes a derivative.
type Engine<'e> = &'e dyn Fn(&mut Module, FuncId, &Request) -> pullback_ad::Result<FuncId>;

/// Check a program.
pub fn check(program: &Program, checks: Checks) -> Verdict {
    check_engine(program, checks, &|module, primal, request| {
        pullback_ad::differentiate(module, primal, request, "derivative")
    })
}

fn check_engine(program: &Program, checks: Checks, engine: Engine) -> Verdict {
    let inner = match checks.order {
        Order::First => Vec::new(),
        Order::Higher => nest::inner_derivatives(program.seed),
    };
    match examine_all(program, &inner, checks.standard, engine) {
        Ok(None) => Verdict::Good,
        Ok(Some(skip)) => Verdict::Skipped(skip),
        Err(failure) => Verdict::Bad(failure),
    }
}

/// A number that stands for the text of all derivatives of a program, and for the reasons why others are not made.
pub fn digest(program: &Program, checks: Checks) -> u64 {
    let hasher = RefCell::new(DefaultHasher::new());
    check_engine(program, checks, &|module, primal, request| {
        let result = pullback_ad::differentiate(module, primal, request, "derivative");
        match &result {
            Ok(_) => module.to_string().hash(&mut *hasher.borrow_mut()),
            Err(error) => format!("{error:?}").hash(&mut *hasher.borrow_mut()),
        }
        result
    });
    hasher.into_inner().finish()
}

/// Check the derivatives of a program, or of the last of these derivatives of it, and these themselves.
fn examine_all(
    program: &Program,
    inner: &[Inner],
    standard: Standard,
    engine: Engine,
) -> Result<Option<Skip>, Failure> {
    let mut program = program.clone();
    for (depth, next) in inner.iter().enumerate() {
        let outside = |failure| Failure { inner: inner[..depth].iter().rev().copied().collect(), ..failure };
        let make: Engine = &|module, primal, request| nest::differentiate(module, primal, request, "derivative");
        let request = nest::request(&program, *next);
        if let Some(skip) = examine(&program, &[request], standard, make).map_err(outside)? {
            return Ok(Some(skip));
        }
        program = nest::nest(&program, *next)
            .map_err(|error| outside(Failure::new(Check::Refused, Some(next.mode), format!("this time: {error}"))))?;
    }
    let outside = |failure| Failure { inner: inner.iter().rev().copied().collect(), ..failure };
    examine(&program, &requests(&program), standard, engine).map_err(outside)
}

/// The derivatives a program is checked with: mode, width, whether zeros are strong.
fn requests(program: &Program) -> Vec<Request> {
    let mut shapes = vec![(Mode::Forward, 1), (Mode::Reverse, 1)];
    match program.seed % 8 {
        0 => shapes.push((Mode::Forward, 2)),
        1 => shapes.push((Mode::Reverse, 2)),
        2 => shapes.push((Mode::Reverse, 3)),
        _ => {}
    }
    let strong_zero = program.seed % 16 == 5;
    shapes.into_iter().map(|(mode, width)| Request { mode, width, strong_zero, ..program.request.clone() }).collect()
}

fn examine(
    program: &Program,
    requests: &[Request],
    standard: Standard,
    engine: Engine,
) -> Result<Option<Skip>, Failure> {
    if let Err(violations) = pullback_ir::verify_module(&program.module) {
        return Err(Failure::new(Check::Program, None, format!("{violations:?}")));
    }
    let mut rng = Rng::new(program.seed ^ 0xc0de);
    let tangents: Vec<f64> = program.image.lanes().iter().map(|_| rng.float(-1.0, 1.0)).collect();
    let truth = match oracle::run(program, &program.image, &tangents) {
        Ok(truth) => truth,
        Err(Trap::Steps) => return Ok(Some(Skip::TooLong)),
        Err(trap) => return Err(Failure::new(Check::Program, None, trap.to_string())),
    };
    // A derivative may save what was never written.
    let uninitialised = if program.depth == 0 { Uninitialised::Trap } else { Uninitialised::Zero };
    let primal = execution::primal(&program.module, program.primal, &program.image, uninitialised)
        .map_err(|trap| Failure::new(Check::Primal, None, trap))?;
    if !same(&primal.memory, &truth.memory) {
        let detail = format!("the interpreter has {:?}, the oracle {:?}", primal.memory, truth.memory);
        return Err(Failure::new(Check::Primal, None, detail));
    }
    if primal.leaked > 0 || truth.leaked > 0 {
        return Err(Failure::new(Check::Program, None, "the program leaks"));
    }
    let mut skipped = (!truth.finite).then_some(Skip::NotFinite);
    for request in requests {
        if let Some(skip) = derivative(program, standard, engine, request, (&truth, &tangents), &mut rng)? {
            skipped = Some(skip);
        }
    }
    Ok(skipped)
}

fn derivative(
    program: &Program,
    standard: Standard,
    engine: Engine,
    request: &Request,
    (truth, tangents): (&oracle::Outcome, &[f64]),
    rng: &mut Rng,
) -> Result<Option<Skip>, Failure> {
    let mode = request.mode;
    let failure = |check, detail: String| {
        let width = request.width;
        let detail = if width > 1 { format!("width {width}: {detail}") } else { detail };
        Failure::new(check, Some(mode), detail)
    };
    let mut module = program.module.clone();
    let func = match made(&mut module, program.primal, engine, request) {
        Ok(func) => func,
        Err(Refusal::Error(error)) => {
            return match Skip::of(error.kind) {
                Some(skip) if standard == Standard::MayRefuse => Ok(Some(skip)),
                _ => {
                    let detail = format!("{:?}: {error}: {} {:?}", error.kind, error.label, error.notes);
                    Err(failure(Check::Refused, detail))
                }
            };
        }
        Err(Refusal::Panic(said)) => return Err(failure(Check::Panic, said)),
    };
    if let Err(violations) = pullback_ir::verify_module(&module) {
        return Err(failure(Check::IllFormed, format!("{violations:?}")));
    }

    // The first batch direction is compared with the tangents that are given; the others get random ones.
    let mut seeds = vec![tangents.to_vec(); 1];
    seeds.resize_with(request.width, || tangents.iter().map(|_| rng.float(-1.0, 1.0)).collect());
    let truths: Vec<oracle::Outcome> = match mode {
        Mode::Forward => seeds[1..]
            .iter()
            .map(|t| oracle::run(program, &program.image, t))
            .collect::<Result<_, _>>()
            .map_err(|trap| failure(Check::Program, trap.to_string()))?,
        Mode::Reverse => {
            seeds = seeds.iter().map(|s| s.iter().map(|_| rng.float(-1.0, 1.0)).collect()).collect();
            Vec::new()
        }
    };
    let outcome = execution::derivative(&module, func, mode, &request.args, &program.image, &seeds)
        .map_err(|trap| failure(Check::Run, trap))?;
    if outcome.leaked > 0 {
        return Err(failure(Check::Leak, format!("{} allocations", outcome.leaked)));
    }
    if !same(&outcome.memory, &truth.memory) {
        let detail = format!("the derivative leaves {:?}, the primal {:?}", outcome.memory, truth.memory);
        return Err(failure(Check::PrimalChanged, detail));
    }
    if !truth.finite || !truths.iter().all(|t| t.finite) {
        return Ok(Some(Skip::NotFinite));
    }
    let single = program.features.has(Feature::Single);
    match mode {
        Mode::Forward => tangents_agree(&outcome.shadows, [truth].into_iter().chain(&truths), single)
            .map_err(|detail| failure(Check::Tangent, detail))?,
        Mode::Reverse => products_agree(&outcome.shadows, &seeds, truth, tangents, single)
            .map_err(|detail| failure(Check::Cotangent, detail))?,
    }
    Ok(None)
}

/// Why there is no derivative.
enum Refusal {
    Error(pullback_ad::Error),
    /// What the engine said when it panicked.
    Panic(String),
}

/// Make a derivative.
fn made(module: &mut Module, primal: FuncId, engine: Engine, request: &Request) -> Result<FuncId, Refusal> {
    match catch_unwind(AssertUnwindSafe(|| engine(module, primal, request))) {
        Ok(made) => made.map_err(Refusal::Error),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(Refusal::Panic(text.to_owned()))
        }
    }
}

/// Whether tangents, for each batch direction, are those of the oracle.
fn tangents_agree<'t>(
    shadows: &[Vec<f64>],
    truths: impl Iterator<Item = &'t oracle::Outcome>,
    single: bool,
) -> Result<(), String> {
    for (found, truth) in shadows.iter().zip(truths) {
        let tolerance = if single { 2e-3 } else { 1e-9 };
        let scale = truth.tangents.iter().fold(1.0f64, |m, t| m.max(t.abs())) + rounding(truth, single);
        let worst = found.iter().zip(&truth.tangents).position(|(f, t)| !within(f - t, tolerance * scale));
        if let Some(i) = worst {
            return Err(format!("float {i}: {}, should be {}", found[i], truth.tangents[i]));
        }
    }
    Ok(())
}

/// Whether cotangents, for each batch direction, have the products with the tangents that they should have.
fn products_agree(
    shadows: &[Vec<f64>],
    seeds: &[Vec<f64>],
    truth: &oracle::Outcome,
    tangents: &[f64],
    single: bool,
) -> Result<(), String> {
    for (found, seed) in shadows.iter().zip(seeds) {
        let after = products(seed, &truth.tangents);
        let before = products(found, tangents);
        let tolerance = if single { 5e-3 } else { 1e-8 };
        let error = after.0 - before.0;
        let scale = 1.0 + after.1 + before.1 + rounding(truth, single);
        if !within(error, tolerance * scale) {
            return Err(format!("⟨ȳ, ẏ⟩ = {}, ⟨x̄, ẋ⟩ = {}", after.0, before.0));
        }
    }
    Ok(())
}

/// Whether an error is small enough; a NaN is not.
fn within(error: f64, most: f64) -> bool {
    error.abs() <= most
}

/// Room for rounding errors of large intermediate numbers.
fn rounding(truth: &oracle::Outcome, single: bool) -> f64 {
    truth.magnitude * if single { 1e-2 } else { 1e-4 }
}

/// Sum and sum of magnitudes of the products.
fn products(a: &[f64], b: &[f64]) -> (f64, f64) {
    a.iter().zip(b).fold((0.0, 0.0), |(sum, size), (a, b)| (sum + a * b, size + (a * b).abs()))
}

/// The same floats to the last bit; any NaN is like another.
fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shrink::reachable;
    use pullback_ad::differentiate;
    use pullback_ir::{BinOp, Inst, Op};

    const FIRST: Checks = Checks { standard: Standard::MayRefuse, order: Order::First };
    const HIGHER: Checks = Checks { standard: Standard::MayRefuse, order: Order::Higher };

    /// The engine, with the `n`th float product of the derivative turned into a sum.
    fn broken(module: &mut Module, primal: FuncId, request: &Request, n: usize) -> pullback_ad::Result<FuncId> {
        let id = differentiate(module, primal, request, "derivative")?;
        let mut products = Vec::new();
        for id in reachable(module, id) {
            let func = module.func(id);
            let insts = func.blocks().flat_map(|b| func.block(b).insts.clone());
            let is_product = |inst: &Inst| matches!(func.inst(*inst).op, Op::Bin(BinOp::FMul, ..));
            products.extend(insts.filter(is_product).map(|inst| (id, inst)));
        }
        if let Some((id, inst)) = products.get(n % products.len().max(1)) {
            let op = &mut module.func_mut(*id).inst_mut(*inst).op;
            if let Op::Bin(_, a, b) = *op {
                *op = Op::Bin(BinOp::FAdd, a, b);
            }
        }
        Ok(id)
    }

    /// Whether another engine's derivatives compute anything else than the right ones: what was broken may never run.
    fn matters(program: &Program, engine: Engine) -> bool {
        let outcome = |request: &Request, engine: Engine| {
            let mut module = program.module.clone();
            let func = engine(&mut module, program.primal, request).ok()?;
            let seeds: Vec<Vec<f64>> = (0..request.width)
                .map(|direction| {
                    let lanes = program.image.active_lanes().len();
                    (0..lanes).map(|i| 0.3 + 0.1 * (i + direction) as f64).collect()
                })
                .collect();
            let run = execution::derivative(&module, func, request.mode, &request.args, &program.image, &seeds).ok()?;
            let floats = run.shadows.into_iter().flatten().chain(run.memory);
            Some(floats.map(f64::to_bits).collect::<Vec<u64>>())
        };
        let right: Engine = &|module, primal, request| differentiate(module, primal, request, "derivative");
        requests(program).iter().any(|request| outcome(request, right) != outcome(request, engine))
    }

    /// Of the programs of these seeds, how many are right, and of how many a wrong derivative is found to be wrong.
    fn found(seeds: std::ops::Range<u64>, checks: Checks) -> (usize, usize) {
        let (mut found, mut tried) = (0, 0);
        for seed in seeds {
            let program = checks.program(seed);
            if check(&program, checks) != Verdict::Good {
                continue;
            }
            let engine =
                |module: &mut Module, primal, request: &Request| broken(module, primal, request, 7 * seed as usize);
            if !matters(&program, &engine) {
                continue;
            }
            tried += 1;
            found += usize::from(matches!(check_engine(&program, checks, &engine), Verdict::Bad(_)));
        }
        (tried, found)
    }

    /// The checks are worth something: most derivatives with one wrong operation are found to be wrong.
    #[test]
    fn programs_that_were_refused_once_are_right() {
        let strict = Checks { standard: Standard::NoRefusal, order: Order::Higher };
        for seed in [7400777769335761474, 2911716573177345478] {
            assert!(matches!(check(&strict.program(seed), strict), Verdict::Good), "seed {seed}");
        }
    }

    #[test]
    fn a_wrong_derivative_is_found() {
        let (tried, found) = found(0..24, FIRST);
        assert!(found * 10 > tried * 9, "of {tried} wrong derivatives only {found} were found");
    }

    #[test]
    fn a_wrong_derivative_of_a_derivative_is_found() {
        let (tried, found) = found(0..90, HIGHER);
        assert!(tried > 8, "only {tried} programs are right");
        assert!(found * 10 > tried * 8, "of {tried} wrong derivatives only {found} were found");
    }
}
