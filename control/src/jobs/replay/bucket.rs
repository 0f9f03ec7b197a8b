//! Dead letters as objects in a bucket, through the S3 API.

use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::SdkError;
use aws_sdk_s3::operation::get_object::GetObjectError;
use tokio::io::AsyncReadExt;

use super::{MAX_DEAD_LETTER_BYTES, ReplayError, reason, too_large};
use crate::infra::s3::{self, BucketAddress, Credentials, Patience};

/// The prefix of dead letters' names, as the edge writes them.
const PREFIX: &str = "dead-letters/";

/// A dead letter is small.
const PATIENCE: Patience = Patience { attempt: Duration::from_secs(30), request: Duration::from_mins(3), attempts: 4 };

/// A bucket. Its objects are read in the order of their names.
#[derive(Debug)]
pub(super) struct Bucket {
    client: Client,
    name: String,
    /// The name of the last listed object. Used instead of a continuation token, because objects are deleted between listings.
    after: Option<String>,
}

impl Bucket {
    pub(super) async fn new(address: &BucketAddress, credentials: Option<Credentials>) -> Result<Self, ReplayError> {
        let client = s3::client(address, credentials, PATIENCE).await.map_err(|error| ReplayError::Bucket(Box::new(error)))?;
        Ok(Self { client, name: address.bucket.clone(), after: None })
    }

    pub(super) async fn next(&mut self, max: usize) -> Result<Vec<String>, ReplayError> {
        let max = i32::try_from(max).unwrap_or(i32::MAX);
        let mut token = None;
        loop {
            let listing = self.client.list_objects_v2().bucket(&self.name).prefix(PREFIX).max_keys(max);
            let listing = listing.set_start_after(self.after.clone()).set_continuation_token(token).send().await;
            let listing = listing.map_err(|error| ReplayError::Bucket(Box::new(error)))?;
            let names: Vec<String> = listing.contents.unwrap_or_default().into_iter().filter_map(|object| object.key).collect();
            token = listing.next_continuation_token.filter(|_| listing.is_truncated == Some(true));
            let known = self.after.iter();
            if !known.chain(&names).is_sorted_by(|one, next| one < next) {
                return Err(ReplayError::Order);
            }
            // An empty page is not necessarily the last one.
            if !names.is_empty() || token.is_none() {
                self.after = names.last().cloned().or(self.after.take());
                return Ok(names);
            }
        }
    }

    pub(super) async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let object = match self.client.get_object().bucket(&self.name).key(name).send().await {
            Ok(object) => object,
            Err(SdkError::ServiceError(refused)) if matches!(refused.err(), GetObjectError::NoSuchKey(_)) => return Ok(None),
            Err(error) => return Err(reason(&error)),
        };
        let mut bytes = Vec::new();
        let read =
            object.body.into_async_read().take(MAX_DEAD_LETTER_BYTES + 1).read_to_end(&mut bytes).await.map_err(|error| reason(&error))?;
        if u64::try_from(read).is_ok_and(|length| length <= MAX_DEAD_LETTER_BYTES) { Ok(Some(bytes)) } else { Err(too_large()) }
    }

    pub(super) async fn delete(&self, name: &str) -> Result<(), String> {
        // Deleting a missing object succeeds.
        self.client.delete_object().bucket(&self.name).key(name).send().await.map(drop).map_err(|error| reason(&error))
    }
}
