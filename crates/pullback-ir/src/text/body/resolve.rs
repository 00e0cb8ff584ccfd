//! What is done once a body is read: check its names, find the types the text leaves out, and give constants numbers.

use super::super::inferred_type;
use super::super::lex::ParseError;
use super::{BodyParser, CONSTANTS, Def};
use crate::entities::{FuncId, Value};
use crate::function::{BlockData, Constant, Function, ValueData, ValueDef};
use crate::inst::{Op, Terminator};
use crate::types::Type;

impl BodyParser<'_> {
    pub(super) fn check_names(&self) -> Result<(), ParseError> {
        for (number, pos) in &self.uses {
            if !self.defs.contains_key(number) {
                return pos.error(format!("v{number} is not defined"));
            }
        }
        for (number, pos) in &self.targets {
            if !self.blocks.contains_key(number) {
                return pos.error(format!("there is no block b{number}"));
            }
        }
        Ok(())
    }

    fn type_of(&self, value: Value) -> Option<Type> {
        match value.0.checked_sub(CONSTANTS) {
            Some(k) => Some(self.constants[k as usize].0.clone()),
            None => self.defs[&value.0].ty.clone(),
        }
    }

    /// Find the types that the text leaves out, until nothing new follows.
    pub(super) fn infer_types(&mut self) -> Result<(), ParseError> {
        let untyped = |d: &Def| d.ty.is_none();
        let mut open: Vec<u32> = self.defs.iter().filter(|(_, d)| untyped(d)).map(|(n, _)| *n).collect();
        while let Some(&first) = open.first() {
            let before = open.len();
            let mut later = Vec::new();
            for number in open {
                let Def { pos, def: ValueDef::Inst(inst), .. } = self.defs[&number] else { continue };
                let op = &self.insts[inst.index()].op;
                let result_of = |f: FuncId| self.symbols.module.func(f).ret.clone();
                match inferred_type(op, |v| self.type_of(v), result_of) {
                    Ok(Some(ty)) => self.defs.get_mut(&number).expect("just read").ty = Some(ty),
                    Ok(None) => return pos.error(format!("v{number} needs a type: write `v{number}: f64 = …`")),
                    Err(_) => later.push(number),
                }
            }
            if later.len() == before {
                return self.defs[&first].pos.error(format!("v{first} depends on itself"));
            }
            open = later;
        }
        Ok(())
    }

    /// Put everything into the function; constants get the numbers the text leaves free.
    pub(super) fn finish(mut self, func: &mut Function) {
        let bound = self.defs.keys().last().map_or(0, |n| n + 1);
        let free: Vec<u32> =
            (0..bound).filter(|n| !self.defs.contains_key(n)).chain(bound..).take(self.constants.len()).collect();
        let place = |v: Value| v.0.checked_sub(CONSTANTS).map_or(v, |k| Value(free[k as usize]));
        for i in 0..self.insts.len() {
            if let Op::Store { align: 0, value, .. } = self.insts[i].op {
                let own = self.type_of(value).map_or(1, |t| t.align());
                if let Op::Store { align, .. } = &mut self.insts[i].op {
                    *align = own;
                }
            }
            let op = std::mem::replace(&mut self.insts[i].op, Op::Alloca { size: 0, align: 1 });
            self.insts[i].op = op.map_operands(place);
        }
        for block in self.blocks.values_mut() {
            block.term.map_operands(place);
        }
        // A number that nothing has is a constant without a use.
        let unused = ValueData { ty: Type::BOOL, def: ValueDef::Const(Constant::Undef) };
        let bound = free.last().map_or(bound, |n| bound.max(n + 1));
        let mut values = vec![unused; bound as usize];
        for (number, def) in self.defs {
            let ty = def.ty.expect("all types are known by now");
            values[number as usize] = ValueData { ty, def: def.def };
        }
        for ((ty, constant), number) in self.constants.into_iter().zip(free) {
            values[number as usize] = ValueData { ty, def: ValueDef::Const(constant) };
        }
        let bound = self.blocks.keys().last().map_or(0, |n| n + 1);
        let empty = BlockData { params: vec![], insts: vec![], term: Terminator::Unreachable, term_loc: None };
        let mut blocks = vec![empty; bound as usize];
        for (number, data) in self.blocks {
            blocks[number as usize] = data;
        }
        func.install_body(values, self.insts, blocks, self.order);
    }
}
