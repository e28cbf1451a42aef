"""The story of ../README.md, with the python client of openapi-generator."""

import os
import time

from openapi_client import ApiClient, ApiException, AuthApi, BookmarksApi, Configuration, ExportsApi, SyncApi
from openapi_client import BookmarkToCreate, Change, EntityType, ExportStatus, ImportBookmark, ImportRequest
from openapi_client import Operation, PullRequest, PushRequest

service = ApiClient(Configuration(host=os.environ["BASE_URL"], access_token=os.environ["SESSION"]))
auth, bookmarks, exports, sync = AuthApi(service), BookmarksApi(service), ExportsApi(service), SyncApi(service)
laptop = {"x_device_id": "laptop"}
content = {"encrypted_data": "opaque, not base64", "data_hash": "e3b0c442"}
now = int(time.time() * 1000)


def refused(call, *arguments) -> ApiException:
    try:
        call(*arguments)
    except ApiException as error:
        return error
    raise AssertionError("it was not refused")


# From here on, each call names the user of the session.
service.configuration.api_key["userId"] = auth.get_session().user.user_id

created = bookmarks.create_bookmark(BookmarkToCreate(id="one", **content), **laptop)
assert created.created_at >= now - 60_000
assert created.deleted_at is None
page = bookmarks.list_bookmarks(limit=10)
assert page.data == [created] and page.meta.total == 1


# The edit of `one` is older than the stored version.
def edit(entity_id: str, timestamp: int) -> Change:
    what = {"entity_type": EntityType.BOOKMARK, "entity_id": entity_id, "operation": Operation.UPDATE}
    return Change(id=f"edit of {entity_id}", timestamp=timestamp, device_id="laptop", **what, **content)


pushed = sync.push_changes(PushRequest(changes=[edit("one", 1000), edit("two", now)]), **laptop)
assert pushed.accepted_ids == ["edit of two"]
assert [(conflict.entity_id, conflict.resolution) for conflict in pushed.conflicts] == [("one", "rejected")]

pulled, since, more = [], 0, True
while more:
    answer = sync.pull_changes(pull_request=PullRequest(since=since, limit=1), **laptop)
    pulled += [(change.entity_id, change.encrypted_data) for change in answer.changes]
    since, more = answer.last_sync_timestamp, answer.has_more
assert pulled == [("one", content["encrypted_data"]), ("two", content["encrypted_data"])]

# `one` exists already, and the date of `four` is in milliseconds, not seconds: the constructor would refuse it.
found = [
    ImportBookmark(id="three", date_added=1_700_000_000, **content),
    ImportBookmark(id="one", **content),
    ImportBookmark.model_construct(id="four", date_added=1_700_000_000_000, **content),
]
imported = sync.import_bookmarks(ImportRequest(bookmarks=found), **laptop)
assert imported.imported_ids == ["three"]
assert [error.id for error in imported.errors] == ["one", "four"]
assert bookmarks.get_bookmark("three").created_at == 1_700_000_000_000

export = exports.create_export()
assert export.size_bytes is None
while export.status != ExportStatus.COMPLETED:
    time.sleep(0.1)
    export = exports.list_exports().exports[0]
assert export.bookmark_count == 3
file = exports.download_export(export.id)
assert len(file) == export.size_bytes
assert file[:5] == b"EBSX\x01"

assert bookmarks.delete_bookmark("three", **laptop).success
status = sync.get_sync_status(**laptop)
assert status.total_bookmarks == 2 and status.last_sync >= now - 60_000
assert auth.get_session().user.user_id == status.user_id

# Refused: a bookmark that does not exist, and a call that names another user than the session's.
nothing = refused(bookmarks.get_bookmark, "nothing")
assert (nothing.status, nothing.data.error) == (404, "Bookmark not found")
service.configuration.api_key["userId"] = "somebody-else"
forbidden = refused(bookmarks.list_bookmarks)
assert (forbidden.status, forbidden.data.error) == (403, "Forbidden user")
service.configuration.api_key["userId"] = status.user_id

assert auth.logout().success
assert refused(auth.get_session).status == 401
