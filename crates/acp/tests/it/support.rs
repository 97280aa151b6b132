//! A world behind the bridge, a client in front of it.

mod check;
mod client;
mod tool;
mod world;

pub(crate) use client::{Client, text_of_update};
pub(crate) use tool::TestTool;
pub(crate) use world::{Opening, World, header};
