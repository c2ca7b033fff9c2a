//! Models of other pacers.
