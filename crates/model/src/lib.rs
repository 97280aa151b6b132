//! The model seam and the scripted model.
