//! Objects in a bucket of the S3 API: AWS, R2, `MinIO`, Ceph. Uploads in progress are in a folder on this machine.
//!
//! The names are `{app id}/{sha256}`, which the edge knows too. The bytes are never listed: the database knows which objects there are.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::abort_multipart_upload::AbortMultipartUploadError;
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures_util::stream;
use shared::hash::BlobKey;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::sync::Semaphore;

use super::folder::FolderStore;
use super::reader::{self, BlobReader};
use crate::infra::s3::{self, BucketAddress, Credentials, Patience};

/// An attempt sends at most one part. All attempts end before a client of the service gives up.
const PATIENCE: Patience = Patience { attempt: Duration::from_secs(20), request: Duration::from_secs(25), attempts: 3 };
/// The bytes of a part, and the most of an object that is sent at once. All parts but the last have the same size, as R2 requires, and at least 5 MiB, as S3
/// requires.
const PART: u64 = 8 << 20;
/// The most parts that S3 accepts.
const MOST_PARTS: u64 = 10_000;
/// Parts in memory at a time, for all uploads together.
const PARTS_AT_ONCE: usize = 4;
/// The object that the check of the bucket writes and reads. No app has this ID.
const PROBE: &str = ".probe";
const PROBE_TEXT: &[u8] = b"updraft";
/// Browsers must not render an object, should it ever be reached without the service.
const TYPE: &str = "application/octet-stream";
const DISPOSITION: &str = "attachment";

/// The ID of an upload in parts, by which its parts can be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsId(pub String);

/// Stores objects in a bucket.
#[derive(Debug)]
pub struct S3Store {
    client: Client,
    bucket: String,
    /// For uploads in progress.
    local: FolderStore,
    parts: Arc<Semaphore>,
}

impl S3Store {
    /// Opens the bucket, and checks that it can be written to and read. `local` is for uploads in progress.
    pub async fn open(address: &BucketAddress, credentials: Option<Credentials>, local: FolderStore) -> io::Result<Self> {
        let client = s3::client(address, credentials, PATIENCE).await?;
        let store = Self { client, bucket: address.bucket.clone(), local, parts: Arc::new(Semaphore::new(PARTS_AT_ONCE)) };
        let put = store.client.put_object().bucket(&store.bucket).key(PROBE).content_type(TYPE).content_disposition(DISPOSITION);
        put.body(ByteStream::from_static(PROBE_TEXT)).send().await.map_err(|error| store.failed("write to", &error))?;
        store.probe().await?;
        Ok(store)
    }

    /// Begins an upload in parts, if an object of this size needs one. Its ID has to be kept before the first part is sent: parts without a known ID would be
    /// paid for and never deleted.
    pub(super) async fn begin(&self, key: &BlobKey, size: u64) -> io::Result<Option<PartsId>> {
        if size <= PART {
            return Ok(None);
        }
        let create = self.client.create_multipart_upload().bucket(&self.bucket).key(name(key));
        let created = create.content_type(TYPE).content_disposition(DISPOSITION).send().await;
        let created = created.map_err(|error| self.failed("begin an upload to", &error))?;
        created.upload_id.map(|id| Some(PartsId(id))).ok_or_else(|| io::Error::other("the bucket began an upload without an ID"))
    }

    pub(super) async fn put_file(&self, key: &BlobKey, source: &Path, id: Option<&PartsId>) -> io::Result<()> {
        let mut file = tokio::fs::File::open(source).await?;
        let size = file.metadata().await?.len();
        match id {
            None => self.put_whole(key, &mut file, size).await?,
            Some(id) => self.put_parts(key, &mut file, size, id).await?,
        }
        // It would be wrong for as long as it is released.
        if self.length(key).await? != Some(size) {
            return Err(io::Error::other("the bucket has another length than was sent"));
        }
        tokio::fs::remove_file(source).await
    }

    /// The store checks the bytes against their hash, which is also the object's name.
    async fn put_whole(&self, key: &BlobKey, file: &mut tokio::fs::File, size: u64) -> io::Result<()> {
        let _permit = self.parts.acquire().await.map_err(io::Error::other)?;
        let bytes = read_exactly(file, size).await?;
        let put = self.client.put_object().bucket(&self.bucket).key(name(key)).content_type(TYPE).content_disposition(DISPOSITION);
        let put = put.checksum_sha256(BASE64_STANDARD.encode(digest(key)));
        put.body(ByteStream::from(bytes)).send().await.map(drop).map_err(|error| self.failed("write to", &error))
    }

    /// Each part is signed with its hash, which the store checks.
    async fn put_parts(&self, key: &BlobKey, file: &mut tokio::fs::File, size: u64, id: &PartsId) -> io::Result<()> {
        let part_size = part_size(size);
        let mut parts = Vec::new();
        for (number, start) in (1_i32..).zip((0..size).step_by(usize::try_from(part_size).map_err(io::Error::other)?)) {
            let _permit = self.parts.acquire().await.map_err(io::Error::other)?;
            file.seek(io::SeekFrom::Start(start)).await?;
            let bytes = read_exactly(file, part_size.min(size - start)).await?;
            let send = self.client.upload_part().bucket(&self.bucket).key(name(key)).upload_id(&id.0).part_number(number);
            let answer = send.body(ByteStream::from(bytes)).send().await.map_err(|error| self.failed("write to", &error))?;
            parts.push(CompletedPart::builder().part_number(number).set_e_tag(answer.e_tag).build());
        }
        let all = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
        let complete = self.client.complete_multipart_upload().bucket(&self.bucket).key(name(key)).upload_id(&id.0);
        complete.multipart_upload(all).send().await.map(drop).map_err(|error| self.failed("complete an upload to", &error))
    }

    /// Deletes the parts of an upload that did not end. One that is unknown, or complete, is not an error.
    pub(super) async fn abort(&self, key: &BlobKey, id: &PartsId) -> io::Result<()> {
        match self.client.abort_multipart_upload().bucket(&self.bucket).key(name(key)).upload_id(&id.0).send().await {
            Ok(_) => Ok(()),
            Err(SdkError::ServiceError(refused)) if matches!(refused.err(), AbortMultipartUploadError::NoSuchUpload(_)) => Ok(()),
            Err(error) if is_missing(&error) => Ok(()),
            Err(error) => Err(self.failed("abort an upload to", &error)),
        }
    }

    pub(super) async fn length(&self, key: &BlobKey) -> io::Result<Option<u64>> {
        match self.client.head_object().bucket(&self.bucket).key(name(key)).send().await {
            Ok(found) => Ok(Some(length_of(found.content_length)?)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.failed("read from", &error)),
        }
    }

    pub(super) async fn read(&self, key: &BlobKey, range: Option<Range<u64>>) -> io::Result<Option<BlobReader>> {
        let mut get = self.client.get_object().bucket(&self.bucket).key(name(key));
        if let Some(range) = &range {
            // S3 has no range without bytes, and takes one that is too long for the rest of the object.
            if range.is_empty() {
                let Some(length) = self.length(key).await? else { return Ok(None) };
                return Ok(Some(BlobReader::new(io::Cursor::new([]), length, reader::within(Some(range.clone()), length)?)));
            }
            if i64::try_from(range.end).is_err() {
                return Err(beyond());
            }
            get = get.range(format!("bytes={}-{}", range.start, range.end - 1));
        }
        let found = match get.send().await {
            Ok(found) => found,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) if status(&error) == Some(416) => {
                return Err(beyond());
            }
            Err(error) => return Err(self.failed("read from", &error)),
        };
        let total = match (&range, found.content_range()) {
            (None, _) => length_of(found.content_length)?,
            // `bytes 0-9/100`
            (Some(_), Some(place)) => place
                .rsplit_once('/')
                .and_then(|(_, total)| total.parse().ok())
                .ok_or_else(|| io::Error::other("the bucket answered with an unknown range"))?,
            (Some(_), None) => return Err(io::Error::other("the bucket answered without the range that was asked for")),
        };
        let range = reader::within(range, total)?;
        let chunks = stream::try_unfold(found.body, async |mut body| Ok(body.try_next().await?.map(|chunk| (chunk, body))));
        Ok(Some(BlobReader::of_chunks(chunks, total, range)))
    }

    /// A URL with which anyone can read the object from the bucket for a while. It is made here, without asking the bucket.
    pub(super) async fn presigned(&self, key: &BlobKey, valid_for: Duration) -> io::Result<String> {
        let get = self.client.get_object().bucket(&self.bucket).key(name(key));
        // Whatever the object says of itself: browsers must not render what somebody else has put there.
        let get = get.response_content_type(TYPE).response_content_disposition(DISPOSITION);
        let signing = PresigningConfig::expires_in(valid_for).map_err(io::Error::other)?;
        let signed = get.presigned(signing).await.map_err(|error| self.failed("sign a URL of", &error))?;
        Ok(signed.uri().to_owned())
    }

    pub(super) async fn delete(&self, key: &BlobKey) -> io::Result<()> {
        match self.client.delete_object().bucket(&self.bucket).key(name(key)).send().await {
            Ok(_) => Ok(()),
            Err(error) if is_missing(&error) => Ok(()),
            Err(error) => Err(self.failed("delete from", &error)),
        }
    }

    /// Only reads: the write was checked at the start, and a check every few seconds would cost more than some downloads.
    pub(super) async fn probe(&self) -> io::Result<()> {
        let found =
            self.client.get_object().bucket(&self.bucket).key(PROBE).send().await.map_err(|error| self.failed("read from", &error))?;
        let mut read = Vec::new();
        found.body.into_async_read().take(64).read_to_end(&mut read).await?;
        if read == PROBE_TEXT {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "the data read differs from the data written"))
        }
    }

    /// The folder for uploads in progress.
    pub(super) fn local(&self) -> &FolderStore {
        &self.local
    }

    fn failed<E: ProvideErrorMetadata>(&self, what: &str, error: &SdkError<E>) -> io::Error
    where
        SdkError<E>: std::error::Error,
    {
        let kind = if matches!(error, SdkError::TimeoutError(_)) { io::ErrorKind::TimedOut } else { io::ErrorKind::Other };
        io::Error::new(kind, format!("cannot {what} the bucket {}: {}", self.bucket, reason(error)))
    }
}

/// What the service says, or why there is no answer.
fn reason<E: ProvideErrorMetadata>(error: &SdkError<E>) -> String
where
    SdkError<E>: std::error::Error,
{
    if let SdkError::ServiceError(refused) = error {
        let (status, told) = (refused.raw().status(), refused.err());
        let code = told.code().map(|code| format!(" {code}")).unwrap_or_default();
        let message = told.message().map(|message| format!(": {message}")).unwrap_or_default();
        return format!("{status}{code}{message}");
    }
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

fn name(key: &BlobKey) -> String {
    format!("{}/{}", key.app.as_str(), key.sha256)
}

fn beyond() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the range is not within the object")
}

/// The bytes of the hash, which the name has as hexadecimal digits.
fn digest(key: &BlobKey) -> Vec<u8> {
    let digits = key.sha256.as_str().as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or_default();
    digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, &next| byte << 4 | digit(next))).collect()
}

/// Whole MiB, so that the most parts hold any object.
fn part_size(size: u64) -> u64 {
    PART.max(size.div_ceil(MOST_PARTS).next_multiple_of(1 << 20))
}

async fn read_exactly(file: &mut tokio::fs::File, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
    file.read_exact(&mut bytes).await?;
    Ok(bytes)
}

fn length_of(length: Option<i64>) -> io::Result<u64> {
    length.and_then(|length| u64::try_from(length).ok()).ok_or_else(|| io::Error::other("the bucket answered without a length"))
}

/// Whether there is no such object. The answer to HEAD has no body that could say more than 404. A missing bucket is another matter.
fn is_missing<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    status(error) == Some(404) && error.code() != Some("NoSuchBucket")
}

fn status<E>(error: &SdkError<E>) -> Option<u16> {
    error.raw_response().map(|response| response.status().as_u16())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_given_as_bytes() {
        let key = BlobKey { app: "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap(), sha256: shared::hash::Sha256Hex::of(b"bytes") };
        assert_eq!(digest(&key), shared::hash::sha256(b"bytes"));
    }

    #[test]
    fn parts_are_equal_and_few_enough() {
        assert_eq!(part_size(PART + 1), PART);
        for size in [PART * MOST_PARTS, PART * MOST_PARTS + 1, 1 << 40] {
            let part = part_size(size);
            assert!(size.div_ceil(part) <= MOST_PARTS && part.is_multiple_of(1 << 20), "{size}");
        }
    }
}
