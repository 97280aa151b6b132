//! How long to wait before a request is sent again.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use weft_model::ModelError;

use crate::Limits;

/// Where the randomness of waits comes from: numbers from 0 to 1.
#[derive(Clone)]
pub struct Jitter(Arc<dyn Fn() -> f64 + Send + Sync>);

impl Jitter {
    /// A source of its own; a number outside of 0 to 1 is moved to the nearer end.
    pub fn new(source: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    fn next(&self) -> f64 {
        let number = (self.0)();
        if number.is_nan() { 1.0 } else { number.clamp(0.0, 1.0) }
    }
}

impl Default for Jitter {
    /// Random numbers.
    fn default() -> Self {
        // The standard library seeds its hashers at random, and that is random enough to spread waits.
        Self::new(|| f64::from(RandomState::new().hash_one(()) as u32) / f64::from(u32::MAX))
    }
}

impl fmt::Debug for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jitter").finish_non_exhaustive()
    }
}

/// The wait before attempt `attempt + 1`, or what to tell the user when there is to be none.
pub(crate) fn wait_after(
    error: &ModelError,
    attempt: u32,
    limits: &Limits,
    jitter: &Jitter,
) -> Result<Duration, String> {
    if !error.is_retryable() {
        return Err(error.message().to_owned());
    }
    if attempt >= limits.attempts {
        let note = match attempt {
            1 => String::new(),
            _ => format!(" (gave up after {attempt} attempts, the limit agent.max_attempts)"),
        };
        return Err(format!("{}{note}", error.message()));
    }
    let backoff = jittered(doubled(limits, attempt), jitter);
    match error.retry_after() {
        Some(asked) if asked > limits.retry_after_max => Err(format!(
            "{} (the endpoint asks to wait {} s, the limit agent.max_retry_wait is {} s)",
            error.message(),
            asked.as_secs(),
            limits.retry_after_max.as_secs(),
        )),
        Some(asked) => Ok(asked.max(backoff)),
        None => Ok(backoff),
    }
}

fn doubled(limits: &Limits, attempt: u32) -> Duration {
    let factor = 2_u32.saturating_pow(attempt - 1);
    limits.backoff.saturating_mul(factor).min(limits.backoff_max)
}

/// Half of the wait up to all of it, so that agents that failed together do not come back together.
fn jittered(wait: Duration, jitter: &Jitter) -> Duration {
    wait.mul_f64(0.5 + jitter.next() / 2.0)
}

#[cfg(test)]
mod tests {
    use weft_model::ModelErrorKind;

    use super::*;

    fn busy() -> ModelError {
        ModelError::new(ModelErrorKind::Overloaded, "busy")
    }

    fn wait(error: &ModelError, attempt: u32, jitter: f64) -> Result<u64, String> {
        let wait = wait_after(error, attempt, &Limits::default(), &Jitter::new(move || jitter));
        wait.map(|wait| wait.as_millis() as u64)
    }

    #[test]
    fn waits_double_up_to_their_limit_and_jitter_takes_up_to_half() {
        let limits = Limits::default().attempts(20).expect("in range");
        let full = Jitter::new(|| 1.0);
        let waits: Vec<u64> = (1..=8)
            .map(|attempt| {
                wait_after(&busy(), attempt, &limits, &full)
                    .expect("another attempt")
                    .as_millis() as u64
            })
            .collect();
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        assert_eq!(wait(&busy(), 1, 0.0), Ok(250));
        assert_eq!(wait(&busy(), 1, -7.0), Ok(250));
        assert_eq!(wait(&busy(), 1, f64::NAN), Ok(500));
        let default = wait_after(&busy(), 1, &limits, &Jitter::default()).expect("another attempt");
        assert!((250..=500).contains(&default.as_millis()));
    }

    #[test]
    fn what_the_endpoint_asks_for_is_granted_up_to_the_limit() {
        let asks = |secs| busy().with_retry_after(Some(Duration::from_secs(secs)));
        assert_eq!(wait(&asks(60), 1, 0.0), Ok(60_000));
        assert_eq!(wait(&asks(120), 1, 0.0), Ok(120_000));
        assert_eq!(wait(&asks(0), 1, 1.0), Ok(500), "a wait of nothing would hammer it");
        assert_eq!(
            wait(&asks(121), 1, 0.0).expect_err("too long"),
            "busy (the endpoint asks to wait 121 s, the limit agent.max_retry_wait is 120 s)"
        );
    }

    #[test]
    fn the_last_attempt_and_hopeless_errors_are_reported() {
        assert_eq!(
            wait(&busy(), 5, 1.0).expect_err("the last"),
            "busy (gave up after 5 attempts, the limit agent.max_attempts)"
        );
        let auth = ModelError::new(ModelErrorKind::Auth, "bad key");
        assert_eq!(wait(&auth, 1, 1.0).expect_err("hopeless"), "bad key");
    }
}
