//! Which reply answers which request.

use super::*;

#[tokio::test]
async fn each_key_narrows_a_reply() {
    let model = script(
        r#"
        [[reply]]
        text = "anything"
        times = "any"
        [[reply]]
        role = "subagent"
        text = "some member"
        times = "any"
        [[reply]]
        role = "subagent"
        label = "reader"
        text = "the reader"
        times = "any"
        [[reply]]
        role = "subagent"
        label = "reader"
        step = 2
        text = "the reader, second step"
        times = "any"
        [[reply]]
        role = "main"
        prompt = "(?i)hello"
        text = "greeted"
        times = "any"
        [[reply]]
        role = "main"
        prompt = "(?i)hello"
        turn = 2
        text = "greeted again"
        times = "any"
        "#,
    );
    let cases = [
        (ask("what?"), "anything"),
        (member("writer", "hello"), "some member"),
        (member("reader", "hello"), "the reader"),
        (member("Reader", "hello"), "some member"),
        (at(member("reader", "hello"), 1, 2), "the reader, second step"),
        (ask("say HELLO to them"), "greeted"),
        (at(ask("hello"), 2, 3), "greeted again"),
    ];
    for (request, expected) in cases {
        assert_eq!(text(&model, request).await.as_deref(), Ok(expected));
    }
    assert!(model.report().is_clean(), "{:?}", model.report());
}

#[tokio::test]
async fn the_prompt_is_the_last_user_message() {
    let model = script("[[reply]]\nprompt = \"^second$\"\ntext = \"yes\"\n");
    let mut request = ask("first");
    let answered = AssistantBlock::Text { text: "third".into() };
    request.messages.push(Message::Assistant {
        content: vec![answered],
    });
    request.messages.push(Message::User {
        content: vec![ContentBlock::text("sec"), ContentBlock::text("ond")],
    });
    let call_id = CallId::new("c");
    request.messages.push(Message::Tool {
        call_id,
        content: vec![ContentBlock::text("fourth")],
        is_error: false,
    });
    assert_eq!(text(&model, request).await.as_deref(), Ok("yes"));
}

#[tokio::test]
async fn a_reply_is_used_as_often_as_it_says() {
    let model = script(
        r#"
        [[reply]]
        prompt = "x"
        text = "twice"
        times = 2
        [[reply]]
        text = "else"
        times = "any"
        "#,
    );
    for expected in ["twice", "twice", "else", "else"] {
        assert_eq!(text(&model, ask("x")).await.as_deref(), Ok(expected));
    }
}

#[tokio::test]
async fn parallel_members_get_their_own_replies_whatever_their_order() {
    let labels: Vec<String> = (0..24).map(|n| format!("member {n}")).collect();
    let replies = labels
        .iter()
        .map(|label| format!("[[reply]]\nlabel = \"{label}\"\ntext = \"for {label}\"\n"));
    let model = script(&replies.collect::<String>());
    let tasks = labels.iter().rev().map(|label| {
        let (model, label) = (model.clone(), label.clone());
        tokio::spawn(async move { (text(&model, member(&label, "go")).await, label) })
    });
    for done in join_all(tasks).await {
        let (found, label) = done.unwrap();
        assert_eq!(found, Ok(format!("for {label}")));
    }
    assert!(model.report().is_clean());
}

#[tokio::test]
async fn two_replies_that_fit_equally_well_are_an_error() {
    let model = script(
        "[[reply]]\nlabel = \"a\"\ntext = \"by label\"\ntimes = \"any\"\n\n\
         [[reply]]\nprompt = \"go\"\ntext = \"by prompt\"\ntimes = \"any\"\n",
    );
    let error = text(&model, member("a", "go")).await.unwrap_err();
    assert!(error.contains("several scripted replies fit equally well"), "{error}");
    assert!(error.contains("reply 1 (model.toml:1) for label \"a\""), "{error}");
    assert!(error.contains("reply 2 (model.toml:6) for prompt /go/"), "{error}");
    assert_eq!(text(&model, member("a", "stay")).await.as_deref(), Ok("by label"));
    assert_eq!(model.report().unknown, [error]);
}

#[tokio::test]
async fn an_unknown_request_says_what_was_asked_and_what_there_is() {
    let model = script("[[reply]]\nrole = \"main\"\nprompt = \"deploy\"\ntext = \"done\"\n");
    let items = answer(&model, at(member("reader", &"é".repeat(500)), 3, 2)).await;
    let [Err(error)] = &items[..] else { panic!("{items:?}") };
    assert_eq!(error.kind(), ModelErrorKind::Scripted);
    assert!(!error.is_retryable());
    let expected = format!(
        "no scripted reply for role subagent, label \"reader\", turn 3, step 2, prompt \"{}…\"; \
         reply 1 (model.toml:1) for role main, prompt /deploy/, used 0 of 1 times",
        "é".repeat(200)
    );
    assert_eq!(error.message(), expected);
    let report = model.report();
    assert_eq!(report.unknown, [expected]);
    assert_eq!(
        report.unused,
        ["reply 1 (model.toml:1) for role main, prompt /deploy/, used 0 of 1 times"]
    );
    assert!(!report.is_clean());
}

#[tokio::test]
async fn the_record_of_unknown_requests_is_bounded() {
    let model = script("[[reply]]\nlabel = \"a\"\ntext = \"x\"\n");
    for _ in 0..150 {
        assert!(text(&model, ask("go")).await.is_err());
    }
    assert_eq!(model.report().unknown.len(), 100);
}

#[tokio::test]
async fn nothing_is_used_before_the_first_poll() {
    let model = script("[[reply]]\ntext = \"x\"\n");
    drop(model.stream(ask("go")));
    assert_eq!(model.report().unused.len(), 1);
    assert_eq!(text(&model, ask("go")).await.as_deref(), Ok("x"));
    assert!(model.report().is_clean());
}

#[tokio::test]
async fn a_picture_is_matched_as_a_word_about_it() {
    let model = script(
        r#"
        [[reply]]
        prompt = 'see \[image image/png\]'
        text = "{{fromRequest:\\[image ([a-z/]+)\\]}}"
        "#,
    );
    let mut request = ask("see ");
    let Message::User { content } = &mut request.messages[0] else {
        unreachable!("a prompt")
    };
    content.push(ContentBlock::Image {
        mime_type: "image/png".into(),
        data: "QUJD".into(),
    });
    let answer = answer(&model, request).await;
    assert_eq!(answer[0], Ok(ModelEvent::TextDelta("image/png".into())));
}
