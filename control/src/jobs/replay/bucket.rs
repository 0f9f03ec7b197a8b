//! Dead letters as objects in a bucket, through the S3 API.

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

use super::{MAX_DEAD_LETTER_BYTES, ReplayError, reason, too_large};
use crate::infra::loopback::is_loopback_address;

/// The prefix of dead letters' names, as the edge writes them.
const PREFIX: &str = "dead-letters/";

/// Timeout of one attempt of a request; a dead letter is small.
const ATTEMPT: Duration = Duration::from_secs(30);

/// Maximum number of attempts per request.
const ATTEMPTS: u32 = 4;

/// The address of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketAddress {
    /// The name.
    pub bucket: String,
    /// The URL of the S3 API, without the bucket; AWS if `None`.
    pub endpoint: Option<String>,
    /// The region; R2 uses `auto`.
    pub region: String,
}

impl BucketAddress {
    /// Parses what follows `s3://`.
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
                _ => return Err(Invalid::from("accepts only endpoint and region as query parameters")),
            };
            if value.is_empty() || member.replace(value.into_owned()).is_some() {
                return Err(Invalid::from("must have endpoint and region at most once each, and not empty"));
            }
        }
        let is_address = |text: &String| {
            let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://").filter(|_| is_loopback_address(text)));
            rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['@', '?', '#']))
        };
        if endpoint.as_ref().is_some_and(|text| !is_address(text)) {
            return Err(Invalid::from(
                "must have an endpoint that is an https:// URL without credentials, query or fragment; http:// is allowed only to this machine",
            ));
        }
        Ok(Self { bucket: bucket.to_owned(), endpoint, region: region.unwrap_or_else(|| "auto".to_owned()) })
    }
}

/// The credentials for the bucket.
#[derive(Clone)]
pub struct Credentials(aws_sdk_s3::config::Credentials);

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credentials")
    }
}

impl Credentials {
    /// Reads `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and the optional `AWS_SESSION_TOKEN`. `None` without the first two.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let value = |name| variable(name).filter(|value: &String| !value.is_empty());
        let (id, secret) = (value("AWS_ACCESS_KEY_ID")?, value("AWS_SECRET_ACCESS_KEY")?);
        Some(Self(aws_sdk_s3::config::Credentials::new(id, secret, value("AWS_SESSION_TOKEN"), None, "environment")))
    }
}

/// A bucket. Its objects are read in the order of their names.
#[derive(Debug)]
pub(super) struct Bucket {
    client: Client,
    name: String,
    /// The name of the last listed object. Used instead of a continuation token, because objects are deleted between listings.
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
            // Not every S3-compatible service supports the newer checksums.
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired);
        if let Some(Credentials(credentials)) = credentials {
            config = config.credentials_provider(credentials);
        }
        if let Some(endpoint) = &address.endpoint {
            // A custom endpoint may have no subdomain per bucket, so the bucket goes into the path.
            config = config.endpoint_url(format!("{}/", endpoint.trim_end_matches('/'))).force_path_style(true);
        }
        Self { client: Client::from_conf(config.build()), name: address.bucket.clone(), after: None }
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
