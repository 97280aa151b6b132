//! Text that must not be shown.

use std::fmt;

/// A credential. It never appears in `Debug` output and cannot be serialised.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps a credential.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The credential itself, to be sent and not to be shown.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print() {
        let secret = Secret::new("hunter2");
        assert_eq!(
            format!("{secret:?} {:#?}", Some(&secret)),
            "Secret(***) Some(\n    Secret(***),\n)"
        );
        assert_eq!(secret.expose(), "hunter2");
    }
}
