//! Every kind of line a client, a wrapper or a broken pipe can send.

use serde_json::json;

use super::*;

fn request(id: RawJsonRpcId, method: &str) -> Option<Inbound> {
    let message = RawJsonRpcMessage::request(method.into(), json!({}), id).expect("the params are an object");
    Some(Inbound::Message(message))
}

#[track_caller]
fn check_refused(line: &[u8], id: RawJsonRpcId, code: i32) {
    match read_frame(line) {
        Some(Inbound::Refused(refusal)) => {
            assert_eq!((refusal.id, refusal.code), (id, code), "{}", refusal.message);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn frm04_marks_and_blank_lines_are_ignored() {
    for blank in ["", "   ", "\t", "\r", "\u{feff}", "\u{feff}  "] {
        assert_eq!(read_frame(blank.as_bytes()), None, "{blank:?}");
    }
    let marked = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{}}";
    assert_eq!(read_frame(marked.as_bytes()), request(RawJsonRpcId::Number(1), "m"));
}

#[test]
fn frm09_ids_keep_type_and_value() {
    let ids = [
        ("0", RawJsonRpcId::Number(0)),
        ("-7", RawJsonRpcId::Number(-7)),
        ("9007199254740993", RawJsonRpcId::Number(9_007_199_254_740_993)),
        ("9223372036854775807", RawJsonRpcId::Number(i64::MAX)),
        ("\"3f2c-string\"", RawJsonRpcId::Str("3f2c-string".into())),
        ("\"é-日本-🧪\"", RawJsonRpcId::Str("é-日本-🧪".into())),
        ("\"\"", RawJsonRpcId::Str(String::new())),
        ("null", RawJsonRpcId::Null),
    ];
    for (text, id) in ids {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"m","params":{{}}}}"#);
        assert_eq!(read_frame(line.as_bytes()), request(id, "m"), "{text}");
    }
    for text in ["1.5", "true", "[]", "9223372036854775808"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"m"}}"#);
        check_refused(line.as_bytes(), RawJsonRpcId::Null, INVALID_REQUEST);
    }
}

#[test]
fn frm08_half_an_emoji_becomes_a_replacement_character() {
    let line = br#"{"jsonrpc":"2.0","id":3,"method":"m","params":{"text":"half: \ud83d end"}}"#;
    let Some(Inbound::Message(RawJsonRpcMessage::Request(request))) = read_frame(line) else {
        panic!("not a request");
    };
    let params = request.params.expect("it has some").into_value();
    assert_eq!(params, json!({"text": "half: \u{fffd} end"}));
}

#[test]
fn bytes_that_are_not_utf8_become_replacement_characters() {
    let line = b"{\"jsonrpc\":\"2.0\",\"method\":\"_x\xff\",\"params\":{}}";
    let Some(Inbound::Message(RawJsonRpcMessage::Notification(notification))) = read_frame(line) else {
        panic!("not a notification");
    };
    assert_eq!(&*notification.method, "_x\u{fffd}");
}

#[test]
fn what_is_no_message_is_refused_with_the_id_if_it_has_one() {
    let null = || RawJsonRpcId::Null;
    check_refused(b"{nope", null(), PARSE_ERROR);
    check_refused(
        b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"params\":{x",
        RawJsonRpcId::Number(4),
        PARSE_ERROR,
    );
    check_refused(b"17", null(), INVALID_REQUEST);
    check_refused(b"[]", null(), INVALID_REQUEST);
    check_refused(br#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, null(), INVALID_REQUEST);
    check_refused(br#"{"foo":"bar"}"#, null(), INVALID_REQUEST);
    check_refused(br#"{"id":5,"method":"m"}"#, RawJsonRpcId::Number(5), INVALID_REQUEST);
    check_refused(
        br#"{"jsonrpc":"1.0","id":5,"method":"m"}"#,
        RawJsonRpcId::Number(5),
        INVALID_REQUEST,
    );
    check_refused(
        br#"{"jsonrpc":"2.0","id":5,"method":7}"#,
        RawJsonRpcId::Number(5),
        INVALID_REQUEST,
    );
    check_refused(
        br#"{"jsonrpc":"2.0","id":5,"method":"m","params":"p"}"#,
        RawJsonRpcId::Number(5),
        INVALID_REQUEST,
    );
    check_refused(
        br#"{"jsonrpc":"2.0","id":5,"method":"m","result":1}"#,
        RawJsonRpcId::Number(5),
        INVALID_REQUEST,
    );
}

#[test]
fn a_refusal_holds_nothing_of_the_input() {
    for line in [&b"{\"secret"[..], br#"{"jsonrpc":"secret","id":1,"method":"m"}"#] {
        let Some(Inbound::Refused(refusal)) = read_frame(line) else {
            panic!("not refused");
        };
        assert!(!refusal.message.contains("secret"), "{}", refusal.message);
    }
}

#[test]
fn replies_are_read_and_broken_ones_are_never_replied_to() {
    let line = br#"{"jsonrpc":"2.0","id":"u","result":null}"#;
    let reply = RawJsonRpcResponse::new("u".to_string(), Ok(Value::Null));
    assert_eq!(
        read_frame(line),
        Some(Inbound::Message(RawJsonRpcMessage::Response(reply)))
    );
    let broken: [&[u8]; 5] = [
        br#"{"jsonrpc":"2.0","result":1}"#,
        br#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#,
        br#"{"jsonrpc":"2.0","id":1,"error":"text"}"#,
        br#"{"id":1,"result":1}"#,
        br#"{"jsonrpc":"2.0","id":1,"result":{x"#,
    ];
    for line in broken {
        assert_eq!(read_frame(line), None, "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn an_over_long_request_is_refused_by_its_id_and_an_over_long_reply_fails_its_request() {
    let head = br#"{"jsonrpc":"2.0","id":9,"method":"m","params":{"text":"aaaa"#;
    let Some(Inbound::Refused(refusal)) = read_too_long(head, 4096) else {
        panic!("not refused");
    };
    assert_eq!((refusal.id, refusal.code), (RawJsonRpcId::Number(9), INVALID_REQUEST));
    assert!(refusal.message.contains("acp.line_limit_bytes allows, 4096 bytes"));

    let head = br#"{"jsonrpc":"2.0","id":"u","result":{"content":"aaaa"#;
    let Some(Inbound::Message(RawJsonRpcMessage::Response(reply))) = read_too_long(head, 4096) else {
        panic!("not a reply");
    };
    assert_eq!(reply.id(), &RawJsonRpcId::Str("u".into()));
    assert!(matches!(reply, RawJsonRpcResponse::Error { .. }));
    assert_eq!(read_too_long(br#"{"result":{"#, 4096), None);
}

#[test]
fn json_nested_too_deep_is_refused_by_its_id_and_no_stack_overflows() {
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":6,"method":"m","params":{}"#,
        "[".repeat(1 << 20)
    );
    check_refused(line.as_bytes(), RawJsonRpcId::Number(6), PARSE_ERROR);
}
