//! The TypeScript file.

use std::collections::BTreeMap;

use ts_rs::{Config, TS, TypeVisitor};

use super::{Event, SessionHeader, WorkflowObservation};

const HEAD: &str = "\
// Generated from the types of weft-types; change those instead.
// Events of types that are not listed may come: a reader passes over those that are marked as ignorable.
";

/// The whole file.
pub(super) fn file() -> String {
    declarations()
        .into_values()
        .fold(HEAD.to_owned(), |text, declaration| text + "\n" + &declaration)
}

/// Each type's declaration by its name.
pub(super) fn declarations() -> BTreeMap<String, String> {
    let mut found = Declarations {
        // Numbers stay below 2^53.
        config: &Config::new().with_large_int("number"),
        declared: BTreeMap::new(),
    };
    found.visit::<SessionHeader>();
    found.visit::<Event>();
    found.visit::<WorkflowObservation>();
    found.declared
}

struct Declarations<'a> {
    config: &'a Config,
    declared: BTreeMap<String, String>,
}

impl TypeVisitor for Declarations<'_> {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        let name = T::ident(self.config);
        if T::output_path().is_none() || self.declared.contains_key(&name) {
            return;
        }
        let declaration = format!("{}export {}\n", T::docs().unwrap_or_default(), T::decl(self.config));
        self.declared.insert(name, layout(&declaration));
        T::visit_dependencies(self);
    }
}

/// Short comments on one line, each alternative on a line of its own, everything indented as deep as it lies.
fn layout(declaration: &str) -> String {
    let alternatives = declaration.replace("} | {", "}\n| {");
    let (mut text, mut depth) = (String::new(), 0);
    let mut comment: Option<Vec<&str>> = None;
    for line in alternatives.lines().map(str::trim_end) {
        match (line, comment.as_mut()) {
            ("/**", _) => comment = Some(Vec::new()),
            (" */", Some(lines)) => {
                match lines[..] {
                    [only] => push_line(&mut text, depth, &format!("/** {only} */")),
                    _ => {
                        push_line(&mut text, depth, "/**");
                        lines
                            .iter()
                            .for_each(|line| push_line(&mut text, depth, format!(" * {line}").trim_end()));
                        push_line(&mut text, depth, " */");
                    }
                }
                comment = None;
            }
            (line, Some(lines)) => lines.push(line.trim_start_matches(" *").trim_start()),
            (line, None) => {
                push_line(&mut text, depth, line);
                depth += line.matches(['{', '(']).count();
                depth -= line.matches(['}', ')']).count();
            }
        }
    }
    text
}

fn push_line(text: &mut String, depth: usize, line: &str) {
    text.push_str(&"  ".repeat(depth));
    text.push_str(line);
    text.push('\n');
}
