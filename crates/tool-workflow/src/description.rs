//! What a script has: the one source of what the model is told about the tool and of the reference for people.

use std::fmt::Write as _;

/// Something that a script has.
struct Entry {
    /// How it is called, or what its name is.
    code: &'static str,
    text: &'static str,
}

const fn entry(code: &'static str, text: &'static str) -> Entry {
    Entry { code, text }
}

const GLOBALS: &[Entry] = &[
    entry(
        "await agent(prompt, options?)",
        "a fresh agent with its own tools, which sees nothing but the prompt: put everything it needs into it. Gives the text \
         of its last message, or `null` if it failed.",
    ),
    entry(
        "await pipeline(items, ...stages)",
        "takes each item through the stages `(previous, item, index) => …`; the first `previous` is the item itself. Items do \
         not wait for each other. Prefer it.",
    ),
    entry(
        "await parallel([() => …, …])",
        "starts all functions at once and waits for all of them. Pass functions, not promises. Use it where the next step \
         needs all answers.",
    ),
    entry("phase(title)", "names the phase that later agents belong to."),
    entry("log(line)", "shows the user a line."),
    entry(
        "await workflow(name, args?)",
        "runs a saved workflow within this run, one level deep, and gives what it returns.",
    ),
    entry("args", "the `args` of this call."),
    entry(
        "budget",
        "`total`, the tokens that all agents may use together, or `null` without a limit; `spent()`; `remaining()`, which is \
         `Infinity` without a limit. Once nothing remains, `agent` throws an error with the code `BUDGET`: catch it to return \
         what there is.",
    ),
];

const OPTIONS: &[Entry] = &[
    entry("label", "shown to the user; by default the first line of the prompt"),
    entry("phase", "instead of the current one"),
    entry(
        "schema",
        "a JSON Schema with an object at its root; gives the object instead of text, or `null` if none came that fits",
    ),
    entry("model", "`provider/model`"),
    entry("provider", "what runs the agent"),
    entry(
        "tools",
        "a list of the only tools it may have, by name; agents that it starts have no others either",
    ),
];

/// The errors that end a run unless the script catches them, by their `code`.
const ERRORS: &[Entry] = &[
    entry("INVALID_ARGUMENT", "a hook was given something else than it takes"),
    entry("UNSUPPORTED_OPTION", "`agent` has no such option"),
    entry("UNSUPPORTED_SCHEMA", "the schema of `agent` cannot be used"),
    entry("AGENT_CAP", "the run may start no more agents"),
    entry("BUDGET", "the run may spend no more"),
    entry("ITEM_CAP", "a `parallel` or `pipeline` has too many items"),
    entry("AGENT_START", "an agent could not be started"),
    entry("AGENT_RESULT", "an agent's result could not be had"),
    entry("SAVED_WORKFLOW", "there is no such saved workflow, or it cannot be run"),
    entry("NESTING", "a saved workflow that `workflow` runs runs another one"),
    entry(
        "RESULT_UNSERIALIZABLE",
        "what a saved workflow returned is not plain JSON",
    ),
    entry("CANCELLED", "the run was cancelled"),
];

const HEAD: &str = "\
Runs a JavaScript script that hands work to many agents and combines their answers. Use it only when the user asks \
for a workflow, or for work so large that it needs many agents in an order that code should decide. Otherwise work \
yourself.

The call takes as long as the workflow does; the user watches its progress. You get what the script returns.

The script has:
";

const FAILURES: &str = "\
- An agent that failed gives `null`. In `pipeline` and `parallel` an exception of your own code gives `null` in its \
place, and its item skips its later stages; the others go on. So test for `null`; `filter(Boolean)` drops empty texts \
too.
- Misuse (a wrong argument, an unknown option, a limit exceeded) and failure to start an agent throw errors that \
`pipeline` and `parallel` pass on; uncaught they end the run.
- Await everything: agents that still run when the script returns are stopped.
- Return plain JSON: no functions, dates, maps, cycles or numbers that are not finite.
- A run that fails returns nothing, so catch what you can do without.
";

const LIMITS: &str = "\
agents beyond the number that may work at the same time wait their turn; how many agents a run may start and how \
many items one `parallel` or `pipeline` takes is limited; a script that computes too long without awaiting is ended. There \
are no files, no network, no timers, no modules and no process: agents do the work, the script only directs it. A \
function call takes at most 65,535 arguments, so do not spread long lists: use `reduce` or a loop instead of \
`Math.max(...list)`.
";

const EXAMPLE: &str = "\
phase('Review');
const notes = await pipeline(args.files, (file) => agent(`Review ${file}. List defects, with lines.`, { label: file }));
phase('Sum up');
return await agent(`Merge these reviews into one list:\\n${notes.filter((note) => note !== null).join('\\n---\\n')}`);";

/// The contract between the model and the engine.
pub(crate) fn description() -> String {
    let mut text = HEAD.to_owned();
    for Entry { code, text: what } in GLOBALS {
        push(&mut text, format_args!("- `{code}`: {what}"));
        if code.starts_with("await agent") {
            let options: Vec<String> = OPTIONS
                .iter()
                .map(|option| format!("`{}` ({})", option.code, option.text))
                .collect();
            push(
                &mut text,
                format_args!(" Options: {}. Any other option is an error.", options.join(", ")),
            );
        }
        text.push('\n');
    }
    push(
        &mut text,
        format_args!("\nFailures:\n{FAILURES}\nLimits: {LIMITS}\nExample:\n{EXAMPLE}"),
    );
    text
}

/// The reference of what a script has, as a chapter of the documentation.
pub fn script_reference() -> String {
    let mut text = "\
<!-- Generated by `weft docs script`; change the table in the workflow tool's description instead. -->
# What a workflow script has

[workflows.md](workflows.md) shows how to use it. The model is told the same.

| In a script | What it is |
|---|---|
"
    .to_owned();
    rows(&mut text, GLOBALS);
    text.push_str("\n## Options of `agent`\n\nAny other option is an error that names it.\n\n| Option | What it is |\n|---|---|\n");
    rows(&mut text, OPTIONS);
    push(&mut text, format_args!("\n## Failures\n\n{FAILURES}"));
    text.push_str(
        "\nThe errors of misuse have a `code`, and are `WorkflowError` by their `name`:\n\n| `code` | When |\n|---|---|\n",
    );
    rows(&mut text, ERRORS);
    push(
        &mut text,
        format_args!("\n## Limits\n\n{}{}", LIMITS[..1].to_uppercase(), &LIMITS[1..]),
    );
    text
}

fn rows(text: &mut String, entries: &[Entry]) {
    for Entry { code, text: what } in entries {
        push(text, format_args!("| `{code}` | {} |\n", what.replace('|', "\\|")));
    }
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_and_people_are_told_of_the_same_things() {
        let (model, people) = (description(), script_reference());
        for Entry { code, .. } in GLOBALS.iter().chain(OPTIONS) {
            let code = format!("`{code}`");
            assert!(model.contains(&code) && people.contains(&code), "{code}");
        }
    }
}
