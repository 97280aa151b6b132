//! Files that other programs run or obey unasked: whoever changes one changes what happens later, and to whom.

use std::path::{Component, Path};

/// Why the user is asked before this file is changed, even where changes are allowed; `None` for most.
///
/// `path` is absolute and without links. Names are compared without regard to case, as some file systems do.
pub(crate) fn caution_of(path: &Path) -> Option<&'static str> {
    let names: Vec<String> = (path.components())
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
            _ => None,
        })
        .collect();
    let within = |folders: &[&[&str]]| {
        folders.iter().any(|folder| {
            (names.windows(folder.len())).any(|names| names.iter().zip(*folder).all(|(name, wanted)| name == wanted))
        })
    };
    let file = names.last()?.as_str();
    RULES
        .iter()
        .find(|rule| within(rule.folders) || rule.files.contains(&file))
        .map(|rule| rule.why)
}

/// What is in these folders, at any depth, and these files anywhere.
struct Rule {
    why: &'static str,
    folders: &'static [&'static [&'static str]],
    files: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        why: "weft and other agents obey what this file says",
        folders: &[
            &[".weft"],
            &[".config", "weft"],
            &[".local", "share", "weft"],
            &[".claude"],
            &[".codex"],
            &[".cursor"],
            &[".gemini"],
            &[".agents"],
        ],
        files: &[
            "agents.md",
            "agents.override.md",
            "agent.md",
            "claude.md",
            "claude.local.md",
            "gemini.md",
            ".cursorrules",
            ".windsurfrules",
            ".clinerules",
            "copilot-instructions.md",
            ".mcp.json",
            "skill.md",
        ],
    },
    Rule {
        why: "git runs or obeys this file",
        folders: &[&[".git"], &[".githooks"], &[".husky"], &[".config", "git"]],
        files: &[
            ".git",
            ".gitconfig",
            ".gitmodules",
            ".gitattributes",
            ".pre-commit-config.yaml",
            "lefthook.yml",
            "lefthook.yaml",
            ".lefthook.yml",
        ],
    },
    Rule {
        why: "an editor runs or obeys this file when the folder is opened",
        folders: &[
            &[".vscode"],
            &[".idea"],
            &[".zed"],
            &[".fleet"],
            &[".vim"],
            &[".config", "nvim"],
            &[".config", "zed"],
            &[".emacs.d"],
            &[".devcontainer"],
        ],
        files: &[
            ".vimrc",
            ".nvimrc",
            ".exrc",
            ".nvim.lua",
            ".lvimrc",
            ".emacs",
            ".dir-locals.el",
            ".devcontainer.json",
            ".sublime-project",
        ],
    },
    Rule {
        why: "the servers that build the project run this file",
        folders: &[
            &[".github", "workflows"],
            &[".github", "actions"],
            &[".gitea", "workflows"],
            &[".forgejo", "workflows"],
            &[".circleci"],
            &[".buildkite"],
            &[".woodpecker"],
            &[".gitlab", "ci"],
        ],
        files: &[
            ".gitlab-ci.yml",
            ".travis.yml",
            ".woodpecker.yml",
            ".drone.yml",
            "jenkinsfile",
            "azure-pipelines.yml",
            "bitbucket-pipelines.yml",
            ".cirrus.yml",
            "appveyor.yml",
            ".appveyor.yml",
            "cloudbuild.yaml",
        ],
    },
    Rule {
        why: "a shell runs this file when it starts or enters the folder",
        folders: &[&[".config", "fish"], &[".config", "environment.d"], &[".oh-my-zsh"]],
        files: &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".kshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".inputrc",
            ".envrc",
            ".xprofile",
            ".xinitrc",
            ".xsessionrc",
            ".mise.toml",
            "mise.toml",
        ],
    },
    Rule {
        why: "other programs run or obey this file unasked",
        folders: &[
            &[".ssh"],
            &[".gnupg"],
            &[".aws"],
            &[".kube"],
            &[".config", "systemd"],
            &[".config", "autostart"],
            &["library", "launchagents"],
            &["etc", "cron.d"],
            &[".cargo"],
            &[".direnv"],
        ],
        files: &[
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnpmfile.cjs",
            ".pypirc",
            "pip.conf",
            "sitecustomize.py",
            "usercustomize.py",
            ".netrc",
            "crontab",
            ".gdbinit",
            ".lldbinit",
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<&str>) {
        let found = caution_of(Path::new(path));
        match expected {
            Some(word) => assert!(found.is_some_and(|why| why.contains(word)), "{path}: {found:?}"),
            None => assert_eq!(found, None, "{path}"),
        }
    }

    #[test]
    fn sec06_what_runs_or_is_obeyed_later_needs_caution() {
        check("/p/.git/hooks/pre-commit", Some("git"));
        check("/p/sub/.GIT/config", Some("git"));
        check("/p/.git", Some("git"));
        check("/p/.weft/config.toml", Some("agents"));
        check("/people/me/.config/weft/permissions.toml", Some("agents"));
        check("/p/a/AGENTS.md", Some("agents"));
        check("/p/agents.MD", Some("agents"));
        check("/p/.vscode/tasks.json", Some("editor"));
        check("/p/.idea/workspace.xml", Some("editor"));
        check("/p/.github/workflows/ci.yml", Some("servers"));
        check("/p/Jenkinsfile", Some("servers"));
        check("/people/me/.bashrc", Some("shell"));
        check("/p/.envrc", Some("shell"));
        check("/people/me/.ssh/authorized_keys", Some("unasked"));
        check("/p/.npmrc", Some("unasked"));
    }

    #[test]
    fn most_files_need_none() {
        for path in [
            "/p/src/main.rs",
            "/p/git/hooks/x",
            "/p/.github/README.md",
            "/p/.gitignore",
            "/p/docs/agents.md.txt",
            "/p/weft/config.toml",
            "/p/config/weft/x",
            "/",
            "/p/Makefile",
        ] {
            check(path, None);
        }
    }
}
