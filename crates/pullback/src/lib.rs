//! Derivatives of ordinary Rust functions on stable Rust.
