//! The bridge with real agents, the scripted model and a client on real pipes.

mod cancel;
mod client_files;
mod close;
mod connection;
mod end;
mod load;
mod permissions;
mod progress;
mod selectors;
mod stored;
mod support;
mod turns;
