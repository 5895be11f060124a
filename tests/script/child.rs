//! The program that the tests of confined scripts start for each of them.

#[cfg(target_os = "linux")]
mod probes;

fn main() {
    #[cfg(target_os = "linux")]
    probes::main();
}
