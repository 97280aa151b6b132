//! The environment that programs started by the agent get: its own, without what looks like a secret.
//!
//! A command, a server or a script has no business with the keys that the agent was started with, and whatever it prints
//! goes to a model. So variables are left out that hold the keys of providers, and those whose names say that they hold
//! a credential. Somebody who needs one lets it pass by its name.

use std::ffi::{OsStr, OsString};

/// Where programs are looked for if the agent was started without `PATH`, as some desktops do.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The variable that says to a program that it works for an agent, and not for the user alone. Every environment has it.
pub const AGENT_MARK: &str = "WEFT_AGENT";

/// Which variables of its own the agent hands on to the programs that it starts.
///
/// Everything that starts a program for somebody else (commands, servers) builds its environment with this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    hidden: Vec<String>,
    passed: Vec<String>,
}

/// A text that cannot be the name of a variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no name of an environment variable; expected text without = and NUL")]
pub struct InvalidVariable {
    name: String,
}

impl Environment {
    /// Leaves out `hidden`, such as the variables that hold the keys of providers, and all that
    /// [look like credentials](looks_secret); but of both not what is `passed`.
    ///
    /// # Errors
    /// One of them can be no name.
    pub fn new(hidden: &[String], passed: &[String]) -> Result<Self, InvalidVariable> {
        let is_impossible = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        match hidden.iter().chain(passed).find(is_impossible) {
            Some(name) => Err(InvalidVariable { name: name.clone() }),
            None => Ok(Self {
                hidden: hidden.to_vec(),
                passed: passed.to_vec(),
            }),
        }
    }

    /// The whole environment of a program that is started now: give it to a command whose own was cleared. `PATH` and
    /// the [mark of agents](AGENT_MARK) are always in it.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut variables = self.select(std::env::vars_os());
        variables.retain(|(name, _)| name != AGENT_MARK);
        variables.push((AGENT_MARK.into(), "1".into()));
        variables
    }

    /// What is handed on of `variables`, in their order, and a `PATH` if there is none among them.
    pub fn select(&self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let mut selected: Vec<(OsString, OsString)> =
            variables.into_iter().filter(|(name, _)| self.hands_on(name)).collect();
        selected.retain(|(name, value)| name != "PATH" || !value.is_empty());
        if !selected.iter().any(|(name, _)| name == "PATH") {
            selected.push(("PATH".into(), DEFAULT_PATH.into()));
        }
        selected
    }

    fn hands_on(&self, name: &OsStr) -> bool {
        let is_in = |names: &[String]| names.iter().any(|known| OsStr::new(known) == name);
        is_in(&self.passed) || !(is_in(&self.hidden) || looks_secret(&name.to_string_lossy()))
    }
}

/// Whether a variable of that name holds, by what names like it usually do, a credential: a key, a token, a password.
pub fn looks_secret(name: &str) -> bool {
    const WITHIN: [&str; 9] = [
        "API_KEY",
        "APIKEY",
        "ACCESS_KEY",
        "PRIVATE_KEY",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
    ];
    // `TOKENIZERS_PARALLELISM` and `XDG_SESSION_TYPE` hold none, and `SSH_ASKPASS` names a program.
    const AT_THE_END: [&str; 8] = [
        "TOKEN",
        "TOKENS",
        "_PASS",
        "_PWD",
        "_AUTH",
        "_BEARER",
        "_PAT",
        "_SIGNING_KEY",
    ];
    let name = name.to_ascii_uppercase();
    WITHIN.iter().any(|part| name.contains(part)) || AT_THE_END.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(environment: &Environment, given: &[&str]) -> Vec<String> {
        let given = given.iter().map(|name| (OsString::from(name), OsString::from("x")));
        let selected = environment.select(given).into_iter();
        selected.map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    fn of(hidden: &[&str], passed: &[&str]) -> Environment {
        let owned = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        Environment::new(&owned(hidden), &owned(passed)).expect("these are names")
    }

    #[test]
    fn sec_08_what_looks_like_a_credential_is_left_out() {
        for secret in [
            "OPENAI_API_KEY",
            "openai_api_key",
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "NPM_TOKEN",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "CLIENT_SECRET",
            "SECRET_KEY_BASE",
            "DB_PASSWORD",
            "PGPASSWORD",
            "MYSQL_PWD",
            "SMTP_PASS",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "SSH_PRIVATE_KEY",
            "npm_config__auth",
            "AZURE_DEVOPS_PAT",
        ] {
            assert_eq!(names(&of(&[], &[]), &[secret, "PATH"]), ["PATH"], "{secret}");
        }
    }

    #[test]
    fn what_programs_need_is_handed_on() {
        let needed = [
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "LANG",
            "SSH_AUTH_SOCK",
            "SSH_ASKPASS",
            "XDG_SESSION_TYPE",
            "TOKENIZERS_PARALLELISM",
            "AWS_PROFILE",
            "CARGO_HOME",
            "http_proxy",
            "KEYBOARD",
            "MONKEY",
            "DISPLAY",
        ];
        assert_eq!(names(&of(&[], &[]), &needed), needed);
    }

    #[test]
    fn what_is_named_decides_over_what_it_looks_like() {
        let environment = of(&["MODEL", "BOTH"], &["GITHUB_TOKEN", "BOTH"]);
        let given = ["MODEL", "GITHUB_TOKEN", "BOTH", "NPM_TOKEN", "PATH"];
        assert_eq!(names(&environment, &given), ["GITHUB_TOKEN", "BOTH", "PATH"]);
    }

    #[test]
    fn fs_13_programs_are_found_without_a_path() {
        let expected = vec![(OsString::from("PATH"), OsString::from(DEFAULT_PATH))];
        assert_eq!(Environment::default().select([]), expected);
        let empty = [(OsString::from("PATH"), OsString::new())];
        assert_eq!(Environment::default().select(empty), expected);
    }

    #[test]
    fn what_can_be_no_name_is_refused() {
        let error = Environment::new(&[], &["A=B".to_owned()]).expect_err("no name");
        assert_eq!(
            error.to_string(),
            "\"A=B\" is no name of an environment variable; expected text without = and NUL"
        );
        assert!(Environment::new(&[String::new()], &[]).is_err());
    }
}
