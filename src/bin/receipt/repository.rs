//! Where the repository is whose files a CI system shows: its checkout, if we run below it, else the current folder.
use receipt::report::ci::Folders;
use std::env;
use std::path::PathBuf;

/// The variables in which GitHub and GitLab tell where they checked the repository out.
const CHECKOUTS: [&str; 2] = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"];

/// What paths in a report are relative to.
pub(crate) fn folders() -> Folders {
    let current = env::current_dir().unwrap_or_default();
    let mut checkouts = CHECKOUTS.iter().filter_map(env::var_os).map(PathBuf::from);
    let root = checkouts.find(|checkout| checkout.is_absolute() && current.starts_with(checkout));
    Folders { root: root.unwrap_or_else(|| current.clone()), current }
}
