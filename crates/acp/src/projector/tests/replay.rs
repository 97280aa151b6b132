//! Live and replayed views are one: what differs is only what was transient.

use std::collections::HashMap;

use weft_tools::{ExitStatus, FileDiff, ToolKind};

use super::*;

/// Changes a card as a client does.
pub(super) fn apply(card: &mut Value, update: &Value) {
    for (name, value) in update.as_object().unwrap() {
        card[name] = match (name.as_str(), card.get(name)) {
            ("sessionUpdate", _) => continue,
            ("_meta", Some(Value::Object(meta))) => {
                let mut meta = meta.clone();
                meta.extend(value.as_object().unwrap().clone());
                Value::Object(meta)
            }
            _ => value.clone(),
        };
    }
}

/// A card as a client holds it after some updates.
fn fold(updates: &[Value]) -> HashMap<String, Value> {
    let mut cards: HashMap<String, Value> = HashMap::new();
    for update in updates {
        let id = update["toolCallId"].as_str().unwrap().to_owned();
        match &update["sessionUpdate"] {
            kind if kind == "tool_call" => assert!(cards.insert(id, update.clone()).is_none()),
            _ => {
                let card = cards.get_mut(&id).expect("announced before it is updated");
                apply(card, update);
            }
        }
    }
    cards
}

#[track_caller]
fn check(client: ClientProfile, call: &CallView, result: &ResultView) {
    let announce = tool_call("viewed", r#"{"a":1}"#, true);
    let end = tool_result("raw", false);
    let run = |live: bool| {
        let mut stage = Stage::with_mode(client, if live { Mode::Live } else { Mode::Replay });
        *stage.tool.call.lock().unwrap() = Some(call.clone());
        *stage.tool.result.lock().unwrap() = Some(result.clone());
        let mut updates = stage.event(&announce);
        if live {
            updates.push(serde_json::to_value(stage.projector.started(&ID.into())).unwrap());
            updates.push(stage.progress(&view(Some("live /w/a.rs"), &["p", "q"])));
            updates.push(stage.progress(&view(None, &[])));
            updates.push(stage.progress(&view(Some("live"), &["last"])));
        }
        updates.extend(stage.event(&end));
        updates
    };
    let (live, replayed) = (run(true), run(false));
    assert_eq!(replayed.len(), 2, "only the pending and the final card");
    let (live, mut replayed) = (fold(&live), fold(&replayed));
    // Restored parts are named in the live card even where they are empty or equal to what was announced.
    for (name, value) in live[ID].as_object().unwrap() {
        let card = replayed.get_mut(ID).unwrap();
        if card.get(name).is_none() {
            assert_eq!(value, &json!([]), "{name}");
            card[name] = value.clone();
        }
    }
    assert_eq!(live, replayed);
}

#[test]
fn g14_and_g28_the_final_card_is_that_of_a_replay() {
    let diffs = || {
        vec![FileDiff {
            path: "/w/a.rs".into(),
            old_text: Some("a".into()),
            new_text: "b".into(),
        }]
    };
    let calls = [
        CallView::Generic {
            title: "Look at /w/a.rs".into(),
            kind: ToolKind::Read,
            raw_input: Some(json!({ "a": 1 })),
            content: vec![ContentBlock::text("call")],
            locations: Vec::new(),
        },
        CallView::Terminal {
            title: "make".into(),
            description: Some("Build".into()),
            cwd: None,
        },
        CallView::Terminal {
            title: "make".into(),
            description: None,
            cwd: Some("sub".into()),
        },
        CallView::Diff {
            title: "Edit /w/a.rs".into(),
            diffs: diffs(),
            locations: Vec::new(),
        },
    ];
    let results = [
        ResultView::Generic {
            title: None,
            content: None,
        },
        ResultView::Generic {
            title: Some("Done".into()),
            content: Some(vec![ContentBlock::text("shown")]),
        },
        ResultView::Terminal {
            title: None,
            output: Some("out".into()),
            exit: Some(ExitStatus::Code(1)),
        },
        ResultView::Terminal {
            title: None,
            output: None,
            exit: None,
        },
        ResultView::Diff {
            title: None,
            diffs: diffs(),
        },
        ResultView::Diff {
            title: Some("Edited".into()),
            diffs: Vec::new(),
        },
    ];
    for client in [CAPABLE, PLAIN] {
        for call in &calls {
            for result in &results {
                check(client, call, result);
            }
        }
    }
}
