//! The table that is printed, and the verdict.

use std::time::Duration;

/// Figures as they are measured.
#[derive(Default)]
pub(crate) struct Figures {
    missed: Vec<String>,
}

impl Figures {
    /// Prints a figure without a budget.
    pub(crate) fn tell(&self, name: &str, figure: &str) {
        println!("  {name:<44} {figure}");
    }

    /// Prints a figure with its budget, and notes whether it is kept.
    pub(crate) fn judge(&mut self, name: &str, figure: &str, budget: &str, kept: bool) {
        let word = if kept { "ok" } else { "MISSED" };
        println!("  {name:<44} {figure:<28} budget {budget:<16} {word}");
        if !kept {
            self.missed.push(format!("{name}: {figure}, budget {budget}"));
        }
    }

    /// Fails when a budget was missed.
    pub(crate) fn verdict(self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.missed.is_empty(),
            "budgets missed:\n  {}",
            self.missed.join("\n  ")
        );
        println!("every budget is kept");
        Ok(())
    }
}

/// The middle of some measurements.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A duration in milliseconds, for reading.
pub(crate) fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
