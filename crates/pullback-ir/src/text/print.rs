//! Writing the text format.
//!
//! Given a module, a function or one instruction, hands on its text as the [module page](super) describes it. A
//! function printed without its module has no names for other functions and globals and shows their numbers (`fn3`,
//! `g0`).

use super::names::{Word, flag_words};
use super::{inferred_type, states_type};
use crate::entities::{Block, FuncId, GlobalId, Inst, SourceLoc, Value};
use crate::function::{Constant, Function, MemoryEffects, ValueDef};
use crate::inst::{BlockCall, Callee, Cleanup, Op, Terminator};
use crate::module::{Global, Location, Module};
use crate::types::Type;
use std::collections::HashMap;
use std::fmt::{self, Display, Write};

impl Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (loc, location) in self.locations() {
            writeln!(f, "{loc} = {}", location_text(location))?;
        }
        for (_, global) in self.globals() {
            writeln!(f, "{}", global_text(global))?;
        }
        let names = Names::of(self);
        for (_, func) in self.functions() {
            f.write_str(&Printer { func, names: &names }.function())?;
        }
        Ok(())
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Printer { func: self, names: &Names::default() }.function())
    }
}

/// The text of a function of a module.
pub fn function_text(module: &Module, func: &Function) -> String {
    Printer { func, names: &Names::of(module) }.function()
}

/// The text of one instruction, on one line, with the names of `module`.
pub fn inst_text(module: &Module, func: &Function, inst: Inst) -> String {
    Printer { func, names: &Names::of(module) }.inst(inst)
}

/// The text of the end of a block, with the names of `module`.
pub fn term_text(module: &Module, func: &Function, block: Block) -> String {
    Printer { func, names: &Names::of(module) }.term(&func.block(block).term)
}

/// The text of a value as an operand, with the names of `module`.
pub fn value_text(module: &Module, func: &Function, value: Value) -> String {
    Printer { func, names: &Names::of(module) }.value(value)
}

/// The text of a block's first line, with its parameters and without the colon.
pub fn block_name(func: &Function, block: Block) -> String {
    let params = &func.block(block).params;
    if params.is_empty() { block.to_string() } else { format!("{block}({})", params_text(func, params)) }
}

/// The names of functions and globals, and the result types of functions.
#[derive(Default)]
struct Names<'m> {
    module: Option<&'m Module>,
    /// Globals whose name means them alone.
    globals: HashMap<&'m str, GlobalId>,
}

impl<'m> Names<'m> {
    fn of(module: &'m Module) -> Self {
        let mut globals = HashMap::new();
        for (id, global) in module.globals() {
            globals.entry(global.name.as_str()).or_insert(id);
        }
        globals.retain(|name, _| module.find(name).is_none());
        Names { module: Some(module), globals }
    }

    fn func(&self, id: FuncId) -> String {
        self.module.map_or_else(|| id.to_string(), |m| symbol(&m.func(id).name))
    }

    fn global(&self, id: GlobalId) -> String {
        let name = self.module.map(|m| m.global(id).name.as_str());
        match name {
            Some(name) if self.globals.get(name) == Some(&id) => symbol(name),
            _ => id.to_string(),
        }
    }

    fn result(&self, id: FuncId) -> Option<Type> {
        self.module.and_then(|m| m.func(id).ret.clone())
    }
}

struct Printer<'a> {
    func: &'a Function,
    names: &'a Names<'a>,
}

impl Printer<'_> {
    fn function(&self) -> String {
        let func = self.func;
        let ret = func.ret.as_ref().map_or(String::new(), |t| format!(" -> {t}"));
        let name = symbol(&func.name);
        let attrs = attrs_text(func);
        if func.is_declaration() {
            return format!("declare {name}({}){ret}{attrs}\n", list(&func.params));
        }
        let named = func.param_values().iter().map(|v| func.ty(*v)).eq(&func.params);
        let params = if named { params_text(func, func.param_values()) } else { list(&func.params) };
        let mut out = format!("fn {name}({params}){ret}{attrs} {{\n");
        for block in func.blocks() {
            let label = if named && block == func.entry() { block.to_string() } else { block_name(func, block) };
            let _ = writeln!(out, "{label}:");
            for &inst in &func.block(block).insts {
                let _ = writeln!(out, "  {}{}", self.inst(inst), loc_text(func.inst(inst).loc));
            }
            let data = func.block(block);
            let _ = writeln!(out, "  {}{}", self.term(&data.term), loc_text(data.term_loc));
        }
        out.push_str("}\n");
        out
    }

    fn inst(&self, inst: Inst) -> String {
        let data = self.func.inst(inst);
        let ty = data.result.map(|v| self.func.ty(v));
        let inferred = inferred_type(&data.op, |v| Some(self.func.ty(v).clone()), |f| self.names.result(f));
        let result = match (data.result, ty) {
            (Some(v), Some(ty)) if !states_type(&data.op) && inferred.ok().flatten().as_ref() != Some(ty) => {
                format!("{v}: {ty} = ")
            }
            (Some(v), _) => format!("{v} = "),
            (None, _) => String::new(),
        };
        let (word, operands) = self.op(&data.op, ty);
        let flags: String = flag_words(data.flags).iter().map(|w| format!(" {w}")).collect();
        let stated = if states_type(&data.op) { ty.map(|t| format!(" {t}")) } else { None }.unwrap_or_default();
        format!("{result}{word}{flags}{stated} {operands}")
    }

    /// The word of an operation, and what follows flags and type.
    fn op(&self, op: &Op, ty: Option<&Type>) -> (String, String) {
        let v = |value: &Value| self.value(*value);
        let (word, operands) = match op {
            Op::Bin(op, a, b) => (op.word(), format!("{}, {}", v(a), v(b))),
            Op::FNeg(a) => ("fneg", v(a)),
            Op::ICmp(p, a, b) => ("icmp", format!("{} {}, {}", p.word(), v(a), v(b))),
            Op::FCmp(p, a, b) => ("fcmp", format!("{} {}, {}", p.word(), v(a), v(b))),
            Op::Cast(op, a) => (op.word(), v(a)),
            Op::Select(c, a, b) => ("select", format!("{}, {}, {}", v(c), v(a), v(b))),
            Op::Freeze(a) => ("freeze", v(a)),
            Op::Math(m, args) => return (format!("math.{m}"), self.values(args)),
            Op::Intrinsic(name, args) => ("intrinsic", format!("{name:?}({})", self.values(args))),
            Op::Alloca { size, align } => ("alloca", format!("{size} align {align}")),
            Op::Load { ptr, align } => ("load", format!("{}{}", v(ptr), align_text(*align, ty.map_or(1, Type::align)))),
            Op::Store { ptr, value, align } => {
                let usual = self.func.ty(*value).align();
                ("store", format!("{}, {}{}", v(ptr), v(value), align_text(*align, usual)))
            }
            Op::PtrAdd(p, o) => ("ptradd", format!("{}, {}", v(p), v(o))),
            Op::Copy { dst, src, len, may_overlap, align } => {
                let aligns = if *align == (1, 1) { String::new() } else { format!(" align {}, {}", align.0, align.1) };
                let word = if *may_overlap { "move" } else { "copy" };
                (word, format!("{}, {}, {}{aligns}", v(dst), v(src), v(len)))
            }
            Op::Fill { dst, byte, len, align } => {
                ("fill", format!("{}, {}, {}{}", v(dst), v(byte), v(len), align_text(*align, 1)))
            }
            Op::Alloc { size, align, zeroed, func } => {
                let word = if *zeroed { "alloc_zeroed" } else { "alloc" };
                (word, format!("{}, {}, {}", v(size), v(align), self.names.func(*func)))
            }
            Op::Dealloc { ptr, size, align, func } => {
                ("dealloc", format!("{}, {}, {}, {}", v(ptr), v(size), v(align), self.names.func(*func)))
            }
            Op::Call(callee, args, cleanup) => {
                let callee = match callee {
                    Callee::Direct(f) => self.names.func(*f),
                    // Without the word it would read as a direct call.
                    Callee::Indirect(p) if matches!(self.func.as_const(*p), Some(Constant::Func(_))) => {
                        format!("indirect {}", v(p))
                    }
                    Callee::Indirect(p) => v(p),
                };
                ("call", format!("{callee}({}){}", self.values(args), self.cleanup(cleanup)))
            }
            Op::ExtractValue(a, i) => ("extract", format!("{}, {i}", v(a))),
            Op::InsertValue(a, x, i) => ("insert", format!("{}, {}, {i}", v(a), v(x))),
            Op::Opaque(o) => {
                let reads = if o.reads { " reads" } else { "" };
                let writes = if o.writes { " writes" } else { "" };
                let (args, cleanup) = (self.values(&o.args), self.cleanup(&o.cleanup));
                ("opaque", format!("{} {:?}{reads}{writes} ({args}){cleanup}", o.id, o.name))
            }
        };
        (word.to_string(), operands)
    }

    fn term(&self, term: &Terminator) -> String {
        match term {
            Terminator::Jump(t) => format!("jump {}", self.target(t)),
            Terminator::Branch(c, a, b) => {
                format!("branch {}, {}, {}", self.value(*c), self.target(a), self.target(b))
            }
            Terminator::Switch(v, cases, default) => {
                let cases: Vec<String> = cases.iter().map(|(n, t)| format!("{n} => {}", self.target(t))).collect();
                format!("switch {}, {} {{{}}}", self.value(*v), self.target(default), cases.join(", "))
            }
            Terminator::Return(None) => "return".to_string(),
            Terminator::Return(Some(v)) => format!("return {}", self.value(*v)),
            Terminator::Unreachable => "unreachable".to_string(),
        }
    }

    fn target(&self, target: &BlockCall) -> String {
        if target.args.is_empty() {
            target.block.to_string()
        } else {
            format!("{}({})", target.block, self.values(&target.args))
        }
    }

    fn cleanup(&self, cleanup: &Option<Cleanup>) -> String {
        cleanup
            .as_ref()
            .map_or(String::new(), |c| format!(" cleanup {}({})", self.names.func(c.func), self.values(&c.args)))
    }

    fn values(&self, values: &[Value]) -> String {
        values.iter().map(|v| self.value(*v)).collect::<Vec<_>>().join(", ")
    }

    fn value(&self, value: Value) -> String {
        let data = self.func.value(value);
        let ValueDef::Const(constant) = &data.def else { return value.to_string() };
        let ty = &data.ty;
        // A constant that does not fit its type is a mistake, and is shown as one.
        let unless = |usual: &Type| if ty == usual { String::new() } else { format!(":{ty}") };
        match constant {
            Constant::Int(0) if *ty == Type::BOOL => "false".to_string(),
            Constant::Int(1) if *ty == Type::BOOL => "true".to_string(),
            Constant::Int(bits) => format!("{}:{ty}", signed(*bits, ty)),
            Constant::F32(bits) if f32::from_bits(*bits).is_finite() => {
                format!("{:?}f32{}", f32::from_bits(*bits), unless(&Type::F32))
            }
            Constant::F64(bits) if f64::from_bits(*bits).is_finite() => {
                format!("{:?}f64{}", f64::from_bits(*bits), unless(&Type::F64))
            }
            Constant::F32(bits) => format!("0x{bits:08x}:f32{}", unless(&Type::F32)),
            Constant::F64(bits) => format!("0x{bits:016x}:f64{}", unless(&Type::F64)),
            Constant::Null => format!("null{}", unless(&Type::Ptr)),
            Constant::Zero => format!("zero {ty}"),
            Constant::Undef => format!("undef {ty}"),
            Constant::Poison => format!("poison {ty}"),
            Constant::Global(id) => format!("{}{}", self.names.global(*id), unless(&Type::Ptr)),
            Constant::Func(id) => format!("{}{}", self.names.func(*id), unless(&Type::Ptr)),
            Constant::Opaque(id, text) => format!("const {id} {text:?} {ty}"),
        }
    }
}

/// The number as its type reads it, where it fits the type.
fn signed(bits: u128, ty: &Type) -> String {
    match ty {
        Type::Int(width @ 1..=128) => {
            let shift = 128 - u32::from(*width);
            let fits = bits >> (u32::from(*width) - 1) <= 1;
            if fits { (((bits << shift) as i128) >> shift).to_string() } else { bits.to_string() }
        }
        _ => bits.to_string(),
    }
}

fn params_text(func: &Function, params: &[Value]) -> String {
    params.iter().map(|v| format!("{v}: {}", func.ty(*v))).collect::<Vec<_>>().join(", ")
}

fn list(items: &[impl Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn attrs_text(func: &Function) -> String {
    let memory = match func.attrs.memory {
        MemoryEffects::None => " readnone",
        MemoryEffects::Read => " readonly",
        MemoryEffects::Any => "",
    };
    let noreturn = if func.attrs.noreturn { " noreturn" } else { "" };
    let inactive = if func.attrs.inactive { " inactive" } else { "" };
    format!("{memory}{noreturn}{inactive}")
}

fn align_text(align: u64, usual: u64) -> String {
    if align == usual { String::new() } else { format!(" align {align}") }
}

fn loc_text(loc: Option<SourceLoc>) -> String {
    loc.map_or(String::new(), |l| format!(" !{l}"))
}

fn location_text(l: &Location) -> String {
    let function = if l.function.is_empty() { String::new() } else { format!(" in {:?}", l.function) };
    let at = l.inlined_at.map_or(String::new(), |at| format!(" at {at}"));
    format!("{:?}:{}:{}{function}{at}", l.file, l.line, l.column)
}

fn global_text(global: &Global) -> String {
    let constant = if global.constant { " constant" } else { "" };
    let bytes = global.bytes.as_ref().map_or(String::new(), |bytes| {
        format!(" = x\"{}\"", bytes.iter().map(|b| format!("{b:02x}")).collect::<String>())
    });
    format!("global {} {} align {}{constant}{bytes}", symbol(&global.name), global.size, global.align)
}

/// A linker symbol: bare where it is a word, else quoted.
fn symbol(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    if !name.is_empty() && name.chars().all(plain) { format!("@{name}") } else { format!("@{name:?}") }
}
