//! What sessions are called.

use weft_types::{EventBody, Origin, TurnEnd};

use crate::support::{Family, SpyModels, World, restored, say};

const FINE: &str = "[[reply]]\ntimes = \"any\"\ntext = \"fine\"\n";

#[tokio::test]
async fn a_users_session_is_called_after_its_first_prompt_and_only_that() {
    let world = World::new(FINE);
    world.prompt("\n  fix   the build\nplease").await;
    assert_eq!(world.watch.take()[2], "title fix the build");
    world.prompt("and now?").await;
    assert!(!world.watch.take().iter().any(|word| word.starts_with("title")));
    assert!(
        !format!("{:?}", world.models.requests()).contains("title"),
        "no model is told"
    );
}

#[tokio::test]
async fn a_title_that_a_session_has_stays() {
    let world = World::new(FINE);
    let title = "chosen".to_owned();
    world
        .agent
        .session()
        .append(EventBody::SessionTitle { title })
        .expect("valid");
    world.prompt("go").await;
    let titles: Vec<_> = world
        .watch
        .take()
        .into_iter()
        .filter(|word| word.starts_with("title"))
        .collect();
    assert_eq!(titles, ["title chosen"]);
}

#[tokio::test]
async fn a_session_that_died_before_it_was_named_is_called_after_its_first_prompt_all_the_same() {
    let world = World::new(FINE);
    world.prompt("one").await;
    let cut = restored(&world.agent.session().page(0, 2).expect("readable"));
    let world = World::with(SpyModels::script(FINE), |options| options.session = cut);
    assert_eq!(world.prompt("two").await, TurnEnd::Completed);
    assert_eq!(
        world.watch.take()[..4],
        ["turn/end Interrupted", "turn/start 2", "user two", "title one"]
    );
}

#[tokio::test]
async fn a_subagent_has_a_label_and_no_title() {
    let family = Family::new(FINE);
    family
        .start(family.request("go"))
        .await
        .expect("started")
        .result()
        .await;
    let child = family.child();
    assert_eq!(child.header().origin, Origin::Subagent);
    let events = child.events().expect("readable");
    assert!(
        !events
            .iter()
            .any(|event| matches!(event.body, EventBody::SessionTitle { .. }))
    );
}

#[tokio::test]
async fn a_prompt_that_shows_nothing_gives_no_title() {
    let world = World::new(FINE);
    world.agent.prompt(say("\u{1b}\u{7}")).expect("not blank").ended().await;
    assert_eq!(world.watch.take()[2], "step/start 1");
}
