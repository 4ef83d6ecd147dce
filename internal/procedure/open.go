package procedure

import (
	"context"
	"maps"
	"runtime"
	"strings"
	"time"

	"github.com/google/uuid"

	"leat/catalog"
	"leat/configs"
	"leat/internal/diag"
	"leat/lakehouse"
	"leat/lakehouse/spec"
)

// target is the table of a call.
type target struct {
	id     catalog.Identifier
	path   string
	schema *spec.TableSchema
	// options are those of the table, parsed on demand by configs.
	options configs.Values
}

// table finds the table named by an argument: db.t, or t of the current database.
func (x *execution) table(ctx context.Context) (*target, error) {
	return x.named(ctx, x.Text("table"))
}

func (x *execution) named(ctx context.Context, name string) (*target, error) {
	id := catalog.Identifier{Database: x.env.Database, Table: name}
	if db, t, ok := strings.Cut(name, "."); ok {
		id.Database, id.Table = strings.Trim(db, "`"), strings.Trim(t, "`")
	}
	if strings.Contains(id.Table, "$") {
		return nil, x.wrong("table", "'"+name+"' is a branch or a system table", "name the table itself")
	}
	s, path, err := x.env.Catalog.Table(ctx, id)
	if err != nil {
		return nil, err
	}
	t := &target{id: id, path: path, schema: s, options: configs.Values{}}
	for k, v := range s.Options {
		t.options[k] = configs.Value{Text: v}
	}
	return t, nil
}

// withOptions lays k=v,k=v of an argument over the table's options.
func (x *execution) withOptions(t *target, argument string) error {
	if !x.Has(argument) {
		return nil
	}
	given := configs.Values{}
	for pair := range strings.SplitSeq(x.Text(argument), ",") {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			return x.wrong(argument, "'"+pair+"' has no '='", "write key=value,key=value")
		}
		given[strings.TrimSpace(k)] = configs.Value{Text: strings.TrimSpace(v)}
	}
	if _, errs := configs.LakeTable.Check(given, configs.CheckOptions{Table: t.id.String()}); len(errs) > 0 {
		return errs
	}
	maps.Copy(t.options, given)
	return nil
}

// time reads an argument that is a time.
func (x *execution) time(name string) (time.Time, error) {
	text := x.Text(name)
	for _, form := range []string{"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(form, strings.TrimSpace(text), x.env.Zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, x.wrong(name, "'"+text+"' is no time", "write yyyy-MM-dd HH:mm:ss")
}

// duration reads an argument that is a duration; 0 if it was not given.
func (x *execution) duration(name string) (time.Duration, error) {
	if !x.Has(name) {
		return 0, nil
	}
	d, err := configs.ParseDuration(x.Text(name))
	if err != nil {
		return 0, x.wrong(name, err.Error(), "write a duration, such as '1 d'")
	}
	return d, nil
}

// compactTable gives postponed rows their buckets, compacts what is due, or everything, and commits it.
func (x *execution) compactTable(ctx context.Context, t *target, full bool, only func(spec.BinaryRow) bool) error {
	tab, err := lakehouse.Open(ctx, x.env.FS, t.path)
	if err != nil {
		return err
	}
	cfg := lakehouse.WriteConfig{Attempt: uuid.NewString(), Pool: lakehouse.NewWorkPool(2 * runtime.GOMAXPROCS(0)), Partition: only}
	done, err := tab.RunCompaction(ctx, cfg, lakehouse.Compaction{Full: full})
	if err == nil && done.Buckets == 0 && done.Dropped > 0 {
		return &diag.Error{
			Domain: diag.External, Code: diag.CodeLakeConflict, Table: t.id.String(), Retry: true,
			Msg: "another writer compacted the same buckets meanwhile", Hint: "call it again, or stop the other writer",
		}
	}
	return err
}
