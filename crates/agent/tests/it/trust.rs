//! `/trust`: the user's word on what a project sets.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use weft_agent::{AgentOptions, ProjectTrust, ProjectWish};
use weft_tools::{Approval, ApprovalRequest, Approver, Question};
use weft_types::TurnEnd;

use crate::support::{SpyModels, World, end, restored};

/// A project that wants something, or nothing.
#[derive(Default)]
struct Project {
    wants: bool,
    fails: bool,
    granted: Arc<AtomicUsize>,
}

impl ProjectTrust for Project {
    fn wish(&self) -> BoxFuture<'static, Result<ProjectWish, String>> {
        let (granted, fails) = (Arc::clone(&self.granted), self.fails);
        let wish = match self.wants {
            false => ProjectWish::Nothing("It wants nothing.".to_owned()),
            true => ProjectWish::Trust {
                settings: "mcp.db.command = \"db\"".to_owned(),
                grant: Box::new(move || {
                    granted.fetch_add(1, Ordering::Relaxed);
                    let kept = if fails {
                        Err("the disk is full".to_owned())
                    } else {
                        Ok("It is trusted.".to_owned())
                    };
                    async { kept }.boxed()
                }),
            },
        };
        async { Ok(wish) }.boxed()
    }
}

/// Answers every question like this, or never.
#[derive(Default)]
struct User {
    answer: Option<Approval>,
    asked: Mutex<Vec<Question>>,
    was_asked: Notify,
}

impl Approver for User {
    fn ask(&self, _request: ApprovalRequest, _cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        async { Approval::Rejected }.boxed()
    }

    fn confirm(&self, question: Question, _cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        self.asked.lock().expect("not poisoned").push(question);
        self.was_asked.notify_one();
        match self.answer {
            Some(answer) => async move { answer }.boxed(),
            None => std::future::pending().boxed(),
        }
    }
}

struct Stage {
    world: World,
    user: Arc<User>,
    granted: Arc<AtomicUsize>,
}

impl Stage {
    fn new(project: Project, answer: Option<Approval>) -> Self {
        let granted = Arc::clone(&project.granted);
        let user = Arc::new(User {
            answer,
            ..User::default()
        });
        let approver = Arc::clone(&user);
        let world = World::with(
            SpyModels::script("[[reply]]\ntext = \"fine\"\n"),
            |options: &mut AgentOptions| {
                options.trust = Some(Arc::new(project));
                options.approver = Some(approver);
            },
        );
        Self { world, user, granted }
    }

    /// What the user is told by the turn, and whether the project was trusted.
    async fn told(&self) -> (Vec<String>, bool) {
        let ended = self.world.prompt("/trust").await;
        assert!(self.world.models.requests().is_empty(), "no model is asked");
        let mut words = self.world.watch.take();
        words.retain(|word| word.starts_with("notice "));
        if ended != TurnEnd::Completed {
            words.push(end(&ended));
        }
        (words, self.granted.load(Ordering::Relaxed) > 0)
    }
}

fn wanting() -> Project {
    Project {
        wants: true,
        ..Project::default()
    }
}

#[tokio::test]
async fn nothing_is_trusted_unless_the_answer_is_yes() {
    const NOTHING: &str = "Nothing of this project's own settings is trusted now.";
    for (answer, told, granted) in [
        (Approval::AllowedOnce, "notice It is trusted.".to_owned(), true),
        (Approval::Rejected, format!("notice {NOTHING}"), false),
        (Approval::Standing(0), format!("notice {NOTHING}"), false),
        (
            Approval::Cancelled,
            format!("notice The question was dismissed. {NOTHING}"),
            false,
        ),
        (
            Approval::Unavailable,
            format!(
                "notice Nobody can be asked here. {NOTHING}\nhint: run weft trust in a terminal, in the project's folder"
            ),
            false,
        ),
    ] {
        let stage = Stage::new(wanting(), Some(answer));
        assert_eq!(stage.told().await, (vec![told], granted), "{answer:?}");
        let asked = stage.user.asked.lock().expect("not poisoned");
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].text, "mcp.db.command = \"db\"");
    }
}

#[tokio::test]
async fn a_project_that_wants_nothing_raises_no_question() {
    let stage = Stage::new(Project::default(), Some(Approval::AllowedOnce));
    assert_eq!(stage.told().await, (vec!["notice It wants nothing.".to_owned()], false));
    assert!(stage.user.asked.lock().expect("not poisoned").is_empty());
    let names: Vec<_> = stage
        .world
        .agent
        .commands()
        .iter()
        .map(|command| command.name.as_str())
        .collect();
    assert_eq!(names, ["compact", "status", "trust"]);
}

#[tokio::test]
async fn a_yes_that_cannot_be_kept_ends_the_turn_in_error() {
    let project = Project {
        fails: true,
        ..wanting()
    };
    let stage = Stage::new(project, Some(Approval::AllowedOnce));
    assert_eq!(stage.told().await, (vec!["error: the disk is full".to_owned()], true));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_turn_though_the_question_is_never_answered() {
    let stage = Stage::new(wanting(), None);
    let turn = stage
        .world
        .agent
        .prompt(crate::support::say("/trust"))
        .expect("idle and open");
    stage.user.was_asked.notified().await;
    stage.world.agent.cancel();
    assert!(matches!(turn.ended().await, TurnEnd::Aborted { .. }));
    assert_eq!(stage.granted.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn no_model_is_told_of_the_command_also_after_a_restart() {
    let stage = Stage::new(wanting(), Some(Approval::Rejected));
    stage.told().await;
    let session = restored(&stage.world.agent.session().events().expect("readable"));
    let again = World::with(SpyModels::script("[[reply]]\ntext = \"fine\"\n"), |options| {
        options.session = session;
    });
    assert_eq!(again.prompt("more").await, TurnEnd::Completed);
    assert_eq!(again.models.last_messages(), ["user more"]);
}
