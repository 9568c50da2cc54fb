//! The two declaration macros: one record to a file, one list to a family.

/// Declares a rule's record. The doc comment is the user's page: `receipt explain GA203`, `docs/rules/` and SARIF's help
/// all come from it. It has the sections "What it does", "Why it is wrong" and "What to do".
macro_rules! rule {
    ($(#[doc = $line:expr])* $code:ident, $check:expr) => {
        $(#[doc = $line])*
        pub(super) static RULE: $crate::rules::Rule = $crate::rules::Rule {
            code: $crate::finding::Code::$code,
            docs: concat!($($line, "\n"),*),
            file: file!(),
            check: $check,
        };
    };
}

/// Declares modules, a registry of their statics, and one `#[test]` per entry, from one list, so that
/// "written but not registered" and "registered but not tested" cannot happen.
macro_rules! registry {
    ($(#[$meta:meta])* $name:ident: $ty:ty = $stat:ident, test $test:path; $($module:ident),+ $(,)?) => {
        $(mod $module;)+
        $(#[$meta])*
        pub static $name: &[&$ty] = &[$(&$module::$stat),+];
        #[cfg(test)]
        mod each {
            $( #[test] fn $module() { $test(&super::$module::$stat); } )+
        }
    };
}
