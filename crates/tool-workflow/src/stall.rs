//! The limit on how long a member may do nothing at all.

use std::future::pending;
use std::time::Duration;

use tokio::time::sleep;
use weft_agent::{Pulse, short_time};

/// Resolves when nothing has happened in a member for so long; never without a limit.
pub(crate) async fn stalled(pulse: &Pulse, limit: Duration) {
    if limit.is_zero() {
        pending::<()>().await;
    }
    loop {
        let left = limit.saturating_sub(pulse.idle());
        if left.is_zero() {
            return;
        }
        sleep(left).await;
    }
}

/// Why a member that stalled has failed.
pub(crate) fn problem(limit: Duration, last: Option<&str>) -> String {
    let last = last
        .map(|last| format!("; when it fell silent it was {last}"))
        .unwrap_or_default();
    format!(
        "nothing happened in it for {}, which is the limit (workflow.max_stall){last}",
        short_time(limit)
    )
}
