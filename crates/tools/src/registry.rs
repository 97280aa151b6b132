//! Tools and policies, in layers.

mod definition;
mod policies;
mod present;
mod restrict;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use weft_observe::Observers;
use weft_types::{AgentId, ToolSpec};

use crate::body::Quarantine;
use crate::pipeline::Opened;
use crate::policy::{AfterPolicy, BeforePolicy, Guard, Wrapper};
use crate::roster::Roster;
use crate::{
    Approver, ProgressObservation, ResultObservation, StartedObservation, Tool, ToolCallRequest, ToolLimits, ToolResult,
};

pub(crate) use definition::Definition;
pub use restrict::RestrictError;

/// A layer of tools and policies, within outer layers.
///
/// Lookups walk outwards, and the nearest tool of a name wins. Policies of outer layers come first.
/// Observers are shared by all layers of one root. Clones share one layer.
///
/// Which tools a layer shows shapes what a model can do; it is no security boundary.
#[derive(Clone)]
pub struct ToolRegistry {
    pub(crate) layer: Arc<Layer>,
}

pub(crate) struct Layer {
    parent: Option<Arc<Layer>>,
    pub(crate) root: Arc<Root>,
    tools: Roster<Definition>,
    /// Names of outer layers that are visible here; several of them intersect.
    restrictions: Roster<HashSet<String>>,
    pub(crate) before: Roster<BeforePolicy>,
    pub(crate) guards: Roster<Guard>,
    pub(crate) wrappers: Roster<Wrapper>,
    pub(crate) after: Roster<AfterPolicy>,
    approver: Mutex<Option<Arc<dyn Approver>>>,
}

/// What all layers share.
pub(crate) struct Root {
    pub(crate) limits: ToolLimits,
    pub(crate) progress: Observers<AgentId, ProgressObservation>,
    pub(crate) started: Observers<AgentId, StartedObservation>,
    pub(crate) results: Observers<AgentId, ResultObservation>,
    pub(crate) quarantine: Arc<Quarantine>,
}

impl ToolRegistry {
    /// A root layer; takes [`ToolLimits`], or [`ProgressLimits`](crate::ProgressLimits) beside defaults.
    pub fn new(limits: impl Into<ToolLimits>) -> Self {
        let root = Root {
            limits: limits.into(),
            progress: Observers::new("tools/progress"),
            started: Observers::new("tools/started"),
            results: Observers::new("tools/result"),
            quarantine: Arc::default(),
        };
        Self {
            layer: Arc::new(Layer::new(None, Arc::new(root))),
        }
    }

    /// A new layer within this one.
    #[must_use]
    pub fn layer(&self) -> Self {
        let layer = Layer::new(Some(Arc::clone(&self.layer)), Arc::clone(&self.layer.root));
        Self { layer: Arc::new(layer) }
    }

    /// Adds a tool to this layer, where it hides a tool of the same name further out.
    ///
    /// Fails for a name that is taken in this layer, reserved or not of 1 to 64 letters, digits, `_` and
    /// `-`, and for a schema that cannot be compiled or, of the parameters, is not that of an object.
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<Registration, RegisterError> {
        self.add(Definition::new(tool)?)
    }

    /// Like [`register`](Self::register), for a tool whose schemas are part of the program and known to be sound: they
    /// are compiled at its first call, and if that fails, so do all its calls.
    pub fn register_known(&self, tool: Arc<dyn Tool>) -> Result<Registration, RegisterError> {
        self.add(Definition::known(tool)?)
    }

    /// Like [`register_known`](Self::register_known), for a tool that no model is told of: its calls are made by somebody
    /// else than a model, and it is there to present them.
    pub fn register_unlisted(&self, tool: Arc<dyn Tool>) -> Result<Registration, RegisterError> {
        self.add(Definition::known(tool)?.unlisted())
    }

    fn add(&self, definition: Definition) -> Result<Registration, RegisterError> {
        let definition = Arc::new(definition);
        let name = definition.name().to_owned();
        let number = self
            .layer
            .tools
            .push_unless(definition, |other| other.name() == name)
            .ok_or(RegisterError::DuplicateName { name })?;
        Ok(self.registration(move |layer| layer.tools.remove(number)))
    }

    /// What a model is told: visible tools in order of registration, outer layers first. A tool that
    /// hides another takes its place.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let visible = self.layer.visible();
        let listed = visible.iter().filter(|tool| tool.is_listed);
        listed.map(|tool| tool.spec.clone()).collect()
    }

    /// Takes a call through all phases. Never fails: whatever goes wrong is the result.
    ///
    /// Must run within a tokio runtime. Dropping the future aborts the body and closes its reporter.
    pub async fn execute(&self, call: ToolCallRequest) -> ToolResult {
        let opened = Opened::new(&self.layer, call);
        opened.run(None).await.finish().await
    }

    /// Progress reports of running bodies. An observer must be quick and never wait: it runs inside the
    /// report of the body.
    pub fn progress(&self) -> &Observers<AgentId, ProgressObservation> {
        &self.layer.root.progress
    }

    /// Openings of execute phases. Each precedes all progress reports of its call.
    pub fn started(&self) -> &Observers<AgentId, StartedObservation> {
        &self.layer.root.started
    }

    /// Final results, exactly one for each call.
    pub fn results(&self) -> &Observers<AgentId, ResultObservation> {
        &self.layer.root.results
    }

    /// How many bodies were abandoned and have not ended yet.
    pub fn quarantined(&self) -> usize {
        self.layer.root.quarantine.len()
    }

    pub(crate) fn registration(&self, remove: impl FnOnce(&Layer) + Send + Sync + 'static) -> Registration {
        let layer: Weak<Layer> = Arc::downgrade(&self.layer);
        Registration {
            remove: Some(Box::new(move || {
                if let Some(layer) = layer.upgrade() {
                    remove(&layer);
                }
            })),
        }
    }
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.layer.visible().iter().map(|tool| tool.name().to_owned()).collect();
        f.debug_struct("ToolRegistry")
            .field("tools", &tools)
            .finish_non_exhaustive()
    }
}

impl Layer {
    fn new(parent: Option<Arc<Self>>, root: Arc<Root>) -> Self {
        Self {
            parent,
            root,
            tools: Roster::default(),
            restrictions: Roster::default(),
            before: Roster::default(),
            guards: Roster::default(),
            wrappers: Roster::default(),
            after: Roster::default(),
            approver: Mutex::new(None),
        }
    }

    /// The tool that a call of `name` means here.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Definition>> {
        if let Some(own) = self.tools.find(|tool| tool.name() == name) {
            return Some(own);
        }
        let inherited = self.parent.as_ref()?.find(name)?;
        let is_hidden = self.restrictions.find(|shown| !shown.contains(name)).is_some();
        (!is_hidden).then_some(inherited)
    }

    /// All tools that can be called here, in the order in which a model is told of them.
    pub(crate) fn visible(&self) -> Vec<Arc<Definition>> {
        let mut tools = self.inherited();
        let restrictions = self.restrictions.snapshot();
        tools.retain(|tool| restrictions.iter().all(|shown| shown.contains(tool.name())));
        for own in self.tools.snapshot() {
            match tools.iter_mut().find(|tool| tool.name() == own.name()) {
                Some(hidden) => *hidden = own,
                None => tools.push(own),
            }
        }
        tools
    }

    /// The tools of outer layers, before restrictions of this one.
    fn inherited(&self) -> Vec<Arc<Definition>> {
        self.parent.as_ref().map_or_else(Vec::new, |parent| parent.visible())
    }

    /// The nearest approver.
    pub(crate) fn approver(&self) -> Option<Arc<dyn Approver>> {
        let own = self.approver.lock().unwrap_or_else(PoisonError::into_inner).clone();
        own.or_else(|| self.parent.as_ref()?.approver())
    }

    /// This layer and those around it, outermost first.
    pub(crate) fn outermost_first(self: &Arc<Self>) -> Vec<Arc<Self>> {
        let mut layers = vec![Arc::clone(self)];
        while let Some(parent) = layers.last().and_then(|layer| layer.parent.clone()) {
            layers.push(parent);
        }
        layers.reverse();
        layers
    }
}

/// Keeps a tool or a policy in its layer; dropping it takes it out. Calls that are under way keep the
/// tool they began with.
#[must_use = "dropping a registration unregisters"]
pub struct Registration {
    remove: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Registration {
    /// Leaves it registered for as long as its layer exists.
    pub fn keep(mut self) {
        self.remove = None;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(remove) = self.remove.take() {
            remove();
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").finish_non_exhaustive()
    }
}

/// A tool that cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// Its name is not one.
    #[error("cannot register tool {name:?}: a name has 1 to 64 letters, digits, `_` and `-`")]
    InvalidName {
        /// The name.
        name: String,
    },
    /// Its name is kept for something else.
    #[error("cannot register tool {name}: the name is reserved")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// Its layer has a tool of that name.
    #[error("cannot register tool {name}: its layer already has a tool of that name")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// One of its schemas cannot be used.
    #[error("cannot register tool {name}: unsupported schema of its {schema}: {reason}")]
    UnsupportedSchema {
        /// The tool's name.
        name: String,
        /// Which schema: `parameters` or `output`.
        schema: &'static str,
        /// Why.
        reason: String,
    },
}
