//! Named places at which replies wait until a client opens them.

use std::collections::BTreeMap;

use tokio::sync::watch;

use super::error::ScriptError;

/// The gates of a script. A gate that was opened stays open.
#[derive(Debug, Default)]
pub(super) struct Gates {
    gates: BTreeMap<String, watch::Sender<Gate>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Gate {
    open: bool,
    /// Whether anyone asked to be told of arrivals.
    awaited: bool,
    /// Requests held right now.
    held: usize,
    /// Requests that went through.
    passed: usize,
    /// Whether any request ever arrived.
    reached: bool,
}

impl Gates {
    pub(super) fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self {
            gates: names.into_iter().map(|name| (name, watch::Sender::default())).collect(),
        }
    }

    /// Opens a gate: those held go on, those to come pass.
    pub(super) fn open(&self, name: &str) -> Result<(), ScriptError> {
        self.find(name)?.send_modify(|gate| gate.open = true);
        Ok(())
    }

    /// Waits until so many requests are held at a gate or have passed it.
    pub(super) async fn arrivals(&self, name: &str, count: usize) -> Result<(), ScriptError> {
        let gate = self.find(name)?;
        gate.send_modify(|gate| gate.awaited = true);
        let arrived = gate
            .subscribe()
            .wait_for(|gate| gate.held + gate.passed >= count)
            .await
            .map(drop);
        arrived.expect("the sender is borrowed from self");
        Ok(())
    }

    /// Waits at a gate until it is open. Dropped while it waits, it counts as never having been there.
    pub(super) async fn pass(&self, name: &str) {
        let gate = self.gates.get(name).expect("the gates are those of the replies");
        gate.send_modify(|gate| {
            gate.held += 1;
            gate.reached = true;
        });
        let mut held = Held { gate, passed: false };
        let opened = gate.subscribe().wait_for(|gate| gate.open).await.map(drop);
        opened.expect("the sender is borrowed from self");
        held.passed = true;
    }

    /// What was expected of each gate and did not happen.
    pub(super) fn unmatched(&self) -> Vec<String> {
        let complaint = |(name, gate): (&String, &watch::Sender<Gate>)| {
            let gate = *gate.borrow();
            let what = match (gate.reached, gate.open || gate.awaited) {
                (true, true) => return None,
                (true, false) => "was reached, but nobody opened it or waited for it",
                (false, true) => "was opened or waited for, but no request reached it",
                (false, false) => "was never reached and never opened",
            };
            Some(format!("gate \"{name}\" {what}"))
        };
        self.gates.iter().filter_map(complaint).collect()
    }

    fn find(&self, name: &str) -> Result<&watch::Sender<Gate>, ScriptError> {
        self.gates.get(name).ok_or_else(|| {
            let names = self.gates.keys().cloned().collect::<Vec<_>>().join(", ");
            let known = if names.is_empty() {
                "the script has no gates".to_owned()
            } else {
                format!("expected one of {names}")
            };
            ScriptError::UnknownGate {
                name: name.to_owned(),
                known,
            }
        })
    }
}

/// A request that stands at a gate; it leaves the gate when this is dropped, one way or the other.
struct Held<'a> {
    gate: &'a watch::Sender<Gate>,
    passed: bool,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.gate.send_modify(|gate| {
            gate.held -= 1;
            gate.passed += usize::from(self.passed);
        });
    }
}
