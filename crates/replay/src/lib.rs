//! Scenario client, transcript normaliser and checker.
