//! What several tests use: the virtual clock, the recorded streams, small inputs.
