//! Tool registry, execution phases, progress channel and presentation views.
