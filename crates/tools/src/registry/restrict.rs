//! Hiding tools of outer layers.

use std::collections::HashSet;
use std::sync::Arc;

use crate::{Registration, ToolRegistry};

impl ToolRegistry {
    /// Hides tools of outer layers from this one: all but those of `allow`, and those of `deny`.
    ///
    /// The set of visible names is fixed here and now, so that a tool which appears further out later
    /// stays hidden. Several restrictions intersect. The layer's own tools are not touched. Fails on a
    /// root layer, without any list, and for names that are not there.
    pub fn restrict(&self, allow: Option<&[&str]>, deny: Option<&[&str]>) -> Result<Registration, RestrictError> {
        if self.layer.parent.is_none() {
            return Err(RestrictError::RootLayer);
        }
        if allow.is_none() && deny.is_none() {
            return Err(RestrictError::NoList);
        }
        let inherited = self.layer.inherited();
        let is_there = |name: &str| inherited.iter().any(|tool| tool.name() == name);
        let listed = allow.unwrap_or_default().iter().chain(deny.unwrap_or_default());
        let unknown: Vec<String> = listed
            .filter(|name| !is_there(name))
            .map(|&name| name.to_owned())
            .collect();
        if !unknown.is_empty() {
            return Err(RestrictError::UnknownTools { names: unknown });
        }
        let is_shown = |name: &str| {
            let is_allowed = allow.is_none_or(|allow| allow.contains(&name));
            is_allowed && !deny.is_some_and(|deny| deny.contains(&name))
        };
        let names = inherited.iter().map(|tool| tool.name());
        let shown: HashSet<String> = names.filter(|name| is_shown(name)).map(str::to_owned).collect();
        let number = self.layer.restrictions.push(Arc::new(shown));
        Ok(self.registration(move |layer| layer.restrictions.remove(number)))
    }
}

/// A restriction that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestrictError {
    /// The layer has no outer ones.
    #[error("cannot restrict the root layer: a restriction hides tools of outer layers")]
    RootLayer,
    /// Neither list is given.
    #[error("cannot restrict tools without a list of names to allow or to deny")]
    NoList,
    /// Names that no outer layer has.
    #[error("cannot restrict tools: no outer layer has {}", names.join(", "))]
    UnknownTools {
        /// The names.
        names: Vec<String>,
    },
}
