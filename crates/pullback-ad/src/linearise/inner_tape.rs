//! The tape of a derivative that is differentiated.
//!
//! In forward mode what is pushed with a shadow is pushed twice or more: the bytes, and then those of each shadow; they
//! are popped the other way round. In reverse mode the memory has to be there until the outer reverse sweep is through,
//! and nothing else may take its place. So it belongs to the outer tape, and the inner one has its address and those of
//! its shadows.
//!
//! ```text
//! forward   p = push(tape, n)        p' = push(tape, n)            p' = pop(tape, n)             p = pop(tape, n)
//! reverse   p = keep(outer, n)       p' = keep(outer, n)           r = pop(tape, 16)
//!           r = push(tape, 16)       r[0] = p, r[1] = p'           p = r[0], p' = r[1]
//! ```

use crate::error::Result;
use crate::linearise::augment::Augmenter;
use crate::runtime::TapeUse;
use pullback_ir::{Builder, Callee, Constant, FuncId, Function, InstData, Op, Type, Value};

impl Augmenter<'_, '_> {
    /// A call that pushes, pops, or gives memory to a tape.
    pub(crate) fn tape_use(&mut self, data: &InstData, tape: TapeUse) -> Result<()> {
        let Op::Call(_, args, _) = &data.op else { unreachable!("a use of a tape is a call") };
        match tape {
            TapeUse::Defer => self.defer(data, args),
            TapeUse::Own(release) => self.own(data, args, release),
            TapeUse::Keep => self.lasting(data, args),
            TapeUse::Note => self.untouched(data),
            TapeUse::Push(_) | TapeUse::Pop(_) if self.out.tape.is_none() => self.push_or_pop_twice(data, tape),
            TapeUse::Push(_) | TapeUse::Pop(_) => self.push_or_pop_addresses(data, args, tape),
        }
    }

    /// Memory that is given back with the inner tape: in forward mode with its shadows; in reverse mode the outer tape
    /// gets it, which has its shadows anyway.
    fn defer(&mut self, data: &InstData, args: &[Value]) -> Result<()> {
        let inst = self.copy_instruction(data);
        if let Some(outer) = self.out.tape {
            self.func.inst_mut(inst).op.call_args_mut()[0] = outer;
        } else if self.has_shadow(args[1]) {
            for shadow in self.shadow(args[1])? {
                let mut op = self.func.inst(inst).op.clone();
                op.call_args_mut()[1] = shadow;
                self.builder().push(op, None);
            }
        }
        Ok(())
    }

    /// A value that is dropped with the inner tape. In reverse mode the outer tape gets it. In forward mode its shadow
    /// is dropped with it, by the derivative of what drops the value: a function is made that takes both from a record.
    fn own(&mut self, data: &InstData, args: &[Value], release: Option<FuncId>) -> Result<()> {
        let inst = self.copy_instruction(data);
        if let Some(original) = release.map(|release| self.original(release)) {
            let original = self.func.constant(Type::Ptr, Constant::Func(original));
            self.func.inst_mut(inst).op.call_args_mut()[2] = original;
        }
        if let Some(outer) = self.out.tape {
            self.func.inst_mut(inst).op.call_args_mut()[0] = outer;
            self.session.noted.owns_borrowing.set(true);
            return Ok(());
        }
        let Some(release) = release.filter(|r| self.session.facts.functions.contains(r) && self.session.takes_part(*r))
        else {
            return Ok(());
        };
        let mut given = vec![self.get(args[1])];
        given.extend(self.shadow_values(args[1])?);
        let forward = self.session.variant(release).forward;
        let both = self.release_both(forward, given.len());
        let tape = self.get(args[0]);
        let bytes = self.func.i64(8 * given.len() as i64);
        let (keep, zero) = (Callee::Direct(self.session.runtime.tape_keep), self.func.i64(0));
        let record = self.shadow_pointer(data, Op::Call(keep, vec![tape, bytes, zero], None));
        write(&mut self.builder(), record, &given);
        // It goes behind the record, which it names.
        let both = self.func.constant(Type::Ptr, Constant::Func(both));
        let args = self.func.inst_mut(inst).op.call_args_mut();
        (args[1], args[2]) = (record, both);
        let insts = &mut self.func.block_mut(self.block).insts;
        insts.retain(|i| *i != inst);
        insts.push(inst);
        Ok(())
    }

    /// A function that calls `forward` with so many pointers, which it takes from a record.
    fn release_both(&mut self, forward: FuncId, count: usize) -> FuncId {
        let name = format!("{}.both", self.session.module.func(forward).name);
        if let Some(known) = self.session.module.find(&name) {
            return known;
        }
        let mut func = Function::new(name, vec![Type::Ptr], None);
        let (entry, record) = func.add_entry();
        let mut b = Builder::new(&mut func, entry);
        let args = read(&mut b, record[0], count);
        b.call_void(forward, args);
        b.ret(None);
        self.session.module.add_function(func)
    }

    /// Forward mode.
    fn push_or_pop_twice(&mut self, data: &InstData, tape: TapeUse) -> Result<()> {
        let old = data.result.expect("a push or pop has a result");
        let lanes = if self.has_shadow(old) { self.width() } else { 0 };
        let Op::Call(callee, args, _) = &data.op else { unreachable!("a use of a tape is a call") };
        let args: Vec<Value> = args.iter().map(|arg| self.get(*arg)).collect();
        let again = |this: &mut Self| -> Vec<Value> {
            let call = |_| this.shadow_pointer(data, Op::Call(*callee, args.clone(), None));
            (0..lanes).map(call).collect()
        };
        let mut shadows = Vec::new();
        if let TapeUse::Pop(_) = tape {
            shadows = again(self);
            shadows.reverse();
        }
        let inst = self.copy_instruction(data);
        if let TapeUse::Push(_) = tape {
            shadows = again(self);
        }
        if lanes > 0 {
            self.bind_shadows(old, self.func.result(inst), shadows);
        }
        Ok(())
    }

    /// How many addresses a push of the inner tape becomes: that of the bytes, and those of its shadows.
    fn addresses(&mut self, old: Value) -> usize {
        if self.has_shadow(old) { 1 + self.width() } else { 1 }
    }

    /// New memory that stays as long as a tape, zero or not, and that of its shadows, which is.
    fn kept(&mut self, data: &InstData, tape: Value, bytes: Value, count: usize, zero: bool) -> Vec<Value> {
        let (keep, bytes) = (Callee::Direct(self.session.runtime.tape_keep), self.get(bytes));
        let made = (0..count).map(|i| {
            let zero = self.func.i64(i64::from(i > 0 || zero));
            self.shadow_pointer(data, Op::Call(keep, vec![tape, bytes, zero], None))
        });
        made.collect()
    }

    /// Memory that stays as long as a tape: in reverse mode as long as the outer one.
    fn lasting(&mut self, data: &InstData, args: &[Value]) -> Result<()> {
        let old = data.result.expect("memory has an address");
        let tape = match self.out.tape {
            Some(outer) => outer,
            None => self.get(args[0]),
        };
        let count = self.addresses(old);
        let zero = self.old.as_int(args[2]) != Some(0);
        let made = self.kept(data, tape, args[1], count, zero);
        self.bind_memory(old, made);
        Ok(())
    }

    /// Reverse mode: a record of addresses is pushed on the inner tape, or popped.
    fn push_or_pop_addresses(&mut self, data: &InstData, args: &[Value], tape: TapeUse) -> Result<()> {
        let old = data.result.expect("a push or pop has a result");
        let outer = self.out.tape.expect("reverse mode has a tape");
        let count = self.addresses(old);
        let pushed = matches!(tape, TapeUse::Push(_)).then(|| self.kept(data, outer, args[1], count, false));
        let Op::Call(callee, ..) = &data.op else { unreachable!("a use of a tape is a call") };
        let (tape, site) = (self.get(args[0]), self.get(args[2]));
        let bytes = self.func.i64(8 * count as i64);
        let record = self.shadow_pointer(data, Op::Call(*callee, vec![tape, bytes, site], None));
        let made = match pushed {
            Some(made) => {
                write(&mut self.builder(), record, &made);
                made
            }
            None => read(&mut self.builder(), record, count),
        };
        self.bind_memory(old, made);
        Ok(())
    }

    /// Memory of the inner tape, and its shadows.
    fn bind_memory(&mut self, old: Value, mut made: Vec<Value>) {
        let shadows = made.split_off(1);
        self.bind(old, made[0]);
        if !shadows.is_empty() {
            self.bind_shadows(old, made[0], shadows);
        }
    }
}

/// Write addresses to a record.
fn write(b: &mut Builder, record: Value, addresses: &[Value]) {
    for (i, address) in addresses.iter().enumerate() {
        let place = b.offset(record, 8 * i as i64);
        b.store(place, *address);
    }
}

/// The addresses of a record.
fn read(b: &mut Builder, record: Value, count: usize) -> Vec<Value> {
    let address = |i| {
        let place = b.offset(record, 8 * i as i64);
        b.load(Type::Ptr, place)
    };
    (0..count).map(address).collect()
}
