//! What is offered, what can be chosen of it, and what is told of a choice.

use serde_json::{Value, json};
use weft_model::{ModelError, ModelErrorKind, ResolvedModel};

use super::*;

/// Models by their ids.
struct Listed(Vec<&'static str>);

impl Models for Listed {
    fn resolve(&self, _: Option<&str>) -> Result<ResolvedModel, ModelError> {
        Err(ModelError::new(ModelErrorKind::NotConfigured, "nobody asks"))
    }

    fn list(&self) -> Vec<ModelInfo> {
        self.0.iter().map(|id| ModelInfo::unknown(*id)).collect()
    }
}

fn selectors(list: &[&'static str], model: Option<&str>) -> Selectors {
    Selectors {
        models: Arc::new(Listed(list.to_vec())),
        mode: PermissionMode::Ask,
        model: model.map(str::to_owned),
    }
}

fn model_option(selectors: &Selectors) -> Value {
    json!(selectors.options())[1].clone()
}

fn value(value: &str) -> schema::SessionConfigOptionValue {
    value.into()
}

#[test]
fn the_modes_and_the_mode_option_say_the_same() {
    let selectors = selectors(&[], None);
    let (modes, options) = (json!(selectors.modes()), json!(selectors.options()));
    assert_eq!(modes["currentModeId"], "ask");
    assert_eq!(options[0]["currentValue"], "ask");
    assert_eq!(options[0]["category"], "mode");
    let ids = |list: &Value, key: &str| -> Vec<Value> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|entry| entry[key].clone())
            .collect()
    };
    let expected = ["plan", "ask", "accept-edits", "full"];
    assert_eq!(ids(&modes["availableModes"], "id"), expected);
    assert_eq!(ids(&options[0]["options"], "value"), expected);
}

#[test]
fn without_any_model_there_is_none_to_choose() {
    let none = selectors(&[], None);
    assert_eq!(none.options().len(), 1);
    let error = none.parse("model", &value("a/1")).unwrap_err().to_string();
    assert_eq!(error, "invalid params: `configId` must be `mode`");
}

#[test]
fn models_of_several_providers_stand_under_them() {
    let one = model_option(&selectors(&["a/1", "a/2"], Some("a/2")));
    assert_eq!(one["currentValue"], "a/2");
    assert_eq!(
        one["options"],
        json!([{ "value": "a/1", "name": "a/1" }, { "value": "a/2", "name": "a/2" }])
    );
    let two = model_option(&selectors(&["a/1", "b/x/y", "a/2"], Some("a/1")));
    assert_eq!(
        two["options"],
        json!([
            { "group": "a", "name": "a", "options": [{ "value": "a/1", "name": "a/1" }, { "value": "a/2", "name": "a/2" }] },
            { "group": "b", "name": "b", "options": [{ "value": "b/x/y", "name": "b/x/y" }] }
        ])
    );
}

#[test]
fn the_model_in_use_is_offered_even_if_no_list_has_it() {
    let unlisted = selectors(&["a/1"], Some("a/mine"));
    let option = model_option(&unlisted);
    assert_eq!(option["currentValue"], "a/mine");
    assert_eq!(option["options"][0]["value"], "a/mine");
    assert!(unlisted.parse("model", &value("a/mine")).is_ok());
    assert_eq!(
        model_option(&selectors(&[], Some("a/mine")))["options"][0]["value"],
        "a/mine"
    );
}

#[test]
fn that_none_is_chosen_is_shown_and_cannot_be_chosen() {
    let open = selectors(&["a/1"], None);
    let option = model_option(&open);
    assert_eq!(option["currentValue"], "none");
    assert_eq!(option["options"][0]["name"], "none chosen");
    let two = model_option(&selectors(&["a/1", "b/1"], None));
    assert_eq!(two["options"][0]["options"][0]["value"], "none");
    assert!(open.parse("model", &value("none")).is_err());
}

#[test]
fn what_is_not_offered_is_refused_with_what_is() {
    let selectors = selectors(&["a/1", "a/2"], Some("a/1"));
    let refused = |option: &str, value: schema::SessionConfigOptionValue| {
        selectors.parse(option, &value).unwrap_err().to_string()
    };
    let cases = [
        (
            refused("colour", value("red")),
            "`configId` must be one of `mode`, `model`",
        ),
        (
            refused("mode", value("yolo")),
            "`value` must be one of `plan`, `ask`, `accept-edits`, `full`",
        ),
        (refused("model", value("a/3")), "`value` must be one of `a/1`, `a/2`"),
        (
            refused("mode", true.into()),
            "`value` of the option `mode` must be the id of one of its values; leave `type` out",
        ),
    ];
    for (error, expected) in cases {
        assert_eq!(error, format!("invalid params: {expected}"));
    }
    let names: Vec<_> = (0..23).map(|at| format!("a/{at}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    assert!(one_of(&names).ends_with("`a/19` and 3 more"), "{}", one_of(&names));
}

#[test]
fn a_choice_is_told_in_the_other_form_and_its_event_is_no_news() {
    let mut selectors = selectors(&["a/1", "a/2"], Some("a/1"));
    let kind = |update: Option<schema::SessionUpdate>| json!(update)["sessionUpdate"].clone();
    assert_eq!(
        kind(selectors.chosen(Choice::Mode(PermissionMode::Plan), Form::Modes)),
        "config_option_update"
    );
    assert_eq!(
        kind(selectors.chosen(Choice::Mode(PermissionMode::Full), Form::Options)),
        "current_mode_update"
    );
    assert_eq!(
        kind(selectors.chosen(Choice::Model("a/2".into()), Form::Options)),
        Value::Null
    );
    let model = |model: &str| EventBody::SessionModel { model: model.into() };
    let mode = |mode: &str| EventBody::SessionMode { mode: mode.into() };
    for known in [model("a/2"), mode("full"), mode("a later version's")] {
        assert_eq!(selectors.event(&known), []);
    }
    let told = json!(selectors.event(&mode("ask")));
    assert_eq!(told[0]["currentModeId"], "ask");
    assert_eq!(told[1]["configOptions"][0]["currentValue"], "ask");
    let told = json!(selectors.event(&model("a/1")));
    assert_eq!(told[0]["configOptions"][1]["currentValue"], "a/1");
    assert_eq!(told.as_array().unwrap().len(), 1);
}
