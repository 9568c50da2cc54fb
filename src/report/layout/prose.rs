//! The little Markdown that rule pages are written in, as blocks: headings, paragraphs, lists, code.
use super::Block;
use super::Line;
use super::Role;
use super::Section;

/// The sections of a page. What stands before the first heading is a section without a title.
pub fn sections(markdown: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut body = String::new();
    let mut title = String::new();
    let mut close = |title: &str, body: &str| {
        let blocks = blocks(body);
        if !blocks.is_empty() {
            sections.push(Section { title: title.to_owned(), blocks });
        }
    };
    for line in unindented(markdown) {
        match line.strip_prefix("## ") {
            Some(next) => {
                close(&title, &body);
                body.clear();
                next.clone_into(&mut title);
            }
            None => {
                body.push_str(line);
                body.push('\n');
            }
        }
    }
    close(&title, &body);
    sections
}

/// The lines of a doc comment without the space behind the slashes.
fn unindented(markdown: &str) -> impl Iterator<Item = &str> {
    markdown.lines().map(|line| line.strip_prefix(' ').unwrap_or(line))
}

/// The blocks of a section.
pub fn blocks(markdown: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        if line.starts_with("```") {
            let code = lines.by_ref().take_while(|line| !line.starts_with("```")).map(str::to_owned);
            blocks.push(Block::Figure(code.collect()));
            continue;
        }
        // A paragraph or an item goes on until an empty line or the next item.
        let mut text = line.trim().to_owned();
        while let Some(next) =
            lines.next_if(|next| !next.trim().is_empty() && item(next).is_none() && !next.starts_with("```"))
        {
            text.push(' ');
            text.push_str(next.trim());
        }
        match (item(line), blocks.last_mut()) {
            (Some(_), Some(Block::List(items))) => items.push((0, spans(item(&text).unwrap_or(&text)))),
            (Some(_), _) => blocks.push(Block::List(vec![(0, spans(item(&text).unwrap_or(&text)))])),
            (None, _) => blocks.push(Block::Paragraph(spans(&text))),
        }
    }
    blocks
}

/// The text of a list's item.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("* ").or(line.strip_prefix("- "))
}

/// Running text with code spans and emphasis.
pub fn spans(text: &str) -> Line {
    let mut line = Line::new();
    for (index, piece) in text.split('`').enumerate() {
        if index % 2 == 1 {
            line = line.code(piece);
            continue;
        }
        for (index, piece) in piece.split("**").enumerate().filter(|(_, piece)| !piece.is_empty()) {
            line = line.with(if index % 2 == 1 { Role::Strong } else { Role::Plain }, piece);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_in_blocks() {
        let page = " ## What it does\n Reads `a b`\n and **more**.\n\n * one\n   goes on\n * two\n\n ```\n x = 1\n ```\n ## Next\n Text.\n";
        let sections = sections(page);
        assert_eq!(sections.len(), 2);
        assert_eq!(sections[0].title, "What it does");
        assert_eq!(
            sections[0].blocks,
            [
                Block::Paragraph(Line::new().text("Reads ").code("a b").text(" and ").strong("more").text(".")),
                Block::List(vec![(0, "one goes on".into()), (0, "two".into())]),
                Block::Figure(vec!["x = 1".to_owned()]),
            ]
        );
        assert_eq!(sections[1], Section::new("Next").paragraph("Text."));
    }
}
