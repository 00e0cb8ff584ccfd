//! The run-time support functions of derivatives, built in: the tape, shadows and lanes, as `docs/architecture.md`
//! lists them.
//!
//! Here each push is an allocation of its own, so that an access beyond a record is found; a pop must name the bytes
//! that the matching push did; and a popped record dies with the next push.
//!
//! A program may have tapes of its own, in its own memory: one is there from its first use until
//! `__pullback_tape_drop`, which must find no record on it.

use super::memory::{Kind, Memory};
use super::value::Val;
use super::{Trap, operand_bits, operand_ptr};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

#[derive(Default)]
struct Tape {
    /// Address and bytes of each record, oldest first.
    records: Vec<(u64, u64)>,
    /// Popped records that are still readable.
    popped: Vec<u64>,
    shadows: Vec<u64>,
    /// Address, size and alignment of what is given back at the end.
    deferred: Vec<(u64, u64, u64)>,
    bytes: u64,
    high_water: u64,
}

/// All tapes, by their handle.
#[derive(Default)]
pub(super) struct Tapes {
    tapes: BTreeMap<u64, Tape>,
    made: u64,
}

/// Handles lie where no memory is.
const FIRST_HANDLE: u64 = 1 << 60;

/// The bytes a record takes on the tape.
fn record_size(bytes: u64) -> u64 {
    bytes.saturating_add(15) & !15
}

impl Tapes {
    pub(super) fn create(&mut self) -> u64 {
        let handle = FIRST_HANDLE + (self.made << 12);
        self.made += 1;
        self.tapes.insert(handle, Tape::default());
        handle
    }

    pub(super) fn destroy(&mut self, handle: u64, memory: &mut Memory) -> Result<(), Trap> {
        let tape = self.tapes.remove(&handle).ok_or(Trap::NotATape { handle })?;
        for address in tape.records.iter().map(|(a, _)| *a).chain(tape.popped) {
            memory.free(address, Kind::Tape)?;
        }
        for address in tape.shadows {
            memory.free(address, Kind::Shadow)?;
        }
        for (address, size, align) in tape.deferred {
            memory.dealloc(address, size, align)?;
        }
        Ok(())
    }

    fn get(&mut self, handle: u64, memory: &Memory) -> Result<&mut Tape, Trap> {
        match self.tapes.entry(handle) {
            Entry::Occupied(tape) => Ok(tape.into_mut()),
            Entry::Vacant(place) if memory.is_object(handle) => Ok(place.insert(Tape::default())),
            Entry::Vacant(_) => Err(Trap::NotATape { handle }),
        }
    }

    /// The end of a tape of the program's own.
    fn end(&mut self, handle: u64, memory: &mut Memory) -> Result<(), Trap> {
        match self.get(handle, memory)?.bytes {
            0 => self.destroy(handle, memory),
            bytes => Err(Trap::TapeNotEmpty { bytes }),
        }
    }

    pub(super) fn bytes(&self, handle: u64) -> Option<u64> {
        self.tapes.get(&handle).map(|t| t.bytes)
    }

    pub(super) fn high_water(&self, handle: u64) -> Option<u64> {
        self.tapes.get(&handle).map(|t| t.high_water)
    }

    fn push(&mut self, handle: u64, bytes: u64, memory: &mut Memory) -> Result<u64, Trap> {
        let tape = self.get(handle, memory)?;
        for address in tape.popped.drain(..) {
            memory.free(address, Kind::Tape)?;
        }
        let address = memory.alloc(bytes, 16, Kind::Tape)?;
        tape.records.push((address, bytes));
        tape.bytes += record_size(bytes);
        tape.high_water = tape.high_water.max(tape.bytes);
        Ok(address)
    }

    fn pop(&mut self, handle: u64, bytes: u64, memory: &Memory) -> Result<u64, Trap> {
        let tape = self.get(handle, memory)?;
        let Some((address, pushed)) = tape.records.pop() else { return Err(Trap::TapeEmpty { popped: bytes }) };
        if pushed != bytes {
            return Err(Trap::TapeMismatch { pushed, popped: bytes });
        }
        tape.bytes -= record_size(bytes);
        tape.popped.push(address);
        Ok(address)
    }
}

/// Lanes: floats of `width` bytes at `offset + k·stride` below `len`.
struct Lanes {
    len: u64,
    stride: u64,
    offset: u64,
    width: u64,
}

impl Lanes {
    fn from(args: &[Val]) -> Result<Lanes, Trap> {
        let [len, stride, offset, width] = args else {
            return Err(Trap::IllFormed("lanes are four integers".to_string()));
        };
        let bits = |v: &Val| operand_bits(v).map(|b| b as u64);
        let lanes = Lanes { len: bits(len)?, stride: bits(stride)?, offset: bits(offset)?, width: bits(width)? };
        if !matches!(lanes.width, 4 | 8) || lanes.stride == 0 {
            return Err(Trap::IllFormed(format!("lanes of width {} and stride {}", lanes.width, lanes.stride)));
        }
        Ok(lanes)
    }

    fn starts(&self) -> impl DoubleEndedIterator<Item = u64> + use<> {
        let (offset, stride) = (self.offset, self.stride);
        let count = if self.len > offset { (self.len - offset - 1) / stride + 1 } else { 0 };
        (0..count).map(move |k| offset + k * stride)
    }
}

fn read_float(memory: &Memory, address: u64, width: u64) -> Result<f64, Trap> {
    let bytes = memory.bytes(address, width)?;
    Ok(match <[u8; 8]>::try_from(bytes) {
        Ok(bytes) => f64::from_le_bytes(bytes),
        Err(_) => f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
    })
}

fn write_float(memory: &mut Memory, address: u64, width: u64, value: f64) -> Result<(), Trap> {
    if width == 8 {
        memory.write(address, &value.to_le_bytes())
    } else {
        memory.write(address, &(value as f32).to_le_bytes())
    }
}

/// Call a run-time function; `None` if there is none of this name.
pub(super) fn call(
    name: &str,
    args: &[Val],
    tapes: &mut Tapes,
    memory: &mut Memory,
) -> Option<Result<Option<Val>, Trap>> {
    let function = name.strip_prefix("__pullback_")?;
    let arity = match function {
        "tape_drop" | "tape_release" | "fits" | "out_of_memory" | "heap_size" => 1,
        "tape_push" | "tape_pop" | "save_shadows" | "settle_shadows" | "set_repeatable" => 2,
        "shadow_alloc" | "recount" | "tape_push_at" | "tape_pop_at" | "tape_keep" => 3,
        "defer_dealloc" => 4,
        "adjoint_copy" | "copy_lanes" => 6,
        "zero_lanes" => 5,
        "copy_words" | "uncopy_words" => 7,
        _ => return None,
    };
    if args.len() != arity {
        return Some(Err(Trap::IllFormed(format!("{name} takes {arity} arguments, not {}", args.len()))));
    }
    Some(dispatch(function, args, tapes, memory))
}

fn dispatch(function: &str, args: &[Val], tapes: &mut Tapes, memory: &mut Memory) -> Result<Option<Val>, Trap> {
    let bytes = || operand_bits(&args[0]).map(|b: u128| b as u64);
    match function {
        "fits" => return Ok(Some(Val::i64(i64::from(memory.fits(bytes()?))))),
        "out_of_memory" => return Err(Trap::OutOfMemory { size: bytes()? }),
        _ => {}
    }
    let first = operand_ptr(&args[0])?;
    let number = |i: usize| operand_bits(&args[i]).map(|b: u128| b as u64);
    match function {
        "tape_push" | "tape_push_at" => tapes.push(first, number(1)?, memory).map(|p| Some(Val::Ptr(p))),
        "tape_pop" | "tape_pop_at" => tapes.pop(first, number(1)?, memory).map(|p| Some(Val::Ptr(p))),
        "tape_drop" => tapes.end(first, memory).map(|()| None),
        // The interpreted program does not ask the tape; and a trap ends it, so that its shadows are not read any more.
        "set_repeatable" | "save_shadows" | "settle_shadows" | "tape_release" => Ok(None),
        "shadow_alloc" => {
            let address = memory.alloc_zeroed(number(1)?, number(2)?, Kind::Shadow)?;
            match tapes.get(first, memory) {
                Ok(tape) => tape.shadows.push(address),
                Err(trap) => {
                    memory.free(address, Kind::Shadow)?;
                    return Err(trap);
                }
            }
            Ok(Some(Val::Ptr(address)))
        }
        "recount" => {
            let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            let owners = word(memory.bytes(first, 8)?).wrapping_add(number(2)?).wrapping_sub(number(1)?);
            if number(2)? == 0 && owners != 0 {
                return Err(Trap::IllFormed("a shadow that others own is given back".to_owned()));
            }
            memory.write(first, &owners.to_le_bytes())?;
            Ok(None)
        }
        "heap_size" => Ok(Some(Val::i64(memory.size(first)? as i64))),
        "tape_keep" => {
            let tape = tapes.get(first, memory)?;
            let address = match number(2)? {
                0 => memory.alloc(number(1)?, 16, Kind::Shadow)?,
                _ => memory.alloc_zeroed(number(1)?, 16, Kind::Shadow)?,
            };
            tape.shadows.push(address);
            Ok(Some(Val::Ptr(address)))
        }
        "defer_dealloc" => {
            let record = (operand_ptr(&args[1])?, number(2)?, number(3)?);
            let tape = tapes.get(first, memory)?;
            // What has no size was never allocated, unless it is C's.
            if record.1 != 0 || record.2 == 0 {
                tape.deferred.push(record);
            }
            Ok(None)
        }
        "adjoint_copy" => adjoint_copy(memory, first, operand_ptr(&args[1])?, &Lanes::from(&args[2..])?),
        "copy_lanes" => copy_lanes(memory, first, operand_ptr(&args[1])?, &Lanes::from(&args[2..])?),
        "copy_words" | "uncopy_words" => {
            let (dst, src, lanes) = (operand_ptr(&args[1])?, operand_ptr(&args[2])?, Lanes::from(&args[3..])?);
            let bytes = 2 * lanes.width * lanes.starts().count() as u64;
            if function == "copy_words" {
                let kept = tapes.push(first, bytes, memory)?;
                copy_words(memory, kept, dst, src, &lanes)
            } else {
                let kept = tapes.pop(first, bytes, memory)?;
                uncopy_words(memory, kept, dst, src, &lanes)
            }
        }
        _ => {
            let lanes = Lanes::from(&args[1..])?;
            for at in lanes.starts() {
                memory.fill(first.wrapping_add(at), 0, lanes.width)?;
            }
            Ok(None)
        }
    }
}

/// All of `dst` is taken before any of `src` is added to: where they overlap, what is added must stay.
fn adjoint_copy(memory: &mut Memory, dst: u64, src: u64, lanes: &Lanes) -> Result<Option<Val>, Trap> {
    let mut taken = Vec::new();
    for at in lanes.starts() {
        taken.push(read_float(memory, dst.wrapping_add(at), lanes.width)?);
        memory.fill(dst.wrapping_add(at), 0, lanes.width)?;
    }
    for (at, cotangent) in lanes.starts().zip(taken) {
        let address = src.wrapping_add(at);
        // Where there is no cotangent, the bits of a number may lie.
        if cotangent != 0.0 {
            let sum = read_float(memory, address, lanes.width)? + cotangent;
            write_float(memory, address, lanes.width, sum)?;
        }
    }
    Ok(None)
}

/// In the order in which no lane is overwritten before it is read.
fn copy_lanes(memory: &mut Memory, dst: u64, src: u64, lanes: &Lanes) -> Result<Option<Val>, Trap> {
    let mut copy = |at: u64| memory.copy(dst.wrapping_add(at), src.wrapping_add(at), lanes.width);
    if dst <= src {
        lanes.starts().try_for_each(&mut copy)?;
    } else {
        lanes.starts().rev().try_for_each(&mut copy)?;
    }
    Ok(None)
}

/// Keep what is moved and what is overwritten, then move. Without a source, zeros are moved.
fn copy_words(memory: &mut Memory, kept: u64, dst: u64, src: u64, lanes: &Lanes) -> Result<Option<Val>, Trap> {
    let width = lanes.width;
    for (k, at) in lanes.starts().enumerate() {
        let slot = kept + 2 * width * k as u64;
        match src {
            0 => memory.fill(slot, 0, width)?,
            _ => memory.copy(slot, src.wrapping_add(at), width)?,
        }
        memory.copy(slot + width, dst.wrapping_add(at), width)?;
    }
    for (k, at) in lanes.starts().enumerate() {
        memory.copy(dst.wrapping_add(at), kept + 2 * width * k as u64, width)?;
    }
    Ok(None)
}

/// Put back what was overwritten; where zero was moved the word was a float, and its cotangent goes to the source.
fn uncopy_words(memory: &mut Memory, kept: u64, dst: u64, src: u64, lanes: &Lanes) -> Result<Option<Val>, Trap> {
    let width = lanes.width;
    let mut taken = Vec::new();
    for (k, at) in lanes.starts().enumerate() {
        let slot = kept + 2 * width * k as u64;
        let is_float = memory.bytes(slot, width)?.iter().all(|byte| *byte == 0);
        let cotangent = if is_float { Some(read_float(memory, dst.wrapping_add(at), width)?) } else { None };
        taken.push((at, cotangent));
        memory.copy(dst.wrapping_add(at), slot + width, width)?;
    }
    for (at, cotangent) in taken.into_iter().filter(|_| src != 0) {
        let Some(cotangent) = cotangent else { continue };
        let address = src.wrapping_add(at);
        let sum = read_float(memory, address, width)? + cotangent;
        write_float(memory, address, width, sum)?;
    }
    Ok(None)
}
