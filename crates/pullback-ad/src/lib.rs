//! Analyses and transforms.
