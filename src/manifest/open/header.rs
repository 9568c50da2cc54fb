//! A microbatch manifest's first line, and what can be saved of a bad one.
use crate::canonical::Count;
use crate::finding::Code;
use crate::manifest::contract::Contract;
use crate::manifest::document::Header;
use crate::manifest::explain;
use crate::manifest::explain::Fault;
use crate::manifest::json;
use crate::manifest::json::Node;
use crate::manifest::limits::LINE_BYTES;
use crate::manifest::open::sniff::BYTE_ORDER_MARK;
use crate::manifest::read::lines::Lines;

/// What a header says.
#[derive(Debug, Default)]
pub(crate) struct HeaderRead {
    /// The rank that it names, where that could be read.
    pub(crate) rank: Option<u64>,
    /// Its contract, where that could be read.
    pub(crate) contract: Option<Contract>,
    /// It names no contract at all.
    pub(crate) lacks_contract: bool,
    /// What is wrong with it; nothing more of the file is of use where it is of another version.
    pub(crate) faults: Vec<Fault>,
}

impl HeaderRead {
    /// Whether the lines after it can be taken for events.
    pub(crate) fn has_events(&self) -> bool {
        !self.faults.iter().any(|fault| fault.code == Code::GA102 && fault.pointer == "/schema")
    }
}

/// Takes the first line.
pub(crate) fn take(lines: &mut Lines) -> HeaderRead {
    let read = read(lines.peek_line());
    lines.skip_line();
    read
}

/// Reads the first line, and explains it where it can't be read.
pub(crate) fn read(line: &[u8]) -> HeaderRead {
    if line.len() > LINE_BYTES {
        return HeaderRead { faults: vec![explain::overlong()], ..HeaderRead::default() };
    }
    let Some(marked) = line.strip_prefix(BYTE_ORDER_MARK) else { return unmarked(line) };
    let mut read = unmarked(marked);
    for fault in &mut read.faults {
        fault.span = fault.span.start + BYTE_ORDER_MARK.len()..fault.span.end + BYTE_ORDER_MARK.len();
    }
    read.faults.insert(0, byte_order_mark());
    read
}

pub(crate) fn byte_order_mark() -> Fault {
    Fault::new(Code::GA101, String::new(), "the text begins with a byte-order mark", 0..BYTE_ORDER_MARK.len())
}

fn unmarked(line: &[u8]) -> HeaderRead {
    let error = match serde_json::from_slice::<Header>(line) {
        Ok(Header { contract, rank, .. }) => {
            let lacks_contract = contract.is_none();
            return HeaderRead { rank: Some(rank.get()), contract, lacks_contract, faults: Vec::new() };
        }
        Err(error) => error,
    };
    if line.trim_ascii().is_empty() {
        let message = "the first line is blank; a microbatch manifest begins with its header";
        let faults = vec![Fault::new(Code::GA101, String::new(), message, 0..0)];
        return HeaderRead { faults, ..HeaderRead::default() };
    }
    let tree = json::parse(line);
    let member = |name| tree.root().and_then(|root| root.member(name));
    HeaderRead {
        rank: member("rank").and_then(|rank| serde_json::from_slice(rank.text()).ok()).map(Count::get),
        contract: member("contract").map(Node::text).and_then(|text| serde_json::from_slice(text).ok()),
        lacks_contract: false,
        faults: explain::header(line, &tree, &error),
    }
}
