import java.io.InputStream;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AuthApi;
import org.openapitools.client.api.BookmarksApi;
import org.openapitools.client.api.ExportsApi;
import org.openapitools.client.api.SyncApi;
import org.openapitools.client.model.*;

/** The story of ../README.md, with the java client of openapi-generator. */
class Story {
  static final String data = "opaque, not base64";
  static final String hash = "e3b0c442";
  static final String laptop = "laptop";

  public static void main(String[] args) throws Exception {
    var session = "service_session=" + System.getenv("SESSION");
    var user = new AtomicReference<String>();
    var service = new ApiClient();
    service.updateBaseUri(System.getenv("BASE_URL"));
    service.setRequestInterceptor(request -> {
      request.header("Cookie", session);
      if (user.get() != null) request.header("X-User-ID", user.get());
    });
    var bookmarks = new BookmarksApi(service);
    var sync = new SyncApi(service);
    var exports = new ExportsApi(service);
    var auth = new AuthApi(service);
    var now = System.currentTimeMillis();

    // From here on, each call names the user of the session.
    user.set(new AuthApi(service).getSession().getUser().getUserId());

    var created = bookmarks.createBookmark(new BookmarkToCreate().id("one").encryptedData(data).dataHash(hash), laptop, null);
    is(created.getCreatedAt() >= now - 60_000, true);
    is(created.getDeletedAt(), null);
    var page = new BookmarksApi(service).listBookmarks(1, 10);
    is(page.getData(), List.of(created));
    is(page.getMeta().getTotal(), 1);

    // The edit of `one` is older than the stored version.
    var pushed = sync.pushChanges(new PushRequest().changes(List.of(edit("one", 1000), edit("two", now))), laptop);
    is(pushed.getAcceptedIds(), List.of("edit of two"));
    is(pushed.getConflicts().size(), 1);
    is(pushed.getConflicts().get(0).getEntityId(), "one");
    is(pushed.getConflicts().get(0).getResolution(), "rejected");

    var pulled = new ArrayList<String>();
    var since = 0L;
    for (var more = true; more; ) {
      var answer = sync.pullChanges(laptop, new PullRequest().since(since).limit(1));
      for (var change : answer.getChanges()) pulled.addAll(List.of(change.getEntityId(), change.getEncryptedData()));
      since = answer.getLastSyncTimestamp();
      more = answer.getHasMore();
    }
    is(pulled, List.of("one", data, "two", data));

    // `one` exists already, and the date of `four` is in milliseconds, not seconds.
    var imported = sync.importBookmarks(new ImportRequest().bookmarks(List.of(
      new ImportBookmark().id("three").encryptedData(data).dataHash(hash).dateAdded(1_700_000_000L),
      new ImportBookmark().id("one").encryptedData(data).dataHash(hash),
      new ImportBookmark().id("four").encryptedData(data).dataHash(hash).dateAdded(1_700_000_000_000L))), laptop);
    is(imported.getImportedIds(), List.of("three"));
    is(imported.getErrors().stream().map(ImportError::getId).toList(), List.of("one", "four"));
    is(bookmarks.getBookmark("three").getCreatedAt(), 1_700_000_000_000L);

    var export = exports.createExport(null);
    is(export.getSizeBytes(), null);
    while (export.getStatus() != ExportStatus.COMPLETED) {
      Thread.sleep(100);
      export = exports.listExports().getExports().get(0);
    }
    is(export.getBookmarkCount(), 3);
    var file = exports.downloadExport(export.getId(), null, null);
    is(file.length(), export.getSizeBytes());
    try (InputStream stream = Files.newInputStream(file.toPath())) {
      is(new String(stream.readNBytes(5)), "EBSX\u0001");
    }

    is(bookmarks.deleteBookmark("three", laptop).getSuccess(), true);
    var status = sync.getSyncStatus(laptop, null);
    is(status.getTotalBookmarks(), 2);
    is(status.getLastSync() >= now - 60_000, true);
    is(auth.getSession().getUser().getUserId(), status.getUserId());

    // Refused: a bookmark that does not exist, and a call that names another user than the session's.
    try {
      bookmarks.getBookmark("nothing");
      throw new AssertionError("nothing was found");
    } catch (ApiException exception) {
      is(exception.getCode(), 404);
      is(exception.getResponseBody(), "{\"error\":\"Bookmark not found\"}");
    }
    user.set("somebody-else");
    try {
      bookmarks.listBookmarks(1, 10);
      throw new AssertionError("somebody else's session was taken");
    } catch (ApiException exception) {
      is(exception.getCode(), 403);
      is(exception.getResponseBody(), "{\"error\":\"Forbidden user\"}");
    }
    user.set(status.getUserId());

    is(auth.logout().getSuccess(), true);
    try {
      auth.getSession();
      throw new AssertionError("still signed in");
    } catch (ApiException exception) {
      is(exception.getCode(), 401);
    }
  }

  static Change edit(String entityId, long timestamp) {
    return new Change().id("edit of " + entityId).entityType(EntityType.BOOKMARK).entityId(entityId)
      .operation(Operation.UPDATE).timestamp(timestamp).deviceId(laptop).encryptedData(data).dataHash(hash);
  }

  /** Generators choose different types for numbers and texts, so values are compared by their printed form. */
  static void is(Object value, Object expected) {
    if (!String.valueOf(value).equals(String.valueOf(expected))) throw new AssertionError(value + ", not " + expected);
  }
}
