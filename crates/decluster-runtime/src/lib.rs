//! The blocking face.
