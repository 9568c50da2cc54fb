//! Values of several shapes: which of them is meant, so that only its faults are told.
use crate::finding::Code;
use crate::manifest::explain::object;
use crate::manifest::explain::quote;
use crate::manifest::explain::suggest::suggestion;
use crate::manifest::explain::suggest::suggestion_or_all;
use crate::manifest::explain::walk;
use crate::manifest::explain::walk::Walk;
use crate::manifest::json::Kind;
use crate::manifest::json::Node;
use crate::manifest::schema;
use serde_json::Value;

/// The shapes that one schema allows, sorted by how they are told apart.
#[derive(Default)]
struct Shapes<'s> {
    /// Plain words.
    words: Vec<&'s str>,
    /// Objects with one key, which tells the shape.
    tagged: Vec<(&'s str, &'s Value)>,
    /// Objects in which the value of one key tells the shape.
    marked: Vec<(&'s str, &'s str, &'s Value)>,
    /// Other objects, told apart by the keys that they require.
    objects: Vec<&'s Value>,
    /// Arrays.
    arrays: Vec<&'s Value>,
    /// Numbers and the like.
    scalars: Vec<&'s Value>,
}

impl<'s> Shapes<'s> {
    fn of(branches: &'s [Value]) -> Self {
        let mut shapes = Shapes::default();
        for branch in branches.iter().map(schema::resolve) {
            if let Some(words) = schema::words(branch) {
                shapes.words.extend(words);
            } else if branch["type"] == "object" {
                shapes.object(branch);
            } else if branch["type"] == "array" {
                shapes.arrays.push(branch);
            } else {
                shapes.scalars.push(branch);
            }
        }
        shapes
    }

    fn object(&mut self, branch: &'s Value) {
        let properties = branch["properties"].as_object();
        let mark = properties.into_iter().flatten().find_map(|(key, value)| Some((&**key, value["const"].as_str()?)));
        match (mark, properties) {
            (Some((key, word)), _) => self.marked.push((key, word, branch)),
            (None, Some(one)) if one.len() == 1 => {
                self.tagged.extend(one.iter().map(|(tag, schema)| (&**tag, schema)));
            }
            _ => self.objects.push(branch),
        }
    }

    fn tags(&self) -> impl Iterator<Item = &'s str> + Clone {
        self.tagged.iter().map(|(tag, _)| *tag)
    }
}

/// Holds a value against the shape that it was meant to have.
pub(super) fn choose(walk: &mut Walk, branches: &[Value], node: Node<'_>) {
    let shapes = Shapes::of(branches);
    match node.kind() {
        Kind::String if !shapes.words.is_empty() => word(walk, &shapes, node),
        Kind::Object if !shapes.tagged.is_empty() => tagged(walk, &shapes, node),
        Kind::Object if !shapes.marked.is_empty() => marked(walk, &shapes, node),
        Kind::Object if !shapes.objects.is_empty() => by_keys(walk, &shapes, node),
        Kind::Array if !shapes.arrays.is_empty() => walk.value(shapes.arrays[0], node),
        Kind::Number | Kind::String if !shapes.scalars.is_empty() => walk.value(shapes.scalars[0], node),
        _ => {
            let message = format!("{}, where {} is expected", walk::found(node), expected(branches));
            walk.fault(Code::GA103, node.span(), message);
            walk.unknown(node);
        }
    }
}

/// What the shapes are, for a person.
pub(super) fn expected(branches: &[Value]) -> String {
    let shapes = Shapes::of(branches);
    if !shapes.tagged.is_empty() && !shapes.words.is_empty() {
        return "a plain word or an object with one tag".to_owned();
    }
    if !shapes.marked.is_empty() {
        return "an object".to_owned();
    }
    let all = branches.iter().map(|branch| walk::expected(schema::resolve(branch)));
    all.collect::<Vec<_>>().join(" or ")
}

fn word(walk: &mut Walk, shapes: &Shapes<'_>, node: Node<'_>) {
    let found = node.string().unwrap_or_default();
    if shapes.words.contains(&&*found) {
        return;
    }
    let near = suggestion(&found, shapes.words.iter().copied());
    let message = match shapes.tags().any(|tag| tag == found) {
        true => format!("{} is an object with fields, not a plain word", quote(&found)),
        false => format!("unknown word {}{near}", quote(&found)),
    };
    walk.fault(Code::GA103, node.span(), message);
}

fn tagged(walk: &mut Walk, shapes: &Shapes<'_>, node: Node<'_>) {
    object::duplicates(walk, node);
    let count = node.members().count();
    if count == 0 && !node.is_torn() {
        walk.fault(Code::GA103, node.span(), "an object without a tag");
    }
    if let (Some((first, _)), Some((second, _))) = (node.members().next(), node.members().nth(1)) {
        let (first, tag) = (first.string().unwrap_or_default(), second.string().unwrap_or_default());
        // The same tag twice has been told as a key that is there twice.
        if first != tag {
            let message = format!("a second tag, {}, beside {}: one line is one event", quote(&tag), quote(&first));
            walk.fault(Code::GA103, second.span(), message);
        }
    }
    for (key, value) in node.members() {
        let name = key.string().unwrap_or_default();
        walk.pointer.push_key(&name);
        match shapes.tagged.iter().find(|(tag, _)| *tag == name) {
            Some((_, schema)) => walk.value(schema, value),
            None => {
                let message = match shapes.words.contains(&&*name) {
                    true => format!("{} is a plain word, without fields", quote(&name)),
                    false => format!("unknown tag {}{}", quote(&name), suggestion_or_all(&name, shapes.tags())),
                };
                walk.fault(Code::GA103, key.span(), message);
                walk.unknown(value);
            }
        }
        walk.pointer.pop();
    }
}

fn marked(walk: &mut Walk, shapes: &Shapes<'_>, node: Node<'_>) {
    let key = shapes.marked[0].0;
    let Some(mark) = node.member(key) else {
        if !node.is_torn() {
            walk.fault(Code::GA103, node.span(), format!("missing field `{key}`"));
        }
        return walk.unknown(node);
    };
    let word = mark.string();
    if let Some((_, _, schema)) = shapes.marked.iter().find(|(_, value, _)| Some(*value) == word.as_deref()) {
        return object::members(walk, schema, node);
    }
    let words = shapes.marked.iter().map(|(_, value, _)| *value);
    let near = word.map(|word| suggestion(&word, words.clone())).unwrap_or_default();
    let list = words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    walk.pointer.push_key(key);
    walk.fault(Code::GA103, mark.span(), format!("{}, where one of {list} is expected{near}", walk::found(mark)));
    walk.pointer.pop();
    walk.unknown(node);
}

/// The shape of which most required keys are there.
fn by_keys(walk: &mut Walk, shapes: &Shapes<'_>, node: Node<'_>) {
    let there = |schema: &&&Value| {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        required.filter(|name| node.member(name).is_some()).count()
    };
    let best = shapes.objects.iter().rev().max_by_key(there).expect("bug: a choice of no objects");
    object::members(walk, best, node);
}
