//! Requests that the documents name or send with curl are operations of the service, with its parameters and its members.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::documents::shell::UNKNOWN;

/// Where the examples send their requests.
const SERVICES: [&str; 3] = ["http://localhost:8787", "https://updates.example.com", "http://localhost:8080"];

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// Where paths of a machine begin.
const OF_MACHINES: [&str; 2] = ["/etc/", "/opt/"];

/// Paths that the OpenAPI document does not have: of the edge, and what older CLIs open in a browser.
const OTHERS: [&str; 5] = ["/internal/v1/reports", "/auth/login", "/auth/register", "/auth/link", "/v1/docs"];

/// Every path of the service.
#[derive(Debug)]
pub(super) struct ServicePaths {
    document: Value,
    /// Without the dashboard's own path.
    pages: Vec<String>,
}

impl ServicePaths {
    pub(super) fn new(document: Value, pages: &[&str]) -> Self {
        Self { document, pages: pages.iter().map(|&page| page.to_owned()).collect() }
    }

    /// A curl command: its words behind `curl`. Gives what is wrong with it.
    pub(super) fn curl(&self, words: &[String]) -> Result<(), String> {
        let request = Request::parse(words)?;
        let Some((path, query)) = request.path()? else { return Ok(()) };
        let Some(operation) = self.operation(&request.method, path) else {
            return Err(format!("{} {path} is no operation of the service", request.method));
        };
        let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
        for name in query.split('&').filter_map(|pair| pair.split('=').next()).filter(|name| !name.is_empty()) {
            if !parameters.iter().any(|parameter| parameter["name"] == name && parameter["in"] == "query") {
                return Err(format!("{} {path} has no parameter {name}", request.method));
            }
        }
        let schemas = operation["requestBody"]["content"].as_object().into_iter().flat_map(Map::values).map(|content| &content["schema"]);
        let schemas: Vec<&Value> = schemas.collect();
        for body in request.contents()? {
            if let Some(name) = self.unknown(&schemas, &body) {
                return Err(format!("{} {path} has no member {name}", request.method));
            }
        }
        Ok(())
    }

    /// Code in the text such as `GET /v1/apps/{app}`, `DELETE …/history`, `/v1/docs`. Gives what is wrong with it.
    pub(super) fn span(&self, text: &str) -> Result<(), String> {
        let (method, path) = text.split_once(' ').filter(|(method, _)| METHODS.contains(method)).unwrap_or(("", text));
        let is_path = path.chars().all(|letter| letter.is_ascii_alphanumeric() || "/{}-_.…?&=".contains(letter));
        if !is_path || OF_MACHINES.iter().any(|folder| path.starts_with(folder)) || (method.is_empty() && !path.starts_with('/')) {
            return Ok(());
        }
        let path = path.split('?').next().unwrap_or_default();
        let is_known = match path.strip_prefix("…/").or_else(|| Some(path).filter(|path| !path.starts_with('/'))) {
            Some(end) => self.paths(method).any(|known| is_end(known, end)),
            None if method.is_empty() => self.is_served(path),
            None => self.operation(method, path).is_some(),
        };
        if is_known { Ok(()) } else { Err(format!("{text} is no path of the service")) }
    }

    fn paths<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a str> {
        let items = self.document["paths"].as_object().unwrap().iter();
        items.filter(move |(_, item)| item.get(method.to_lowercase()).is_some()).map(|(path, _)| path.as_str())
    }

    fn operation(&self, method: &str, path: &str) -> Option<&Value> {
        let found = self.paths(method).find(|known| is_same(known, path))?;
        Some(&self.document["paths"][found][method.to_lowercase()])
    }

    /// Is this the path of an operation or a page, or the beginning of one?
    fn is_served(&self, path: &str) -> bool {
        let path = path.trim_end_matches("…").trim_end_matches('/');
        let operations = self.document["paths"].as_object().unwrap().keys().map(String::as_str).chain(OTHERS);
        let page = path.strip_prefix("/dashboard").unwrap_or(path);
        operations.into_iter().any(|known| is_start(known, path)) || self.pages.iter().any(|known| is_start(known, page))
    }

    /// The first member of this object, or of an object in it, that none of the schemas has.
    fn unknown(&self, schemas: &[&Value], body: &Value) -> Option<String> {
        let mut members = BTreeMap::new();
        for schema in schemas {
            self.collect(schema, &mut members);
        }
        body.as_object()?.iter().find_map(|(name, value)| match members.get(name) {
            None => Some(name.clone()),
            Some(schema) => self.unknown(&[schema], value),
        })
    }

    fn collect<'a>(&'a self, schema: &'a Value, members: &mut BTreeMap<String, &'a Value>) {
        if let Some(reference) = schema["$ref"].as_str() {
            self.collect(self.document.pointer(reference.trim_start_matches('#')).unwrap(), members);
        }
        members.extend(schema["properties"].as_object().into_iter().flatten().map(|(name, schema)| (name.clone(), schema)));
        for form in ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|form| schema[form].as_array()).flatten() {
            self.collect(form, members);
        }
    }
}

/// What a curl command sends.
#[derive(Default)]
struct Request {
    method: String,
    url: String,
    bodies: Vec<String>,
    /// The parts of a form.
    parts: Vec<(String, String)>,
}

impl Request {
    fn parse(words: &[String]) -> Result<Self, String> {
        let (mut request, mut words) = (Self::default(), words.iter());
        let mut value = |flag: char, words: &mut std::slice::Iter<'_, String>| {
            let value = words.next().cloned().ok_or_else(|| format!("curl -{flag} needs a value"))?;
            match (flag, value.split_once('=')) {
                ('X', _) => request.method = value,
                ('d', _) => request.bodies.push(value),
                ('F', Some((name, content))) => request.parts.push((name.to_owned(), content.to_owned())),
                ('H', _) if value.contains(": ") => {}
                _ => return Err(format!("curl -{flag} does not take {value}")),
            }
            Ok(())
        };
        let mut urls = Vec::new();
        while let Some(word) = words.next() {
            match word.strip_prefix('-') {
                None => urls.push(word.clone()),
                Some(flags) => {
                    for flag in flags.chars().filter(|flag| *flag != 's') {
                        if !"XdFH".contains(flag) {
                            return Err(format!("curl has no -{flag} that our examples need"));
                        }
                        value(flag, &mut words)?;
                    }
                }
            }
        }
        let [url] = urls.try_into().map_err(|urls: Vec<String>| format!("curl has {} addresses", urls.len()))?;
        request.url = url;
        if request.method.is_empty() {
            let sends = !request.bodies.is_empty() || !request.parts.is_empty();
            if sends { "POST" } else { "GET" }.clone_into(&mut request.method);
        }
        Ok(request)
    }

    /// What it sends as JSON: a body, and a form as an object of its parts.
    fn contents(&self) -> Result<Vec<Value>, String> {
        let parse = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| format!("{text} is no JSON: {error}"));
        let part = |(name, text): &(String, String)| Ok((name.clone(), if text.starts_with('{') { parse(text)? } else { Value::Null }));
        let form: Map<String, Value> = self.parts.iter().map(part).collect::<Result<_, String>>()?;
        self.bodies.iter().map(|body| parse(body)).chain([Ok(Value::Object(form))]).collect()
    }

    /// Its path and its query; `None` if only a run shows the address.
    fn path(&self) -> Result<Option<(&str, &str)>, String> {
        if self.url.starts_with(UNKNOWN) {
            return Ok(None);
        }
        let path = SERVICES.iter().find_map(|service| self.url.strip_prefix(service)).filter(|path| path.starts_with('/'));
        let path = path.ok_or_else(|| format!("{} is no address of the examples' service", self.url))?;
        Ok(Some(path.split_once('?').unwrap_or((path, ""))))
    }
}

fn is_parameter(part: &str) -> bool {
    part.starts_with('{') && part.ends_with('}')
}

/// Does this part of a written path mean that part of an operation's?
fn is_same_part(known: &str, written: &str) -> bool {
    known == written || (is_parameter(known) && !written.is_empty()) || (written == "…")
}

fn is_same(known: &str, written: &str) -> bool {
    known.split('/').count() == written.split('/').count()
        && known.split('/').zip(written.split('/')).all(|(known, written)| is_same_part(known, written))
}

fn is_start(known: &str, written: &str) -> bool {
    known.split('/').count() >= written.split('/').count()
        && known.split('/').zip(written.split('/')).all(|(known, written)| is_same_part(known, written))
}

fn is_end(known: &str, written: &str) -> bool {
    let (known, written): (Vec<&str>, Vec<&str>) = (known.split('/').collect(), written.split('/').collect());
    // A parameter of the operation stands for one of the text only, or `POST absent` would be any operation that ends with one.
    let is_same = |(known, written): (&&str, &&str)| if is_parameter(known) { is_parameter(written) } else { known == written };
    known.len() >= written.len() && known.iter().rev().zip(written.iter().rev()).all(is_same)
}

pub(super) fn example() -> ServicePaths {
    let document = serde_json::json!({
        "paths": {
            "/v1/apps": { "get": {}, "post": { "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/schemas/New" } } } } } },
            "/v1/apps/{app}": { "get": { "parameters": [{ "name": "limit", "in": "query" }, { "name": "app", "in": "path" }] } },
            "/v1/apps/{app}/releases": { "post": { "requestBody": { "content": { "multipart/form-data": {
                "schema": { "properties": { "package": {}, "packageInfo": { "$ref": "#/schemas/New" } } } } } } } },
        },
        "schemas": { "New": { "allOf": [{ "properties": { "name": {} } }] } },
    });
    ServicePaths::new(document, &["/", "/keys/new", "/keys/api/{key}"])
}

#[test]
fn a_request_that_the_service_does_not_have_is_refused() {
    let service_paths = example();
    let curl = |line: &str| service_paths.curl(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    let at = "http://localhost:8787/v1/apps";
    for good in [
        format!("-s {at}/demo?limit=5"),
        format!("-sX POST -d {{\"name\":\"x\"}} {at}"),
        format!("-sd {{}} {at}"),
        format!("-F package=@x.zip -F packageInfo={{\"name\":1}} {at}/demo/releases"),
        UNKNOWN.to_string(),
    ] {
        assert_eq!(curl(&good), Ok(()), "{good}");
    }
    for (bad, reason) in [
        (format!("-s {at}s"), "GET /v1/appss is no operation of the service"),
        (format!("-sX DELETE {at}"), "DELETE /v1/apps is no operation of the service"),
        (format!("-s {at}/demo?limits=5"), "GET /v1/apps/demo has no parameter limits"),
        (format!("-d {{\"title\":\"x\"}} {at}"), "POST /v1/apps has no member title"),
        (format!("-d {{\"name\"}} {at}"), "{\"name\"} is no JSON: expected `:` at line 1 column 8"),
        (format!("-F file=@x.zip {at}/demo/releases"), "POST /v1/apps/demo/releases has no member file"),
        (format!("-F packageInfo={{\"title\":1}} {at}/demo/releases"), "POST /v1/apps/demo/releases has no member title"),
        (format!("-F packageInfo={{a}} {at}/demo/releases"), "{a} is no JSON: key must be a string at line 1 column 2"),
        (format!("-k {at}"), "curl has no -k that our examples need"),
        ("http://localhost:1/v1/apps".to_owned(), "http://localhost:1/v1/apps is no address of the examples' service"),
        ("-s".to_owned(), "curl has 0 addresses"),
    ] {
        assert_eq!(curl(&bad), Err(reason.to_owned()), "{bad}");
    }
    for good in ["GET /v1/apps/{name}", "POST …/releases", "POST {app}/releases", "/v1", "/keys/new", "/dashboard/keys/…", "GET it", "a/b"]
    {
        assert_eq!(service_paths.span(good).is_ok(), good != "GET it", "{good}");
    }
    for bad in ["GET /v1/app", "DELETE /v1/apps", "PATCH …/releases", "POST release", "/v2/apps", "/dashboard/absent"] {
        assert_eq!(service_paths.span(bad), Err(format!("{bad} is no path of the service")));
    }
}
