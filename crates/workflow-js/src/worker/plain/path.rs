//! Where in a value something is.

use std::fmt;

/// The way from a value to a part of it, as one would write it in a script.
#[derive(Debug)]
pub(super) struct Path {
    root: &'static str,
    steps: Vec<Step>,
}

/// One step on the way.
#[derive(Debug)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl Path {
    pub(super) fn new(root: &'static str) -> Self {
        Self {
            root,
            steps: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    pub(super) fn pop(&mut self) {
        self.steps.pop();
    }

    /// The way to what is so many levels below the root.
    pub(super) fn upto(&self, level: usize) -> String {
        write_path(self.root, &self.steps[..level])
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&write_path(self.root, &self.steps))
    }
}

/// A long way is shown by its beginning.
fn write_path(root: &str, steps: &[Step]) -> String {
    const SHOWN: usize = 8;
    let mut text = root.to_owned();
    for step in steps.iter().take(SHOWN) {
        match step {
            Step::Index(index) => text.push_str(&format!("[{index}]")),
            Step::Key(key) if is_identifier(key) => text.push_str(&format!(".{key}")),
            Step::Key(key) => text.push_str(&format!("[{:?}]", crate::text::cut_chars(key, 40))),
        }
    }
    if steps.len() > SHOWN {
        text.push('…');
    }
    text
}

fn is_identifier(key: &str) -> bool {
    let starts = key.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$');
    starts && key.len() <= 40 && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_like_script() {
        let mut path = Path::new("value");
        path.push(Step::Key("a".into()));
        path.push(Step::Index(3));
        path.push(Step::Key("b c".into()));
        assert_eq!(path.to_string(), r#"value.a[3]["b c"]"#);
        assert_eq!(path.upto(1), "value.a");
        path.pop();
        assert_eq!(path.to_string(), "value.a[3]");
    }

    #[test]
    fn long_paths_and_keys_are_cut() {
        let mut path = Path::new("value");
        for _ in 0..1_000 {
            path.push(Step::Key("x".repeat(1_000)));
        }
        assert!(path.to_string().len() < 500);
    }
}
