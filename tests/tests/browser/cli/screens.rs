//! What a person sees in a terminal: tables that fit, colors, questions, and a terminal that is as it was after Ctrl-C.

use serde_json::json;
use tests::{Cli, TestApp};

use super::open;

#[tokio::test(flavor = "multi_thread")]
async fn tables_fit_the_terminal() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let cli = Cli::with_token(&app.base, ada.token());
    for index in 0..12 {
        let name = format!("an app with a name that is long enough to need room {index}");
        ada.post("/v1/apps", json!({ "name": name })).await.assert(201);
    }
    for columns in [80, 200] {
        let screen = open(&cli, columns).await.run("updraft app list").await;
        assert!(screen.starts_with("APP "), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= usize::from(columns)), "{screen}");
        assert!(screen.contains("just now") || screen.contains("ago"), "{screen}");
        // On the wide one, every app has one line.
        assert_eq!(screen.lines().count() == 13, columns == 200, "{screen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_narrow_terminal_keeps_whole_words() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("weather").await;
    ada.upload("weather", "Production", b"one", json!({ "appVersion": "^1.0.0", "description": "several words of notes" }))
        .await
        .assert(201);
    let cli = Cli::with_token(&app.base, ada.token()).with("UPDRAFT_APP", "weather").with("UPDRAFT_DEPLOYMENT", "Production");
    for (command, known) in [
        (
            "updraft deployment list",
            "deployment release versions rollout active share failed updated production staging just now v1 100% ^1.0.0 0 -",
        ),
        (
            "updraft release list",
            "label target version rollout mandatory released description v1 ^1.0.0 100% no just now several words of notes",
        ),
        (
            "updraft app activity",
            "time who action about from just now ada@example.com app.create release.upload weather v1 of production, for ^1.0.0 127.0.0.1",
        ),
    ] {
        for columns in [40, 60] {
            let screen = open(&cli, columns).await.run(command).await;
            assert!(screen.lines().all(|line| line.chars().count() <= usize::from(columns)), "{screen}");
            let known: Vec<&str> = known.split(' ').collect();
            let broken: Vec<&str> = screen.split_whitespace().filter(|word| !known.contains(&word.to_lowercase().as_str())).collect();
            assert!(broken.is_empty(), "{broken:?} in {columns} columns:\n{screen}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn colors_can_be_turned_off() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let cli = Cli::with_token(&app.base, ada.token());
    let terminal = open(&cli, 80).await;
    terminal.run("updraft app show nothing").await;
    assert!(terminal.colored_screen().contains("\u{1b}["), "{:?}", terminal.colored_screen());
    for plain in ["NO_COLOR=1 updraft app show nothing", "TERM=dumb updraft app show nothing"] {
        terminal.run(plain).await;
        assert!(!terminal.colored_screen().contains('\u{1b}'), "{plain}: {:?}", terminal.colored_screen());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_asks_for_the_name() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let cli = Cli::with_token(&app.base, ada.token());
    let terminal = open(&cli, 80).await;
    for (answer, said) in [("other", "not confirmed"), ("demo", "Deleted the app demo.")] {
        ada.post("/v1/apps", json!({ "name": "demo" })).await;
        terminal.clear().await;
        terminal.enter("updraft app delete demo");
        terminal.wait_for("the question", |screen| screen.contains("Type demo to confirm")).await;
        terminal.enter(answer);
        let screen = terminal.prompt().await;
        assert!(screen.contains(said), "{screen}");
    }
    ada.get("/v1/apps/demo").await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_at_a_question_leaves_a_usable_terminal() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.post("/v1/apps", json!({ "name": "demo" })).await.assert(201);
    let cli = Cli::with_token(&app.base, ada.token());
    let terminal = open(&cli, 80).await;
    terminal.enter("updraft app delete demo; echo \"code $?\"");
    terminal.wait_for("the question", |screen| screen.contains("Type demo to confirm")).await;
    terminal.press("C-c");
    let screen = terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
    assert!(!screen.contains("Deleted") && screen.contains("interrupted: nothing was changed"), "{screen}");
    terminal.assert_restored().await;
    ada.get("/v1/apps/demo").await.assert(200);
}
