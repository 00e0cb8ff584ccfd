//! Linking without lld: other linkers do not read bitcode, so the driver compiles it.

use super::line::LinkLine;
use anyhow::Result;
use pullback_llvm::{Module, OptLevel, TargetOptions};

/// How hard the optimiser tries, as rustc has written it on the line for the linker (`-Wl,-plugin-opt=O2`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort(u8);

impl Default for Effort {
    fn default() -> Self {
        Effort(2)
    }
}

impl Effort {
    /// Not at all.
    pub const NONE: Effort = Effort(0);
    /// As hard as it can.
    pub const MOST: Effort = Effort(3);

    /// What the line says.
    pub fn of(line: &LinkLine) -> Self {
        let level = line.plugin_options().find_map(|option| option.strip_prefix('O')?.parse().ok());
        level.map_or_else(Self::default, Effort)
    }

    /// 0 to 3.
    pub fn level(self) -> u8 {
        self.0.min(3)
    }
}

/// The native object of a module.
pub fn compile(mut module: Module, effort: Effort) -> Result<Vec<u8>> {
    let opt_level = match effort.0 {
        0 => OptLevel::None,
        1 => OptLevel::Less,
        2 => OptLevel::Default,
        _ => OptLevel::Aggressive,
    };
    let options = TargetOptions { opt_level, ..TargetOptions::default() };
    if effort.0 > 0 {
        module.run_passes(&format!("default<O{}>", effort.level()), &options)?;
    }
    Ok(module.emit_object(&options)?)
}
