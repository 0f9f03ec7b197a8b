//! Each rule finds a planted violation and ignores code that only looks like one.

use super::{find, violations};

const FLOORS: &str = "[floors]\nmain = ['server', 'domain']\nlib = []\nserver = ['http', 'domain', 'infra']\nhttp = ['domain', 'infra']\n\
    domain = ['infra']\ninfra = []";
const LIB: (&str, &str) = ("lib.rs", "pub mod server; pub mod http; pub mod domain; pub mod infra;");
const SERVER: (&str, &str) = ("server.rs", "use crate::http; use crate::domain::releases::upload; fn f() { http::routes() }");
const INFRA: (&str, &str) = ("infra.rs", "pub struct Db; #[macro_export] macro_rules! on { () => {} }");
const DOMAIN: (&str, &str) = ("domain/mod.rs", "pub mod releases;");
const RELEASES: (&str, &str) = ("domain/releases/mod.rs", "pub mod upload;");
const HTTP: (&str, &str) = ("http/mod.rs", "pub mod layer; pub fn routes() {}");
const LAYER: (&str, &str) = ("http/layer/mod.rs", "pub mod json;");
const JSON: (&str, &str) = ("http/layer/json.rs", "use crate::infra::Db; pub struct Json;");

fn floors(upload: &str, main: &str) -> Vec<String> {
    let files = [LIB, SERVER, INFRA, DOMAIN, RELEASES, HTTP, LAYER, JSON, ("domain/releases/upload.rs", upload), ("main.rs", main)];
    violations(&files, FLOORS, "floors")
}

#[test]
fn a_lower_floor_must_not_name_a_higher_one() {
    assert_eq!(floors("use crate::infra::Db; use super::super::releases; fn f() { crate::on!() }", "use control::server;"), [""; 0]);
    let line = "floors: domain/releases/upload.rs names crate::http::layer::json (http/layer/json.rs)";
    assert_eq!(floors("use crate::http::layer::json::Json;", ""), [line]);
    assert_eq!(floors("fn f() { mac!(crate::http::layer::json::Json) }", ""), [line]);
    assert_eq!(floors("use crate::http::layer::json as other;", ""), [line]);
    assert_eq!(floors("use super::super::super::http::layer::json::*;", ""), [line]);
    assert_eq!(floors("use crate::http::layer; fn f() { layer::json::Json }", "").len(), 2);
    assert_eq!(floors("", "use control::{domain, http::routes};"), ["floors: main.rs names crate::http (http/mod.rs)"]);
}

#[test]
fn a_module_without_a_floor_is_a_violation() {
    let files = [("lib.rs", "mod domain; mod extra;"), ("domain.rs", ""), ("extra/mod.rs", "")];
    assert_eq!(violations(&files, FLOORS, "floors"), ["floors: crate::extra is not in [floors] (extra/mod.rs)"]);
}

#[test]
fn surfaces_stay_apart() {
    let rules = "apart = [['http::api', 'http::dashboard']]";
    let files = |api: &'static str| {
        let http = ("http/mod.rs", "pub mod api; pub mod dashboard; pub mod layer; pub mod apidocs; pub use dashboard::view::day;");
        let view = ("http/dashboard/view.rs", "pub fn day() {}");
        let rest = [("http/dashboard/mod.rs", "pub mod view; use super::layer::L;"), view, ("http/layer.rs", "pub struct L;")];
        [
            ("lib.rs", "mod http;"),
            http,
            rest[0],
            rest[1],
            rest[2],
            ("http/api/mod.rs", "mod apps;"),
            ("http/api/apps.rs", api),
            ("http/apidocs.rs", "use super::dashboard::view;"),
        ]
    };
    assert_eq!(violations(&files("use crate::http::layer::L; use super::super::api;"), rules, "apart"), [""; 0]);
    let line = "apart: http/api/apps.rs names crate::http::dashboard::view (http/dashboard/view.rs)";
    assert_eq!(violations(&files("use crate::http::dashboard::view::day;"), rules, "apart"), [line]);
    assert_eq!(violations(&files("fn f() { super::super::day() }"), rules, "apart"), [line]);
}

const ORDER: &str = "[[ordered]]\nparent = 'domain'\nmodules = ['context', 'change', 'audit', 'access', 'login']\n\
    besides = { change = ['audit'], context = ['*::settings'] }";

fn order(change: &str, context: &str, audit: &str) -> Vec<String> {
    let domain = "pub mod context; pub mod change; pub mod audit; pub mod access; pub mod login; pub use login::enter;";
    let files = [
        ("lib.rs", "pub mod domain;"),
        ("domain/mod.rs", domain),
        ("domain/context.rs", context),
        ("domain/change.rs", change),
        ("domain/audit/mod.rs", "pub mod repo; pub use repo::insert;"),
        ("domain/audit/repo.rs", audit),
        ("domain/access.rs", "pub struct Grant;"),
        (
            "domain/login/mod.rs",
            "pub mod settings; mod service; pub use service::enter; pub use settings::Settings; use super::audit::insert;",
        ),
        ("domain/login/service.rs", "pub fn enter() { super::super::audit::insert() }"),
        ("domain/login/settings.rs", "pub struct Settings;"),
    ];
    violations(&files, ORDER, "ordered")
}

#[test]
fn areas_may_name_only_those_before_them() {
    assert_eq!(order("use crate::domain::context::Context;", "", "use super::super::change::Change; use super::insert;"), [""; 0]);
    assert_eq!(
        order("", "", "use crate::domain::access::Grant;"),
        ["ordered: domain/audit/repo.rs names crate::domain::access (domain/access.rs)"]
    );
    // Through a re-export in the parent.
    assert_eq!(
        order("", "", "fn f() { crate::domain::enter() }"),
        ["ordered: domain/audit/repo.rs names crate::domain::login::service (domain/login/service.rs)"]
    );
}

#[test]
fn an_area_may_name_additional_allowed_paths() {
    assert_eq!(order("use super::audit::insert;", "use super::login::Settings; use super::login::settings;", ""), [""; 0]);
    assert_eq!(order("use super::access::Grant;", "", ""), ["ordered: domain/change.rs names crate::domain::access (domain/access.rs)"]);
    assert_eq!(
        order("", "use super::login::enter;", ""),
        ["ordered: domain/context.rs names crate::domain::login::service (domain/login/service.rs)"]
    );
}

#[test]
fn an_area_that_is_not_in_the_order_is_a_violation() {
    let files = [
        ("lib.rs", "mod domain;"),
        ("domain/mod.rs", "mod extra; mod audit;"),
        ("domain/extra.rs", ""),
        ("domain/audit.rs", "use super::extra::X;"),
    ];
    assert_eq!(violations(&files, ORDER, "ordered"), ["ordered: crate::domain::extra is not in [[ordered]] (domain/extra.rs)"]);
}

#[test]
fn some_crates_are_banned() {
    let banned = |text: &str| {
        let files = [("lib.rs", "mod domain; mod http;"), ("domain.rs", text), ("http.rs", "use axum::Router; fn f() { hyper::g() }")];
        violations(&files, "[banned]\ndomain = ['axum', 'hyper', 'tower_http']", "banned")
    };
    assert_eq!(banned("use serde::Serialize; mod axum_like {} fn f(axum: u8, x: X) { x.axum; axum_like::g(); tower::x() }"), [""; 0]);
    let line = ["banned: domain.rs names axum"];
    assert_eq!(banned("use axum::extract::{Path, State};"), line);
    assert_eq!(banned("use axum as web;"), line);
    assert_eq!(banned("use ::axum::Router;"), line);
    assert_eq!(banned("fn f() -> ::axum::Router { }"), line);
    assert_eq!(banned("#[derive(axum::FromRef)] struct A;"), line);
    assert_eq!(banned("fn f() { thing!(axum::Json(1)) }"), line);
    assert_eq!(banned("fn f() { use axum::http; http::StatusCode::OK }"), line);
    // Even if it is not in the manifest.
    assert_eq!(banned("fn f() { hyper::g() }"), ["banned: domain.rs names hyper"]);
}

const ONLY: &str = "[[only]]\nitem = 'domain::access::for_job'\nmodules = ['jobs', 'main']";

#[test]
fn some_items_are_restricted_to_some_modules() {
    let only = |access: &'static str, jobs: &'static str, http: &'static str| {
        let grants = ("domain/access/grants.rs", "pub fn for_job() {} pub fn for_caller() {}");
        let files = [
            ("lib.rs", "mod domain; mod jobs; mod http;"),
            ("domain/mod.rs", "pub mod access;"),
            ("domain/access/mod.rs", access),
            grants,
            ("jobs.rs", jobs),
            ("http.rs", http),
            ("main.rs", "use control::domain::access::for_job;"),
        ];
        violations(&files, ONLY, "only")
    };
    let access = "mod grants; pub use grants::{for_job, for_caller};";
    let line = ["only: http.rs names crate::domain::access::for_job"];
    assert_eq!(
        only(
            access,
            "use crate::domain::access::for_job;",
            "use crate::domain::access::{self, for_caller}; fn f() { access::for_caller() }"
        ),
        [""; 0]
    );
    assert_eq!(only(access, "", "use crate::domain::access::for_job as other;"), line);
    assert_eq!(only(access, "", "use crate::domain::access; fn f() { access::for_job::<Snapshot>(1) }"), line);
    assert_eq!(only(access, "", "use crate::domain::access::*; fn f() { for_job() }"), line);
    // Bypassing the re-export.
    assert_eq!(only("pub mod grants; pub use grants::for_job;", "", "fn f() { crate::domain::access::grants::for_job() }"), line);
    // Before the item exists.
    assert_eq!(only("", "", "use crate::domain::access::for_job;"), line);
}

#[test]
fn use_cases_must_not_take_or_return_json() {
    let json = |text: &str| {
        let files = [("lib.rs", "mod domain; mod http;"), ("domain.rs", text), ("http.rs", "pub fn f(_: serde_json::Value) {}")];
        violations(&files, "no_json_values = ['domain']", "json")
    };
    assert_eq!(json("use serde_json::Value; fn f(_: Value) {} pub fn g() { let x: Value = serde_json::Value::Null; }"), [""; 0]);
    assert_eq!(json("pub struct Value; pub fn f(_: Value) -> serde_json::Error {}"), [""; 0]);
    let line = ["json: domain.rs: `f` takes or returns serde_json::Value"];
    assert_eq!(json("use serde_json::Value; pub async fn f(_: &Value) {}"), line);
    assert_eq!(json("use serde_json::{Value as Json}; pub(crate) fn f() -> Vec<Json> {}"), line);
    assert_eq!(json("struct A; impl A { pub(super) fn f(&self) -> Option<serde_json::Value> {} fn g(_: serde_json::Value) {} }"), line);
    assert_eq!(json("pub trait A { fn f(_: serde_json::Value); }"), line);
}

#[test]
fn a_large_cycle_is_a_violation() {
    let files = |c: &'static str| {
        [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use crate::c::C; pub struct B;"),
            ("c.rs", c),
        ]
    };
    let findings = find(&files("use crate::a::A; pub struct C;"), "").unwrap();
    assert_eq!(findings.cycles, [3]);
    let cycles: Vec<_> = findings.violations.iter().filter(|violation| violation.rule == "cycle").collect();
    assert_eq!((cycles.len(), cycles[0].line.as_str()), (1, "cycle: 3 files"));
    assert_eq!(cycles[0].detail, "cycle of 3 files: a.rs, b.rs, c.rs");
    // As large as allowed.
    let findings = find(&files("use crate::b::B; pub struct C;"), "").unwrap();
    assert_eq!(findings.cycles, [2]);
    assert_eq!(violations(&files("use crate::b::B; pub struct C;"), "", "cycle"), [""; 0]);
}

#[test]
fn the_root_has_a_limit() {
    let files: Vec<(String, String)> = (0..8).map(|number| (format!("m{number}/mod.rs"), String::new())).collect();
    let mut files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("lib.rs", ""));
    assert_eq!(violations(&files, "", "root entries"), [""; 0]);
    files.push(("main.rs", ""));
    assert_eq!(violations(&files, "", "root entries"), ["root entries: 10"]);
}

#[test]
fn a_misspelled_rule_is_rejected() {
    assert!(toml::from_str::<super::Rules>("largest_circle = 4\nroot_entries = 9\nflors = {}").is_err());
    let committed = include_str!("../../../../control/imports.toml");
    assert!(toml::from_str::<super::Rules>(committed).is_ok());
}

#[test]
fn other_packages_may_name_only_the_allowed_modules() {
    let named = |text: &'static str| {
        let files =
            [("lib.rs", "pub mod domain; pub mod testing;"), ("domain.rs", ""), ("testing.rs", ""), ("../tests/src/people.rs", text)];
        violations(&files, "outside = ['testing']", "outside")
    };
    let line = "outside: ../tests/src/people.rs names control::domain::accounts";
    assert_eq!(named("use control::testing::{self, Db}; fn f(control: Control) { control.domain; ::control::testing::on!() }"), [""; 0]);
    assert_eq!(named("use control::{testing, domain::accounts};"), [line]);
    assert_eq!(named("use control::domain::accounts as other;"), [line]);
    assert_eq!(named("#[cfg(test)] mod tests { fn f() { mac!(::control::domain::accounts) } }"), [line]);
    assert_eq!(named("fn f() { control::on!() }"), ["outside: ../tests/src/people.rs names control::on"]);
    for whole in ["use control as other;", "use control::*;", "mod inner { fn f() { use ::control::*; } }"] {
        assert_eq!(named(whole), ["outside: ../tests/src/people.rs names control"], "{whole}");
    }
}

#[test]
fn some_calls_are_restricted_to_some_files() {
    let rules = "[[calls]]\ncall = 'db.write()'\nfiles = ['jobs.rs', 'domain.rs']";
    let files = |jobs: &'static str, http: &'static str| {
        [("lib.rs", "mod domain; mod jobs; mod http;"), ("domain.rs", "fn f() { db.write() }"), ("jobs.rs", jobs), ("http.rs", http)]
    };
    assert_eq!(violations(&files("fn f() { app.db.write() }", "// No db.write() here."), rules, "calls"), [""; 0]);
    assert_eq!(
        violations(&files("", "fn f() { app.db.write() }"), rules, "calls"),
        ["calls: http.rs calls db.write()", "calls: jobs.rs is listed but does not call db.write()"]
    );
}

#[test]
fn a_rule_about_what_does_not_exist_is_a_violation() {
    let rules = "apart = [['http', 'pages']]\n[[ordered]]\nparent = 'domain'\nmodules = ['apps', 'keys']\n\
        [[only]]\nitem = 'domain::apps::create'\nmodules = ['jobs']\n[[only]]\nitem = 'domain::apps::delete'\nmodules = ['http']";
    let files =
        [("lib.rs", "mod domain; mod http;"), ("domain/mod.rs", "mod apps;"), ("domain/apps.rs", "pub fn create() {}"), ("http.rs", "")];
    let missing = ["domain::apps::delete", "domain::keys", "jobs", "pages"].map(|path| format!("missing: crate::{path} does not exist"));
    assert_eq!(violations(&files, rules, "missing"), missing);
}
