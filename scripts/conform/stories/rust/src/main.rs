//! The story of ../../README.md, with the rust client of openapi-generator.

use client::apis::configuration::{ApiKey, Configuration};
use client::apis::{auth_api, bookmarks_api, exports_api, sync_api, Error};
use client::models::*;
use reqwest::header::{HeaderMap, COOKIE};
use std::io::Read;
use std::time::{Duration, SystemTime};
use std::{env, thread};

const DATA: &str = "opaque, not base64";
const HASH: &str = "e3b0c442";
const LAPTOP: Option<&str> = Some("laptop");

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let cookie = format!("service_session={}", env::var("SESSION")?);
    let headers = HeaderMap::from_iter([(COOKIE, cookie.parse()?)]);
    let mut service = Configuration {
        base_path: env::var("BASE_URL")?,
        client: reqwest::blocking::Client::builder().default_headers(headers).build()?,
        ..Configuration::default()
    };
    let now = SystemTime::UNIX_EPOCH.elapsed()?.as_millis() as i64;

    // From here on, each call names the user of the session.
    let user_id = auth_api::get_session(&service)?.user.user_id;
    service.api_key = Some(ApiKey { prefix: None, key: user_id });

    let mut first = BookmarkToCreate::new(DATA.into(), HASH.into());
    first.id = Some("one".into());
    let created = bookmarks_api::create_bookmark(&service, first, LAPTOP, None)?;
    assert!(created.created_at >= now - 60_000);
    assert_eq!(created.deleted_at, None);
    let page = bookmarks_api::list_bookmarks(&service, None, Some(10))?;
    assert_eq!(page.data, [created]);

    // The edit of `one` is older than the stored version.
    let changes = vec![edit("one", 1000), edit("two", now)];
    let pushed = sync_api::push_changes(&service, PushRequest::new(changes), LAPTOP)?;
    assert_eq!(pushed.accepted_ids, ["edit of two"]);
    assert_eq!(pushed.conflicts.len(), 1);
    assert_eq!(pushed.conflicts[0].entity_id, "one");

    let mut pulled = vec![];
    let mut since = 0;
    loop {
        let wanted = PullRequest { since: Some(since), limit: Some(1), entity_types: None };
        let answer = sync_api::pull_changes(&service, LAPTOP, Some(wanted))?;
        pulled.extend(answer.changes.into_iter().map(|change| (change.entity_id, change.encrypted_data.unwrap())));
        since = answer.last_sync_timestamp;
        if !answer.has_more {
            break;
        }
    }
    assert_eq!(pulled, [("one".into(), DATA.into()), ("two".into(), DATA.into())] as [(String, String); 2]);

    // `one` exists already, and the date of `four` is in milliseconds, not seconds.
    let bookmarks = vec![
        import("three", Some(1_700_000_000)),
        import("one", None),
        import("four", Some(1_700_000_000_000)),
    ];
    let imported = sync_api::import_bookmarks(&service, ImportRequest::new(bookmarks), LAPTOP)?;
    assert_eq!(imported.imported_ids, ["three"]);
    assert_eq!(imported.errors.iter().map(|error| &error.id).collect::<Vec<_>>(), ["one", "four"]);
    assert_eq!(bookmarks_api::get_bookmark(&service, "three")?.created_at, 1_700_000_000_000);

    let mut export = exports_api::create_export(&service, None)?;
    assert_eq!(export.size_bytes, None);
    while export.status != ExportStatus::Completed {
        thread::sleep(Duration::from_millis(100));
        export = exports_api::list_exports(&service)?.exports.remove(0);
    }
    assert_eq!(export.bookmark_count, Some(3));
    let mut file = vec![];
    exports_api::download_export(&service, &export.id, None, None)?.read_to_end(&mut file)?;
    assert_eq!(Some(file.len() as i64), export.size_bytes);
    assert_eq!(&file[..5], b"EBSX\x01");

    assert!(bookmarks_api::delete_bookmark(&service, "three", LAPTOP)?.success);
    let status = sync_api::get_sync_status(&service, LAPTOP, None)?;
    assert_eq!(status.total_bookmarks, 2);
    assert!(status.last_sync >= now - 60_000);
    assert_eq!(auth_api::get_session(&service)?.user.user_id, status.user_id);

    // Refused: a bookmark that does not exist, and a call that names another user than the session's.
    match bookmarks_api::get_bookmark(&service, "nothing") {
        Err(Error::ResponseError(answer)) => {
            assert_eq!(answer.status.as_u16(), 404);
            assert_eq!(answer.content, r#"{"error":"Bookmark not found"}"#);
        }
        other => panic!("{other:?}"),
    }
    service.api_key = Some(ApiKey { prefix: None, key: "somebody-else".into() });
    match bookmarks_api::list_bookmarks(&service, None, None) {
        Err(Error::ResponseError(answer)) => {
            assert_eq!(answer.status.as_u16(), 403);
            assert_eq!(answer.content, r#"{"error":"Forbidden user"}"#);
        }
        other => panic!("{other:?}"),
    }
    service.api_key = Some(ApiKey { prefix: None, key: status.user_id });

    assert!(auth_api::logout(&service)?.success);
    match auth_api::get_session(&service) {
        Err(Error::ResponseError(answer)) => assert_eq!(answer.status.as_u16(), 401),
        other => panic!("{other:?}"),
    }
    Ok(())
}

fn edit(entity_id: &str, timestamp: i64) -> Change {
    let id = format!("edit of {entity_id}");
    let (kind, operation) = (EntityType::Bookmark, Operation::Update);
    let mut change = Change::new(id, kind, entity_id.into(), operation, timestamp, "laptop".into());
    change.encrypted_data = Some(DATA.into());
    change.data_hash = Some(HASH.into());
    change
}

fn import(id: &str, date_added: Option<i64>) -> ImportBookmark {
    let mut bookmark = ImportBookmark::new(id.into(), DATA.into(), HASH.into());
    bookmark.date_added = date_added;
    bookmark
}
