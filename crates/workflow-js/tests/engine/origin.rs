//! A run's clock and its random numbers.

use serde_json::{Value, json};
use weft_types::UnixMillis;
use weft_workflow::RunOrigin;

use super::harness::{Harness, config, shell_worker, value_of};

/// A Friday, some minutes past noon.
const ORIGIN: RunOrigin = RunOrigin {
    started_at: UnixMillis(1_709_296_496_789),
    seed: 42,
};

async fn run(script: &str, origin: RunOrigin) -> Value {
    let harness = Harness::new();
    let mut request = harness.request(script);
    request.origin = Some(origin);
    value_of(&*harness.run_request(request).await)
}

#[tokio::test]
async fn the_clock_stands_where_the_run_began() {
    let script = "
        class Later extends Date { plus() { return this.getTime() + 1 } }
        const before = Date.now();
        await agent('one');
        return [
          before, Date.now(), new Date().getTime(), Date().slice(0, 24), new Date().toISOString(),
          new Later().plus(), new (new Date().constructor)().getTime(), Reflect.construct(Date, []).getTime(),
          typeof performance,
        ]";
    let now = 1_709_296_496_789_u64;
    let expected = json!([
        now,
        now,
        now,
        "Fri Mar 01 2024 12:34:56",
        "2024-03-01T12:34:56.789Z",
        now + 1,
        now,
        now,
        "undefined",
    ]);
    assert_eq!(run(script, ORIGIN).await, expected);
}

#[tokio::test]
async fn dates_are_otherwise_what_the_language_has() {
    let script = "
        class Later extends Date {}
        return [
          new Date(0).toISOString(), new Date('2020-02-03').getTime(), new Date(2020, 1, 3).getTime(),
          Date.UTC(2020, 1, 3), Date.parse('2020-02-03T00:00:00Z'), new Date(new Date(5)).getTime(),
          Number.isNaN(new Date(undefined).getTime()), new Later(7) instanceof Date, new Later(7).getTime(),
          Date.name, Date.length, typeof Date(0), Object.keys(Date), Date.prototype.constructor === Date,
          Object.prototype.toString.call(new Date()), JSON.stringify(new Date(0)),
        ]";
    let day = 1_580_688_000_000_u64;
    let expected = json!([
        "1970-01-01T00:00:00.000Z",
        day,
        day,
        day,
        day,
        5,
        true,
        true,
        7,
        "Date",
        7,
        "string",
        [],
        true,
        "[object Date]",
        "\"1970-01-01T00:00:00.000Z\"",
    ]);
    assert_eq!(run(script, ORIGIN).await, expected);
}

#[tokio::test]
async fn random_numbers_are_those_of_the_seed() {
    let script = "return [Math.random(), Math.random(), Math.random()]";
    let first = run(script, ORIGIN).await;
    assert_eq!(run(script, ORIGIN).await, first);
    let other = RunOrigin { seed: 43, ..ORIGIN };
    assert_ne!(run(script, other).await, first);
}

#[tokio::test]
async fn a_run_without_an_origin_gets_one_of_its_own_and_tells_it() {
    let harness = Harness::new();
    let script = "return [Date.now(), Math.random()]";
    let (first, second) = (harness.start(script), harness.start(script));
    assert_ne!(first.origin().seed, second.origin().seed);
    assert!(first.origin().seed < 1 << 53 && second.origin().started_at >= first.origin().started_at);
    let seen = value_of(&*harness.finish(&*first).await);
    assert_eq!(seen[0], first.origin().started_at.0);
    let mut again = harness.request(script);
    again.origin = Some(first.origin());
    assert_eq!(value_of(&*harness.run_request(again).await), seen);
    harness.finish(&*second).await;
}

#[tokio::test]
async fn local_time_is_utc_wherever_the_run_is() {
    let mut config = config();
    config.worker = shell_worker("test \"$TZ\" = UTC0 || exit 9; exec \"$0\"");
    config.worker.args.push(env!("CARGO_BIN_EXE_weft-worker-test").into());
    let script =
        "const summer = new Date(2024, 6, 1); return [summer.getTimezoneOffset(), summer.getTime(), `${summer}`]";
    let result = Harness::with(config).run(script).await;
    assert_eq!(
        value_of(&result),
        json!([0, 1_719_792_000_000_u64, "Mon Jul 01 2024 00:00:00 GMT+0000"])
    );
}
