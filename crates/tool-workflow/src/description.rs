//! What the model is told about the tool. It is the contract between the model and the engine.

/// The tool's description.
pub(crate) const DESCRIPTION: &str = "\
Runs a JavaScript script that hands work to many agents and combines their answers. Use it only when the user asks \
for a workflow, or for work so large that it needs many agents in an order that code should decide. Otherwise work \
yourself.

The call takes as long as the workflow does; the user watches its progress. You get what the script returns.

The script has:
- `await agent(prompt, options?)`: a fresh agent with its own tools, which sees nothing but the prompt: put everything \
it needs into it. Gives the text of its last message, or `null` if it failed. Options: `label` (shown to the user; \
default: the first line of the prompt), `phase` (instead of the current one), `schema` (a JSON Schema with an object at \
its root; gives the object instead of text, or `null` if none came that fits), `model` (`provider/model`), `provider`. \
Any other option is an error.
- `await pipeline(items, ...stages)`: takes each item through the stages `(previous, item, index) => …`; the first \
`previous` is the item itself. Items do not wait for each other. Prefer it.
- `await parallel([() => …, …])`: starts all functions at once and waits for all of them. Pass functions, not promises. \
Use it where the next step needs all answers.
- `phase(title)`: names the phase that later agents belong to. `log(line)`: shows the user a line.
- `await workflow(name, args?)`: runs a saved workflow within this run, one level deep, and gives what it returns.
- `args`: the `args` of this call.
- `budget`: `total`, the tokens that all agents may use together, or `null` without a limit; `spent()`; `remaining()`, \
which is `Infinity` without a limit. Once nothing remains, `agent` throws an error with the code `BUDGET`: catch it to \
return what there is.

Failures:
- An agent that failed gives `null`. In `pipeline` and `parallel` an exception of your own code gives `null` in its \
place, and its item skips its later stages; the others go on. So test for `null`; `filter(Boolean)` drops empty texts \
too.
- Misuse (a wrong argument, an unknown option, a limit exceeded) and failure to start an agent throw errors that \
`pipeline` and `parallel` pass on; uncaught they end the run.
- Await everything: agents that still run when the script returns are stopped.
- Return plain JSON: no functions, dates, maps, cycles or numbers that are not finite.
- A run that fails returns nothing, so catch what you can do without.

Limits: agents beyond the number that may work at the same time wait their turn; how many agents a run may start and how \
many items one `parallel` or `pipeline` takes is limited; a script that computes too long without awaiting is ended. There \
are no files, no network, no timers, no modules and no process: agents do the work, the script only directs it. A \
function call takes at most 65,535 arguments, so do not spread long lists: use `reduce` or a loop instead of \
`Math.max(...list)`.

Example:
phase('Review');
const notes = await pipeline(args.files, (file) => agent(`Review ${file}. List defects, with lines.`, { label: file }));
phase('Sum up');
return await agent(`Merge these reviews into one list:\\n${notes.filter((note) => note !== null).join('\\n---\\n')}`);";
