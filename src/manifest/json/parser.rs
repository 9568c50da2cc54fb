//! Text to tree. Faults are noted and, where it is clear what was meant, parsing goes on.
use crate::finding::Code;
use crate::manifest::json::TOKENS;
use crate::manifest::json::lexer;
use crate::manifest::json::string;
use crate::manifest::json::tree::Kind;
use crate::manifest::json::tree::Mistake;
use crate::manifest::json::tree::Token;
use crate::manifest::json::tree::Tree;
use crate::manifest::limits::NESTING;
use crate::manifest::limits::RANKS;
use crate::manifest::limits::VECTOR;
use crate::manifest::pointer::Pointer;
use std::ops::Range;

/// Parses one value and all that is in it.
pub(crate) fn parse(text: &[u8]) -> Tree<'_> {
    tree(text, Inside::Plain)
}

/// Parses a rank manifest, in which events are not looked into.
pub(crate) fn parse_document(text: &[u8]) -> Tree<'_> {
    tree(text, Inside::Document)
}

fn tree(text: &[u8], inside: Inside) -> Tree<'_> {
    let tokens = Vec::new();
    let mut parser = Parser { text, at: 0, depth: 0, tokens, mistakes: Vec::new(), pointer: Pointer::default() };
    if parser.value(inside).is_ok() {
        parser.skip_space();
        if parser.at < text.len() {
            parser.mistake(Code::GA101, parser.at..text.len(), "there is something after the end of the value");
        }
    }
    Tree { text, tokens: parser.tokens, mistakes: parser.mistakes }
}

/// Which part of a document is being parsed.
#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Plain,
    Document,
    Ranks,
    Entry,
    Events,
}

impl Inside {
    fn member(self, key: &str) -> Self {
        match (self, key) {
            (Inside::Document, "ranks") => Inside::Ranks,
            (Inside::Entry, "events") => Inside::Events,
            _ => Inside::Plain,
        }
    }

    /// The longest list that anything takes here.
    fn longest(self) -> usize {
        match self {
            Inside::Ranks => RANKS as usize,
            Inside::Events => usize::MAX,
            _ => VECTOR,
        }
    }

    fn element(self) -> Self {
        if self == Inside::Ranks { Inside::Entry } else { Inside::Plain }
    }
}

/// Nothing more can be made of the text; why has been noted.
struct Stop;

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    tokens: Vec<Token>,
    mistakes: Vec<Mistake>,
    pointer: Pointer,
}

impl Parser<'_> {
    fn mistake(&mut self, code: Code, span: Range<usize>, message: impl Into<String>) {
        self.mistakes.push(Mistake { code, pointer: self.pointer.to_string(), message: message.into(), span });
    }

    fn stop<T>(&mut self, span: Range<usize>, message: impl Into<String>) -> Result<T, Stop> {
        self.mistake(Code::GA101, span, message);
        Err(Stop)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn here(&self) -> Range<usize> {
        self.at..self.text.len().min(self.at + 1)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn push(&mut self, kind: Kind, start: usize) -> usize {
        let index = self.tokens.len();
        self.tokens.push(Token { kind, is_torn: false, next: index as u32 + 1, start, end: self.at });
        index
    }

    fn value(&mut self, inside: Inside) -> Result<(), Stop> {
        self.skip_space();
        if self.tokens.len() >= TOKENS && inside == Inside::Plain {
            self.mistake(Code::GA115, self.here(), format!("more than {TOKENS} values: not looked at any further"));
            return Err(Stop);
        }
        match self.peek() {
            None => self.stop(self.here(), "the text breaks off where a value is expected"),
            Some(b'{' | b'[') if self.depth == NESTING => self.too_deep(),
            Some(open @ (b'{' | b'[')) => self.container(open, inside),
            Some(b'"') => self.string().map(drop),
            Some(_) => self.scalar(),
        }
    }

    fn too_deep(&mut self) -> Result<(), Stop> {
        let start = self.at;
        self.mistake(Code::GA115, self.here(), format!("nested deeper than the limit of {NESTING}"));
        // Where the brackets don't close again either, that it is too deep is what there is to say.
        let is_closed = self.skip_balanced();
        self.push(Kind::Bad, start);
        if is_closed { Ok(()) } else { Err(Stop) }
    }

    /// Goes over a value without looking into it; whether it has an end.
    fn skip_balanced(&mut self) -> bool {
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    let scanned = string::scan(self.text, self.at, |_, _| {});
                    self.at = scanned.end;
                    if !scanned.is_closed {
                        return false;
                    }
                }
                b'{' | b'[' => (open, self.at) = (open + 1, self.at + 1),
                b'}' | b']' if open > 0 => (open, self.at) = (open - 1, self.at + 1),
                b'}' | b']' | b',' if open == 0 => return true,
                b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' => self.at += 1,
                _ => self.at = lexer::run(self.text, self.at).max(self.at + 1),
            }
            if open == 0 {
                return true;
            }
        }
        false
    }

    fn container(&mut self, open: u8, inside: Inside) -> Result<(), Stop> {
        let kind = if open == b'{' { Kind::Object } else { Kind::Array };
        let index = self.push(kind, self.at);
        self.at += 1;
        self.depth += 1;
        let outcome = if kind == Kind::Object { self.members(inside) } else { self.elements(inside) };
        self.depth -= 1;
        let next = self.tokens.len() as u32;
        let token = &mut self.tokens[index];
        (token.end, token.next) = (self.at, next);
        token.is_torn |= outcome.is_err();
        outcome
    }

    fn members(&mut self, inside: Inside) -> Result<(), Stop> {
        let container = self.tokens.len() - 1;
        while self.goes_on(b'}', self.tokens.len() > container + 1)? {
            if self.peek() != Some(b'"') {
                return self.bad_key();
            }
            let before = self.tokens.len();
            let key = self.string()?;
            self.skip_space();
            match self.peek() {
                Some(b':') => self.at += 1,
                Some(b'"' | b'{' | b'[' | b'0'..=b'9' | b'-') => {
                    self.mistake(Code::GA101, self.here(), "a colon is missing between key and value");
                }
                Some(_) => return self.cut(before, "a colon is expected after the key"),
                None => return self.cut(before, "the text breaks off after a key"),
            }
            self.pointer.push_key(&key);
            let outcome = self.value(inside.member(&key));
            self.pointer.pop();
            if outcome.is_err() {
                // A key whose value is not there at all.
                if self.tokens.len() == before + 1 {
                    self.tokens.truncate(before);
                }
                return Err(Stop);
            }
        }
        Ok(())
    }

    fn cut(&mut self, tokens: usize, message: &str) -> Result<(), Stop> {
        self.tokens.truncate(tokens);
        self.stop(self.here(), message)
    }

    fn bad_key(&mut self) -> Result<(), Stop> {
        let message = match self.peek() {
            Some(b'\'') => "JSON strings have double quotes",
            Some(b'/' | b'#') => "JSON has no comments",
            _ => "a key in double quotes is expected",
        };
        self.stop(self.here(), message)
    }

    fn elements(&mut self, inside: Inside) -> Result<(), Stop> {
        let container = self.tokens.len() - 1;
        let mut count = 0;
        while self.goes_on(b']', count > 0)? {
            if count > inside.longest() {
                return self.overlong(container);
            }
            self.pointer.push_index(count);
            let outcome = if inside == Inside::Events { self.raw() } else { self.value(inside.element()) };
            self.pointer.pop();
            outcome?;
            count += 1;
        }
        Ok(())
    }

    /// A list that no type takes: one past its longest is enough of it.
    fn overlong(&mut self, container: usize) -> Result<(), Stop> {
        self.tokens[container].is_torn = true;
        while self.peek().is_some_and(|byte| byte != b']') {
            if !self.skip_balanced() {
                return self.stop(self.here(), "the text breaks off inside a list");
            }
            self.skip_space();
            if self.peek() == Some(b'}') {
                return self.stop(self.here(), "`}` closes what `[` opened");
            }
            if self.peek() == Some(b',') {
                self.at += 1;
            }
        }
        self.at += 1;
        Ok(())
    }

    fn raw(&mut self) -> Result<(), Stop> {
        let start = self.at;
        if !self.skip_balanced() {
            return self.stop(start..self.text.len(), "the text breaks off inside an event");
        }
        self.push(Kind::Raw, start);
        Ok(())
    }

    /// Goes to the next member or element; whether there is one.
    fn goes_on(&mut self, close: u8, is_later: bool) -> Result<bool, Stop> {
        self.skip_space();
        let comma = self.here();
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                return Ok(false);
            }
            Some(b',') if is_later => {
                self.at += 1;
                self.skip_space();
                if self.peek() == Some(close) {
                    self.mistake(Code::GA101, comma, "JSON has no comma after the last value");
                    self.at += 1;
                    return Ok(false);
                }
            }
            Some(b'"' | b'{' | b'[' | b'0'..=b'9' | b'-') if is_later => {
                self.mistake(Code::GA101, comma, "a comma is missing before this");
            }
            _ => {}
        }
        match self.peek() {
            None => self.stop(self.here(), format!("the text breaks off before a closing `{}`", close as char)),
            Some(byte @ (b'}' | b']')) => {
                self.stop(self.here(), format!("`{}` is expected, not `{}`", close as char, byte as char))
            }
            Some(b',' | b':') => self.stop(self.here(), "a value is expected"),
            Some(_) => Ok(true),
        }
    }

    fn string(&mut self) -> Result<String, Stop> {
        let start = self.at;
        let mut faults = Vec::new();
        let scanned = string::scan(self.text, start, |span, message| faults.push((span, message.to_owned())));
        self.at = scanned.end;
        let is_bad = !faults.is_empty();
        for (span, message) in faults {
            self.mistake(Code::GA101, span, message);
        }
        if !scanned.is_closed {
            return self.stop(start..self.at, "the text breaks off inside a string");
        }
        let value = string::decode(&self.text[start..self.at]);
        self.push(if is_bad { Kind::Bad } else { Kind::String }, start);
        Ok(value)
    }

    fn scalar(&mut self) -> Result<(), Stop> {
        let start = self.at;
        let end = lexer::run(self.text, start);
        if end == start {
            let message = match self.text[start] {
                b'\'' => "JSON strings have double quotes",
                b'/' | b'#' => "JSON has no comments",
                0 => "a NUL stands where a value is expected",
                _ => "a value is expected",
            };
            return self.stop(self.here(), message);
        }
        self.at = end;
        let (kind, fault) = lexer::scalar(&self.text[start..end]);
        if let Some((code, message)) = fault {
            self.mistake(code, start..end, message);
        }
        self.push(kind, start);
        Ok(())
    }
}
