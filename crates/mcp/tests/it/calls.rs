//! Calls of tools, their results, their progress and their end.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weft_mcp::McpLimits;
use weft_tools::{Access, CallView, ErrorCode, ToolKind};
use weft_types::{ContentBlock, text_of};

use crate::support::{LONG, Session, context, server};

#[tokio::test]
async fn a_picture_is_content() {
    let session = Session::good().await;
    let result = session.call("picture", json!({})).await;
    let expected = ContentBlock::Image {
        mime_type: "image/png".into(),
        data: "aGVsbG8=".into(),
    };
    assert_eq!(result.content, [expected]);
}

#[tokio::test]
async fn what_a_server_calls_an_error_is_one() {
    let session = Session::good().await;
    let result = session.call("fail", json!({})).await;
    assert!(result.is_error());
    assert_eq!(text_of(&result.content), "Error: it cannot be done");
}

#[tokio::test]
async fn a_long_result_is_cut_and_says_so() {
    let mut context = context();
    context.limits = McpLimits::default().output_chars(1_000).expect("within its range");
    let session = Session::start_in(vec![server("test", "")], context).await;
    let text = Session::text(&session.call("echo", json!({"text": "x".repeat(5_000)})).await);
    assert!(
        text.contains("[4000 more characters are left out; mcp.max_output_chars is 1000"),
        "{text}"
    );
}

#[tokio::test]
async fn a_card_names_server_and_tool_and_what_the_server_says_of_it_decides_nothing() {
    let session = Session::good().await;
    let arguments = json!({"text": "hi"}).to_string();
    let view = session.registry.present_call("mcp__test__odd_name", &arguments);
    let CallView::Generic { title, kind, .. } = view else {
        panic!("{view:?}")
    };
    assert_eq!((&*title, kind), ("test: odd.name", ToolKind::Other));
    let CallView::Generic { kind, .. } = session.registry.present_call("mcp__test__echo", &arguments) else {
        panic!("a card is drawn")
    };
    assert_eq!(kind, ToolKind::Read);
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let accesses = std::sync::Arc::clone(&seen);
    session
        .registry
        .before_execute(move |call| {
            accesses
                .lock()
                .expect("nothing panics under it")
                .push(call.access.clone());
            weft_tools::Decision::Allow
        })
        .keep();
    session.call("echo", json!({"text": "hi"})).await;
    assert_eq!(*seen.lock().expect("nothing panics under it"), [Access::Other]);
}

#[tokio::test]
async fn progress_reaches_the_card_with_its_share_and_its_words() {
    let session = Session::good().await;
    let (texts, _counted, _subscription) = session.watch_progress();
    let (request, signal) = {
        let request = Session::request("slow", &json!({}));
        let signal = request.signal.clone();
        (request, signal)
    };
    let (_, mut counted, _second) = session.watch_progress();
    let shown = async {
        counted
            .wait_for(|count| *count > 0)
            .await
            .expect("the observer is there");
        signal.cancel();
    };
    let (result, ()) = tokio::join!(session.execute(request), shown);
    assert!(result.is_error());
    assert_eq!(
        *texts.lock().expect("nothing panics under it"),
        ["25% (1 of 4): it goes on"]
    );
}

/// MCP-04
#[tokio::test]
async fn a_cancel_ends_the_call_at_once_and_is_passed_on() {
    let session = Session::good().await;
    let request = Session::request("slow", &json!({}));
    let signal = request.signal.clone();
    let (_texts, mut counted, _subscription) = session.watch_progress();
    let cancel = async {
        counted
            .wait_for(|count| *count > 0)
            .await
            .expect("the observer is there");
        signal.cancel();
        Instant::now()
    };
    let (result, cancelled_at) = tokio::join!(session.execute(request), cancel);
    assert!(cancelled_at.elapsed() < Duration::from_secs(2));
    assert_eq!(
        result.outcome.expect_err("it was cancelled").code(),
        Some(ErrorCode::Aborted)
    );
    let told: Value =
        serde_json::from_str(&Session::text(&session.call("cancelled", json!({})).await)).expect("a list");
    assert_eq!(told.as_array().map(Vec::len), Some(1), "{told}");
}

/// MCP-04
#[tokio::test]
async fn a_call_without_answer_and_progress_ends_at_its_limit() {
    let mut config = server("test", "");
    config.call_timeout = Duration::from_millis(300);
    let session = Session::start(vec![config]).await;
    let error = session
        .call("slow", json!({}))
        .await
        .outcome
        .expect_err("it is given up");
    assert_eq!(error.code(), Some(ErrorCode::ToolTimeout));
    assert!(
        error
            .message()
            .ends_with("for 300ms and was given up; the limit is mcp.call_timeout"),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_is_told_the_folders_of_the_session_and_declined_the_rest() {
    let mut context = context();
    context.cwd = "/".into();
    context.additional_directories = vec!["/usr/share".into()];
    let session = Session::start_in(vec![server("test", "")], context).await;
    let roots = session.call("ask", json!({"method": "roots/list"})).await;
    let roots: Value = serde_json::from_str(&Session::text(&roots)).expect("an answer");
    assert_eq!(
        roots["roots"],
        json!([{"uri": "file:///"}, {"uri": "file:///usr/share", "name": "share"}])
    );
    let params = json!({"messages": [], "maxTokens": 1});
    let sample = session
        .call("ask", json!({"method": "sampling/createMessage", "params": params}))
        .await;
    assert!(Session::text(&sample).contains("-32601"), "{sample:?}");
    let params = json!({"message": "your name?", "requestedSchema": {"type": "object", "properties": {}}});
    let elicit = session
        .call("ask", json!({"method": "elicitation/create", "params": params}))
        .await;
    assert!(Session::text(&elicit).contains("decline"), "{elicit:?}");
}

/// SEC-08
#[tokio::test]
async fn a_server_gets_the_given_environment_and_its_own_and_nothing_else() {
    let session = Session::good().await;
    let env: Value = serde_json::from_str(&Session::text(&session.call("env", json!({})).await)).expect("an object");
    let mut names: Vec<&str> = env.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["PATH", "TEST_KEY"]);
}

#[tokio::test]
async fn calls_side_by_side_get_their_own_answers() {
    let session = Session::good().await;
    let calls = (0..50).map(|number| {
        let text = number.to_string();
        let session = &session;
        async move { Session::text(&session.call("echo", json!({ "text": text })).await) == text }
    });
    let answers = tokio::time::timeout(LONG, futures::future::join_all(calls))
        .await
        .expect("none hangs");
    assert!(answers.into_iter().all(|is_own| is_own));
}
