//! Servers as their users meet them: real processes, and an endpoint on loopback.

mod calls;
mod http;
mod life;
mod start;
mod support;
