// Evaluated once, before any script: installs the script's globals and hands the worker what it needs of this realm.
//
// Everything is captured here, so that a script which overwrites its own globals or prototypes harms only itself.
(host) => {
  'use strict';
  const { apply, construct, ownKeys } = Reflect;
  const { defineProperty, freeze, getOwnPropertyDescriptor } = Object;
  const { isArray } = Array;
  const { stringify } = JSON;
  const { toWellFormed } = String.prototype;
  const PlainError = Error;
  const PlainPromise = Promise;
  const PlainArray = Array;

  // Fatality is having this private field, which a script can neither forge nor remove. The class is out of its
  // reach, because instances do not name it as their constructor.
  class WorkflowError extends PlainError {
    #fatal = true;

    constructor(code, message) {
      super(message);
      // Without a prototype, since the script may have given all other objects a `get` by then.
      defineProperty(this, 'code', { __proto__: null, value: code, enumerable: true });
      defineProperty(this, 'fatal', { __proto__: null, value: true, enumerable: true });
    }

    static isFatal(value) {
      return typeof value === 'object' && value !== null && #fatal in value;
    }
  }
  const { isFatal } = WorkflowError;
  defineProperty(WorkflowError.prototype, 'name', { value: 'WorkflowError', configurable: true, writable: true });
  delete WorkflowError.prototype.constructor;

  const fail = (code, message) => new WorkflowError(code, message);

  const checkItems = (hook, items) => {
    host.checkCancelled();
    if (!isArray(items)) {
      throw fail('INVALID_ARGUMENT', `${hook}() takes an array, not ${host.kind(items)}`);
    }
    if (items.length > host.maxItems) {
      throw fail('ITEM_CAP', `${hook}() takes at most ${host.maxItems} items (max_items_per_call), not ${items.length}`);
    }
  };

  const checkFunction = (what, value) => {
    if (typeof value !== 'function') {
      const hint = value instanceof PlainPromise ? '; write () => agent(…), not agent(…)' : '';
      throw fail('INVALID_ARGUMENT', `${what} must be a function, not ${host.kind(value)}${hint}`);
    }
  };

  // Runs all items at once; the results are in order. An item that throws becomes null, unless the error is fatal.
  // Its promise has to be awaited, not returned: returning it would look up a `then` that is the script's to change.
  const gather = (hook, count, run) => new PlainPromise((resolve, reject) => {
    const results = new PlainArray(count);
    let open = count;
    if (open === 0) resolve(results);
    const settle = async (index) => {
      let result = null;
      try {
        result = await run(index);
      } catch (error) {
        if (isFatal(error)) {
          reject(error);
          return;
        }
        host.swallowed(hook, index, error);
      }
      results[index] = result;
      open -= 1;
      if (open === 0) resolve(results);
    };
    for (let index = 0; index < count; index += 1) settle(index);
  });

  const parallel = async (thunks) => {
    checkItems('parallel', thunks);
    for (let index = 0; index < thunks.length; index += 1) {
      checkFunction(`parallel() item ${index}`, thunks[index]);
    }
    return await gather('parallel', thunks.length, (index) => {
      const thunk = thunks[index];
      return thunk();
    });
  };

  const pipeline = async (items, ...stages) => {
    checkItems('pipeline', items);
    if (stages.length === 0) {
      throw fail('INVALID_ARGUMENT', 'pipeline() takes at least one function after the array');
    }
    for (let index = 0; index < stages.length; index += 1) {
      checkFunction(`pipeline() stage ${index + 1}`, stages[index]);
    }
    return await gather('pipeline', items.length, async (index) => {
      const item = items[index];
      let value = item;
      for (let at = 0; at < stages.length; at += 1) {
        const stage = stages[at];
        value = await stage(value, item, index);
      }
      return value;
    });
  };

  const { workflow: inner } = {
    workflow: async (name) => {
      const named = typeof name === 'string' ? stringify(name) : '…';
      throw fail('NESTING', `workflow(${named}) is not supported inside of a saved workflow that workflow() runs: there is one level`);
    },
  };
  freeze(inner);

  // A saved workflow works within the run: its members, limits and time are the run's. What it is given and what it
  // returns are copies, as for a run of its own.
  const workflow = async (name, args) => {
    host.checkCancelled();
    const given = host.copyArgs(args);
    const run = await host.saved(name);
    const { agent, phase } = host.scope(name);
    let value;
    try {
      value = await run(given, freeze(agent), freeze(phase), inner);
    } catch (error) {
      host.savedThrew(name, error);
      throw error;
    }
    return host.copyValue(value, name);
  };

  // What is spent is known whenever a call comes back; a total is absent where nothing limits it.
  const total = host.maxTokens ?? null;
  const spent = () => host.spent();
  const remaining = () => {
    if (total === null) return Infinity;
    const left = total - host.spent();
    return left > 0 ? left : 0;
  };
  const budget = { total, spent: freeze(spent), remaining: freeze(remaining) };

  // The clock stands where the run began, and chance is made from its seed, so that a run which is resumed sees the
  // same. Everything else about dates is the engine's own, and its constructor is out of reach.
  const EngineDate = Date;
  const { startedAt } = host;
  const dateText = EngineDate.prototype.toString;
  const StandingDate = function Date(...parts) {
    if (new.target === undefined) return apply(dateText, new EngineDate(startedAt), []);
    return construct(EngineDate, parts.length === 0 ? [startedAt] : parts, new.target);
  };
  for (const name of ownKeys(EngineDate)) {
    defineProperty(StandingDate, name, getOwnPropertyDescriptor(EngineDate, name));
  }
  const method = { writable: true, configurable: true, enumerable: false };
  defineProperty(StandingDate, 'now', { ...method, value: { now: () => startedAt }.now });
  defineProperty(EngineDate.prototype, 'constructor', { ...method, value: StandingDate });
  defineProperty(globalThis, 'Date', { ...method, value: StandingDate });
  defineProperty(Math, 'random', { ...method, value: host.random });

  // What the engine offers beyond the language goes; what is left of the names is the language's own.
  for (const name of ownKeys(globalThis)) {
    if (typeof name === 'string' && !host.isBuiltin(name)) delete globalThis[name];
  }
  // This one would hand the script the functions of this file, and run it in the middle of a call of agent().
  delete PlainError.prepareStackTrace;

  const mute = () => host.consoleUsed();
  const console = freeze({ log: freeze(mute), info: mute, warn: mute, error: mute, debug: mute, trace: mute });
  const globals = { agent: host.agent, parallel, pipeline, phase: host.phase, log: host.log, workflow, budget, console };
  for (const name of ownKeys(globals)) {
    freeze(globals[name]);
    defineProperty(globalThis, name, { value: globals[name], writable: true, configurable: true, enumerable: false });
  }

  return {
    fail,
    codeOf: (value) => (isFatal(value) ? value.code : ''),
    site: () => new PlainError().stack,
    wellFormed: (text) => apply(toWellFormed, text, []),
  };
}
