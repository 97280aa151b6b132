//! What a reply sends.

use super::*;

fn call(id: &str, name: &str, arguments: &str) -> ModelEvent {
    ModelEvent::ToolCall {
        id: CallId::new(id),
        name: name.into(),
        arguments: arguments.into(),
    }
}

async fn good(model: &ScriptedModel, request: ModelRequest) -> Vec<ModelEvent> {
    answer(model, request)
        .await
        .into_iter()
        .map(|item| item.expect("a good answer"))
        .collect()
}

#[tokio::test]
async fn a_reply_sends_its_parts_in_order_and_finishes_once() {
    let model = script(
        r#"
        [[reply]]
        reasoning = ["hm ", "yes"]
        text = ["one ", "", "two"]
        usage = { input_tokens = 10, output_tokens = 5, cached_input_tokens = 4, reasoning_tokens = 2 }
        [[reply.tool_call]]
        id = "call_a"
        name = "read"
        arguments = { path = "a.txt", limit = 3, deep = { all = true, of = [1.5, "x"] } }
        [[reply.tool_call]]
        name = "list"
        [[reply.tool_call]]
        name = "read"
        arguments_text = '{"path": '
        "#,
    );
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 5,
        cached_input_tokens: 4,
        reasoning_tokens: 2,
    };
    let expected = [
        ModelEvent::ReasoningDelta("hm ".into()),
        ModelEvent::ReasoningDelta("yes".into()),
        ModelEvent::TextDelta("one ".into()),
        ModelEvent::TextDelta("two".into()),
        call(
            "call_a",
            "read",
            r#"{"deep":{"all":true,"of":[1.5,"x"]},"limit":3,"path":"a.txt"}"#,
        ),
        call("call_t4s7n2", "list", "{}"),
        call("call_t4s7n3", "read", "{\"path\": "),
        ModelEvent::Usage(usage),
        ModelEvent::Finish(StopReason::ToolUse),
    ];
    assert_eq!(good(&model, at(ask("go"), 4, 7)).await, expected);
}

#[tokio::test]
async fn the_stop_reason_follows_from_the_answer_unless_given() {
    let model =
        script("[[reply]]\nstep = 1\ntext = \"\"\n[[reply]]\nstep = 2\ntext = \"cut\"\nstop = \"max_tokens\"\n");
    assert_eq!(
        good(&model, at(ask("go"), 1, 1)).await,
        [ModelEvent::Finish(StopReason::EndTurn)]
    );
    let cut = [
        ModelEvent::TextDelta("cut".into()),
        ModelEvent::Finish(StopReason::MaxTokens),
    ];
    assert_eq!(good(&model, at(ask("go"), 1, 2)).await, cut);
}

#[tokio::test]
async fn an_error_comes_after_the_text_and_ends_the_stream() {
    let model = script(
        r#"
        [[reply]]
        text = "half"
        error = { kind = "rate_limited", message = "slow down", retry_after_ms = 1500 }
        "#,
    );
    let error = ModelError::new(ModelErrorKind::RateLimited, "slow down");
    let error = error.with_retry_after(Some(Duration::from_millis(1500)));
    assert!(error.is_retryable());
    assert_eq!(
        answer(&model, ask("go")).await,
        [Ok(ModelEvent::TextDelta("half".into())), Err(error)]
    );
}

#[tokio::test]
async fn a_hang_sends_what_it_has_and_never_ends() {
    let model = script("[[reply]]\ntext = \"half\"\nhang = true\n");
    let mut stream = model.stream(ask("go"));
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::TextDelta("half".into()))));
    assert_eq!(stream.next().now_or_never(), None);
}

#[tokio::test(start_paused = true)]
async fn delays_stand_before_the_reply_and_between_its_chunks() {
    let model = script("[[reply]]\nreasoning = \"r\"\ntext = [\"a\", \"b\"]\ndelay_ms = 700\nchunk_delay_ms = 40\n");
    let start = Instant::now();
    let mut stream = model.stream(ask("go"));
    let mut times = Vec::new();
    while let Some(Ok(event)) = stream.next().await {
        times.push((start.elapsed().as_millis(), event));
    }
    let expected = [
        (700, ModelEvent::ReasoningDelta("r".into())),
        (740, ModelEvent::TextDelta("a".into())),
        (780, ModelEvent::TextDelta("b".into())),
        (780, ModelEvent::Finish(StopReason::EndTurn)),
    ];
    assert_eq!(times, expected);
}

#[tokio::test]
async fn placeholders_are_filled_from_the_whole_request() {
    let model = script(
        r#"
        [[reply]]
        text = "{{fromRequest:run ([a-z0-9-]+)}} and {{fromRequest:be (\\w+)}}"
        [[reply.tool_call]]
        name = "write"
        arguments = { content = "{{fromRequest:said (\".*\")}}" }
        [[reply.tool_call]]
        name = "write"
        arguments_text = "[{{fromRequest:run [a-z]-(\\d)}}]"
        "#,
    );
    let mut request = ask("run a-1 said \"yes\"");
    let content = vec![ContentBlock::text("started run b-2")];
    request.messages.push(Message::Tool {
        call_id: CallId::new("c"),
        content,
        is_error: false,
    });
    let expected = [
        ModelEvent::TextDelta("b-2 and brief".into()),
        call("call_t1s1n1", "write", r#"{"content":"\"yes\""}"#),
        call("call_t1s1n2", "write", "[2]"),
        ModelEvent::Finish(StopReason::ToolUse),
    ];
    assert_eq!(good(&model, request).await, expected);
}

#[tokio::test]
async fn a_placeholder_that_finds_nothing_fails_the_request_and_is_reported() {
    let model = script("[[reply]]\ntext = [\"seen\", \"{{fromRequest:id (\\\\d+)}}\"]\n");
    let error = text(&model, ask("no number")).await.unwrap_err();
    assert_eq!(
        error,
        "reply 1 (model.toml:1) cannot answer: `{{fromRequest:id (\\d+)}}` matches nothing in the request"
    );
    assert_eq!(model.report().unknown, [error]);
}

#[tokio::test]
async fn long_arguments_stand_in_files_beside_the_script() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.js"), "log('{{fromRequest:hello (\\w+)}}');\n").unwrap();
    std::fs::write(folder.path().join("raw.json"), "{\"a\": 1}").unwrap();
    std::fs::write(
        folder.path().join("model.toml"),
        r#"
        [[reply]]
        [[reply.tool_call]]
        name = "workflow"
        arguments = { script = { file = "run.js" }, args = { files = [{ file = "raw.json" }] } }
        [[reply.tool_call]]
        name = "other"
        arguments_file = "raw.json"
        "#,
    )
    .unwrap();
    let model = ScriptedModel::load(&folder.path().join("model.toml")).unwrap();
    let expected = [
        call(
            "call_t1s1n1",
            "workflow",
            r#"{"args":{"files":["{\"a\": 1}"]},"script":"log('you');\n"}"#,
        ),
        call("call_t1s1n2", "other", "{\"a\": 1}"),
        ModelEvent::Finish(StopReason::ToolUse),
    ];
    assert_eq!(good(&model, ask("hello you")).await, expected);
}
