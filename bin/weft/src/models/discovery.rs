//! Asking endpoints for the models that they have, and keeping what they said.
//!
//! [`Discovery`] reads what is kept when it is first needed and asks, in the background, those endpoints of which
//! nothing is kept or only what is older than a day. A failure is logged and changes nothing: what a list says only
//! adds to what is known of models.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use weft_model::ModelError;
use weft_providers::{Catalogue, Facts, Listing};
use weft_session::{Clock as _, SystemClock};
use weft_types::UnixMillis;

use crate::own_file;

/// How long a list counts as new.
const FRESH: Duration = Duration::from_hours(24);
/// The largest file that is read, in bytes; none is written that is larger.
const MAX_BYTES: u64 = 4 << 20;
/// The form of the files; others are left aside.
const VERSION: u32 = 1;

/// An endpoint that may be asked.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The provider's name in the configuration.
    pub(crate) provider: String,
    /// Where it is; a list from elsewhere is not its own.
    pub(crate) base_url: String,
    pub(crate) listing: Listing,
    /// Whether it is asked only when the user says so.
    pub(crate) only_when_told: bool,
}

/// What is kept of an endpoint's list.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    provider: String,
    base_url: String,
    fetched_at: UnixMillis,
    models: BTreeMap<String, Facts>,
}

/// Asks endpoints for their models. Dropping it ends the asking.
pub(crate) struct Discovery {
    catalogue: Arc<Catalogue>,
    sources: Vec<Source>,
    cache: PathBuf,
    started: Once,
    asking: Mutex<JoinSet<()>>,
}

impl Discovery {
    pub(crate) fn new(catalogue: Arc<Catalogue>, sources: Vec<Source>, cache: PathBuf) -> Self {
        Self {
            catalogue,
            sources,
            cache,
            started: Once::new(),
            asking: Mutex::default(),
        }
    }

    /// Gives the catalogue what is kept, and begins to ask for the rest if there is a runtime around. Every call but
    /// the first does nothing.
    pub(crate) fn start(&self) {
        self.started.call_once(|| {
            let now = SystemClock.now();
            let outdated: Vec<Source> = (self.sources.iter())
                .filter(|source| !self.read(source, now) && !source.only_when_told)
                .cloned()
                .collect();
            let Ok(runtime) = Handle::try_current() else { return };
            let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
            for source in outdated {
                let (catalogue, cache) = (Arc::clone(&self.catalogue), self.cache.clone());
                let ask = async move {
                    if let Err(error) = ask(&catalogue, &cache, &source).await {
                        tracing::info!(provider = source.provider, %error, "the endpoint's models could not be listed");
                    }
                };
                asking.spawn_on(ask, &runtime);
            }
        });
    }

    /// Asks every endpoint now; the failures, by provider.
    pub(crate) async fn refresh(&self) -> Vec<(String, ModelError)> {
        let asked = self.sources.iter().map(async |source| {
            let asked = ask(&self.catalogue, &self.cache, source).await;
            asked.err().map(|error| (source.provider.clone(), error))
        });
        futures::future::join_all(asked).await.into_iter().flatten().collect()
    }

    /// Gives the catalogue what is kept of an endpoint; whether it is new enough.
    fn read(&self, source: &Source, now: UnixMillis) -> bool {
        let path = file(&self.cache, &source.provider);
        match Kept::read(&path) {
            Ok(kept) if kept.is_of(source) => {
                let age = Duration::from_millis(now.0.abs_diff(kept.fetched_at.0));
                self.catalogue.list_of(&source.provider, kept.models);
                age < FRESH
            }
            Ok(_) => false,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::info!(path = %path.display(), %error, "a kept list of models cannot be read");
                }
                false
            }
        }
    }
}

/// Asks one endpoint and keeps what it says.
async fn ask(catalogue: &Catalogue, cache: &Path, source: &Source) -> Result<(), ModelError> {
    let models = source.listing.fetch().await?;
    catalogue.list_of(&source.provider, models.clone());
    let kept = Kept {
        version: VERSION,
        provider: source.provider.clone(),
        base_url: source.base_url.clone(),
        fetched_at: SystemClock.now(),
        models,
    };
    let path = file(cache, &source.provider);
    let writing = tokio::task::spawn_blocking(move || kept.write(&path).map_err(|error| (path, error)));
    if let Ok(Err((path, error))) = writing.await {
        tracing::info!(path = %path.display(), %error, "a list of models cannot be kept");
    }
    Ok(())
}

impl Kept {
    fn is_of(&self, source: &Source) -> bool {
        (self.version, self.provider.as_str(), self.base_url.as_str())
            == (VERSION, source.provider.as_str(), source.base_url.as_str())
    }

    fn read(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        File::open(path)?.take(MAX_BYTES).read_to_string(&mut text)?;
        serde_json::from_str(&text).map_err(io::Error::from)
    }

    /// Puts the file into its place as a whole.
    fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(io::Error::other(format!("it would have more than {MAX_BYTES} bytes")));
        }
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        own_file::replace(path, &text)
    }
}

/// Where an endpoint's list is kept. Names that differ in odd characters alone share a file, which says whose it is.
fn file(cache: &Path, provider: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = provider.chars().take(64).map(plain).collect();
    cache.join(format!("models-{name}.json"))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use weft_providers::{EndpointConfig, OpenAiChat};

    use super::*;

    fn source(base_url: &str) -> Source {
        let adapter = OpenAiChat::new(EndpointConfig::new(base_url)).expect("a good URL");
        Source {
            provider: "a b".to_owned(),
            base_url: base_url.to_owned(),
            listing: adapter.listing(),
            only_when_told: false,
        }
    }

    fn kept(base_url: &str, fetched_at: u64) -> Kept {
        Kept {
            version: VERSION,
            provider: "a b".to_owned(),
            base_url: base_url.to_owned(),
            fetched_at: UnixMillis(fetched_at),
            models: BTreeMap::from([("m".to_owned(), Facts::default())]),
        }
    }

    fn discovery(cache: &Path) -> Discovery {
        let catalogue = Catalogue::default();
        catalogue.add_provider("a b", "");
        Discovery::new(Arc::new(catalogue), Vec::new(), cache.to_owned())
    }

    #[test]
    fn what_is_kept_is_given_and_counts_as_new_for_a_day() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = folder.path().join("cache");
        let discovery = discovery(&cache);
        let source = source("http://127.0.0.1:9/v1");
        let day = 24 * 3_600_000;
        assert!(!discovery.read(&source, UnixMillis(0)), "nothing is kept");
        kept(&source.base_url, day)
            .write(&file(&cache, "a b"))
            .expect("written");
        assert!(file(&cache, "a b").ends_with("models-a_b.json"));
        for (now, is_new) in [
            (day, true),
            (2 * day - 1, true),
            (2 * day, false),
            (1, true),
            (0, false),
        ] {
            assert_eq!(discovery.read(&source, UnixMillis(now)), is_new, "{now}");
        }
        let ids: Vec<String> = discovery.catalogue.list(None).into_iter().map(|info| info.id).collect();
        assert_eq!(ids, ["a b/m"]);
    }

    /// An endpoint that answers one request with a list of one model.
    async fn endpoint() -> (String, tokio::task::JoinHandle<()>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a client");
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_buf(&mut head).await.expect("a request");
            }
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 23\r\n\r\n{\"data\":[{\"id\":\"new\"}]}";
            stream.write_all(answer.as_bytes()).await.expect("the client reads");
        });
        (base_url, serving)
    }

    #[tokio::test]
    async fn an_endpoint_of_which_nothing_is_kept_is_asked_once_in_the_background() {
        let folder = tempfile::tempdir().expect("a folder");
        let (base_url, serving) = endpoint().await;
        let mut asked = discovery(folder.path());
        asked.sources = vec![source(&base_url)];
        asked.start();
        asked.start();
        let mut asking = std::mem::take(&mut *asked.asking.lock().expect("no panic"));
        assert_eq!(asking.len(), 1);
        asking.join_next().await.expect("a task").expect("no panic");
        serving.await.expect("served");
        let ids: Vec<String> = asked.catalogue.list(None).into_iter().map(|info| info.id).collect();
        assert_eq!(ids, ["a b/new"]);
        // What was kept is new, so that the next process asks nobody.
        let mut next = discovery(folder.path());
        next.sources = vec![source(&base_url)];
        next.start();
        assert!(next.asking.lock().expect("no panic").is_empty());
        assert_eq!(next.catalogue.list(None).len(), 1);
    }

    #[tokio::test]
    async fn an_endpoint_whose_key_a_command_prints_is_asked_only_when_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let (base_url, serving) = endpoint().await;
        let mut asked = discovery(folder.path());
        asked.sources = vec![Source {
            only_when_told: true,
            ..source(&base_url)
        }];
        asked.start();
        assert!(asked.asking.lock().expect("no panic").is_empty());
        let failures = asked.refresh().await;
        assert!(failures.is_empty(), "{failures:?}");
        serving.await.expect("served");
        assert_eq!(asked.catalogue.list(None).len(), 1);
    }

    #[test]
    fn a_list_from_elsewhere_or_of_another_form_is_left_aside() {
        let folder = tempfile::tempdir().expect("a folder");
        let discovery = discovery(folder.path());
        let source = source("http://127.0.0.1:9/v1");
        let path = file(folder.path(), "a b");
        let other = Kept {
            version: VERSION + 1,
            ..kept(&source.base_url, 0)
        };
        for kept in [kept("http://127.0.0.1:9/v2", 0), other] {
            kept.write(&path).expect("written");
            assert!(!discovery.read(&source, UnixMillis(0)));
        }
        fs::write(&path, "{\"version\":1").expect("written");
        assert!(!discovery.read(&source, UnixMillis(0)));
        assert!(discovery.catalogue.list(None).is_empty());
    }
}
