//! The memory that a program's arguments point to, described apart from any machine that runs it.
//!
//! An [`Image`] is a list of blobs of bytes with pointers between them; each says where its floats are. An image is
//! laid into the memory of the interpreter or of the oracle, and read back after the run. The shadow of an argument has
//! the same shape, with tangents or cotangents in the place of the floats.

/// A float in a blob.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lane {
    /// Its offset in bytes.
    pub offset: u64,
    /// Whether it is an `f64`, else an `f32`.
    pub double: bool,
}

/// A piece of memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Blob {
    /// Its bytes; zero where a pointer goes.
    pub bytes: Vec<u8>,
    /// Pointers: at this offset, the address of that blob.
    pub pointers: Vec<(u64, usize)>,
    /// Its floats.
    pub lanes: Vec<Lane>,
    /// Whether it belongs to an argument that has a shadow.
    pub active: bool,
}

impl Blob {
    /// Append bytes without meaning for the derivative.
    pub fn int(&mut self, value: i64) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// Append an `f64`.
    pub fn f64(&mut self, value: f64) {
        self.lanes.push(Lane { offset: self.bytes.len() as u64, double: true });
        self.bytes.extend(value.to_le_bytes());
    }

    /// Append an `f32`.
    pub fn f32(&mut self, value: f32) {
        self.lanes.push(Lane { offset: self.bytes.len() as u64, double: false });
        self.bytes.extend(value.to_le_bytes());
    }

    /// Append a pointer to another blob.
    pub fn pointer(&mut self, blob: usize) {
        self.pointers.push((self.bytes.len() as u64, blob));
        self.bytes.extend([0; 8]);
    }

    /// The float in a lane.
    pub fn get(&self, lane: Lane) -> f64 {
        read(&self.bytes, lane)
    }

    /// Replace the float in a lane.
    pub fn set(&mut self, lane: Lane, value: f64) {
        write(&mut self.bytes, lane, value);
    }
}

/// The float at a lane of these bytes.
pub fn read(bytes: &[u8], lane: Lane) -> f64 {
    let at = lane.offset as usize;
    if lane.double {
        f64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
    } else {
        f64::from(f32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")))
    }
}

/// Put a float at a lane of these bytes.
pub fn write(bytes: &mut [u8], lane: Lane, value: f64) {
    let at = lane.offset as usize;
    if lane.double {
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    } else {
        bytes[at..at + 4].copy_from_slice(&(value as f32).to_le_bytes());
    }
}

/// The memory of a program's arguments.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Image {
    /// The pieces.
    pub blobs: Vec<Blob>,
    /// For each parameter of the primal, the blob its pointer points to.
    pub args: Vec<usize>,
}

impl Image {
    /// Add a blob.
    pub fn add(&mut self, blob: Blob) -> usize {
        self.blobs.push(blob);
        self.blobs.len() - 1
    }

    /// All floats, in order: which blob, which lane.
    pub fn all_lanes(&self) -> Vec<(usize, Lane)> {
        self.blobs.iter().enumerate().flat_map(|(i, b)| b.lanes.iter().map(move |l| (i, *l))).collect()
    }

    /// The floats that have a shadow, in order: which blob, which lane.
    pub fn active_lanes(&self) -> Vec<(usize, Lane)> {
        self.all_lanes().into_iter().filter(|(blob, _)| self.blobs[*blob].active).collect()
    }

    /// The same memory with these floats in the active lanes: with tangents or cotangents, it is the shadow.
    pub fn with_lanes(&self, values: &[f64]) -> Image {
        let mut image = self.clone();
        for ((blob, lane), value) in self.active_lanes().into_iter().zip(values) {
            image.blobs[blob].set(lane, *value);
        }
        image
    }

    /// The floats in the active lanes.
    pub fn lanes(&self) -> Vec<f64> {
        self.active_lanes().into_iter().map(|(blob, lane)| self.blobs[blob].get(lane)).collect()
    }
}
