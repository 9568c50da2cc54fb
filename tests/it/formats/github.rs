//! GitHub's annotations, read back as its runner reads them.
use super::every_fixture;
use receipt::finding::Severity;
use receipt::report::ci::github;

/// A command of a log: its name, properties and message, unescaped.
struct Command {
    name: String,
    properties: Vec<(String, String)>,
    message: String,
}

/// As the runner does (`ActionCommand.TryParseV2`): a line that begins with `::`, white space aside.
fn command(line: &str) -> Option<Command> {
    let rest = line.trim_start().strip_prefix("::")?;
    let (head, message) = rest.split_once("::")?;
    let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
    let data = |text: &str| text.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%");
    let value = |text: &str| data(&text.replace("%3A", ":").replace("%2C", ","));
    let property = |each: &str| each.split_once('=').map(|(key, text)| (key.to_owned(), value(text)));
    Some(Command {
        name: name.to_owned(),
        properties: properties.split(',').filter_map(property).collect(),
        message: data(message),
    })
}

#[test]
fn every_fixture_is_annotated() {
    let mut annotated = 0;
    for each in every_fixture(github::text) {
        let commands: Vec<Command> = each.text.lines().filter_map(command).collect();
        let of = |name: &str| commands.iter().filter(|command| command.name == name).count();
        let (errors, warnings) = (each.problems(Severity::Error), each.problems(Severity::Warning));
        assert_eq!(of("error"), errors.min(10), "{}", each.name);
        assert_eq!(of("warning"), warnings.min(10), "{}", each.name);
        assert_eq!(of("notice"), usize::from(errors > 10 || warnings > 10), "{}", each.name);
        assert_eq!(commands.len(), of("error") + of("warning") + of("notice"), "{}: another command", each.name);
        for command in commands.iter().filter(|command| command.name != "notice") {
            let of =
                |key: &str| command.properties.iter().find(|(each, _)| each == key).map(|(_, value)| value.as_str());
            assert!(of("file").is_some_and(|file| file.starts_with("fixtures/")), "{}", each.name);
            assert!(of("title").is_some_and(|title| title.starts_with("GA")), "{}", each.name);
            assert!(!command.message.is_empty() && !command.message.contains('\u{1b}'), "{}", each.name);
            annotated += usize::from(of("line").is_some());
        }
        assert!(!each.text.contains("##["), "{}", each.name);
    }
    assert!(annotated > 100, "only {annotated} annotations have a line");
}
