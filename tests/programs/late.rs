//! The program `toolbox`, whose processes for scripts end soon while a file beside it is missing. Each
//! of those leaves a byte in another file.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

pub(crate) fn main() -> ExitCode {
    let is_child = std::env::args().any(|argument| argument == "toolbox-script-child");
    let own = std::env::current_exe().unwrap_or_default();
    if is_child && !own.with_extension("ready").exists() {
        let failed =
            OpenOptions::new().create(true).append(true).open(own.with_extension("failed"));
        let _ = failed.and_then(|mut failed| failed.write_all(b"x"));
        std::thread::sleep(Duration::from_millis(500));
        return ExitCode::FAILURE;
    }
    toolbox_script::child::run_if_asked();
    toolbox::cli::program_with(toolbox_script::ProgramScripts, &[])
}
