//! The controls of a scripted model, as extension methods of the protocol.
//!
//! They exist only while the configured model is a scripted one, so that a scenario's client can open
//! gates and ask what was left over, over the very connection that it tests.

use std::sync::Arc;

use serde_json::{Value, json};
use weft_acp::{ExtensionError, ExtensionMethods, ExtensionNameError};
use weft_model::ScriptedModel;

/// Adds the controls.
pub(crate) fn register(methods: &mut ExtensionMethods, model: &Arc<ScriptedModel>) -> Result<(), ExtensionNameError> {
    let scripted = Arc::clone(model);
    methods.register("_weft/scripted/gate/open", move |params| {
        let scripted = Arc::clone(&scripted);
        async move {
            scripted
                .open_gate(gate(&params)?)
                .map_err(|error| invalid(error.to_string()))?;
            Ok(json!({}))
        }
    })?;
    let scripted = Arc::clone(model);
    methods.register("_weft/scripted/gate/wait", move |params| {
        let scripted = Arc::clone(&scripted);
        async move {
            let arrivals = arrivals(&params)?;
            let waited = scripted.wait_gate_arrivals(gate(&params)?, arrivals).await;
            waited.map_err(|error| invalid(error.to_string()))?;
            Ok(json!({}))
        }
    })?;
    let scripted = Arc::clone(model);
    methods.register("_weft/scripted/report", move |_params| {
        let report = scripted.report();
        let (unused, unknown, gates) = (report.unused, report.unknown, report.unmatched_gates);
        std::future::ready(Ok(
            json!({"unused": unused, "unknown": unknown, "unmatchedGates": gates}),
        ))
    })
}

fn gate(params: &Value) -> Result<&str, ExtensionError> {
    params["gate"]
        .as_str()
        .ok_or_else(|| invalid("`gate` is missing, expected the name of a gate".to_owned()))
}

fn arrivals(params: &Value) -> Result<usize, ExtensionError> {
    let Some(count) = params.get("count") else { return Ok(1) };
    let count = count
        .as_u64()
        .filter(|count| *count > 0)
        .and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| invalid("`count` must be a whole number of at least 1".to_owned()))
}

fn invalid(message: String) -> ExtensionError {
    ExtensionError::InvalidParams(message)
}
