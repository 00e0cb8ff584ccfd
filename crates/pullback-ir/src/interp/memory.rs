//! The interpreter's memory.
//!
//! A 64-bit address space with separate allocations and wide gaps between them, so that an access that leaves its
//! allocation is found. Addresses are never used twice: a freed allocation is remembered, and touching it is told apart
//! from touching nothing at all. Each byte knows whether it was written.

use super::Trap;
use super::value::{Val, store_size};
use crate::types::{Type, round_up};
use std::collections::BTreeMap;
use std::fmt;

/// What an allocation is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A global that may be written.
    Global,
    /// A global that may not.
    Constant,
    /// A global whose initial bytes are not known: reading what the program has not written is a trap.
    External,
    /// An `alloca` of a running call.
    Stack,
    /// From the program's allocator.
    Heap,
    /// A record on a tape.
    Tape,
    /// A shadow that a tape owns.
    Shadow,
    /// Made by whoever runs the interpreter.
    Host,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Global => "global",
            Kind::Constant => "constant global",
            Kind::External => "external global",
            Kind::Stack => "stack",
            Kind::Heap => "heap",
            Kind::Tape => "tape",
            Kind::Shadow => "shadow",
            Kind::Host => "host",
        })
    }
}

/// What a read of bytes that were never written gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Uninitialised {
    /// Zeros.
    #[default]
    Zero,
    /// A [`Trap::Uninitialised`].
    Trap,
}

struct Allocation {
    kind: Kind,
    size: u64,
    align: u64,
    /// `None` once freed.
    content: Option<Content>,
}

#[derive(Clone)]
struct Content {
    bytes: Vec<u8>,
    written: Vec<bool>,
}

/// An allocation that is still alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Live {
    /// Its address.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// What it is for.
    pub kind: Kind,
}

/// Memory.
pub struct Memory {
    allocations: BTreeMap<u64, Allocation>,
    next: u64,
    live_bytes: u64,
    limit: u64,
    uninitialised: Uninitialised,
}

/// Between any two allocations lie at least so many bytes.
const GAP: u64 = 1 << 16;

impl Memory {
    pub(super) fn new(limit: u64, uninitialised: Uninitialised) -> Self {
        Memory { allocations: BTreeMap::new(), next: 1 << 32, live_bytes: 0, limit, uninitialised }
    }

    /// Whether so many more bytes are within the limit.
    pub(super) fn fits(&self, size: u64) -> bool {
        size <= self.limit.saturating_sub(self.live_bytes)
    }

    /// New bytes that were never written.
    pub fn alloc(&mut self, size: u64, align: u64, kind: Kind) -> Result<u64, Trap> {
        if !align.is_power_of_two() || align > GAP {
            return Err(Trap::BadAlignment { align });
        }
        if !self.fits(size) {
            return Err(Trap::OutOfMemory { size });
        }
        let address = round_up(self.next, align);
        self.next = address + size + GAP;
        self.live_bytes += size;
        let content = Content { bytes: vec![0; size as usize], written: vec![false; size as usize] };
        self.allocations.insert(address, Allocation { kind, size, align, content: Some(content) });
        Ok(address)
    }

    /// New bytes that are zero.
    pub fn alloc_zeroed(&mut self, size: u64, align: u64, kind: Kind) -> Result<u64, Trap> {
        let address = self.alloc(size, align, kind)?;
        self.fill(address, 0, size)?;
        Ok(address)
    }

    /// Give an allocation of this kind back.
    pub fn free(&mut self, address: u64, kind: Kind) -> Result<(), Trap> {
        let Some(allocation) = self.allocations.get_mut(&address).filter(|a| a.kind == kind) else {
            return Err(Trap::InvalidFree { address, kind });
        };
        match allocation.content.take() {
            Some(_) => {
                self.live_bytes -= allocation.size;
                Ok(())
            }
            None => Err(Trap::DoubleFree { address }),
        }
    }

    /// How many bytes there are at the beginning of an allocation; none at null.
    pub(super) fn size(&self, address: u64) -> Result<u64, Trap> {
        match self.allocations.get(&address).filter(|a| a.content.is_some()) {
            Some(allocation) => Ok(allocation.size),
            None if address == 0 => Ok(0),
            None => Err(Trap::InvalidFree { address, kind: Kind::Heap }),
        }
    }

    /// Give heap memory back as Rust does, with the size and alignment it was asked for with; or as C does, if the
    /// alignment is 0.
    pub(super) fn dealloc(&mut self, address: u64, size: u64, align: u64) -> Result<(), Trap> {
        if align == 0 {
            return if address == 0 { Ok(()) } else { self.free(address, Kind::Heap) };
        }
        let heap = self.allocations.get(&address).filter(|a| a.kind == Kind::Heap && a.content.is_some());
        if let Some(a) = heap.filter(|a| (a.size, a.align) != (size, align)) {
            return Err(Trap::LayoutMismatch { address, allocated: (a.size, a.align), freed: (size, align) });
        }
        self.free(address, Kind::Heap)
    }

    /// From now on, writing there is a trap.
    pub(super) fn make_constant(&mut self, address: u64) {
        if let Some(allocation) = self.allocations.get_mut(&address) {
            allocation.kind = Kind::Constant;
        }
    }

    /// Whether a live allocation starts at an address.
    pub(super) fn is_object(&self, address: u64) -> bool {
        self.allocations.get(&address).is_some_and(|a| a.content.is_some())
    }

    /// All allocations of a kind that are still alive.
    pub fn live(&self, kind: Kind) -> Vec<Live> {
        let live = self.allocations.iter().filter(|(_, a)| a.kind == kind && a.content.is_some());
        live.map(|(address, a)| Live { address: *address, size: a.size, kind }).collect()
    }

    /// Bytes of all live allocations.
    pub fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// The allocation that holds these bytes, and where in it they start; `None` where there are no bytes.
    fn find(&self, address: u64, len: u64) -> Result<Option<(u64, usize)>, Trap> {
        if len == 0 {
            return Ok(None);
        }
        let Some((base, a)) = self.allocations.range(..=address).next_back() else {
            return Err(Trap::NoAllocation { address, len });
        };
        let offset = address - base;
        if a.content.is_none() && offset < a.size.max(1) {
            return Err(Trap::UseAfterFree { address, len, kind: a.kind });
        }
        if offset < a.size && len <= a.size - offset {
            return Ok(Some((*base, offset as usize)));
        }
        if offset > a.size + GAP / 2 {
            return Err(Trap::NoAllocation { address, len });
        }
        Err(Trap::OutOfBounds { offset, len, size: a.size, kind: a.kind })
    }

    fn content(&self, base: u64) -> &Content {
        self.allocations[&base].content.as_ref().expect("find gives live allocations")
    }

    fn content_to_write(&mut self, address: u64, base: u64) -> Result<&mut Content, Trap> {
        let allocation = self.allocations.get_mut(&base).expect("find gives allocations");
        if allocation.kind == Kind::Constant {
            return Err(Trap::WriteToConstant { address });
        }
        Ok(allocation.content.as_mut().expect("find gives live allocations"))
    }

    /// Read bytes.
    pub fn read(&self, address: u64, len: u64) -> Result<Vec<u8>, Trap> {
        self.bytes(address, len).map(<[u8]>::to_vec)
    }

    /// The bytes themselves, while nothing is written.
    pub(super) fn bytes(&self, address: u64, len: u64) -> Result<&[u8], Trap> {
        let Some((base, offset)) = self.find(address, len)? else { return Ok(&[]) };
        if self.uninitialised == Uninitialised::Trap {
            self.expect_written(address, base, offset, len)?;
        }
        self.expect_known(address, base, offset, len)?;
        Ok(&self.content(base).bytes[offset..offset + len as usize])
    }

    fn expect_written(&self, address: u64, base: u64, offset: usize, len: u64) -> Result<(), Trap> {
        let unwritten = self.content(base).written[offset..offset + len as usize].contains(&false);
        if unwritten { Err(Trap::Uninitialised { address, len }) } else { Ok(()) }
    }

    fn expect_known(&self, address: u64, base: u64, offset: usize, len: u64) -> Result<(), Trap> {
        match self.allocations[&base].kind {
            Kind::External => self.expect_written(address, base, offset, len),
            _ => Ok(()),
        }
    }

    /// Write bytes.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Trap> {
        let Some((base, offset)) = self.find(address, bytes.len() as u64)? else { return Ok(()) };
        let content = self.content_to_write(address, base)?;
        content.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        content.written[offset..offset + bytes.len()].fill(true);
        Ok(())
    }

    /// Set bytes to one value.
    pub fn fill(&mut self, address: u64, byte: u8, len: u64) -> Result<(), Trap> {
        let Some((base, offset)) = self.find(address, len)? else { return Ok(()) };
        let content = self.content_to_write(address, base)?;
        content.bytes[offset..offset + len as usize].fill(byte);
        content.written[offset..offset + len as usize].fill(true);
        Ok(())
    }

    /// Make bytes as if they had never been written: what storing undef does.
    pub(super) fn forget(&mut self, address: u64, len: u64) -> Result<(), Trap> {
        let Some((base, offset)) = self.find(address, len)? else { return Ok(()) };
        let content = self.content_to_write(address, base)?;
        content.bytes[offset..offset + len as usize].fill(0);
        content.written[offset..offset + len as usize].fill(false);
        Ok(())
    }

    /// Copy bytes, those never written included; right for overlapping regions.
    pub fn copy(&mut self, dst: u64, src: u64, len: u64) -> Result<(), Trap> {
        let (Some((from, at)), Some((to, to_at))) = (self.find(src, len)?, self.find(dst, len)?) else { return Ok(()) };
        self.expect_known(src, from, at, len)?;
        let len = len as usize;
        let bytes = self.content(from).bytes[at..at + len].to_vec();
        let written = self.content(from).written[at..at + len].to_vec();
        let target = self.content_to_write(dst, to)?;
        target.bytes[to_at..to_at + len].copy_from_slice(&bytes);
        target.written[to_at..to_at + len].copy_from_slice(&written);
        Ok(())
    }

    /// Read a value of a type.
    pub fn load(&self, address: u64, ty: &Type) -> Result<Val, Trap> {
        if let Type::Struct(fields) = ty {
            let field = |i: usize| self.load(address.wrapping_add(ty.field_offset(i)), &fields[i]);
            return (0..fields.len()).map(field).collect::<Result<_, _>>().map(Val::Struct);
        }
        Val::from_bytes(self.bytes(address, store_size(ty)? as u64)?, ty)
    }

    /// Write a value of a type.
    pub fn store(&mut self, address: u64, ty: &Type, value: &Val) -> Result<(), Trap> {
        if !value.is_of(ty) {
            return Err(Trap::IllFormed(format!("a store of {value:?} as {ty}")));
        }
        if let Type::Struct(fields) = ty {
            for (i, field) in fields.iter().enumerate() {
                let part = match value {
                    Val::Struct(vals) => &vals[i],
                    _ => &Val::Undef,
                };
                self.store(address.wrapping_add(ty.field_offset(i)), field, part)?;
            }
            return Ok(());
        }
        let size = store_size(ty)?;
        match value.bits() {
            Some(bits) => self.write(address, &bits.to_le_bytes()[..size]),
            None => self.forget(address, size as u64),
        }
    }
}
