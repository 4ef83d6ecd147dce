package lakehouse

import (
	"context"
	"fmt"
	"slices"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// Rekeyable reports whether Rekey can write the rows of the table anew: those with
// a fixed number of buckets.
func (t *Table) Rekeyable() bool { return t.mode() == fixedBuckets && len(t.Schema.PrimaryKeys) > 0 }

// Rekey writes the rows of a table anew, in one OVERWRITE snapshot that changelogs
// do not show, where live files hold a column of the key in another type than the
// table has now: keys of other types belong into other buckets. The types have to
// sort alike. 0 says that there was nothing to do, also after a crash; a conflict
// with other writers is commit.ErrConflict.
func (t *Table) Rekey(ctx context.Context, cfg WriteConfig) (int64, error) {
	s, err := t.staleKeys(ctx)
	if err != nil || s == nil {
		return 0, err
	}
	// The rows are those of s, and so is the place of the source.
	return t.replaceRows(ctx, s, cfg, t.Options.Bucket, s.Properties, true)
}

// staleKeys gives the latest snapshot if a file of it has keys of another type,
// else nil.
func (t *Table) staleKeys(ctx context.Context) (*spec.Snapshot, error) {
	if !t.Rekeyable() || t.Schema.ID == 0 {
		return nil, nil //nolint:nilnil // nothing is stale
	}
	old := map[int64]bool{}
	for id := range t.Schema.ID {
		was, err := t.schemaOf(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("looking at the keys of table %s: %w", t.Path, err)
		}
		if otherKeys(was, t.Schema) {
			old[id] = true
		}
	}
	if len(old) == 0 {
		return nil, nil //nolint:nilnil // nothing is stale
	}
	s, err := t.LatestSnapshot(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	live, err := t.manifests.Live(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.Path, err)
	}
	if !slices.ContainsFunc(live, func(e spec.ManifestEntry) bool { return old[e.File.SchemaID] }) {
		return nil, nil //nolint:nilnil // nothing is stale
	}
	return s, nil
}

// otherKeys reports whether a column of the key is stored in another way: the
// length of a text matters neither to its bytes nor to their order.
func otherKeys(a, b *spec.TableSchema) bool {
	for _, name := range b.PrimaryKeys {
		now := slices.IndexFunc(b.Fields, func(f columnar.Field) bool { return f.Name == name })
		if now < 0 {
			continue
		}
		was := slices.IndexFunc(a.Fields, func(f columnar.Field) bool { return f.ID == b.Fields[now].ID })
		if was < 0 {
			continue
		}
		x, y := a.Fields[was].Type, b.Fields[now].Type
		if !x.EqualIgnoreNull(y) && (!x.IsText() || !y.IsText()) {
			return true
		}
	}
	return false
}
