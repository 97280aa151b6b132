//! The workflow engine seam, its observations and their reducer.
