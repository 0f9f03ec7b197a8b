//! Dead letters as objects: the bucket itself, through its S3 interface.

use std::fmt;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{BehaviorVersion, Config, Region, RequestChecksumCalculation, ResponseChecksumValidation};
use aws_sdk_s3::error::SdkError;
use aws_sdk_s3::operation::get_object::GetObjectError;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use shared::Invalid;
use tokio::io::AsyncReadExt;

use super::{MAX_LETTER, ReplayError, reason, too_large};
use crate::infra::loopback::is_loopback_address;

/// What the names of dead letters begin with, as the edge writes them.
const PREFIX: &str = "dead-letters/";

/// How long one try of a request may take; a letter is small.
const ATTEMPT: Duration = Duration::from_secs(30);

/// How often a request is tried in all.
const ATTEMPTS: u32 = 4;

/// Which bucket it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketAddress {
    /// Its name.
    pub bucket: String,
    /// Its interface's address, without the bucket; AWS's own when there is none.
    pub endpoint: Option<String>,
    /// Its region; `auto` is R2's.
    pub region: String,
}

impl BucketAddress {
    /// Reads what follows `s3://`.
    pub(super) fn parse(text: &str) -> Result<Self, Invalid> {
        let (bucket, query) = text.split_once('?').unwrap_or((text, ""));
        let bucket = bucket.strip_suffix('/').unwrap_or(bucket);
        let is_name = bucket.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
        if !(3..=63).contains(&bucket.len()) || !is_name {
            return Err(Invalid::from("must name a bucket, without a path: s3://BUCKET?endpoint=URL&region=NAME"));
        }
        let (mut endpoint, mut region) = (None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let member = match &*name {
                "endpoint" => &mut endpoint,
                "region" => &mut region,
                _ => return Err(Invalid::from("may have endpoint and region after the question mark, and nothing else")),
            };
            if value.is_empty() || member.replace(value.into_owned()).is_some() {
                return Err(Invalid::from("must have endpoint and region once each, or not at all"));
            }
        }
        let is_address = |text: &String| {
            let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://").filter(|_| is_loopback_address(text)));
            rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['@', '?', '#']))
        };
        if endpoint.as_ref().is_some_and(|text| !is_address(text)) {
            return Err(Invalid::from(
                "must have an endpoint that is an address alone and begins with https://, or with http:// if it is of this machine",
            ));
        }
        Ok(Self { bucket: bucket.to_owned(), endpoint, region: region.unwrap_or_else(|| "auto".to_owned()) })
    }
}

/// What opens the bucket.
#[derive(Clone)]
pub struct Credentials(aws_sdk_s3::config::Credentials);

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credentials")
    }
}

impl Credentials {
    /// Reads `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, where there is one, `AWS_SESSION_TOKEN`; nothing without the first two.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let value = |name| variable(name).filter(|value: &String| !value.is_empty());
        let (id, secret) = (value("AWS_ACCESS_KEY_ID")?, value("AWS_SECRET_ACCESS_KEY")?);
        Some(Self(aws_sdk_s3::config::Credentials::new(id, secret, value("AWS_SESSION_TOKEN"), None, "environment")))
    }
}

/// A bucket. Its objects are taken in the order of the names.
#[derive(Debug)]
pub(super) struct Bucket {
    client: Client,
    name: String,
    /// The last letter that was listed. Not the listing's own token: letters are deleted meanwhile.
    after: Option<String>,
}

impl Bucket {
    pub(super) fn new(address: &BucketAddress, credentials: Option<Credentials>) -> Self {
        let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
        let mut config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .region(Region::new(address.region.clone()))
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
            .timeout_config(TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT).build())
            // What came after S3 itself is not everybody's.
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired);
        if let Some(Credentials(credentials)) = credentials {
            config = config.credentials_provider(credentials);
        }
        if let Some(endpoint) = &address.endpoint {
            // An address of one's own has no names for each bucket before it; the bucket follows its last slash.
            config = config.endpoint_url(format!("{}/", endpoint.trim_end_matches('/'))).force_path_style(true);
        }
        Self { client: Client::from_conf(config.build()), name: address.bucket.clone(), after: None }
    }

    pub(super) async fn next(&mut self, most: usize) -> Result<Vec<String>, ReplayError> {
        let most = i32::try_from(most).unwrap_or(i32::MAX);
        let mut token = None;
        loop {
            let listing = self.client.list_objects_v2().bucket(&self.name).prefix(PREFIX).max_keys(most);
            let listing = listing.set_start_after(self.after.clone()).set_continuation_token(token).send().await;
            let listing = listing.map_err(|error| ReplayError::Bucket(Box::new(error)))?;
            let names: Vec<String> = listing.contents.unwrap_or_default().into_iter().filter_map(|object| object.key).collect();
            token = listing.next_continuation_token.filter(|_| listing.is_truncated == Some(true));
            let known = self.after.iter();
            if !known.chain(&names).is_sorted_by(|one, next| one < next) {
                return Err(ReplayError::Order);
            }
            // A page may be empty and not be the last.
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
        let read = object.body.into_async_read().take(MAX_LETTER + 1).read_to_end(&mut bytes).await.map_err(|error| reason(&error))?;
        if u64::try_from(read).is_ok_and(|length| length <= MAX_LETTER) { Ok(Some(bytes)) } else { Err(too_large()) }
    }

    pub(super) async fn delete(&self, name: &str) -> Result<(), String> {
        // Deleting what is not there succeeds.
        self.client.delete_object().bucket(&self.name).key(name).send().await.map(drop).map_err(|error| reason(&error))
    }
}
