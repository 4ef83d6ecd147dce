package datagen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/diag"
)

// The options of a datagen table; fields.NAME.… are read by compile.
var (
	Options       = configs.NewSet("datagen table")
	RowsPerSecond = configs.Int(Options, "rows-per-second", 10000, "Rows made a second.",
		configs.Check(configs.ParseInt, func(n int64) error {
			if n <= 0 {
				return fmt.Errorf("'%d' is not above 0", n)
			}
			return nil
		}))
	NumberOfRows = configs.Int(Options, "number-of-rows", 0, "Rows made in all; without it the source has no end.", configs.Optional(),
		configs.Check(configs.ParseInt, func(n int64) error {
			if n < 0 {
				return fmt.Errorf("'%d' is below 0", n)
			}
			return nil
		}))
	Parallelism = configs.Int(Options, "scan.parallelism", 1, "Parallel readers.",
		configs.NoMeaningHere("one reader makes all rows"))
)

func init() {
	Options.Prefix("fields.", "How a column is made: kind (random or sequence), min, max, length, var-len, null-rate, max-past, start, end.")
}

// Connector makes generating sources.
type Connector struct{}

var _ connect.SourceConnector = Connector{}

// New makes the connector.
func New() Connector { return Connector{} }

// Name is "datagen".
func (Connector) Name() string { return "datagen" }

// Options declares the keys.
func (Connector) Options() *configs.Set { return Options }

// CheckTable reads the options of the columns.
func (Connector) CheckTable(t *connect.Table) error {
	_, err := compile(t)
	return err
}

// SourceMode is InsertOnly.
func (Connector) SourceMode(*connect.Table) connect.ChangelogMode { return connect.InsertOnly }

// Group is the table: each has a reader of its own.
func (Connector) Group(t *connect.Table) string { return t.Name }

// Bounded reports whether number-of-rows or a sequence ends the table.
func (Connector) Bounded(t *connect.Table) bool {
	g, err := compile(t)
	return err == nil && g.limit >= 0
}

// NewSource makes a reader.
func (Connector) NewSource(spec connect.SourceSpec) (dataflow.SourceReader, error) {
	s := &source{catchUp: spec.Env.CatchUp}
	for _, t := range spec.Tables {
		g, err := compile(t.Table)
		if err != nil {
			return nil, err
		}
		s.rate, s.limit = RowsPerSecond.Get(t.Table.Options), g.limit
		p := port{schema: t.Schema()}
		for _, i := range t.Needed {
			p.fields = append(p.fields, g.fields[i])
		}
		s.ports = append(s.ports, p)
	}
	return s, nil
}

// generator is a compiled table.
type generator struct {
	fields []field
	// limit is the number of rows, -1 for no end.
	limit int64
}

// compile reads the options of t. The error is a diag.List.
func compile(t *connect.Table) (*generator, error) {
	var errs diag.List
	byField := map[string]map[string]configs.Value{}
	for _, key := range slices.Sorted(keysOf(t.Options)) {
		name, attribute, ok := splitKey(key)
		if !ok {
			continue
		}
		if t.Schema.Index(name) < 0 {
			errs = append(errs, unknownField(t, key, name))
			continue
		}
		if byField[name] == nil {
			byField[name] = map[string]configs.Value{}
		}
		byField[name][attribute] = t.Options[key]
	}
	g := &generator{limit: -1}
	if NumberOfRows.IsSet(t.Options) {
		g.limit = NumberOfRows.Get(t.Options)
	}
	for i, f := range t.Schema.Fields {
		made, count, list := compileField(t, i, f, byField[f.Name])
		errs = append(errs, list...)
		g.fields = append(g.fields, made)
		if count >= 0 && (g.limit < 0 || count < g.limit) {
			g.limit = count
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return g, nil
}

func keysOf(v configs.Values) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range v {
			if !yield(k) {
				return
			}
		}
	}
}

// splitKey takes fields.NAME.attribute apart; NAME may hold points.
func splitKey(key string) (name, attribute string, ok bool) {
	rest, ok := strings.CutPrefix(key, "fields.")
	if !ok {
		return "", "", false
	}
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 {
		return rest, "", true
	}
	return rest[:dot], rest[dot+1:], true
}

func unknownField(t *connect.Table, key, name string) *diag.Error {
	e := &diag.Error{
		Domain: diag.User, Code: diag.CodeUnknownOption, Pos: t.Options[key].KeyPos, Table: t.Name, Option: key,
		Msg: fmt.Sprintf("the table has no column %s", name), Hint: "name a column of the table",
	}
	if near := configs.Nearest(name, t.Schema.Names()); near != "" {
		e.Hint = fmt.Sprintf("did you mean 'fields.%s.…'?", near)
	}
	return e
}

// optionError is a value of a fields. option that cannot be.
func optionError(t *connect.Table, key, msg, hint string) *diag.Error {
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeBadOption, Pos: cmp.Or(t.Options[key].Pos, t.Options[key].KeyPos),
		Table: t.Name, Option: key, Msg: msg, Hint: hint,
	}
}
