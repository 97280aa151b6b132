//! Promises that were rejected and that nobody has handled.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{Ctx, Persistent, Promise, Runtime, Value};

/// How many are kept with their reasons.
const MAX_KEPT: usize = 64;

type Saved = Persistent<Value<'static>>;

/// The unhandled rejections of a runtime. Clones are one list.
#[derive(Clone, Default)]
pub(super) struct Rejections {
    list: Rc<RefCell<List>>,
}

#[derive(Default)]
struct List {
    /// Promises and their reasons.
    kept: Vec<(Saved, Saved)>,
    /// How many more there are.
    more: u64,
}

impl Rejections {
    /// Begins to watch a runtime.
    pub(super) fn watch(runtime: &Runtime) -> Self {
        let rejections = Self::default();
        let list = Rc::clone(&rejections.list);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, handled| {
            let promise = Persistent::save(&ctx, promise);
            let reason = Persistent::save(&ctx, reason);
            let mut list = list.borrow_mut();
            if handled {
                list.handled(&promise);
            } else {
                list.rejected(promise, reason);
            }
        })));
        rejections
    }

    /// Takes what is unhandled by now, but for one promise: the reasons, and how many more there are.
    pub(super) fn take<'js>(&self, ctx: &Ctx<'js>, except: &Promise<'js>) -> (Vec<Value<'js>>, u64) {
        let List { kept, more } = self.list.take();
        let except = Persistent::save(ctx, except.as_value().clone());
        let others = kept.into_iter().filter(|(promise, _)| *promise != except);
        let reasons = others.filter_map(|(_, reason)| reason.restore(ctx).ok());
        (reasons.collect(), more)
    }
}

impl List {
    fn rejected(&mut self, promise: Saved, reason: Saved) {
        if self.kept.len() < MAX_KEPT {
            self.kept.push((promise, reason));
        } else {
            self.more += 1;
        }
    }

    fn handled(&mut self, promise: &Saved) {
        match self.kept.iter().position(|(kept, _)| kept == promise) {
            Some(at) => drop(self.kept.swap_remove(at)),
            None => self.more = self.more.saturating_sub(1),
        }
    }
}
