//! What to say of a path at which there is nothing.

use std::path::Path;

use weft_tools::ToolError;

use super::{Place, names_in};

/// How many similar names are listed.
const MAX_NAMES: usize = 5;
/// How many names of a folder are compared.
const MAX_COMPARED: usize = 10_000;

/// That there is nothing, where the path stops to exist, and which names there are like the missing one.
pub(crate) fn describe_missing(place: &Place, folder: &Path) -> ToolError {
    let mut message = format!("{} does not exist", place.shown);
    let (mut missing, mut nearest) = (place.real.as_path(), place.real.parent());
    while let Some(parent) = nearest.filter(|parent| !parent.is_dir()) {
        (missing, nearest) = (parent, parent.parent());
    }
    let (Some(nearest), Some(name)) = (nearest, missing.file_name()) else {
        return ToolError::new(message);
    };
    if place.real.parent() != Some(nearest) {
        message += &format!("; the nearest folder that exists is {}", shown(nearest, folder));
    }
    let names = names_in(nearest, MAX_COMPARED).map_or_else(|_| Vec::new(), |(names, _)| names);
    let similar = most_similar(&name.to_string_lossy(), &names);
    if !similar.is_empty() {
        message += &format!("; there is {} in {}", similar.join(", "), shown(nearest, folder));
    }
    ToolError::new(message)
}

fn shown(path: &Path, folder: &Path) -> String {
    match path.strip_prefix(folder) {
        Ok(rest) if rest.as_os_str().is_empty() => "the session's folder".to_owned(),
        Ok(rest) => rest.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

/// The names most like this one, best first; none that is not like it at all.
fn most_similar<'a>(name: &str, names: &'a [String]) -> Vec<&'a str> {
    let wanted: Vec<char> = name.to_lowercase().chars().take(200).collect();
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let wanted_stem = stem(&name.to_lowercase());
    // Two letters that changed places count as two changes.
    let most = if wanted.len() < 3 { 1 } else { (wanted.len() / 3).max(2) };
    let mut scored: Vec<(usize, &str)> = Vec::new();
    for candidate in names {
        let lower = candidate.trim_end_matches('/').to_lowercase();
        let distance = distance(&wanted, &lower.chars().take(200).collect::<Vec<_>>());
        let same_stem = wanted_stem.len() > 1 && stem(&lower) == wanted_stem;
        if distance <= most || same_stem {
            scored.push((distance, candidate));
        }
    }
    scored.sort_unstable();
    scored.into_iter().take(MAX_NAMES).map(|(_, name)| name).collect()
}

/// How many characters must be put in, left out or replaced to make one of the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &[&str]) {
        let names = ["Cargo.toml", "README.md", "main.rs", "main_test.rs", "src/", "x"].map(String::from);
        assert_eq!(most_similar(name, &names), expected, "{name}");
    }

    #[test]
    fn names_that_differ_in_case_ending_or_a_few_letters_are_similar() {
        check("readme.md", &["README.md"]);
        check("Cargo.tml", &["Cargo.toml"]);
        check("main.ts", &["main.rs"]);
        check("scr", &["src/"]);
        check("nothing-like-it.txt", &[]);
    }

    #[test]
    fn the_distance_counts_single_changes() {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        for (a, b, expected) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!(distance(&chars(a), &chars(b)), expected, "{a} {b}");
        }
    }
}
