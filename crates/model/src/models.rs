//! Finding the model that a session asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::{Model, ModelError, ModelErrorKind};

/// The models that are configured.
pub trait Models: Send + Sync {
    /// Finds a model by `provider/model`, or the default one.
    ///
    /// Cheap, without I/O: nothing is connected and no credential is checked.
    ///
    /// # Errors
    ///
    /// [`ModelErrorKind::NotConfigured`] with what to set, when there is no default or no such provider.
    fn resolve(&self, choice: Option<&str>) -> Result<ResolvedModel, ModelError>;

    /// What is known of a model that resolves, by `provider/model`; an unknown one has no figures.
    fn info(&self, choice: &str) -> ModelInfo {
        ModelInfo::unknown(choice)
    }

    /// The models to choose from, in the order to show them; not necessarily all that resolve.
    fn list(&self) -> Vec<ModelInfo> {
        Vec::new()
    }
}

/// What is known of a model. A figure that nobody told is absent, and what it can do is then assumed.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// `provider/model`.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The most tokens of one request and its answer together.
    pub context_window: Option<u64>,
    /// The most tokens of one answer.
    pub max_output: Option<u64>,
    /// Whether it takes pictures.
    pub images: Option<bool>,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// What it costs.
    pub prices: Option<Prices>,
}

/// Prices in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Of a request.
    pub input: f64,
    /// Of an answer.
    pub output: f64,
    /// Of what of a request came from the provider's cache; absent where it costs as much as the rest.
    pub cached_input: Option<f64>,
}

impl ModelInfo {
    /// A model of which nothing is known but its id.
    pub fn unknown(id: impl Into<String>) -> Self {
        let id = id.into();
        Self {
            name: id.clone(),
            id,
            context_window: None,
            max_output: None,
            images: None,
            tools: None,
            prices: None,
        }
    }
}

/// A model that was found.
#[derive(Clone)]
pub struct ResolvedModel {
    /// Answers the requests.
    pub model: Arc<dyn Model>,
    /// The provider's name in the configuration.
    pub provider: String,
    /// The model's name within the provider: what [`ModelRequest::model`](crate::ModelRequest::model) is set to.
    pub name: String,
}

impl fmt::Debug for ResolvedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolvedModel")
            .field("provider", &self.provider)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Providers by name, and the model to use when none is chosen.
#[derive(Default)]
pub struct ModelTable {
    default: Option<String>,
    providers: BTreeMap<String, Arc<dyn Model>>,
}

impl ModelTable {
    /// A table without providers; `default` is `provider/model`.
    pub fn new(default: Option<String>) -> Self {
        Self {
            default,
            providers: BTreeMap::new(),
        }
    }

    /// Adds a provider, in place of one of the same name.
    #[must_use]
    pub fn with(mut self, provider: impl Into<String>, model: Arc<dyn Model>) -> Self {
        self.providers.insert(provider.into(), model);
        self
    }

    fn known(&self) -> String {
        if self.providers.is_empty() {
            return "no provider is configured".to_owned();
        }
        let names: Vec<&str> = self.providers.keys().map(String::as_str).collect();
        format!("configured are {}", names.join(", "))
    }
}

impl Models for ModelTable {
    fn resolve(&self, choice: Option<&str>) -> Result<ResolvedModel, ModelError> {
        let Some(choice) = choice.or(self.default.as_deref()) else {
            let message = "no model is configured: set `model = \"provider/model\"` in config.toml, where provider is \
                           the name of a table [providers.NAME]";
            return Err(not_configured(message));
        };
        let split = choice
            .split_once('/')
            .filter(|(provider, name)| !provider.is_empty() && !name.is_empty());
        let Some((provider, name)) = split else {
            return Err(not_configured(format!(
                "model \"{choice}\" names no provider, expected provider/model; {}",
                self.known()
            )));
        };
        let Some(model) = self.providers.get(provider) else {
            return Err(not_configured(format!(
                "model \"{choice}\" needs a provider \"{provider}\" that is not configured: add a table \
                 [providers.{provider}] to config.toml; {}",
                self.known()
            )));
        };
        Ok(ResolvedModel {
            model: Arc::clone(model),
            provider: provider.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl fmt::Debug for ModelTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelTable")
            .field("default", &self.default)
            .field("providers", &self.providers.keys())
            .finish()
    }
}

fn not_configured(message: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::NotConfigured, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelRequest, ModelStream};

    struct Silent;

    impl Model for Silent {
        fn stream(&self, _: ModelRequest) -> ModelStream {
            Box::pin(futures::stream::empty())
        }
    }

    #[track_caller]
    fn check(table: &ModelTable, choice: Option<&str>, expected: Result<(&str, &str), &str>) {
        match (table.resolve(choice), expected) {
            (Ok(found), Ok(wanted)) => assert_eq!((found.provider.as_str(), found.name.as_str()), wanted),
            (Err(error), Err(part)) => {
                assert_eq!(error.kind(), ModelErrorKind::NotConfigured);
                assert!(error.message().contains(part), "{error}");
            }
            (found, expected) => panic!("found {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_model_is_found_by_its_provider() {
        let table = ModelTable::new(Some("a/one".into()))
            .with("a", Arc::new(Silent))
            .with("b", Arc::new(Silent));
        check(&table, None, Ok(("a", "one")));
        check(&table, Some("b/two"), Ok(("b", "two")));
        check(&table, Some("b/org/two"), Ok(("b", "org/two")));
        check(&table, Some("c/two"), Err("configured are a, b"));
        check(&table, Some("c/two"), Err("[providers.c]"));
        check(&table, Some("two"), Err("expected provider/model"));
        check(&table, Some("b/"), Err("expected provider/model"));
    }

    #[test]
    fn without_a_default_the_error_says_what_to_set() {
        check(&ModelTable::default(), None, Err("set `model = \"provider/model\"`"));
        check(&ModelTable::default(), Some("a/b"), Err("no provider is configured"));
    }
}
