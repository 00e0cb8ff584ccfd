//! What can go wrong while a program runs, as values.

use super::memory::Kind;

/// Why a program cannot go on.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Trap {
    #[error("{len} bytes at offset {offset} of a {kind} allocation of {size} bytes are out of bounds")]
    OutOfBounds { offset: u64, len: u64, size: u64, kind: Kind },
    #[error("there is no allocation at {address:#x} (for {len} bytes)")]
    NoAllocation { address: u64, len: u64 },
    #[error("{len} bytes at {address:#x} are used after their {kind} allocation was freed")]
    UseAfterFree { address: u64, len: u64, kind: Kind },
    #[error("the allocation at {address:#x} is freed twice")]
    DoubleFree { address: u64 },
    #[error("{address:#x} is freed, and is no {kind} allocation")]
    InvalidFree { address: u64, kind: Kind },
    #[error(
        "the allocation at {address:#x} was made with size and alignment {allocated:?} and is freed with {freed:?}"
    )]
    LayoutMismatch { address: u64, allocated: (u64, u64), freed: (u64, u64) },
    #[error("{len} bytes at {address:#x} are read and were never written")]
    Uninitialised { address: u64, len: u64 },
    #[error("{address:#x} is written, and is in a constant")]
    WriteToConstant { address: u64 },
    #[error("{address:#x} is not aligned to {align}, as the instruction promises")]
    Misaligned { address: u64, align: u64 },
    #[error("{align} is no alignment")]
    BadAlignment { align: u64 },
    #[error("{size} more bytes are over the memory limit")]
    OutOfMemory { size: u64 },
    #[error("the regions of a copy overlap")]
    Overlap,
    #[error("the step limit is reached")]
    StepLimit,
    #[error("calls are nested too deep")]
    DepthLimit,
    #[error("a division has no answer")]
    Division,
    #[error("{0} is undef")]
    Undef(&'static str),
    #[error("unreachable code is reached")]
    Unreachable,
    #[error("@{0} does not return: the program panics")]
    Panic(String),
    #[error("@{0} has no body")]
    NoBody(String),
    #[error("the called address {0:#x} is no function")]
    NotAFunction(u64),
    #[error("the intrinsic {0} is not known to the interpreter")]
    UnknownIntrinsic(String),
    #[error("{0} is not modelled")]
    Unsupported(String),
    #[error("{handle:#x} is no tape")]
    NotATape { handle: u64 },
    #[error("{popped} bytes are popped from an empty tape")]
    TapeEmpty { popped: u64 },
    #[error("{popped} bytes are popped, and the matching push had {pushed}")]
    TapeMismatch { pushed: u64, popped: u64 },
    #[error("{bytes} bytes are left on a tape that is dropped")]
    TapeNotEmpty { bytes: u64 },
    /// The function breaks a rule of the verifier.
    #[error("the function is not well formed: {0}")]
    IllFormed(String),
}

/// A trap, and where the program was.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{context}: {trap}")]
pub struct InterpError {
    /// Why.
    pub trap: Trap,
    /// The function, block and text of the instruction.
    pub context: String,
}
