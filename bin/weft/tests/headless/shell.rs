//! Commands as developers run them, in the sandbox where this system has one.

use serde_json::Value;

use crate::support::{Ran, World};

#[test]
fn a_package_manager_that_runs_for_the_first_time_can_make_its_cache() {
    let command = "npm install";
    let world = World::new(&format!(
        "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"bash\"\narguments = {{ command = {} }}\n\n\
         [[reply]]\nstep = 2\ntext = \"Done.\"\n",
        Value::from(command)
    ));
    std::fs::create_dir(world.path("user")).expect("made");
    world.write(
        "programs/npm",
        "#!/bin/sh\nset -e\nmkdir -p \"$HOME/.npm/_cacache\"\necho kept >\"$HOME/.npm/_cacache/entry\"\n",
    );
    executable(&world, "programs/npm");
    let mut command = world.command(&["exec", "--json", "--mode", "full", "x"]);
    let path = std::env::var("PATH").expect("there is one");
    command
        .env("HOME", world.path("user"))
        .env("PATH", format!("{}:{path}", world.path("programs").display()));
    let ran = Ran::of(command.output().expect("weft runs"));
    let lines = ran.lines();
    let result = lines.iter().find(|line| line["type"] == "tool/result");
    let content = &result.expect("a result")["data"]["content"];
    assert_eq!(content[0]["text"], "exit code 0", "{content}");
    assert_eq!(world.read("user/.npm/_cacache/entry"), "kept\n");
    // What is no package manager's own cache is not made.
    assert!(!world.path("user/.gradle").exists());
}

fn executable(world: &World, name: &str) {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::set_permissions(world.path(name), Permissions::from_mode(0o755)).expect("changed");
}
