//go:build cgo

package duck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	db "github.com/duckdb/duckdb-go-bindings"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/expr"
)

// Available says whether this build can run queries.
const Available = true

// run is one query under way.
type run struct {
	ctx     context.Context //nolint:containedctx // it travels through DuckDB, which hands back this struct
	threads int

	mu  sync.Mutex
	err error
}

// fail keeps the first error: DuckDB keeps its text alone.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

func (r *run) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Run gives the rows of the result to each, batch by batch; a batch is released
// after each returns. It ends with the first error of a relation, of a function or
// of each as it was, and with that of ctx when it is over.
func (q *Query) Run(ctx context.Context, each func(*columnar.Batch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{ctx: ctx, threads: q.Threads}
	if r.threads <= 0 {
		r.threads = runtime.GOMAXPROCS(0)
	}
	conn, closeAll, err := q.open(r)
	if err != nil {
		return err
	}
	// Scans end before the database is closed, which waits for them.
	defer closeAll()
	if err := q.register(conn, r); err != nil {
		return err
	}
	err = q.execute(ctx, conn, each)
	cancel()
	if first := r.failure(); first != nil && err != nil {
		return first
	}
	return err
}

// spills counts the folders for spilled rows of this process.
var spills atomic.Int64

// open opens a database and connects to it.
func (q *Query) open(r *run) (db.Connection, func(), error) {
	temp := q.TempDir
	if temp == "" {
		temp = os.TempDir()
	}
	// DuckDB makes the folder when it spills and removes it when it is closed.
	temp = filepath.Join(temp, fmt.Sprintf("leat-query-%d-%d", os.Getpid(), spills.Add(1)))
	limit := q.Memory
	if limit <= 0 {
		limit = DefaultMemory
	}
	var config db.Config
	if db.CreateConfig(&config) != db.StateSuccess {
		return db.Connection{}, nil, errors.New("configuring DuckDB: no room")
	}
	defer db.DestroyConfig(&config)
	for _, o := range [][2]string{
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"preserve_insertion_order", "false"},
		{"memory_limit", strconv.FormatInt(limit>>10, 10) + "KiB"},
		{"threads", strconv.Itoa(r.threads)},
		{"temp_directory", temp},
		{"extension_directory", temp},
	} {
		if db.SetConfig(config, o[0], o[1]) != db.StateSuccess {
			return db.Connection{}, nil, fmt.Errorf("configuring DuckDB: it does not take %s = %s", o[0], o[1])
		}
	}
	var base db.Database
	var text string
	if db.OpenExt(":memory:", &base, config, &text) != db.StateSuccess {
		return db.Connection{}, nil, fmt.Errorf("opening DuckDB: %s", text)
	}
	var conn db.Connection
	if db.Connect(base, &conn) != db.StateSuccess {
		db.Close(&base)
		return conn, nil, errors.New("opening DuckDB: no connection")
	}
	return conn, func() {
		db.Disconnect(&conn)
		db.Close(&base)
	}, nil
}

func (q *Query) register(conn db.Connection, r *run) error {
	for i, rel := range q.Relations {
		if !registerRelation(conn, RelationName(i), &relationInfo{relation: rel, run: r}) {
			return fmt.Errorf("preparing a query: DuckDB does not take relation %d", i)
		}
	}
	env := q.Env
	if env.Now == nil { // one moment for the whole query
		now := time.Now()
		env.Now = func() time.Time { return now }
	}
	for i, f := range q.Functions {
		x := &functionInfo{args: f.Args, result: f.Expr.Type(), run: r, volatile: expr.IsVolatile(f.Expr)}
		x.compile = func() (*expr.Program, error) { return expr.Compile([]expr.Expr{f.Expr}, env) }
		p, err := x.compile()
		if err != nil {
			return err
		}
		x.putBack(p)
		if !registerFunction(conn, FunctionName(i), x) {
			return fmt.Errorf("preparing a query: DuckDB does not take function %d, %s", i, expr.String(f.Expr))
		}
	}
	return nil
}

func (q *Query) execute(ctx context.Context, conn db.Connection, each func(*columnar.Batch) error) error {
	var st db.PreparedStatement
	defer db.DestroyPrepare(&st)
	if db.Prepare(conn, q.SQL, &st) != db.StateSuccess {
		return q.refused(db.PrepareError(st))
	}
	// The interruption has ended before the connection goes.
	var interrupted sync.WaitGroup
	interrupted.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer interrupted.Done()
		// An interruption that comes before the query runs is lost, but then the scans
		// have ended too, which fails the query.
		db.Interrupt(conn)
	})
	defer func() {
		if !stop() {
			interrupted.Wait()
		}
	}()
	var res db.Result
	defer db.DestroyResult(&res)
	// The way to results that are not held whole.
	if db.ExecutePreparedStreaming(st, &res) != db.StateSuccess {
		return ended(ctx, db.ResultError(&res))
	}
	if err := q.checkTypes(&res); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk := db.FetchChunk(res)
		if chunk.Ptr == nil {
			return ended(ctx, db.ResultError(&res))
		}
		err := ctx.Err()
		if err == nil {
			err = q.give(chunk, each)
		}
		db.DestroyDataChunk(&chunk)
		if err != nil {
			return err
		}
	}
}

// ended gives the error of a result that has come to its end.
func ended(ctx context.Context, text string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case text == "":
		return nil
	case strings.HasPrefix(text, "Out of Memory Error"):
		return &diag.Error{Domain: diag.User, Code: diag.CodeRuntimeValue, Msg: "the query needs more memory than it may have: " + firstLine(text), Hint: "SET 'leat.memory.limit' to more"}
	default:
		return &diag.Error{Domain: diag.User, Code: diag.CodeRuntimeValue, Msg: firstLine(text), Hint: "change the query"}
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// refused is a text that DuckDB does not understand, although it should.
func (q *Query) refused(text string) error {
	return &diag.Error{
		Domain: diag.Internal, Code: diag.CodeUnsupported, Msg: "DuckDB refuses this query: " + firstLine(text),
		Notes: []string{"its text there: " + q.SQL}, Hint: "write it another way, and report it",
	}
}

func (q *Query) checkTypes(res *db.Result) error {
	if n := int(db.ColumnCount(res)); n != len(q.Columns.Fields) {
		return fmt.Errorf("running a query: %d columns came in place of %d", n, len(q.Columns.Fields))
	}
	for i, f := range q.Columns.Fields {
		t := db.ColumnLogicalType(res, db.IdxT(i))
		got := db.GetTypeId(t)
		same := got == typeID(f.Type)
		if same && got == db.TypeDecimal {
			same = int(db.DecimalWidth(t)) == f.Type.Precision && int(db.DecimalScale(t)) == f.Type.Scale
		}
		db.DestroyLogicalType(&t)
		if !same {
			return fmt.Errorf("running a query: column %s came with type %d of DuckDB in place of %s", f.Name, got, f.Type)
		}
	}
	return nil
}

func (q *Query) give(chunk db.DataChunk, each func(*columnar.Batch) error) error {
	n := int(db.DataChunkGetSize(chunk))
	if n == 0 {
		return nil
	}
	cols := make([]arrow.Array, len(q.Columns.Fields))
	for i, f := range q.Columns.Fields {
		var err error
		if cols[i], err = (reader{}).read(db.DataChunkGetVector(chunk, db.IdxT(i)), f.Type, n); err != nil {
			release(cols)
			return err
		}
	}
	b := columnar.NewBatch(q.Columns, nil, cols, n)
	defer b.Release()
	return each(b)
}
