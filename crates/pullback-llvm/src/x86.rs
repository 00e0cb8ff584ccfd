//! Vector instructions of x86 as operations that LLVM knows.
//!
//! What `core::arch` calls `_mm_min_ps` reaches LLVM as a call of `llvm.x86.sse.min.ps`, of which only the code generator
//! knows what it computes. Where one computes floats, selects them or compares them, a function with the same values
//! takes its place, which computes lane by lane, and is inlined like others.

use crate::error::Result;
use crate::ffi::llvm;
use crate::module::Module;
use crate::symbols::Linkage;
use std::fmt::Write;

const PREFIX: &str = "llvm.x86.";

/// By number of the instruction's operand. Those from 16 on differ in what they signal.
const PREDICATES: [&str; 16] =
    ["oeq", "olt", "ole", "uno", "une", "uge", "ugt", "ord", "ueq", "ult", "ule", "false", "one", "oge", "ogt", "true"];

/// By number of the instruction's operand. Any other is how the processor is set, which is as 0, and `rint` rounds so.
/// (Not every C library has a `roundeven`.)
const ROUNDINGS: [&str; 4] = ["rint", "floor", "ceil", "trunc"];

/// An instruction, and the vectors that it takes.
struct Instruction {
    operation: Operation,
    lanes: usize,
    /// The bits of a lane.
    bits: usize,
    /// Whether it computes the first lane only, and the others are those of the first operand.
    first_only: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Min,
    Max,
    Compare,
    Blend,
    Signs,
    Round,
    /// To integers, or the least one where the float is none of them.
    Convert {
        to_nearest: bool,
    },
}

impl Instruction {
    /// The one that an intrinsic stands for: `sse.min.ps`, `avx.blendv.pd.256`, `sse41.blendvpd`.
    fn of(intrinsic: &str) -> Option<Instruction> {
        let name = intrinsic.strip_prefix(PREFIX)?;
        let (name, size) = name.strip_suffix(".256").map_or((name, 128), |name| (name, 256));
        let (set, name) = name.split_once('.')?;
        if !["sse", "sse2", "sse41", "avx"].contains(&set) {
            return None;
        }
        let (operation, kind) = match name {
            "blendvps" => ("blendv", "ps"),
            "blendvpd" => ("blendv", "pd"),
            "cvtps2dq" | "cvt.ps2dq" => ("cvt", "ps"),
            "cvttps2dq" | "cvtt.ps2dq" => ("cvtt", "ps"),
            _ => name.split_once('.')?,
        };
        let operation = match operation {
            "min" => Operation::Min,
            "max" => Operation::Max,
            "cmp" => Operation::Compare,
            "blendv" => Operation::Blend,
            "movmsk" => Operation::Signs,
            "round" => Operation::Round,
            "cvt" => Operation::Convert { to_nearest: true },
            "cvtt" => Operation::Convert { to_nearest: false },
            _ => return None,
        };
        let (bits, first_only) = match kind {
            "ps" => (32, false),
            "pd" => (64, false),
            "ss" => (32, true),
            "sd" => (64, true),
            _ => return None,
        };
        Some(Instruction { operation, lanes: size / bits, bits, first_only })
    }

    /// A function with the same values, in LLVM's text form.
    fn function(&self, name: &str) -> String {
        let Instruction { operation, lanes, bits, first_only } = *self;
        let float = if bits == 32 { "float" } else { "double" };
        let vector = format!("<{lanes} x {float}>");
        let (mut params, mut result, mut lane) = (format!("{vector} %a, {vector} %b"), vector.clone(), float);
        match operation {
            Operation::Min | Operation::Max => {}
            Operation::Compare => params += ", i8 %mode",
            Operation::Blend => params += &format!(", {vector} %m"),
            Operation::Signs => (params, result) = (format!("{vector} %a"), "i32".to_owned()),
            Operation::Convert { .. } => {
                (params, result, lane) = (format!("{vector} %a"), format!("<{lanes} x i32>"), "i32");
            }
            Operation::Round if first_only => params += ", i32 %mode",
            Operation::Round => params = format!("{vector} %a, i32 %mode"),
        }
        let mut text = format!("define {result} @\"{name}\"({params}) {{\n");
        let mut line = |line: String| writeln!(text, "  {line}").expect("a string can be written to");
        let (modes, number, mask) = match operation {
            Operation::Compare => (PREDICATES.len(), "i8", 15),
            Operation::Round => (ROUNDINGS.len(), "i32", 7),
            _ => (0, "i32", 0),
        };
        if modes > 0 {
            line(format!("%which = and {number} %mode, {mask}"));
            (0..modes).for_each(|mode| line(format!("%is{mode} = icmp eq {number} %which, {mode}")));
        }
        let mut whole = match operation {
            Operation::Signs => "0".to_owned(),
            _ if first_only => "%a".to_owned(),
            _ => "poison".to_owned(),
        };
        for i in 0..if first_only { 1 } else { lanes } {
            let taken = match operation {
                Operation::Min | Operation::Max | Operation::Compare => "ab",
                Operation::Blend => "abm",
                Operation::Round if first_only => "b",
                Operation::Signs | Operation::Round | Operation::Convert { .. } => "a",
            };
            for name in taken.chars() {
                line(format!("%{name}{i} = extractelement {vector} %{name}, i32 {i}"));
            }
            let of = |value: &str| format!("{float} %{value}{i}");
            let mut result_of_lane = format!("%r{i}");
            match operation {
                Operation::Min | Operation::Max => {
                    let predicate = if operation == Operation::Min { "olt" } else { "ogt" };
                    line(format!("%c{i} = fcmp {predicate} {}, %b{i}", of("a")));
                    line(format!("%r{i} = select i1 %c{i}, {}, {}", of("a"), of("b")));
                }
                Operation::Compare => {
                    let mut chosen = "false".to_owned();
                    for (mode, predicate) in PREDICATES.iter().enumerate() {
                        line(format!("%c{i}.{mode} = fcmp {predicate} {}, %b{i}", of("a")));
                        line(format!("%s{i}.{mode} = select i1 %is{mode}, i1 %c{i}.{mode}, i1 {chosen}"));
                        chosen = format!("%s{i}.{mode}");
                    }
                    line(format!("%e{i} = sext i1 {chosen} to i{bits}"));
                    line(format!("%r{i} = bitcast i{bits} %e{i} to {float}"));
                }
                Operation::Blend => {
                    line(format!("%i{i} = bitcast {} to i{bits}", of("m")));
                    line(format!("%c{i} = icmp slt i{bits} %i{i}, 0"));
                    line(format!("%r{i} = select i1 %c{i}, {}, {}", of("b"), of("a")));
                }
                Operation::Convert { to_nearest } => {
                    let rounding = if to_nearest { "rint" } else { "trunc" };
                    line(format!("%n{i} = call {float} @llvm.{rounding}.f{bits}({})", of("a")));
                    // 2³¹ and −2³¹.
                    line(format!("%l{i} = fcmp olt {}, 0x41E0000000000000", of("n")));
                    line(format!("%g{i} = fcmp oge {}, 0xC1E0000000000000", of("n")));
                    line(format!("%c{i} = and i1 %l{i}, %g{i}"));
                    line(format!("%i{i} = fptosi {} to i32", of("n")));
                    line(format!("%r{i} = select i1 %c{i}, i32 %i{i}, i32 {}", i32::MIN));
                }
                Operation::Signs => {
                    line(format!("%i{i} = bitcast {} to i{bits}", of("a")));
                    line(format!("%c{i} = icmp slt i{bits} %i{i}, 0"));
                    line(format!("%r{i} = select i1 %c{i}, i32 {}, i32 0", 1 << i));
                    line(format!("%w{i} = or i32 {whole}, %r{i}"));
                }
                Operation::Round => {
                    let mut chosen = format!("%c{i}.0");
                    for (mode, rounding) in ROUNDINGS.iter().enumerate() {
                        line(format!("%c{i}.{mode} = call {float} @llvm.{rounding}.f{bits}({})", of(taken)));
                        line(format!("%s{i}.{mode} = select i1 %is{mode}, {float} %c{i}.{mode}, {float} {chosen}"));
                        chosen = format!("%s{i}.{mode}");
                    }
                    result_of_lane = chosen;
                }
            }
            if operation != Operation::Signs {
                line(format!("%w{i} = insertelement {result} {whole}, {lane} {result_of_lane}, i32 {i}"));
            }
            whole = format!("%w{i}");
        }
        line(format!("ret {result} {whole}"));
        text + "}\n"
    }
}

impl Module {
    /// Put functions in the place of the instructions that are called.
    pub(crate) fn define_vector_instructions(&mut self) -> Result<()> {
        let names = self.raw_functions().into_iter().map(|function| self.name_of(function));
        let known: Vec<_> = names.filter_map(|name| Some((Instruction::of(&name)?, name))).collect();
        if known.is_empty() {
            return Ok(());
        }
        let own = |name: &str| format!("__pullback_{name}");
        let mut text: String = known.iter().map(|(instruction, name)| instruction.function(&own(name))).collect();
        for (rounding, bits) in ROUNDINGS.iter().flat_map(|rounding| [(rounding, 32), (rounding, 64)]) {
            let float = if bits == 32 { "float" } else { "double" };
            writeln!(text, "declare {float} @llvm.{rounding}.f{bits}({float})").expect("a string can be written to");
        }
        let functions = Module::parse_ir(&self.context, "x86", &text)?;
        self.link_in(functions)?;
        for (_, name) in known {
            let (Some(intrinsic), Some(function)) = (self.function_named(&name), self.function_named(&own(&name)))
            else {
                continue;
            };
            self.set_raw_linkage(function, Linkage::Internal);
            llvm!(self.api(), LLVMReplaceAllUsesWith(intrinsic, function));
            llvm!(self.api(), LLVMDeleteFunction(intrinsic));
        }
        Ok(())
    }
}
