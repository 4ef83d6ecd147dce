package maintain

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/internal/fileio/crashfs"
)

// FuzzReadTag reads any bytes as a tag file: no panic, and what can be read is
// the same after it was written again.
func FuzzReadTag(f *testing.F) {
	const snapshot = `{"version":3,"id":2,"schemaId":0,"baseManifestList":"a","deltaManifestList":"b","commitUser":"u","commitIdentifier":1,"commitKind":"APPEND","timeMillis":1`
	f.Add([]byte(snapshot + `}`))
	f.Add([]byte(snapshot + `,"tagCreateTime":[2026,11,29,21,16,5,642000000],"tagTimeRetained":86400.000000000}`))
	f.Add([]byte(snapshot + `,"tagCreateTime":[2026,13],"tagTimeRetained":-1e300}`))
	f.Add([]byte(`{"id":1}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		ctx, fs := t.Context(), crashfs.New()
		if err := fs.Replace(ctx, tablePath+"/tag/tag-x", content); err != nil {
			t.Fatal(err)
		}
		tag, err := ReadTag(ctx, fs, tablePath, "x")
		if err != nil {
			return
		}
		again, err := marshalTag(tag.Snapshot, tag.Created, tag.Retained)
		if err != nil {
			t.Fatal(err)
		}
		if err := fs.Replace(ctx, tablePath+"/tag/tag-y", again); err != nil {
			t.Fatal(err)
		}
		second, err := ReadTag(ctx, fs, tablePath, "y")
		if err != nil {
			t.Fatalf("written again it cannot be read: %v\n%s", err, again)
		}
		if tag.Retained > 0 && second.Retained.Round(time.Second) != tag.Retained.Round(time.Second) || second.Snapshot.ID != tag.Snapshot.ID {
			t.Errorf("%v became %v", tag, second)
		}
		if d := cmp.Diff(tag.Snapshot.Properties, second.Snapshot.Properties); d != "" {
			t.Error(d)
		}
	})
}

// FuzzConsumers reads any bytes as a consumer file: an error that names the file,
// or a number that is the same after it was written again.
func FuzzConsumers(f *testing.F) {
	f.Add([]byte(`{"nextSnapshot" : 7}`))
	f.Add([]byte(`{"nextSnapshot":-1}`))
	f.Add([]byte(`{"nextSnapshot":1e3}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, content []byte) {
		ctx, fs := t.Context(), crashfs.New()
		path := tablePath + "/consumer/consumer-x"
		if err := fs.Replace(ctx, path, content); err != nil {
			t.Fatal(err)
		}
		all, err := Consumers(ctx, fs, tablePath)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%v does not name %s", err, path)
			}
			return
		}
		if err := ResetConsumer(ctx, fs, tablePath, "x", all[0].Next); err != nil {
			t.Fatal(err)
		}
		again, err := Consumers(ctx, fs, tablePath)
		if err != nil || len(again) != 1 || again[0].Next != all[0].Next {
			t.Errorf("%v became %v, %v", all, again, err)
		}
	})
}
