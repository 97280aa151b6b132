//! The examples of `docs/workflows.md`: each is run.
//!
//! Behind the word `js` of its fence an example says what it needs: `args=JSON`, and `saved=NAME` for another example, by
//! the name in its metadata, that it runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::harness::{Harness, value_of};
use super::saved::Shelf;

const GUIDE: &str = include_str!("../../../../docs/workflows.md");

struct Example {
    wants: String,
    script: String,
}

fn examples() -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut open: Option<Example> = None;
    for line in GUIDE.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                let (word, wants) = info.split_once(' ').unwrap_or((info, ""));
                open = (word == "js").then(|| Example {
                    wants: wants.to_owned(),
                    script: String::new(),
                });
            }
            (Some(_), Some(_)) => examples.extend(open.take()),
            (Some(example), None) => {
                example.script.push_str(line);
                example.script.push('\n');
            }
            (None, None) => {}
        }
    }
    examples
}

#[tokio::test]
async fn every_example_of_the_guide_runs() {
    let examples = examples();
    assert!(examples.len() >= 6, "only {} were found", examples.len());
    for example in &examples {
        let harness = Harness::new();
        let mut request = harness.request(&example.script);
        request.meta = None;
        if let Some(args) = example.wants.strip_prefix("args=") {
            request.args = Some(serde_json::from_str(args).expect("JSON behind args="));
        }
        if example.wants.strip_prefix("saved=") == Some("explain") {
            let named = |other: &&Example| other.script.contains("name: 'explain'");
            let script = examples.iter().find(named).expect("another example").script.clone();
            request.saved = Some(Arc::new(Shelf(BTreeMap::from([("explain", script)]))));
        }
        let result = harness.run_request(request).await;
        let value = value_of(&result);
        assert!(
            value != Value::Null && result.agents_started > 0,
            "{}\n{value}",
            example.script
        );
        assert_eq!(result.notes, Vec::<String>::new(), "{}", example.script);
    }
}
