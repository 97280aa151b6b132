//! The commands that need no editor, the real program with a scripted model.

mod doctor;
mod exec;
mod support;
mod pictures;
mod trust;
