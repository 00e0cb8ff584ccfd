//! Memory of the oracle: every byte has a dual byte beside it, so that tangents travel wherever the bits of a float go.

use super::{Scalar, Trap};

/// One object: its bytes, and beside them the bytes of the tangents.
struct Object {
    bytes: Vec<u8>,
    dual: Vec<u8>,
    live: bool,
}

/// All objects of a run. The high half of an address is the object's number, from 1; the low half is the offset.
#[derive(Default)]
pub struct Memory {
    objects: Vec<Object>,
}

impl Memory {
    /// A new object; the address of its first byte.
    pub fn allocate(&mut self, size: u64) -> u64 {
        self.objects.push(Object { bytes: vec![0; size as usize], dual: vec![0; size as usize], live: true });
        (self.objects.len() as u64) << 32
    }

    /// Give an object back.
    pub fn free(&mut self, address: u64) -> Result<(), Trap> {
        let (object, at) = self.find(address, 0)?;
        if at != 0 {
            return Err(Trap::Memory(address));
        }
        object.live = false;
        Ok(())
    }

    /// How many objects are live.
    pub fn live(&self) -> usize {
        self.objects.iter().filter(|o| o.live).count()
    }

    fn find(&mut self, address: u64, len: u64) -> Result<(&mut Object, usize), Trap> {
        let number = (address >> 32) as usize;
        let at = address & 0xffff_ffff;
        let object = number.checked_sub(1).and_then(|i| self.objects.get_mut(i)).ok_or(Trap::Memory(address))?;
        if !object.live || at + len > object.bytes.len() as u64 {
            return Err(Trap::Memory(address));
        }
        Ok((object, at as usize))
    }

    /// Bytes and dual bytes.
    pub fn read(&mut self, address: u64, len: u64) -> Result<(Vec<u8>, Vec<u8>), Trap> {
        if len == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        let (object, at) = self.find(address, len)?;
        let range = at..at + len as usize;
        Ok((object.bytes[range.clone()].to_vec(), object.dual[range].to_vec()))
    }

    /// Replace bytes and dual bytes.
    pub fn write(&mut self, address: u64, bytes: &[u8], dual: &[u8]) -> Result<(), Trap> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (object, at) = self.find(address, bytes.len() as u64)?;
        object.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        object.dual[at..at + bytes.len()].copy_from_slice(dual);
        Ok(())
    }

    /// Read a scalar of so many bytes.
    pub fn load(&mut self, address: u64, len: u64) -> Result<Scalar, Trap> {
        let (bytes, dual) = self.read(address, len)?;
        Ok(Scalar { bits: widen(&bytes), dual: widen(&dual) })
    }

    /// Write a scalar of so many bytes.
    pub fn store(&mut self, address: u64, len: u64, value: Scalar) -> Result<(), Trap> {
        let (bytes, dual) = (value.bits.to_le_bytes(), value.dual.to_le_bytes());
        self.write(address, &bytes[..len as usize], &dual[..len as usize])
    }
}

fn widen(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |all, byte| all << 8 | u128::from(*byte))
}
