//! What is known of models: what the user told, what an endpoint lists, and a table of well-known ones.
//!
//! [`Catalogue`] holds all three; of each figure it takes the first that is there, in that order. It does no I/O:
//! what an endpoint lists is brought to it ([`Listing`](crate::Listing) fetches it).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use serde::{Deserialize, Serialize};
use weft_model::{ModelInfo, Prices};

/// The most models that a list holds.
const MAX_LISTED: usize = 500;

/// What one source knows of a model. Prices are in US dollars for a million tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The most tokens of one request and its answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The most tokens of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// Whether it takes pictures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Whether it calls tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// The price of a request; without the other price it counts for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_price: Option<f64>,
    /// The price of an answer; without the other price it counts for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_price: Option<f64>,
    /// The price of what of a request came from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_price: Option<f64>,
}

/// A row of the table.
#[derive(Debug, Deserialize)]
struct Row {
    id: String,
    /// Where its prices hold and where it is listed.
    host: String,
    #[serde(flatten)]
    facts: Facts,
}

#[derive(Debug, Deserialize)]
struct Table {
    model: Vec<Row>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("catalogue/models.toml")).expect("the table is sound: a test reads it")
});

/// Everything that is known of the models of the configured providers.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// By `provider/model`.
    told: BTreeMap<String, Facts>,
    /// The host of each provider.
    hosts: RwLock<BTreeMap<String, String>>,
    listed: RwLock<BTreeMap<String, Arc<BTreeMap<String, Facts>>>>,
}

impl Catalogue {
    /// A catalogue with what the user told of models, by `provider/model`.
    pub fn new(told: BTreeMap<String, Facts>) -> Self {
        Self {
            told,
            ..Self::default()
        }
    }

    /// Adds a provider by its name and the host of its endpoint, empty for one without; only of these are models
    /// listed.
    pub fn add_provider(&self, name: impl Into<String>, host: impl Into<String>) {
        let mut hosts = self.hosts.write().unwrap_or_else(PoisonError::into_inner);
        hosts.insert(name.into(), host.into());
    }

    /// Takes what a provider's endpoint lists, in place of what it listed before.
    pub fn list_of(&self, provider: &str, models: BTreeMap<String, Facts>) {
        let mut listed = self.listed.write().unwrap_or_else(PoisonError::into_inner);
        listed.insert(provider.to_owned(), Arc::new(models));
    }

    /// What is known of a model.
    pub fn info(&self, provider: &str, model: &str) -> ModelInfo {
        let id = format!("{provider}/{model}");
        let told = self.told.get(&id).cloned().unwrap_or_default();
        let listed = self.listed_by(provider);
        let listed = listed.as_ref().and_then(|models| models.get(model));
        let facts = told
            .or(&listed.cloned().unwrap_or_default())
            .or(&self.in_table(provider, model));
        facts.into_info(id)
    }

    /// The models to choose from: the default one, those the user told of, and those that the endpoints list, or where
    /// one has listed none, those of the table that its maker serves. At most 500, each once.
    pub fn list(&self, default: Option<&str>) -> Vec<ModelInfo> {
        let told = self.told.keys().cloned();
        let hosts = self.hosts.read().unwrap_or_else(PoisonError::into_inner).clone();
        let offered = hosts.iter().flat_map(|(provider, host)| {
            let names: Vec<String> = match self.listed_by(provider).filter(|models| !models.is_empty()) {
                Some(models) => models.keys().cloned().collect(),
                None => served_by(host).map(|row| row.id.clone()).collect(),
            };
            names.into_iter().map(move |name| format!("{provider}/{name}"))
        });
        let mut seen = BTreeSet::new();
        let ids = default.map(str::to_owned).into_iter().chain(told).chain(offered);
        let known = ids.filter_map(|id| {
            let (provider, model) = id.split_once('/')?;
            let is_new = hosts.contains_key(provider) && seen.insert(id.clone());
            is_new.then(|| self.info(provider, model))
        });
        known.take(MAX_LISTED).collect()
    }

    fn listed_by(&self, provider: &str) -> Option<Arc<BTreeMap<String, Facts>>> {
        let listed = self.listed.read().unwrap_or_else(PoisonError::into_inner);
        listed.get(provider).cloned()
    }

    /// What the table says; its prices where they hold.
    fn in_table(&self, provider: &str, model: &str) -> Facts {
        let Some(row) = TABLE.model.iter().find(|row| stands_for(&row.id, model)) else {
            return Facts::default();
        };
        let hosts = self.hosts.read().unwrap_or_else(PoisonError::into_inner);
        let mut facts = row.facts.clone();
        if !hosts.get(provider).is_some_and(|host| is_within(host, &row.host)) {
            (facts.input_price, facts.output_price, facts.cached_input_price) = (None, None, None);
        }
        facts
    }
}

impl Facts {
    /// These, and where one is absent that of `other`. Prices go together: those of two sources do not mix.
    fn or(self, other: &Self) -> Self {
        let priced = if self.input_price.is_some() && self.output_price.is_some() {
            &self
        } else {
            other
        };
        let prices = (priced.input_price, priced.output_price, priced.cached_input_price);
        Self {
            name: self.name.or_else(|| other.name.clone()),
            context_window: self.context_window.or(other.context_window),
            max_output: self.max_output.or(other.max_output),
            images: self.images.or(other.images),
            tools: self.tools.or(other.tools),
            input_price: prices.0,
            output_price: prices.1,
            cached_input_price: prices.2,
        }
    }

    fn into_info(self, id: String) -> ModelInfo {
        let prices = self.input_price.zip(self.output_price).map(|(input, output)| Prices {
            input,
            output,
            cached_input: self.cached_input_price,
        });
        ModelInfo {
            name: self.name.unwrap_or_else(|| id.clone()),
            context_window: self.context_window,
            max_output: self.max_output,
            images: self.images,
            tools: self.tools,
            prices,
            id,
        }
    }
}

fn served_by(host: &str) -> impl Iterator<Item = &'static Row> + use<'_> {
    TABLE.model.iter().filter(move |row| is_within(host, &row.host))
}

/// Whether a host is of a domain.
fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Whether a row is about a model: by its name, or that of a version of it. Gateways put the maker's name before a
/// slash and a variant behind a colon, and write versions with a dot.
fn stands_for(id: &str, model: &str) -> bool {
    let plain = |name: &str| name.to_ascii_lowercase().replace('.', "-");
    let model = plain(model.rsplit('/').next().unwrap_or(model));
    let model = model.split(':').next().unwrap_or(&model);
    let Some(rest) = model.strip_prefix(plain(id).as_str()) else {
        return false;
    };
    let is_date = |rest: &str| {
        let digits = rest.bytes().filter(u8::is_ascii_digit).count();
        digits == 8 && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    rest.is_empty() || rest == "-latest" || rest.strip_prefix('-').is_some_and(is_date)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Catalogue {
        let told = Facts {
            name: Some("Mine".into()),
            images: Some(false),
            input_price: Some(1.0),
            output_price: Some(2.0),
            ..Facts::default()
        };
        let told = BTreeMap::from([
            ("a/claude-opus-5".to_owned(), told),
            ("gone/x".to_owned(), Facts::default()),
        ]);
        let catalogue = Catalogue::new(told);
        catalogue.add_provider("a", "api.anthropic.com");
        catalogue.add_provider("b", "b.example");
        catalogue
    }

    #[test]
    fn the_table_is_sound() {
        let mut ids = BTreeSet::new();
        for Row { id, host, facts } in &TABLE.model {
            assert!(ids.insert(id), "{id} stands there twice");
            assert!(host.contains('.') && facts.name.is_some(), "{id}");
            let (window, output) = (facts.context_window, facts.max_output);
            assert!(window.is_some(), "{id}");
            assert!(output.is_none_or(|output| output > 0 && Some(output) < window), "{id}");
            assert_eq!(facts.input_price.is_some(), facts.output_price.is_some(), "{id}");
            assert!(
                facts
                    .cached_input_price
                    .is_none_or(|cached| Some(cached) < facts.input_price),
                "{id}"
            );
        }
        assert!(ids.len() > 10);
    }

    #[test]
    fn names_of_versions_and_gateways_are_understood() {
        for (id, model, expected) in [
            ("claude-opus-4-5", "claude-opus-4-5", true),
            ("claude-opus-4-5", "claude-opus-4-5-20251101", true),
            ("claude-opus-4-5", "anthropic/claude-opus-4.5", true),
            ("claude-opus-4-5", "claude-opus-4-5-latest", true),
            ("claude-opus-4-5", "claude-opus-4-5:thinking", true),
            ("gpt-5.4", "gpt-5.4-2026-03-05", true),
            ("claude-opus-5", "claude-opus-5-5", false),
            ("claude-opus-5", "claude-opus-5-mini", false),
            ("gpt-5", "gpt-5.4", false),
            ("glm-5", "z-ai/glm-5.3", false),
            ("kimi-k3", "kimi-k3.1-pro", false),
            ("gemini-3-flash-preview", "models/gemini-3-flash-preview", true),
            ("gpt-5", "my-gpt-5", false),
        ] {
            assert_eq!(stands_for(id, model), expected, "{id} {model}");
        }
    }

    #[test]
    fn the_user_comes_before_the_endpoint_and_the_endpoint_before_the_table() {
        let catalogue = catalogue();
        let listed = Facts {
            name: Some("Listed".into()),
            context_window: Some(7),
            images: Some(true),
            input_price: Some(8.0),
            output_price: Some(9.0),
            cached_input_price: Some(0.1),
            ..Facts::default()
        };
        catalogue.list_of("a", BTreeMap::from([("claude-opus-5".to_owned(), listed)]));
        let info = catalogue.info("a", "claude-opus-5");
        assert_eq!((info.id.as_str(), info.name.as_str()), ("a/claude-opus-5", "Mine"));
        assert_eq!(
            (info.images, info.context_window, info.max_output),
            (Some(false), Some(7), Some(128_000))
        );
        let prices = info.prices.expect("the user's");
        assert_eq!((prices.input, prices.output, prices.cached_input), (1.0, 2.0, None));
    }

    #[test]
    fn prices_of_the_table_hold_at_their_maker_only() {
        let catalogue = catalogue();
        let (there, elsewhere) = (
            catalogue.info("a", "claude-opus-4-6"),
            catalogue.info("b", "claude-opus-4-6"),
        );
        assert_eq!(there.prices.map(|prices| prices.input), Some(5.0));
        assert_eq!((elsewhere.prices, elsewhere.context_window), (None, Some(1_000_000)));
        assert_eq!(
            catalogue.info("b", "nobody-knows"),
            ModelInfo::unknown("b/nobody-knows")
        );
        assert!(!is_within("notanthropic.com", "anthropic.com"));
    }

    #[test]
    fn the_default_stands_first_and_what_is_not_configured_is_not_listed() {
        let catalogue = catalogue();
        let ids = |default| -> Vec<String> { catalogue.list(default).into_iter().map(|info| info.id).collect() };
        let listed = ids(Some("b/own"));
        assert_eq!(listed[..2], ["b/own", "a/claude-opus-5"]);
        assert!(listed.contains(&"a/claude-sonnet-5-5".to_owned()), "{listed:?}");
        assert!(
            !listed
                .iter()
                .any(|id| id.starts_with("gone/") || id.starts_with("b/claude")),
            "{listed:?}"
        );
        catalogue.list_of("a", BTreeMap::from([("one".to_owned(), Facts::default())]));
        assert_eq!(ids(Some("gone/x")), ["a/claude-opus-5", "a/one"]);
        let many = (0..2 * MAX_LISTED).map(|n| (n.to_string(), Facts::default())).collect();
        catalogue.list_of("b", many);
        assert_eq!(ids(None).len(), MAX_LISTED);
    }
}
