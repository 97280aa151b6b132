//! HTTP adapters behind the model seam.
