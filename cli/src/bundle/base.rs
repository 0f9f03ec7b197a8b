//! Bytecode that resembles what devices have: compiled against an earlier bundle, and used only if it does the same.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::project::Project;
use super::{BuildOptions, bytecode, hermes, run};
use crate::children::{self, Group};
use crate::clock;

/// How long the compiler may take to compile, and to print both files. A file that it does not expect could keep it busy.
const PATIENCE: Duration = Duration::from_mins(10);

/// By how much a base can be larger than twice the new bundle, in bytes.
const SMALL: u64 = 1 << 20;
/// The time between two looks at a compiler that is about to end.
const TICK: Duration = Duration::from_millis(20);

/// What is needed to compile a bundle once more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    /// The compiler.
    pub(super) compiler: &'a Path,
    /// The project.
    pub(super) project: &'a Project,
    /// The options of the build.
    pub(super) options: &'a BuildOptions,
    /// The bundle.
    pub(super) bundle: &'a Path,
    /// The same, compiled without a base.
    pub(super) plain: &'a Path,
}

/// Compiles the bundle against `base` to `finished`, with its source map beside it. Fails with the reason, in words that end a sentence, unless the result
/// is shown to do the same as without a base.
pub(super) async fn compile(job: Job<'_>, base: &Path, finished: &Path) -> Result<(), String> {
    let (of_base, of_plain) = (version(base)?, version(job.plain)?);
    let Some(of_base) = of_base else { return Err("it is not Hermes bytecode".to_owned()) };
    if Some(of_base) != of_plain {
        let compiler = of_plain.map(|version| format!("version {version}")).unwrap_or_default();
        return Err(format!("it is Hermes bytecode version {of_base}, and the project's compiler writes {compiler}"));
    }
    if !bytecode::is_known(of_base) {
        return Err(format!("Hermes bytecode version {of_base} cannot be compared yet"));
    }
    check(base, job.plain)?;
    let run = hermes::compile(job.compiler, job.project, job.options, job.bundle, finished, Some(base), true);
    let ended = clock::within(PATIENCE, run).await;
    ended.ok_or_else(|| "the Hermes compiler does not finish with it".to_owned())?.map_err(|error| error.what)?;
    let (compiler, plain, base, new) = (job.compiler.to_owned(), job.plain.to_owned(), base.to_owned(), finished.to_owned());
    let compared = tokio::task::spawn_blocking(move || {
        // Strings and literals of the base stay in the file, used or not. With each release on the one before, there would be more of them.
        if size(&new)? > size(&plain)? / 4 * 5 {
            return Err("the bundle would be larger by more than a quarter, with what only earlier releases need".to_owned());
        }
        // A base changes some bytes that mean nothing, so that unchanged sources would be another release.
        keep_if_repeated(&base, &new)?;
        compare(&compiler, &plain, &new)
    })
    .await;
    compared.unwrap_or_else(|_| Err("the comparison failed".to_owned()))
}

/// Replaces what was compiled by the base itself, if the two differ only in what has no meaning: the size of the strings' storage, which grows by what aligns
/// it, and the hash of the file. All places are the same then, so the source map is right for both.
fn keep_if_repeated(base: &Path, finished: &Path) -> Result<(), String> {
    let (of_base, of_new) = (read(base)?, read(finished)?);
    if bytecode::is_repeated(&of_base, &of_new) && is_whole(&of_base) {
        fs::write(finished, of_base).map_err(|error| format!("cannot write to the folder for temporary files: {error}"))?;
    }
    Ok(())
}

/// Whether a file of bytecode ends with the SHA-1 of the rest, as the compiler writes it.
fn is_whole(file: &[u8]) -> bool {
    let hash = |content| ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, content);
    file.split_last_chunk::<20>().is_some_and(|(content, end)| hash(content).as_ref() == end)
}

/// Fails if a base is not worth compiling against, or is no file that the compiler wrote: the compiler trusts what it reads, and the server is not trusted.
fn check(base: &Path, plain: &Path) -> Result<(), String> {
    if size(base)? > size(plain)?.saturating_mul(2).saturating_add(SMALL) {
        return Err("it is more than twice as large as the new one".to_owned());
    }
    let file = read(base)?;
    if !is_whole(&file) {
        return Err("it is damaged".to_owned());
    }
    bytecode::check(&file).map_err(|doubt| format!("it is damaged: {doubt}"))
}

/// Fails unless `new` is shown to do the same as `plain`.
fn compare(compiler: &Path, plain: &Path, new: &Path) -> Result<(), String> {
    let (of_plain, of_new) = (read(plain)?, read(new)?);
    let (plain, new) = (Printing::start(compiler, plain)?, Printing::start(compiler, new)?);
    let doubt = |doubt: bytecode::Doubt| format!("it cannot be shown that the result does the same: {doubt}");
    let compared = bytecode::compare((&of_plain, plain.output()?), (&of_new, new.output()?));
    // With a doubt, nobody has read to the end, and how the compilers end says nothing.
    compared.map_err(doubt)?;
    plain.end().and(new.end())
}

/// The compiler, printing a file of bytecode. It ends with this value, and once it has taken too long.
#[derive(Debug)]
struct Printing {
    child: Arc<Mutex<Child>>,
    /// Dropped when it has ended.
    watch: Option<mpsc::Sender<()>>,
    _group: Group,
}

impl Printing {
    fn start(compiler: &Path, file: &Path) -> Result<Self, String> {
        let mut command = Command::new(compiler);
        run::hide_secrets(&mut command);
        command.args(["-b", "-dump-bytecode", "-pretty-disassemble=0"]).arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let (child, group) = children::spawn(&mut command).map_err(|error| format!("cannot run the Hermes compiler: {error}"))?;
        let child = Arc::new(Mutex::new(child));
        let (watch, ended) = mpsc::channel();
        let watched = Arc::clone(&child);
        std::thread::spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                kill(&watched);
            }
        });
        Ok(Self { child, watch: Some(watch), _group: group })
    }

    fn output(&self) -> Result<BufReader<ChildStdout>, String> {
        let output = locked(&self.child).stdout.take().ok_or("the Hermes compiler prints nothing")?;
        Ok(BufReader::with_capacity(1 << 20, output))
    }

    /// Waits until it has ended, once all of its output was read. Errors: it has failed, or was ended.
    fn end(&self) -> Result<(), String> {
        // Never with the lock: ending a compiler that takes too long needs it.
        let status = loop {
            match locked(&self.child).try_wait() {
                Ok(None) => {}
                ended => break ended,
            }
            std::thread::park_timeout(TICK);
        };
        match status {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(_) | Err(_) => Err("the Hermes compiler failed to print what it has compiled".to_owned()),
        }
    }
}

impl Drop for Printing {
    fn drop(&mut self) {
        drop(self.watch.take());
        kill(&self.child);
    }
}

/// Ends the compiler, which may have ended already.
fn kill(child: &Mutex<Child>) {
    let mut child = locked(child);
    let _ = child.kill();
    let _ = child.wait();
}

fn locked(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

fn version(file: &Path) -> Result<Option<u32>, String> {
    let mut start = Vec::new();
    let read = File::open(file).and_then(|file| file.take(64).read_to_end(&mut start));
    read.map_err(|error| unreadable(file, &error))?;
    Ok(bytecode::version(&start))
}

fn size(file: &Path) -> Result<u64, String> {
    fs::metadata(file).map(|found| found.len()).map_err(|error| unreadable(file, &error))
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", PathBuf::from(file.file_name().unwrap_or_default()).display())
}
