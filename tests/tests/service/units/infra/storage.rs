//! The behavior of all storage backends, and details of each.

use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use control::testing::releases::{BucketAddress, Credentials, FolderStore, MemoryStore, Storage, StorageConfig};
use shared::hash::{BlobKey, Sha256Hex};
use shared::ids::AppId;
use tempfile::TempDir;
use tests::TestBucket;
use tokio::io::AsyncReadExt;

const APP: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
const OTHER_APP: &str = "01890a5d-ac96-774b-bcce-b302099a8058";

fn key_of(app: &str, bytes: &[u8]) -> BlobKey {
    BlobKey { app: AppId::try_from(app).unwrap(), sha256: Sha256Hex::of(bytes) }
}

async fn folder_in(root: &Path) -> Storage {
    Storage::Folder(FolderStore::open(root.to_owned()).await.unwrap())
}

/// What the backends need for as long as they are used.
struct Places {
    root: TempDir,
    bucket: TestBucket,
}

impl Places {
    fn path(&self) -> &Path {
        self.root.path()
    }
}

async fn bucket_in(bucket: &TestBucket, root: &Path, secret: &str) -> io::Result<Storage> {
    let address = BucketAddress::parse(bucket.storage().strip_prefix("s3://").unwrap()).unwrap();
    let credentials = Some(Credentials::new(bucket.settings()[1].1.clone(), secret.to_owned(), None));
    Storage::connect(StorageConfig::Bucket { address, credentials }, root.to_owned()).await
}

/// All backends, empty.
async fn backends() -> (Vec<Storage>, Places) {
    let (root, bucket) = (TempDir::new().unwrap(), TestBucket::start());
    let folder = folder_in(&root.path().join("data/blobs")).await;
    let in_bucket = bucket_in(&bucket, &root.path().join("uploads"), &bucket.settings()[2].1).await.unwrap();
    (vec![folder, Storage::Memory(MemoryStore::new().unwrap()), in_bucket], Places { root, bucket })
}

fn upload(folder: &Path, bytes: &[u8]) -> PathBuf {
    let (_, path) = tempfile::NamedTempFile::new_in(folder).unwrap().keep().unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

async fn put(storage: &Storage, bytes: &[u8]) -> BlobKey {
    let key = key_of(APP, bytes);
    let id = storage.begin(&key, bytes.len() as u64).await.unwrap();
    storage.put_file(&key, &upload(storage.temp_dir(), bytes), id.as_ref()).await.unwrap();
    key
}

async fn read(storage: &Storage, key: &BlobKey, range: Option<Range<u64>>) -> Option<Vec<u8>> {
    let mut reader = storage.open(key, range).await.unwrap()?;
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).await.unwrap();
    Some(bytes)
}

#[tokio::test]
async fn a_stored_object_can_be_read() {
    let (backends, _root) = backends().await;
    for storage in backends {
        for bytes in [&b""[..], b"short", &vec![7; 5_000_000]] {
            let key = put(&storage, bytes).await;
            assert_eq!(read(&storage, &key, None).await.unwrap(), bytes);
            assert_eq!(storage.length(&key).await.unwrap(), Some(bytes.len() as u64));
            assert!(storage.exists(&key).await.unwrap());
        }
    }
}

#[tokio::test]
async fn an_object_that_was_never_stored_is_absent() {
    let (backends, _root) = backends().await;
    for storage in backends {
        put(&storage, b"bytes").await;
        for key in [key_of(APP, b"others"), key_of(OTHER_APP, b"bytes")] {
            assert!(!storage.exists(&key).await.unwrap());
            assert_eq!(storage.length(&key).await.unwrap(), None);
            assert_eq!(read(&storage, &key, None).await, None);
        }
    }
}

#[tokio::test]
async fn put_removes_the_source_file() {
    let (backends, root) = backends().await;
    for storage in backends {
        let source = upload(root.path(), b"bytes");
        storage.put_file(&key_of(APP, b"bytes"), &source, None).await.unwrap();
        assert!(!source.exists());
        assert_eq!(fs::read_dir(storage.temp_dir()).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn put_again_replaces_a_damaged_object() {
    let (backends, places) = backends().await;
    for storage in backends {
        let key = key_of(APP, b"bytes");
        let damaged = storage.put_file(&key, &upload(storage.temp_dir(), b"byt"), None).await;
        if let Storage::S3(_) = storage {
            // A bucket checks what it is sent, but not what becomes of it.
            assert!(damaged.unwrap_err().to_string().contains("BadDigest"));
            put(&storage, b"bytes").await;
            places.bucket.damage(&key.to_string());
            assert_ne!(read(&storage, &key, None).await.unwrap(), b"bytes");
        }
        put(&storage, b"bytes").await;
        assert_eq!(read(&storage, &key, None).await.unwrap(), b"bytes");
    }
}

#[tokio::test]
async fn a_range_can_be_read() {
    let (backends, _root) = backends().await;
    for storage in backends {
        let key = put(&storage, b"0123456789").await;
        for (range, bytes) in [(0..10, &b"0123456789"[..]), (0..1, b"0"), (3..7, b"3456"), (9..10, b"9"), (10..10, b""), (4..4, b"")] {
            let reader = storage.open(&key, Some(range.clone())).await.unwrap().unwrap();
            assert_eq!((reader.total_length(), reader.range()), (10, range.clone()));
            assert_eq!(read(&storage, &key, Some(range)).await.unwrap(), bytes);
        }
    }
}

#[tokio::test]
async fn a_range_beyond_the_object_is_an_error() {
    let (backends, _root) = backends().await;
    for storage in backends {
        let key = put(&storage, b"0123456789").await;
        for (start, end) in [(0, 11), (11, 12), (5, 4), (0, u64::MAX)] {
            let error = storage.open(&key, Some(Range { start, end })).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }
}

#[tokio::test]
async fn a_deleted_object_is_absent_and_may_be_deleted_again() {
    let (backends, _root) = backends().await;
    for storage in backends {
        let key = put(&storage, b"bytes").await;
        let mut reader = storage.open(&key, None).await.unwrap().unwrap();
        storage.delete(&key).await.unwrap();
        assert!(!storage.exists(&key).await.unwrap());
        storage.delete(&key).await.unwrap();
        // A current reader can read to the end.
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes, b"bytes");
        put(&storage, b"bytes").await;
        assert!(storage.exists(&key).await.unwrap());
    }
}

#[tokio::test]
async fn a_missing_source_is_an_error_and_creates_no_object() {
    let (backends, root) = backends().await;
    for storage in backends {
        let key = key_of(APP, b"bytes");
        assert!(storage.put_file(&key, &root.path().join("missing"), None).await.is_err());
        assert!(!storage.exists(&key).await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_puts_of_the_same_object_succeed() {
    let (backends, _root) = backends().await;
    for storage in backends {
        let storage = std::sync::Arc::new(storage);
        let puts: Vec<_> = (0..20)
            .map(|_| {
                let storage = storage.clone();
                tokio::spawn(async move { put(&storage, b"bytes").await })
            })
            .collect();
        for put in puts {
            assert_eq!(read(&storage, &put.await.unwrap(), None).await.unwrap(), b"bytes");
        }
    }
}

#[tokio::test]
async fn a_probe_succeeds_and_leaves_no_file() {
    let (backends, _root) = backends().await;
    for storage in backends {
        storage.probe().await.unwrap();
        assert_eq!(fs::read_dir(storage.temp_dir()).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_probe_fails_if_the_folder_is_missing() {
    let root = TempDir::new().unwrap();
    let storage = folder_in(root.path()).await;
    fs::remove_dir(storage.temp_dir()).unwrap();
    assert!(storage.probe().await.is_err());
}

#[tokio::test]
async fn files_are_laid_out_by_app_and_hash_and_private_to_their_owner() {
    let root = TempDir::new().unwrap();
    let blobs = root.path().join("data/blobs");
    let storage = folder_in(&blobs).await;
    let source = upload(root.path(), b"bytes");
    fs::set_permissions(&source, fs::Permissions::from_mode(0o644)).unwrap();
    let key = key_of(APP, b"bytes");
    storage.put_file(&key, &source, None).await.unwrap();

    let hash = key.sha256.to_string();
    let file = blobs.join(APP).join(&hash[..2]).join(&hash);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&file), 0o600);
    let folders = [file.parent().unwrap(), &blobs.join(APP), &blobs, storage.temp_dir()];
    assert_eq!(folders.map(mode), [0o700; 4]);
}

#[tokio::test]
async fn an_upload_from_another_file_system_is_copied() {
    use std::os::unix::fs::MetadataExt;
    let (root, elsewhere) = (TempDir::new().unwrap(), Path::new("/dev/shm"));
    let storage = folder_in(root.path()).await;
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev()).ok();
    if device(elsewhere).is_none() || device(elsewhere) == device(root.path()) {
        // This machine has only one file system; renaming is tested above.
        return;
    }
    let source = upload(elsewhere, b"bytes");
    let key = key_of(APP, b"bytes");
    storage.put_file(&key, &source, None).await.unwrap();
    assert!(!source.exists());
    assert_eq!(read(&storage, &key, None).await.unwrap(), b"bytes");
    assert_eq!(fs::read_dir(storage.temp_dir()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_start_removes_only_unfinished_uploads() {
    let root = TempDir::new().unwrap();
    let storage = folder_in(root.path()).await;
    let key = put(&storage, b"bytes").await;
    upload(storage.temp_dir(), b"half an upl");
    fs::create_dir_all(storage.temp_dir().join("folder/in/folder")).unwrap();

    let storage = folder_in(root.path()).await;
    storage.clean_temp().await.unwrap();
    assert_eq!(fs::read_dir(storage.temp_dir()).unwrap().count(), 0);
    assert_eq!(read(&storage, &key, None).await.unwrap(), b"bytes");
}

#[tokio::test]
async fn a_large_object_is_sent_in_parts() {
    let (backends, places) = backends().await;
    let storage = &backends[2];
    let bytes: Vec<u8> = (0..20_000_000_u32).map(|number| (number >> 8 ^ number).to_le_bytes()[0]).collect();
    let key = put(storage, &bytes).await;
    assert_eq!(places.bucket.objects(), [".probe".to_owned(), key.to_string()]);
    assert_eq!((places.bucket.open_uploads(), places.bucket.parts()), (0, 0));
    assert_eq!(storage.length(&key).await.unwrap(), Some(20_000_000));
    assert_eq!(read(storage, &key, None).await.unwrap(), bytes);
    assert_eq!(read(storage, &key, Some(16_777_210..16_777_220)).await.unwrap(), bytes[16_777_210..16_777_220]);
    assert_eq!(fs::read_dir(storage.temp_dir()).unwrap().count(), 0);
}

#[tokio::test]
async fn parts_of_an_upload_that_did_not_end_can_be_deleted() {
    let (backends, places) = backends().await;
    let storage = &backends[2];
    let bytes = vec![1; 20_000_000];
    let key = key_of(APP, &bytes);
    let id = storage.begin(&key, bytes.len() as u64).await.unwrap().unwrap();
    places.bucket.fail_after_parts(1);
    let source = upload(storage.temp_dir(), &bytes);
    assert!(storage.put_file(&key, &source, Some(&id)).await.is_err());
    assert!(storage.abort(&key, &id).await.is_err());
    places.bucket.fail_after_parts(i64::MAX);
    assert_eq!((places.bucket.open_uploads(), places.bucket.parts()), (1, 1));
    assert_eq!(storage.length(&key).await.unwrap(), None);
    storage.abort(&key, &id).await.unwrap();
    assert_eq!((places.bucket.open_uploads(), places.bucket.parts()), (0, 0));
}

#[tokio::test]
async fn a_bucket_that_cannot_be_written_to_is_found_at_the_start() {
    let (root, mut bucket) = (TempDir::new().unwrap(), TestBucket::start());
    let error = bucket_in(&bucket, root.path(), "another secret").await.unwrap_err().to_string();
    assert!(error.starts_with("cannot write to the bucket bundles: ") && error.contains("SignatureDoesNotMatch"), "{error}");
    assert!(!error.contains("another secret"));
    bucket.stop();
    let error = bucket_in(&bucket, root.path(), &bucket.settings()[2].1).await.unwrap_err().to_string();
    assert!(error.starts_with("cannot write to the bucket bundles: "), "{error}");
}

#[tokio::test]
async fn a_bucket_gets_a_connection_for_each_download() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("bundles?endpoint=https://{}", listener.local_addr().unwrap());
    let config = StorageConfig::Bucket {
        address: BucketAddress::parse(&address).unwrap(),
        credentials: Some(Credentials::new("id".to_owned(), "secret".to_owned(), None)),
    };
    let root = TempDir::new().unwrap();
    let opening = tokio::spawn(Storage::connect(config, root.path().to_owned()));
    let (mut connection, _) = listener.accept().await.unwrap();
    let mut head = [0; 5];
    connection.read_exact(&mut head).await.unwrap();
    assert_eq!(head[0], 22, "a handshake of TLS");
    let mut hello = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
    connection.read_exact(&mut hello).await.unwrap();
    // With HTTP/2, all downloads would share one connection, and devices that stop reading would stop the others.
    assert!(!hello.windows(3).any(|bytes| bytes == b"\x02h2"), "HTTP/2 is offered");
    opening.abort();
}
