//! A reader of XML that knows where everything is, so that edits leave the rest of a file as it is.

use std::ops::Range;

/// How deep elements may be nested. Project files have less than ten levels.
const MAX_DEPTH: usize = 100;

/// An element and its places in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// Its name.
    pub(crate) name: String,
    /// Its attributes.
    pub(crate) attributes: Vec<Attribute>,
    /// The elements in it.
    pub(crate) children: Vec<Element>,
    /// All of it.
    pub(crate) range: Range<usize>,
    /// What is between its tags; `None` for `<name/>`.
    pub(crate) inner: Option<Range<usize>>,
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// Its name.
    pub(crate) name: String,
    /// Its value in the text, without the quotes.
    pub(crate) value: Range<usize>,
}

impl Element {
    /// The value of an attribute, decoded.
    pub(crate) fn attribute(&self, text: &str, name: &str) -> Option<String> {
        let attribute = self.attributes.iter().find(|attribute| attribute.name == name)?;
        text.get(attribute.value.clone()).map(decoded)
    }

    /// Its text, decoded.
    pub(crate) fn text(&self, text: &str) -> String {
        self.inner.clone().and_then(|inner| text.get(inner)).map(decoded).unwrap_or_default()
    }
}

/// Reads a document. Returns its root.
pub(crate) fn parse(text: &str) -> Result<Element, String> {
    let mut reader = Reader { text, place: 0 };
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    while let Some(start) = reader.skip_to('<') {
        if reader.skip_past("<!--", "-->")? || reader.skip_past("<![CDATA[", "]]>")? || reader.skip_past("<?", "?>")? || reader.doctype()? {
            continue;
        }
        let finished = if reader.eat("</") {
            let name = reader.name();
            reader.skip_space();
            let Some(mut element) = open.pop().filter(|element| element.name == name && reader.eat(">")) else {
                return Err(reader.malformed(&format!("</{name}> does not close what is open")));
            };
            element.inner = Some(element.inner.map_or(start..start, |inner| inner.start..start));
            element.range.end = reader.place;
            element
        } else {
            let (element, is_empty) = reader.opening()?;
            if !is_empty {
                if open.len() >= MAX_DEPTH || root.is_some() {
                    return Err(reader.malformed("its elements are not nested as expected"));
                }
                open.push(element);
                continue;
            }
            element
        };
        match open.last_mut() {
            Some(parent) => parent.children.push(finished),
            None if root.is_none() => root = Some(finished),
            None => return Err(reader.malformed("it has more than one root element")),
        }
    }
    match (root, open.last()) {
        (_, Some(element)) => Err(format!("<{}> is not closed", element.name)),
        (Some(root), None) => Ok(root),
        (None, None) => Err("it has no elements".to_owned()),
    }
}

struct Reader<'t> {
    text: &'t str,
    place: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.place..).unwrap_or_default()
    }

    fn skip_to(&mut self, letter: char) -> Option<usize> {
        self.place += self.rest().find(letter)?;
        Some(self.place)
    }

    fn eat(&mut self, token: &str) -> bool {
        let is_here = self.rest().starts_with(token);
        if is_here {
            self.place += token.len();
        }
        is_here
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.place += rest.len() - rest.trim_start().len();
    }

    fn skip_past(&mut self, start: &str, end: &str) -> Result<bool, String> {
        if !self.eat(start) {
            return Ok(false);
        }
        let Some(length) = self.rest().find(end) else { return Err(self.malformed(&format!("{start} is not closed"))) };
        self.place += length + end.len();
        Ok(true)
    }

    /// `<!DOCTYPE …>`, with declarations in brackets.
    fn doctype(&mut self) -> Result<bool, String> {
        if !self.eat("<!") {
            return Ok(false);
        }
        let is_inside = self.rest().find('[').is_some_and(|bracket| self.rest().find('>').is_none_or(|end| bracket < end));
        let end = if is_inside { self.rest().find(']').unwrap_or_default() } else { 0 };
        self.place += end;
        if self.skip_to('>').is_none() {
            return Err(self.malformed("<! is not closed"));
        }
        self.place += 1;
        Ok(true)
    }

    fn name(&mut self) -> String {
        let name: String = self.rest().chars().take_while(|letter| !letter.is_whitespace() && !"<>/=\"'".contains(*letter)).collect();
        self.place += name.len();
        name
    }

    /// An opening tag, and whether it is empty.
    fn opening(&mut self) -> Result<(Element, bool), String> {
        let start = self.place;
        self.place += 1;
        let name = self.name();
        if name.is_empty() {
            return Err(self.malformed("a tag has no name"));
        }
        let mut attributes = Vec::new();
        loop {
            self.skip_space();
            let is_empty = self.eat("/>");
            if is_empty || self.eat(">") {
                let inner = (!is_empty).then_some(self.place..self.place);
                return Ok((Element { name, attributes, children: Vec::new(), range: start..self.place, inner }, is_empty));
            }
            attributes.push(self.attribute()?);
        }
    }

    fn attribute(&mut self) -> Result<Attribute, String> {
        let name = self.name();
        self.skip_space();
        let has_value = !name.is_empty() && self.eat("=");
        self.skip_space();
        let quote = if self.eat("\"") { '"' } else { '\'' };
        if !has_value || (quote == '\'' && !self.eat("'")) {
            return Err(self.malformed("an attribute has no value in quotes"));
        }
        let start = self.place;
        let Some(end) = self.skip_to(quote) else { return Err(self.malformed("an attribute's quotes are not closed")) };
        self.place += 1;
        Ok(Attribute { name, value: start..end })
    }

    fn malformed(&self, what: &str) -> String {
        let line = 1 + self.text.get(..self.place).unwrap_or_default().matches('\n').count();
        format!("line {line}: {what}")
    }
}

/// Text of a document without entities.
fn decoded(text: &str) -> String {
    let text = text.trim().strip_prefix("<![CDATA[").and_then(|text| text.strip_suffix("]]>")).unwrap_or(text);
    // The ampersand last, so that nothing is decoded twice.
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&#38;", "&")
        .replace("&amp;", "&")
}

/// Text with entities, for elements and for attributes in either quotes.
pub(crate) fn encoded(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&apos;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_declarations_are_no_elements() {
        let text = "\u{feff}<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY b \"c\">]>\n<!-- <x> --><a b='1>2'>\n <![CDATA[<y>]]><c/><d >t</d ></a>\n";
        let root = parse(text).unwrap();
        assert_eq!((root.name.as_str(), root.attribute(text, "b").as_deref()), ("a", Some("1>2")));
        let names: Vec<&str> = root.children.iter().map(|child| child.name.as_str()).collect();
        assert_eq!(names, ["c", "d"]);
        assert_eq!(root.children[1].text(text), "t");
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for text in ["", "x", "<a>", "<a></b>", "<a/><b/>", "<a b></a>", "<a b=c/>", "<a b=\"c/>", "<!-- a", "<a><b></a></b>", "<", "< a/>"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("<a>\n<b>\n</a>"), Err("line 3: </a> does not close what is open".to_owned()));
        assert!(parse(&"<a>".repeat(200)).is_err());
    }

    #[test]
    fn encoding_is_undone_by_decoding() {
        assert_eq!(decoded(&encoded("a&b<c>\"d'&amp;")), "a&b<c>\"d'&amp;");
    }
}
