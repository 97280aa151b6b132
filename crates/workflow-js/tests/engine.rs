//! The engine with real worker processes.

mod engine {
    mod harness;
    mod members;
}
