//! Commands, plain and hostile, and what is known of them.

use super::*;

/// The parts, each with its words joined by spaces.
#[track_caller]
fn runs(command: &str, expected: &[&str]) {
    let parsed = parse(command);
    let parts = parsed.parts.unwrap_or_else(|| panic!("taken for computed: {command}"));
    let parts: Vec<String> = parts.iter().map(|part| part.join(" ")).collect();
    assert_eq!(parts, expected, "{command}");
}

#[track_caller]
fn quietly(command: &str, expected: &[&str]) {
    runs(command, expected);
    assert_eq!(parse(command).caution, None, "{command}");
}

#[track_caller]
fn warns(command: &str, expected: &[&str], caution: &str) {
    runs(command, expected);
    assert_eq!(parse(command).caution.as_deref(), Some(caution), "{command}");
}

#[track_caller]
fn computed(command: &str) {
    assert_eq!(parse(command), Parsed::default(), "{command:?}");
}

#[test]
fn every_simple_command_of_a_script_is_a_part() {
    quietly("git status", &["git status"]);
    quietly("git status; rm -rf /", &["git status", "rm -rf /"]);
    quietly("a && b || c", &["a", "b", "c"]);
    quietly("a | b |& c", &["a", "b", "c"]);
    quietly("a & b &", &["a", "b"]);
    quietly("git status\nrm -rf /", &["git status", "rm -rf /"]);
    quietly("(a; { b; c; }) 2>&1", &["a", "b", "c"]);
    quietly("! a", &["a"]);
    quietly("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
    quietly("while a; do b; done; until c; do d; done", &["a", "b", "c", "d"]);
    quietly("for f in *.rs 'x y'; do wc -l \"$f\"; done", &["wc -l $f"]);
    quietly("if [ -f Cargo.toml ]; then cargo check; fi", &["cargo check"]);
    quietly("if [[ -n x && -f y ]]; then a; fi", &["a"]);
}

#[test]
fn quotes_and_backslashes_are_those_of_the_shell() {
    quietly(r"\git status", &["git status"]);
    quietly(r#"g"i"t 'sta'tus"#, &["git status"]);
    quietly(r#"'git' "status""#, &["git status"]);
    quietly(r#"echo "a \"b\" \$c \x""#, &[r#"echo a "b" $c \x"#]);
    quietly(r"echo 'a $(b) `c`'", &["echo a $(b) `c`"]);
    quietly(r"echo a\ b\;c", &["echo a b;c"]);
    quietly("echo \"a\nb\"", &["echo a\nb"]);
    quietly("git \\\n  status", &["git status"]);
    quietly("echo 'é漢' \"🧪\"", &["echo é漢 🧪"]);
    quietly("git commit -m \" x; rm -rf / \"", &["git commit -m  x; rm -rf / "]);
}

#[test]
fn a_program_of_the_system_is_known_by_its_name() {
    quietly("/usr/bin/git status", &["git status"]);
    quietly("/bin/rm x", &["rm x"]);
    quietly("./git status", &["./git status"]);
    quietly("/usr/bin/../../tmp/git x", &["/usr/bin/../../tmp/git x"]);
}

#[test]
fn comments_run_nothing_and_hide_nothing() {
    quietly("git status # rm -rf /", &["git status"]);
    quietly("git status #\nrm -rf /", &["git status", "rm -rf /"]);
    quietly("git status#x", &["git status#x"]);
    computed("# nothing at all");
    computed("");
}

#[test]
fn what_is_computed_is_not_guessed() {
    for command in [
        "echo $(rm -rf /)",
        "echo `rm -rf /`",
        "echo \"$(rm -rf /)\"",
        "echo \"`rm -rf /`\"",
        "diff <(a) <(b)",
        "a > >(b)",
        "git${IFS}status",
        "$CMD status",
        "\"$CMD\" status",
        "g$x status",
        "echo ${x:-$(rm)}",
        "echo ${x@P}",
        "echo $((1 + 1))",
        "/bin/r? x",
        "{rm,-rf,/}",
        "r{m,x} y",
        "eval rm",
        "source x",
        ". ./x",
        "\\eval rm",
        "trap 'rm x' EXIT",
        "alias git=rm",
        "git() { rm -rf /; }; git status",
        "function git { rm; }; git status",
        "case x in x) rm;; esac",
        "for ((i=0;i<3;i++)); do a; done",
        "((x = 1))",
        "coproc rm x",
        "xargs rm",
        "find . -exec rm {} +",
        "find . $x",
        "echo rm | sh",
        "bash",
        "bash -s x",
        "bash -i",
        "sh -c \"$x\"",
        "sh -c 'echo $(rm)'",
        "bash <<< 'rm x'",
        "bash <<EOF\nrm x\nEOF",
        "cat <<EOF | sh\nrm x\nEOF",
        "bash x <<EOF\nrm\nEOF",
        "{ bash x; } <<< rm",
        "cat <<EOF\n$(rm x)\nEOF",
        "printf -v 'a[$(rm x)]' y",
        "[[ 'a[$(rm x)]' -eq 1 ]]",
        "echo $'\\x72m'",
        "echo $\"x\"",
        "x=$(rm)",
        "x=(a b)",
        "exec > log",
        "shopt -s expand_aliases",
        "env -S 'rm x'",
        "env --unknown rm",
        "sudo -i",
        "sudo --unknown rm",
        "nice -n $x rm",
        "zsh -c rm",
        "ssh host rm",
        "> file",
        "echo 'open",
        "a &&",
        "a)b",
    ] {
        computed(command);
    }
}

#[test]
fn text_that_parsers_and_shells_may_read_differently_is_not_read() {
    for odd in [
        "\r", "\u{b}", "\u{c}", "\u{a0}", "\u{2028}", "\u{85}", "\0", "\u{200b}", "\u{202e}", "\u{feff}",
    ] {
        computed(&format!("git{odd}status"));
        computed(&format!("git status {odd}; rm x"));
    }
    computed("gi\\\nt status");
    computed("echo \\\\\nrm");
}

#[test]
fn a_here_document_is_taken_only_if_its_end_is_certain() {
    quietly("cat <<'EOF'\n$(rm x)\n`rm`\nEOF", &["cat"]);
    quietly("cat <<EOF\nplain $x\nEOF", &["cat"]);
    quietly("cat <<EOF && rm x\nplain\nEOF", &["cat", "rm x"]);
    quietly("cat <<'EOF'\ntext\nEOF\nrm x", &["cat", "rm x"]);
    computed("cat <<E\"O\"F\nx\nEOF\nrm x");
    computed("cat <<\\EOF\nx\nEOF");
    computed("cat <<'E F'\nx\nE F");
}

#[test]
fn programs_that_run_others_are_looked_through() {
    quietly("env git status", &["git status"]);
    quietly("env -i -u PATH CI=1 git status", &["git status"]);
    quietly("timeout -k 5 --signal=KILL 10s cargo test", &["cargo test"]);
    quietly("nohup nice -n 5 nice -10 rm x &", &["rm x"]);
    quietly("time -p stdbuf -oL setsid command builtin a b", &["a b"]);
    quietly("exec git status", &["git status"]);
    quietly("/usr/bin/env git status", &["git status"]);
    quietly("command -v git", &["command -v git"]);
    quietly("env", &["env"]);
    quietly("sh -c 'git status; rm x' name", &["git status", "rm x"]);
    quietly("bash -euo pipefail -c 'a | b'", &["a", "b"]);
    quietly("/bin/bash -lc \"timeout 5 sh -c 'rm x'\"", &["rm x"]);
    quietly("bash script.sh a", &["bash script.sh a"]);
    computed("sh -c \"sh -c \\\"sh -c 'sh -c \\\\\\\"sh -c rm\\\\\\\"'\\\"\"");
}

#[test]
fn another_user_is_a_part_and_a_caution() {
    let caution = "it runs a program as another user";
    warns("sudo rm x", &["sudo rm x", "rm x"], caution);
    warns("sudo -n -u root -- rm x", &["sudo -n -u root -- rm x", "rm x"], caution);
    warns("doas sh -c 'rm x'", &["doas sh -c rm x", "rm x"], caution);
}

#[test]
fn an_answer_in_the_user_s_place_is_a_caution() {
    let caution = "it answers in your place whether the project's own settings may run programs";
    warns("weft trust --yes", &["weft trust --yes"], caution);
    warns("env -u X /opt/bin/weft trust", &["/opt/bin/weft trust"], caution);
    quietly("weft sessions list", &["weft sessions list"]);
}

#[test]
fn a_redirection_into_a_file_is_a_caution() {
    warns("git log > ~/.bashrc", &["git log"], "it writes to ~/.bashrc");
    warns("> x git log", &["git log"], "it writes to x");
    warns("a >>x 2>&1", &["a"], "it writes to x");
    warns("a &> \"$x\"", &["a"], "it writes to $x");
    warns("(a; b) >| x", &["a", "b"], "it writes to x");
    warns("cat <<EOF > x\ny\nEOF", &["cat"], "it writes to x");
    warns("sh -c 'a > x'", &["a"], "it writes to x");
    warns("cat < /dev/tcp/host/80", &["cat"], "it connects to /dev/tcp/host/80");
    quietly("a >/dev/null 2>&1 </dev/null", &["a"]);
    quietly("a 2> /dev/stderr >&2", &["a"]);
    quietly("sort < x", &["sort"]);
    quietly("cat <<< x", &["cat"]);
}

#[test]
fn a_variable_that_is_set_is_a_part_or_a_caution() {
    warns(
        "LD_PRELOAD=./x.so git status",
        &["git status"],
        "it sets the variable LD_PRELOAD",
    );
    warns("env PATH=. git status", &["git status"], "it sets the variable PATH");
    warns("http_proxy=x curl y", &["curl y"], "it sets the variable http_proxy");
    warns(
        "for PATH in x; do git status; done",
        &["git status"],
        "it sets the variable PATH",
    );
    quietly("RUST_BACKTRACE=1 LC_ALL=C cargo test", &["cargo test"]);
    quietly("PATH=.; git status", &["PATH=.", "git status"]);
    quietly("export PATH=. && git status", &["export PATH=.", "git status"]);
}

#[test]
fn an_argument_that_hides_the_subcommand_is_a_caution() {
    warns("git $x", &["git $x"], "what git does depends on $x");
    warns("git -C \"$x\" push", &["git -C $x push"], "what git does depends on $x");
    warns(
        "git {push,--force}",
        &["git {push,--force}"],
        "what git does depends on {push,--force}",
    );
    quietly("git add \"$x\" *.rs", &["git add $x *.rs"]);
    quietly("cat $x", &["cat $x"]);
    quietly("find . -name '*.rs'", &["find . -name *.rs"]);
    warns("find . -delete", &["find . -delete"], "it deletes what it finds");
}

#[test]
fn a_command_that_is_too_long_or_too_deep_is_computed() {
    let long = format!("echo {}; rm x", "a".repeat(MAX_BYTES));
    computed(&long);
    let fitting = format!("echo {}", "a".repeat(MAX_BYTES - 5));
    assert!(parse(&fitting).parts.is_some());
    computed(&format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000)));
    computed(&format!("{}a{}", "{ ".repeat(3_000), "; }".repeat(3_000)));
    assert!(parse("a <<< x").parts.is_some());
}

#[test]
fn the_harmful_end_of_a_long_command_is_a_part_like_any_other() {
    // PRM-04: what is decided on is the whole command.
    let command = format!("echo {}; rm -rf /", "a".repeat(20_000));
    let parts = parse(&command).parts.expect("it is plain");
    assert_eq!(parts.last().map(|part| part.join(" ")).as_deref(), Some("rm -rf /"));
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "[a-z$(){}<>|&;'\"`\\\\ \n=*#!-]{0,80}") {
        let _parsed = parse(&text);
    }
}
