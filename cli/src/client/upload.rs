//! Uploads: a file as a stream of known length, which each attempt reads from its start.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use reqwest::multipart::{Form, Part};
use reqwest::{Method, header};
use serde::de::DeserializeOwned;

use super::{Answer, Client};
use crate::config::server::ServerUrl;
use crate::error::Result;
use crate::output::interrupt::{self, Message, Step};
use crate::output::progress::Progress;

/// The bytes that are read and sent at once.
const CHUNK: usize = 256 << 10;
/// The slowest connection that an upload is possible on, in bytes per second.
pub(super) const SLOWEST: u64 = 16 << 10;

/// A release to upload.
#[derive(Debug)]
pub(crate) struct Upload {
    /// The part `packageInfo`: JSON.
    pub info: String,
    /// The part `package`.
    pub file: Arc<File>,
    /// Its length.
    pub size: u64,
    /// What an interruption leaves behind before the whole package is sent.
    pub incomplete: Message,
    /// The same afterwards: the server may release it.
    pub sent: Message,
}

impl Client {
    /// A client of the address for uploads of this size, with the same credential. An upload waits long for its answer, so only a dead connection and a
    /// very long time end it.
    pub(crate) fn for_upload(&self, url: &ServerUrl, size: u64) -> Result<Self> {
        let http = Self::http(|builder| {
            let longest = Duration::from_mins(10) + Duration::from_secs(size / SLOWEST);
            builder.timeout(longest).tcp_keepalive(Duration::from_secs(15))
        })?;
        Ok(Self {
            http,
            url: url.clone(),
            credential: self.credential.clone(),
            patience: None,
            has_said_waiting: AtomicBool::new(false),
            repeats_all: self.repeats_all,
            is_verbose: self.is_verbose,
            is_quiet: self.is_quiet,
        })
    }

    /// Sends a file as the whole body, and waits as long as the server asks for. For operations that can be repeated.
    pub(crate) async fn send_file<T: DeserializeOwned>(
        &self,
        path: &str,
        file: &Arc<File>,
        size: u64,
        progress: &Progress,
    ) -> Result<Answer<T>> {
        let position = progress.handle().position();
        let build = |request: reqwest::RequestBuilder| {
            let bar = progress.handle();
            bar.set_position(position);
            let body = reqwest::Body::wrap_stream(chunks(Arc::clone(file), size, bar, || {}));
            request.header(header::CONTENT_TYPE, "application/octet-stream").header(header::CONTENT_LENGTH, size).body(body)
        };
        self.read(&self.send_patiently(Method::POST, path, build).await?)
    }

    /// Uploads a release. It is repeated after a lost answer, with the same `Idempotency-Key`.
    pub(crate) async fn upload<T: DeserializeOwned>(
        &self,
        path: &str,
        key: &str,
        upload: &Upload,
        progress: &Progress,
    ) -> Result<Answer<T>> {
        let Message { what, next } = upload.incomplete.clone();
        let step = Arc::new(UploadStep { step: interrupt::step(what, next), sent: upload.sent.clone() });
        let build = |request: reqwest::RequestBuilder| {
            progress.restart();
            progress.handle().set_message("Uploading");
            let (step, bar) = (Arc::clone(&step), progress.handle());
            let is_sent = move || {
                step.is_sent();
                bar.set_message("Waiting for the server to check it");
            };
            let body = reqwest::Body::wrap_stream(chunks(Arc::clone(&upload.file), upload.size, progress.handle(), is_sent));
            let package = Part::stream_with_length(body, upload.size).file_name("package");
            let form = Form::new().part("packageInfo", Part::text(upload.info.clone())).part("package", package);
            request.header("Idempotency-Key", key).multipart(form)
        };
        self.read(&self.send(Method::POST, path, build).await?)
    }
}

/// The step of an upload.
struct UploadStep {
    step: Step,
    sent: Message,
}

impl UploadStep {
    /// The whole package is on its way. That stays so when it is sent again, after a lost answer.
    fn is_sent(&self) {
        self.step.now(self.sent.what.as_str(), self.sent.next.as_str());
    }
}

/// The file's bytes, from the start. Several streams of one file do not disturb each other. `is_sent` is called after the last byte.
fn chunks(
    file: Arc<File>,
    size: u64,
    progress: indicatif::ProgressBar,
    is_sent: impl Fn() + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::try_unfold((file, 0_u64, progress, is_sent), move |(file, offset, progress, is_sent)| async move {
        if offset == size {
            return Ok(None);
        }
        let length = usize::try_from(size - offset).unwrap_or(CHUNK).min(CHUNK);
        let reading = Arc::clone(&file);
        let chunk = tokio::task::spawn_blocking(move || read(&reading, offset, length)).await.map_err(io::Error::other)??;
        let read = chunk.len() as u64;
        progress.inc(read);
        if offset + read == size {
            is_sent();
        }
        Ok(Some((chunk, (file, offset + read, progress, is_sent))))
    })
}

fn read(file: &File, offset: u64, length: usize) -> io::Result<Bytes> {
    let mut chunk = vec![0; length];
    let count = loop {
        match read_at(file, &mut chunk, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if count == 0 {
        return Err(io::Error::other("the file became shorter"));
    }
    chunk.truncate(count);
    Ok(chunk.into())
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}
