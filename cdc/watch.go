package cdc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"

	"leat/internal/dataflow"
	"leat/internal/diag"
)

// Watch takes up tables that come while a reader runs. They are found by the
// statements in the log that can bring one; a table is looked up as it is at the
// server then, and read as any other is: ranges beside the stream. Rows of the
// log that lie before the first range is marked are in the ranges.
type Watch struct {
	// Matches reports whether a table of that name is wanted. It is called from
	// two goroutines.
	Matches func(database, table string) bool
	// Add makes the targets of a table and leads ports to them: it gives what they
	// read. A *diag.Error that no retry cures says why the table stays out; what
	// comes beside it is there already.
	Add func(ctx context.Context, info *TableInfo, out dataflow.Collector) ([]Added, error)
}

// Added is a port that a table fills which came.
type Added struct {
	Table Table
	Port  int
	// Joined says that other tables fill the port, too.
	Joined bool
}

func (w *Watch) matches(database, table string) bool {
	return w != nil && w.Matches(database, table)
}

// newcomers gives the tables that a statement may have brought and that are wanted and new.
func (r *Reader) newcomers(ctx context.Context, kind effect, names []name, e *event) ([]name, error) {
	brings := kind == created || kind == renamed || kind == refilled || kind == dropped && isCreate(e.text) ||
		kind == altered && mentions(e.text, "PRIMARY") // one that stayed out has a key now
	if r.cfg.Watch == nil || !brings {
		return nil, nil
	}
	folds := r.server.folds()
	names = slices.DeleteFunc(slices.Clone(names), func(n name) bool {
		return !folds && (!r.cfg.Watch.matches(n.schema, n.table) || len(r.byName[r.server.tableKey(n.schema, n.table)]) > 0)
	})
	if len(names) == 0 {
		return nil, nil
	}
	n, err := r.cfg.connect(ctx)
	if err != nil {
		return nil, sourceError(r.server.addr, err)
	}
	defer n.close()
	parts := make([]string, len(names))
	for i, x := range names {
		parts[i] = fmt.Sprintf("(TABLE_SCHEMA = %s AND TABLE_NAME = %s)", literal(x.schema), literal(x.table))
	}
	found, err := n.query("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE " + realTables + " AND (" + strings.Join(parts, " OR ") + ")")
	if err != nil {
		return nil, sourceError(n.addr, err)
	}
	var out []name
	for _, row := range found.rows {
		// The server's own spelling counts.
		_, kept := r.kept[row[0]+"."+row[1]]
		switch {
		case kept || !r.cfg.Watch.matches(row[0], row[1]) || len(r.byName[r.server.tableKey(row[0], row[1])]) > 0:
		case r.onlineChange(row[0], row[1]):
			r.log.Info("a table of an online schema change stays out", "table", row[0]+"."+row[1])
		default:
			out = append(out, name{row[0], row[1]})
		}
	}
	return out, nil
}

// welcome takes up tables, between two transactions. One that cannot be carried stays out.
func (r *Reader) welcome(ctx context.Context, list []name) error {
	if len(list) == 0 {
		return nil
	}
	n, err := r.cfg.connect(ctx)
	if err != nil {
		return sourceError(r.server.addr, err)
	}
	defer n.close()
	for _, x := range list {
		err := r.welcomeTable(ctx, n, x)
		var one *diag.Error
		var all diag.List
		switch {
		case err == nil:
			r.left = slices.DeleteFunc(r.left, func(s dataflow.TableStatus) bool { return s.Name == x.schema+"."+x.table })
		case diag.Retryable(err), !errors.As(err, &one) && !errors.As(err, &all):
			return err
		default:
			r.log.Warn("a new table stays out", "table", x.schema+"."+x.table, "reason", err)
			r.left = append(r.left, dataflow.TableStatus{Name: x.schema + "." + x.table, State: "left out", Reason: diag.Messages(err)})
		}
	}
	return nil
}

func (r *Reader) welcomeTable(ctx context.Context, n *conn, x name) error {
	end, err := n.endOfLog(r.server)
	if err != nil {
		return sourceError(n.addr, err)
	}
	src, err := r.describeNow(n, x.schema, x.table)
	if err != nil {
		return sourceError(n.addr, err)
	}
	if src == nil {
		return nil // dropped meanwhile
	}
	t := &table{def: Table{Label: x.schema + "." + x.table, Database: x.schema, Name: x.table}, described: end}
	if err := r.readable(n, t, src); errorCode(err) == mysql.ER_NO_SUCH_TABLE {
		return nil
	} else if err != nil {
		return err
	}
	info := src.info(x.schema, x.table)
	if _, locked := r.locked[r.server.tableKey(x.schema, x.table)]; !locked {
		if err := n.exec("SELECT * FROM " + t.sqlName() + " LIMIT 0"); denied(err) {
			return info.Grant()
		}
	}
	list, err := r.cfg.Watch.Add(ctx, &info, r.run.out)
	for i := range list {
		if err := r.takeUp(ctx, n, &list[i], src, end); err != nil {
			return err
		}
	}
	return err
}

// takeUp begins to read a table that came into a port.
func (r *Reader) takeUp(ctx context.Context, n *conn, a *Added, src *sourceTable, end mark) error {
	t := &table{def: a.Table, port: a.Port, described: end}
	if a.Joined {
		i := slices.IndexFunc(r.tables, func(x *table) bool { return x.port == a.Port })
		if i < 0 {
			return &diag.Error{
				Domain: diag.Guard, Code: diag.CodeSourceChanged, Table: t.id(), Msg: "the tables that it is to join are set aside",
				Hint: "let them go on, and restart the job",
			}
		}
		// What the port has by now.
		t.def = r.tables[i].def
		t.def.Database, t.def.Name, t.def.Label = a.Table.Database, a.Table.Name, a.Table.Label
	}
	// From here on the port is there, whatever becomes of the table.
	if err := t.fit(src, r.cells()); err != nil {
		return err
	}
	r.note(t)
	if err := r.noteCascades(n, t); err != nil {
		return sourceError(n.addr, err)
	}
	t.resetSequencer(rangeSet{all: !r.cfg.needsSelect()})
	r.enlist(t)
	if err := r.adapt(ctx, t, t.src, "", false, false); err != nil {
		return err
	}
	t.reread = false // all of it is read
	r.log.Info("a new table is read", "table", t.id())
	if t.seq.complete() || t.cuttings.Load() > 0 {
		return nil // or it was begun with
	}
	r.run.snapTotal += t.src.rows
	if r.run.snap != nil {
		r.run.snap.add(newChunkPlan(&r.cfg, t))
		return nil
	}
	r.run.snapTotal -= t.src.rows
	r.startSnapshot(ctx)
	return nil
}

// enlist makes t one of the tables. The network goroutine goes on with the names
// that it has: those of new tables are told apart here.
func (r *Reader) enlist(t *table) {
	r.tables = append(r.tables, t)
	r.byName = maps.Clone(r.byName)
	k := r.server.tableKey(t.def.Database, t.def.Name)
	r.byName[k] = append(slices.Clone(r.byName[k]), t)
	r.run.generation++
}

// bindings gives the readers of the table that m describes.
func (r *Reader) bindings(m *tableMap) []*binding {
	if !m.watched {
		return m.bound
	}
	if m.generation != r.run.generation {
		m.late, m.generation = nil, r.run.generation
		for _, t := range r.byName[r.server.tableKey(m.schema, m.name)] {
			m.late = append(m.late, &binding{table: t})
		}
	}
	return m.late
}
