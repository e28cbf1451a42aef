// The story of ../README.md, with the client of ogen.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/ogen-go/ogen/ogenerrors"

	api "story/client"
)

const data, hash = "opaque, not base64", "e3b0c442"

var laptop = api.NewOptString("laptop")

// Each call that requires a session sends it as a cookie, and its user as soon as that is known.
type caller struct{ session, userID string }

func (caller *caller) SessionCookie(context.Context, api.OperationName) (api.SessionCookie, error) {
	return api.SessionCookie{APIKey: caller.session}, nil
}

func (caller *caller) UserId(context.Context, api.OperationName) (api.UserId, error) {
	if caller.userID == "" {
		return api.UserId{}, ogenerrors.ErrSkipClientSecurity
	}
	return api.UserId{APIKey: caller.userID}, nil
}

func (*caller) SessionToken(context.Context, api.OperationName) (api.SessionToken, error) {
	return api.SessionToken{}, ogenerrors.ErrSkipClientSecurity
}

func (*caller) RefreshCookie(context.Context, api.OperationName) (api.RefreshCookie, error) {
	return api.RefreshCookie{}, ogenerrors.ErrSkipClientSecurity
}

func main() {
	ctx := context.Background()
	me := &caller{session: os.Getenv("SESSION")}
	service, err := api.NewClient(os.Getenv("BASE_URL"), me)
	must(err)
	now := time.Now().UnixMilli()

	// From here on, each call names the user of the session.
	me.userID = ok[*api.SessionHeaders](service.GetSession(ctx)).Response.User.UserID

	created := ok[*api.BookmarkHeaders](service.CreateBookmark(ctx,
		&api.BookmarkToCreate{ID: api.NewOptID("one"), EncryptedData: data, DataHash: hash},
		api.CreateBookmarkParams{XDeviceID: laptop})).Response
	is(created.CreatedAt >= now-60_000, true)
	is(created.DeletedAt.Null, true)
	page := ok[*api.BookmarkPageHeaders](service.ListBookmarks(ctx, api.ListBookmarksParams{Limit: api.NewOptInt32(10)})).Response
	is(page.Data, []api.Bookmark{created})
	is(page.Meta.Total, 1)

	// The edit of `one` is older than the stored version.
	pushed := ok[*api.PushResponseHeaders](service.PushChanges(ctx,
		&api.PushRequest{Changes: []api.Change{edit("one", 1000), edit("two", now)}},
		api.PushChangesParams{XDeviceID: laptop})).Response
	is(pushed.AcceptedIds, []string{"edit of two"})
	is(len(pushed.Conflicts), 1)
	is(pushed.Conflicts[0].EntityID, "one")
	is(pushed.Conflicts[0].Resolution, "rejected")

	pulled := []string{}
	since := int64(0)
	for more := true; more; {
		wanted := api.PullRequest{Since: api.NewOptInt64(since), Limit: api.NewOptInt32(1)}
		answer := ok[*api.PullResponseHeaders](service.PullChanges(ctx, api.NewOptPullRequest(wanted),
			api.PullChangesParams{XDeviceID: laptop})).Response
		for _, change := range answer.Changes {
			pulled = append(pulled, change.EntityID, change.EncryptedData.Value)
		}
		since, more = answer.LastSyncTimestamp, answer.HasMore
	}
	is(pulled, []string{"one", data, "two", data})

	// `one` exists already, and the date of `four` is in milliseconds, not seconds.
	imported := ok[*api.ImportResponseHeaders](service.ImportBookmarks(ctx,
		&api.ImportRequest{Bookmarks: []api.ImportBookmark{
			{ID: "three", EncryptedData: data, DataHash: hash, DateAdded: api.NewOptSeconds(1_700_000_000)},
			{ID: "one", EncryptedData: data, DataHash: hash},
			{ID: "four", EncryptedData: data, DataHash: hash, DateAdded: api.NewOptSeconds(1_700_000_000_000)},
		}}, api.ImportBookmarksParams{XDeviceID: laptop})).Response
	is(imported.ImportedIds, []string{"three"})
	is(len(imported.Errors), 2)
	is(imported.Errors[0].ID, "one")
	is(imported.Errors[1].ID, "four")
	three := ok[*api.BookmarkHeaders](service.GetBookmark(ctx, api.GetBookmarkParams{ID: "three"})).Response
	is(three.CreatedAt, int64(1_700_000_000_000))

	export := ok[*api.ExportHeaders](service.CreateExport(ctx, api.CreateExportParams{})).Response
	is(export.SizeBytes.Null, true)
	for export.Status != api.ExportStatusCompleted {
		time.Sleep(100 * time.Millisecond)
		export = ok[*api.ExportListHeaders](service.ListExports(ctx)).Response.Exports[0]
	}
	is(export.BookmarkCount.Value, 3)
	download := ok[*api.DownloadExportOKHeaders](service.DownloadExport(ctx, api.DownloadExportParams{ID: api.ID(export.ID)}))
	file, err := io.ReadAll(download.Response)
	must(err)
	is(len(file), export.SizeBytes.Value)
	is(string(file[:5]), "EBSX\x01")

	deleted := ok[*api.ForgetDeviceOKHeaders](service.DeleteBookmark(ctx, api.DeleteBookmarkParams{ID: "three", XDeviceID: laptop}))
	is(deleted.Response.Success, true)
	status := ok[*api.SyncStatusHeaders](service.GetSyncStatus(ctx, api.GetSyncStatusParams{XDeviceID: api.NewOptID("laptop")})).Response
	is(status.TotalBookmarks, 2)
	is(status.LastSync >= now-60_000, true)
	is(ok[*api.SessionHeaders](service.GetSession(ctx)).Response.User.UserID, status.UserID)

	// Refused: a bookmark that does not exist, and a call that names another user than the session's.
	nothing := ok[*api.BookmarkNotFoundHeaders](service.GetBookmark(ctx, api.GetBookmarkParams{ID: "nothing"}))
	is(nothing.Response.Error, "Bookmark not found")
	me.userID = "somebody-else"
	forbidden := ok[*api.ForbiddenUserHeaders](service.ListBookmarks(ctx, api.ListBookmarksParams{}))
	is(forbidden.Response.Error, "Forbidden user")
	me.userID = status.UserID

	is(ok[*api.DoneHeaders](service.Logout(ctx)).Response.Success, true)
	is(ok[*api.NoSessionHeaders](service.GetSession(ctx)).Response.Authenticated, false)
}

func edit(entityID api.ID, timestamp int64) api.Change {
	return api.Change{ID: "edit of " + entityID, EntityType: api.EntityTypeBookmark, EntityID: entityID,
		Operation: api.OperationUpdate, Timestamp: api.Milliseconds(timestamp), DeviceID: "laptop",
		EncryptedData: api.NewOptEncryptedData(data), DataHash: api.NewOptDataHash(hash)}
}

// Fails unless the answer has this type.
func ok[T any](answer any, err error) T {
	must(err)
	expected, fits := answer.(T)
	if !fits {
		log.Panicf("%T: %v", answer, answer)
	}
	return expected
}

func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}

// Generators choose different types for numbers and texts, so values are compared by their printed form.
func is(value any, expected any) {
	if fmt.Sprint(value) != fmt.Sprint(expected) {
		log.Panicf("%v instead of %v", value, expected)
	}
}
