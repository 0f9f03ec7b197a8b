//! The dialect over HTTP: shapes, statuses, texts, addresses.

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tests::{Answer, Bundle, Client, Device, Options, SessionOrigin, TestApp};

/// The header by which clients of CodePush are known below `/v1`.
const CLIENT: (&str, &str) = ("accept", "application/vnd.code-push.v2+json");

async fn send(client: &Client, method: Method, path: &str, body: Option<Value>) -> Answer {
    let request = client.request(method, path).header(CLIENT.0, CLIENT.1);
    client
        .send(match body {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
}

async fn post(client: &Client, path: &str, body: Value) -> Answer {
    send(client, Method::POST, path, Some(body)).await
}

async fn get(client: &Client, path: &str) -> Answer {
    send(client, Method::GET, path, None).await
}

/// Uploads a package, with further headers.
async fn upload_with(client: &Client, path: &str, bytes: &[u8], info: Value, headers: &[(&str, &str)]) -> Answer {
    let form = Form::new().part("package", Part::bytes(bytes.to_vec()).file_name("package.zip")).text("packageInfo", info.to_string());
    let mut request = client.request(Method::POST, path).header(CLIENT.0, CLIENT.1).multipart(form);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client.send(request).await
}

async fn upload(client: &Client, deployment: &str, content: &str, info: Value) -> Answer {
    let path = format!("/apps/demo/deployments/{deployment}/release");
    upload_with(client, &path, &Bundle::script(content).0, info, &[]).await
}

/// Expects a refusal: its status, its media type, and that it can be traced. Returns the text.
#[track_caller]
fn told(answer: &Answer, status: u16) -> String {
    answer.assert_status(status);
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8", "{}", answer.text());
    assert!(!answer.header("x-request-id").is_empty());
    answer.text()
}

async fn prepared() -> (TestApp, Client) {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    post(&ada, "/apps", json!({ "name": "demo", "os": "ios", "platform": "react-native", "manuallyProvisionDeployments": null }))
        .await
        .assert(201);
    (app, ada)
}

/// An object without the members that differ from run to run.
fn without(mut object: Value, members: &[&str]) -> Value {
    for member in members {
        assert!(object.as_object_mut().unwrap().remove(*member).is_some(), "{member} is missing");
    }
    object
}

#[tokio::test]
async fn objects_have_the_shapes_that_clients_read() {
    let (app, ada) = prepared().await;
    let made = post(&ada, "/apps", json!({ "name": "made", "manuallyProvisionDeployments": true })).await;
    assert_eq!(made.header("location"), "/apps/made");
    let collaborators = json!({ "ada@example.com": { "permission": "Owner", "isCurrentAccount": true } });
    let expected = json!({ "name": "made", "collaborators": collaborators, "deployments": [] });
    assert_eq!(without(made.assert(201)["app"].take(), &["createdTime"]), expected);
    let apps = get(&ada, "/apps").await.assert(200);
    assert_eq!(apps["apps"][0]["name"], "demo");
    assert_eq!(apps["apps"][0]["deployments"], json!(["Production", "Staging"]));

    let beta = post(&ada, "/apps/demo/deployments/", json!({ "name": "Beta", "key": "key-of-installed-apps" })).await;
    assert_eq!(beta.header("location"), "/apps/demo/deployments/Beta");
    assert_eq!(beta.assert(201), json!({ "deployment": { "name": "Beta", "key": "key-of-installed-apps" } }));
    let one = get(&ada, "/apps/demo/deployments/Beta").await.assert(200)["deployment"].take();
    assert_eq!(without(one, &["id", "createdTime"]), json!({ "name": "Beta", "key": "key-of-installed-apps" }));

    let info = json!({ "appVersion": "1.0.0", "description": null, "isDisabled": null, "isMandatory": true, "rollout": null, "buildNumber": null });
    let released = upload(&ada, "Beta", "first", info).await;
    assert_eq!(released.header("location"), "/apps/demo/deployments/Beta");
    let package = without(released.assert(201)["package"].take(), &["blobUrl", "manifestBlobUrl", "uploadTime", "packageHash", "size"]);
    let expected = json!({
        "appVersion": "1.0.0", "diffPackageMap": {}, "isDisabled": false, "isMandatory": true, "label": "v1", "releasedBy": "ada@example.com",
        "releaseMethod": "Upload", "rollout": 100,
    });
    assert_eq!(package, expected);
    let promoted =
        post(&ada, "/apps/demo/deployments/Beta/promote/Staging", json!({ "packageInfo": { "label": null, "rollout": 20 } })).await;
    let promoted = promoted.assert(201)["package"].take();
    assert_eq!(
        json!([
            promoted["releaseMethod"],
            promoted["originalLabel"],
            promoted["originalDeployment"],
            promoted["rollout"],
            promoted["isMandatory"]
        ]),
        json!(["Promote", "v1", "Beta", 20, true])
    );
    let listed = get(&ada, "/apps/demo/deployments").await.assert(200);
    assert_eq!(listed["deployments"][2]["package"]["rollout"], 20);
    let history = get(&ada, "/apps/demo/deployments/Beta/history").await.assert(200);
    assert_eq!(history["history"][0]["rollout"], 100);
    assert_eq!(get(&ada, "/apps/demo/deployments/Beta/metrics").await.assert(200), json!({ "metrics": {} }));

    assert_eq!(
        get(&ada, "/account").await.assert(200)["account"],
        json!({ "name": "ada@example.com", "email": "ada@example.com", "linkedProviders": [] })
    );
    let keys = get(&ada, "/accessKeys").await.assert(200)["accessKeys"].take();
    let key = without(keys[0].clone(), &["id", "createdTime", "expires"]);
    assert_eq!(key, json!({ "name": "(hidden)", "friendlyName": "test", "description": "test", "createdBy": "127.0.0.1" }));
    assert_eq!(get(&ada, "/authenticated").await.assert(200), json!({ "authenticated": true }));

    app.sign_up("bob").await;
    let added = send(&ada, Method::POST, "/apps/demo/collaborators/bob@example.com", None).await;
    added.assert_status(201);
    assert_eq!((added.text().as_str(), added.header("location").as_str()), ("Created", "/apps/demo/collaborators/bob%40example.com"));
    for role in ["Admin", "Viewer", "Developer"] {
        ada.patch("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": role })).await.assert(200);
        let listed = get(&ada, "/apps/demo/collaborators").await.assert(200);
        assert_eq!(listed["collaborators"]["bob@example.com"], json!({ "permission": "Collaborator" }));
    }
    let transferred = send(&ada, Method::POST, "/apps/demo/transfer/bob%40example.com", None).await;
    transferred.assert_status(201);
    assert_eq!(transferred.text(), "Created");
}

#[tokio::test]
async fn a_rollout_of_100_or_null_or_none_is_the_same_release() {
    let (_app, ada) = prepared().await;
    let mut seen = Vec::new();
    for (content, rollout) in [("one", json!({ "rollout": 100 })), ("two", json!({ "rollout": null })), ("three", json!({}))] {
        let mut info = json!({ "appVersion": "1.0.0" });
        info.as_object_mut().unwrap().extend(rollout.as_object().unwrap().clone());
        let released = upload(&ada, "Staging", content, info.clone()).await.assert(201)["package"].take();
        let promoted = post(&ada, "/apps/demo/deployments/Staging/promote/Production", json!({ "packageInfo": rollout })).await;
        let stored = ada.get("/v1/apps/demo/deployments/Production").await.assert(200)["deployment"]["package"]["rollout"].clone();
        seen.push([released["rollout"].clone(), promoted.assert(201)["package"]["rollout"].clone(), stored]);
    }
    assert_eq!(json!(seen), json!([[100, 100, null], [100, 100, null], [100, 100, null]]));
}

#[tokio::test]
async fn labels_stand_in_package_info_or_beside_it() {
    let (_app, ada) = prepared().await;
    for content in ["one", "two"] {
        upload(&ada, "Staging", content, json!({ "appVersion": "1.0.0" })).await.assert(201);
    }
    let path = "/apps/demo/deployments/Staging/release";
    for body in [
        json!({ "packageInfo": { "label": "v1", "description": "inside" } }),
        json!({ "label": "v1", "packageInfo": { "description": "beside" } }),
        json!({ "label": "v2", "packageInfo": { "label": "v1", "description": "both: the inner one counts" } }),
    ] {
        let changed = send(&ada, Method::PATCH, path, Some(body)).await.assert(200);
        assert_eq!(changed["package"]["label"], "v1");
    }
    let same = json!({ "packageInfo": { "label": "v1", "description": "both: the inner one counts", "isMandatory": null } });
    send(&ada, Method::PATCH, path, Some(same)).await.assert_status(204);
    let promoted = post(&ada, "/apps/demo/deployments/Staging/promote/Production", json!({ "packageInfo": { "label": "v1" } })).await;
    assert_eq!(promoted.assert(201)["package"]["originalLabel"], "v1");
}

#[tokio::test]
async fn nothing_is_done_twice_under_one_key() {
    let (_app, ada) = prepared().await;
    let path = "/apps/demo/deployments/Staging/release";
    let keyed = |path: &'static str, key: &'static str| {
        let request = ada.request(Method::POST, path).header(CLIENT.0, CLIENT.1).header("idempotency-key", key);
        ada.send(request.json(&json!({})))
    };
    for replayed in [None, Some("true".to_owned())] {
        let info = json!({ "appVersion": "1.0.0" });
        let answer = upload_with(&ada, path, &Bundle::script("first").0, info, &[("idempotency-key", "an upload")]).await;
        assert_eq!(answer.optional_header("idempotent-replayed"), replayed);
        assert_eq!(answer.assert(201)["package"]["label"], "v1");
    }
    upload(&ada, "Staging", "second", json!({ "appVersion": "1.0.0" })).await.assert(201);
    for path in [
        "/apps/demo/deployments/Staging/promote/Production",
        "/apps/demo/deployments/Staging/rollback",
        "/apps/demo/deployments/Staging/rollback/v2",
    ] {
        let first = keyed(path, path).await.assert(201)["package"]["label"].take();
        assert_eq!(keyed(path, path).await.assert(201)["package"]["label"], first, "{path}");
    }
    let other = keyed("/apps/demo/deployments/Staging/rollback/v1", "/apps/demo/deployments/Staging/rollback/v2").await;
    assert_eq!(told(&other, 409), "this Idempotency-Key was already used for another request: use a new key for each request");
    let labels: Vec<String> = get(&ada, "/apps/demo/deployments/Staging/history").await.assert(200)["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|release| release["label"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(labels, ["v1", "v2", "v3", "v4"]);
}

#[tokio::test]
async fn addresses_are_accepted_as_clients_write_them() {
    let (app, ada) = prepared().await;
    post(&ada, "/apps", json!({ "name": "my app @home" })).await.assert(201);
    for path in [
        "/apps/my%20app%20@home/deployments",
        "/apps/my%20app%20%40home/deployments/",
        "/APPS/ada@example.com:my%20app%20@home/Deployments/",
        "/v1/apps/ada%40example.com%3Amy%20app%20%40home/deployments",
        "/v1/Apps/my%20app%20@home/DEPLOYMENTS",
        "/V1/apps/my%20app%20@home/deployments//",
    ] {
        assert_eq!(get(&ada, path).await.assert(200)["deployments"].as_array().unwrap().len(), 2, "{path}");
    }
    get(&ada, "/AccessKeys/").await.assert(200);
    // Names keep their case.
    assert_eq!(told(&get(&ada, "/apps/DEMO").await, 404), "App \"DEMO\" does not exist.");
    assert_eq!(told(&get(&ada, "/apps/demo/deployments/staging").await, 404), "Deployment \"staging\" does not exist.");

    // Below /v1 the API answers, unless a client of CodePush asks. At the root it is always the dialect.
    assert!(ada.get("/v1/apps/demo").await.assert(200)["app"]["collaborators"]["ada@example.com"]["permission"] == "Owner");
    ada.get("/v1/apps/nothing").await.refused(404);
    told(&get(&ada, "/v1/apps/nothing").await, 404);
    told(&ada.send(ada.request(Method::GET, "/v1/apps/nothing").header("X-CodePush-CLI-Version", "2.1.9")).await, 404);
    told(&ada.get("/apps/nothing").await, 404);
    // The API has paths that the dialect has not.
    told(&get(&ada, "/v1/apps/demo/deployments/Staging/releases").await, 404);
    get(&ada, "/v1/health").await.assert(200);
    get(&ada, "/v1/api-keys").await.assert(200);

    // Where pages are at the root, they share paths with the dialect: only its clients get it there.
    let pages = TestApp::spawn_with(Options::default().with("DASHBOARD_URL", "http://127.0.0.1:9")).await;
    let bob = pages.sign_up("bob").await;
    assert_eq!(bob.get("/apps/demo").await.status, 303, "the page asks for a sign-in");
    assert_eq!(get(&bob, "/apps").await.assert(200), json!({ "apps": [] }));
    drop(app);
}

#[tokio::test]
async fn refusals_are_plain_text_in_the_words_of_codepush() {
    let (app, ada) = prepared().await;
    let nobody = app.anonymous();
    let invalid = told(&get(&nobody, "/authenticated").await, 401);
    assert!(invalid.starts_with("The session or access key being used is invalid, please run \"code-push login\" again."), "{invalid}");
    assert_eq!(told(&post(&ada, "/apps", json!({ "name": "demo" })).await, 409), "An app named 'demo' already exists.");
    assert_eq!(told(&post(&ada, "/apps", json!({})).await, 400), r#"[{"field":"name","message":"Field is required"}]"#);
    let wrong = told(&post(&ada, "/apps", json!({ "name": "a/b" })).await, 400);
    assert!(wrong.starts_with(r#"[{"field":"name","message":"Field is invalid: "#), "{wrong}");
    assert_eq!(
        told(&post(&ada, "/apps/demo/deployments", json!({ "name": "Staging" })).await, 409),
        "A deployment named 'Staging' already exists."
    );
    let no_file = ada.request(Method::POST, "/apps/demo/deployments/Staging/release").multipart(Form::new().text("packageInfo", "{}"));
    assert_eq!(told(&ada.send(no_file).await, 400), "A deployment package must include a file.");
    // What is wrong with an archive is said, with the entry.
    let bad = Part::bytes(Bundle::of(&[("../main.jsbundle", b"x")]).0).file_name("bundle.zip");
    let form = Form::new().part("package", bad).text("packageInfo", json!({ "appVersion": "1.0.0" }).to_string());
    let refused = told(&ada.send(ada.request(Method::POST, "/apps/demo/deployments/Staging/release").multipart(form)).await, 400);
    assert!(refused.contains("../main.jsbundle"), "{refused}");
    let invalid = upload(&ada, "Staging", "content", json!({ "appVersion": "one", "rollout": 0 })).await;
    let fields = told(&invalid, 400);
    let fields: Value = serde_json::from_str(&fields).unwrap();
    assert_eq!(json!([fields[0]["field"], fields[1]["field"]]), json!(["appVersion", "rollout"]));
    let missing = get(&ada, "/sessions/nowhere").await;
    told(&missing, 405);
    let no_session = send(&ada, Method::DELETE, "/sessions/nowhere", None).await;
    assert_eq!(told(&no_session, 404), "There are no sessions associated with \"nowhere.\"");
    let key = told(&post(&ada, "/accessKeys", json!({ "friendlyName": "ci" })).await, 403);
    assert_eq!(key, format!("Access keys are created on the dashboard: open {}/dashboard/keys/new", app.base));
    assert_eq!(told(&send(&ada, Method::DELETE, "/accessKeys/nothing", None).await, 404), "Access key \"nothing\" does not exist.");
    told(&get(&ada, "/apps/demo/deployments/Staging/nativerelease").await, 404);
    let read = app.api_key("ada", &["read"]).await;
    let scope = told(&send(&read, Method::DELETE, "/apps/demo/deployments/Staging", None).await, 403);
    assert_eq!(scope, "the API key's scopes do not include the permission deployments.manage");
}

#[tokio::test]
async fn a_package_over_the_limit_is_refused_with_the_limit() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MAX_UPLOAD_BYTES", "1MiB")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let path = "/apps/demo/deployments/Staging/release";
    let large = vec![7; 3 << 20];
    let refused = upload_with(&ada, path, &large, json!({ "appVersion": "1.0.0" }), &[]).await;
    assert_eq!(told(&refused, 413), "The uploaded file is larger than the size limit of 1 megabytes.");
}

#[tokio::test]
async fn waits_are_told_in_retry_after() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MANAGEMENT_API", "3/1m")).await;
    let ada = app.sign_up("ada").await;
    for _ in 0..3 {
        get(&ada, "/authenticated").await.assert(200);
    }
    let refused = get(&ada, "/apps").await;
    told(&refused, 429);
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
}

#[tokio::test]
async fn uploads_count_toward_the_same_limit_as_those_of_the_api() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_UPLOADS", "2/1h")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    upload(&ada, "Staging", "one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    ada.upload("demo", "Staging", &Bundle::script("two").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let refused = upload(&ada, "Staging", "three", json!({ "appVersion": "1.0.0" })).await;
    told(&refused, 429);
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
}

#[tokio::test]
async fn paths_of_app_center_say_which_client_to_use() {
    let (app, ada) = prepared().await;
    for path in ["/v0.1/apps", "/v0.1/apps/ada/demo/deployments", "/v0.1/user", "/v0.1/api_tokens"] {
        for method in [Method::GET, Method::POST] {
            let answer = ada.send(ada.request(method, path)).await;
            let text = answer.assert(404)["message"].as_str().unwrap().to_owned();
            assert!(text.contains("code-push-cli 2.1.9"), "{text}");
        }
    }
    // What a browser opens, and what prints bodies as they are.
    for path in ["/v0.1/cli-login?hostname=x", "/v0.1/legacy/apps", "/v0.1/legacy/apps/demo/deployments", "/v0.1/legacy/authenticated"] {
        let answer = ada.send(ada.request(Method::GET, path)).await;
        assert!(told(&answer, 404).starts_with("This server does not serve App Center's API"), "{}", answer.text());
    }
    // Devices have a family of paths there.
    let key = ada.get("/v1/apps/demo/deployments/Staging").await.assert(200)["deployment"]["key"].as_str().unwrap().to_owned();
    app.anonymous().get(&format!("/v0.1/legacy/updateCheck?deploymentKey={key}&appVersion=1.0.0")).await.assert(200);
}

#[tokio::test]
async fn a_full_quota_is_no_duplicate() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_STORED_BYTES", "1KiB")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let large = "x".repeat(100);
    let mut last = None;
    for number in 0..20 {
        let answer = upload(&ada, "Staging", &format!("{number} {large}"), json!({ "appVersion": "1.0.0" })).await;
        if answer.status != 201 {
            last = Some(answer);
            break;
        }
    }
    // Clients take a 409 for a duplicate, and can be told to ignore it.
    let text = told(&last.unwrap(), 403);
    assert!(text.contains("quota"), "{text}");
    let duplicate = upload(&ada, "Staging", &format!("0 {large}"), json!({ "appVersion": "1.0.0" })).await;
    assert_ne!(duplicate.status, 201);
}

#[tokio::test]
async fn refusals_name_where_to_go_on() {
    let (app, ada) = prepared().await;
    let key = app.named_key("ada", "of the build").await;
    for (method, what) in [(Method::PATCH, "changed"), (Method::GET, "shown")] {
        let refused = send(&key, method.clone(), "/accessKeys/test", (method == Method::PATCH).then(|| json!({ "ttl": 1000 }))).await;
        assert_eq!(told(&refused, 403), format!("A single access key is {what} on the dashboard: open {}/dashboard/keys", app.base));
    }
    let login = app.log_in("ada").await;
    let renamed = send(&login, Method::PATCH, "/accessKeys/nothing", Some(json!({ "friendlyName": "x" }))).await;
    assert_eq!(told(&renamed, 404), "The access key \"nothing\" does not exist.");
    let cli = app.open_session_of("ada", SessionOrigin::CliBrowser, "192.0.2.7", &Device::default()).await;
    let lifetime = send(&cli, Method::PATCH, "/accessKeys/of%20the%20build", Some(json!({ "ttl": 1000 }))).await;
    assert!(told(&lifetime, 403).contains("The lifetime of an access key is changed on the dashboard"), "{}", lifetime.text());
    // `logout` ends the session of the machine. A key has none, of whatever kind: clients take 404 for done.
    let key = app.api_key("ada", &["deploy"]).await;
    let out = send(&key, Method::DELETE, "/sessions/laptop", None).await;
    assert_eq!(told(&out, 404), "There are no sessions associated with \"laptop.\"");
    for path in ["/apps/demo/deployments/Staging/rollback", "/apps/demo/deployments/Staging/rollback/v1"] {
        let refused = post(&ada, path, json!({})).await;
        assert_eq!(told(&refused, 404), "Cannot perform rollback because there are no releases on this deployment.");
    }
    upload(&ada, "Staging", "one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let alone = post(&ada, "/apps/demo/deployments/Staging/rollback", json!({})).await;
    assert_eq!(told(&alone, 404), "Cannot perform rollback because there are no prior releases to rollback to.");
    let unknown = post(&ada, "/apps/demo/deployments/Staging/promote/Production", json!({ "packageInfo": { "label": "v7" } })).await;
    assert_eq!(told(&unknown, 404), "Cannot promote from a deployment with no enabled releases.");
    let broken =
        ada.request(Method::POST, "/apps").header(CLIENT.0, CLIENT.1).header("content-type", "application/json").body("{\"name\":");
    let broken = told(&ada.send(broken).await, 400);
    assert!(!broken.contains("\"field\"") && broken.contains("JSON"), "{broken}");
    // Sharing.
    for name in ["bob", "eve"] {
        app.register(name).await;
    }
    let remove =
        async |client: &Client, email: &str| send(client, Method::DELETE, &format!("/apps/demo/collaborators/{email}"), None).await;
    assert_eq!(
        told(&remove(&ada, "bob@example.com").await, 404),
        "The specified e-mail address doesn't represent a collaborator of the app."
    );
    assert_eq!(told(&remove(&ada, "ada@example.com").await, 409), "Cannot remove the owner of the app from collaborator list.");
    let given = send(&ada, Method::POST, "/apps/demo/transfer/ada@example.com", None).await;
    assert_eq!(told(&given, 409), "The given account already owns the app.");
    assert_eq!(
        told(&send(&ada, Method::GET, "/apps/demo/nothing", None).await, 404),
        "This server has no such operation: use a client of the CodePush CLI 2 family, or updraft."
    );
    // Everybody can leave.
    send(&ada, Method::POST, "/apps/demo/collaborators/bob@example.com", None).await.assert_status(201);
    let bob = app.log_in("bob").await;
    remove(&bob, "bob@example.com").await.assert_status(204);
    assert_eq!(told(&get(&bob, "/apps/ada@example.com:demo").await, 404), "App \"ada@example.com:demo\" does not exist.");
}
