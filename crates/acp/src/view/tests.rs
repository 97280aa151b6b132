//! The rate of progress, on paused time.

use std::io::{self, Write};

use serde_json::Value;
use tokio::time::{advance, sleep};
use weft_tools::{ProgressLimits, ToolRegistry};
use weft_types::{AgentId, ContentBlock, EventBody, UnixMillis};

use super::*;
use crate::OutboxBytes;
use crate::projector::{ClientProfile, Mode};

const INTERVAL: Duration = Duration::from_millis(50);

/// What the client has been sent, shared with the writer thread.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<u8>>>);

impl Write for Sent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A view whose outbox also takes marks, so that the order tells the time.
struct Stage {
    view: Arc<SessionView>,
    outbox: Outbox,
    ticker: Ticker,
    sent: Sent,
}

impl Stage {
    fn new(min_interval: Duration) -> Self {
        let sent = Sent::default();
        let outbox = Outbox::start(sent.clone(), OutboxBytes::default()).unwrap();
        let ticker = Ticker::default();
        let registry = ToolRegistry::new(ProgressLimits::default());
        let projector = Projector::new(registry, "/w".into(), ClientProfile::default(), Mode::Live);
        let view = SessionView::new("s".into(), projector, outbox.clone(), ticker.clone(), min_interval);
        Self {
            view,
            outbox,
            ticker,
            sent,
        }
    }

    fn event(&self, body: EventBody) {
        let event = Event {
            seq: 0,
            time: UnixMillis(0),
            body,
        };
        self.view.session_update(&SessionUpdate::Event(Arc::new(event)));
    }

    fn call(&self, id: &str) {
        self.event(EventBody::ToolCall {
            turn: 1,
            step: 1,
            call_id: id.into(),
            name: "t".into(),
            arguments: "{}".into(),
            needs_approval: false,
        });
    }

    fn result(&self, id: &str) {
        self.event(EventBody::ToolResult {
            turn: 1,
            step: 1,
            call_id: id.into(),
            content: vec![ContentBlock::text(format!("{id} final"))],
            error: None,
            meta: None,
        });
    }

    fn report(&self, id: &str, text: &str) {
        self.view.progress(&ProgressObservation {
            agent: Some(AgentId::mint()),
            call_id: id.into(),
            root_call_id: id.into(),
            nested: false,
            tool: "t".into(),
            view: Arc::new(ProgressView::text(text)),
        });
    }

    fn mark(&self, mark: &str) {
        self.outbox.update(format!("{{\"mark\":\"{mark}\"}}\n").as_bytes());
    }

    /// Runs `script` beside the ticker; gives the texts of what was sent, marks included.
    async fn run(self, script: impl AsyncFnOnce(&Self)) -> Vec<String> {
        tokio::select! {
            () = script(&self) => {}
            never = self.ticker.run() => match never {},
        }
        self.outbox.close();
        self.outbox.ended().await;
        let sent = String::from_utf8(self.sent.0.lock().unwrap().clone()).unwrap();
        sent.lines().filter_map(text).collect()
    }
}

fn text(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).unwrap();
    let text = line
        .pointer("/params/update/content/0/content/text")
        .or(line.get("mark"));
    text.map(|text| text.as_str().unwrap().to_owned())
}

/// Lets the ticker do what is due by now.
async fn ticked() {
    sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn g32_the_first_report_leaves_at_once_and_the_last_when_its_time_has_come() {
    let sent = Stage::new(INTERVAL)
        .run(async |stage| {
            stage.call("a");
            for text in ["1", "2", "3"] {
                stage.report("a", text);
            }
            sleep(Duration::from_millis(49)).await;
            stage.mark("at 49");
            sleep(Duration::from_millis(2)).await;
            stage.mark("at 51");
            sleep(Duration::from_secs(10)).await;
            stage.report("a", "4");
            stage.mark("end");
        })
        .await;
    assert_eq!(sent, ["1", "at 49", "3", "at 51", "4", "end"]);
}

#[tokio::test(start_paused = true)]
async fn g32_what_is_held_when_the_call_ends_is_superseded_and_never_sent() {
    let sent = Stage::new(INTERVAL)
        .run(async |stage| {
            stage.call("a");
            stage.report("a", "1");
            stage.report("a", "2");
            stage.result("a");
            assert!(
                stage.view.open().unwrap().pace.is_empty(),
                "nothing is kept of a final card"
            );
            sleep(Duration::from_secs(10)).await;
            stage.mark("end");
        })
        .await;
    assert_eq!(sent, ["1", "a final", "end"]);
}

#[tokio::test(start_paused = true)]
async fn g32_zero_sends_every_report() {
    let sent = Stage::new(Duration::ZERO)
        .run(async |stage| {
            stage.call("a");
            for text in ["1", "2", "3"] {
                stage.report("a", text);
            }
        })
        .await;
    assert_eq!(sent, ["1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn calls_do_not_share_an_interval() {
    let sent = Stage::new(INTERVAL)
        .run(async |stage| {
            stage.call("a");
            stage.call("b");
            stage.report("a", "a1");
            stage.report("a", "a2");
            sleep(Duration::from_millis(30)).await;
            stage.report("b", "b1");
            stage.report("b", "b2");
            sleep(Duration::from_millis(25)).await;
            stage.mark("at 55");
            sleep(Duration::from_millis(30)).await;
        })
        .await;
    assert_eq!(sent, ["a1", "b1", "a2", "at 55", "b2"]);
}

#[tokio::test(start_paused = true)]
async fn a_late_ticker_does_not_shorten_the_next_interval() {
    let sent = Stage::new(INTERVAL)
        .run(async |stage| {
            stage.call("a");
            stage.report("a", "1");
            stage.report("a", "2");
            // The time comes, and the report that follows is there before the ticker.
            advance(INTERVAL).await;
            stage.report("a", "3");
            stage.report("a", "4");
            ticked().await;
            stage.mark("at 51");
            sleep(INTERVAL).await;
        })
        .await;
    assert_eq!(sent.last().unwrap(), "4", "{sent:?}");
    assert!(
        sent.iter().position(|text| text == "4") > sent.iter().position(|text| text == "at 51"),
        "{sent:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_shown_after_the_close() {
    let sent = Stage::new(INTERVAL)
        .run(async |stage| {
            stage.call("a");
            stage.report("a", "1");
            stage.report("a", "2");
            stage.view.close();
            stage.mark("closed");
            stage.report("a", "3");
            stage.call("b");
            stage.result("a");
            stage.view.close();
            sleep(Duration::from_secs(10)).await;
        })
        .await;
    assert_eq!(sent, ["1", "stopped: the connection ended", "closed"]);
}

#[tokio::test(start_paused = true)]
async fn a_view_that_is_gone_is_not_waited_for() {
    let stage = Stage::new(INTERVAL);
    stage.call("a");
    stage.report("a", "1");
    stage.report("a", "2");
    let Stage { view, ticker, .. } = stage;
    let gone = Arc::downgrade(&view);
    drop(view);
    assert!(gone.upgrade().is_none(), "the ticker keeps no view alive");
    tokio::select! {
        () = sleep(Duration::from_secs(1)) => {}
        never = ticker.run() => match never {},
    }
}
