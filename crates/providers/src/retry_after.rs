//! How long an endpoint asks to wait.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The wait that the headers of an answer ask for: `retry-after-ms`, or else `retry-after` in seconds or
/// as a date. What cannot be read counts as absent; a date in the past is no wait at all.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let millis = text(headers, "retry-after-ms").and_then(|text| text.parse::<f64>().ok());
    if let Some(wait) = millis.and_then(|millis| Duration::try_from_secs_f64(millis / 1000.0).ok()) {
        return Some(wait);
    }
    let wait = text(headers, RETRY_AFTER.as_str())?;
    if let Ok(seconds) = wait.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = httpdate::parse_http_date(wait).ok()?;
    Some(until.duration_since(now(headers)).unwrap_or_default())
}

/// Whether the endpoint says itself if another attempt makes sense.
pub(crate) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    text(headers, "x-should-retry").and_then(|text| text.parse().ok())
}

/// The endpoint's own time, so that its dates count even where the clocks differ.
fn now(headers: &HeaderMap) -> SystemTime {
    let told = text(headers, DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok());
    #[expect(
        clippy::disallowed_methods,
        reason = "the last resort for an answer without a date; nothing is logged"
    )]
    told.unwrap_or_else(SystemTime::now)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headers: &[(&'static str, &'static str)], expected_ms: Option<u128>) {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        assert_eq!(
            retry_after(&headers.collect()).map(|wait| wait.as_millis()),
            expected_ms
        );
    }

    const NOW: (&str, &str) = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");

    #[test]
    fn sse_12_seconds_milliseconds_and_dates_are_understood() {
        check(&[], None);
        check(&[("retry-after", "2")], Some(2_000));
        check(&[("retry-after", " 0 ")], Some(0));
        check(&[("retry-after", "1.5")], Some(1_500));
        check(&[("retry-after-ms", "250"), ("retry-after", "60")], Some(250));
        check(&[("retry-after-ms", "soon"), ("retry-after", "60")], Some(60_000));
        check(&[NOW, ("retry-after", "Wed, 21 Oct 2026 07:29:30 GMT")], Some(90_000));
        check(
            &[NOW, ("retry-after", "Wednesday, 21-Oct-26 07:28:05 GMT")],
            Some(5_000),
        );
        check(&[NOW, ("retry-after", "Wed, 21 Oct 2026 07:00:00 GMT")], Some(0));
    }

    #[test]
    fn sse_12_rubbish_counts_as_absent() {
        for rubbish in [
            "abc",
            "-1",
            "NaN",
            "inf",
            "1e400",
            "",
            "2 s",
            "Wed, 99 Oct 2037 07:28:00 GMT",
        ] {
            check(&[("retry-after", rubbish)], None);
        }
    }

    #[test]
    fn sse_12_a_date_without_a_date_of_the_answer_is_measured_from_here() {
        let headers = [(RETRY_AFTER, "Mon, 21 Oct 2137 07:28:00 GMT".parse().expect("a value"))];
        let wait = retry_after(&headers.into_iter().collect()).expect("a wait");
        assert!(wait > Duration::from_secs(365 * 86_400), "{wait:?}");
    }

    #[test]
    fn the_endpoint_may_say_whether_to_retry() {
        for (value, expected) in [("true", Some(true)), ("false", Some(false)), ("maybe", None)] {
            let headers = [(
                "x-should-retry".parse().expect("a name"),
                value.parse().expect("a value"),
            )];
            assert_eq!(should_retry(&headers.into_iter().collect()), expected);
        }
    }
}
