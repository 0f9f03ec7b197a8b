//! The pages that the browser shows after the approval. They load nothing.

use crate::error::Error;

/// A response of the loopback listener.
#[derive(Clone, Debug)]
pub(super) struct Page {
    status: &'static str,
    title: &'static str,
    text: String,
}

/// Says whether signing in worked.
pub(super) fn outcome<T>(result: &Result<T, Error>) -> Page {
    match result {
        Ok(_) => Page { status: "200 OK", title: "You are signed in", text: "Close this tab and go back to your terminal.".to_owned() },
        Err(error) => {
            Page { status: "400 Bad Request", title: "You are not signed in", text: format!("{}. {}", sentence(&error.what), error.next) }
        }
    }
}

/// Says that this is not the sign-in that the CLI waits for.
pub(super) fn other_sign_in() -> Page {
    let text = "This page belongs to another sign-in. Run updraft login again.".to_owned();
    Page { status: "400 Bad Request", title: "You are not signed in", text }
}

/// Says that there is nothing here.
pub(super) fn not_found() -> Page {
    Page { status: "404 Not Found", title: "Nothing here", text: "The Updraft CLI waits here for a sign-in.".to_owned() }
}

impl Page {
    /// The whole HTTP response.
    pub(super) fn response(&self) -> String {
        let (status, title, text) = (self.status, self.title, escaped(&self.text));
        let html = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>{title} - Updraft CLI</title>\
             <style>:root{{color-scheme:light dark;font:1.1rem/1.5 system-ui,sans-serif}}main{{max-width:32rem;margin:20vh auto;padding:0 1rem}}</style>\
             <main><h1>{title}</h1><p>{text}</p></main></html>\n"
        );
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
             X-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n\
             Connection: close\r\n\r\n{html}",
            html.len()
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_elsewhere_is_escaped() {
        let response = outcome::<()>(&Err(Error::failed("it said <script>", "Try \"again\"."))).response();
        assert!(response.contains("It said &lt;script&gt;. Try &quot;again&quot;.") && !response.contains("<script>"), "{response}");
    }
}
