//! Text that is shown as it is, whether its reader renders Markdown or not.

/// Escapes one line so that a Markdown renderer shows it as it stands. What could not be taken for markup is left
/// alone: `snake_case`, `2 * 3`, `~/src` and `[x]` read the same raw and rendered.
///
/// The line must not stand at the beginning of a block.
pub fn escape_markdown(line: &str) -> String {
    if !line.contains(['`', '~', '*', '_', '\\', ']', '<', '&']) {
        return line.to_owned();
    }
    let chars: Vec<char> = line.chars().collect();
    let marks = Marks::count(&chars);
    let mut escaped = String::with_capacity(line.len() + 8);
    for (index, c) in chars.iter().enumerate() {
        if marks.needs_escape(&chars, index) {
            escaped.push('\\');
        }
        escaped.push(*c);
    }
    escaped
}

/// How many runs of delimiters of each kind there are: one alone marks nothing up.
struct Marks {
    backticks: usize,
    tildes: usize,
    stars: usize,
    underscores: usize,
}

impl Marks {
    fn count(chars: &[char]) -> Self {
        let begins_run = |index: usize, wanted| {
            let continues = index > 0 && is_delimiter(chars, index - 1, wanted);
            is_delimiter(chars, index, wanted) && !continues
        };
        let count = |wanted: char| (0..chars.len()).filter(|&index| begins_run(index, wanted)).count();
        Self {
            backticks: count('`'),
            tildes: count('~'),
            stars: count('*'),
            underscores: count('_'),
        }
    }

    fn needs_escape(&self, chars: &[char], index: usize) -> bool {
        let next = chars.get(index + 1).copied();
        match chars[index] {
            '`' => self.backticks > 1,
            '~' => self.tildes > 1,
            '*' => self.stars > 1 && is_delimiter(chars, index, '*'),
            '_' => self.underscores > 1 && is_delimiter(chars, index, '_'),
            '\\' => next.is_some_and(|c| c.is_ascii_punctuation()),
            ']' => matches!(next, Some('(' | '[' | ':')),
            '<' => next.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')),
            '&' => is_entity(&chars[index + 1..]),
            _ => false,
        }
    }
}

/// Whether the character could open or close markup: stars not between blanks, underscores not inside of words.
fn is_delimiter(chars: &[char], index: usize, wanted: char) -> bool {
    let around = |test: fn(char) -> bool, at_end: bool| {
        let before = index.checked_sub(1).map_or(at_end, |before| test(chars[before]));
        before && chars.get(index + 1).map_or(at_end, |after| test(*after))
    };
    chars[index] == wanted
        && match wanted {
            '*' => !around(char::is_whitespace, true),
            '_' => !around(char::is_alphanumeric, false),
            _ => true,
        }
}

/// Whether an ampersand before these characters begins a character reference.
fn is_entity(rest: &[char]) -> bool {
    let end = rest.iter().position(|c| !c.is_ascii_alphanumeric() && *c != '#');
    matches!(end, Some(end) if end > 0 && rest[end] == ';')
}

#[cfg(test)]
mod tests;
