//! What a script sees: its globals, `agent`, `parallel`, `pipeline`, `phase` and `log`.

use serde_json::{Value, json};

use super::harness::{Harness, error_of, value_of};

/// Runs a script and compares what it returns.
async fn returns(script: &str, expected: Value) {
    let harness = Harness::new();
    let result = harness.run(script).await;
    assert_eq!(value_of(&result), expected, "{script}");
}

/// Runs an expression and gives the code and message of what it throws, and whether that is an Error.
async fn throws(expression: &str, code: &str, part: &str) {
    let harness = Harness::new();
    let script = format!(
        "try {{ await ({expression}); return 'nothing' }} catch (e) {{\n  return [e.code, e.message, e.fatal, e.name, e instanceof Error] }}"
    );
    let value = value_of(&*harness.run(&script).await);
    assert_eq!(value[0], json!(code), "{expression}: {value}");
    assert_eq!(
        (&value[2], &value[3], &value[4]),
        (&json!(true), &json!("WorkflowError"), &json!(true))
    );
    assert!(
        value[1].as_str().is_some_and(|message| message.contains(part)),
        "{expression}: {value}"
    );
}

#[tokio::test]
async fn a_script_sees_the_hooks_and_the_language_and_nothing_else() {
    let script = "const names = ['process', 'require', 'fetch', 'import', 'setTimeout', 'setInterval', 'queueMicrotask', 'std', 'os',
        'performance', 'navigator', 'WebAssembly', 'SharedArrayBuffer', 'Atomics', 'DOMException', 'print', 'scriptArgs', 'gc',
        'module', 'exports', 'window', 'self', 'body'];
        return [names.filter(name => typeof globalThis[name] !== 'undefined'), Object.keys(globalThis),
          ['agent', 'parallel', 'pipeline', 'phase', 'log', 'workflow', 'budget'].map(name => typeof globalThis[name] + Object.isFrozen(globalThis[name])),
          typeof args, typeof Date.now(), typeof Math.random(), eval('1+1')]";
    let mut hooks = vec!["functiontrue"; 6];
    hooks.push("objecttrue");
    returns(script, json!([[], ["args"], hooks, "undefined", "number", "number", 2])).await;
}

#[tokio::test]
async fn the_engines_own_stack_traces_cannot_be_shaped() {
    let script = "let seen = 0;
        Error.prepareStackTrace = () => { seen += 1; agent('from within a stack trace'); return '' };
        const answer = await agent('one');
        try { parallel(1).stack; await parallel(1) } catch (e) { e.stack }
        return [answer, seen]";
    returns(script, json!(["one", 0])).await;
}

#[tokio::test]
async fn errors_of_the_hooks_do_not_depend_on_what_objects_inherit() {
    let script = "Object.prototype.get = () => 1; Object.prototype.set = () => 1; Object.prototype.writable = 1;
        try { await agent('') } catch (e) { return [e.name, e.code, e.fatal] }";
    returns(script, json!(["WorkflowError", "INVALID_ARGUMENT", true])).await;
}

#[tokio::test]
async fn dynamic_import_rejects() {
    returns(
        "return await import('fs').then(() => 'imported', () => 'rejected')",
        json!("rejected"),
    )
    .await;
    returns(
        "return await import('data:text/javascript,1').catch(() => 'rejected')",
        json!("rejected"),
    )
    .await;
}

#[tokio::test]
async fn no_constructor_leads_out_of_the_scripts_realm() {
    let script = "const seen = [];
        const probe = \"return typeof process !== 'undefined' || typeof require !== 'undefined'\";
        for (const get of [() => agent, () => parallel, () => log, () => agent('x'), () => args, () => globalThis, () => console]) {
          seen.push(get().constructor.constructor(probe)());
        }
        try { await agent(7) } catch (e) { seen.push(e.constructor.constructor(probe)()) }
        return seen";
    let harness = Harness::new();
    let mut request = harness.request(script);
    request.args = Some(json!({}));
    let result = harness.run_request(request).await;
    assert_eq!(value_of(&result), json!(vec![false; 8]));
}

#[tokio::test]
async fn console_is_mute_and_a_note_says_so() {
    let harness = Harness::new();
    let result = harness.run("console.log('x', {}); console.error(1); return 1").await;
    assert_eq!(result.notes, ["console shows nothing: use log()"]);
    assert_eq!(harness.seen(), ["start", "end Completed 0"]);
}

#[tokio::test]
async fn agent_gives_text_or_the_structured_value() {
    returns(
        "return [await agent('one'), await agent('empty answer')]",
        json!(["one", ""]),
    )
    .await;
    let schema = "{ type: 'object', properties: { asked: { type: 'string' } } }";
    returns(
        &format!("return await agent('it', {{ schema: {schema} }})"),
        json!({ "asked": "it" }),
    )
    .await;
    returns(
        &format!("return await agent('unstructured', {{ schema: {schema} }})"),
        Value::Null,
    )
    .await;
    returns(
        "return [await agent('fails'), await agent('refuses')]",
        json!([null, null]),
    )
    .await;
}

#[tokio::test]
async fn what_a_member_is_started_with() {
    let harness = Harness::new();
    let mut request = harness.request(
        "await agent('plain'); await agent('all', { label: 'L', provider: 'other', model: 'm/x', schema: { type: 'object' } })",
    );
    request.provider = Some("spawn".into());
    harness.run_request(request).await;
    let requests = harness.members.requests();
    let [plain, all] = &requests[..] else {
        panic!("{requests:?}")
    };
    assert_eq!(
        (plain.seq, plain.label.as_str(), plain.prompt.as_str()),
        (1, "plain", "plain")
    );
    assert_eq!(
        (plain.provider.as_deref(), plain.model.as_deref(), &plain.schema),
        (Some("spawn"), None, &None)
    );
    assert_eq!((all.seq, all.label.as_str()), (2, "L"));
    assert_eq!(
        (all.provider.as_deref(), all.model.as_deref()),
        (Some("other"), Some("m/x"))
    );
    assert_eq!(all.schema, Some(json!({ "type": "object" })));
}

#[tokio::test]
async fn agent_refuses_wrong_arguments_in_order() {
    throws("agent()", "INVALID_ARGUMENT", "not undefined").await;
    throws("agent('')", "INVALID_ARGUMENT", "not empty").await;
    throws("agent({}, { nope: 1 })", "INVALID_ARGUMENT", "not an object").await;
    throws(
        "agent('x', null)",
        "INVALID_ARGUMENT",
        "options of agent() must be an object, not null",
    )
    .await;
    throws("agent('x', 'label')", "INVALID_ARGUMENT", "not a string").await;
    throws("agent('x', [])", "INVALID_ARGUMENT", "not an array").await;
    throws("agent('x', { label: 7 })", "INVALID_ARGUMENT", "\"label\"").await;
    throws(
        "agent('x', { label: () => 1 })",
        "INVALID_ARGUMENT",
        "options.label is a function",
    )
    .await;
    throws(
        "agent('x', { get label() { throw 1 } })",
        "INVALID_ARGUMENT",
        "options.label has a getter that threw",
    )
    .await;
    throws(
        "agent('x', { schema: { type: 'object', x: 1n } })",
        "INVALID_ARGUMENT",
        "options.schema.x is a BigInt",
    )
    .await;
    throws("agent('x', { retries: 3 })", "UNSUPPORTED_OPTION", "\"retries\"").await;
    throws("agent('x', { effort: 'high' })", "UNSUPPORTED_OPTION", "deferred").await;
    throws(
        "agent('x', { schema: { type: 'array' } })",
        "UNSUPPORTED_SCHEMA",
        "type: \"object\"",
    )
    .await;
    throws("agent('x', { schema: 7 })", "UNSUPPORTED_SCHEMA", "found 7").await;
    returns(
        "return await agent('x', { label: undefined, schema: undefined })",
        json!("x"),
    )
    .await;
}

#[tokio::test]
async fn labels_and_phases_follow_their_rules() {
    let harness = Harness::new();
    let long = "y".repeat(60);
    harness
        .run(&format!(
            "await agent('first line\\nsecond'); phase('P'); await agent('{long}'); await agent('c', {{ label: '' }});
             await agent('d', {{ label: 'own', phase: '' }}); phase('Q'); await agent('e', {{ phase: 'P' }}); await agent('f')"
        ))
        .await;
    let cut = format!("{}…", "y".repeat(47));
    let starts: Vec<_> = harness.seen().into_iter().filter(|line| line.contains('"')).collect();
    assert_eq!(
        starts,
        [
            "agent 1 \"first line\"".to_owned(),
            format!("agent 2 {cut:?} in \"P\""),
            "agent 3 \"\" in \"P\"".to_owned(),
            "agent 4 \"own\" in \"\"".to_owned(),
            "agent 5 \"e\" in \"P\"".to_owned(),
            "agent 6 \"f\" in \"Q\"".to_owned(),
        ]
    );
}

#[tokio::test]
async fn phases_and_lines_are_told_in_order_and_only_as_text() {
    let harness = Harness::new();
    harness
        .run("log('a'); phase('P'); log(''); await agent('x'); log('b'); phase('Q')")
        .await;
    let expected = [
        "start",
        "log a",
        "phase P",
        "log ",
        "agent 1 \"x\" in \"P\"",
        "agent 1 Completed",
        "log b",
        "phase Q",
        "end Completed 1",
    ];
    assert_eq!(harness.seen(), expected);
    throws("phase('')", "INVALID_ARGUMENT", "not empty").await;
    throws("phase()", "INVALID_ARGUMENT", "phase() takes a string, not undefined").await;
    throws("log({})", "INVALID_ARGUMENT", "log() takes a string, not an object").await;
}

#[tokio::test]
async fn parallel_runs_all_at_once_and_keeps_places() {
    returns(
        "const order = [];
         const r = await parallel([async () => { order.push(1); await agent('a'); return 'A' }, () => { order.push(2); return 'B' },
           () => { throw new Error('sync') }, async () => { throw new Error('async') }, () => null]);
         return [r, order]",
        json!([["A", "B", null, null, null], [1, 2]]),
    )
    .await;
    returns("return await parallel([])", json!([])).await;
}

#[tokio::test]
async fn items_that_threw_are_noted() {
    let harness = Harness::new();
    let script = "return await parallel([() => { throw new TypeError('oops') },\n () => missing.x])";
    let result = harness.run(script).await;
    assert_eq!(
        result.notes,
        ["2 items threw and became null: parallel() item 0: TypeError: oops (line 1)"]
    );
}

#[tokio::test]
async fn parallel_refuses_what_is_no_array_of_functions() {
    throws(
        "parallel(agent('a'))",
        "INVALID_ARGUMENT",
        "takes an array, not a promise",
    )
    .await;
    throws("parallel()", "INVALID_ARGUMENT", "not undefined").await;
    throws(
        "parallel([() => 1, agent('a')])",
        "INVALID_ARGUMENT",
        "item 1 must be a function, not a promise; write () =>",
    )
    .await;
    throws(
        "parallel([1])",
        "INVALID_ARGUMENT",
        "item 0 must be a function, not a number",
    )
    .await;
}

#[tokio::test]
async fn pipeline_runs_stages_without_a_barrier() {
    returns(
        "return await pipeline([1, 2, 3], (x, item, i) => { if (x === 2) throw 1; return [x, item, i] }, (x, item, i) => [x, item, i])",
        json!([[[1, 1, 0], 1, 0], null, [[3, 3, 2], 3, 2]]),
    )
    .await;
    returns(
        "return await pipeline([1, 2], x => x === 1 ? null : x, x => ({ got: x }))",
        json!([{ "got": null }, { "got": 2 }]),
    )
    .await;
    throws(
        "pipeline('abc', x => x)",
        "INVALID_ARGUMENT",
        "takes an array, not a string",
    )
    .await;
    throws("pipeline([1])", "INVALID_ARGUMENT", "at least one function").await;
    throws(
        "pipeline([1], x => x, 7)",
        "INVALID_ARGUMENT",
        "stage 2 must be a function",
    )
    .await;
}

#[tokio::test]
async fn fatal_errors_pass_through_combinators_and_can_be_caught() {
    let harness = Harness::new();
    let result = harness
        .run("return await parallel([() => agent('ok'), () => agent('')])")
        .await;
    let error = error_of(&result);
    assert!(
        error.contains("[INVALID_ARGUMENT]") && error.contains("line 1"),
        "{error}"
    );
    returns(
        "try { await pipeline([1], x => agent('x', { nope: 1 })) } catch (e) { return [e.code, await agent('goes on')] }",
        json!(["UNSUPPORTED_OPTION", "goes on"]),
    )
    .await;
    throws(
        "agent('start-fails')",
        "AGENT_START",
        "agent \"start-fails\" (line 1) could not be started: no room",
    )
    .await;
    throws("agent('x', { provider: 'nobody' })", "AGENT_START", "\"nobody\"").await;
    throws("agent('breaks')", "AGENT_RESULT", "its session is gone").await;
    throws(
        "parallel([() => agent('breaks')])",
        "AGENT_RESULT",
        "its session is gone",
    )
    .await;
}

#[tokio::test]
async fn g73_a_script_that_overwrites_its_globals_harms_only_itself() {
    returns(
        "agent = () => 'mine'; parallel = null; return [agent(), await pipeline([1], x => x + 1)]",
        json!(["mine", [2]]),
    )
    .await;
    let harness = Harness::new();
    let script = "const real = agent;
        Promise.prototype.then = () => { throw 1 }; Promise = null; Array = null; Array; Object.defineProperty = null; JSON.stringify = null;
        Reflect.apply = null; String.prototype.toWellFormed = null; Error = null; globalThis.Object = null; Math.max = null;
        ({}).constructor.prototype.polluted = 1;
        const out = await parallel([() => real('a'), () => real('b')]);
        log('done');
        return { out }";
    let result = harness.run(script).await;
    assert_eq!(value_of(&result), json!({ "out": ["a", "b"] }));
    assert_eq!(
        value_of(&*harness.run("return [typeof Array, await agent('next')]").await),
        json!(["function", "next"])
    );
}

#[tokio::test]
async fn g74_a_script_cannot_forge_a_fatal_error_nor_lose_one() {
    returns(
        "const real = await agent('').catch(e => e);
         const forged = [Object.create(real), Object.assign(new Error('x'), { code: 'AGENT_CAP', fatal: true, name: 'WorkflowError' }),
           new Proxy(real, {}), new real.constructor('x'), { __proto__: real }];
         const results = await parallel(forged.map(e => () => { throw e }));
         let passed = 'no';
         Object.setPrototypeOf(real, null);
         try { await parallel([() => { throw real }]) } catch (e) { passed = e === real }
         return [results, passed, real.fatal]",
        json!([[null, null, null, null, null], true, true]),
    )
    .await;
}

#[tokio::test]
async fn a_combinator_inside_a_combinator_is_no_trouble() {
    returns(
        "return await pipeline([1, 2], n => parallel([() => agent('a' + n), () => { throw 1 }]), pair => pair[0])",
        json!(["a1", "a2"]),
    )
    .await;
}
