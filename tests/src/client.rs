//! A client of the service, and its responses.

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::multipart::{Form, Part};
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::refusals;

/// A client with or without an access key.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
    address: Option<String>,
}

/// A response, read completely.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The request, for messages.
    pub asked: String,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Client {
    /// A client of the service at `base`, a URL without a trailing slash. Redirects are not followed.
    pub fn new(base: &str, token: Option<String>) -> Self {
        control::testing::server::install_crypto();
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { http, base: base.to_owned(), token, address: None }
    }

    /// The same client for another URL, such as the edge's.
    #[must_use]
    pub fn at(&self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self.clone() }
    }

    /// The same client with another credential.
    #[must_use]
    pub fn with_token(&self, token: Option<String>) -> Self {
        Self { token, ..self.clone() }
    }

    /// The same client from another network address, forwarded as by a proxy: for servers that trust 127.0.0.1.
    #[must_use]
    pub fn from(&self, address: &str) -> Self {
        Self { address: Some(address.to_owned()), ..self.clone() }
    }

    /// The raw credential.
    pub fn token(&self) -> &str {
        self.token.as_deref().expect("a client with a credential")
    }

    /// A request to a path of the service, with this client's credential.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(address) = &self.address {
            request = request.header("x-forwarded-for", address);
        }
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// Sends a request and reads the response.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let request = request.build().unwrap();
        let asked = format!("{} {}", request.method(), request.url());
        let response = self.http.execute(request).await.unwrap_or_else(|error| panic!("{asked}: {error:?}"));
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.unwrap_or_else(|error| panic!("{asked}: {error:?}")).to_vec();
        refusals::check(&asked, status.as_u16(), &body);
        Answer { asked, status, headers, body }
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    /// POST with JSON.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::POST, path).json(&body)).await
    }

    /// PATCH with JSON.
    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::PATCH, path).json(&body)).await
    }

    /// DELETE.
    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path)).await
    }

    /// DELETE with JSON.
    pub async fn delete_with(&self, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::DELETE, path).json(&body)).await
    }

    /// Uploads a release of the app `app`; `info` is the part `packageInfo`.
    pub async fn upload(&self, app: &str, deployment: &str, bytes: &[u8], info: Value) -> Answer {
        let form = Form::new()
            .part("package", Part::bytes(bytes.to_vec()).file_name("bundle.zip"))
            .part("packageInfo", Part::text(info.to_string()));
        let path = format!("/v1/apps/{app}/deployments/{deployment}/releases");
        self.send(self.request(Method::POST, &path).multipart(form)).await
    }

    /// Creates an app and returns the keys of its deployments Production and Staging.
    pub async fn create_app(&self, name: &str) -> (String, String) {
        self.post("/v1/apps", serde_json::json!({ "name": name })).await.assert(201);
        (self.deployment_key(name, "Production").await, self.deployment_key(name, "Staging").await)
    }

    /// The key of a deployment.
    pub async fn deployment_key(&self, app: &str, deployment: &str) -> String {
        let answer = self.get(&format!("/v1/apps/{app}/deployments/{deployment}")).await.assert(200);
        answer["deployment"]["key"].as_str().unwrap().to_owned()
    }

    /// The counters of a deployment.
    pub async fn metrics(&self, app: &str, deployment: &str) -> Value {
        self.get(&format!("/v1/apps/{app}/deployments/{deployment}/metrics")).await.assert(200)["metrics"].clone()
    }
}

impl Answer {
    /// Expects a status and returns the JSON body, or null without one.
    #[track_caller]
    pub fn assert(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}: {}", self.asked, self.text());
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// Expects a refusal with the standard envelope and returns its text.
    #[track_caller]
    pub fn refused(&self, status: u16) -> String {
        let body = self.assert(status);
        let id = self.header("x-request-id");
        assert_eq!(body["requestId"].as_str(), Some(id.as_str()), "{}: {}", self.asked, self.text());
        body["error"].as_str().unwrap_or_else(|| panic!("{}: no error text: {}", self.asked, self.text())).to_owned()
    }

    /// Expects a refusal with the standard envelope and this code, or no code.
    #[track_caller]
    pub fn refused_with(&self, status: u16, code: Option<&str>) {
        self.refused(status);
        assert_eq!(self.json().get("code").and_then(Value::as_str), code, "{}: {}", self.asked, self.text());
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{}: {error}: {}", self.asked, self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A required header.
    #[track_caller]
    pub fn header(&self, name: &str) -> String {
        self.optional_header(name).unwrap_or_else(|| panic!("{}: no header {name}", self.asked))
    }

    /// A header.
    pub fn optional_header(&self, name: &str) -> Option<String> {
        self.headers.get(name).map(HeaderValue::to_str).map(|value| value.unwrap().to_owned())
    }
}

impl Answer {
    /// Expects a status with any body.
    #[track_caller]
    pub fn assert_status(&self, status: u16) {
        assert_eq!(self.status.as_u16(), status, "{}: {}", self.asked, self.text());
    }
}
