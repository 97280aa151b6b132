//! How much the results of one step may bring into the conversation.

use weft_types::ContentBlock;

use crate::size::{bytes_of, middle_cut};

/// What every call may give, however many there are, in bytes: an error is to be read whole.
const LEAST: usize = 1 << 10;

/// What is left for the calls of a step that have no result yet. Each may take an equal share of it, and what one
/// does not use is there for the others.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
    calls: usize,
}

impl Budget {
    /// So many bytes for so many calls.
    pub(crate) fn new(bytes: usize, calls: usize) -> Self {
        Self { left: bytes, calls }
    }

    /// What of a result the model is given.
    pub(crate) fn fit(&mut self, content: &[ContentBlock]) -> Vec<ContentBlock> {
        let share = (self.left / self.calls.max(1)).max(LEAST);
        self.calls = self.calls.saturating_sub(1);
        let fitting = match bytes_of(content) <= share {
            true => content.to_vec(),
            false => cut(content, share),
        };
        self.left = self.left.saturating_sub(bytes_of(&fitting));
        fitting
    }
}

/// The blocks within so many bytes: the text that does not fit loses its middle, and what follows it is left out.
fn cut(content: &[ContentBlock], bytes: usize) -> Vec<ContentBlock> {
    let (mut fitting, mut left) = (Vec::new(), bytes);
    for (at, block) in content.iter().enumerate() {
        let size = bytes_of(std::slice::from_ref(block));
        if size <= left {
            left -= size;
            fitting.push(block.clone());
            continue;
        }
        let behind = bytes_of(&content[at + 1..]);
        let text = block
            .as_text()
            .and_then(|text| middle_cut(text, left, |left_out| note(left_out + behind)));
        fitting.push(ContentBlock::text(text.unwrap_or_else(|| note(size + behind))));
        break;
    }
    fitting
}

fn note(left_out: usize) -> String {
    format!(
        "[{left_out} bytes of this result were left out here: the results of one step may take only a part of the \
         model's context (context.results_percent). To see the rest, call again for less at a time.]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> Vec<ContentBlock> {
        vec![ContentBlock::text("x".repeat(bytes))]
    }

    #[test]
    fn ctx03_large_results_share_what_there_is() {
        let mut budget = Budget::new(80_000, 8);
        let sizes: Vec<usize> = (0..8).map(|_| bytes_of(&budget.fit(&text(4_000_000)))).collect();
        assert!(sizes.iter().sum::<usize>() < 85_000, "{sizes:?}");
        assert!(sizes.iter().all(|size| (8_000..11_000).contains(size)), "{sizes:?}");
    }

    #[test]
    fn what_one_does_not_use_is_there_for_the_others_and_errors_stay_whole() {
        let mut budget = Budget::new(20_000, 2);
        assert_eq!(budget.fit(&text(1_000)), text(1_000));
        assert_eq!(budget.fit(&text(19_000)), text(19_000));
        let mut spent = Budget::new(0, 1);
        assert_eq!(spent.fit(&text(1_000)), text(1_000));
    }

    #[test]
    fn a_cut_says_how_much_is_missing() {
        let mut content = text(6_000);
        content.extend(text(500));
        let fitting = Budget::new(2_000, 1).fit(&content);
        assert_eq!(fitting.len(), 1);
        let shown = fitting[0].as_text().expect("text");
        assert!(
            shown.contains("[4500 bytes of this result were left out here:"),
            "{shown}"
        );
    }
}
