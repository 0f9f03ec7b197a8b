//! Buckets of the S3 API: their addresses, credentials, and clients.
//!
//! The SDK reads neither files nor variables for addresses: all of it is in the address, so that it is checked when it is read.

mod http;

use std::fmt;
use std::io;
use std::time::Duration;

use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::provider_config::ProviderConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Config, Region, RequestChecksumCalculation, ResponseChecksumValidation, SharedCredentialsProvider,
};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use shared::Invalid;

use super::loopback::is_loopback_address;

/// How long a connection may take to open.
const CONNECT: Duration = Duration::from_secs(5);

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

/// As a URL, such as `s3://bundles?endpoint=https://s3.example.com&region=eu-1`.
impl fmt::Display for BucketAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a query must have encoded, in a value that people read.
        let encoded = |text: &str| text.replace('%', "%25").replace('&', "%26").replace('+', "%2B").replace(' ', "%20");
        let endpoint = self.endpoint.as_ref().map(|endpoint| format!("endpoint={}&", encoded(endpoint))).unwrap_or_default();
        write!(formatter, "s3://{}?{endpoint}region={}", self.bucket, encoded(&self.region))
    }
}

impl BucketAddress {
    /// Parses what follows `s3://`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
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

/// The credentials for a bucket.
#[derive(Clone)]
pub struct Credentials(aws_sdk_s3::config::Credentials);

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credentials")
    }
}

impl Credentials {
    /// Credentials of these values: the ID of a key, its secret, and the token of a session if it is of one.
    pub fn new(id: String, secret: String, token: Option<String>) -> Self {
        Self(aws_sdk_s3::config::Credentials::new(id, secret, token, None, "environment"))
    }

    /// Reads `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and the optional `AWS_SESSION_TOKEN`. `None` without the first two.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let value = |name| variable(name).filter(|value: &String| !value.is_empty());
        Some(Self::new(value("AWS_ACCESS_KEY_ID")?, value("AWS_SECRET_ACCESS_KEY")?, value("AWS_SESSION_TOKEN")))
    }
}

/// How long requests may take, and how often they are sent.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// One attempt: until the answer begins.
    pub attempt: Duration,
    /// All attempts together.
    pub request: Duration,
    /// The number of attempts.
    pub attempts: u32,
}

/// A client of a bucket's service. Without credentials, the SDK looks for them in its usual places when it needs them. Errors: this machine has no certificates
/// to verify the service by.
pub async fn client(address: &BucketAddress, credentials: Option<Credentials>, patience: Patience) -> io::Result<Client> {
    let has_tls = address.endpoint.as_ref().is_none_or(|endpoint| endpoint.starts_with("https://"));
    let http = http::client(CONNECT, has_tls)?;
    let region = Region::new(address.region.clone());
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(patience.attempt).operation_timeout(patience.request).build();
    let provider = if let Some(Credentials(credentials)) = credentials {
        SharedCredentialsProvider::new(credentials)
    } else {
        // With the SDK's own client, which gives up soon where a machine has no role.
        let of_sdk = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
        let places = ProviderConfig::without_region().with_http_client(of_sdk).with_region(Some(region.clone()));
        let chain = DefaultCredentialsChain::builder().configure(places).region(region.clone()).build().await;
        SharedCredentialsProvider::new(chain)
    };
    let mut config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http)
        .region(region)
        .retry_config(RetryConfig::standard().with_max_attempts(patience.attempts))
        .timeout_config(timeouts)
        .credentials_provider(provider)
        // Not every S3-compatible service supports the newer checksums.
        .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired);
    if let Some(endpoint) = &address.endpoint {
        // A custom endpoint may have no subdomain per bucket, so the bucket goes into the path.
        config = config.endpoint_url(format!("{}/", endpoint.trim_end_matches('/'))).force_path_style(true);
    }
    Ok(Client::from_conf(config.build()))
}
