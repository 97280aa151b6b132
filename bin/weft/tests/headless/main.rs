//! The commands that need no editor, the real program with a scripted model.

mod doctor;
mod editor;
mod exec;
mod pictures;
mod resume;
mod shell;
mod support;
mod trust;
mod workflow;
