//! The attributes and derives of Pullback.
