//! Sets an engine up, runs one script in it and tells the parent how that went.

use std::cell::{Cell, OnceCell, RefCell};
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use rquickjs::context::intrinsic;
use rquickjs::{CatchResultExt, Context, Ctx, Runtime, Value};

use super::calls::Calls;
use super::control::Control;
use super::finish::{Report, finish, never_ran};
use super::load::load;
use super::notes::Notes;
use super::output::Output;
use super::rejections::Rejections;
use super::session::Session;
use super::{Work, hooks};
use crate::frames::FrameError;
use crate::protocol::{Args, FromWorker, Go, Load, Setup, ToWorker};
use crate::sandbox::SandboxReport;

/// Everything of the language but clocks other than `Date`.
type Intrinsics = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
    intrinsic::WeakRef,
);

/// How much CPU time parsing may take. The parser cannot be interrupted, and its worst cases grow with the square of a
/// script, so that this is a matter of the watchdog.
const PARSE_TIME: Duration = Duration::from_secs(1);

/// Why a worker could not do its job.
#[derive(Debug, thiserror::Error)]
pub(super) enum EngineError {
    /// The engine, before any script ran.
    #[error("the JavaScript engine could not be set up: {0}")]
    Engine(String),
    /// The report did not fit.
    #[error("failed to report to the parent: {0}")]
    Report(#[from] FrameError),
    /// The parent.
    #[error("the parent sent no script")]
    NoScript,
}

/// Runs one script from its text to the report on its end.
pub(super) fn run(work: Work) -> Result<(), EngineError> {
    let Work {
        setup,
        control,
        inbox,
        gauge,
        pipe,
        report,
    } = work;
    // Nothing is sent if the process could not be shut in, and then it is about to end.
    let report = report.recv().map_err(|_| EngineError::NoScript)?;
    let Ok(ToWorker::Load(script)) = inbox.recv() else {
        return Err(EngineError::NoScript);
    };
    let output = Rc::new(RefCell::new(Output::new(&setup, pipe)));
    let memory_before = gauge.peak();
    // Never torn down: that takes time, and asserts what a script that ran out of memory may have broken.
    let runtime = ManuallyDrop::new(Runtime::new().map_err(broken)?);
    runtime.set_memory_limit(setup.max_heap_bytes);
    runtime.set_max_stack_size(setup.max_stack_bytes);
    let clock = Arc::clone(&control);
    runtime.set_interrupt_handler(Some(Box::new(move || clock.must_stop())));
    let rejections = Rejections::watch(&runtime);
    let context = ManuallyDrop::new(Context::custom::<Intrinsics>(&runtime).map_err(broken)?);
    let report = context.with(|ctx| {
        let worker = Worker {
            ctx,
            setup: &setup,
            control: &control,
            inbox: &inbox,
            output: &output,
        };
        worker.run(script, report, &rejections)
    })?;
    if let Some(report) = report {
        let heap_used = gauge.peak().saturating_sub(memory_before);
        let finished = report.into_finished(heap_used, &setup);
        output.borrow_mut().send(&FromWorker::Finished(finished))?;
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
fn broken(error: impl ToString) -> EngineError {
    EngineError::Engine(error.to_string())
}

struct Worker<'a, 'js> {
    ctx: Ctx<'js>,
    setup: &'a Setup,
    control: &'a Arc<Control>,
    inbox: &'a Receiver<ToWorker>,
    output: &'a Rc<RefCell<Output>>,
}

impl<'js> Worker<'_, 'js> {
    /// Nothing to report means that the script does not parse and that the parent has been told.
    fn run(self, script: Load, shut_in: SandboxReport, rejections: &Rejections) -> Result<Option<Report>, EngineError> {
        self.control.begin(PARSE_TIME);
        let loaded = load(&self.ctx, &script);
        self.control.end();
        let body = match loaded {
            Ok(body) => body,
            Err(rejection) => {
                self.output.borrow_mut().send(&FromWorker::Rejected(rejection))?;
                return Ok(None);
            }
        };
        self.output.borrow_mut().send(&FromWorker::Loaded(shut_in))?;
        let Ok(ToWorker::Go(go)) = self.inbox.recv() else {
            return Ok(Some(never_ran()));
        };
        let session = Rc::new(Session {
            ctx: self.ctx.clone(),
            setup: self.setup.clone(),
            max_total_agents: go.max_total_agents,
            max_tokens: go.max_tokens,
            spent: Cell::new(0),
            control: Arc::clone(self.control),
            script,
            prelude: OnceCell::new(),
            output: Rc::clone(self.output),
            calls: RefCell::new(Calls::new(self.setup.max_calls_in_flight)),
            saved: RefCell::default(),
            last_call: Cell::new(None),
            notes: RefCell::new(Notes::default()),
        });
        hooks::install(&self.ctx, &session, go.origin)
            .catch(&self.ctx)
            .map_err(broken)?;
        self.set_args(&go).catch(&self.ctx).map_err(broken)?;
        let (ending, main) = session.play(&body, self.inbox);
        Ok(Some(finish(&session, ending, main.as_ref(), rejections)))
    }

    fn set_args(&self, go: &Go) -> rquickjs::Result<()> {
        let args = match &go.args {
            Args::Json(json) => self.ctx.json_parse(json.get())?,
            Args::Absent => Value::new_undefined(self.ctx.clone()),
        };
        self.ctx.globals().set("args", args)
    }
}
