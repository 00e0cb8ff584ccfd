//! Rustc's bitcode to Pullback's IR and back, through the libLLVM of the rustc in use.
