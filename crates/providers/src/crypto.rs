//! The cryptography that TLS uses.

/// Makes ring the cryptography of every TLS connection of this process.
///
/// Without it the first HTTP client that anything builds would panic. Call it first thing in `main`; the
/// adapters of this crate call it too. Any call but the first does nothing.
pub fn install_crypto() {
    // The only failure is that a provider stands already, which is what is wanted.
    drop(rustls::crypto::ring::default_provider().install_default());
}
