//! `packageHash` in PATCH and promotions: it can correct a wrong hash, but not falsify one.

use serde_json::{Value, json};
use tests::{Bundle, Client, TestApp};

use crate::v1::apps::deployments::{history, noted, patch, patch_of, prepared, promote, refused, state};

/// Uploads a zip and a single file as releases of Staging.
async fn zip_and_file(ada: &Client) -> [Value; 2] {
    let mut made = Vec::new();
    for bytes in [Bundle::of(&[("a/script.js", b"one"), ("a/.codepushrelease", b"signed")]).0, b"a single file".to_vec()] {
        made.push(ada.upload("demo", "Staging", &bytes, json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].take());
    }
    made.try_into().unwrap()
}

/// Simulates a damaged or manually edited database.
async fn falsify(app: &TestApp, label: &str, hash: &str) {
    let sql = "UPDATE releases SET package_hash = $2 WHERE 'v' || CAST(label AS TEXT) = $1";
    assert_eq!(app.change(sql, &[label, hash]).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_hash_of_the_contents_is_accepted() {
    let (app, ada) = prepared().await;
    let made = zip_and_file(&ada).await;
    let others = [&made[0]["packageHash"], &made[1]["packageHash"], &json!("0".repeat(64))];
    for package in &made {
        let label = package["label"].as_str().unwrap();
        for hash in others {
            if *hash == package["packageHash"] {
                patch_of(&ada, "Staging", label, json!({ "packageHash": hash })).await.assert_status(204);
            } else {
                let text = refused(&app, 409, patch_of(&ada, "Staging", label, json!({ "packageHash": hash, "isMandatory": true }))).await;
                assert!(text.starts_with("packageHash: "), "{text}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_hash_can_only_be_corrected_to_the_right_one() {
    let (app, ada) = prepared().await;
    let made = zip_and_file(&ada).await;
    let wrong = "f".repeat(64);
    for package in &made {
        let (label, right) = (package["label"].as_str().unwrap(), package["packageHash"].as_str().unwrap());
        falsify(&app, label, &wrong).await;
        refused(&app, 409, patch_of(&ada, "Staging", label, json!({ "packageHash": "0".repeat(64) }))).await;
        let (_, details, corrected) = noted(&app, 200, patch_of(&ada, "Staging", label, json!({ "packageHash": right }))).await;
        assert_eq!(corrected["packageHash"], right);
        assert_eq!(details["changes"], json!({ "packageHash": right }));
    }
    // Without a label, the newest release.
    let right = made[1]["packageHash"].as_str().unwrap();
    falsify(&app, "v2", &wrong).await;
    patch(&ada, "Staging", json!({ "packageHash": right })).await.assert(200);
    let hashes: Vec<_> = history(&ada, "Staging").await.iter().map(|release| release["packageHash"].clone()).collect();
    assert_eq!(hashes, [made[0]["packageHash"].clone(), made[1]["packageHash"].clone()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_with_a_hash_promotes_only_that_release() {
    let (app, ada) = prepared().await;
    let made = zip_and_file(&ada).await;
    let text = refused(&app, 409, promote(&ada, json!({ "packageHash": made[0]["packageHash"] }))).await;
    assert!(text.contains("packageHash"), "{text}");
    promote(&ada, json!({ "packageHash": made[1]["packageHash"] })).await.assert(201);
    let before = state(&app).await;
    assert_eq!(before[0].len(), 3);
}
