//! What lives as long as an agent.

use futures::future::BoxFuture;

/// Something that an agent's tools work with and that ends with the agent, such as programs that were started for it.
pub trait Companion: Send + Sync {
    /// Ends it. Called once, when the agent's last turn is over; [`Agent::close`](crate::Agent::close) waits for it, so
    /// that it must resolve within a few seconds. One whose agent is lost otherwise is dropped.
    fn end(&self) -> BoxFuture<'_, ()>;

    /// What `/status` tells of it, a line each. Never waits.
    fn status(&self) -> Vec<String> {
        Vec::new()
    }
}
