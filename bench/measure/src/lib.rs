//! What the measurements share.

pub mod clock;
pub mod growth;
pub mod instructions;
pub mod memory;
mod noise;

pub use noise::Noise;
