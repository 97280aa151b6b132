//! What each command does.

pub(crate) mod acp;
pub(crate) mod demo;
pub(crate) mod docs;
pub(crate) mod replay;
pub(crate) mod sessions;
pub(crate) mod worker;
