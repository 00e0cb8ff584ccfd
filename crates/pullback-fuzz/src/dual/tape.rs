//! Tapes of the oracle: what a program does with one that it has in its own memory, when it is a derivative itself.
//!
//! A tape is there from its first use until it is dropped, and is known by its address.

use super::{Machine, Trap, Val};

/// One tape.
#[derive(Default)]
pub struct Tape {
    /// Address and bytes of each record, oldest first.
    records: Vec<(u64, u64)>,
    /// A popped record can be read until the next push.
    popped: Vec<u64>,
    /// What is given back with the tape.
    owned: Vec<u64>,
}

impl Machine<'_> {
    /// Call a function of the run-time support; `None` if there is none of this name.
    pub(super) fn tape_call(&mut self, name: &str, args: &[Val]) -> Option<Result<Option<Val>, Trap>> {
        let function = name.strip_prefix("__pullback_")?;
        let numbers: Option<Vec<u64>> = args.iter().map(Val::number).collect();
        let result = match (function, numbers?.as_slice()) {
            ("tape_push_at", [tape, bytes, _]) => self.push(*tape, *bytes).map(Some),
            ("tape_pop_at", [tape, bytes, _]) => self.pop(*tape, *bytes).map(Some),
            ("tape_keep", [tape, bytes, _]) => {
                let address = self.memory.allocate(*bytes);
                self.tapes.entry(*tape).or_default().owned.push(address);
                Ok(Some(address))
            }
            // What has no size was never allocated.
            ("defer_dealloc", [_, _, 0, _]) => Ok(None),
            ("defer_dealloc", [tape, address, ..]) => {
                self.tapes.entry(*tape).or_default().owned.push(*address);
                Ok(None)
            }
            // No panic gets out of an inner derivative of the programs here, and no rule keeps anything.
            ("save_shadows" | "settle_shadows", [_, _]) | ("tape_release", [_]) => Ok(None),
            ("tape_drop", [tape]) => self.drop_tape(*tape).map(|()| None),
            _ => return None,
        };
        Some(result.map(|address| address.map(Val::address)))
    }

    fn push(&mut self, tape: u64, bytes: u64) -> Result<u64, Trap> {
        let tape = self.tapes.entry(tape).or_default();
        for address in tape.popped.drain(..) {
            self.memory.free(address)?;
        }
        let address = self.memory.allocate(bytes);
        tape.records.push((address, bytes));
        Ok(address)
    }

    fn pop(&mut self, tape: u64, bytes: u64) -> Result<u64, Trap> {
        let tape = self.tapes.entry(tape).or_default();
        let (address, pushed) = tape.records.pop().ok_or(Trap::Undefined("a pop from an empty tape"))?;
        if pushed != bytes {
            return Err(Trap::Undefined("a pop of other bytes than were pushed"));
        }
        tape.popped.push(address);
        Ok(address)
    }

    fn drop_tape(&mut self, tape: u64) -> Result<(), Trap> {
        let tape = self.tapes.remove(&tape).unwrap_or_default();
        if !tape.records.is_empty() {
            return Err(Trap::Undefined("a tape is dropped with records on it"));
        }
        tape.popped.into_iter().chain(tape.owned).try_for_each(|address| self.memory.free(address))
    }
}
