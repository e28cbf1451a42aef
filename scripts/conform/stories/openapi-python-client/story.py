"""The story of ../README.md with the client that openapi-python-client generates."""

import os
import time
from collections import Counter

from client import Client
from client.api.auth import get_session, logout
from client.api.bookmarks import create_bookmark, delete_bookmark, get_bookmark, list_bookmarks
from client.api.exports import create_export, download_export, list_exports
from client.api.history import list_trash, list_versions, restore_bookmark, rewind_bookmarks
from client.api.sync import get_sync_status, import_bookmarks, pull_changes, push_changes
from client.models import Change, EntityType, ExportStatus, ImportBookmark, ImportRequest
from client.models import BookmarkToCreate, Operation, PullRequest, PushRequest, RestoreRequest, RewindRequest
from client.types import UNSET

service = Client(base_url=os.environ["BASE_URL"], cookies={"service_session": os.environ["SESSION"]})
# From here on, each call names the user of the session.
service = service.with_headers({"X-User-ID": get_session.sync(client=service).user.user_id})
laptop = {"client": service, "x_device_id": "laptop"}
content = {"encrypted_data": "opaque, not base64", "data_hash": "e3b0c442"}
now = int(time.time() * 1000)

created = create_bookmark.sync(body=BookmarkToCreate(id="one", **content), **laptop)
assert created.created_at >= now - 60_000
assert created.deleted_at is None
page = list_bookmarks.sync(client=service, limit=10)
assert page.data == [created] and page.meta.total == 1


# The edit of `one` is older than the stored version.
def edit(entity_id: str, timestamp: int) -> Change:
    what = {"entity_type": EntityType.BOOKMARK, "entity_id": entity_id, "operation": Operation.UPDATE}
    return Change(id=f"edit of {entity_id}", timestamp=timestamp, device_id="laptop", **what, **content)


pushed = push_changes.sync(body=PushRequest(changes=[edit("one", 1000), edit("two", now)]), **laptop)
assert pushed.accepted_ids == ["edit of two"]
assert [(conflict.entity_id, conflict.resolution) for conflict in pushed.conflicts] == [("one", "rejected")]

pulled, since, more = [], 0, True
while more:
    answer = pull_changes.sync(body=PullRequest(since=since, limit=1), **laptop)
    pulled += [(change.entity_id, change.encrypted_data) for change in answer.changes]
    since, more = answer.last_sync_timestamp, answer.has_more
assert pulled == [("one", content["encrypted_data"]), ("two", content["encrypted_data"])]

# `one` exists already, and the date of `four` is in milliseconds, not seconds.
bookmarks = [
    ImportBookmark(id="three", date_added=1_700_000_000, **content),
    ImportBookmark(id="one", **content),
    ImportBookmark(id="four", date_added=1_700_000_000_000, **content),
]
imported = import_bookmarks.sync(body=ImportRequest(bookmarks=bookmarks), **laptop)
assert imported.imported_ids == ["three"]
assert [error.id for error in imported.errors] == ["one", "four"]
assert get_bookmark.sync("three", client=service).created_at == 1_700_000_000_000

export = create_export.sync(client=service)
assert export.size_bytes is None
while export.status != ExportStatus.COMPLETED:
    time.sleep(0.1)
    export = list_exports.sync(client=service).exports[0]
assert export.bookmark_count == 3
file = download_export.sync(export.id, client=service).payload.read()
assert len(file) == export.size_bytes
assert file[:5] == b"EBSX\x01"

assert delete_bookmark.sync("three", **laptop).success
status = get_sync_status.sync(**laptop)
assert status.total_bookmarks == 2 and status.last_sync >= now - 60_000
assert get_session.sync(client=service).user.user_id == status.user_id

# Restores the edit of `one` that lost, and goes back to the time before all bookmarks.
versions = list_versions.sync("one", client=service).versions
restore_bookmark.sync("one", body=RestoreRequest(version_id=versions[0].version_id), **laptop)
trash = list_trash.sync(client=service).bookmarks
assert versions[0].began is None
assert get_bookmark.sync("one", client=service).updated_at > created.updated_at
assert [bookmark.id for bookmark in trash] == ["three"]


def go_back(to: int, dry_run: bool) -> Counter:
    counts, cursor = Counter(), UNSET
    while cursor is not None:
        answer = rewind_bookmarks.sync(body=RewindRequest(to=to, dry_run=dry_run, cursor=cursor), **laptop)
        counts.update(restored=answer.restored, deleted=answer.deleted, kept=answer.unchanged)
        cursor = answer.next_
    return counts


assert go_back(0, dry_run=True) == go_back(0, dry_run=False) == Counter(restored=0, deleted=2, kept=1)
assert list_bookmarks.sync(client=service).data == []

# Refused: a bookmark that does not exist, and a call that names another user than the session's.
nothing = get_bookmark.sync_detailed("nothing", client=service)
assert nothing.status_code == 404
assert nothing.parsed.error == "Bookmark not found"
forbidden = list_bookmarks.sync_detailed(client=service.with_headers({"X-User-ID": "somebody-else"}))
assert (forbidden.status_code, forbidden.parsed.error) == (403, "Forbidden user")
service = service.with_headers({"X-User-ID": status.user_id})

assert logout.sync(client=service).success
assert get_session.sync_detailed(client=service).status_code == 401
