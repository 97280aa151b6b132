//! Finding a run that is to be taken up again.

use weft_session::{FileStore, RunClaim, StoreError, StoredJournal};
use weft_types::{RunId, SessionId};

use crate::journal::{JournalHeader, Past, VERSION};

/// What to do where a run cannot be resumed for good.
const ANEW: &str = "start the workflow anew, without `resume`";

/// A run that can be taken up again, claimed so that nobody else does.
#[derive(Debug)]
pub(crate) struct Resumption {
    pub(crate) header: JournalHeader,
    pub(crate) past: Past,
    /// The number of the next attempt.
    pub(crate) attempt: u32,
    pub(crate) claim: RunClaim,
}

/// Finds the run among those of the session, with everything that it and all attempts before and after it came to.
/// Nothing is written. It blocks on the disk.
///
/// # Errors
/// Why it cannot be resumed, and what to do about it.
pub(crate) fn find(store: &FileStore, session: &SessionId, run: &RunId) -> Result<Resumption, String> {
    let refused = |why: String| format!("cannot resume workflow run {:?}: {why}", shown(run));
    let mut journal = match store.read_journal(session, run) {
        Ok(journal) => journal,
        Err(StoreError::NoJournal { .. }) => return Err(refused(elsewhere(store, run))),
        Err(error) => return Err(refused(format!("{error}; {ANEW}"))),
    };
    let header = header(&mut journal, session, run).map_err(refused)?;
    let claim = store.claim_run(session, &header.root).ok_or_else(|| {
        refused("it is still running, or another that goes on with it is; wait for its end, or cancel it".to_owned())
    })?;
    let (past, attempt) =
        attempts(store, session, &header.root).map_err(|error| refused(format!("{error}; {ANEW}")))?;
    Ok(Resumption {
        header,
        past,
        attempt,
        claim,
    })
}

fn header(journal: &mut StoredJournal, session: &SessionId, run: &RunId) -> Result<JournalHeader, String> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    let value: serde_json::Value = journal.first().map_err(|error| format!("{error}; {ANEW}"))?;
    let damaged = |error: String| format!("its journal is damaged: {error}; {ANEW}");
    let Versioned { version } = serde::Deserialize::deserialize(&value).map_err(|error| damaged(error.to_string()))?;
    if version > VERSION {
        return Err(format!(
            "its journal has version {version}, this program knows versions up to {VERSION}; update it"
        ));
    }
    let header: JournalHeader = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
    if header.run != *run || header.session != *session {
        let (run, session) = (&header.run, &header.session);
        return Err(damaged(format!("it is that of run {run} of session {session}")));
    }
    Ok(header)
}

/// Everything that the attempts at one piece of work came to, in their order, and the number of the next. One whose
/// journal cannot be opened or does not begin as it should tells nothing: what lies beside a journal keeps no run from
/// being resumed.
fn attempts(store: &FileStore, session: &SessionId, root: &RunId) -> Result<(Past, u32), StoreError> {
    let mut attempts = Vec::new();
    for run in store.journals(session)? {
        let begun = match store.read_journal(session, &run) {
            Ok(mut journal) => header(&mut journal, session, &run).map(|header| (header, journal)),
            Err(error) => Err(error.to_string()),
        };
        match begun {
            Ok((header, journal)) if header.root == *root => attempts.push((header.attempt, journal)),
            Ok(_) => {}
            Err(why) => tracing::warn!(%run, why, "a journal is left out of account"),
        }
    }
    attempts.sort_by_key(|(attempt, _)| *attempt);
    let next = attempts.last().map_or(1, |(attempt, _)| attempt.saturating_add(1));
    let mut past = Past::default();
    for (_, mut journal) in attempts {
        past.take(&mut journal)?;
    }
    Ok((past, next))
}

/// Why the session has no such run.
fn elsewhere(store: &FileStore, run: &RunId) -> String {
    let owner = match store.session_of_run(run) {
        Ok(Some(owner)) => owner,
        Ok(None) | Err(StoreError::NoJournal { .. }) => {
            return format!(
                "there is no journal of it. The result of a workflow call names its run id. If this was one, {ANEW}"
            );
        }
        Err(error) => return error.to_string(),
    };
    let Some(holder) = store.holder(&owner) else {
        return format!("it belongs to session {owner}. Go on there, or run `weft workflow resume {run}` in a shell");
    };
    let state = match is_over(store, &owner, run) {
        true => "is in use",
        false => "is still running it",
    };
    format!("it belongs to session {owner}, which {state} in {holder}. Wait for its end or cancel it; then go on there")
}

fn is_over(store: &FileStore, session: &SessionId, run: &RunId) -> bool {
    let Ok(mut journal) = store.read_journal(session, run) else {
        return false;
    };
    header(&mut journal, session, run).is_ok() && matches!(Past::default().take(&mut journal), Ok(Some(_)))
}

/// An id that came from a model.
fn shown(run: &RunId) -> String {
    run.as_str().chars().take(100).collect()
}
