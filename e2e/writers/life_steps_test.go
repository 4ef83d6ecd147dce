package writers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/catalog"
	"leat/internal/columnar"
	"leat/internal/fileio"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

// writtenRow is a change of one row.
type writtenRow struct {
	kind columnar.RowKind
	key  rowKey
	row  modelRow
}

// write makes an epoch of a few rows and brings it in exactly once, whatever breaks.
func (l *life) write() {
	l.Helper()
	ctx, next := l.Context(), l.now.clone()
	var changes []writtenRow
	for range 1 + l.draw("rows", 4) {
		c := writtenRow{kind: columnar.Insert, key: rowKey{parts[l.draw("part", len(parts))], int64(l.draw("key", 5))}, row: modelRow{}}
		for _, col := range l.now.columns {
			if v := l.draw("value", 30); v > 4 {
				c.row[col.uid] = int64(v)
			}
		}
		delete(next.rows, c.key)
		if l.draw("deletes", 4) == 0 {
			c.kind = columnar.Delete
		} else {
			next.rows[c.key] = c.row
		}
		changes = append(changes, c)
	}
	seen, err := commit.NewSnapshots(l.disk, l.path).Latest(ctx)
	if err != nil {
		l.Fatalf("%v", err)
	}
	l.epoch++
	fs, sound := l.broken()
	attempt := l.newAttempt()
	messages, err := l.dataFiles(fs, attempt, changes)
	prepared := err == nil
	if prepared {
		err = l.commit(fs, attempt, messages, false)
	}
	if err != nil && sound {
		l.Fatalf("%v: %v", l.log, err)
	}
	if err != nil {
		l.recover(seen, attempt, prepared, messages, changes)
	}
	l.now = next
}

// recover does what a job does after a crash.
func (l *life) recover(seen int64, dead string, prepared bool, messages []spec.CommitMessage, changes []writtenRow) {
	l.Helper()
	ctx := l.Context()
	l.crash()
	if prepared {
		t, err := lakehouse.Open(ctx, l.disk, l.path)
		if err != nil {
			l.Fatalf("%v", err)
		}
		c := commit.New(l.disk, l.path, t.Schema, commit.Options{Attempt: l.newAttempt(), MinRetryWait: time.Microsecond}, nil)
		found, err := c.FindCommitted(ctx, "u", seen, []int64{l.epoch})
		if err != nil {
			l.Fatalf("%v: %v", l.log, err)
		}
		if found[l.epoch] == commit.NotCommitted {
			r := commit.Request{User: "u", Identifier: l.epoch, Messages: messages, CheckAppend: true}
			if _, err := c.Commit(ctx, r); err != nil {
				l.Fatalf("%v: %v", l.log, err)
			}
		}
	}
	if err := maintain.RemoveAttempt(ctx, l.disk, l.path, dead, nil); err != nil {
		l.Fatalf("%v: %v", l.log, err)
	}
	if prepared {
		return
	}
	attempt := l.newAttempt()
	messages, err := l.dataFiles(l.disk, attempt, changes)
	if err == nil {
		err = l.commit(l.disk, attempt, messages, false)
	}
	if err != nil {
		l.Fatalf("%v: %v", l.log, err)
	}
}

// dataFiles writes the files of one epoch.
func (l *life) dataFiles(fs fileio.FS, attempt string, changes []writtenRow) (messages []spec.CommitMessage, err error) {
	ctx := l.Context()
	t, err := lakehouse.Open(ctx, fs, l.path)
	if err != nil {
		return nil, err
	}
	w, err := t.NewWriter(ctx, lakehouse.WriteConfig{Attempt: attempt, User: "u"})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close(ctx)) }()
	if err := w.Write(ctx, batchOf(t.Schema, changes)); err != nil {
		return nil, err
	}
	p, err := w.Prepare(ctx, l.epoch)
	if err != nil {
		return nil, err
	}
	return p.Wait(ctx)
}

func (l *life) commit(fs fileio.FS, attempt string, messages []spec.CommitMessage, check bool) error {
	t, err := lakehouse.Open(l.Context(), fs, l.path)
	if err != nil {
		return err
	}
	c := commit.New(fs, l.path, t.Schema, commit.Options{Attempt: attempt, MinRetryWait: time.Microsecond, ManifestMergeMinCount: 3}, nil)
	_, err = c.Commit(l.Context(), commit.Request{User: "u", Identifier: l.epoch, Messages: messages, CheckAppend: check})
	return err
}

// batchOf makes the changes in the columns of the schema, whose ids are those of the model.
func batchOf(s *spec.TableSchema, changes []writtenRow) *columnar.Batch {
	builders := columnar.NewBuilders(memory.DefaultAllocator, s.Columns())
	kinds := make([]columnar.RowKind, len(changes))
	for i, c := range changes {
		kinds[i] = c.kind
		for at, f := range s.Fields {
			v, ok := c.row[f.ID]
			switch b := builders[at].(type) {
			case *array.StringBuilder:
				if f.Name == "part" {
					b.Append(c.key.part)
				} else if ok {
					b.Append(text(columnar.VarChar, v, true))
				} else {
					b.AppendNull()
				}
			default:
				if f.Name == "k" {
					v, ok = c.key.k, true
				}
				appendInt(b, v, ok)
			}
		}
	}
	columns := make([]arrow.Array, len(builders))
	for i := range builders {
		columns[i] = builders[i].NewArray()
	}
	return columnar.NewBatch(s.Columns(), kinds, columns, len(changes))
}

func appendInt(b array.Builder, v int64, ok bool) {
	if !ok {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int64Builder:
		b.Append(v)
	default:
		panic(fmt.Sprintf("no builder of whole numbers: %T", b))
	}
}

// linesOf gives the rows of a batch in the form of state.lines.
func linesOf(b *columnar.Batch, columns []column) ([]string, error) {
	names := []string{"part", "k"}
	for _, c := range columns {
		names = append(names, c.name)
	}
	if len(b.Schema.Fields) != len(names) {
		return nil, fmt.Errorf("%d columns read, want %v", len(b.Schema.Fields), names)
	}
	out := make([]string, b.Rows())
	for n, name := range names {
		at := b.Schema.Index(name)
		if at < 0 {
			return nil, fmt.Errorf("column %s is not read", name)
		}
		for i := range out {
			cell := "null"
			if !b.Cols[at].IsNull(i) {
				cell = b.Cols[at].ValueStr(i)
			}
			switch {
			case n == 0:
				out[i] = cell
			case n == 1:
				out[i] += "|" + cell
			default:
				out[i] += "|" + name + "=" + cell
			}
		}
	}
	return out, nil
}

// alter makes one change of the columns.
func (l *life) alter() {
	l.Helper()
	next := slices.Clone(l.now.columns)
	position, place := l.position(next)
	var change catalog.SchemaChange
	if op := l.draw("change", 4); op == 0 || len(next) < 2 {
		uid, kind := l.freeID(), kinds[l.draw("type", len(kinds))]
		name := fmt.Sprint("c", l.draw("name", 6))
		if l.now.find(name) >= 0 {
			return
		}
		change = catalog.AddColumn{Path: []string{name}, Type: typeOf(kind), Position: position}
		next = slices.Insert(next, place, column{uid, name, kind})
	} else {
		at := l.draw("column", len(next))
		c := next[at]
		switch op {
		case 1:
			change, next = catalog.DropColumn{Path: []string{c.name}}, slices.Delete(next, at, at+1)
		case 2:
			to := fmt.Sprint("r", l.draw("name", 6))
			if l.now.find(to) >= 0 {
				return
			}
			change, next[at].name = catalog.RenameColumn{Path: []string{c.name}, To: to}, to
		default:
			to := wider[c.kind]
			if len(to) == 0 {
				return
			}
			next[at].kind = to[l.draw("wider", len(to))]
			change = catalog.ModifyType{Path: []string{c.name}, Type: typeOf(next[at].kind)}
		}
	}
	took := l.do(func(fs fileio.FS) error {
		_, err := catalog.New(fs, "/wh").AlterTable(l.Context(), l.id, []catalog.SchemaChange{change}, catalog.AlterOptions{})
		return err
	}, "exists", "there is no", "no column", "same name", "has no")
	if got := l.columns(); took && !slices.Equal(got, next) {
		l.Fatalf("%v: columns %v after %#v, want %v", l.log, got, change, next)
	}
	l.now.columns = l.columns()
}

// position draws where a new column goes, and gives its place among columns.
func (l *life) position(columns []column) (catalog.Position, int) {
	if at := l.draw("after", len(columns)+1); at < len(columns) {
		return catalog.Position{After: columns[at].name}, at + 1
	}
	return catalog.Position{}, len(columns)
}

func (l *life) freeID() int {
	l.Helper()
	s, _, err := catalog.New(l.disk, "/wh").Table(l.Context(), l.id)
	if err != nil {
		l.Fatalf("%v", err)
	}
	return s.HighestFieldID + 1
}

func (l *life) compact() {
	l.Helper()
	full := l.draw("full", 2) == 0
	l.do(func(fs fileio.FS) error {
		t, err := lakehouse.Open(l.Context(), fs, l.path)
		if err != nil {
			return err
		}
		_, err = t.RunCompaction(l.Context(), lakehouse.WriteConfig{Attempt: l.newAttempt()}, lakehouse.Compaction{Full: full})
		return err
	})
}

func (l *life) expire() {
	l.Helper()
	minimum := int64(1 + l.draw("retained", 3))
	o := maintain.ExpireOptions{
		RetainMin: minimum, RetainMax: minimum + int64(l.draw("more", 3)), Limit: int64(1 + l.draw("limit", 10)), CleanEmptyDirs: l.draw("folders", 2) == 0,
		Now: func() time.Time { return time.Now().Add(time.Hour) },
	}
	before := l.ids()
	l.do(func(fs fileio.FS) error {
		_, err := maintain.ExpireSnapshots(l.Context(), fs, l.path, o)
		return err
	})
	after := l.ids()
	for i, id := range before {
		if slices.Contains(after, id) {
			continue
		}
		l.expired[id] = true
		if l.held > 0 && id >= l.held || int64(len(before)-i) <= o.RetainMin {
			l.Fatalf("%v: snapshot %d of %v was expired, with a consumer at %d and %+v", l.log, id, before, l.held, o)
		}
	}
}

// tag makes or deletes a tag.
func (l *life) tag() {
	l.Helper()
	name := fmt.Sprint("t", l.draw("tag", 3))
	ids := l.ids()
	if _, there := l.tags[name]; there {
		l.removed = true
		base := slices.Contains(slices.Collect(maps.Values(l.bases)), name)
		took := l.do(func(fs fileio.FS) error { return maintain.DeleteTag(l.Context(), fs, l.path, name) }, "there is no")
		if took && base {
			l.Fatalf("%v: tag %s of a branch was deleted", l.log, name)
		}
		if took {
			delete(l.tags, name)
		}
		return
	}
	if len(ids) == 0 {
		return
	}
	id := ids[l.draw("tagged", len(ids))]
	took := l.do(func(fs fileio.FS) error {
		return maintain.CreateTag(l.Context(), fs, l.path, maintain.TagOptions{Name: name, Snapshot: id, Now: time.Now()})
	}, "exists already")
	if took {
		l.tags[name] = tagged{id, l.kept[id].clone()}
	}
}

// branch makes a branch of a tag, deletes one, or makes it the table.
func (l *life) branch() {
	l.Helper()
	ctx, name := l.Context(), fmt.Sprint("b", l.draw("branch", 2))
	base, there := l.bases[name]
	l.removed = l.removed || there
	switch {
	case !there:
		tags := slices.Sorted(maps.Keys(l.tags))
		if len(tags) == 0 {
			return
		}
		tag := tags[l.draw("base", len(tags))]
		if l.do(func(fs fileio.FS) error { return maintain.CreateBranch(ctx, fs, l.path, name, tag) }, "exists already") {
			l.bases[name] = tag
		}
	case l.draw("forward", 2) == 0:
		if l.do(func(fs fileio.FS) error { return maintain.FastForward(ctx, fs, l.path, name) }) {
			l.backTo(l.tags[base])
		}
	default:
		if l.do(func(fs fileio.FS) error { return maintain.DeleteBranch(ctx, fs, l.path, name) }, "there is no") {
			delete(l.bases, name)
		}
	}
}

// backTo takes the model back to a state: later snapshots and tags are gone.
func (l *life) backTo(to tagged) {
	maps.DeleteFunc(l.kept, func(id int64, _ state) bool { return id > to.id })
	maps.DeleteFunc(l.expired, func(id int64, _ bool) bool { return id >= to.id })
	maps.DeleteFunc(l.tags, func(_ string, t tagged) bool { return t.id > to.id })
	l.kept[to.id] = to.clone()
	l.now = to.clone()
	l.now.columns = l.columns()
}

// rollBack goes back to a snapshot or a tag.
func (l *life) rollBack() {
	l.Helper()
	ids, tags := l.ids(), slices.Sorted(maps.Keys(l.tags))
	if n := len(ids) + len(tags); n == 0 || l.draw("really", 2) == 0 {
		return
	}
	l.removed = true
	var to tagged
	var tag string
	if i := l.draw("target", len(ids)+len(tags)); i < len(ids) {
		to = tagged{ids[i], l.kept[ids[i]]}
	} else {
		tag = tags[i-len(ids)]
		to = l.tags[tag]
	}
	took := l.do(func(fs fileio.FS) error {
		id := to.id
		if tag != "" {
			id = 0
		}
		_, _, err := maintain.Rollback(l.Context(), fs, l.path, id, tag)
		return err
	})
	if took {
		l.backTo(to)
	}
}

// consumer sets a consumer to a snapshot or removes it.
func (l *life) consumer() {
	l.Helper()
	ids := l.ids()
	if l.held > 0 {
		l.removed = true
		if l.do(func(fs fileio.FS) error { return maintain.DeleteConsumer(l.Context(), fs, l.path, "c") }, "there is no") {
			l.held = 0
		}
		return
	}
	if len(ids) == 0 {
		return
	}
	id := ids[l.draw("next", len(ids))]
	if l.do(func(fs fileio.FS) error { return maintain.ResetConsumer(l.Context(), fs, l.path, "c", id) }) {
		l.held = id
	}
}

// partitions drops or expires partitions, or all rows.
func (l *life) partitions() {
	l.Helper()
	ctx, n := l.Context(), l.draw("partition", len(parts))
	gone := func(part string) bool { return part == parts[n] }
	var op func(fs fileio.FS) error
	switch l.draw("how", 3) {
	case 0:
		op = func(fs fileio.FS) error {
			_, err := maintain.DropPartitions(ctx, fs, l.path, []maintain.PartitionSpec{{"part": parts[n]}}, true)
			return err
		}
	case 1:
		gone = func(part string) bool { return part < parts[n] }
		op = func(fs fileio.FS) error {
			day, err := time.ParseInLocation(time.DateOnly, parts[n], time.Local)
			if err == nil {
				_, err = maintain.ExpirePartitions(ctx, fs, l.path, maintain.PartitionExpiry{Before: day})
			}
			return err
		}
	default:
		gone = func(string) bool { return true }
		op = func(fs fileio.FS) error { return maintain.Truncate(ctx, fs, l.path) }
	}
	if l.do(op) {
		l.now.drop(gone)
	}
}

// sweep removes orphans of any age: no epoch is under way.
func (l *life) sweep() {
	l.Helper()
	l.do(func(fs fileio.FS) error {
		_, err := maintain.RemoveOrphans(l.Context(), fs, l.path, maintain.OrphanOptions{OlderThan: time.Now().Add(time.Hour)})
		return err
	})
}

func (l *life) manifests() {
	l.Helper()
	l.do(func(fs fileio.FS) error {
		_, err := maintain.CompactManifests(l.Context(), fs, l.path)
		return err
	})
}
