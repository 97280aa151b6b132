//! Scripts that mean harm. Each ends, by itself or by a limit, and harms only its own run.

use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::future::ready;
use futures::stream::iter;
use serde_json::json;
use weft_types::RunStop;
use weft_workflow::RunResult;

use super::harness::{Harness, config, value_of};

/// What a script has to come to.
#[derive(Clone, Copy)]
enum Fate {
    /// It runs until a limit of time ends it.
    Time,
    /// It fails with this in its error.
    Error(&'static str),
    /// It returns.
    Returns,
    /// It ends.
    Ends,
}

use Fate::{Ends, Error, Returns, Time};

const MEMORY: Fate = Error("out of memory");
const STACK: Fate = Error("call stack");

const SCRIPTS: &[(Fate, &str)] = &[
    // Spinning.
    (Time, "for (;;);"),
    (
        Time,
        "do { try { for (;;); } catch { for (;;); } finally { for (;;); } } while (1)",
    ),
    (Time, "for (;;) await undefined"),
    (
        Time,
        "const go = () => { Promise.resolve().then(go); Promise.resolve().then(go) }; go(); await new Promise(() => {})",
    ),
    (Time, "await null; for (;;);"),
    (Time, "await agent('x'); try { for (;;); } finally { for (;;); }"),
    (Time, "const loop = { then(go) { go(loop) } }; await loop"),
    (
        Time,
        "async function* all() { for (;;) yield 1 } for await (const one of all());",
    ),
    (
        Time,
        "await Array.fromAsync((async function* () { for (;;) yield 0 })())",
    ),
    (Time, "const f = () => { try { f() } finally { f() } }; f()"),
    (Time, "for (;;) { try { null.x } catch { } }"),
    (Time, "parallel([() => { for (;;); }])"),
    (Time, "await pipeline([1], async x => { for (;;) await x })"),
    (Time, "new Proxy({}, { get() { for (;;); } }).x"),
    (
        Time,
        "Object.defineProperty(Error, 'prepareStackTrace', { value() { for (;;); } }); Error.prepareStackTrace = () => { for (;;); }; await agent('x'); for (;;);",
    ),
    (Time, "eval('for (;;);')"),
    (Time, "new Function('for (;;);')()"),
    // Backtracking.
    (Time, "/^(x+)+$/.test('x'.repeat(50) + '!')"),
    (Time, "/(a*)*b/.exec('a'.repeat(40))"),
    (Time, "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))"),
    // Memory.
    (MEMORY, "let s = 'x'; for (;;) s += s + s.slice(1)"),
    (Ends, "return 'x'.repeat(2 ** 29).length"),
    (Ends, "return 'x'.padEnd(2 ** 30 - 2, 'ab').length"),
    (MEMORY, "const all = []; for (;;) all.push({})"),
    (Ends, "return new Array(1e9).fill(0).length"),
    (Ends, "return Array.from({ length: 1e9 }).length"),
    (Ends, "const all = []; for (;;) all.push(new ArrayBuffer(1 << 24))"),
    (Ends, "return new Uint8Array(2 ** 31).length"),
    (Ends, "let x = 7n; for (;;) x *= x"),
    (Ends, "return (2n ** (2n ** 26n)).toString().length"),
    (Ends, "const map = new Map(); for (let i = 0; ; i++) map.set(i, {})"),
    (Ends, "let f = () => 0; for (;;) { const g = f; f = () => g() }"),
    (
        Ends,
        "for (;;) { try { const all = []; for (;;) all.push(new Array(1000).fill(1)) } catch { } }",
    ),
    (Ends, "let all = [1]; for (;;) all = all.concat(all)"),
    (Ends, "return 'a'.repeat(1e5).replace(/a/g, 'b'.repeat(1e4)).length"),
    (Ends, "return JSON.stringify('\\u0001'.repeat(2e7)).length"),
    (Ends, "await null; const all = []; for (;;) all.push([1, 2, 3])"),
    (
        Ends,
        "return (await Promise.all(Array.from({ length: 3e5 }, async (_, i) => i))).length",
    ),
    (Ends, "const held = []; for (;;) held.push(Promise.reject(held))"),
    (Ends, "for (;;) agent('x'.repeat(1e6)).catch(() => {})"),
    (
        Ends,
        "const b = new ArrayBuffer(8, { maxByteLength: 1 << 30 }); b.resize(1 << 30); return b.byteLength",
    ),
    // Depth.
    (STACK, "const f = n => f(n + 1) + 1; return f(0)"),
    (Ends, "const f = async n => (await f(n + 1)) + 1; return await f(0)"),
    (STACK, "return ({ get x() { return this.x } }).x"),
    (Ends, "return JSON.parse('['.repeat(1e6) + ']'.repeat(1e6)).length"),
    (
        Ends,
        "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return JSON.stringify(a).length",
    ),
    (
        Ends,
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return String(a).length",
    ),
    (
        Ends,
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a.flat(Infinity).length",
    ),
    (
        Returns,
        "let a = null; for (let i = 0; i < 1e5; i++) a = { a }; a = null; return 1",
    ),
    (
        Ends,
        "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x",
    ),
    (
        Ends,
        "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); return f()",
    ),
    (
        Returns,
        "let o = {}; for (let i = 0; i < 1e5; i++) o = Object.create(o); return o.zz === undefined",
    ),
    (Ends, "function* g(n) { yield* g(n + 1) } for (const x of g(0));"),
    (Ends, "return eval('('.repeat(1e6) + ')'.repeat(1e6))"),
    (Ends, "return eval('['.repeat(1e6)) "),
    (Ends, "return eval('!'.repeat(1e6) + '1')"),
    (Ends, "return typeof eval('()=>'.repeat(1e5) + '1')"),
    (Ends, "return eval('`${'.repeat(1e5) + '1' + '}`'.repeat(1e5))"),
    (
        Ends,
        "return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).source.length",
    ),
    (Ends, "return new RegExp('(?:a{1000}){1000}'.repeat(50)).test('a')"),
    (Ends, "return Math.max(...new Array(1e6).fill(1))"),
    (
        Ends,
        "return String.fromCharCode.apply(null, new Array(5e5).fill(65)).length",
    ),
    // Built-ins that do not look up.
    (Time, "await null; new Array(2 ** 32 - 1).join()"),
    (Time, "const a = []; a.length = 2 ** 32 - 1; a.reverse()"),
    (Time, "const a = []; a.length = 2 ** 32 - 1; return a.slice(5).length"),
    (Time, "const a = []; a.length = 2 ** 32 - 1; a.splice(0, 1); return 1"),
    (Ends, "return ('a'.repeat(2e7)).indexOf('a'.repeat(1e7) + 'b')"),
    (Ends, "const n = (1n << 1000000n) - 1n; for (;;) n.toString()"),
    (Ends, "const a = new Uint8Array(6e7); for (;;) a.indexOf(1)"),
    (
        Ends,
        "return new RegExp(Array.from({ length: 1e5 }, (_, i) => 'a' + i).join('|')).test('z')",
    ),
    (
        Ends,
        "const a = Array.from({ length: 1e6 }, (_, i) => (i * 7919) % 1000003); for (;;) a.sort()",
    ),
    (Ends, "return '\\u0344'.repeat(1e6).normalize('NFD').length"),
    // Odd things at the edges.
    (
        Returns,
        "const a = Array.from({ length: 1e4 }, (_, i) => i); a.sort((x, y) => { a.length = 0; a.push(1); return x - y }); return 1",
    ),
    (
        Returns,
        "let k = 0; Array.from({ length: 1e4 }, (_, i) => i).sort(() => (k = (k * 16807 + 7) % 2147483647) % 3 - 1); return 1",
    ),
    (
        Error("cannot be returned"),
        "return new Proxy([], { ownKeys() { for (;;); } })",
    ),
    (Error("holes"), "const a = []; a[4294967294] = 1; return a"),
    (Ends, "let x = [1]; for (let i = 0; i < 40; i++) x = [x, x]; return x"),
    (
        Ends,
        "const o = {}; for (let i = 0; i < 2e5; i++) o['k' + i] = i; return o",
    ),
    (Error("getter"), "return { get a() { delete this.a; throw this } }"),
    (
        Returns,
        "return { __proto__: null, constructor: 1, toJSON: 2, then: 3 }",
    ),
    (Error("is a function"), "return { toJSON() { return 1 } }"),
    (
        Returns,
        "Object.prototype.toJSON = () => 'forged'; Object.defineProperty(Object.prototype, 'x', { get() { for (;;); } }); return { a: 1 }",
    ),
    (Error("nothing left"), "return { then() { } }"),
    (
        Ends,
        "Object.prototype.then = function (go) { go(1) }; return { a: await agent('x', { schema: { type: 'object' } }) }",
    ),
    (
        Ends,
        "Object.defineProperty(Object.prototype, 'then', { get() { for (;;); } }); return await agent('x', { schema: { type: 'object' } })",
    ),
    (
        Ends,
        "Error.prepareStackTrace = () => { log('re-entered'); return agent('x') }; await agent(''); return 1",
    ),
    (
        Ends,
        "Error.prepareStackTrace = () => { throw 1 }; await agent('x'); throw new Error('x')",
    ),
    (
        Ends,
        "Error.stackTraceLimit = 1e9; Error.stackTraceLimit = -1; throw new Error('x')",
    ),
    (
        Ends,
        "new FinalizationRegistry(() => { for (;;); }).register({}, 1); const all = []; for (let i = 0; i < 1e5; i++) all.push({}); await agent('x'); return 1",
    ),
    (
        Error("a Proxy"),
        "throw new Proxy(new Error('x'), { get() { for (;;); }, getPrototypeOf() { for (;;); } })",
    ),
    (
        Ends,
        "throw Object.defineProperty(new Error('x'), 'name', { get() { return agent('x') } })",
    ),
    (
        Ends,
        "const e = new Error('x'.repeat(1e7)); e.stack = 'y'.repeat(1e7); throw e",
    ),
    (Ends, "throw 'x'.repeat(5e7)"),
    (Ends, "throw Array.from({ length: 1e5 }, () => ({ a: 'b' }))"),
    (
        Returns,
        "log.call = null; const f = log.bind(globalThis); f('x'); new Promise(phase.bind(null, 'p')); return 1",
    ),
    (Error("not a constructor"), "new agent('x')"),
    (
        Ends,
        "phase = log = agent = parallel = pipeline = undefined; args = 1; return 1",
    ),
    (
        Ends,
        "for (const name of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[name] } catch { } } return 1",
    ),
    (
        Ends,
        "Object.freeze(globalThis); Object.freeze(Object.prototype); Object.freeze(Promise.prototype); return [await agent('x')]",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_scripts_end_and_harm_only_their_own_run() {
    let with_slice = |millis| {
        let mut config = config();
        config.max_slice = Duration::from_millis(millis);
        config.max_heap_bytes = 48 << 20;
        config.max_agent_time = Duration::from_secs(5);
        Harness::with(config)
    };
    // What is to end by another limit gets more time than a slow machine needs to reach it.
    let (harness, patient) = (with_slice(100), with_slice(1_000));
    let one = |(fate, script): (Fate, &'static str)| {
        let harness = if matches!(fate, Error(_)) { &patient } else { &harness };
        async move {
            let began = Instant::now();
            let run = harness.start(script);
            let result = run.result().await;
            run.dispose().await;
            let complaint = judge(fate, &result, began.elapsed());
            complaint.map(|complaint| format!("{script}\n  {complaint}"))
        }
    };
    let complaints: Vec<_> = iter(SCRIPTS.iter().copied())
        .map(one)
        .buffer_unordered(2)
        .filter_map(ready)
        .collect()
        .await;
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert_eq!(
        value_of(&*harness.run("return await agent('still fine')").await),
        json!("still fine")
    );
    harness.check();
    patient.check();
}

/// What is wrong with how a script ended.
fn judge(fate: Fate, result: &RunResult, took: Duration) -> Option<String> {
    let error = result.error.as_deref().unwrap_or_default();
    let as_fated = match fate {
        Time => error.contains("(max_slice)"),
        Error(part) => error.contains(part),
        Returns => result.stop == RunStop::Completed,
        Ends => result.stop != RunStop::Cancelled,
    };
    let blames_the_worker = error.contains("broke the protocol") || error.contains("process died");
    let right = as_fated && !blames_the_worker && took < Duration::from_secs(20);
    (!right).then(|| format!("{:?} after {took:?}: {error}", result.stop))
}
