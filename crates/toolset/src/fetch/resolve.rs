//! Names to addresses that may be asked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::target::{Judge, Refused};

/// Asks for the addresses of a name.
pub(super) type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// Looks a name up once for each connection and hands on what it found only if all of it may be asked, so that what was
/// looked at is what is connected to.
pub(super) struct Resolver {
    pub(super) lookup: Lookup,
    pub(super) judge: Judge,
}

/// The system's own way to look names up.
pub(super) fn of_system() -> Lookup {
    Arc::new(|name| {
        async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        }
        .boxed()
    })
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let (found, judge) = ((self.lookup)(host.clone()), self.judge);
        Box::pin(async move {
            let found = found.await?;
            // One address that may not be asked is enough: an honest name has none.
            for address in &found {
                if let Some(what) = judge(*address) {
                    let address = *address;
                    return Err(Refused::Address { host, address, what }.into());
                }
            }
            // The port is the URL's.
            let found: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(found)
        })
    }
}
