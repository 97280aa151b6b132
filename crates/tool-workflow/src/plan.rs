//! What one call is to run: a script of its own, or one that is taken up again.

use std::sync::Arc;

use serde_json::Value;
use weft_session::{FileStore, RunClaim};
use weft_tools::{ToolError, ToolExecution};
use weft_types::{RunId, SessionId};
use weft_workflow::{Members, RunInfo, RunLimits, RunOrigin, SavedWorkflows, StartRequest, WorkflowEngine};

use crate::arguments::Arguments;
use crate::journal::{JournalHeader, Ledger, Past, VERSION};
use crate::members::{AgentMembers, JournaledMembers};
use crate::resume::{self, Resumption};

/// What is run, and what is kept of it.
pub(crate) struct Plan {
    script: String,
    meta: Option<Value>,
    args: Option<Value>,
    limits: RunLimits,
    /// That of the first attempt.
    origin: Option<RunOrigin>,
    saved: Option<Arc<dyn SavedWorkflows>>,
    keeping: Option<Keeping>,
}

/// The journal of a run.
struct Keeping {
    store: FileStore,
    session: SessionId,
    ledger: Arc<Ledger>,
    attempt: Attempt,
    /// Held until the run is over.
    claim: Option<RunClaim>,
}

/// Where a run stands among the attempts at its work.
struct Attempt {
    number: u32,
    /// The run that it goes on with, and the first of all.
    before: Option<(RunId, RunId)>,
}

impl Plan {
    /// The plan of a call from `session`. Nothing is started or written yet.
    ///
    /// # Errors
    /// The arguments do not go together, or the run cannot be resumed.
    pub(crate) async fn of(
        execution: &ToolExecution,
        session: &SessionId,
        engine: &dyn WorkflowEngine,
        saved: Option<Arc<dyn SavedWorkflows>>,
    ) -> Result<Self, ToolError> {
        let arguments = Arguments::read(execution.arguments())?;
        let script = given_script(&arguments, saved.as_ref()).await?;
        // A nested call is part of another's work, which leaves no records either.
        let store = execution.extension::<FileStore>().filter(|_| !execution.is_nested());
        let Some(run) = arguments.resume else {
            let keeping = store.map(|store| Keeping {
                store: FileStore::clone(&store),
                session: session.clone(),
                ledger: Arc::new(Ledger::new(Past::default(), Vec::new())),
                attempt: Attempt {
                    number: 1,
                    before: None,
                },
                claim: None,
            });
            return Ok(Self {
                script: script.unwrap_or_default(),
                meta: arguments.meta.cloned(),
                args: arguments.args.cloned(),
                limits: arguments.limits,
                origin: None,
                saved,
                keeping,
            });
        };
        let Some(store) = store else {
            return Err(ToolError::new(format!(
                "cannot resume workflow run {run:?}: no journals are kept here; start the workflow anew, without `resume`"
            )));
        };
        let (store, session, run) = (FileStore::clone(&store), session.clone(), RunId::new(run));
        let finding = (store.clone(), session.clone(), run.clone());
        let found = tokio::task::spawn_blocking(move || resume::find(&finding.0, &finding.1, &finding.2)).await;
        let found = found.unwrap_or_else(|error| Err(format!("cannot resume workflow run {run:?}: {error}")));
        let Resumption {
            header,
            past,
            attempt,
            claim,
        } = found.map_err(ToolError::new)?;
        let meta = arguments.meta.cloned().or_else(|| {
            // An edited script may say itself what it is.
            let says = script.as_ref().is_some_and(|script| engine.meta_of(script).is_some());
            header.meta.filter(|_| !says)
        });
        Ok(Self {
            script: script.unwrap_or(header.script),
            meta,
            args: arguments.args.cloned().or(header.args),
            limits: arguments.limits,
            origin: Some(header.origin),
            saved,
            keeping: Some(Keeping {
                store,
                session,
                ledger: Arc::new(Ledger::new(past, arguments.rerun())),
                attempt: Attempt {
                    number: attempt,
                    before: Some((run, header.root)),
                },
                claim: Some(claim),
            }),
        })
    }

    /// The ledger of the run, if one is kept.
    pub(crate) fn ledger(&self) -> Option<&Arc<Ledger>> {
        self.keeping.as_ref().map(|keeping| &keeping.ledger)
    }

    /// The request for the run, with these members below the ledger.
    pub(crate) fn request(&self, members: AgentMembers, execution: &ToolExecution, depth: u32) -> StartRequest {
        let members: Arc<dyn Members> = match &self.keeping {
            None => Arc::new(members),
            Some(keeping) => Arc::new(JournaledMembers {
                members: Arc::new(members),
                ledger: Arc::clone(&keeping.ledger),
                store: keeping.store.clone(),
            }),
        };
        StartRequest {
            script: self.script.clone(),
            meta: self.meta.clone(),
            args: self.args.clone(),
            provider: None,
            limits: self.limits,
            depth,
            origin: self.origin,
            saved: self.saved.clone(),
            members,
            cancel: execution.signal().child_token(),
        }
    }

    /// Makes the journal of the run that was started.
    pub(crate) fn begin(&mut self, run: &RunInfo, origin: RunOrigin) {
        let Some(keeping) = &mut self.keeping else {
            return;
        };
        if keeping.claim.is_none() {
            keeping.claim = keeping.store.claim_run(&keeping.session, &run.id);
        }
        let Attempt { number, before } = &keeping.attempt;
        let (resumed_from, root) = before.clone().unzip();
        let header = JournalHeader {
            version: VERSION,
            run: run.id.clone(),
            session: keeping.session.clone(),
            root: root.unwrap_or_else(|| run.id.clone()),
            attempt: *number,
            resumed_from,
            name: run.meta.name.clone(),
            script_hash: JournalHeader::hash(&self.script),
            script: std::mem::take(&mut self.script),
            meta: self.meta.take(),
            args: self.args.take(),
            origin,
        };
        let journal = keeping.store.create_journal(&keeping.session, &run.id, &header);
        keeping.ledger.begin(journal);
    }
}

/// The script that a call brings along, or the saved one that it names.
async fn given_script(
    arguments: &Arguments<'_>,
    saved: Option<&Arc<dyn SavedWorkflows>>,
) -> Result<Option<String>, ToolError> {
    let Some(name) = arguments.saved else {
        return Ok(arguments.script.map(str::to_owned));
    };
    let refused = |why: String| ToolError::new(format!("cannot run a saved workflow: {why}"));
    let Some(saved) = saved.cloned() else {
        return Err(refused("there are none here".to_owned()));
    };
    let name = name.to_owned();
    // It reads a file.
    let found = tokio::task::spawn_blocking(move || saved.script(&name)).await;
    match found {
        Ok(Ok(script)) => Ok(Some(script)),
        Ok(Err(error)) => Err(refused(error.to_string())),
        Err(error) => Err(refused(error.to_string())),
    }
}
