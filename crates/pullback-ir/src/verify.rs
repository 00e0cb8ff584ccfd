//! The verifier: what every pass may rely on, and must leave true.
//!
//! Given a module, [`verify_module`] hands back all violations of the rules below, each naming its instruction in text
//! form. It never panics, whatever the module holds. The dominance rule is not asked of unreachable blocks; all others
//! are.
//!
//! **Module**
//! - The initial bytes of a global are as many as its size; its alignment is a power of two.
//!
//! **Structure of a function**
//! - Values, blocks, functions and globals that are named exist.
//! - The entry's parameters are the function's, in number and type. No block jumps to the entry.
//! - An instruction stands in one block, once; its result says that it comes from it. So do the parameters of a block.
//! - Each definition dominates its uses.
//! - An `alloca` stands in the entry block. Alignments are powers of two.
//!
//! **Terminators**
//! - A jump goes to a block of the function, with one argument for each parameter of the target, of its type.
//! - `branch` tests an `i1`; `switch` an integer, with distinct cases that fit its type.
//! - `return` gives what the function's result type says.
//!
//! **Types of operands and results**
//! - Integers have 1 to 128 bits.
//! - A constant fits its type.
//! - Instructions that compute something have a result; `store`, `copy`, `move`, `fill` and `dealloc` have none.
//! - Arithmetic: operands and result of one type, floats for `fadd`, `fsub`, `fmul`, `fdiv`, `frem` and `fneg`,
//!   integers else.
//! - Comparisons: operands of one type, floats for `fcmp`, integers or pointers for `icmp`; the result is `i1`.
//! - Casts: source and target are of the kinds the cast names; `trunc` and `fptrunc` narrow, `zext`, `sext` and `fpext`
//!   widen, `bitcast` keeps the size.
//! - `select` tests an `i1`; its two values and the result have one type. `freeze` keeps the type.
//! - Float functions have their number of operands, of the result's float type; the exponent of `powi` and `ldexp` is
//!   an `i32`.
//! - Addresses are `ptr`; byte offsets, lengths, sizes and run-time alignments are `i64`; the byte of `fill` is `i8`.
//! - `extract` and `insert` name a field of a struct, and keep its type.
//! - A call's arguments match the callee's parameters in number and type, and its result the callee's; a called pointer
//!   is a `ptr`.
//! - A clean-up is a call of a function that returns nothing, on values that are there before the call it belongs to.

mod types;

use crate::cfg::Cfg;
use crate::dominators::Dominators;
use crate::entities::{Block, FuncId, Inst, Value};
use crate::function::{Constant, Function, ValueDef};
use crate::inst::{BlockCall, Callee, Op, Terminator};
use crate::module::Module;
use crate::table::Table;
use crate::text::{block_name, inst_text, term_text, value_text};
use crate::types::Type;
use std::collections::HashSet;
use std::fmt;

/// Where a rule is broken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// In the module, outside of functions.
    Module,
    /// In a function as a whole.
    Function(FuncId),
    /// At the head of a block.
    Block(FuncId, Block),
    /// In an instruction of a block.
    Inst(FuncId, Block, Inst),
    /// At the end of a block.
    Terminator(FuncId, Block),
}

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Where.
    pub place: Place,
    /// The place in words: function, block and text of the instruction.
    pub context: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.context, self.message)
    }
}

impl std::error::Error for Violation {}

/// Check a module and all its functions.
pub fn verify_module(module: &Module) -> Result<(), Vec<Violation>> {
    let mut violations = Vec::new();
    for (_, global) in module.globals() {
        let mut report = |message: String| {
            let context = format!("global @{}", global.name);
            violations.push(Violation { place: Place::Module, context, message });
        };
        if let Some(bytes) = global.bytes.as_ref().filter(|b| b.len() as u64 != global.size) {
            report(format!("it has {} initial bytes and the size {}", bytes.len(), global.size));
        }
        if !global.align.is_power_of_two() {
            report(format!("the alignment {} is not a power of two", global.align));
        }
    }
    for (id, _) in module.functions() {
        violations.extend(verify_function(module, id).err().into_iter().flatten());
    }
    if violations.is_empty() { Ok(()) } else { Err(violations) }
}

/// Check one function.
pub fn verify_function(module: &Module, id: FuncId) -> Result<(), Vec<Violation>> {
    let func = module.func(id);
    if func.is_declaration() {
        return Ok(());
    }
    let mut verifier = Verifier { module, func, id, violations: Vec::new() };
    // What follows indexes tables by what the function names, so names come first.
    verifier.check_names();
    if verifier.violations.is_empty() {
        verifier.check_entry();
        verifier.check_definitions();
        verifier.check_dominance();
        for block in func.blocks() {
            for &inst in &func.block(block).insts {
                verifier.check_inst(block, inst);
            }
            verifier.check_terminator(block);
        }
    }
    if verifier.violations.is_empty() { Ok(()) } else { Err(verifier.violations) }
}

fn has_bad_width(ty: &Type) -> bool {
    match ty {
        Type::Int(width) => !(1..=128).contains(width),
        Type::Struct(fields) => fields.iter().any(has_bad_width),
        _ => false,
    }
}

struct Verifier<'m> {
    module: &'m Module,
    func: &'m Function,
    id: FuncId,
    violations: Vec<Violation>,
}

impl Verifier<'_> {
    fn report(&mut self, place: Place, message: impl Into<String>) {
        let name = format!("@{}", self.func.name);
        let context = match place {
            Place::Module | Place::Function(_) => name,
            Place::Block(_, b) => format!("{name}, `{}`", block_name(self.func, b)),
            Place::Inst(_, b, i) => format!("{name}, {b}: `{}`", inst_text(self.module, self.func, i)),
            Place::Terminator(_, b) => format!("{name}, {b}: `{}`", term_text(self.module, self.func, b)),
        };
        self.violations.push(Violation { place, context, message: message.into() });
    }

    fn report_inst(&mut self, block: Block, inst: Inst, message: impl Into<String>) {
        self.report(Place::Inst(self.id, block, inst), message);
    }

    fn text(&self, value: Value) -> String {
        value_text(self.module, self.func, value)
    }

    /// Every number that is used belongs to something. No text is made here: it could not be.
    fn check_names(&mut self) {
        let func = self.func;
        let live: HashSet<Block> = func.blocks().collect();
        let mut wrong = Vec::new();
        let (funcs, globals) = (self.module.functions().count(), self.module.globals().count());
        for block in func.blocks() {
            let data = func.block(block);
            let mut used = data.params.clone();
            let mut called = Vec::new();
            for &inst in &data.insts {
                if inst.index() >= func.inst_bound() {
                    wrong.push(format!("{block} holds {inst}, which does not exist"));
                    continue;
                }
                let data = func.inst(inst);
                used.extend(data.op.operands());
                used.extend(data.result);
                called.extend(data.op.cleanup().map(|c| c.func));
                called.extend(match &data.op {
                    Op::Alloc { func, .. } | Op::Dealloc { func, .. } | Op::Call(Callee::Direct(func), ..) => {
                        Some(*func)
                    }
                    _ => None,
                });
            }
            used.extend(data.term.operand());
            for target in data.term.targets() {
                used.extend(&target.args);
                if !live.contains(&target.block) {
                    wrong.push(format!("{block} jumps to {}, which is not in the function", target.block));
                }
            }
            for value in used {
                if value.index() >= func.value_bound() {
                    wrong.push(format!("{block} uses {value}, which does not exist"));
                    continue;
                }
                match func.as_const(value) {
                    Some(Constant::Func(f)) => called.push(*f),
                    Some(Constant::Global(g)) if g.index() >= globals => {
                        wrong.push(format!("{block} uses {g}, which does not exist"));
                    }
                    _ => {}
                }
            }
            let missing = called.iter().filter(|f| f.index() >= funcs);
            wrong.extend(missing.map(|f| format!("{block} uses {f}, which does not exist")));
        }
        for message in wrong {
            self.violations.push(Violation {
                place: Place::Function(self.id),
                context: format!("@{}", func.name),
                message,
            });
        }
    }

    fn check_entry(&mut self) {
        let func = self.func;
        let entry = func.entry();
        let types: Vec<&Type> = func.param_values().iter().map(|v| func.ty(*v)).collect();
        if !types.iter().copied().eq(&func.params) {
            let message = "the entry's parameters are not the function's";
            self.report(Place::Block(self.id, entry), message);
        }
        for block in func.blocks() {
            if func.block(block).term.targets().iter().any(|t| t.block == entry) {
                self.report(Place::Terminator(self.id, block), "it jumps to the entry");
            }
        }
    }

    /// Results and parameters say where they come from, and instructions stand once.
    fn check_definitions(&mut self) {
        let func = self.func;
        let mut seen = HashSet::new();
        let no_type = |value: Value| has_bad_width(func.ty(value)).then(|| format!("{} is no type", func.ty(value)));
        for block in func.blocks() {
            for message in func.block(block).params.iter().filter_map(|p| no_type(*p)) {
                self.report(Place::Block(self.id, block), message);
            }
            for (i, &param) in func.block(block).params.iter().enumerate() {
                if func.value(param).def != ValueDef::Param(block, i) {
                    let message = format!("{param} stands here as parameter {i} and says it comes from elsewhere");
                    self.report(Place::Block(self.id, block), message);
                }
            }
            for &inst in &func.block(block).insts {
                if !seen.insert(inst) {
                    self.report_inst(block, inst, "it stands in the function twice");
                }
                let result = func.inst(inst).result;
                if let Some(message) = result.and_then(no_type) {
                    self.report_inst(block, inst, message);
                }
                if let Some(value) = result.filter(|v| func.value(*v).def != ValueDef::Inst(inst)) {
                    self.report_inst(block, inst, format!("{value} says it comes from elsewhere"));
                }
            }
        }
    }

    fn check_dominance(&mut self) {
        let func = self.func;
        let cfg = Cfg::new(func);
        let doms = Dominators::new(&cfg);
        // The place of a definition in its block: 0 for a parameter, `k + 1` for instruction `k`.
        let mut defined: Table<Value, Option<(Block, usize)>> = Table::new(func.value_bound(), None);
        for block in func.blocks() {
            for &param in &func.block(block).params {
                defined[param] = Some((block, 0));
            }
            for (k, &inst) in func.block(block).insts.iter().enumerate() {
                if let Some(result) = func.inst(inst).result {
                    defined[result] = Some((block, k + 1));
                }
            }
        }
        let problem = |value: Value, block: Block, at: usize| {
            if func.as_const(value).is_some() {
                return None;
            }
            let Some((from, place)) = defined[value] else {
                return Some(format!("{value} is not defined in the function"));
            };
            let before = if from == block { place <= at } else { doms.dominates(from, block) };
            (!before).then(|| format!("{value} is used here, but its definition in {from} does not dominate this"))
        };
        for &block in cfg.reverse_postorder() {
            let data = func.block(block);
            for (k, &inst) in data.insts.iter().enumerate() {
                for value in func.inst(inst).op.operands() {
                    if let Some(message) = problem(value, block, k) {
                        self.report_inst(block, inst, message);
                    }
                }
            }
            let used =
                data.term.operand().into_iter().chain(data.term.targets().into_iter().flat_map(|t| t.args.clone()));
            for value in used {
                if let Some(message) = problem(value, block, usize::MAX) {
                    self.report(Place::Terminator(self.id, block), message);
                }
            }
        }
    }

    fn check_inst(&mut self, block: Block, inst: Inst) {
        let data = self.func.inst(inst);
        if matches!(data.op, Op::Alloca { .. }) && block != self.func.entry() {
            self.report_inst(block, inst, "an alloca stands in the entry block");
        }
        for align in types::alignments(&data.op) {
            if !align.is_power_of_two() {
                self.report_inst(block, inst, format!("the alignment {align} is not a power of two"));
            }
        }
        for value in data.op.operands() {
            if let Some(message) = self.bad_constant(value) {
                self.report_inst(block, inst, message);
            }
        }
        if let Err(message) = types::check(self.module, self.func, data) {
            self.report_inst(block, inst, message);
        }
    }

    fn bad_constant(&self, value: Value) -> Option<String> {
        let constant = self.func.as_const(value)?;
        let ty = self.func.ty(value);
        let fits = match constant {
            Constant::Int(bits) => {
                matches!(ty, Type::Int(w @ 1..=127) if bits >> w == 0) || matches!(ty, Type::Int(128))
            }
            Constant::F32(_) => *ty == Type::F32,
            Constant::F64(_) => *ty == Type::F64,
            Constant::Null | Constant::Global(_) | Constant::Func(_) => *ty == Type::Ptr,
            Constant::Zero | Constant::Undef | Constant::Poison | Constant::Opaque(..) => true,
        };
        (!fits).then(|| format!("the constant {} does not fit the type {ty}", self.text(value)))
    }

    fn check_terminator(&mut self, block: Block) {
        let func = self.func;
        let term = &func.block(block).term;
        let mut wrong = Vec::new();
        match term {
            Terminator::Branch(cond, ..) if *func.ty(*cond) != Type::BOOL => {
                wrong.push(format!("the condition is {}, not i1", func.ty(*cond)));
            }
            Terminator::Switch(value, cases, _) => wrong.extend(self.switch_problems(*value, cases)),
            Terminator::Return(value) => {
                let given = value.map(|v| func.ty(v));
                if given != func.ret.as_ref() {
                    let words = |t: Option<&Type>| t.map_or("nothing".to_string(), ToString::to_string);
                    wrong.push(format!("it returns {}, the function {}", words(given), words(func.ret.as_ref())));
                }
            }
            _ => {}
        }
        wrong.extend(term.operand().and_then(|v| self.bad_constant(v)));
        for target in term.targets() {
            wrong.extend(self.target_problem(target));
            wrong.extend(target.args.iter().filter_map(|v| self.bad_constant(*v)));
        }
        for message in wrong {
            self.report(Place::Terminator(self.id, block), message);
        }
    }

    fn switch_problems(&self, value: Value, cases: &[(u128, BlockCall)]) -> Vec<String> {
        let Type::Int(width) = *self.func.ty(value) else {
            return vec![format!("it switches on {}, not on an integer", self.func.ty(value))];
        };
        let mut seen = HashSet::new();
        let mut wrong = Vec::new();
        for (case, _) in cases {
            if width < 128 && case >> width != 0 {
                wrong.push(format!("the case {case} does not fit i{width}"));
            }
            if !seen.insert(case) {
                wrong.push(format!("the case {case} is there twice"));
            }
        }
        wrong
    }

    fn target_problem(&self, target: &BlockCall) -> Option<String> {
        let func = self.func;
        let params = &func.block(target.block).params;
        if params.len() != target.args.len() {
            let (given, wanted) = (target.args.len(), params.len());
            return Some(format!("{} takes {wanted} arguments and is given {given}", target.block));
        }
        let (arg, param) = target.args.iter().zip(params).find(|(a, p)| func.ty(**a) != func.ty(**p))?;
        let (given, wanted) = (func.ty(*arg), func.ty(*param));
        Some(format!("{} takes {param} as {wanted} and is given {} of type {given}", target.block, self.text(*arg)))
    }
}
