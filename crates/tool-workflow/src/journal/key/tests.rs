use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;

fn request() -> MemberRequest {
    MemberRequest {
        run: "r".into(),
        seq: 1,
        label: "l".into(),
        phase: None,
        prompt: "p".into(),
        schema: None,
        provider: Some("spawn".into()),
        model: None,
        tools: None,
        cancel: CancellationToken::new(),
    }
}

fn changed(change: impl FnOnce(&mut MemberRequest)) -> Key {
    let mut request = request();
    change(&mut request);
    Key::of(&request)
}

#[test]
fn what_is_only_shown_does_not_change_a_key() {
    let key = Key::of(&request());
    let same = changed(|request| {
        request.run = "another".into();
        request.seq = 7;
        request.label = "shown".into();
        request.phase = Some("shown".into());
    });
    assert_eq!(same, key);
}

#[test]
fn what_changes_the_answer_changes_the_key() {
    let keys = [
        Key::of(&request()),
        changed(|request| request.prompt = "q".into()),
        changed(|request| request.schema = Some(json!({ "type": "object" }))),
        changed(|request| request.provider = Some("other".into())),
        changed(|request| request.model = Some("p/m".into())),
        changed(|request| request.tools = Some(Vec::new())),
        changed(|request| request.tools = Some(vec!["read".into()])),
        // The same texts in other places.
        changed(|request| request.model = Some("spawn".into())),
    ];
    for (at, key) in keys.iter().enumerate() {
        assert!(!keys[..at].contains(key), "{at}");
    }
}

#[test]
fn a_key_is_the_same_in_every_version() {
    assert_eq!(
        serde_json::to_value(Key::of(&request())).expect("a text"),
        "ee446e816dbabb4a5c1461c7f80d4a4e"
    );
}
