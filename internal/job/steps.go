package job

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"leat/catalog"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/open"
	"leat/internal/procedure"
	"leat/lakehouse/maintain"
	"leat/lakehouse/systable"
	"leat/planner"
)

// Output takes the results of statements, one after the other.
type Output interface {
	// Begin starts a result of rows, which Batch adds and End finishes.
	Begin(schema *columnar.Schema) error
	Batch(b *columnar.Batch) error
	End() error
	// Done says that a statement without rows was carried out.
	Done(text string) error
}

// noOutput drops results.
type noOutput struct{}

func (noOutput) Begin(*columnar.Schema) error { return nil }
func (noOutput) Batch(*columnar.Batch) error  { return nil }
func (noOutput) End() error                   { return nil }
func (noOutput) Done(string) error            { return nil }

// creations gives the steps that may be carried out any number of times.
func creations(steps []planner.Step) []planner.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s planner.Step) bool { return s.Kind != planner.StepCreate })
}

// Apply carries out the statements of a script that are no INSERT, in order. A
// nil out drops their results.
func Apply(ctx context.Context, steps []planner.Step, out Output) error {
	return Statements{Output: out}.Apply(ctx, steps)
}

// Statements carries out statements that are no INSERT.
type Statements struct {
	// Output takes their results; nil drops them.
	Output Output
	// Jobs are those that SHOW JOBS, DESCRIBE JOB and STOP JOB are about; nil for none.
	Jobs *Client
}

// Apply carries out steps in order.
func (x Statements) Apply(ctx context.Context, steps []planner.Step) error {
	if x.Output == nil {
		x.Output = noOutput{}
	}
	for len(steps) > 0 {
		if n := leadingCreates(steps); n > 1 {
			if err := x.createAll(ctx, steps[:n]); err != nil {
				return err
			}
			steps = steps[n:]
			continue
		}
		a := &application{step: &steps[0], out: x.Output, jobs: x.Jobs}
		if err := a.run(ctx); err != nil {
			return err
		}
		steps = steps[1:]
	}
	return nil
}

// leadingCreates counts the steps up to the first that creates nothing.
func leadingCreates(steps []planner.Step) int {
	n := slices.IndexFunc(steps, func(s planner.Step) bool { return s.Kind != planner.StepCreate })
	if n < 0 {
		return len(steps)
	}
	return n
}

// createsAtOnce is how many tables are made side by side: nearly all of the time
// they wait for the disk, which confirms together what waits together.
const createsAtOnce = 64

// createAll makes databases one after the other, then tables side by side, as a
// database copied whole has thousands. It gives the error of the first step that has one.
func (x Statements) createAll(ctx context.Context, steps []planner.Step) error {
	made := map[[2]string]bool{}
	for i := range steps {
		s := &steps[i]
		if at := [2]string{s.Warehouse, s.Database}; !made[at] {
			made[at] = true
			database := *s
			database.Table = ""
			a := &application{step: &database, out: noOutput{}}
			if err := a.run(ctx); err != nil {
				return err
			}
		}
	}
	errs := make([]error, len(steps))
	var g errgroup.Group
	g.SetLimit(createsAtOnce)
	for i := range steps {
		g.Go(func() error {
			a := &application{step: &steps[i], out: noOutput{}}
			errs[i] = a.run(ctx)
			return nil
		})
	}
	_ = g.Wait() // they are in errs
	for _, err := range errs {
		if err == nil {
			err = x.Output.Done("OK")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// application is one step under way.
type application struct {
	step *planner.Step
	out  Output
	jobs *Client
	fs   fileio.FS
	c    *catalog.FileSystem
}

func (a *application) id() catalog.Identifier {
	return catalog.Identifier{Catalog: a.step.Catalog, Database: a.step.Database, Table: a.step.Table}
}

func (a *application) run(ctx context.Context) error {
	s := a.step
	switch s.Kind {
	case planner.StepRows:
		return a.rows()
	case planner.StepShowJobs, planner.StepDescribeJob, planner.StepStopJob:
		return placedAt(a.jobStatement(ctx), s.Pos)
	default:
	}
	if s.Warehouse != "" { // a query over several tables has one a table, one over others none
		fs, root, err := open.FromURL(s.Warehouse)
		if err != nil {
			return err
		}
		a.fs, a.c = fs, catalog.New(fs, root)
	}
	switch s.Kind {
	case planner.StepCreate:
		return a.create(ctx)
	case planner.StepCall:
		return a.call(ctx)
	case planner.StepSelect:
		return a.query(ctx)
	case planner.StepWrite:
		return placedAt(a.write(ctx), s.Pos)
	default:
		if err := placedAt(a.change(ctx), s.Pos); err != nil {
			return err
		}
		return a.out.Done("OK")
	}
}

func placedAt(err error, at diag.Pos) error {
	if err == nil {
		return nil
	}
	var l diag.List
	l.Add(err)
	for _, e := range l {
		if e.Pos.IsZero() {
			e.Pos = at
		}
	}
	return l
}

// create makes a database or a table; what is there stays.
func (a *application) create(ctx context.Context) error {
	s := a.step
	if err := a.c.CreateDatabase(ctx, s.Database, true); err != nil {
		return lakeError(err, "creating database "+s.Database)
	}
	if s.Table != "" {
		if err := a.c.CreateTable(ctx, a.id(), s.Schema, true); err != nil {
			return lakeError(err, "creating table "+s.Database+"."+s.Table)
		}
	}
	return a.out.Done("OK")
}

// change carries out ALTER and DROP.
func (a *application) change(ctx context.Context) error {
	s := a.step
	switch s.Kind {
	case planner.StepAlter:
		_, err := a.c.AlterTable(ctx, a.id(), s.Changes, s.Alter)
		return err
	case planner.StepRenameTable:
		return a.c.RenameTable(ctx, a.id(), s.NewName)
	case planner.StepDropTable:
		return a.c.DropTable(ctx, a.id(), s.IfExists)
	case planner.StepTruncate:
		return maintain.Truncate(ctx, a.fs, a.c.TablePath(a.id()))
	case planner.StepDropDatabase:
		return a.c.DropDatabase(ctx, s.Database, s.IfExists, s.Cascade)
	case planner.StepDropPartitions:
		specs := make([]maintain.PartitionSpec, len(s.Partitions))
		for i, p := range s.Partitions {
			specs[i] = p
		}
		_, err := maintain.DropPartitions(ctx, a.fs, a.c.TablePath(a.id()), specs, s.IfExists)
		return err
	default:
		return fmt.Errorf("carrying out a statement: step of unknown kind %d", s.Kind)
	}
}

func (a *application) give(schema *columnar.Schema, each func(take func(*columnar.Batch) error) error) error {
	if err := a.out.Begin(schema); err != nil {
		return err
	}
	if err := each(a.out.Batch); err != nil {
		return err
	}
	return a.out.End()
}

func (a *application) call(ctx context.Context) error {
	env := procedure.Env{FS: a.fs, Catalog: a.c, Database: a.step.Database, Zone: zoneOf(a.step.Settings)}
	b, err := procedure.Run(ctx, a.step.Call, env)
	if err != nil {
		return err
	}
	defer b.Release()
	return a.give(b.Schema, func(take func(*columnar.Batch) error) error { return take(b) })
}

// rows gives what was known when the script was planned.
func (a *application) rows() error { return a.table(a.step.Columns, a.step.Rows) }

// table gives rows of text.
func (a *application) table(columns []string, rows [][]string) error {
	schema := &columnar.Schema{}
	for i, n := range columns {
		schema.Fields = append(schema.Fields, columnar.Field{ID: i, Name: n, Type: columnar.StringType()})
	}
	sheet := systable.NewSheet(schema)
	for _, row := range rows {
		for _, cell := range row {
			sheet.Text(cell)
		}
	}
	b := sheet.Batch()
	defer b.Release()
	return a.give(schema, func(take func(*columnar.Batch) error) error { return take(b) })
}
