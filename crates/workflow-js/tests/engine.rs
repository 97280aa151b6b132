//! The engine with real worker processes.

mod engine {
    mod budget;
    mod cancel;
    mod death;
    mod dialect;
    mod docs;
    mod harness;
    mod hooks;
    mod hostile;
    mod lifecycle;
    mod limits;
    mod members;
    mod origin;
    mod saved;
    mod start;
    mod strays;
    mod values;
}
