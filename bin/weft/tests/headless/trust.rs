//! `weft trust`, and what a project's own settings may do before it.

use crate::support::World;

#[test]
fn a_project_without_powers_needs_no_trust() {
    let world = World::new("[[reply]]\ntext = \"Hello.\"\n");
    world.write("project/.weft/config.toml", "[agent]\nmax_steps = 3\n");
    let ran = world.weft(&["trust"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    assert!(
        ran.out.starts_with("Nothing in ") && ran.out.ends_with(" needs trust.\n"),
        "{ran:?}"
    );
    assert!(!world.path("home/trust.json").exists());
}

#[test]
fn what_is_left_aside_is_said_before_the_turn() {
    let world = World::new("[[reply]]\ntext = \"Hello.\"\n");
    world.write(
        "project/.weft/config.toml",
        "[mcp.db]\ncommand = \"touch\"\nargs = [\"ran\"]\n",
    );
    let ran = world.weft(&["exec", "x"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Hello.\n"), "{ran:?}");
    assert!(ran.err.contains("\n  mcp.db.command = \"touch\"\n"), "{ran:?}");
    let hint = format!("hint: weft trust {} ", world.project().display());
    assert!(ran.err.contains(&hint), "{ran:?}");
    assert!(!world.path("project/ran").exists());
}
