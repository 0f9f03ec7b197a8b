//! Sources of dead letters as typed by an operator.

use control::testing::jobs::Location;

#[test]
fn a_replay_source_is_a_folder_or_a_bucket() {
    for folder in ["letters", "/var/letters", "./s3:letters", "C:\\letters"] {
        assert_eq!(folder.parse(), Ok(Location::Folder(folder.into())));
    }
    let parse = |text: &str| match text.parse::<Location>() {
        Ok(Location::Bucket(address)) => Ok((address.bucket, address.endpoint, address.region)),
        Ok(other) => panic!("{text}: {other:?}"),
        Err(fault) => Err(fault.to_string()),
    };
    let address =
        |bucket: &str, endpoint: Option<&str>, region: &str| Ok((bucket.to_owned(), endpoint.map(str::to_owned), region.to_owned()));
    assert_eq!(parse("s3://letters"), address("letters", None, "auto"));
    assert_eq!(parse("s3://letters?region=eu-central-1"), address("letters", None, "eu-central-1"));
    assert_eq!(
        parse("s3://letters?endpoint=https%3A%2F%2Fid.r2.cloudflarestorage.com&region=auto"),
        address("letters", Some("https://id.r2.cloudflarestorage.com"), "auto")
    );
    assert_eq!(parse("s3://letters/?endpoint=http://127.0.0.1:9000/x"), address("letters", Some("http://127.0.0.1:9000/x"), "auto"));
    for wrong in [
        "s3://",
        "s3://?region=auto",
        "s3://UPPER",
        "s3://letters/dead-letters",
        "s3://letters?endpoint=ftp://x",
        "s3://letters?endpoint=http://storage.example.com",
        "s3://letters?endpoint=",
        "s3://letters?endpoint=https://user:password@x",
        "s3://letters?region=",
        "s3://letters?prefix=x",
        "s3://letters?region=a&region=b",
        "https://letters",
    ] {
        assert!(wrong.parse::<Location>().is_err(), "{wrong}");
    }
}
