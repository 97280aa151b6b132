//! The schema of an answer, from its file.

use std::path::Path;

use serde_json::Value;

/// Reads it; the error is wrong usage.
pub(super) fn read(path: &Path) -> Result<Value, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("failed to read the schema {shown}: {error}"))?;
    let schema: Value = serde_json::from_str(&text).map_err(|error| format!("{shown} is not JSON: {error}"))?;
    if schema["type"] != "object" {
        return Err(format!(
            "{shown}: found a schema of something else, expected one of an object\nhint: {{\"type\": \"object\", \
             \"properties\": …}}; put a list or a text into a property"
        ));
    }
    Ok(schema)
}
