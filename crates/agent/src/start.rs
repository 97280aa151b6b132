//! What a prompt starts: a turn of the model's, or something that the agent does by itself.

use weft_model::AgentRole;
use weft_types::{CompactionReason, ContentBlock, EventBody, TurnEnd};

use crate::LibraryHandle;
use crate::command::{Started, started};
use crate::compaction::{Compacted, Wish, id_of};
use crate::requests::{aborted, failed};
use crate::slot::TurnCancel;
use crate::status::Status;
use crate::turn::{LoopError, Place, Turns};

impl Turns {
    /// What a prompt starts. Only users give commands.
    pub(crate) fn started(&self, content: &[ContentBlock]) -> Started {
        match self.options.role {
            AgentRole::Main => started(content, &self.options.commands),
            AgentRole::Subagent => Started::Turn,
        }
    }

    /// Does what comes before the model is asked; answers how the turn ends if it is not.
    pub(crate) async fn prepare(
        &mut self,
        turn: u32,
        started: Started,
        cancel: &TurnCancel,
    ) -> Result<Option<TurnEnd>, LoopError> {
        match started {
            Started::Turn => Ok(None),
            Started::Status => {
                let text = self.status();
                self.notice(text)?;
                Ok(Some(TurnEnd::Completed))
            }
            Started::Trust => self.trust(cancel).await.map(Some),
            Started::Compact(focus) => self.compact_by_command(turn, &focus, cancel).await.map(Some),
            Started::Library { name, text } => self.expand(turn, &name, &text, cancel).await,
        }
    }

    /// Gives the model the text behind a command, after the prompt as the user typed it.
    async fn expand(
        &mut self,
        turn: u32,
        name: &str,
        text: &str,
        cancel: &TurnCancel,
    ) -> Result<Option<TurnEnd>, LoopError> {
        let Some(library) = self.options.lent.get::<LibraryHandle>() else {
            return Ok(Some(failed(&format!(
                "failed to start /{name}: there is no library to find it in"
            ))));
        };
        let expanded = tokio::select! {
            biased;
            () = cancel.token().cancelled() => return Ok(Some(aborted(cancel))),
            expanded = library.0.expand(name, text) => expanded,
        };
        let instructions = match expanded {
            Ok(instructions) => instructions,
            Err(error) => return Ok(Some(failed(&format!("failed to start /{name}: {error}")))),
        };
        let about = match text {
            "" => String::new(),
            text => format!("\n\nWhat the user wrote behind it: {text}"),
        };
        let given = format!("The user started the command /{name}. Follow its text:\n\n{instructions}{about}");
        let content = vec![ContentBlock::text(given)];
        self.append(EventBody::ToolContext { turn, content })?;
        Ok(None)
    }

    async fn compact_by_command(&mut self, turn: u32, focus: &str, cancel: &TurnCancel) -> Result<TurnEnd, LoopError> {
        let resolved = match self.options.models.resolve(self.model.get().as_deref()) {
            Ok(resolved) => resolved,
            Err(error) => return Ok(failed(error.message())),
        };
        let wish = Wish {
            place: Place { turn, step: 1 },
            reason: CompactionReason::Command,
            focus,
        };
        Ok(match self.compact(&wish, &resolved, cancel).await? {
            Compacted::Done => TurnEnd::Completed,
            Compacted::Nothing => {
                self.notice("There is nothing to sum up yet; the conversation is as it was.".to_owned())?;
                TurnEnd::Completed
            }
            Compacted::Cancelled => aborted(cancel),
            Compacted::Failed(reason) => failed(&format!(
                "the conversation could not be summed up and is as it was: {reason}"
            )),
        })
    }

    fn status(&self) -> String {
        let models = &self.options.models;
        let model = models.resolve(self.model.get().as_deref());
        let library = self.options.lent.get::<LibraryHandle>();
        let mut more = library.map(|library| library.0.status()).unwrap_or_default();
        more.extend(self.options.companions.iter().flat_map(|companion| companion.status()));
        let ongoing = self.ongoing();
        if !ongoing.is_empty() {
            more.push(format!("In the background: {}", ongoing.join(", ")));
        }
        let status = Status {
            models: &**models,
            model: model
                .map(|resolved| id_of(&resolved))
                .map_err(|error| error.message().to_owned()),
            mode: self.options.permissions.mode().as_str(),
            usage: &self.meter.read(),
            more,
        };
        status.text()
    }
}
