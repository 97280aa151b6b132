//! The turn and step loop, permissions and the subagent seam.
