//! `weft setup`: how an editor is told of weft.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use etcetera::BaseStrategy as _;
use serde_json::{Value, json};

use crate::args::{Editor, SetupArgs};
use merge::Merged;

mod merge;

/// Prints or writes the entry.
pub(crate) fn run(args: &SetupArgs) -> anyhow::Result<ExitCode> {
    let weft = std::env::current_exe().context("failed to find the weft program itself")?;
    let weft = weft
        .to_str()
        .with_context(|| format!("the path of weft, {}, is not UTF-8", weft.display()))?;
    let entry = entry(args.editor, weft);
    if !args.write {
        print(&entry)?;
        crate::complain(&place(args.editor));
        return Ok(ExitCode::SUCCESS);
    }
    let Some(settings) = settings_of(args.editor).filter(|_| is_json(args.editor)) else {
        crate::complain(&format!(
            "--write is for zed and jetbrains\nhint: {}",
            place(args.editor)
        ));
        return Ok(ExitCode::from(2));
    };
    write(&settings, weft, args.editor, &entry)
}

fn write(settings: &Path, weft: &str, editor: Editor, entry: &str) -> anyhow::Result<ExitCode> {
    match merge::into_file(settings, &server(editor, weft))? {
        Merged::Written { copy } => {
            let copy = copy.map_or_else(String::new, |copy| format!("; as it was: {}", copy.display()));
            crate::complain(&format!("wrote {}{copy}", settings.display()));
            Ok(ExitCode::SUCCESS)
        }
        Merged::AlreadyThere => {
            crate::complain(&format!("{} names this weft already", settings.display()));
            Ok(ExitCode::SUCCESS)
        }
        Merged::Refused(why) => {
            print(entry)?;
            crate::complain(&format!("{} was left as it is: {why}", settings.display()));
            Ok(ExitCode::FAILURE)
        }
    }
}

fn print(entry: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{entry}")?;
    out.flush()
}

/// The file that an editor's entry belongs into, whether it is there or not.
pub(crate) fn settings_of(editor: Editor) -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    match editor {
        Editor::Zed => Some(base.config_dir().join("zed").join("settings.json")),
        Editor::Jetbrains => Some(base.home_dir().join(".jetbrains").join("acp.json")),
        Editor::Codecompanion | Editor::Avante | Editor::AgentShell | Editor::Toad => None,
    }
}

fn is_json(editor: Editor) -> bool {
    matches!(editor, Editor::Zed | Editor::Jetbrains)
}

/// What is said of where the entry belongs.
fn place(editor: Editor) -> String {
    let settings = settings_of(editor).map(|path| path.display().to_string());
    match editor {
        Editor::Zed | Editor::Jetbrains => format!(
            "this belongs into {}; what the model's key is in must be set there under env, or where the editor is started",
            settings.unwrap_or_else(|| "the editor's settings".to_owned())
        ),
        Editor::Codecompanion => "this belongs into what require(\"codecompanion\").setup() is given".to_owned(),
        Editor::Avante => "this belongs into what require(\"avante\").setup() is given".to_owned(),
        Editor::AgentShell => "this belongs into your init file, after (require 'agent-shell)".to_owned(),
        Editor::Toad => "this is the command that starts it".to_owned(),
    }
}

/// The entry of weft among an editor's agents, for those that keep JSON.
fn server(editor: Editor, weft: &str) -> Value {
    match editor {
        Editor::Zed => json!({"type": "custom", "command": weft, "args": ["acp"], "env": {}}),
        _ => json!({"command": weft, "args": ["acp"], "env": {}}),
    }
}

/// What is printed.
fn entry(editor: Editor, weft: &str) -> String {
    // What JSON escapes in a text, Lua and Emacs Lisp read the same way, but for \u.
    let quoted = Value::from(weft).to_string();
    match editor {
        Editor::Zed | Editor::Jetbrains => {
            format!("{:#}", json!({"agent_servers": {"weft": server(editor, weft)}}))
        }
        Editor::Codecompanion => CODECOMPANION.replace("WEFT", &quoted),
        Editor::Avante => AVANTE.replace("WEFT", &quoted),
        Editor::AgentShell => AGENT_SHELL.replace("WEFT", &quoted),
        Editor::Toad => format!(
            "toad acp {}",
            crate::trust::shell_word(&format!("{} acp", crate::trust::shell_word(weft)))
        ),
    }
}

const CODECOMPANION: &str = r#"adapters = {
  acp = {
    weft = function()
      local helpers = require("codecompanion.adapters.acp.helpers")
      return {
        name = "weft",
        formatted_name = "weft",
        type = "acp",
        roles = { llm = "assistant", user = "user" },
        commands = { default = { WEFT, "acp" } },
        defaults = { mcpServers = {}, timeout = 20000 },
        parameters = {
          protocolVersion = 1,
          clientCapabilities = { fs = { readTextFile = true, writeTextFile = true } },
          clientInfo = { name = "CodeCompanion.nvim", version = "1.0.0" },
        },
        handlers = {
          setup = function() return true end,
          auth = function() return true end,
          form_messages = function(self, messages, capabilities)
            return helpers.form_messages(self, messages, capabilities)
          end,
          on_exit = function() end,
        },
      }
    end,
  },
},
interactions = { chat = { adapter = "weft" } },"#;

const AVANTE: &str = r#"provider = "weft",
acp_providers = {
  weft = { command = WEFT, args = { "acp" } },
},"#;

const AGENT_SHELL: &str = r#"(add-to-list 'agent-shell-agent-configs
             (agent-shell-make-agent-config
              :identifier 'weft
              :mode-line-name "weft"
              :buffer-name "weft"
              :shell-prompt "weft> "
              :shell-prompt-regexp "weft> "
              :client-maker
              (lambda (buffer)
                (acp-make-client :command WEFT
                                 :command-params '("acp")
                                 :context-buffer buffer))))"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_names_the_program_and_its_command() {
        for editor in <Editor as clap::ValueEnum>::value_variants() {
            let text = entry(*editor, "/opt/a b/weft");
            assert!(text.contains("/opt/a b/weft"), "{text}");
            assert!(text.contains("acp"), "{text}");
            assert!(!text.contains("WEFT"), "{text}");
        }
        assert_eq!(entry(Editor::Toad, "/opt/weft"), "toad acp '/opt/weft acp'");
    }
}
