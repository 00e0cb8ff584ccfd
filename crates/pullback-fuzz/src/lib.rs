//! Random programs that check Pullback's engine.
