package cdc

import (
	"context"
	"errors"
	"slices"
	"strings"

	"leat/internal/dataflow"
	"leat/internal/diag"
)

// A table that cannot go on is set aside: its state stays in every checkpoint as
// it was, with the place up to which it was read, and the others are read on.
// When it is to go on, it is read beside the others from its place on, see
// behind.go. A table that was read beyond the edge has a floor: up to there the
// log is passed over for it.

// alone makes an error of a table that is followed one that concerns it alone.
func (t *table) alone(err error) error {
	if err == nil || !t.def.Follow || diag.Retryable(err) || transient(err) || errors.Is(err, context.Canceled) {
		return err
	}
	return &dataflow.PortError{Port: t.port, Err: err}
}

// resumePlaces gives the places of the tables that are to go on behind the others,
// by their key in the state, and keeps the states of those that are not to go on.
func (r *Reader) resumePlaces(ctx context.Context, n *conn, s *state) (map[string]Position, error) {
	r.kept, r.floors, r.behind = map[string]tableState{}, 0, nil
	places := map[string]Position{}
	defs, ports := r.cfg.defs()
	for i := range defs {
		def := &defs[i]
		key := def.Database + "." + def.Name + def.StateKey
		ts, known := s.Tables[key]
		switch {
		case !known || def.Pattern:
		case def.Aside != "":
			if ts.Aside == nil {
				at := s.place
				switch {
				case ts.Floor != nil:
					at = *ts.Floor
				case ts.Behind != nil:
					at = *ts.Behind
				}
				ts.Aside, ts.Floor, ts.Behind = &aside{Place: at}, nil, nil
			}
			ts.Aside.Reason = def.Aside
			r.kept[key] = ts
		case ts.Aside != nil || ts.Behind != nil:
			stored := ts.Behind
			if ts.Aside != nil {
				stored = &ts.Aside.Place
			}
			at, err := stored.position(r.server.mariadb)
			if err != nil {
				return nil, err
			}
			if err := r.resumable(ctx, n, r.server, at); err != nil {
				t := &table{def: *def, port: ports[i]}
				return nil, t.alone(r.concerned(err))
			}
			places[key] = at
		}
	}
	return places, nil
}

// raiseFloor keeps the table from reading again what lies between the edge and
// the place up to which it was read.
func (r *Reader) raiseFloor(t *table, ts tableState, main Position) error {
	t.floor = nil
	own := main
	if ts.Floor != nil {
		var err error
		if own, err = ts.Floor.position(r.server.mariadb); err != nil {
			return err
		}
	}
	if r.pos.before(&own) {
		t.floor = &own
		r.floors++
	}
	return nil
}

// lowerFloors lets tables flow that the edge has come up to.
func (r *Reader) lowerFloors() {
	if r.floors == 0 {
		return
	}
	for _, t := range r.tables {
		if t.floor != nil && !r.pos.before(t.floor) {
			t.floor = nil
			r.floors--
			r.run.changed = true
			r.log.Info("table has caught up", "table", t.id())
		}
	}
}

// before reports whether q lies behind p, both of one history.
func (p *Position) before(q *Position) bool {
	if p.GTID != nil && q.GTID != nil {
		return !p.GTID.Contains(q.GTID)
	}
	return !(mark{file: q.File, offset: q.Offset}).reached(p.File, p.Offset)
}

// holds reports whether a transaction lies before p: one that begins at
// file:offset, or with ends one that ends there.
func (p *Position) holds(id gtid, file string, offset uint64, ends bool) bool {
	if p.GTID != nil {
		return p.GTID.Has(id)
	}
	c := (mark{file: p.File, offset: p.Offset}).compare(file, offset)
	return c < 0 || ends && c == 0
}

// placesOf gives the stored forms of the floor of a table and, of one that is
// behind the others, of the place up to which it was read.
func (r *Reader) placesOf(t *table) (floor, behind *place, err error) {
	var p place
	switch {
	case t.floor != nil:
		p, err = placeOf(*t.floor)
	case t.behind:
		p, err = placeOf(r.behind.pos)
	default:
		return nil, nil, nil
	}
	if t.behind {
		return nil, &p, err
	}
	return &p, nil, err
}

// tableStates tells of the tables of a job that follows them.
func (r *Reader) tableStates() []dataflow.TableStatus {
	if !slices.ContainsFunc(r.cfg.Tables, func(t Table) bool { return t.Follow }) {
		return nil
	}
	list := append(make([]dataflow.TableStatus, 0, len(r.tables)+len(r.kept)+len(r.left)), r.left...)
	for _, t := range r.allTables() {
		st := dataflow.TableStatus{Name: t.id(), State: "streaming", BadRows: t.bad}
		switch {
		case t.absent.Load():
			st.State = "dropped"
		case t.behind:
			st.State = "catching up"
		case !t.seq.complete():
			st.State = "snapshot"
		}
		list = append(list, st)
	}
	for key, ts := range r.kept {
		p, err := ts.Aside.Place.position(r.server.mariadb)
		if err != nil {
			continue
		}
		name := key
		if ts.Database != "" { // the key may tell its copy, too
			name = ts.Database + "." + ts.Name
		}
		list = append(list, dataflow.TableStatus{Name: name, State: "set aside", Reason: ts.Aside.Reason, Position: p.String(), BadRows: ts.BadRows})
	}
	slices.SortFunc(list, func(a, b dataflow.TableStatus) int { return strings.Compare(a.Name, b.Name) })
	return list
}
