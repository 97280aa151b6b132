//! Providers by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use weft_observe::Observers;

use super::{ChildObservation, SubagentError, SubagentErrorCode, SubagentProvider, SubagentRequest, SubagentRun};

/// The providers of subagents, by name.
pub struct Subagents {
    providers: RwLock<BTreeMap<String, Arc<dyn SubagentProvider>>>,
    children: Observers<(), ChildObservation>,
}

impl Default for Subagents {
    fn default() -> Self {
        Self {
            providers: RwLock::default(),
            children: Observers::new("subagents"),
        }
    }
}

impl Subagents {
    /// The provider of requests that name none.
    pub const DEFAULT_PROVIDER: &str = "spawn";

    /// No providers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a provider; it replaces one of the same name.
    pub fn register(&self, name: impl Into<String>, provider: Arc<dyn SubagentProvider>) {
        let mut providers = self.providers.write().unwrap_or_else(PoisonError::into_inner);
        providers.insert(name.into(), provider);
    }

    /// Who is told of each agent that starts and ends, on whatever level. A start is told before the agent does
    /// anything, its end when it is quiet and before whoever started it gets its answer. Only agents of this process
    /// are told of.
    pub fn children(&self) -> &Observers<(), ChildObservation> {
        &self.children
    }

    /// Whether there is a provider of that name.
    pub fn has(&self, name: &str) -> bool {
        self.read().contains_key(name)
    }

    /// Starts an agent with the named provider, or with [`Self::DEFAULT_PROVIDER`].
    ///
    /// # Errors
    /// The first that applies: there is no such provider (`NO_PROVIDER`); its agents cannot answer in a
    /// schema, or cannot be told their model (`UNSUPPORTED_CAPABILITY`); the provider's own. Nothing was
    /// created then.
    pub async fn start(
        &self,
        name: Option<&str>,
        request: SubagentRequest,
    ) -> Result<Box<dyn SubagentRun>, SubagentError> {
        let name = name.unwrap_or(Self::DEFAULT_PROVIDER);
        let provider = self.find(name)?;
        let capabilities = provider.capabilities();
        let lacking = [
            (
                "answer in a schema",
                request.schema.is_some() && !capabilities.output_schema,
            ),
            ("be told their model", request.model.is_some() && !capabilities.model),
            (
                "be kept to some of their tools",
                request.tools.is_some() && !capabilities.tools,
            ),
        ];
        if let Some((what, _)) = lacking.into_iter().find(|(_, is_lacking)| *is_lacking) {
            let message = format!("agents of provider {name:?} cannot {what}");
            return Err(SubagentError::new(SubagentErrorCode::UnsupportedCapability, message));
        }
        provider.start(request).await
    }

    fn find(&self, name: &str) -> Result<Arc<dyn SubagentProvider>, SubagentError> {
        let providers = self.read();
        providers.get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = providers.keys().map(String::as_str).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            let message = format!("there is no provider {name:?}; known providers: {known}");
            SubagentError::new(SubagentErrorCode::NoProvider, message)
        })
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Arc<dyn SubagentProvider>>> {
        self.providers.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Subagents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subagents")
            .field("providers", &self.read().keys().collect::<Vec<_>>())
            .finish()
    }
}
