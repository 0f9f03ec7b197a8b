//! Multipart bodies built byte by byte, including those that a client library would not send.

/// Separates the parts.
pub const BOUNDARY: &str = "--------------------------updraft0123456789";

/// An unfinished body.
#[derive(Clone, Debug, Default)]
pub struct Multipart(pub Vec<u8>);

impl Multipart {
    /// Adds a part; `disposition` is the text after `form-data`.
    #[must_use]
    pub fn part(mut self, disposition: &str, bytes: &[u8]) -> Self {
        self.0.extend(format!("--{BOUNDARY}\r\nContent-Disposition: form-data{disposition}\r\n\r\n").as_bytes());
        self.0.extend(bytes);
        self.0.extend(b"\r\n");
        self
    }

    /// Adds a file.
    #[must_use]
    pub fn file(self, name: &str, bytes: &[u8]) -> Self {
        self.part(&format!("; name=\"{name}\"; filename=\"bundle.zip\""), bytes)
    }

    /// Adds a text.
    #[must_use]
    pub fn text(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.part(&format!("; name=\"{name}\""), text.as_ref())
    }

    /// The complete body.
    pub fn end(mut self) -> Vec<u8> {
        self.0.extend(format!("--{BOUNDARY}--\r\n").as_bytes());
        self.0
    }

    /// The header `Content-Type`.
    pub fn content_type() -> String {
        format!("multipart/form-data; boundary={BOUNDARY}")
    }
}
