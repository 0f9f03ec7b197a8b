//! `updraft release sign` and `updraft release verify`: code signatures of packages on this machine. Nothing is sent.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use shared::time::UnixMillis;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::progress::Progress;
use crate::output::table::Details;
use crate::output::times;
use crate::package;
use crate::package::signature::{self, SigningKey, VerifyingKey};

/// Signs a folder.
#[derive(Debug, Args)]
pub(crate) struct SignCommand {
    /// The folder that the bundler wrote: CodePush for React Native, www for Cordova, public for Capacitor.
    folder: PathBuf,
    /// The RSA private key: a PEM file, or env:NAME for an environment variable.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    sign_key: String,
}

impl SignCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        package::check_path(&self.folder)?;
        let key = SigningKey::read(&self.sign_key)?;
        let progress = Progress::bytes(context, "Signing", 0);
        let (folder, bar) = (self.folder.clone(), progress.handle());
        let hash = blocking(move || package::sign(&folder, &key, &bar)).await?;
        drop(progress);
        let file = self.folder.join(signature::FILE);
        context.done(&format!("Signed {}.", self.folder.display()));
        context.show(&json!({ "packageHash": hash.to_string(), "file": file.display().to_string() }), || {
            let mut details = Details::new();
            details.add("Package hash", hash.to_string()).add("Signature", file.display().to_string());
            details.print();
        });
        context.note("A change of any file makes the signature invalid: sign last, then release.");
        Ok(())
    }
}

/// Verifies a package's signature.
#[derive(Debug, Args)]
pub(crate) struct VerifyCommand {
    /// The folder, or the .zip.
    path: PathBuf,
    /// The RSA public key that the app has: a PEM file, or env:NAME for an environment variable.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    public_key: String,
}

impl VerifyCommand {
    /// Runs it. Errors: failed (1) if devices with this key would refuse the package.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        package::check_path(&self.path)?;
        let key = VerifyingKey::read(&self.public_key)?;
        let progress = Progress::bytes(context, "Reading", 0);
        let (path, bar) = (Arc::new(self.path.clone()), progress.handle());
        let (hash, token) = blocking(move || package::with_signature(&path, &bar)).await?;
        drop(progress);
        let path = self.path.display();
        let refused = |why: &str| {
            let what = format!("devices with this key refuse {path}: {why}");
            Error::failed(what, "Sign it: `updraft release sign FOLDER --sign-key private.pem`")
        };
        let Some(token) = token else {
            return Err(refused(&format!("it is not signed ({} is missing in the bundle's folder)", signature::FILE)));
        };
        let claims = key.verify(&token).map_err(|why| refused(&format!("its signature is invalid: {why}")))?;
        if claims.content_hash != hash.to_string() {
            return Err(refused(&format!("its contents have the package hash {hash}, but {} was signed", claims.content_hash)));
        }
        let signed = claims.iat.map(|seconds| UnixMillis(seconds.saturating_mul(1_000)));
        context.done(&format!("The signature of {path} is valid."));
        context.show(&json!({ "packageHash": hash.to_string(), "signedTime": signed }), || {
            let mut details = Details::new();
            details.add("Package hash", hash.to_string()).add_some("Signed", signed.map(times::time));
            details.print();
        });
        Ok(())
    }
}

/// Reads and hashes off the async threads.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Error::failed("the package could not be read", "Run the command again with --verbose, and report what it prints."))?
}
