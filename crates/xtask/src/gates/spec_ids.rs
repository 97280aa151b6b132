//! Every acceptance item has a test that carries its number.
//!
//! An item is owed by a test function whose name begins with its id, `g05_…`, or with several,
//! `g05_p18_…`; a scenario folder in `fixtures/` may be named so as well, `g33-workflow-progress`.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use super::none_found;
use crate::workspace::Workspace;

/// The items this version owes: the checklist (`g`), the progress channel (`p`), the reducer (`d`), the
/// workflow records (`v`).
const OWED: [(char, RangeInclusive<u8>); 4] = [('g', 1..=88), ('p', 1..=26), ('d', 1..=15), ('v', 1..=19)];

/// One acceptance item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    chapter: char,
    number: u8,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:02}", self.chapter, self.number)
    }
}

/// Collects the ids of all test names and lists those that are owed and missing.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<()> {
    let mut named = BTreeSet::new();
    for (_, text) in workspace.sources()? {
        named.extend(test_names(&text).flat_map(ids));
    }
    for file in workspace.files()? {
        named.extend(scenario_of(&file).into_iter().flat_map(ids));
    }
    let owed = OWED
        .into_iter()
        .flat_map(|(chapter, numbers)| numbers.map(move |number| Id { chapter, number }));
    let (met, missing): (Vec<Id>, Vec<Id>) = owed.partition(|id| named.contains(id));
    println!("{} of {} items have a test", met.len(), met.len() + missing.len());
    none_found("acceptance items have no test named after them", &missing)
}

/// The names of the functions that stand under a `test` attribute.
fn test_names(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().map(str::trim).filter_map(move |line| {
        if line.starts_with("#[") {
            is_test |= ["#[test]", "#[tokio::test"]
                .iter()
                .any(|attribute| line.starts_with(attribute));
            return None;
        }
        if line.starts_with("//") {
            return None;
        }
        let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        let test = std::mem::take(&mut is_test);
        name.filter(|_| test)?.split(['(', '<']).next()
    })
}

/// The name of the scenario a file belongs to.
fn scenario_of(file: &Path) -> Option<&str> {
    file.strip_prefix("fixtures").ok()?.iter().next()?.to_str()
}

/// The ids a name begins with.
fn ids(name: &str) -> impl Iterator<Item = Id> {
    name.split(['_', '-']).map_while(|part| {
        let known = |chapter: &char| OWED.iter().any(|(owed, _)| owed == chapter);
        let chapter = part.chars().next().filter(known)?;
        let number = part.get(1..).filter(|digits| digits.len() == 2)?.parse().ok()?;
        Some(Id { chapter, number })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Vec<(char, u8)> {
        ids(name).map(|id| (id.chapter, id.number)).collect()
    }

    #[test]
    fn a_name_begins_with_one_id_or_several() {
        assert_eq!(of("g05_p18_false_after_the_end"), [('g', 5), ('p', 18)]);
        assert_eq!(of("v19_d12-release-on-end"), [('v', 19), ('d', 12)]);
        assert!(of("ends_g05").is_empty());
        assert!(of("x05_no_chapter").is_empty());
        assert!(of("p5_short").is_empty());
        assert!(of("g005_long").is_empty());
    }

    #[test]
    fn only_functions_under_a_test_attribute_count() {
        let text = "#[test]\nfn g01_a() {}\nfn g02_b() {}\n#[tokio::test(start_paused = true)]\n/// Doc.\n#[allow(x)]\n\
                    async fn g03_c() {}\n// #[test]\nfn g04_d() {}\n";
        assert_eq!(test_names(text).collect::<Vec<_>>(), ["g01_a", "g03_c"]);
    }

    #[test]
    fn a_scenario_is_named_by_its_folder() {
        assert_eq!(
            scenario_of(Path::new("fixtures/g33-progress/model.toml")),
            Some("g33-progress")
        );
        assert_eq!(scenario_of(Path::new("crates/g33/x.rs")), None);
    }
}
