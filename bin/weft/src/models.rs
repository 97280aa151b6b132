//! The configured providers behind the model seam.
//!
//! [`Providers`] are made once and shared by every session; [`SessionModels`] are those of one session, with its own
//! default. What is known of models is in the [`Catalogue`], which [`discovery`] fills with what endpoints list.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use futures::StreamExt as _;
use weft_model::{
    Model, ModelError, ModelErrorKind, ModelInfo, ModelRequest, ModelStream, ModelTable, Models, ResolvedModel,
    ScriptedModel,
};
use weft_providers::{
    Anthropic, AnthropicConfig, Catalogue, EndpointConfig, Knowledge, Listing, OpenAiChat, OpenAiResponses,
    OpenAiResponsesConfig, Secret,
};

use crate::config::{Config, Endpoint, Provider, ProviderKind, settings};

pub(crate) mod discovery;

use discovery::{Discovery, Source};

/// All providers of a configuration. They are made once and shared by every session.
#[derive(Clone, Default)]
pub(crate) struct Providers {
    models: BTreeMap<String, Arc<dyn Model>>,
    catalogue: Arc<Catalogue>,
    /// The endpoints that may be asked for their models.
    sources: Vec<Source>,
    discovery: Option<Arc<Discovery>>,
    /// The scripted one that the configured model names, for its controls.
    pub(crate) scripted: Option<Arc<ScriptedModel>>,
    /// The environment variables that hold keys: nothing that weft starts may see them.
    pub(crate) secret_variables: Vec<String>,
}

/// The models that one session can be told to use.
pub(crate) struct SessionModels {
    table: ModelTable,
    default: Option<String>,
    catalogue: Arc<Catalogue>,
    /// Keeps the asking alive for as long as anybody may want its result.
    _discovery: Option<Arc<Discovery>>,
}

impl Models for SessionModels {
    fn resolve(&self, choice: Option<&str>) -> Result<ResolvedModel, ModelError> {
        self.table.resolve(choice)
    }

    fn info(&self, choice: &str) -> ModelInfo {
        match choice.split_once('/') {
            Some((provider, model)) => self.catalogue.info(provider, model),
            None => ModelInfo::unknown(choice),
        }
    }

    fn list(&self) -> Vec<ModelInfo> {
        self.catalogue.list(self.default.as_deref())
    }
}

impl Providers {
    /// Makes every provider. Connects to none.
    pub(crate) fn new(config: &Config) -> anyhow::Result<Self> {
        let mut providers = Self {
            catalogue: Arc::new(Catalogue::new(config.models.clone())),
            ..Self::default()
        };
        let chosen = config.text(&settings::MODEL).and_then(|model| model.split('/').next());
        for (name, Provider { kind }) in &config.providers {
            providers.catalogue.add_provider(name, "");
            let model = providers
                .make(name, kind, chosen == Some(name))
                .with_context(|| format!("failed to set up the model provider \"{name}\""))?;
            providers.models.insert(name.clone(), model);
        }
        Ok(providers)
    }

    /// The same providers, which are asked for their models once a session is set up; what they list is kept below
    /// `cache`.
    #[must_use]
    pub(crate) fn discovering(self, cache: PathBuf) -> Self {
        let discovery = Discovery::new(Arc::clone(&self.catalogue), self.sources.clone(), cache);
        Self {
            discovery: Some(Arc::new(discovery)),
            ..self
        }
    }

    /// What asks them for their models, if anything does.
    pub(crate) fn discovery(&self) -> Option<&Discovery> {
        self.discovery.as_deref()
    }

    /// The models of one session, with its own choice. Reads what is kept of the lists of models, on the caller's
    /// thread, when it is called first.
    pub(crate) fn table(&self, choice: Option<&str>) -> SessionModels {
        if let Some(discovery) = &self.discovery {
            discovery.start();
        }
        let mut table = ModelTable::new(choice.map(str::to_owned));
        for (name, model) in &self.models {
            table = table.with(name, Arc::clone(model));
        }
        SessionModels {
            table,
            default: choice.map(str::to_owned),
            catalogue: Arc::clone(&self.catalogue),
            _discovery: self.discovery.clone(),
        }
    }

    fn make(&mut self, name: &str, kind: &ProviderKind, chosen: bool) -> anyhow::Result<Arc<dyn Model>> {
        let (model, listing): (Arc<dyn Model>, Listing) = match kind {
            ProviderKind::Scripted { script } => {
                let model = Arc::new(ScriptedModel::load(script)?);
                if chosen {
                    self.scripted = Some(Arc::clone(&model));
                }
                return Ok(model);
            }
            ProviderKind::OpenAiChat(endpoint) => match self.endpoint(name, endpoint) {
                Ok(config) => with_listing(OpenAiChat::new(config)?, OpenAiChat::listing),
                Err(no_key) => return Ok(Arc::new(no_key)),
            },
            ProviderKind::OpenAiResponses {
                endpoint,
                reasoning_effort,
            } => match self.endpoint(name, endpoint) {
                Ok(endpoint) => {
                    let reasoning_effort = reasoning_effort.clone();
                    let model = OpenAiResponses::new(OpenAiResponsesConfig {
                        endpoint,
                        reasoning_effort,
                    })?;
                    with_listing(model, OpenAiResponses::listing)
                }
                Err(no_key) => return Ok(Arc::new(no_key)),
            },
            ProviderKind::Anthropic { endpoint, thinking } => match self.endpoint(name, endpoint) {
                Ok(endpoint) => {
                    let thinking = *thinking;
                    with_listing(
                        Anthropic::new(AnthropicConfig { endpoint, thinking })?,
                        Anthropic::listing,
                    )
                }
                Err(no_key) => return Ok(Arc::new(no_key)),
            },
        };
        self.catalogue.add_provider(name, listing.host());
        self.sources.extend(source(name, kind, listing));
        Ok(model)
    }

    /// An endpoint with its key out of the environment.
    fn endpoint(&mut self, name: &str, endpoint: &Endpoint) -> Result<EndpointConfig, NoKey> {
        let mut config = EndpointConfig::new(&endpoint.base_url);
        config.connect_timeout = endpoint.connect_timeout;
        config.idle_timeout = endpoint.idle_timeout;
        config.max_tokens = endpoint.max_tokens;
        config.api_key_command.clone_from(&endpoint.api_key_command);
        let (catalogue, provider) = (Arc::clone(&self.catalogue), name.to_owned());
        config.knowledge = Knowledge::new(move |model| catalogue.info(&provider, model));
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

/// An adapter with what asks its endpoint for models.
fn with_listing<M: Model + 'static>(model: M, listing: fn(&M) -> Listing) -> (Arc<dyn Model>, Listing) {
    let listing = listing(&model);
    (Arc::new(model), listing)
}

/// The endpoint as one to be asked for its models, unless it is not to be.
fn source(name: &str, kind: &ProviderKind, listing: Listing) -> Option<Source> {
    let endpoint = match kind {
        ProviderKind::OpenAiChat(endpoint)
        | ProviderKind::OpenAiResponses { endpoint, .. }
        | ProviderKind::Anthropic { endpoint, .. } => endpoint,
        ProviderKind::Scripted { .. } => return None,
    };
    endpoint.list_models.then(|| Source {
        provider: name.to_owned(),
        base_url: endpoint.base_url.clone(),
        listing,
        // The command may ask the user for a password: not for this.
        only_when_told: endpoint.api_key_command.is_some(),
    })
}

/// A provider whose key is not in the environment. Only a request that needs it finds out, so that one
/// unused provider keeps nobody from working.
struct NoKey {
    variable: String,
}

impl Model for NoKey {
    fn stream(&self, _request: ModelRequest) -> ModelStream {
        futures::stream::iter([Err(self.error())]).boxed()
    }

    fn ready(&self) -> Result<(), ModelError> {
        Err(self.error())
    }
}

impl NoKey {
    fn error(&self) -> ModelError {
        let message = format!(
            "the model's key is missing: set the environment variable {} where weft is started, or change \
             api_key_env in config.toml",
            self.variable
        );
        ModelError::new(ModelErrorKind::NotConfigured, message)
    }
}
