//! The list macro: one list makes the `mod` lines, the registry and one test per entry.

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
