//! A user of the dashboard with a browser that runs no scripts: it keeps cookies, follows redirects, and submits forms.

use std::collections::BTreeMap;

use reqwest::Method;
use reqwest::header::{COOKIE, HeaderMap, LOCATION, SET_COOKIE};

use crate::{Answer, Client, TestApp};

/// A browser without scripts.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The HTTP client.
    pub client: Client,
    /// Its cookies by name.
    pub cookies: BTreeMap<String, String>,
    /// Every request so far: method, path and query.
    pub asked: Vec<String>,
}

/// A loaded page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its path with the query.
    pub path: String,
    /// The response.
    pub answer: Answer,
}

/// A form of a page.
#[derive(Clone, Debug)]
pub struct Form {
    /// Its action.
    pub action: String,
    /// Its fields and their values.
    pub fields: BTreeMap<String, String>,
}

impl TestApp {
    /// A browser without scripts and without cookies.
    pub fn reader(&self) -> Reader {
        Reader { client: self.anonymous(), cookies: BTreeMap::new(), asked: Vec::new() }
    }

    /// A browser in which `<name>@example.com`, who has [`crate::people::PASSWORD`] and no second factor, is signed in.
    pub async fn signed_in_reader(&self, name: &str) -> Reader {
        let mut reader = self.reader();
        reader.sign_in(&format!("{name}@example.com"), crate::people::PASSWORD).await.shows("Sign out");
        reader
    }
}

impl Reader {
    /// One request; returns the response without following redirects, and keeps its cookies.
    pub async fn ask(&mut self, method: Method, path: &str, headers: &[(&str, &str)], body: Option<String>) -> Answer {
        self.asked.push(format!("{method} {path}"));
        let mut request = self.client.request(method, path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !self.cookies.is_empty() {
            let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.header(COOKIE, cookies.join("; "));
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let answer = self.client.send(request).await;
        self.keep(&answer.headers);
        answer
    }

    fn keep(&mut self, headers: &HeaderMap) {
        for set in headers.get_all(SET_COOKIE) {
            let (name, rest) = set.to_str().unwrap().split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if value.is_empty() || rest.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// Opens a page, and follows redirects.
    pub async fn open(&mut self, path: &str) -> Page {
        let mut path = path.to_owned();
        for _ in 0..5 {
            let answer = self.ask(Method::GET, &path, &[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")], None).await;
            if !answer.status.is_redirection() {
                return Page { path, answer };
            }
            answer.headers[LOCATION].to_str().unwrap().clone_into(&mut path);
            if let Some((_, rest)) = path.split_once("://") {
                path = rest.find('/').map_or("/", |at| &rest[at..]).to_owned();
            }
        }
        panic!("{path} has an endless chain of redirects")
    }

    /// Submits a form like a browser, and follows redirects.
    pub async fn send(&mut self, form: &Form) -> Page {
        let answer = self.post(form).await;
        if answer.status.as_u16() == 303 {
            let location = answer.headers[LOCATION].to_str().unwrap().to_owned();
            return self.open(&location).await;
        }
        Page { path: form.action.clone(), answer }
    }

    /// The same without following redirects.
    pub async fn post(&mut self, form: &Form) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(&form.fields).finish();
        let headers = [("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-site", "same-origin")];
        self.ask(Method::POST, &form.action, &headers, Some(body)).await
    }

    /// Opens the page of a form, fills in fields, and submits it.
    pub async fn fill(&mut self, page: &str, fields: &[(&str, &str)]) -> Page {
        let page = self.open(page).await;
        self.send(&page.form().with(fields)).await
    }

    /// Signs in with a password.
    pub async fn sign_in(&mut self, email: &str, password: &str) -> Page {
        let page = self.open("/dashboard/sign-in").await;
        // With passkeys enabled, the page has a form for them, too.
        self.send(&page.form_to("/dashboard/sign-in").with(&[("email", email), ("password", password)])).await
    }
}

impl Form {
    /// Whether it is a passkey form, which only a script can fill in.
    fn is_scripted(&self) -> bool {
        self.fields.contains_key("response")
    }

    /// The same with other values of these fields, which must exist.
    #[track_caller]
    #[must_use]
    pub fn with(mut self, fields: &[(&str, &str)]) -> Self {
        for (name, value) in fields {
            let field = self.fields.get_mut(*name).unwrap_or_else(|| panic!("the form has no field {name}"));
            (*value).clone_into(field);
        }
        self
    }
}

#[expect(clippy::return_self_not_must_use, reason = "chained expectations; the last page may be unused")]
impl Page {
    /// The HTML.
    pub fn html(&self) -> String {
        self.answer.text()
    }

    /// Expects a text on the page (as HTML), and returns the page.
    #[track_caller]
    pub fn shows(self, text: &str) -> Self {
        assert!(self.html().contains(text), "{}: no {text:?} in\n{}", self.answer.asked, self.html());
        self
    }

    /// Expects a status, and returns the page.
    #[track_caller]
    pub fn has_status(self, status: u16) -> Self {
        assert_eq!(self.answer.status.as_u16(), status, "{}: {}", self.answer.asked, self.html());
        self
    }

    /// Expects to be at a path, ignoring its query, and returns the page.
    #[track_caller]
    pub fn is_at(self, path: &str) -> Self {
        assert_eq!(self.path.split('?').next().unwrap(), path, "{}", self.html());
        self
    }

    /// The only form on the page, except those for signing out and for scripts.
    #[track_caller]
    pub fn form(&self) -> Form {
        let counts = |form: &Form| !form.action.ends_with("/sign-out") && !form.is_scripted();
        let forms: Vec<Form> = self.forms().into_iter().filter(counts).collect();
        assert_eq!(forms.len(), 1, "{}: {}", self.answer.asked, self.html());
        forms.into_iter().next().unwrap()
    }

    /// The form with this action, ignoring its query.
    #[track_caller]
    pub fn form_to(&self, action: &str) -> Form {
        let found = self.forms().into_iter().find(|form| form.action.split('?').next() == Some(action));
        found.unwrap_or_else(|| panic!("{}: no form to {action} in\n{}", self.answer.asked, self.html()))
    }

    /// Every form with method POST.
    pub fn forms(&self) -> Vec<Form> {
        let html = self.html();
        let forms = html.split("<form ").skip(1).map(|rest| rest.split("</form>").next().unwrap());
        let posted = forms.filter(|form| form.split('>').next().unwrap().contains("method=\"post\""));
        posted.map(|form| Form { action: attribute(form, "action").unwrap(), fields: fields(form) }).collect()
    }
}

fn fields(form: &str) -> BTreeMap<String, String> {
    let inputs = form.split("<input ").skip(1).map(|rest| rest.split('>').next().unwrap());
    // Checkboxes are submitted only when checked.
    let counts = |input: &&str| !input.contains("type=\"checkbox\"") || input.contains(" checked");
    inputs.filter(counts).filter_map(|input| Some((attribute(input, "name")?, attribute(input, "value").unwrap_or_default()))).collect()
}

/// An attribute of the first element in the text.
fn attribute(html: &str, name: &str) -> Option<String> {
    let (element, _) = html.split_once('>').unwrap_or((html, ""));
    let (_, rest) = format!(" {element}").split_once(&format!(" {name}=\"")).map(|(before, rest)| (before.to_owned(), rest.to_owned()))?;
    let value = rest.split('"').next()?;
    Some(unescape(value))
}

/// Text as a browser shows it.
pub fn unescape(html: &str) -> String {
    let named = [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\"")];
    let plain = named.iter().fold(html.to_owned(), |text, (from, to)| text.replace(from, to));
    plain.replace("&#38;", "&").replace("&amp;", "&")
}
