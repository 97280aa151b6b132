//! Calls of foreign code whose panics end here.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;
use weft_observe::panic_text;

/// Calls `code`; a panic becomes its text. What `code` borrows must be sound when it panics half-way.
pub(crate) fn contained<R>(code: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| panic_text(&*panic).to_owned())
}

/// Makes and awaits a future; a panic of either becomes its text.
pub(crate) async fn contained_future<R, F: Future<Output = R>>(make: impl FnOnce() -> F) -> Result<R, String> {
    AssertUnwindSafe(async { make().await })
        .catch_unwind()
        .await
        .map_err(|panic| panic_text(&*panic).to_owned())
}
