//! The configured providers behind the model seam.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use futures::StreamExt as _;
use weft_model::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream, ModelTable, ScriptedModel};
use weft_providers::{
    Anthropic, AnthropicConfig, EndpointConfig, OpenAiChat, OpenAiResponses, OpenAiResponsesConfig, Secret,
};

use crate::config::{Config, Endpoint, Provider, ProviderKind, settings};

/// All providers of a configuration. They are made once and shared by every session.
#[derive(Clone, Default)]
pub(crate) struct Providers {
    models: BTreeMap<String, Arc<dyn Model>>,
    /// The scripted one that the configured model names, for its controls.
    pub(crate) scripted: Option<Arc<ScriptedModel>>,
    /// The environment variables that hold keys: nothing that weft starts may see them.
    pub(crate) secret_variables: Vec<String>,
}

impl Providers {
    /// Makes every provider. Connects to none.
    pub(crate) fn new(config: &Config) -> anyhow::Result<Self> {
        let mut providers = Self::default();
        let chosen = config.text(&settings::MODEL).and_then(|model| model.split('/').next());
        for (name, Provider { kind }) in &config.providers {
            let model = providers
                .make(kind, chosen == Some(name))
                .with_context(|| format!("failed to set up the model provider \"{name}\""))?;
            providers.models.insert(name.clone(), model);
        }
        Ok(providers)
    }

    /// The models of one session, with its own choice.
    pub(crate) fn table(&self, choice: Option<&str>) -> ModelTable {
        let mut table = ModelTable::new(choice.map(str::to_owned));
        for (name, model) in &self.models {
            table = table.with(name, Arc::clone(model));
        }
        table
    }

    fn make(&mut self, kind: &ProviderKind, chosen: bool) -> anyhow::Result<Arc<dyn Model>> {
        match kind {
            ProviderKind::Scripted { script } => {
                let model = Arc::new(ScriptedModel::load(script)?);
                if chosen {
                    self.scripted = Some(Arc::clone(&model));
                }
                Ok(model)
            }
            ProviderKind::OpenAiChat(endpoint) => Ok(match self.endpoint(endpoint) {
                Ok(config) => Arc::new(OpenAiChat::new(config)?),
                Err(no_key) => Arc::new(no_key),
            }),
            ProviderKind::OpenAiResponses {
                endpoint,
                reasoning_effort,
            } => Ok(match self.endpoint(endpoint) {
                Ok(endpoint) => Arc::new(OpenAiResponses::new(OpenAiResponsesConfig {
                    endpoint,
                    reasoning_effort: reasoning_effort.clone(),
                })?),
                Err(no_key) => Arc::new(no_key),
            }),
            ProviderKind::Anthropic {
                endpoint,
                max_tokens,
                thinking,
            } => Ok(match self.endpoint(endpoint) {
                Ok(endpoint) => Arc::new(Anthropic::new(AnthropicConfig {
                    endpoint: EndpointConfig {
                        max_tokens: Some(*max_tokens),
                        ..endpoint
                    },
                    thinking: *thinking,
                })?),
                Err(no_key) => Arc::new(no_key),
            }),
        }
    }

    /// An endpoint with its key out of the environment.
    fn endpoint(&mut self, endpoint: &Endpoint) -> Result<EndpointConfig, NoKey> {
        let mut config = EndpointConfig::new(&endpoint.base_url);
        config.connect_timeout = endpoint.connect_timeout;
        config.idle_timeout = endpoint.idle_timeout;
        let headers = endpoint.headers.iter();
        config.headers = headers.map(|(name, text)| (name.clone(), Secret::new(text))).collect();
        if let Some(variable) = &endpoint.api_key_env {
            self.secret_variables.push(variable.clone());
            let key = std::env::var(variable).ok().filter(|key| !key.is_empty());
            config.api_key = Some(Secret::new(key.ok_or_else(|| NoKey {
                variable: variable.clone(),
            })?));
        }
        Ok(config)
    }
}

/// A provider whose key is not in the environment. Only a request that needs it finds out, so that one
/// unused provider keeps nobody from working.
struct NoKey {
    variable: String,
}

impl Model for NoKey {
    fn stream(&self, _request: ModelRequest) -> ModelStream {
        let message = format!(
            "the model's key is missing: set the environment variable {} where weft is started, or change \
             api_key_env in config.toml",
            self.variable
        );
        futures::stream::iter([Err(ModelError::new(ModelErrorKind::NotConfigured, message))]).boxed()
    }
}
