//! A derivative that is asked for.

use crate::{Activity, LayoutFn, Mode, Slice, Str, VERSION};

/// A derivative that is asked for.
#[repr(C)]
#[derive(Debug)]
pub struct Request {
    /// [`VERSION`].
    pub version: u32,
    /// Forward or reverse.
    pub mode: Mode,
    /// How many derivatives run side by side.
    pub width: u32,
    /// [`STRONG_ZERO`](Self::STRONG_ZERO), [`RUNTIME_ACTIVITY`](Self::RUNTIME_ACTIVITY), [`SPLIT`](Self::SPLIT),
    /// [`SEEDS`](Self::SEEDS).
    pub flags: u32,
    /// The function's name in the source.
    pub name: Str,
    /// The file where the derivative is asked for.
    pub file: Str,
    /// The line in it.
    pub line: u32,
    /// The column in it.
    pub column: u32,
    /// The arguments, and the result's place as the last.
    pub args: Slice<Arg>,
}

impl Request {
    /// The flag of the option `strong_zero`.
    pub const STRONG_ZERO: u32 = 1;
    /// The flag of the option `runtime_activity`.
    pub const RUNTIME_ACTIVITY: u32 = 2;
    /// The flag of a reverse derivative whose reverse sweep is a function of its own.
    pub const SPLIT: u32 = 4;
    /// The flag of a reverse derivative whose result has its cotangent between the sweeps: it owns memory.
    pub const SEEDS: u32 = 8;

    /// These flags, of a derivative whose result has its cotangent where it is looked for from the start, or between the
    /// sweeps.
    pub const fn seeded(flags: u32, from_the_start: bool) -> u32 {
        if from_the_start { flags } else { flags | Self::SEEDS }
    }

    /// A request for `width` derivatives side by side of the function `name`; `args` are its arguments and its result's
    /// place.
    pub const fn new(
        mode: Mode,
        width: u32,
        flags: u32,
        name: &'static str,
        (file, line, column): (&'static str, u32, u32),
        args: &'static [Arg],
    ) -> Self {
        Request {
            version: VERSION,
            mode,
            width,
            flags,
            name: Str::new(name),
            file: Str::new(file),
            line,
            column,
            args: Slice::new(args),
        }
    }
}

/// An argument of the primal, or the place of its result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Its name in the source, `return` for the result's place.
    pub name: Str,
    /// Whether it takes part.
    pub activity: Activity,
    /// [`BY_VALUE`](Self::BY_VALUE).
    pub flags: u32,
    /// What its memory looks like.
    pub layout: LayoutFn,
}

impl Arg {
    /// The flag of an argument that is moved into the function.
    pub const BY_VALUE: u32 = 1;

    /// The argument `name`, whose memory `layout` describes.
    pub const fn new(name: &'static str, activity: Activity, layout: LayoutFn) -> Self {
        Arg { name: Str::new(name), activity, flags: 0, layout }
    }

    /// The same, moved into the function: what it owns, the caller does not see afterwards.
    #[must_use]
    pub const fn by_value(self) -> Self {
        Arg { flags: Self::BY_VALUE, ..self }
    }
}
