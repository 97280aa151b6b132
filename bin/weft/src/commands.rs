//! What each command does.

pub(crate) mod acp;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod docs;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod models;
pub(crate) mod replay;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod trust;
pub(crate) mod worker;
pub(crate) mod workflow;
