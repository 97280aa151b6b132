//! Where everything lies.

use std::ffi::OsString;
use std::path::PathBuf;

use etcetera::BaseStrategy;

use super::ConfigError;

/// The folders of one user: `$WEFT_HOME`, or the platform's places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Home {
    /// Holds `config.toml` and `logs`.
    pub(crate) config: PathBuf,
    /// Holds a folder for each session.
    pub(crate) sessions: PathBuf,
    /// Holds what can be fetched again.
    pub(crate) cache: PathBuf,
}

impl Home {
    /// What the environment says.
    pub(crate) fn find() -> Result<Self, ConfigError> {
        let given = std::env::var_os("WEFT_HOME").filter(|home| !home.is_empty());
        Self::given(given, etcetera::choose_base_strategy)
    }

    /// The folder that was named, or else the platform's. Nothing is asked of the platform if one was named.
    fn given<B: BaseStrategy, E: std::fmt::Display>(
        home: Option<OsString>,
        platform: impl FnOnce() -> Result<B, E>,
    ) -> Result<Self, ConfigError> {
        if let Some(home) = home {
            // What is told of a file names it in full.
            let home = std::path::absolute(&home).unwrap_or_else(|_| PathBuf::from(home));
            return Ok(Self {
                sessions: home.join("sessions"),
                cache: home.join("cache"),
                config: home,
            });
        }
        let base = platform().map_err(|error| ConfigError::NoHome(error.to_string()))?;
        Ok(Self {
            config: base.config_dir().join("weft"),
            sessions: base.data_dir().join("weft").join("sessions"),
            cache: base.cache_dir().join("weft"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Platform;

    impl BaseStrategy for Platform {
        fn home_dir(&self) -> &std::path::Path {
            "/users/me".as_ref()
        }
        fn config_dir(&self) -> PathBuf {
            "/users/me/.config".into()
        }
        fn data_dir(&self) -> PathBuf {
            "/users/me/.local/share".into()
        }
        fn cache_dir(&self) -> PathBuf {
            "/users/me/.cache".into()
        }
        fn state_dir(&self) -> Option<PathBuf> {
            None
        }
        fn runtime_dir(&self) -> Option<PathBuf> {
            None
        }
    }

    #[cfg(unix)]
    #[test]
    fn weft_home_holds_everything_and_the_platform_keeps_settings_and_sessions_apart() {
        let named = Home::given(Some("/w".into()), || Err::<Platform, _>("must not be asked")).expect("named");
        assert_eq!((named.config, named.sessions), ("/w".into(), "/w/sessions".into()));
        assert_eq!(named.cache, PathBuf::from("/w/cache"));
        let platform = Home::given(None, || Ok::<_, &str>(Platform)).expect("found");
        assert_eq!(platform.config, PathBuf::from("/users/me/.config/weft"));
        assert_eq!(platform.sessions, PathBuf::from("/users/me/.local/share/weft/sessions"));
        assert_eq!(platform.cache, PathBuf::from("/users/me/.cache/weft"));
    }

    #[test]
    fn without_any_home_the_error_says_what_to_set() {
        let error = Home::given(None, || Err::<Platform, _>("no home")).expect_err("must be refused");
        assert!(error.to_string().ends_with("no home; set WEFT_HOME to one"), "{error}");
    }
}
