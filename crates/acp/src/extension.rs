//! Extension methods: requests whose names begin with `_`, answered by the composition.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;

type Handler = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, ExtensionError>> + Send + Sync>;

/// Why an extension method did not answer with a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtensionError {
    /// The caller's mistake; answered as invalid params.
    #[error("invalid params: {0}")]
    InvalidParams(String),
    /// The method could not do its work; answered as an internal error.
    #[error("{0}")]
    Failed(String),
}

/// An extension method's name that cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtensionNameError {
    /// Other names belong to the protocol.
    #[error("failed to register extension method `{0}`: its name must begin with `_`")]
    NotAnExtension(String),
    /// One handler per name.
    #[error("failed to register extension method `{0}`: it is registered already")]
    Taken(String),
}

/// The extension methods of a connection, by name. Names that are not in it are answered with -32601.
#[derive(Clone, Default)]
pub struct ExtensionMethods {
    handlers: HashMap<String, Handler>,
}

impl ExtensionMethods {
    /// No methods.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a method. The handler gets the request's params (`null` when there are none) and runs in a task
    /// of its own: it may wait, and is dropped when the connection begins to end or the client cancels the
    /// request.
    pub fn register<F, Fut>(&mut self, name: &str, handler: F) -> Result<(), ExtensionNameError>
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ExtensionError>> + Send + 'static,
    {
        if !name.starts_with('_') {
            return Err(ExtensionNameError::NotAnExtension(name.to_owned()));
        }
        if self.handlers.contains_key(name) {
            return Err(ExtensionNameError::Taken(name.to_owned()));
        }
        let handler: Handler = Arc::new(move |params| handler(params).boxed());
        self.handlers.insert(name.to_owned(), handler);
        Ok(())
    }

    /// Starts a method's work, or gives the params back when nobody answers to that name.
    pub(crate) fn call(
        &self,
        name: &str,
        params: Value,
    ) -> Result<BoxFuture<'static, Result<Value, ExtensionError>>, Value> {
        match self.handlers.get(name) {
            Some(handler) => Ok(handler(params)),
            None => Err(params),
        }
    }
}

impl fmt::Debug for ExtensionMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.handlers.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn echo(params: Value) -> Result<Value, ExtensionError> {
        Ok(params)
    }

    #[test]
    fn only_underscore_names_are_taken_and_each_once() {
        let mut methods = ExtensionMethods::new();
        methods.register("_weft/echo", echo).unwrap();
        assert_eq!(
            methods.register("_weft/echo", echo),
            Err(ExtensionNameError::Taken("_weft/echo".into()))
        );
        assert_eq!(
            methods.register("session/new", echo),
            Err(ExtensionNameError::NotAnExtension("session/new".into()))
        );
    }
}
