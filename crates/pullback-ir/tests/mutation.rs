//! Programs with random mistakes: whatever the text, reading, checking, printing and running it gives a value or an
//! error, and never a panic; and what can be read is printed the same twice.

use pullback_ir::interp::{Interp, Options, Val};
use pullback_ir::{Module, Type, parse_module, verify_module};

const SOURCES: [&str; 2] = [include_str!("programs/everything.ir"), include_str!("programs/run.ir")];
const ROUNDS: usize = 1500;

/// Numbers that look random and are the same each time (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// The text with a few words replaced by others of it, doubled, or left out.
fn mutate(source: &str, random: &mut Random) -> String {
    let mut words: Vec<&str> = source.split_inclusive([' ', '\n', ',', '(', ')', ':']).collect();
    for _ in 0..=random.below(3) {
        let (at, from) = (random.below(words.len()), random.below(words.len()));
        match random.below(4) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[from]),
            _ => words[at] = words[from],
        }
    }
    words.concat()
}

fn zero(ty: &Type, interp: &mut Interp<'_>) -> Option<Val> {
    Some(match ty {
        Type::Int(width) => Val::int(1, *width),
        Type::F32 => Val::F32(1.0),
        Type::F64 => Val::F64(1.0),
        Type::Ptr => Val::Ptr(interp.alloc_f64s(&[1.0; 8]).ok()?),
        Type::Struct(_) | Type::Opaque(..) => return None,
    })
}

fn run_all(module: &Module) {
    let options = Options { step_limit: 2_000, depth_limit: 50, memory_limit: 1 << 20, ..Options::default() };
    for (id, func) in module.functions() {
        let mut interp = Interp::with_options(module, options);
        let args: Option<Vec<Val>> = func.params.iter().map(|ty| zero(ty, &mut interp)).collect();
        if let Some(args) = args {
            let _ = interp.call(id, &args);
        }
    }
}

#[test]
fn mistakes_are_errors_and_never_panics() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut read, mut right) = (0, 0);
    for round in 0..ROUNDS {
        let text = mutate(SOURCES[round % SOURCES.len()], &mut random);
        let Ok(module) = parse_module(&text) else { continue };
        read += 1;
        let once = module.to_string();
        let again = parse_module(&once).unwrap_or_else(|e| panic!("what was printed cannot be read: {e}\n{once}"));
        assert_eq!(again.to_string(), once);
        if verify_module(&module).is_ok() {
            right += 1;
            run_all(&module);
        }
    }
    assert!(read > ROUNDS / 10 && right > ROUNDS / 50, "the mutations are too wild: {read} read, {right} right");
}
