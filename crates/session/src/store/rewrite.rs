//! Part of the store.
