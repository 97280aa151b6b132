//! The rules of the dependency graph. This is the one place where they are written down.

use super::Graph;

/// What a crate must not know, directly or by way of others.
struct Rule {
    package: &'static str,
    must_not_know: &'static [&'static str],
}

/// Every package of the workspace, when it must not know any other.
const WHOLE_WORKSPACE: &str = "weft-*";

const RULES: [Rule; 19] = [
    // Data that any process, page or script may read. What generates its bindings is there only when they are.
    Rule {
        package: "weft-types",
        must_not_know: &[WHOLE_WORKSPACE, "tokio", ACP, JS, HTTP, "ts-rs", "schemars"],
    },
    Rule {
        package: "weft-observe",
        must_not_know: &[WHOLE_WORKSPACE],
    },
    Rule {
        package: "weft-process",
        must_not_know: &[WHOLE_WORKSPACE],
    },
    Rule {
        package: "weft-session",
        must_not_know: &["weft-agent", "weft-tools", "weft-toolset", "weft-acp", ACP],
    },
    Rule {
        package: "weft-tools",
        must_not_know: &[
            "weft-session",
            "weft-acp",
            ACP,
            "weft-workflow",
            "weft-workflow-js",
            "weft-tool-workflow",
        ],
    },
    Rule {
        package: "weft-model",
        must_not_know: &[HTTP, "weft-providers", "weft-agent"],
    },
    Rule {
        package: "weft-providers",
        must_not_know: &["weft-agent", "weft-tools"],
    },
    Rule {
        package: "weft-agent",
        must_not_know: &[
            "weft-acp",
            ACP,
            "weft-workflow",
            "weft-workflow-js",
            "weft-tool-workflow",
            "weft-providers",
            HTTP,
        ],
    },
    Rule {
        package: "weft-toolset",
        must_not_know: &[
            "weft-acp",
            ACP,
            "weft-workflow",
            "weft-workflow-js",
            "weft-tool-workflow",
        ],
    },
    Rule {
        package: "weft-mcp",
        must_not_know: &[
            "weft-acp",
            ACP,
            "weft-agent",
            "weft-session",
            "weft-workflow",
            "weft-workflow-js",
            "weft-tool-workflow",
        ],
    },
    Rule {
        package: "weft-workflow",
        must_not_know: &["weft-tools", "weft-acp", ACP, "weft-workflow-js", JS],
    },
    Rule {
        package: "weft-workflow-js",
        must_not_know: &["weft-tools", "weft-acp", ACP, "weft-session"],
    },
    Rule {
        package: "weft-tool-workflow",
        must_not_know: &["weft-acp", ACP, "weft-workflow-js", JS],
    },
    Rule {
        package: "weft-acp",
        must_not_know: &[
            "weft-workflow",
            "weft-workflow-js",
            "weft-tool-workflow",
            "weft-toolset",
            "weft-providers",
        ],
    },
    // It drives the built program from outside, as a client does.
    Rule {
        package: "weft-replay",
        must_not_know: &[WHOLE_WORKSPACE],
    },
    // The chores can be built whatever the state of what they check.
    Rule {
        package: "weft-xtask",
        must_not_know: &[WHOLE_WORKSPACE],
    },
    // It measures the store, a step of a model and the search tools, which it cannot do from outside, and nothing above.
    Rule {
        package: "weft-probe",
        must_not_know: &["weft-workflow", "weft-acp", ACP, JS],
    },
    // A worker and nothing else.
    Rule {
        package: "weft-escape",
        must_not_know: &["weft-tools", "weft-session", "weft-acp", ACP, HTTP],
    },
    // Composition belongs to the binary; its end-to-end tests see the program only.
    Rule {
        package: "weft-tests",
        must_not_know: &["weft-agent", "weft-acp", ACP, "weft-workflow-js"],
    },
];

const ACP: &str = "agent-client-protocol";
const JS: &str = "rquickjs";
const HTTP: &str = "reqwest";

const MCP: &str = "rmcp";

/// Outside packages that these crates alone may name, so that replacing them touches no other.
const USERS: [(&str, &[&str]); 4] = [
    (ACP, &["weft-acp"]),
    (JS, &["weft-workflow-js"]),
    (HTTP, &["weft-providers", "weft-mcp", "weft-toolset", "weft-probe"]),
    (MCP, &["weft-mcp"]),
];

/// The edges that break a rule, and the crates that have none.
pub(super) fn violations(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    for rule in &RULES {
        for &unknown in rule.must_not_know {
            let paths = named_by(unknown, graph).filter_map(|target| graph.path(rule.package, target));
            found.extend(paths.map(|path| format!("{} must not know {unknown}: {}", rule.package, path.join(" -> "))));
        }
    }
    for member in graph.members.iter().filter(|member| member.as_str() != "weft") {
        if !RULES.iter().any(|rule| rule.package == member) {
            found.push(format!("{member} has no rule that says what it must not know"));
        }
    }
    for (package, users) in USERS {
        let others = graph.members.iter().filter(|member| !users.contains(&member.as_str()));
        let others = others.filter(|member| graph.direct(member).any(|name| name == package));
        let users = users.join(" and ");
        found.extend(others.map(|member| format!("{member} depends on {package}, which is for {users} alone")));
    }
    found
}

/// The packages that an entry of a rule means.
fn named_by<'a>(entry: &'a str, graph: &'a Graph) -> impl Iterator<Item = &'a str> {
    let whole = graph.members.iter().filter(move |_| entry == WHOLE_WORKSPACE);
    let single = Some(entry).filter(|entry| *entry != WHOLE_WORKSPACE);
    whole.map(String::as_str).chain(single)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(members: &[(&str, &[&str])], expected: &[&str]) {
        assert_eq!(violations(&Graph::of(members)), expected);
    }

    #[test]
    fn a_forbidden_edge_is_found_by_way_of_another_crate() {
        check(
            &[
                ("weft-acp", &["weft-agent"]),
                ("weft-agent", &["weft-workflow"]),
                ("weft-workflow", &[]),
            ],
            &[
                "weft-agent must not know weft-workflow: weft-agent -> weft-workflow",
                "weft-acp must not know weft-workflow: weft-acp -> weft-agent -> weft-workflow",
            ],
        );
    }

    #[test]
    fn a_crate_at_the_bottom_knows_no_other() {
        check(
            &[("weft-observe", &["weft-types"]), ("weft-types", &["serde"])],
            &["weft-observe must not know weft-*: weft-observe -> weft-types"],
        );
    }

    #[test]
    fn a_crate_without_a_rule_is_found() {
        check(
            &[("weft-new", &[])],
            &["weft-new has no rule that says what it must not know"],
        );
    }

    #[test]
    fn an_outside_package_of_one_crate_is_found_elsewhere() {
        check(
            &[("weft-session", &["reqwest"]), ("weft-providers", &["reqwest"])],
            &[
                "weft-session depends on reqwest, which is for weft-providers and weft-mcp and weft-toolset and weft-probe alone",
            ],
        );
    }

    #[test]
    fn the_binary_may_know_everything() {
        check(&[("weft", &["weft-types", "clap"]), ("weft-types", &[])], &[]);
    }
}
